"""k-ary response: no violation is found in sound ones, and each planted defect by the check that names it.

Each audit of a sound mechanism errs with probability 1e-9; 6 of them.
"""

import random

import pytest
from audit.asking import finds

from adept import audit
from adept.audit.checks import declarations
from adept.audit.distinguisher.guessing_game import Experiment
from adept.audit.subject.kinds import ValueTarget
from adept.errors import ConfigurationError
from adept.mechanisms import Description

CERTAIN = 1 - 1e-9


class Generous(Description):
    """Keeps the truth as if epsilon were one more."""

    def privatize(self, descriptions):
        return Description(epsilon=self.epsilon + 1, size=self.count, top=self.top).privatize(descriptions)


class Overstated(Generous):
    """The same, and declares it."""

    @property
    def odds(self):
        return Description(epsilon=self.epsilon + 1, size=self.count).odds


class Favourite(Description):
    """Keeps one of several own numbers more often than the others."""

    def privatize(self, descriptions):
        released = super().privatize(descriptions)
        return [own[0] if out == own[1] else out for out, own in zip(released, descriptions, strict=True)]


class Near(Description):
    """Replaces a number by one near it."""

    def privatize(self, descriptions):
        released = super().privatize(descriptions)
        return [
            out if out == true else (true + 1 + random.randrange(3)) % self.count
            for out, true in zip(released, descriptions, strict=True)
        ]


class Seeded(Description):
    """Draws from a generator that a seed repeats."""

    def privatize(self, descriptions):
        keep = float(self.selection.heavy_probability)
        return [
            d if random.random() < keep else (d + 1 + random.randrange(self.count - 1)) % self.count
            for d in descriptions
        ]


class Loud(Description):
    """Returns what is no description."""

    def privatize(self, descriptions):
        return [-1 for _ in descriptions]


OPTIONS = {"trials": 4_000, "confidence": CERTAIN}


@pytest.mark.parametrize(("epsilon", "size"), [(1.0, 2), (2.0, 5), (4.0, None), (8.0, 2**60)])
def test_no_violation_is_found_in_a_sound_mechanism(epsilon: float, size: int | None, few_calls: None) -> None:
    assert not audit.run(Description(epsilon=epsilon, size=size), **OPTIONS).violated


@pytest.mark.parametrize(("epsilon", "size", "top"), [(2.0, 20, 3), (10.0, 300_000, 82)])
def test_no_violation_is_found_where_a_record_has_several_numbers(
    epsilon: float, size: int, top: int, few_calls: None
) -> None:
    assert not audit.run(Description(epsilon=epsilon, size=size, top=top), **OPTIONS).violated


@pytest.mark.parametrize(
    ("defect", "check"), [(Generous, "kept numbers"), (Favourite, "kept numbers"), (Loud, "range")]
)
def test_each_defect_of_several_numbers_is_found_by_its_check(defect: type[Description], check: str) -> None:
    assert finds(check, defect(epsilon=2.0, size=40, top=5), **OPTIONS)


@pytest.mark.parametrize(
    ("defect", "check"),
    [(Generous, "kept numbers"), (Overstated, "odds"), (Near, "replaced numbers"), (Seeded, "seed"), (Loud, "range")],
)
def test_each_defect_is_found_by_its_check(defect: type[Description], check: str) -> None:
    assert finds(check, defect(epsilon=2.0, size=40), **OPTIONS)


def test_a_large_leak_is_certified_by_counts_alone() -> None:
    result = audit.run(Overstated(epsilon=1.0, size=2), trials=20_000, confidence=CERTAIN)
    assert result.violated
    assert 1.5 < result.certified_epsilon < 2.0


def test_arguments_are_checked() -> None:
    with pytest.raises(ConfigurationError, match="trials must be at least 100"):
        audit.run(Description(epsilon=1.0), trials=10)


def test_the_p_value_of_replacements_is_not_below_their_exact_probability(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten replacements fall into one of two bins with probability 2^-9; Pearson's approximation says less."""
    monkeypatch.setattr(declarations, "_ranks", lambda _: ([1] * 10, 3, 1))
    target = ValueTarget(Description(epsilon=1.0, size=3), values=[0, 2])
    found = declarations.replaced(Experiment(target, lambda _: [], 100), 1e-3).p_value
    assert found == pytest.approx(2 * 2**-9)  # for two bins
