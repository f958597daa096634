"""Claims about the noise: exact distributions, entropy that no seed and no fork repeats, odds rounded in the safe direction.

Statistical tests use exact or asymptotic p-values with the limit 1e-10: ten of them, share of false alarms 1e-9.
"""

import itertools
import math
import os
import random
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import torch
from scipy import stats

from adept.mechanisms import random_draws
from adept.mechanisms.discrete_laplace import exact_laplace

P_LIMIT = 1e-10

SOURCES = {
    "laplace": lambda: exact_laplace(torch.zeros(8, dtype=torch.int64), scale=1e6).tolist(),
    "gaussian": lambda: random_draws.exact_gaussian(torch.zeros(8, dtype=torch.int64), scale=1e6).tolist(),
    "ranks": lambda: random_draws.exact_ranks(8, near=1, far=2**60, odds=(2, 1)),
    "bernoulli": lambda: random_draws.exact_bernoulli(128, probability=0.5).tolist(),
    "uniform": lambda: random_draws.fresh_uniform(8).tolist(),
    "directions": lambda: random_draws.fresh_directions(2, 4).tolist(),
}


def integer_distribution_p_value(sample: torch.Tensor, weight) -> float:
    """Chi-square p-value of an integer sample against weights over -40..40, cells pooled to an expectation of 10 or more."""
    support = np.arange(-40, 41)
    mass = np.array([weight(int(z)) for z in support])
    mass = mass / mass.sum()
    observed = np.array([int((sample == z).sum()) for z in support])
    keep = mass * len(sample) >= 10
    expected = np.append(mass[keep], mass[~keep].sum()) * len(sample)
    return float(stats.chisquare(np.append(observed[keep], len(sample) - observed[keep].sum()), expected).pvalue)


@pytest.mark.parametrize(("planted", "rejected"), [(1.0, False), (0.5, True), (1.1, True)])
def test_exact_gaussian_has_the_discrete_gaussian_distribution(planted: float, rejected: bool) -> None:
    """Half the scale, or a tenth more, is seen; the right scale passes."""
    sample = random_draws.exact_gaussian(torch.zeros(40_000, dtype=torch.int64), scale=2.0 * planted)
    assert (integer_distribution_p_value(sample, lambda z: math.exp(-(z**2) / 8.0)) < P_LIMIT) == rejected


@pytest.mark.mutants("mechanisms.discrete_laplace")
@pytest.mark.parametrize("sampler", [exact_laplace, random_draws.exact_gaussian])
def test_exact_samplers_keep_the_shape_and_add_to_the_values(sampler) -> None:
    values = torch.tensor([[5, -(2**21), 0]])
    assert torch.equal(sampler(values, scale=2.0**-10), values)
    assert sampler(torch.empty(0, 3, dtype=torch.int64), scale=1.0).shape == (0, 3)


@pytest.mark.mutants("mechanisms.discrete_laplace")
@pytest.mark.parametrize("sampler", [exact_laplace, random_draws.exact_gaussian])
def test_exact_samplers_saturate_instead_of_wrapping_around(sampler) -> None:
    """A wrapped sum would turn the largest latent into the smallest one; saturation is post-processing."""
    top = torch.full((64,), 2**63 - 1)
    assert (sampler(top, scale=1e6) > 0).all()


BUDGETS = [Fraction(e) for e in (0, 1e-300, 1e-9, 1e-3, 0.1, 1.0, 2.5, 8.0, 64.0, 600.0)]


@pytest.mark.mutants("mechanisms.random_draws")
@pytest.mark.parametrize("epsilon", [*BUDGETS, Fraction(8) / 3, Fraction(600) * 7 / 33])
def test_odds_never_exceed_exp_epsilon_and_come_within_two_to_the_minus_sixty(epsilon: Fraction) -> None:
    heavy, light = random_draws.exact_odds(epsilon)
    with mpmath.workdps(700):
        bound = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        gap = 1 - mpmath.mpf(heavy) / light / bound
    assert 0 <= gap < mpmath.mpf(2) ** -60
    assert heavy >= light == 2**64


def test_rounding_exp_to_the_nearest_float_would_break_the_odds() -> None:
    """The planted defect: math.exp is above e^eps for some budgets, so odds built from it overspend."""
    with mpmath.workdps(60):
        assert any(mpmath.mpf(math.exp(e)) > mpmath.exp(mpmath.mpf(e)) for e in (1.0, 2.0, 3.0, 4.0, 8.0))


def test_every_rank_has_exactly_its_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run through all W = 3 * 7 + 4 * 2 draws: near ranks come 7 times each, far ones twice."""
    draws = itertools.count()
    limits = set()

    def every_draw(limit: int) -> int:
        limits.add(limit)
        return next(draws)

    monkeypatch.setattr(random_draws, "below", every_draw)
    counts = Counter(random_draws.exact_ranks(29, near=3, far=4, odds=(7, 2)))
    assert limits == {29}
    assert counts == {0: 7, 1: 7, 2: 7, 3: 2, 4: 2, 5: 2, 6: 2}


def test_a_bernoulli_draw_is_the_exact_rational_that_its_float_is(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = itertools.count()
    monkeypatch.setattr(random_draws, "below", lambda limit: next(draws) % limit)
    assert int(random_draws.exact_bernoulli(16, probability=0.3125).sum()) == 5
    assert int(random_draws.exact_bernoulli(16, probability=0.0).sum()) == 0


def test_a_bernoulli_of_tiny_probability_is_drawn_without_underflow() -> None:
    assert not random_draws.exact_bernoulli(100, probability=1e-300).any()


@pytest.mark.parametrize("byte", [b"\x00", b"\xff"])
def test_fresh_uniform_stays_inside_the_open_interval_at_both_ends(
    byte: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A uniform 0 or 1 would become an infinite Gaussian or an infinite radius."""
    monkeypatch.setattr(random_draws.os, "urandom", lambda count: byte * count)
    assert 0 < float(random_draws.fresh_uniform(1)) < 1
    assert random_draws.fresh_gaussian(1).isfinite().all()


def test_fresh_noise_has_the_distributions_it_is_named_after() -> None:
    assert stats.kstest(random_draws.fresh_uniform(20_000).numpy(), "uniform").pvalue > P_LIMIT
    assert stats.kstest(random_draws.fresh_gaussian(20_000).numpy(), "norm").pvalue > P_LIMIT
    assert stats.kstest(0.8 * random_draws.fresh_gaussian(20_000).numpy(), "norm").pvalue < P_LIMIT
    # A coordinate of a uniform direction in R^n has (1 + T) / 2 ~ Beta((n - 1) / 2, (n - 1) / 2).
    directions = random_draws.fresh_directions(20_000, 5)
    assert torch.allclose(directions.norm(dim=1), torch.ones(20_000, dtype=torch.float64))
    assert stats.kstest((1 + directions[:, 0].numpy()) / 2, stats.beta(2, 2).cdf).pvalue > P_LIMIT


def seed_everything() -> None:
    torch.manual_seed(0)
    np.random.seed(0)
    random.seed(0)


@pytest.mark.parametrize("source", SOURCES)
def test_no_seed_repeats_what_a_release_draws(source: str) -> None:
    """Chance repetitions have probability below 2^-100."""
    seed_everything()
    first = SOURCES[source]()
    seed_everything()
    assert SOURCES[source]() != first


@pytest.mark.parametrize("source", SOURCES)
def test_forked_workers_draw_different_noise(source: str) -> None:
    """A data loader's workers are forks: they must not share a generator's state."""
    SOURCES[source]()  # anything cached in the parent is inherited
    assert len({forked(source) for _ in range(3)} | {repr(SOURCES[source]())}) == 4


def forked(source: str) -> str:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, repr(SOURCES[source]()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        text = stream.read()
    os.waitpid(child, 0)
    assert text
    return text


def test_simulated_noise_follows_its_generator_and_has_its_distribution() -> None:
    like = torch.zeros(20_000, dtype=torch.float64)
    first, second = (
        random_draws.simulated_laplace(like, scale=3.0, generator=torch.Generator().manual_seed(1)) for _ in range(2)
    )
    assert torch.equal(first, second)
    assert stats.kstest(first.numpy(), stats.laplace(scale=3.0).cdf).pvalue > P_LIMIT
    directions = random_draws.simulated_directions(torch.zeros(5, 7), generator=torch.Generator().manual_seed(1))
    assert torch.allclose(directions.norm(dim=1), torch.ones(5))


def test_fresh_uniforms_reach_as_deep_as_their_distribution_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leading zero bits of the entropy halve the number each: a sampler on 2^52 cells would stop at 2^-53."""
    stream = iter([(1 << 63 >> 200 % 32).to_bytes(8, "little")])
    zeros, last = 200 // 32, next(stream)

    def given(size: int) -> bytes:
        nonlocal zeros
        zeros -= 1
        return bytes(size) if zeros >= 0 else last[:size].ljust(size, b"\0")

    monkeypatch.setattr(random_draws.os, "urandom", given)
    assert 2.0**-202 < float(random_draws.fresh_uniform(1)) < 2.0**-198


def test_fresh_uniforms_are_uniform_in_the_tail_as_well() -> None:
    # 400,000 numbers: those below 2^-k are binomial; 8 standard errors at each k (below 1e-14 a test, 12 tests).
    numbers = random_draws.fresh_uniform(400_000).numpy()
    for k in range(1, 13):
        expected = 400_000 * 2.0**-k
        assert abs((numbers < 2.0**-k).sum() - expected) < 8 * expected**0.5
    scaled = numbers[numbers < 2.0**-4] * 16
    assert stats.kstest(scaled, "uniform").pvalue > P_LIMIT


@pytest.mark.parametrize("uniform", [0.0, 0.5, 1 - 2**-24, 1 - 2**-53])  # in float32 the last is one
def test_inversion_never_draws_a_word_without_probability(monkeypatch: pytest.MonkeyPatch, uniform: float) -> None:
    weights = torch.rand(500, 11, generator=torch.Generator().manual_seed(1)) + 0.01
    weights[:, [0, 1, 5, 9, 10]] = 0.0
    weights[:3] = torch.tensor([[0.0] * 4 + [1.0] + [0.0] * 6])
    monkeypatch.setattr(random_draws, "fresh_uniform", lambda count: torch.full((count,), uniform, dtype=torch.float64))
    drawn = random_draws.fresh_index(weights)
    assert bool((weights.gather(1, drawn[:, None]) > 0).all())
    if uniform == 0:
        assert drawn.tolist()[3:] == [2] * 497
