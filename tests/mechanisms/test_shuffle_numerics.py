"""The bound on a sum's positive part is never too small, hardly too large, and its complex functions lose no digits."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from adept.mechanisms import Selection, shuffling


def bound(chances: list[float], values: list[float], copies: int) -> float:
    """The package's number; the chance of zero is what is left, without the sum's rounding."""
    zero = float(1 - sum(map(Fraction, chances)))
    return shuffling.mean_positive_part(np.array(chances), np.array(values), zero=zero, copies=copies)


def exactly(chances: list[float], values: list[float], copies: int) -> float:
    """E[(X_1 + ... + X_n)+] over all sequences of values."""
    with mpmath.workdps(60):
        exact = [mpmath.mpf(p) for p in chances]
        distribution = [
            (1 - mpmath.fsum(exact), mpmath.mpf(0)),
            *((p, mpmath.mpf(x)) for p, x in zip(exact, values, strict=True)),
        ]
        outcomes = itertools.product(distribution, repeat=copies)
        mean = mpmath.fsum(
            mpmath.fprod(p for p, _ in one) * max(mpmath.mpf(0), mpmath.fsum(x for _, x in one)) for one in outcomes
        )
        return float(mean)


@pytest.mark.parametrize("seed", range(30))
def test_the_bound_is_the_sum_over_all_sequences_or_a_little_more(seed: int) -> None:
    """Values and chances over many magnitudes, also such that nearly nothing or nearly everything is positive."""
    draw = np.random.default_rng(seed)
    size = int(draw.integers(1, 4))
    values = [1.0, *(-(10.0 ** draw.uniform(-8, 8, size)))]
    chances = [float(p) for p in 10.0 ** draw.uniform(-12, 0, size + 1)]
    chances = [p / (max(1.0, sum(chances)) * 1.001) for p in chances]
    copies = int(draw.integers(1, 5))
    found = bound(chances, values, copies)
    exact = exactly(chances, values, copies)
    assert exact <= found <= 1.03 * exact


def test_the_bound_holds_for_several_positive_values_and_ties_at_zero() -> None:
    """Sums that are zero exactly cost a little: the smoothing sees half of them as positive."""
    for chances, values, copies in (
        ([0.3, 0.2, 0.4], [1.0, 0.25, -1.0], 4),
        ([0.5, 0.4999], [1.0, -1.0], 5),
        ([1e-9, 1e-5, 0.9], [1.0, 1e-2, -1e-7], 3),
    ):
        exact = exactly(chances, values, copies)
        assert exact <= bound(chances, values, copies) <= 1.02 * exact


def test_small_complex_numbers_keep_their_logarithm_and_their_difference() -> None:
    """NumPy's log1p gives the real part of log(1 - 1e-17 + 1e-9 i) as 0: the defect that this test was made for."""
    for z in (-1e-17 + 1e-9j, 1e-20 - 1e-10j, -0.3 + 1e-3j, -1.5 + 0.2j, 5j, -1 + 1e-9j, -0.02 + 0.2j, 1e-30 + 0j):
        with mpmath.workdps(60):
            exact = complex(mpmath.log(1 + mpmath.mpc(z)))
        found = complex(shuffling._log1p(np.array([z]))[0])
        assert found.real == pytest.approx(exact.real, rel=1e-6, abs=1e-16 * min(1, abs(z)))
        assert found.imag == pytest.approx(exact.imag, rel=1e-12)
    for first, second in (
        (-1e-3 + 2j, 1e-18 + 1e-20j),
        (-50.0 + 1j, 1e-9 - 1e-9j),
        (-3.0 + 9j, 2.0 + 7j),
        (-900 + 0j, 800 + 1j),
    ):
        with mpmath.workdps(60):
            z, w = mpmath.mpc(first), mpmath.mpc(second)
            exact = complex(mpmath.exp(z) * mpmath.expm1(w))
        found = complex(shuffling._difference(np.array([first]), np.array([second]))[0])
        assert abs(found - exact) <= 1e-12 * abs(exact)


def test_where_rounding_cannot_be_bounded_a_simpler_bound_stands() -> None:
    """A mean deep in the negative: Chernoff's bound, and no number too small for a float."""
    found = bound([1e-20, 0.999], [1.0, -1.0], 50)
    assert 0 < found < 1e-100
    assert bound([1e-3, 0.5], [1.0, -1.0], 10**6) > 0
    assert math.isfinite(bound([0.5, 0.5], [1.0, -1e300], 3))


def test_a_caller_who_makes_underflow_an_error_gets_the_same_epsilon() -> None:
    draws = [Selection(epsilon=8.0, size=8192, heavy_count=16)]
    with np.errstate(all="raise"):
        found = shuffling.central_epsilon(draws, records=15, delta=1e-6)
    shuffling._smallest.cache_clear()
    assert found == shuffling.central_epsilon(draws, records=15, delta=1e-6)
