"""Functions that clip latents, round them to a public grid, and convert grid steps to latents.

Let C = m * 2^e, with 1 <= m < 2, be the radius of the ball into which latents are clipped. The grid
consists of all vectors whose numbers are multiples of ``step = 2^(e - 20)``. The step depends on C
alone, so the grid is public. Exact mechanisms calculate with integers: grid points, divided by
``step``. Float32 represents every grid point of the ball exactly.
"""

import math
from fractions import Fraction

import torch
from torch import Tensor

from adept.errors import ConfigurationError

GRID_BITS = 20
NORM_ORDER = {"l1": 1, "l2": 2, "sphere": 2}


def check_latents(latents: Tensor) -> None:
    """Raise ConfigurationError unless latents are a dense tensor (B, n), 1 <= n < 2^19, of float32 or float64."""
    if not isinstance(latents, Tensor) or latents.layout != torch.strided or latents.is_meta:
        raise ConfigurationError(f"latents must be a tensor with all its numbers, got {type(latents).__name__}")
    if latents.dtype not in (torch.float32, torch.float64):
        raise ConfigurationError(f"latents must be float32 or float64, got {latents.dtype}")
    if latents.ndim != 2 or not 1 <= latents.shape[1] < 1 << 19:  # squares of more numbers could overflow
        raise ConfigurationError(f"latents must have shape (B, n) with 1 <= n < 2^19, got {tuple(latents.shape)}")


def clip_latents(latents: Tensor, *, clip: str, clip_norm: float) -> Tensor:
    """Clip latents (..., n) in floating point; gradients flow through the result.

    For "l1" and "l2", r becomes r * min(1, C / ||r||) (Habernal 2021, Eq. 9 and Section 6), and stays as it is
    inside the ball. For "sphere", r becomes C * r / ||r||, and zero becomes C times the first unit vector.
    """
    largest = torch.finfo(latents.dtype).max
    peak = latents.detach().abs().amax(dim=-1, keepdim=True)
    if clip == "sphere":
        axis = torch.zeros_like(latents)
        axis[..., 0] = 1.0
        latents = torch.where(peak > 0, latents / torch.where(peak > 0, peak, 1.0), axis)
        norm: Tensor = torch.linalg.vector_norm(latents, dim=-1, keepdim=True)
        return latents * (clip_norm / norm)
    latents = latents / (peak / clip_norm).clamp(1.0, largest)
    norm = torch.linalg.vector_norm(latents, ord=NORM_ORDER[clip], dim=-1, keepdim=True)
    return latents / (norm / clip_norm).clamp(1.0, largest)


def grid_step(clip_norm: float) -> float:
    """Return the step of the public grid: the power of two for which 2^20 <= C / step < 2^21."""
    return math.ldexp(1.0, math.frexp(clip_norm)[1] - 1 - GRID_BITS)


def grid_radius(clip_norm: float, *, clip: str) -> int:
    """Return the largest sum |z_i| ("l1") or sum z_i^2 (else) of a clipped latent z in grid steps."""
    return math.floor((Fraction(clip_norm) / Fraction(grid_step(clip_norm))) ** NORM_ORDER[clip])


def to_grid(latents: Tensor, *, clip: str, clip_norm: float) -> Tensor:
    """Clip latents (B, n) and round them toward zero to the grid; return int64 (B, n) on the CPU.

    Claim: every row of the result meets the norm bound exactly, for any floats. Proof: the program
    computes the norm of the rounded *integers* in integer arithmetic. Each integer is below 2^22 and
    n below 2^19, so no sum overflows. While a row's norm exceeds ``grid_radius``, each number of the
    row moves one grid step toward zero. Checked proof: ``proofs/DrawProofs.v``, ``latents_fit``.
    """
    check_latents(latents)
    values = latents.detach().to("cpu", torch.float64)
    values = torch.where(values.isfinite().all(dim=-1, keepdim=True), values, 0.0)
    clipped = clip_latents(values, clip=clip, clip_norm=clip_norm)
    units, radius = (clipped / grid_step(clip_norm)).trunc().to(torch.int64), grid_radius(clip_norm, clip=clip)
    while (outside := units.abs().pow(NORM_ORDER[clip]).sum(dim=-1, keepdim=True) > radius).any():
        units = units - units.sign() * outside
    return units


def from_grid(units: Tensor, *, clip_norm: float, like: Tensor) -> Tensor:
    """Convert integers (B, n), in grid steps, to latents with the dtype and device of ``like``."""
    return (units.to(torch.float64) * grid_step(clip_norm)).to(like.device, like.dtype)


def round_to_grid(values: Tensor, *, clip_norm: float, like: Tensor) -> Tensor:
    """Round float64 values (B, n) to the public grid, with the dtype and device of ``like``.

    Low bits of floating-point noise depend on the input; rounding removes them, but no proof covers this step.
    """
    step = grid_step(clip_norm)
    return ((values / step).round() * step).to(like.device, like.dtype)
