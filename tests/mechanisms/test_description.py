"""Claims about randomised response over descriptions: exact odds, the distribution of the release, the best size, plain words.

Statistical: chi-square p-values with limit 1e-10 (see conftest.py); 3 of them.
"""

import math
from collections import Counter
from fractions import Fraction

import mpmath
import pytest
from scipy import stats

from adept.errors import ConfigurationError
from adept.mechanisms.description import LARGEST_SIZE, Description, best_size

P_LIMIT = 1e-10
TRIALS = 20_000


class Forgetful(Description):
    """The planted defect: the fallback is drawn from all K, the true description among them."""

    def privatize(self, descriptions):
        others = super().privatize([0] * len(descriptions))
        again = Description(epsilon=1e-3, size=self.count).privatize([0] * len(descriptions))
        return [0 if other == 0 else more for other, more in zip(others, again, strict=True)]


def distribution_p_value(mechanism: Description) -> float:
    """How likely the release's frequencies are under the distribution of the proof, all of them 0 in truth."""
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


@pytest.mark.parametrize("epsilon", [2.0, 4.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0])
def test_the_default_size_transmits_nearly_the_capacity(epsilon: float) -> None:
    with mpmath.workdps(60):
        e, size = mpmath.mpf(epsilon), best_size(epsilon)
        u = e / (1 - mpmath.exp(-e))
        keep = 1 / (1 + (size - 1) * mpmath.exp(-e))
        other = (1 - keep) / (size - 1)
        bits = mpmath.log(size) + keep * mpmath.log(keep) + (1 - keep) * mpmath.log(other)
        assert bits / (u - 1 - mpmath.log(u)) > 0.997


def test_sizes_of_a_hundred_bits_need_no_table() -> None:
    mechanism = Description(epsilon=85.0, size=2**100)
    assert mechanism.privatize([2**100 - 1] * 200).count(2**100 - 1) == 200
    assert all(0 <= value < 2**100 for value in Description(epsilon=1e-3, size=2**100).privatize([5] * 50))


def test_a_budget_beyond_all_sizes_has_the_largest_one() -> None:
    assert best_size(600.0) == LARGEST_SIZE
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
        assert "93 of 100 times" in text
        assert Fraction(93, 100) < mechanism.keep_probability < Fraction(94, 100)


def test_the_guarantee_is_exact_pure_and_the_same_for_any_latent() -> None:
    guarantee = Description(epsilon=8.0).guarantee(16)
    assert (guarantee.epsilon, guarantee.delta, guarantee.holds, guarantee.exact) == (8.0, 0.0, True, True)
    assert guarantee == Description(epsilon=8.0).guarantee()
