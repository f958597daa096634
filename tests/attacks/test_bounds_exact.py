"""The best attack's success is the sum over all outcomes, in fractions, at the ends of every budget."""

from fractions import Fraction

import pytest
import torch

from adept.attacks.likelihood import best_success, read_candidates
from adept.mechanisms import Description, LearnedCodebook
from adept.mechanisms.random_draws import exact_odds

EPSILONS = (1e-3, 1.0, 40.0, 600.0)
CASES = [  # numbers, prior, classes: one record, all alike, classes that share numbers, a prior of one record alone
    ([3], [1.0], [0]),
    ([2, 2, 2], [0.5, 0.25, 0.25], [0, 1, 2]),
    ([2, 2, 2], [0.5, 0.25, 0.25], [0, 0, 0]),
    ([0, 1, 2, 2], [0.125, 0.5, 0.125, 0.25], [0, 1, 0, 1]),
    ([0, 1, 2, 3], [0.0, 1.0, 0.0, 0.0], [0, 1, 2, 3]),
]


def enumerated(
    heavy: list[list[int]], prior: list[float], classes: list[int], *, size: int, epsilon: float
) -> Fraction:
    """sum over v of max over c of the sum of pi_x Q(v|x) over the x of class c."""
    odds = exact_odds(Fraction(epsilon))
    total = len(heavy[0]) * odds[0] + (size - len(heavy[0])) * odds[1]
    won = Fraction(0)
    for outcome in range(size):
        shares = dict.fromkeys(classes, Fraction(0))
        for near, mass, group in zip(heavy, prior, classes, strict=True):
            shares[group] += Fraction(mass) * odds[outcome not in near] / total
        won += max(shares.values())
    return won


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("size", [4, 50])
@pytest.mark.parametrize(("numbers", "prior", "classes"), CASES)
def test_the_best_success_against_descriptions_is_the_enumerated_one(
    epsilon: float, size: int, numbers: list[int], prior: list[float], classes: list[int]
) -> None:
    candidates = read_candidates(Description(epsilon=epsilon, size=size), torch.tensor(numbers)[:, None])
    found = best_success(candidates, torch.tensor(prior), torch.tensor(classes))
    exact = enumerated([[number] for number in numbers], prior, classes, size=size, epsilon=epsilon)
    assert found == pytest.approx(float(exact), rel=1e-12)
    assert found is not None
    assert found <= 1


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_best_success_against_several_descriptions_is_the_enumerated_one(epsilon: float) -> None:
    """Its likelihoods too: of each number under each record, up to a constant."""
    numbers = [[0, 1, 2], [2, 1, 5], [7, 3, 2], [0, 4, 6]]
    candidates = read_candidates(Description(epsilon=epsilon, size=9, top=3), torch.tensor(numbers))
    prior, classes = [0.25, 0.25, 0.125, 0.375], [0, 1, 1, 2]
    found = best_success(candidates, torch.tensor(prior), torch.tensor(classes))
    assert found == pytest.approx(float(enumerated(numbers, prior, classes, size=9, epsilon=epsilon)), rel=1e-12)
    said = candidates.log_likelihood(torch.arange(9)[:, None])
    heavy = torch.tensor([[number in own for own in numbers] for number in range(9)])
    assert said.allclose(epsilon * heavy.float())


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("top", [1, 3, 7])
def test_the_best_success_against_codewords_is_the_enumerated_one(epsilon: float, top: int) -> None:
    latents = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
    mechanism = LearnedCodebook(epsilon=epsilon, codewords=torch.eye(8)[:, :4] + 0.1, top=top)
    candidates = read_candidates(mechanism, latents)
    heavy = candidates.views[0].tolist()
    prior, classes = [0.25, 0.25, 0.125, 0.125, 0.125, 0.125], [0, 1, 2, 0, 1, 2]
    exact = enumerated(heavy, prior, classes, size=8, epsilon=epsilon)
    found = best_success(candidates, torch.tensor(prior), torch.tensor(classes))
    assert found == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_best_success_is_exact_where_symbols_cannot_be_enumerated(epsilon: float) -> None:
    """K = 2^62, two equally likely records: (1 / W) (A + (K - 1) / 2 + ...) in fractions."""
    candidates = read_candidates(Description(epsilon=epsilon, size=2**62), torch.tensor([[1], [2**61]]))
    heavy, light = exact_odds(Fraction(epsilon))
    exact = Fraction(2 * heavy + (2**62 - 2) * light, 2 * (heavy + (2**62 - 1) * light))
    found = best_success(candidates, torch.tensor([0.5, 0.5]), torch.tensor([0, 1]))
    assert found == pytest.approx(float(exact), rel=1e-12)
