"""DPText's sampler, whose noise is never negative: a violation for audits to find.

DPText (Beigi et al. 2019, 2021; Alnasser et al. 2021) draws v uniformly from (0, 1) and releases
r + F(v) with F(v) = -b sgn(v) ln(1 - 2|v|). This F inverts the Laplace distribution if v comes from
(-1/2, 1/2). On (0, 1) it is an exponential quantile below 1/2, +inf at 1/2, and the logarithm of a
negative number, NaN, above (Habernal 2022, Section 3).

Checked proof: ``proofs/Privacy.v``, ``impossible_output_gives_away``.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from adept.errors import ConfigurationError
from adept.mechanisms.base import Mechanism
from adept.mechanisms.guarantee import Guarantee, words
from adept.mechanisms.random_draws import fresh_uniform

NAN_RULES = ("redraw", "zero")


@dataclass(frozen=True, kw_only=True)
class DPText(Mechanism):
    """DPText as published: l2 clip to C, noise of scale b = 2C / eps. Never private.

    Neighbours: any two records. Proof that no finite epsilon holds (Habernal 2022, Theorem 3.2):
    the noise is never negative, so an output z with x_1 <= z_1 < x'_1 has positive density under x
    and none under x'.

    Attributes:
        nan: treatment of v > 1/2, where F is NaN: "redraw" draws v again until F is a number, so
            the noise is exponential with mean b; "zero" (the published code) adds no noise in half
            of all cases.
    """

    nan: str = "redraw"
    name: ClassVar[str] = "dptext"
    clip: ClassVar[str] = "l2"
    noise: ClassVar[str | None] = "laplace"  # what its authors say of it (Habernal 2022, Section 3.3)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nan not in NAN_RULES:
            raise ConfigurationError(f"nan must be one of {', '.join(NAN_RULES)}, got {self.nan!r}")

    def _scale(self) -> float:
        return 2 * self.clip_norm / self.epsilon

    def privatize(self, latents: Tensor) -> Tensor:
        projected = self.project(latents)
        return projected + self._noise(fresh_uniform, projected)

    def simulate(self, latents: Tensor, generator: torch.Generator | None) -> Tensor:
        clipped = self.clip_as_floats(latents)

        def uniform(*shape: int) -> Tensor:
            return torch.rand(shape, dtype=torch.float64, device=latents.device, generator=generator)

        return clipped + self._noise(uniform, clipped)

    def _noise(self, uniform: Callable[..., Tensor], like: Tensor) -> Tensor:
        noise = inverse_on_wrong_interval(uniform(*like.shape), scale=self._scale())
        while self.nan == "redraw" and (missing := noise.isnan()).any():
            noise[missing] = inverse_on_wrong_interval(uniform(int(missing.sum())), scale=self._scale())
        return noise.nan_to_num(nan=0.0, posinf=math.inf).to(like.device, like.dtype)

    def guarantee(self, dim: int) -> Guarantee:
        return Guarantee(
            claimed_epsilon=self.epsilon,
            epsilon=math.inf,
            holds=False,
            exact=False,
            sensitivity=2 * self.clip_norm,
            scale=self._scale(),
            text=f"The claim of epsilon {words(self.epsilon)} is false, and no finite epsilon holds: the noise is never "
            "negative, so some outputs are possible for one record and impossible for another (Habernal 2022, Theorem 3.2).",
        )

    def expected_squared_error(self, dim: int) -> float:
        """Return E[||noise||^2]: 2 n b^2 for redrawn (exponential) noise, half that with "zero"."""
        return dim * self._scale() ** 2 * (2 if self.nan == "redraw" else 1)


def inverse_on_wrong_interval(uniform: Tensor, *, scale: float) -> Tensor:
    """Return F(v) = -b sgn(v) ln(1 - 2|v|) as published; v should be in (-1/2, 1/2)."""
    return -scale * uniform.sign() * (1 - 2 * uniform.abs()).log()
