"""A rule is scored by all its guesses, and by those of each input alone; together they err no more often than alpha."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from adept.audit.distinguisher.guessing_game import (
    LOOKS,
    ONE_SIDED_SHARE,
    Distinguisher,
    Experiment,
    Game,
    certify,
)
from adept.audit.distinguisher.input_pairs import InputPair
from adept.audit.distinguisher.statistics import Rule, _columns
from adept.audit.result import Verdict
from adept.audit.subject.kinds import ValueTarget

ALPHA, TRIALS = 1e-3, 2_000


def coins(count: int) -> list[int]:
    return np.random.default_rng().integers(2, size=count).tolist()


class RarelyWrong:
    """Releases 1 for the second input alone, and for the first input the 0 that the second releases half of the time."""

    epsilon, alphabet = 1.0, 2

    def privatize(self, values: list[int]) -> list[int]:
        return [int(value and coin) for value, coin in zip(values, coins(len(values)), strict=True)]


def bound(rule: Rule, claim: float = -math.inf) -> tuple[float, float, int]:
    """Return the bound, its alpha and the number of right guesses."""
    game = Game(
        InputPair(name="", first=0, second=1), (Distinguisher(name="", statistic=lambda z: z[:, 0], rule=rule),)
    )
    score = certify(ValueTarget(RarelyWrong(), [0, 1]), game, trials=TRIALS, alpha=ALPHA, claim=claim)
    return score.bound, score.alpha, score.counts.right


def test_guesses_of_the_input_that_is_never_wrongly_named_are_scored_alone() -> None:
    """By hand: 1,000 right guesses and none wrong certify ln(1,000 / ln(1 / alpha)), all guesses together ln(3,000 / 1,000)."""
    certified, alpha, right = bound(Rule(high=0.5, low=0.5, flipped=True))
    assert alpha == pytest.approx(ONE_SIDED_SHARE * ALPHA)
    assert certified == pytest.approx(math.log(right / math.log(1 / alpha)), abs=0.02)
    assert certified > 4


def test_a_rule_that_names_one_input_keeps_its_alpha() -> None:
    assert bound(Rule(high=0.5, low=-math.inf, flipped=True))[1] == ALPHA
    assert bound(Rule(high=0.5, low=-math.inf, flipped=True), claim=1.0)[1] == LOOKS[0][1] * ALPHA


class Alternating(RarelyWrong):
    """Releases the value, unless ``wrong`` of a thousand are the other one."""

    def __init__(self, epsilon: float, wrong: int) -> None:
        self.epsilon, self.wrong = epsilon, wrong

    def privatize(self, values: list[int]) -> list[int]:
        return [value ^ (number % 1_000 < self.wrong) for number, value in enumerate(values)]


@pytest.mark.parametrize(
    ("epsilon", "wrong", "certified"), [(8.0, 0, 8.0), (8.0, 2, 0.0), (4.0, 20, 0.0), (6.8, 0, 6.8)]
)
def test_a_longer_game_follows_where_hardly_a_guess_is_wrong(epsilon: float, wrong: int, certified: float) -> None:
    """No wrong guess of 17,000 certifies 6.6 at most; larger claims need more rounds, and none of them wrong."""
    pair, done = InputPair(name="", first=0, second=1), list[int]()
    experiment = Experiment(ValueTarget(Alternating(epsilon, wrong), [0, 1]), lambda _: [pair], 10_000)
    experiment.progress = lambda rows, total: done.append(rows)
    check = experiment.play(alpha=ALPHA)
    assert max(done) == 17_000  # a bar ends where it was planned to end
    assert (check.certified_epsilon or 0.0) > certified
    assert (check.verdict is Verdict.FAILED) == (certified > 0)


def samples(generator: np.random.Generator, *, code: int, shift: float) -> NDArray[np.float64]:
    codes = np.where(generator.random(3_000) < 0.8, code, 1 - code)
    return np.stack([codes, shift + generator.laplace(0, 1, 3_000)], axis=1)


def test_numbers_of_two_kinds_are_read_one_by_one_and_add_up() -> None:
    """A coin of log odds ln 4 beside Laplace noise whose means are one scale apart: extremes have log odds of ln 4 + 1."""
    generator = np.random.default_rng(5)
    ours, theirs = samples(generator, code=0, shift=-0.5), samples(generator, code=1, shift=0.5)
    score = _columns(ours, theirs)
    extremes = np.array([[0.0, -9.0], [1.0, 9.0], [0.0, 9.0]])
    assert score(extremes) == pytest.approx([math.log(4) + 1, -math.log(4) - 1, math.log(4) - 1], abs=0.35)


def test_columns_alike_in_both_samples_say_nothing() -> None:
    generator = np.random.default_rng(6)
    ours, theirs = (samples(generator, code=0, shift=0.0) for _ in range(2))
    assert not _columns(ours, theirs)(ours).any()
