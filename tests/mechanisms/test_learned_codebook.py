"""A learned codebook keeps the proof of the random one and is near the latents that it was learned from."""

import math

import numpy as np
import pytest
import torch

from adept.errors import ConfigurationError
from adept.mechanisms import Codebook, LearnedCodebook


def test_learned_codewords_cover_the_latents_they_were_made_for(unit_rows) -> None:
    """200 codewords at the latents themselves beat 4,096 random ones, and the closed form is exact for them."""
    words = 3 * unit_rows(200, 16)
    learned = LearnedCodebook(epsilon=8.0, codewords=words, top=1)
    latents = words.repeat(100, 1) / 3
    cosines = (learned.privatize(latents) * latents).sum(dim=1)
    assert abs(float(cosines.mean()) - learned.mean_cosine(16)) < 8 * float(cosines.std()) / 20_000**0.5 + 1e-5
    assert learned.mean_cosine(16) > 0.9 > Codebook(epsilon=8.0).mean_cosine(16)
    assert learned.selection.epsilon == 8
    assert torch.equal(words, 3 * unit_rows(200, 16))  # the caller's tensor is left alone


@pytest.mark.parametrize(
    ("codewords", "options", "message"),
    [
        (torch.ones(1, 4), {}, "codewords must be an integer between 2"),
        (torch.tensor([[1.0, 0.0], [math.nan, 1.0]]), {}, "codewords must be finite"),
        (torch.tensor([[1.0, 0.0], [0.0, 0.0]]), {}, "must not hold a zero row"),
        (torch.eye(3), {"top": 3}, "top must be an integer between 1 and 2, got 3"),
        (torch.eye(3), {"size": 4}, "size must be the number of codewords, 3, got 4"),
        (torch.eye(3), {"blocks": 1}, "blocks must be left out"),
        ([[1.0, 0.0]], {}, "codewords must be a tensor, got list"),
        (torch.ones(4), {}, "latents must have shape"),
    ],
)
def test_impossible_codewords_are_refused(codewords: torch.Tensor, options: dict[str, int], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        LearnedCodebook(epsilon=8.0, codewords=codewords, **options)


def test_learned_codewords_of_another_dimension_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="dim must be 3, that of the codewords, got 5"):
        LearnedCodebook(epsilon=8.0, codewords=torch.eye(3)).privatize(torch.ones(2, 5))


def test_frequencies_of_released_codewords_are_those_of_the_proof() -> None:
    """Each heavy codeword has probability A / W, each light one B / W; 8 standard errors miss with probability below 1e-13."""
    mechanism, records = LearnedCodebook(epsilon=2.0, codewords=torch.eye(6), top=2), 60_000
    latent = torch.tensor([[3.0, 2.0, 1.0, 0.0, 0.0, 0.0]])
    counts = mechanism.privatize(latent.expand(records, -1)).sum(dim=0) / records
    heavy, light = mechanism.selection.odds
    assert math.log(heavy / light) == pytest.approx(2.0, abs=1e-6)
    assert heavy <= math.exp(2.0) * light
    expected = np.array([heavy / (2 * heavy + 4 * light)] * 2 + [light / (2 * heavy + 4 * light)] * 4)
    assert np.all(np.abs(counts.numpy() - expected) < 8 * np.sqrt(expected / records))


@pytest.mark.parametrize("epsilon", [1.0, 64.0, 600.0])
def test_a_learned_codebook_makes_one_draw_at_every_budget(epsilon: float) -> None:
    """A random codebook has several blocks at large budgets, and says so."""
    mechanism = LearnedCodebook(epsilon=epsilon, size=64)
    assert len(mechanism.selections(64)) == len(mechanism.certificate(64) or ()) == 1
    assert "draws" not in mechanism.guarantee(64).text
    assert ("draws" in Codebook(epsilon=epsilon, size=64).guarantee(64).text) is (epsilon > 1)
