"""Mechanisms that release a sentence's latent, from which alone text is decoded; and sampling from a language model."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from adept.mechanisms import ClampedGaussian
from adept.mechanisms.exponential import exponential_choice
from adept.studies.zoo.word_level import public_bigrams, public_words

CLIP_VALUE = 0.1  # DP-BART: each number of the encoder's output to [-C, C]
LOGITS = (-4.0, 0.0)  # DP-Prompt: b1 and b2
TOKENS = 12  # DP-Prompt: n
COPYING = 3.0  # by how much a word of the record raises its logit: what a paraphrasing model has learned to do


@dataclass
class SentenceLatents:
    """A mechanism on latents (B, n) -> (B, n), put to sentences through the public encoder."""

    mechanism: Any

    def privatize(self, texts: list[str]) -> Any:
        """Release the latents (B, n) of texts."""
        codes = {text: public_words().encode(text) for text in dict.fromkeys(texts)}
        return self.mechanism.privatize(torch.from_numpy(np.stack([codes[text] for text in texts]))).numpy()

    def supports(self, outcome: tuple[float, ...], text: str) -> float:
        """Return minus the l1 distance: the log likelihood of Laplace noise, up to a factor."""
        return -float(np.abs(np.array(outcome) - public_words().encode(text)).sum())


@dataclass
class SeededLaplace:
    """ADePT with the right scale, 2C sqrt(n) / eps, as DP-Rewrite's program has it by default (Igamberdiev et al. 2022).

    `get_sensitivity_for_clip_by_norm` with the defaults of its `settings.py`: l2 norm, Laplace. The program draws its noise from
    torch, which its `main.py` seeds with 12345 unless told otherwise.
    """

    epsilon: float

    def privatize(self, latents: torch.Tensor) -> torch.Tensor:
        """Add noise of torch's generator, as the program does."""
        scale = 2 * latents.shape[1] ** 0.5 / self.epsilon
        uniform = torch.rand(latents.shape, dtype=latents.dtype) - 0.5
        noisy: torch.Tensor = latents - scale * uniform.sign() * torch.log1p(-2 * uniform.abs())
        return noisy


class DPBart(SentenceLatents):
    """Clip every number to [-C, C], analytic Gaussian for the l2 sensitivity 2C sqrt(n) (Igamberdiev and Habernal 2023)."""

    delta = 1e-5

    def __init__(self, epsilon: float) -> None:
        radius = CLIP_VALUE * public_words().vectors.shape[1] ** 0.5  # of the corners of the cube
        super().__init__(ClampedGaussian(epsilon=epsilon, delta=self.delta, clip_norm=radius))

    def supports(self, outcome: tuple[float, ...], text: str) -> float:
        """Return half of minus the squared l2 distance: the log likelihood of normal noise, up to a factor."""
        centre = np.clip(public_words().encode(text), -CLIP_VALUE, CLIP_VALUE)
        return -0.5 * float(np.square(np.array(outcome) - centre).sum())


@dataclass
class DPPrompt:
    """Clip logits to [b1, b2], sample n words at temperature T: 2 (b2 - b1) / T a word (Utpala, Hooker and Chen 2023).

    The language model is the public bigram model, with the record's words made likelier, as a paraphrasing model does.

    Attributes:
        epsilon: per record, n times that of a word; it fixes the temperature, T = 2 (b2 - b1) n / eps.
        length_of_record: write as many words as the record has, as `LLMDP.DPPrompt` of another library does, instead of n.
    """

    epsilon: float
    length_of_record: bool = False

    def privatize(self, texts: list[str]) -> list[str]:
        """Write a text for each record: n words, of which those after the first end are not shown."""
        end, (low, high) = len(public_words().names), LOGITS
        bonus = np.zeros((len(texts), end + 1))
        for row, text in enumerate(texts):
            bonus[row, public_words().indices(text)] = COPYING
        last, written = np.full(len(texts), end), []
        for _ in range(TOKENS):
            scores = torch.from_numpy((public_bigrams()[last] + bonus - low) / (high - low))
            last = exponential_choice(scores, epsilon=self.epsilon / TOKENS).numpy()
            written.append(last)
        return [self._text(row, text) for row, text in zip(np.stack(written, axis=1), texts, strict=True)]

    def _text(self, places: Any, text: str) -> str:
        end = len(public_words().names)
        if self.length_of_record:
            return public_words().text(np.minimum(places[: len(text.split())], end - 1))
        stop = np.flatnonzero(places == end)
        return public_words().text(places[: stop[0]] if len(stop) else places)
