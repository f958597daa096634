"""Curves of ``adept plan``: more of what helps is expected to be worth more, and less knowledge makes ranges wider."""

import random
from itertools import pairwise
from statistics import NormalDist

import pytest

from adept.mechanisms.curves import (
    NOT_WORTH,
    REWRITE,
    SYNTHESIZE,
    TOO_CLOSE,
    WORTH,
    Known,
    Range,
    Rehearsal,
    expect_accuracy,
    log_odds,
    rows_needed,
    to_share,
)
from adept.mechanisms.policy import WORTH_MARGIN

RELEASED = {4.0: 0.6, 8.0: 0.66, 12.0: 0.7, 16.0: 0.72}
DESK = Rehearsal(released=RELEASED, rows=8, texts=48)
COMMANDS = pytest.mark.parametrize("command", [REWRITE, SYNTHESIZE])
KNOWLEDGE = pytest.mark.parametrize("known", [Known(6, 0.62), Known(6, 0.62, DESK), Known(77, 0.6)])


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
def test_a_range_is_as_wide_as_the_texts_are_few_and_holds_eight_of_ten(command: str) -> None:
    def expect(tried: Rehearsal | None, rows: int = 120) -> Range:
        found = expect_accuracy(command, Known(6, 0.62, tried), epsilon=4.0, rows=rows)
        assert 0 <= found.low < found.middle < found.high <= 1
        if found.low > 0 and found.high < 1:
            spread = NormalDist(found.middle, found.error)
            assert spread.cdf(found.high) - spread.cdf(found.low) == pytest.approx(0.8, abs=0.001)
        return found

    blind, *measured = (expect(tried) for tried in (None, *(Rehearsal(RELEASED, 8, n) for n in (12, 48, 500))))
    widths = [found.high - found.low for found in measured]
    assert widths == sorted(widths, reverse=True)
    assert min(widths[0], blind.high - blind.low) > 0.3
    assert widths[-1] < (0.15 if command == REWRITE else 0.3)
    further = expect(Rehearsal(RELEASED, 8, 500), rows=12_000)
    assert further.error / (further.middle * (1 - further.middle)) ** 0.5 > 1.5 * measured[-1].error / 0.5


def test_verdicts_keep_a_margin_and_need_more_of_what_is_less_certain() -> None:
    def verdict(gain: float, error: float = 0.001) -> str:
        return Range(0, 0.6 + gain, 1, error).judge(0.6)

    edges = {-WORTH_MARGIN - 0.005: NOT_WORTH, -WORTH_MARGIN + 0.005: TOO_CLOSE}
    edges |= {WORTH_MARGIN - 0.005: TOO_CLOSE, WORTH_MARGIN + 0.005: WORTH}
    assert {gain: verdict(gain) for gain in edges} == edges
    assert verdict(WORTH_MARGIN + 0.005, 0.06) != WORTH  # a wrong one counts double
    assert verdict(-WORTH_MARGIN, 0.06) == NOT_WORTH
    assert verdict(0.1, 0.06) == WORTH


def test_a_rehearsal_at_a_budget_counts_most_for_this_budget() -> None:
    low, high = (
        Known(6, 0.3, Rehearsal({4.0: 0.3, 8.0: 0.4, 12.0: share, 16.0: 0.72}, 8, 480)) for share in (0.45, 0.7)
    )

    def gain(epsilon: float) -> float:
        one, other = (expect_accuracy(REWRITE, known, epsilon=epsilon, rows=48).middle for known in (low, high))
        return other - one

    assert gain(12.0) == pytest.approx(gain(13.0), abs=0.01)
    assert gain(12.0) > 1.3 * gain(8.0) > 0
    assert gain(8.0) == pytest.approx(gain(15.0), abs=0.02)


def test_no_rehearsal_makes_more_rows_or_a_larger_budget_worth_less() -> None:
    """Rehearsals at their ends, too: one text, nothing right, all right, and fewer rows than were rehearsed."""
    draw = random.Random(1)
    for _ in range(2000):
        released = sorted(draw.choice([0.0, 1.0, draw.random()]) for _ in RELEASED)
        tried = Rehearsal(
            dict(zip(RELEASED, released, strict=True)),
            draw.choice([1, 8, 100]),
            draw.choice([1, 48, 2000]),
        )
        known = Known(draw.choice([2, 77]), draw.random(), tried)
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
def test_the_rows_that_are_worth_it_are_and_fewer_are_not(command: str) -> None:
    known = Known(6, 0.62, DESK)
    floor = expect_accuracy(command, known, epsilon=8.0, rows=700).middle - 0.1
    found = rows_needed(command, known, epsilon=8.0, floor=floor, most=10**6)
    assert found is not None
    assert 7 < found < 10**5
    for rows, verdicts in ((found, {WORTH}), (round(0.85 * found), {NOT_WORTH, TOO_CLOSE})):
        assert expect_accuracy(command, known, epsilon=8.0, rows=rows).judge(floor) in verdicts
    assert rows_needed(command, known, epsilon=8.0, floor=0.9999, most=10**6) is None


def test_log_odds_and_shares_are_inverse_and_extremes_stay_finite() -> None:
    for share in (0.01, 0.3, 0.99):
        assert to_share(log_odds(share)) == pytest.approx(share)
    assert log_odds(1.0) == pytest.approx(-log_odds(0.0))
    assert to_share(log_odds(0.0)) > 0
