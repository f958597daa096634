"""The attack knows each mechanism's distribution: it is the best one where known, and odds move as far as epsilon allows."""

import math

import pytest
import torch
from scipy.stats import binom

from adept.attacks.likelihood import Candidates, best_success, guess, read_candidates, released_symbols
from adept.attacks.reconstruction import gather_candidates
from adept.errors import ConfigurationError
from adept.mechanisms import (
    Codebook,
    Description,
    DPText,
    Gaussian,
    Identity,
    L1Laplace,
    L2Norm,
    LearnedCodebook,
    Mechanism,
    OriginalLaplace,
    PrivUnit,
    Random,
    SqrtNLaplace,
)

DIM, COUNT = 16, 40
LATENTS = torch.nn.functional.normalize(torch.randn(COUNT, DIM, generator=torch.Generator().manual_seed(1)), dim=1)
FLAT = torch.full((COUNT,), 1 / COUNT, dtype=torch.float64)
EVERY = torch.arange(COUNT)


def success(mechanism: Mechanism, rounds: int = 50) -> tuple[float, float]:
    """Return the success rate of the posterior attack over all candidates, and the largest odds in nats."""
    secrets = EVERY.repeat(rounds)
    guesses = guess(read_candidates(mechanism, LATENTS), mechanism.privatize(LATENTS[secrets]), prior=FLAT)
    return float((guesses.best == secrets).double().mean()), float(guesses.odds.max())


@pytest.mark.parametrize(
    "mechanism", [Codebook(epsilon=3.0, size=64, blocks=1), LearnedCodebook(epsilon=2.0, codewords=LATENTS, top=3)]
)
@pytest.mark.parametrize("grouped", [False, True])
def test_the_posterior_attack_on_a_codebook_is_the_bayes_optimum(mechanism: Codebook, grouped: bool) -> None:
    """Every codeword is attacked, and the guesses' exact success is summed with the distribution that the proof states."""
    prior = torch.rand(COUNT, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    prior /= prior.sum()
    classes = EVERY % 7 if grouped else EVERY
    candidates, (block,) = read_candidates(mechanism, LATENTS), mechanism.layout(DIM)
    guesses = guess(candidates, block.codewords, prior=prior, classes=classes)
    heavy, light = block.selection.odds
    distribution = torch.full((COUNT, block.selection.size), float(light), dtype=torch.float64)
    distribution[EVERY[:, None], candidates.views[0]] = float(heavy)
    distribution /= distribution[0].sum()
    assert guesses.best_class is not None
    reached = sum(
        float(prior[classes == c] @ distribution[classes == c, v]) for v, c in enumerate(guesses.best_class.tolist())
    )
    joint = torch.stack(
        [(prior[:, None] * distribution)[classes == c].sum(dim=0) for c in range(int(classes.max()) + 1)]
    )
    assert best_success(candidates, prior, classes) == pytest.approx(float(joint.amax(dim=0).sum()), rel=1e-9)
    assert reached == pytest.approx(float(joint.amax(dim=0).sum()), rel=1e-9)


@pytest.mark.parametrize("size", [50, 2**60])
def test_the_posterior_attack_on_descriptions_is_the_bayes_optimum(size: int) -> None:
    """Measured: 4,000 rounds lie within six standard deviations of the exact optimum (1 in 5e8)."""
    mechanism = Description(epsilon=4.0 if size == 50 else 43.3, size=size)
    numbers = [
        (7 * (i // 2)) % 50 if size == 50 else 2**59 + i // 2 for i in range(COUNT)
    ]  # two candidates share a number
    candidates = read_candidates(mechanism, torch.tensor(numbers)[:, None])
    optimum = best_success(candidates, FLAT, EVERY)
    secrets = EVERY.repeat(100)
    released = torch.tensor(mechanism.privatize([numbers[i] for i in secrets.tolist()]))[:, None]
    hits = int((guess(candidates, released, prior=FLAT).best == secrets).sum())
    assert optimum is not None
    low, high = binom(len(secrets), optimum).interval(1 - 2e-9)
    assert low <= hits <= high
    groups = EVERY // 2
    assert best_success(candidates, FLAT, groups) == pytest.approx(2 * optimum, rel=0.02 if size > 50 else 0.1)


def test_two_candidates_under_laplace_noise_are_told_apart_as_the_formula_says() -> None:
    """At distance d in one dimension the best guess is right with probability 1 - exp(-d / 2b) / 2; 6 sigma of 20,000 rounds."""
    mechanism = L1Laplace(epsilon=1.0)
    pair = torch.tensor([[-1.0], [1.0]])
    secrets = torch.tensor([0, 1]).repeat(10_000)
    guesses = guess(
        read_candidates(mechanism, pair), mechanism.privatize(pair[secrets]), prior=torch.tensor([0.5, 0.5])
    )
    rate = float((guesses.best == secrets).double().mean())
    assert rate == pytest.approx(1 - math.exp(-0.5) / 2, abs=6 * 0.5 / 20_000**0.5)


@pytest.mark.parametrize(
    "mechanism",
    [
        L1Laplace(epsilon=2.0),
        SqrtNLaplace(epsilon=2.0),
        L2Norm(epsilon=2.0),
        PrivUnit(epsilon=2.0),
        Codebook(epsilon=2.0, size=64, blocks=2),
        LearnedCodebook(epsilon=2.0, codewords=LATENTS),
        Random(),
    ],
    ids=lambda mechanism: mechanism.name,
)
def test_odds_under_a_sound_mechanism_move_no_further_than_epsilon(mechanism: Mechanism) -> None:
    assert success(mechanism, rounds=5)[1] <= 2.0 * (1 + 1e-4)


@pytest.mark.parametrize("dim", [1, 2, 8])
@pytest.mark.parametrize("kind", [L1Laplace, SqrtNLaplace, L2Norm])
def test_odds_at_a_small_epsilon_move_no_further_than_it(kind: type[Mechanism], dim: int) -> None:
    """Distances in float32 reported a violation by 2 to 42 of 100 releases of two dimensions."""
    mechanism, corners = (
        kind(epsilon=1e-3),
        torch.eye(dim).repeat(2, 1) * torch.tensor([1.0, -1.0]).repeat_interleave(dim)[:, None],
    )
    candidates = read_candidates(mechanism, corners)
    guesses = guess(candidates, mechanism.privatize(corners.repeat(200, 1)), prior=torch.full((2 * dim,), 0.5 / dim))
    assert guesses.odds.max() <= 1e-3 * (1 + 1e-6)


def test_odds_under_the_original_move_beyond_its_claim_and_dptext_gives_records_away() -> None:
    assert success(OriginalLaplace(epsilon=2.0), rounds=5)[1] > 4.0
    assert success(DPText(epsilon=2.0, nan="zero"), rounds=5)[0] == 1.0
    assert success(DPText(epsilon=2.0), rounds=5)[0] > 0.5
    assert success(Identity(), rounds=1) == (1.0, math.inf)


@pytest.mark.parametrize(
    "mechanism",
    [Gaussian(epsilon=8.0), L1Laplace(epsilon=8.0), OriginalLaplace(epsilon=8.0), L2Norm(epsilon=8.0)],
    ids=lambda mechanism: mechanism.name,
)
def test_noise_is_weighed_by_its_own_distribution(mechanism: Mechanism) -> None:
    """Beside the densities as torch has them; for the radial one, its formula. (With l2 distances for Laplace noise this fails.)"""
    candidates, released = read_candidates(mechanism, LATENTS), mechanism.privatize(LATENTS[:3])
    scale = mechanism.guarantee(DIM).scale or 0.0
    noise = released[:, None].double() - mechanism.project(LATENTS.double())[None]
    match mechanism.noise:
        case "gaussian":
            exact = torch.distributions.Normal(0.0, scale).log_prob(noise).sum(dim=2)
        case "laplace":
            exact = torch.distributions.Laplace(0.0, scale).log_prob(noise).sum(dim=2)
        case _:
            exact = -noise.norm(dim=2) / scale
    scores = candidates.log_likelihood(released).double()
    assert torch.allclose(scores - scores[:, :1], exact - exact[:, :1], atol=1e-3)


def test_released_codewords_are_known_by_their_block() -> None:
    mechanism = Codebook(epsilon=2.0, size=64, blocks=2)
    blocks = mechanism.layout(DIM)
    released = torch.cat([block.codewords[[3, 60]] * 0.5**0.5 for block in blocks], dim=1)
    assert released_symbols(mechanism, released).tolist() == [[3, 3], [60, 60]]


def test_what_has_no_known_distribution_is_refused() -> None:
    class Odd(L1Laplace):
        noise = None

    with pytest.raises(ConfigurationError, match="mechanism must have a known distribution"):
        read_candidates(Odd(epsilon=1.0), LATENTS).log_likelihood(LATENTS)
    assert best_success(read_candidates(L1Laplace(epsilon=1.0), LATENTS), FLAT, EVERY) is None


def test_candidates_are_gathered_with_frequencies_and_good_enough_guesses() -> None:
    found = gather_candidates(["a b", "c", "a b", "b a"], [["a", "b"], [], ["a", "b"], ["b", "a"]])
    assert (found.texts, found.prior.tolist()) == (["a b", "c", "b a"], [0.5, 0.25, 0.25])
    assert found.classes is not None
    assert found.classes.tolist() == [0, 1, 0]


@pytest.mark.slow
def test_a_thousand_records_are_attacked_among_ten_thousand_candidates() -> None:
    latents = torch.nn.functional.normalize(torch.randn(10_000, 64), dim=1)
    mechanism = OriginalLaplace(epsilon=8.0)
    candidates: Candidates = read_candidates(mechanism, latents)
    flat = torch.full((10_000,), 1e-4, dtype=torch.float64)
    assert len(guess(candidates, mechanism.privatize(latents[:1000]), prior=flat).best) == 1000
