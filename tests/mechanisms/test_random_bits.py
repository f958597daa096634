"""Every sampler, over all finite tapes: the probabilities that its proof claims, as fractions.

Integers come from words, so the first tests run through words; the discrete Laplace sampler is then run through uniform integers.
"""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from tapes import Tape, outcomes, replacing

from adept.mechanisms import (
    Description,
    JointResponse,
    LearnedCodebook,
    RandomizedResponse,
    discrete_laplace,
    random_draws,
)
from adept.mechanisms.random_draws import exact_bernoulli, exact_ranks

WEIGHTS = [(5, 2), (3, 1), (2, 2), (7, 3)]


@pytest.mark.mutants("mechanisms.random_draws")
@pytest.mark.parametrize("bound", range(1, 18))
def test_an_integer_below_a_bound_is_uniform(bound: int) -> None:
    found = outcomes(lambda: random_draws.below(bound), least=2**-9)
    assert found.given_an_end() == dict.fromkeys(range(bound), Fraction(1, bound))
    assert found.rest < 2**-2


@pytest.mark.mutants("mechanisms.random_draws")
@pytest.mark.parametrize("width", [1, 3])
def test_each_of_several_integers_is_uniform_and_independent_of_the_others(width: int) -> None:
    """Words of few bits: the rejected ones are as many as 2^b leaves of a multiple of the bound."""
    for bound in range(1, (1 << width) + 1):
        found = outcomes(
            lambda bound=bound: tuple(random_draws.below_each(bound, 2).tolist()), least=2**-7, width=width
        )
        pairs = itertools.product(range(bound), repeat=2)
        assert found.given_an_end() == dict.fromkeys(pairs, Fraction(1, bound**2))


@pytest.mark.mutants("mechanisms.random_draws")
@pytest.mark.parametrize("count", range(5))
def test_every_order_is_equally_likely(count: int) -> None:
    def order() -> tuple[int, ...]:
        items = list(range(count))
        random_draws.shuffle(items)
        return tuple(items)

    found = outcomes(order, least=2**-11)
    assert found.allow(dict.fromkeys(itertools.permutations(range(count)), Fraction(1, math.factorial(count))))
    assert found.rest < 0.05


def distribution(size: int, heavy: set[Any], odds: tuple[int, int], alphabet: list[Any]) -> dict[Any, Fraction]:
    """Weight A for the heavy outcomes, B for each other one."""
    total = len(heavy) * odds[0] + (size - len(heavy)) * odds[1]
    return {outcome: Fraction(odds[outcome not in heavy], total) for outcome in alphabet}


@pytest.mark.mutants("mechanisms.random_draws")
@pytest.mark.parametrize("odds", WEIGHTS)
@pytest.mark.parametrize(("near", "far"), [(1, 1), (1, 4), (3, 2), (4, 1)])
def test_ranks_have_their_weights(near: int, far: int, odds: tuple[int, int]) -> None:
    """One word of the bits that hold W, given that it is taken."""
    found = outcomes(lambda: exact_ranks(1, near=near, far=far, odds=odds)[0], least=2**-8)
    assert found.given_an_end() == distribution(near + far, set(range(near)), odds, list(range(near + far)))


@pytest.mark.mutants("mechanisms.random_draws")
@pytest.mark.parametrize("probability", [0.0, 0.25, 0.8125, 1.0])
def test_a_bernoulli_draw_has_its_probability(probability: float) -> None:
    found = outcomes(lambda: bool(exact_bernoulli(1, probability=probability)), least=2**-8)
    assert found.rest == 0
    assert found.found.get(True, 0) == Fraction(probability)


@pytest.fixture
def small_odds(monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Weights of a few bits for every mechanism: the real ones have 2^64 for the light outcomes."""
    monkeypatch.setattr("adept.mechanisms.selection.exact_odds", lambda epsilon: (5, 2))
    return 5, 2


@pytest.mark.mutants("mechanisms.randomized_response", "mechanisms.selection")
@pytest.mark.parametrize("true", range(4))
def test_k_ary_response_has_its_distribution(true: int, small_odds: tuple[int, int]) -> None:
    described = outcomes(lambda: Description(epsilon=1.0, size=4).privatize([true])[0], least=2**-8)
    assert described.given_an_end() == distribution(4, {true}, small_odds, list(range(4)))
    labels = ("a", "b", "c", "d")
    labelled = outcomes(
        lambda: RandomizedResponse(epsilon=1.0, labels=labels).privatize([labels[true]])[0], least=2**-8
    )
    assert labelled.given_an_end() == distribution(4, {labels[true]}, small_odds, list(labels))


@pytest.mark.parametrize("top", [1, 2, 4])
def test_a_codebook_has_its_distribution(top: int, small_odds: tuple[int, int]) -> None:
    words = torch.nn.functional.normalize(torch.randn(5, 3, generator=torch.Generator().manual_seed(0)), dim=1)
    mechanism = LearnedCodebook(epsilon=1.0, codewords=words, top=top)
    for number in (0, 3):
        latent = words[[number]]

        def released(latent: torch.Tensor = latent) -> int:
            return int((mechanism.privatize(latent) @ words.T).argmax())

        near = {int(place) for place in (words @ words[number]).topk(top).indices}
        assert outcomes(released, least=2**-4).given_an_end() == distribution(5, near, small_odds, list(range(5)))


@pytest.mark.mutants("mechanisms.randomized_response")
@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("label", ["a", "b"])
def test_a_joint_response_has_its_distribution(number: int, label: str, small_odds: tuple[int, int]) -> None:
    joint = JointResponse.of(Description(epsilon=1.0, size=3), ("a", "b"))
    symbols = list(itertools.product(range(3), ("a", "b")))
    found = outcomes(lambda: joint.privatize([(number, label)])[0], least=2**-8)
    assert found.given_an_end() == distribution(6, {(number, label)}, small_odds, symbols)


def integers(tape: Tape) -> Callable[[int, int], np.ndarray]:
    return tape.below_each


@pytest.mark.mutants("mechanisms.discrete_laplace")
@pytest.mark.parametrize(("numerator", "t"), [(0, 1), (1, 1), (1, 2), (2, 2), (1, 3), (4, 5)])
def test_a_decay_has_the_probability_of_its_exponential(numerator: int, t: int) -> None:
    """P(true) = exp(-u / t), with a tolerance of what is left after so many trials."""
    found = outcomes(
        lambda: bool(discrete_laplace._decays(np.array([numerator]), t)[0]),
        least=1e-4,
        read=replacing(below_each=integers),
    )
    with mpmath.workdps(30):
        exact = Fraction(int(mpmath.exp(mpmath.mpf(-numerator) / t) * 10**25), 10**25)
    assert found.allow({True: exact, False: 1 - exact} if numerator else {True: Fraction(1)})
    assert found.rest < 0.02


@pytest.mark.mutants("mechanisms.discrete_laplace")
def test_decays_of_several_numbers_are_independent_of_each_other() -> None:
    """Two at a time: the pair's distribution is the product, for numerators that stop at different trials."""
    found = outcomes(
        lambda: tuple(discrete_laplace._decays(np.array([1, 0]), 2).tolist()),
        least=1e-4,
        read=replacing(below_each=integers),
    )
    with mpmath.workdps(30):
        exact = Fraction(int(mpmath.exp(-mpmath.mpf(1) / 2) * 10**25), 10**25)
    assert found.allow({(True, True): exact, (False, True): 1 - exact})


BASE, DISTRIBUTION = Fraction(1, 3), [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]


def coins(t: int) -> Callable[[Tape], Callable[[np.ndarray, int], np.ndarray]]:
    """Decays of another base: BASE^u stands for e^(-u/t), so BASE^t for e^-1. The steps above decays ask no more of them."""

    def reads(tape: Tape) -> Callable[[np.ndarray, int], np.ndarray]:
        return lambda numerators, scale: np.array(
            [tape.coin(BASE ** (int(u) * t // scale)) for u in numerators], dtype=bool
        )

    return reads


def numbers(tape: Tape) -> Callable[..., np.ndarray]:
    """Independent numbers of the distribution DISTRIBUTION on 0, 1, 2."""
    return lambda count, **_: np.array([tape.one_of(DISTRIBUTION) for _ in range(count)], dtype=np.int64)


def spare(extra: int) -> Callable[[Tape], Callable[[int], int]]:
    """Set the number of candidates that are drawn at a time: too many change nothing."""
    return lambda tape: lambda count: count + extra


@pytest.mark.mutants("mechanisms.discrete_laplace")
@pytest.mark.parametrize("extra", [0, 1, 3])
def test_runs_of_successes_are_geometric(extra: int) -> None:
    """P(v) = c^v (1 - c) for a coin of chance c, also of two runs at once."""
    read = replacing(_decays=coins(1), _plenty=spare(extra))
    one = outcomes(lambda: int(discrete_laplace._wholes(1)[0]), least=1e-4, read=read)
    assert one.allow({v: BASE**v * (1 - BASE) for v in range(40)})
    two = outcomes(lambda: tuple(discrete_laplace._wholes(2).tolist()), least=1e-3, read=read)
    assert two.allow({(v, w): BASE ** (v + w) * (1 - BASE) ** 2 for v in range(20) for w in range(20)})
    assert max(one.rest, two.rest) < 0.02


@pytest.mark.mutants("mechanisms.discrete_laplace")
@pytest.mark.parametrize("extra", [0, 1])
@pytest.mark.parametrize(("t", "shift"), [(1, 0), (2, 0), (3, 1), (4, 2), (2, 3)])
def test_a_magnitude_is_a_part_and_wholes_rounded_down(t: int, shift: int, extra: int) -> None:
    """Y = floor((U + t V) / 2^k), P(U = u) proportional to BASE^u, V of a distribution of its own."""
    read = replacing(below_each=integers, _decays=coins(t), _wholes=numbers, _plenty=spare(extra))
    found = outcomes(lambda: int(discrete_laplace._magnitudes(1, t=t, shift=shift)[0]), least=5e-5, read=read)
    distribution: dict[int, Fraction] = {}
    for u, (v, chance) in itertools.product(range(t), enumerate(DISTRIBUTION)):
        y = (u + t * v) >> shift
        distribution[y] = distribution.get(y, Fraction(0)) + chance * BASE**u * (1 - BASE) / (1 - BASE**t)
    assert found.allow(distribution)
    assert found.rest < 0.25


@pytest.mark.mutants("mechanisms.discrete_laplace")
def test_a_sign_counts_zero_once() -> None:
    """P(z) proportional to P(|z|), zero counted half of the time; of two numbers at once each has this distribution."""
    distribution = {
        z: (1 if z else 2) * DISTRIBUTION[abs(z)] / (2 * (1 - DISTRIBUTION[0] / 2)) / (1 if z else 2)
        for z in range(-2, 3)
    }
    read = replacing(below_each=integers, _magnitudes=numbers)
    one = outcomes(lambda: int(discrete_laplace.laplace_noise(1, t=3, shift=0)[0]), least=1e-5, read=read)
    assert one.allow(distribution)
    two = outcomes(lambda: tuple(discrete_laplace.laplace_noise(2, t=3, shift=0).tolist()), least=1e-3, read=read)
    assert two.allow({(z, y): distribution[z] * distribution[y] for z in distribution for y in distribution})
    assert max(one.rest, two.rest) < 0.05


def test_the_steps_together_are_the_discrete_laplace_distribution() -> None:
    """With P(y) = (1 - a) a^y for |z|: (1 - a) / (1 + a) a^|z|, in fractions; and the whole sampler within its tolerance."""
    decay = Fraction(1, 5)
    halves = [(1 - decay) * decay**y / 2 for y in range(30)]
    total = 2 * sum(halves) - halves[0]
    assert abs(halves[3] / total - (1 - decay) / (1 + decay) * decay**3) < decay**29
    found = outcomes(
        lambda: int(discrete_laplace.laplace_noise(1, t=1, shift=0)[0]),
        least=1e-3,
        read=replacing(below_each=integers, _plenty=spare(0)),
    )
    with mpmath.workdps(40):
        distribution = [mpmath.tanh(mpmath.mpf(1) / 2) * mpmath.exp(-abs(z)) for z in range(-40, 41)]
        assert found.allow({z: Fraction(int(chance * 10**25), 10**25) for z, chance in enumerate(distribution, -40)})
    assert found.rest < 0.3
