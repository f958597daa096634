"""DPText's sampler. The noise is never negative, so DPText's privacy claim is false.

DPText (Beigi et al. 2019, 2021; Alnasser et al. 2021) draws v uniformly from (0, 1) for each number
r of a latent. DPText releases r + F(v) with F(v) = -b sgn(v) ln(1 - 2|v|), where b is the scale of
the noise. If v came from (-1/2, 1/2), F(v) would have the Laplace distribution. But v comes from
(0, 1). So F(v) is exponentially distributed for v below 1/2, +inf for v = 1/2, and NaN for v above
1/2, because 1 - 2|v| is then negative (Habernal 2022, Section 3). An audit of DPText must find that
the privacy claim is false.
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
    """DPText as published: latents clipped to l2 norm C, plus noise of scale b = 2C / eps.

    Claim: the release is not eps-LDP for any finite epsilon (Habernal 2022, Theorem 3.2). Proof:
    take two clipped latents x and x' whose first coordinates satisfy x_1 < x'_1. The noise is never
    negative. So an output z with z_1 < x'_1 and z_i >= x_i for all i has positive density under x
    and density zero under x'. Checked proof, for one coordinate: ``proofs/Papers.v``,
    ``noise_that_is_never_negative_gives_away``.

    Attributes:
        nan: the treatment of random numbers v > 1/2, for which the noise F(v) is NaN. "redraw"
            draws v again until F(v) is a number, so the noise is exponential with mean b. "zero"
            replaces NaN by 0, as the published code does, so half of all numbers get no noise.
    """

    nan: str = "redraw"
    name: ClassVar[str] = "dptext"
    clip: ClassVar[str] = "l2"
    noise: ClassVar[str | None] = "laplace"  # the distribution that the authors claim (Habernal 2022, Section 3.3)

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
            delta=0.0,
            holds=False,
            exact=False,
            sensitivity=2 * self.clip_norm,
            scale=self._scale(),
            text=f"The claim of epsilon {words(self.epsilon)} is false, and no finite epsilon holds: the noise is never "
            "negative, so some outputs are possible for one record and impossible for another (Habernal 2022, Theorem 3.2).",
        )

    def expected_squared_error(self, dim: int) -> float:
        """Return the mean of ||noise||^2: 2 n b^2 if ``nan`` is "redraw", n b^2 if it is "zero"."""
        return dim * self._scale() ** 2 * (2 if self.nan == "redraw" else 1)


def inverse_on_wrong_interval(uniform: Tensor, *, scale: float) -> Tensor:
    """Return F(v) = -b sgn(v) ln(1 - 2|v|) for each v in ``uniform``, with b = ``scale``.

    F is meant for v from (-1/2, 1/2), but the published code takes v from (0, 1).
    """
    return -scale * uniform.sign() * (1 - 2 * uniform.abs()).log()
