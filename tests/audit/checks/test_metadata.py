"""Type, length and errors of a release are guessed by; those that vary by themselves refute no claim.

Audits of sound mechanisms are at confidence 1 - 1e-9, 6 of them: share of the suite's false alarms 1e-8.
"""

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from audit import collection, sound
from audit.asking import finds
from audit.broken import metadata as broken
from audit.broken.values import KRR, RefusesOne, TypeDepends

from adept.audit.checks import metadata
from adept.audit.checks.metadata import metadata_of
from adept.audit.distinguisher.guessing_game import Experiment
from adept.audit.distinguisher.input_pairs import adversarial_pairs
from adept.audit.result import Check
from adept.audit.subject.kinds import VectorTarget
from adept.mechanisms import L1Laplace, LearnedCodebook

SURE = 1e-9
MOST_ROUNDS = 1200  # of a game


def asked_for(mechanism: Any, *, alpha: float = 1e-3, searching: float = 0.0) -> Check:
    experiment = Experiment(VectorTarget(mechanism, dim=4), lambda _: adversarial_pairs(4, clip_norm=1.0), trials=100)
    affordable = VectorTarget.affordable

    def few(target: VectorTarget, rows: int, **options: Any) -> int:
        return affordable(target, min(rows, MOST_ROUNDS), **options)

    with patch.object(metadata, "SEARCH_SHARE", searching), patch.object(VectorTarget, "affordable", few):
        return metadata.of_vectors(experiment, alpha)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("strides_depend_on_the_sign", "beside a copy, layout"),
        ("requires_grad_depends_on_the_sign", "with gradient"),
        ("an_attribute_carries_the_norm", "attached norms = Tensor"),
        ("a_buffer_behind_the_view", "behind 32 bytes"),
    ],
)
def test_what_stands_beside_the_numbers_is_a_violation(name: str, said: str) -> None:
    found = asked_for(collection.broken(name))
    assert found.verdict == "failed"
    assert said in found.evidence
    assert found.certified_epsilon is not None
    assert found.certified_epsilon > sound.EPSILON


def test_who_names_a_set_has_to_answer_all_of_it_and_who_names_none_may_refuse() -> None:
    release = broken.refuses_some_records
    found = asked_for(collection.InTheBall(release), searching=10.0)
    assert found.verdict == "failed"
    assert "refused (privatize raised ValueError" in found.evidence
    assert asked_for(sound.Foreign(release)).verdict == "passed"


@pytest.mark.parametrize("mechanism", [L1Laplace(epsilon=4.0), LearnedCodebook(epsilon=4.0)], ids=lambda m: m.name)
def test_our_releases_say_nothing_beside_their_numbers(mechanism: Any) -> None:
    assert asked_for(mechanism, alpha=SURE).certified_epsilon is None


@pytest.mark.parametrize("kind", [TypeDepends, RefusesOne])
def test_values_whose_type_depends_on_the_record_are_a_violation(kind: type[Any]) -> None:
    assert finds("metadata", kind(4.0, 8), trials=200)


@pytest.mark.parametrize("refused", [{0}, {1}, {0, 1}])
def test_a_mechanism_that_refuses_the_first_of_its_values_is_judged(refused: set[int]) -> None:
    class Refuses(KRR):
        def privatize(self, values: list[int]) -> list[int]:
            if refused.intersection(values):
                raise ValueError("no")
            return super().privatize(values)

    assert finds("metadata", Refuses(4.0, 8), trials=200)


def test_what_varies_by_itself_refutes_no_claim_and_hides_nothing() -> None:
    """Behind a sketch lies the rest of its noise; an attribute beside it is still found."""

    def norm_beside_noise(x: torch.Tensor) -> torch.Tensor:
        z = sound.sketch(x)
        z.norms = x.abs().sum()  # type: ignore[attr-defined]
        return z

    assert asked_for(sound.Foreign(sound.sketch), alpha=SURE).verdict == "passed"
    assert "attached norms" in asked_for(sound.Foreign(norm_beside_noise)).evidence


def test_what_lies_behind_a_view_is_what_it_does_not_show() -> None:
    whole = np.arange(12.0).reshape(2, 6)
    tensor = torch.from_numpy(whole.copy())
    shown = {"columns": whole[:, :3], "every second": whole[:, 1::2], "row": whole[:1]}
    behind = {name: metadata_of(view)["behind"] for name, view in shown.items()}
    assert all(text.startswith("48 bytes") for text in behind.values())
    assert len(set(behind.values())) == 3
    assert metadata_of(tensor[:, :3])["behind"] == behind["columns"]
    assert metadata_of(whole[::-1])["behind"] == metadata_of(tensor.T)["behind"] == "nothing"
