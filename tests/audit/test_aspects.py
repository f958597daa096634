"""What a release says beside its numbers is guessed by, and what varies by itself accuses nobody.

Audits of sound mechanisms are at confidence 1 - 1e-9, 6 of them: share of the suite's false alarms 1e-8.
"""

import math
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from audit import collection, invented_again
from audit.asking import failed_of
from audit.invented_again import InTheBall, RefusesOne, TypeTells

from adept.audit.checks.metadata import manner
from adept.audit.distinguisher.pairs import adversarial_pairs
from adept.audit.result import Finding
from adept.audit.target.metadata import aspects_of
from adept.audit.target.vector import Subject
from adept.mechanisms import L1Laplace, LearnedCodebook

SURE = 1e-9


def asked_for(mechanism: Any, *, alpha: float = 1e-3, scouting: float = 0.0) -> Finding:
    subject = Subject(mechanism, dim=4, source="release", time_limit=math.inf, generator=torch.Generator())
    with patch("adept.audit.checks.metadata.SECONDS", scouting):
        return manner(subject, adversarial_pairs(4, clip_norm=1.0), alpha=alpha)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("strides_tell_the_sign", "beside a copy, layout"),
        ("requires_grad_tells_the_sign", "with gradient"),
        ("an_attribute_carries_the_norm", "attached norms = Tensor"),
        ("a_buffer_behind_the_view", "behind 32 bytes"),
    ],
)
def test_what_stands_beside_the_numbers_convicts(name: str, said: str) -> None:
    found = asked_for(collection.broken(getattr(invented_again, name)))
    assert found.failed
    assert said in found.evidence
    assert found.certified_epsilon is not None
    assert found.certified_epsilon > collection.EPSILON


def test_who_names_a_set_has_to_answer_all_of_it_and_who_names_none_may_refuse() -> None:
    release = invented_again.refuses_some_records
    found = asked_for(InTheBall(release), scouting=10.0)
    assert found.failed
    assert "refused (privatize raised ValueError" in found.evidence
    assert not asked_for(collection.Foreign(release)).failed


@pytest.mark.parametrize("mechanism", [L1Laplace(epsilon=4.0), LearnedCodebook(epsilon=4.0)], ids=lambda m: m.name)
def test_our_releases_say_nothing_beside_their_numbers(mechanism: Any) -> None:
    assert asked_for(mechanism, alpha=SURE).certified_epsilon is None


@pytest.mark.parametrize("kind", [TypeTells, RefusesOne])
def test_so_do_outcomes_of_values(kind: type[Any]) -> None:
    assert failed_of({"dtype"}, kind(4.0, 8), trials=200) == {"dtype"}


def test_what_varies_by_itself_accuses_nobody_and_hides_nobody() -> None:
    """Behind a sketch lies the rest of its noise; an attribute beside it still convicts."""

    def tells_beside_noise(x: torch.Tensor) -> torch.Tensor:
        z = collection.sketch(x)
        z.norms = x.abs().sum()  # type: ignore[attr-defined]
        return z

    assert not asked_for(collection.Foreign(collection.sketch), alpha=SURE).failed
    assert "attached norms" in asked_for(collection.Foreign(tells_beside_noise)).evidence


def test_what_lies_behind_a_view_is_what_it_does_not_show() -> None:
    whole = np.arange(12.0).reshape(2, 6)
    tensor = torch.from_numpy(whole.copy())
    shown = {"columns": whole[:, :3], "every second": whole[:, 1::2], "row": whole[:1]}
    behind = {name: aspects_of(view)["behind"] for name, view in shown.items()}
    assert all(text.startswith("48 bytes") for text in behind.values())
    assert len(set(behind.values())) == 3
    assert aspects_of(tensor[:, :3])["behind"] == behind["columns"]
    assert aspects_of(whole[::-1])["behind"] == aspects_of(tensor.T)["behind"] == "nothing"
