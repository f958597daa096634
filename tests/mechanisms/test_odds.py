"""Epsilon in plain odds: a bound on an attacker's success is a count of cases, and never below itself."""

from fractions import Fraction

import pytest

from adept.mechanisms.guarantee import ALL_CASES, cases, format_bound, good_enough, judge, often, words


@pytest.mark.parametrize(
    ("epsilon", "said"),
    [
        (1, "3 of 1,000 cases"),
        (4, "6 of 100 cases"),
        (8, "75 of 100 cases"),
        (12, "994 of 1,000 cases"),
        (90, ALL_CASES),
    ],
)
def test_a_bound_is_a_count_of_cases_and_never_below_itself(epsilon: float, said: str) -> None:
    assert cases(good_enough(1 / 1000, epsilon=epsilon)) == said
    for thousandth in range(1, 1000):
        part, whole = cases(thousandth / 1000).removesuffix(" cases").replace(",", "").split(" of ")
        assert int(part) / int(whole) >= thousandth / 1000


@pytest.mark.parametrize(
    ("probability", "said"),
    [
        (Fraction(1, 50), "2 of 100 cases"),
        (Fraction(1, 101), "9 of 1,000 cases"),
        (Fraction(1, 10**6), "1 of 1,000,000 cases"),
        (Fraction(1, 10**7), "fewer than 1 in a million cases"),
        (1 - Fraction(1, 101), "990 of 1,000 cases"),
        (1 - Fraction(1, 10**7), "all but at most 1 in a million cases"),
    ],
)
def test_how_often_the_own_is_released_is_never_said_to_be_never_or_always(probability: Fraction, said: str) -> None:
    assert often(probability) == said


@pytest.mark.parametrize("number", [7.9996, 7.99996, 0.1, 0.123000000004, 0.122999999996, 1 / 3, 2.00001e-7, 123456.0])
def test_a_number_is_rounded_away_from_what_it_bounds(number: float) -> None:
    """Were 7.9996 certified, "at least 8" would be too much."""
    assert Fraction(words(number, lower=True)) <= Fraction(repr(number)) <= Fraction(words(number))
    for digits in (0, 1, 3):
        low, high = format_bound(number, digits=digits, lower=True), format_bound(number, digits=digits)
        assert Fraction(low) <= Fraction(repr(number)) <= Fraction(high)
        assert Fraction(high) - Fraction(low) <= Fraction(1, 10**digits)


def test_a_judgement_names_a_delta_because_it_may_be_all_that_an_attacker_needs() -> None:
    assert judge(1.0, 0.5) == f"{judge(1.0)}; and delta allows everything to be revealed with a probability of 0.5"
