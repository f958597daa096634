"""Planted defects: what goes wrong in mechanisms and rewriters, one class each, so that the audit can be seen to find it.

They are ordinary objects rather than children of `Mechanism`, as code written elsewhere would be. Unless the defect is the
noise's source, noise comes from the operating system.
"""

import math
import time
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from adept.mechanisms import PrivUnit, SqrtNLaplace
from adept.mechanisms.clip_to_grid import clip_latents
from adept.mechanisms.random_draws import fresh_directions, fresh_gaussian, fresh_uniform


def laplace(shape: tuple[int, ...], scale: float) -> Tensor:
    """Floating-point Laplace noise from the operating system's entropy."""
    v = fresh_uniform(*shape) - 0.5
    return -scale * v.sign() * torch.log1p(-2 * v.abs())


@dataclass
class Bare:
    """A sound mechanism that declares nothing but its claim: l2 clip to 1, Laplace scale 2 sqrt(n) / eps."""

    epsilon: float
    delta: float = 0.0

    def clip(self, latents: Tensor) -> Tensor:  # a foreign name for something else: not a declaration
        return clip_latents(latents, clip="l2", clip_norm=1.0)

    def scale(self, dim: int) -> float:
        return 2 * math.sqrt(dim) / self.epsilon

    def noise_like(self, latents: Tensor) -> Tensor:
        return laplace(tuple(latents.shape), self.scale(latents.shape[1]))

    def finite(self, latents: Tensor) -> Tensor:
        return torch.where(latents.isfinite().all(dim=1, keepdim=True), latents, 0.0)

    def privatize(self, latents: Tensor) -> Tensor:
        clipped = self.clip(self.finite(latents))
        return clipped + self.noise_like(clipped)


class OriginalScale(Bare):
    """The original's scale: 2 / eps for the l2 clip."""

    def scale(self, dim: int) -> float:
        return 2 / self.epsilon


@dataclass
class HalfScale(Bare):
    """l1 clip with half of the scale that it needs."""

    def clip(self, latents: Tensor) -> Tensor:
        return clip_latents(latents, clip="l1", clip_norm=1.0)

    def scale(self, dim: int) -> float:
        return 1 / self.epsilon


class MissingProjection(Bare):
    """The right scale, and no clip."""

    def clip(self, latents: Tensor) -> Tensor:
        return latents


class ProjectionAfterNoise(Bare):
    """The clip comes last, where it protects nothing."""

    def privatize(self, latents: Tensor) -> Tensor:
        latents = self.finite(latents)
        return clip_latents(latents + self.noise_like(latents), clip="l2", clip_norm=1.0)


class CommonNoise(Bare):
    """One noise value for all coordinates of a record."""

    def noise_like(self, latents: Tensor) -> Tensor:
        return laplace((len(latents), 1), self.scale(latents.shape[1])).expand_as(latents)


class BatchNoise(Bare):
    """The same noise for all records of a batch."""

    def noise_like(self, latents: Tensor) -> Tensor:
        return laplace((1, latents.shape[1]), self.scale(latents.shape[1])).expand_as(latents)


class SeededNoise(Bare):
    """Noise from torch's global generator, which any seed resets and any fork copies."""

    def noise_like(self, latents: Tensor) -> Tensor:
        v = torch.rand(latents.shape, dtype=torch.float64) - 0.5
        return -self.scale(latents.shape[1]) * v.sign() * torch.log1p(-2 * v.abs())


class FixedSeed(SeededNoise):
    """Noise that starts from the same seed at every call."""

    def noise_like(self, latents: Tensor) -> Tensor:
        with torch.random.fork_rng():
            torch.manual_seed(42)
            return super().noise_like(latents)


class LetsNaNThrough(Bare):
    """A clip that keeps NaN and Inf, as arithmetic does."""

    def finite(self, latents: Tensor) -> Tensor:
        return latents


class BoundedNoise(Bare):
    """Uniform noise: outputs that are possible for one record and impossible for another."""

    def noise_like(self, latents: Tensor) -> Tensor:
        return 4 * self.scale(latents.shape[1]) * (fresh_uniform(*latents.shape) - 0.5)


class AgainstTheTrend(Bare):
    """Sound noise, but one release in ten of a record with a positive first coordinate lies far on the other side."""

    def privatize(self, latents: Tensor) -> Tensor:
        positive = self.clip(self.finite(latents))[:, :1] > 0
        caught = positive & (fresh_uniform(len(latents), 1) < 0.1)
        return torch.where(caught, -1e3, super().privatize(latents))


@dataclass
class Declared(Bare):
    """`Bare`, with a declaration of its noise that is true unless a child changes it."""

    noise: str = "laplace"
    exact: bool = False

    def guarantee(self, dim: int) -> Any:
        return SimpleNamespace(scale=self.scale(dim), exact=self.exact)


@dataclass
class FloatLaplaceSaysExact(Declared):
    """Floating-point Laplace noise that says it is exact."""

    exact: bool = True


class LessThanDeclared(Declared):
    """Half of the noise that it declares."""

    def noise_like(self, latents: Tensor) -> Tensor:
        return 0.5 * super().noise_like(latents)


class CommonNoiseDeclared(Declared, CommonNoise):
    """One noise value for all coordinates, declared as independent noise."""


@dataclass
class NoiseDependsOnInput(Declared):
    """Half of the noise, but only for records whose first coordinate is positive."""

    def noise_like(self, latents: Tensor) -> Tensor:
        return super().noise_like(latents) * torch.where(latents[:, :1] > 0, 0.5, 1.0)


@dataclass
class ClassicalGaussian(Declared):
    """The textbook formula D sqrt(2 ln(1.25 / delta)) / eps, outside the eps < 1 that it is proved for."""

    noise: str = "gaussian"

    def scale(self, dim: int) -> float:
        return 2 * math.sqrt(2 * math.log(1.25 / self.delta)) / self.epsilon

    def noise_like(self, latents: Tensor) -> Tensor:
        return self.scale(latents.shape[1]) * fresh_gaussian(*latents.shape)


class HalfScaleDeclared(SqrtNLaplace):
    """Half of the true scale, declared as it is: the arithmetic of the claim is wrong."""

    def _assumed_diameter(self, dim: int) -> int:
        return self._true_diameter(dim) // 2


class ProjectsTooFar(SqrtNLaplace):
    """Floating-point clip: half of its rows are outside the ball by the last bit."""

    def project(self, latents: Tensor) -> Tensor:
        return clip_latents(latents, clip="l2", clip_norm=self.clip_norm)


@dataclass
class TopDependsOnInput:
    """Randomised response over a codebook whose number of heavy codewords depends on the record: 1 or 16 of 64."""

    epsilon: float

    def privatize(self, latents: Tensor) -> Tensor:
        dim = latents.shape[1]
        words = torch.randn(64, dim, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
        words /= torch.linalg.vector_norm(words, dim=1, keepdim=True)
        ranks = (latents @ words.T).argsort(dim=1, descending=True).argsort(dim=1)
        heavy = ranks < torch.where(latents[:, :1] > 0, 1, 16)
        weights = torch.where(heavy, math.exp(self.epsilon), 1.0).cumsum(dim=1)
        draws = fresh_uniform(len(latents), 1) * weights[:, -1:]
        return words[(weights < draws).sum(dim=1)]


class GivesUp(PrivUnit):
    """A cap sampler by rejection that returns whatever it has after 25 tries."""

    def privatize(self, latents: Tensor) -> Tensor:
        released = super().privatize(latents)
        x = self.project(latents)
        g = self.mean_cosine(latents.shape[1])
        threshold, length = g * self.clip_norm, self.clip_norm / g
        inside = (released * x).sum(dim=1, keepdim=True) * g >= threshold * self.clip_norm
        tries = fresh_directions(25 * len(latents), latents.shape[1]).reshape(25, *latents.shape)
        failed = ((tries * x).sum(dim=2) < threshold).all(dim=0)[:, None]
        return torch.where(inside & failed, tries[-1] * length, released)


class Raises(Bare):
    def privatize(self, latents: Tensor) -> Tensor:
        raise ValueError("no noise today")


class WrongShape(Bare):
    def privatize(self, latents: Tensor) -> Tensor:
        return super().privatize(latents)[:-1]


class ReturnsNaN(Bare):
    def privatize(self, latents: Tensor) -> Tensor:
        return super().privatize(latents) * torch.nan


class TakesForever(Bare):
    def privatize(self, latents: Tensor) -> Tensor:
        time.sleep(3600)
        return latents


class FakeRewriter:
    """A rewriter of texts made of the words a and b: the latent is (share of a, share of b), decoded to four words."""

    def __init__(self, mechanism: Any) -> None:
        self.mechanism = mechanism

    def encode(self, texts: list[str]) -> Tensor:
        shares = [[text.split().count(word) / max(1, len(text.split())) for word in "ab"] for text in texts]
        latents = torch.tensor(shares, dtype=torch.float64).reshape(len(texts), 2)
        return clip_latents(latents, clip="l2", clip_norm=1.0)

    def release(self, texts: list[str]) -> Tensor:
        return self.mechanism.privatize(self.encode(texts))

    def decode(self, released: Tensor) -> list[str]:
        words = [round(4 * float(min(1.0, max(0.0, 0.5 + (a - b) / 2)))) for a, b in released]
        return [" ".join(["a"] * count + ["b"] * (4 - count)) for count in words]

    def rewrite(self, texts: list[str]) -> list[str]:
        return self.decode(self.release(texts))


class LengthFromInput(FakeRewriter):
    """Writes as many words as the record has."""

    def rewrite(self, texts: list[str]) -> list[str]:
        decoded = self.decode(self.release(texts))
        return [
            " ".join((text.split() * 9)[: len(record.split())]) for text, record in zip(decoded, texts, strict=True)
        ]


class LengthFromBatch(FakeRewriter):
    """Writes as many words as the longest record of the batch has."""

    def rewrite(self, texts: list[str]) -> list[str]:
        longest = max(len(text.split()) for text in texts)
        return [" ".join((text.split() * 9)[:longest]) for text in self.decode(self.release(texts))]


class Sampling(FakeRewriter):
    """Decodes at random, which is permitted and cannot be replayed."""

    def decode(self, released: Tensor) -> list[str]:
        return [f"{text} {int(torch.randint(10**9, ()))}" for text in super().decode(released)]
