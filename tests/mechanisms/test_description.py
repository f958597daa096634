"""Claims about randomised response over descriptions: exact odds, the distribution of the release, the best size, plain words.

Statistical: chi-square p-values with limit 1e-10 (see conftest.py); 5 of them.
"""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations

import mpmath
import pytest
from scipy import stats

from adept.errors import ConfigurationError
from adept.mechanisms import description
from adept.mechanisms.description import (
    MAX_SIZE,
    ODDS_BELOW_EPSILON,
    SURE_PROBABILITY,
    Description,
    best_size,
    cell_size,
    enough,
    first_share,
    heavy_sentences,
)

P_LIMIT = 1e-10
TRIALS = 20_000


class Forgetful(Description):
    """The planted defect: the fallback is drawn from all K, the true description among them."""

    def privatize(self, descriptions):
        others = super().privatize([0] * len(descriptions))
        again = Description(epsilon=1e-3, size=self.count).privatize([0] * len(descriptions))
        return [0 if other == 0 else more for other, more in zip(others, again, strict=True)]


def distribution_p_value(mechanism: Description) -> float:
    """Return the p-value of the release's frequencies under the distribution of the proof; all records are 0."""
    counts = Counter(mechanism.privatize([0] * TRIALS))
    keep = 1 / (1 + (mechanism.count - 1) * math.exp(-mechanism.epsilon))
    other = (1 - keep) / (mechanism.count - 1)
    expected = [TRIALS * (other if value else keep) for value in range(mechanism.count)]
    return float(stats.chisquare([counts[value] for value in range(mechanism.count)], expected).pvalue)


@pytest.mark.parametrize(("epsilon", "size"), [(0.5, 2), (2.0, 7)])
def test_the_true_description_and_each_other_one_have_their_exact_probabilities(epsilon: float, size: int) -> None:
    assert distribution_p_value(Description(epsilon=epsilon, size=size)) > P_LIMIT


def test_a_fallback_that_can_return_the_truth_is_detected() -> None:
    assert distribution_p_value(Forgetful(epsilon=2.0, size=7)) < P_LIMIT


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 8.0, 16.0, 48.0, 600.0])
def test_the_odds_never_exceed_the_budget_and_waste_nothing(epsilon: float) -> None:
    heavy, light = Description(epsilon=epsilon).odds
    with mpmath.workdps(400):
        ratio = mpmath.mpf(heavy) / light / mpmath.exp(mpmath.mpf(epsilon))
        assert 1 - mpmath.mpf(2) ** -50 < ratio <= 1


@pytest.mark.parametrize("epsilon", [2.0, 4.0, 8.0, 12.0, 16.0])
def test_the_default_size_transmits_nearly_the_capacity(epsilon: float) -> None:
    with mpmath.workdps(60):
        e, size = mpmath.mpf(epsilon), best_size(epsilon)
        u = e / (1 - mpmath.exp(-e))
        keep = 1 / (1 + (size - 1) * mpmath.exp(-e))
        other = (1 - keep) / (size - 1)
        bits = mpmath.log(size) + keep * mpmath.log(keep) + (1 - keep) * mpmath.log(other)
        assert bits / (u - 1 - mpmath.log(u)) > 0.997


def test_the_largest_size_needs_no_table() -> None:
    mechanism = Description(epsilon=40.0, size=MAX_SIZE)
    assert mechanism.privatize([MAX_SIZE - 1] * 200).count(MAX_SIZE - 1) == 200  # all but 1 in 1e9 times
    assert all(0 <= value < MAX_SIZE for value in Description(epsilon=1e-3, size=MAX_SIZE).privatize([5] * 50))


@pytest.mark.parametrize(("size", "epsilon"), [(2, 3), (6_485, 12), (314_402, 16), (MAX_SIZE, 17)])
def test_a_larger_epsilon_than_enough_changes_at_most_one_release_in_twenty(size: int, epsilon: int) -> None:
    """And a whole epsilon less does not do."""
    kept = [float(Description(epsilon=float(one), size=size).keep_probability) for one in (epsilon - 1, epsilon)]
    assert enough(size) == epsilon
    assert kept[0] < SURE_PROBABILITY <= kept[1]


def test_a_budget_beyond_all_sizes_has_the_largest_one() -> None:
    assert best_size(600.0) == MAX_SIZE
    assert best_size(1e-3) == 2


@pytest.mark.parametrize("fields", [{"epsilon": 0.0}, {"epsilon": math.inf}, {"epsilon": 1.0, "size": 1}])
def test_a_field_out_of_range_is_refused(fields: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError, match=r"epsilon|size"):
        Description(**fields)


@pytest.mark.parametrize("value", [-1, 9, True, "8", 1.0])
def test_a_description_out_of_range_is_refused_without_being_told(value: object) -> None:
    with pytest.raises(ConfigurationError, match=r"integers from 0 to 8, got another value in record 2"):
        Description(epsilon=1.0, size=9).privatize([3, value])


@pytest.mark.parametrize("epsilon", [1e-3, 8.0, 16.0, 48.0, 600.0])
def test_the_statement_says_how_often_the_truth_is_told_and_never_always(epsilon: float) -> None:
    mechanism = Description(epsilon=epsilon)
    text = mechanism.guarantee(7).text
    assert f"{epsilon:g}-LDP (pure)" in text
    assert "100 of 100" not in text
    if epsilon == 16.0:
        assert "93 of 100 cases" in text
        assert Fraction(93, 100) < mechanism.keep_probability < Fraction(94, 100)


def test_the_guarantee_is_exact_pure_and_the_same_for_any_latent() -> None:
    guarantee = Description(epsilon=8.0).guarantee(16)
    assert (guarantee.epsilon, guarantee.delta, guarantee.holds, guarantee.exact) == (8.0, 0.0, True, True)
    assert guarantee == Description(epsilon=8.0).guarantee()


def probabilities(mechanism: Description, own: list[int]) -> dict[int, Fraction]:
    """Return the probability of each releasable number: the weights that ``exact_ranks`` gives to its ranks."""
    (heavy, light), size, top = mechanism.odds, mechanism.count, mechanism.heavy
    total = top * heavy + (size - top) * light
    found: Counter[int] = Counter()
    for rank in range(size):
        [number] = mechanism.choose([own], [rank])
        found[number] += heavy if rank < top else light
    return {number: Fraction(weight, total) for number, weight in found.items()}


@pytest.mark.parametrize(("size", "top"), [(2, 1), (7, 1), (7, 3), (7, 6)])
def test_two_records_probabilities_of_any_number_differ_by_the_odds_at_most(size: int, top: int) -> None:
    """The claim itself, over all pairs of sets of descriptions; and one of the own ones comes out as often as is said."""
    mechanism = Description(epsilon=2.0, size=size, top=top)
    distributions = []
    for own in combinations(range(size), top):
        released = probabilities(mechanism, [*own][::-1])
        assert set(released) == set(range(size))
        assert sum(released.values()) == 1
        assert sum(released[number] for number in own) == mechanism.keep_probability
        distributions.append(released)
    ratios = [one[number] / other[number] for one in distributions for other in distributions for number in one]
    assert max(ratios) == Fraction(*mechanism.odds)


def test_what_is_not_released_is_computed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the time of a release does not tell whether an own description came out."""
    calls: list[int] = []
    monkeypatch.setattr(description, "_other", lambda own, place: calls.append(place) or 8)
    assert Description(epsilon=1.0, size=9, top=3).choose([[0, 1, 2]] * 4, [0, 2, 3, 8]) == [0, 2, 8, 8]
    assert calls == [-3, -1, 0, 5]


def test_a_record_with_fewer_descriptions_would_be_told_apart() -> None:
    """The proof needs exactly t different ones: with two alike the weights do not add up, and the ratio exceeds the odds."""

    class Lenient(Description):
        def _checked(self, descriptions):
            return descriptions

    mechanism = Lenient(epsilon=2.0, size=7, top=3)
    alike, different = (probabilities(mechanism, own) for own in ([0, 0, 1], [4, 5, 6]))
    assert alike[0] / different[0] > Fraction(*mechanism.odds)


@pytest.mark.parametrize(
    "own", [[0, 1], [0, 1, 1], [0, 1, 2, 3], [0, 1, 9], [0, 1, -1], [0, 1, True], "012", 0, {0, 1, 2}]
)
def test_other_than_t_different_descriptions_are_refused_without_being_told(own: object) -> None:
    with pytest.raises(
        ConfigurationError, match=r"3 different integers for each record, from 0 to 8, got another value in r"
    ):
        Description(epsilon=1.0, size=9, top=3).privatize([[2, 1, 0], own])


@pytest.mark.parametrize("own", [[1, 4, 8], [8, 0, 3]])
def test_all_own_descriptions_are_equally_likely_and_so_are_the_others(own: list[int]) -> None:
    mechanism = Description(epsilon=2.0, size=9, top=3)
    counts, expected = Counter(mechanism.privatize([own] * TRIALS)), probabilities(mechanism, own)
    seen = [counts[number] for number in range(9)]
    assert stats.chisquare(seen, [TRIALS * float(expected[number]) for number in range(9)]).pvalue > P_LIMIT


@pytest.mark.parametrize("epsilon", [2.0, 10.0, 12.0, 14.0, 16.0, 600.0])
def test_of_all_sentences_as_many_are_heavy_as_give_one_of_them_the_odds(epsilon: float) -> None:
    mechanism = Description(epsilon=epsilon, size=300_000, top=heavy_sentences(epsilon, 300_000))
    assert mechanism.count == 300_000
    odds, weight = max(1.0, epsilon - ODDS_BELOW_EPSILON), math.exp(epsilon)
    one_less, one_more = (
        (mechanism.heavy + half) * weight / (300_000 - mechanism.heavy - half) for half in (-0.5, 0.5)
    )
    assert one_less < odds * (1 + 1e-9) or mechanism.heavy == 1
    assert odds < one_more * (1 + 1e-9)


@pytest.mark.parametrize(
    ("epsilon", "size", "top"),
    [(2.0, 4096, 626), (4.0, 8192, 289), (6.0, 8192, 40), (8.0, 12_288, 16), (12.0, 32_768, 2), (16.0, 131_072, 1)],
)
def test_cells_grow_with_epsilon_and_fewer_of_their_sentences_are_heavy(epsilon: float, size: int, top: int) -> None:
    mechanism = Description(epsilon=epsilon, by_label=True).over_label_cells()
    assert (mechanism.count, mechanism.heavy) == (size, top)
    budgets = [epsilon - 0.5, epsilon, epsilon + 0.5]
    sizes = [cell_size(budget) for budget in budgets]
    common = [round(cell_size(budget) * first_share(budget)) for budget in budgets]
    assert sizes == sorted(sizes)
    assert common == sorted(common)
    assert all(first < cell for first, cell in zip(common, sizes, strict=True))


@pytest.mark.parametrize("top", [0, 7, 1.0])
def test_a_number_of_heavy_descriptions_out_of_range_is_refused(top: int) -> None:
    with pytest.raises(ConfigurationError, match="top must be an integer between 1 and 6"):
        Description(epsilon=1.0, size=7, top=top)


def test_the_statement_says_how_many_descriptions_are_the_records_own() -> None:
    mechanism = Description(epsilon=2.0, size=900, top=300)
    assert (
        "in 78 of 100 cases one of the record's own 300, and otherwise one of the others" in mechanism.guarantee().text
    )
    assert mechanism.symbols()[0] == (900, 300)
