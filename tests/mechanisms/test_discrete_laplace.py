"""Claims about the discrete Laplace sampler: its distribution at every scale, step by step, and a private scale.

Statistical tests use p-values with the limit 1e-10: ten of them, share of false alarms 1e-9.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_laplace
from opendp.metrics import l1_distance
from scipy import stats

from adept.errors import ConfigurationError
from adept.mechanisms import discrete_laplace as sampler
from adept.mechanisms import random_draws

P_LIMIT, DRAWS = 1e-10, 100_000
RNG = np.random.default_rng(1)  # of defects that are planted


def p_value(sample: np.ndarray, scale: float) -> float:
    """Chi-square p-value of integers against the distribution of a scale, in about 60 cells of equal width."""
    width = max(1, round(scale / 4))
    edges = np.arange(-30, 31) * width  # cells {edge..edge + width - 1}
    ratio = math.exp(-1 / scale)
    below = np.where(
        edges <= 0, ratio ** (1 - edges) / (1 + ratio), 1 - ratio ** np.abs(edges) / (1 + ratio)
    )  # P(z < edge)
    mass = np.diff(np.concatenate([[0.0], below, [1.0]]))
    observed = np.bincount(np.searchsorted(edges, sample, side="right"), minlength=len(mass))
    keep = mass * len(sample) >= 10
    expected, cells = np.append(mass[keep], mass[~keep].sum()), np.append(observed[keep], observed[~keep].sum())
    inside = expected > 0
    return float(stats.chisquare(cells[inside], expected[inside] / expected[inside].sum() * len(sample)).pvalue)


def draws(scale: float, count: int = DRAWS) -> np.ndarray:
    return sampler.exact_laplace(torch.zeros(count, dtype=torch.int64), scale=scale).numpy()


@pytest.mark.mutants("mechanisms.discrete_laplace")
@pytest.mark.parametrize("scale", [0.25, 1.0, 2.0, 3.75, 7 / 64, 1000.0, 2.0**21 + 0.5, 2.0**40])
def test_the_noise_has_the_discrete_laplace_distribution_and_no_other(scale: float) -> None:
    sample = draws(scale)
    assert p_value(sample, scale) > P_LIMIT
    if scale >= 1:
        assert p_value(sample, 1.1 * scale) < P_LIMIT


def test_the_distribution_is_that_of_opendp() -> None:
    """Its finest parts are compared: the lowest bits of wide noise, and all of its distribution."""
    scale = 12_345.0
    measurement = make_laplace(vector_domain(atom_domain(T="i64")), l1_distance(T="i64"), scale=scale)
    theirs, ours = np.array(measurement([0] * DRAWS)), draws(scale)
    assert stats.ks_2samp(ours, theirs).pvalue > P_LIMIT
    bits = [np.bincount(sample & 15, minlength=16) for sample in (ours, theirs)]
    assert stats.chi2_contingency(bits).pvalue > P_LIMIT


def zero_counted_twice(count: int, *, t: int, shift: int) -> np.ndarray:
    return np.where(np.arange(count) % 2, 1, -1) * sampler._magnitudes(count, t=t, shift=shift)


def another_base(count: int) -> np.ndarray:
    return RNG.geometric(0.6, count) - 1


def decays_that_ignore_the_fraction(numerators: np.ndarray, t: int) -> np.ndarray:
    return RNG.random(len(numerators)) < math.exp(-1)


DEFECTS = [
    ("laplace_noise", zero_counted_twice),
    ("_wholes", another_base),
    ("_decays", decays_that_ignore_the_fraction),
]


@pytest.mark.parametrize("defect", DEFECTS, ids=[function.__name__ for _, function in DEFECTS])
def test_a_planted_defect_is_seen(defect: tuple[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler, *defect)
    assert p_value(draws(2.0), 2.0) < P_LIMIT


@pytest.mark.parametrize(("numerator", "t"), [(0, 1), (1, 1), (0, 10), (3, 10), (10, 10), (2**50 - 1, 2**50)])
def test_a_decay_has_the_probability_exp_of_minus_the_fraction(numerator: int, t: int) -> None:
    successes = int(sampler._decays(np.full(DRAWS, numerator), t).sum())
    assert stats.binomtest(successes, DRAWS, math.exp(-numerator / t)).pvalue > P_LIMIT


def test_integers_below_a_bound_are_uniform_where_a_remainder_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 64-bit words, remainders by 3 * 2^61 are in its lower two thirds with probability 3/4."""
    bound = 3 << 61
    share = float((random_draws.below_each(bound, DRAWS) < 1 << 62).mean())
    assert stats.binomtest(round(share * DRAWS), DRAWS, 2 / 3).pvalue > P_LIMIT
    naive = float((random_draws.source.words(DRAWS) % np.uint64(bound) < 1 << 62).mean())
    assert stats.binomtest(round(naive * DRAWS), DRAWS, 2 / 3).pvalue < P_LIMIT


@pytest.mark.mutants("mechanisms.discrete_laplace")
def test_noise_that_does_not_fit_goes_to_the_end_of_the_range(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum at the end of the range does not tell the value: all values give the same."""
    monkeypatch.setattr(sampler, "_wholes", lambda count: np.full(count, 1 << 40))
    ends = {
        int(z)
        for value in (0, 5, -(2**30), 2**61, -(2**63))
        for z in sampler.exact_laplace(torch.full((64,), value), scale=2.0**30).abs()
    }
    assert ends == {2**61}


def test_no_two_numbers_share_their_noise() -> None:
    """Two of 4,096 numbers with noise of 2^56 steps are equal by chance with a probability of less than 2^-32."""
    assert len(np.unique(np.abs(sampler.laplace_noise(4096, t=2**56, shift=0)))) == 4096


@pytest.mark.parametrize("successes", [0, 1, 8, 9, 10, 40, 999, 10_000])
def test_noise_is_as_large_as_its_run_of_successes(successes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise that is cut off at any number of scales has no finite epsilon, and no test of its distribution shows a late cut."""
    coins = iter([True] * successes + [False])

    def decide(numerators: np.ndarray, t: int) -> np.ndarray:
        return np.array([t > 1 or next(coins, True) for _ in numerators])

    monkeypatch.setattr(sampler, "_decays", decide)
    monkeypatch.setattr(sampler, "below_each", lambda bound, count: np.full(count, bound - 1))
    assert sampler.laplace_noise(1, t=3, shift=0).tolist() == [-(2 + 3 * successes)]


@pytest.mark.mutants("mechanisms.discrete_laplace")
@pytest.mark.parametrize("sensitivity", [1, 3, 2**21, 12_345_677])
@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1 / 3, 8.0, 600.0, 1e9, 1e300])
def test_the_smallest_scale_is_private_and_the_smallest_of_its_bits(sensitivity: int, epsilon: float) -> None:
    scale = sampler.smallest_scale(sensitivity, epsilon=epsilon)
    used = min(Fraction(epsilon), Fraction(2**30))
    assert Fraction(sensitivity) / Fraction(scale) <= used
    assert Fraction(sensitivity) / (Fraction(scale) * (1 - Fraction(1, 2**22))) > used
    sampler.exact_laplace(torch.zeros(1, dtype=torch.int64), scale=scale)


@pytest.mark.mutants("mechanisms.discrete_laplace")
@pytest.mark.parametrize("scale", [1 / 3, 0.0, -1.0, 2.0**60])
def test_a_scale_of_too_many_bits_is_refused(scale: float) -> None:
    with pytest.raises(ConfigurationError, match="scale must have"):
        sampler.exact_laplace(torch.zeros(1, dtype=torch.int64), scale=scale)


@pytest.mark.mutants("mechanisms.discrete_laplace")
def test_the_largest_scale_is_taken() -> None:
    assert sampler.smallest_scale(2**21, epsilon=2.0**-37) == 2**58


@pytest.mark.mutants("mechanisms.discrete_laplace")
def test_an_epsilon_too_small_for_the_noise_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="epsilon must be large enough"):
        sampler.smallest_scale(2**21, epsilon=1e-310)
