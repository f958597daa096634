"""An audit names the faults that it cannot have seen."""

import math

import pytest
from audit import collection
from audit.asking import failed_of, finds

from adept.audit.auditor import EVENT, failure_trials, not_looked_at

ALPHA = EVENT.share * 1e-3


@pytest.mark.parametrize(("trials", "said"), [(10_000, "none rarer than one release in 480"), (5, "so few show none")])
def test_total_failures_too_rare_for_so_few_trials_are_named(trials: int, said: str) -> None:
    assert said in not_looked_at([], trials=trials, claimed=4.0, alpha=ALPHA)[0]


def test_a_claim_beyond_all_trials_is_said_to_be_one() -> None:
    assert failure_trials(0.5, claimed=60.0, alpha=ALPHA) == math.inf
    assert "for any number of trials" in not_looked_at([], trials=100, claimed=60.0, alpha=ALPHA)[0]


def test_the_trials_of_a_total_failure_are_right_guesses_without_a_wrong_one() -> None:
    """By hand: 530 right guesses at epsilon 4 and seven games, of 1.7 rounds a trial, one in fifty right."""
    expected = -math.log(ALPHA / 7) / math.log1p(math.exp(-4)) / (1.7 * 0.02)
    assert failure_trials(0.02, claimed=4.0, alpha=ALPHA) == pytest.approx(expected)


def test_a_total_failure_takes_the_trials_named_and_not_a_fortieth_of_them() -> None:
    """A fortieth has, in a game that goes on to sixteen times its rounds, two fifths of the right guesses that refute the claim."""
    mechanism = collection.broken("one_in_fifty_is_bare")
    trials = failure_trials(0.02, claimed=4.0, alpha=ALPHA)
    assert failed_of({"event"}, mechanism, dim=2, trials=int(trials / 40)) == set()
    assert finds("event", mechanism, dim=2, trials=int(1.5 * trials))
