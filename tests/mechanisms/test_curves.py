"""Curves of ``adept plan``: more of what helps is expected to be worth more, and less knowledge makes ranges wider."""

import random
from itertools import pairwise

import pytest

from adept.mechanisms.curves import (
    REWRITE,
    SYNTHESIZE,
    Curve,
    Known,
    Rehearsal,
    expect_accuracy,
    expected_names,
    log_odds,
    rows_needed,
    to_share,
)
from adept.mechanisms.policy import PLAN_CURVES

RELEASED = {4.0: 0.6, 8.0: 0.66, 12.0: 0.7, 16.0: 0.72}
DESK = Rehearsal(released=RELEASED, original=0.76, rows=8, texts=48)
COMMANDS = pytest.mark.parametrize("command", [REWRITE, SYNTHESIZE])
KNOWLEDGE = pytest.mark.parametrize("known", [Known(6, 0.62), Known(6, 0.62, 48, DESK), Known(77, 0.6)])


@COMMANDS
@KNOWLEDGE
def test_more_rows_and_larger_budgets_are_never_expected_to_be_worth_less(command: str, known: Known) -> None:
    budgets = (1.0, 2.0, 4.0) if command == SYNTHESIZE else (4.0, 8.0, 12.0, 16.0)
    table = [
        [expect_accuracy(command, known, epsilon=epsilon, rows=each * known.labels).middle for each in (5, 15, 50, 150)]
        for epsilon in budgets
    ]
    for line in (*table, *zip(*table, strict=True)):
        assert all(one <= other + 1e-9 for one, other in pairwise(line)), table
    assert all(0 < share < 1 for line in table for share in line)


@COMMANDS
def test_ranges_are_widest_without_measurements_and_narrow_with_public_texts(command: str) -> None:
    def width(known: Known) -> float:
        low, middle, high, cautious = expect_accuracy(command, known, epsilon=4.0, rows=120)
        assert low <= cautious < middle < high  # both are nine of ten releases where names are certain
        return high - low

    blind, measured = width(Known(6)), width(Known(6, expected_names(6)))
    few, many = (width(Known(6, 0.62, texts, Rehearsal(RELEASED, 0.76, 8, texts))) for texts in (20, 5000))
    assert blind > measured
    assert few > many
    assert many < measured
    measured_curve = Curve(*PLAN_CURVES[command, True])
    assert measured_curve.few_deviation > measured_curve.deviation


def test_a_budget_is_expected_to_be_worth_what_its_own_rehearsal_was() -> None:
    low, high = (
        Known(6, 0.3, 480, Rehearsal({4.0: 0.3, 8.0: 0.4, 12.0: share, 16.0: 0.72}, 0.76, 8, 480))
        for share in (0.45, 0.7)
    )
    for epsilon, differs in ((8.0, False), (12.0, True), (13.0, True), (15.0, False)):
        expected = [expect_accuracy(REWRITE, known, epsilon=epsilon, rows=48).middle for known in (low, high)]
        assert (expected[0] < expected[1] - 0.1) == differs
        assert (expected[0] == expected[1]) != differs


def test_no_rehearsal_makes_more_rows_or_a_larger_budget_worth_less() -> None:
    """Rehearsals at their ends, too: one text, nothing right, all right, and fewer rows than were rehearsed."""
    draw = random.Random(1)
    for _ in range(2000):
        released = sorted(draw.choice([0.0, 1.0, draw.random()]) for _ in RELEASED)
        tried = Rehearsal(
            dict(zip(RELEASED, released, strict=True)),
            draw.choice([0.0, 1.0, released[-1], draw.random()]),
            draw.choice([1, 8, 100]),
            draw.choice([1, 48, 2000]),
        )
        known = Known(draw.choice([2, 77]), draw.random(), tried.texts, tried)
        table = [
            [
                expect_accuracy(REWRITE, known, epsilon=own, rows=each * known.labels).middle
                for each in (0.5, 5, 150, 13000)
            ]
            for own in RELEASED
        ]
        for line in (*table, *zip(*table, strict=True)):
            assert all(one <= other + 1e-9 for one, other in pairwise(line)), (known, table)


@COMMANDS
def test_the_rows_that_reach_an_accuracy_reach_it_and_fewer_do_not(command: str) -> None:
    known = Known(6, 0.62, 48, DESK)

    def expected(rows: int) -> float:
        return expect_accuracy(command, known, epsilon=8.0, rows=rows).cautious

    wanted = expected(700)
    found = rows_needed(command, known, epsilon=8.0, accuracy=wanted, most=10**6)
    assert found is not None
    assert found == pytest.approx(700, rel=0.06)
    assert rows_needed(command, known, epsilon=8.0, accuracy=0.9999, most=10**6) is None


def test_log_odds_and_shares_are_inverse_and_extremes_stay_finite() -> None:
    for share in (0.01, 0.3, 0.99):
        assert to_share(log_odds(share)) == pytest.approx(share)
    assert log_odds(1.0) == pytest.approx(-log_odds(0.0))
    assert to_share(log_odds(0.0)) > 0


def test_without_measurements_a_release_must_be_worth_it_at_its_lowest() -> None:
    known = Known(6), Known(6, expected_names(6)), Known(6, expected_names(6), names_texts=500)
    guessed, meaningless, measured = (expect_accuracy(REWRITE, one, epsilon=8.0, rows=120) for one in known)
    assert guessed.middle == pytest.approx(measured.middle)
    assert guessed.low < guessed.cautious == pytest.approx(meaningless.cautious)
    assert guessed.cautious < measured.cautious - 0.1
