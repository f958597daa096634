"""Inputs and statistics shared by the mechanisms' tests.

Releases cannot be seeded, so every statistical test has a false-alarm rate. Two kinds of statistic are used: standard scores
with the limit 8 (below 1e-14 for a normal mean, below 1e-10 with the skewness that occurs here), and exact p-values with the
limit 1e-10 on either side. Fewer than a thousand of them run, so the suite's total stays below 1e-6.
"""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor


@pytest.fixture
def unit_rows() -> Callable[..., Tensor]:
    """Seeded inputs on the unit sphere; the inputs may be seeded, the noise may not."""

    def rows(count: int, dim: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> Tensor:
        gaussian = torch.randn(count, dim, dtype=dtype, generator=torch.Generator().manual_seed(seed))
        return gaussian / gaussian.norm(dim=1, keepdim=True)

    return rows


@pytest.fixture
def score() -> Callable[[Tensor, float], float]:
    """The distance of a sample's mean from its expectation, in standard errors."""

    def standard_score(sample: Tensor, expected: float) -> float:
        sample = sample.to(torch.float64)
        return float((sample.mean() - expected) / (sample.std() / len(sample) ** 0.5))

    return standard_score


@pytest.fixture
def adversarial() -> Callable[[torch.dtype, float], Tensor]:
    """Rows that break float clipping: huge, subnormal, non-finite, just outside, diagonal, one-hot, mixed magnitudes."""

    def rows(dtype: torch.dtype, radius: float) -> torch.Tensor:
        info = torch.finfo(dtype)
        tiny, huge = info.smallest_normal / 2**10, info.max
        generator = torch.Generator().manual_seed(0)
        made = [
            torch.full((7,), huge, dtype=dtype),
            torch.full((7,), tiny, dtype=dtype),
            torch.full((7,), math.nan, dtype=dtype),
            torch.full((7,), -math.inf, dtype=dtype),
            torch.zeros(7, dtype=dtype),
            torch.full((7,), radius / math.sqrt(7), dtype=dtype),
            torch.full((7,), radius / 7, dtype=dtype),
            torch.tensor([radius] + [0.0] * 6, dtype=dtype),
            torch.tensor([math.nextafter(radius, math.inf)] + [tiny] * 6, dtype=dtype),
            torch.tensor([huge, tiny, -1.0, 1e30, -0.0, math.nan, 1.0], dtype=dtype),
            torch.tensor([huge, tiny, -1.0, 1e30, -0.0, 0.0, 1.0], dtype=dtype),
        ]
        noise = torch.randn(200, 7, dtype=dtype, generator=generator)
        return torch.cat([torch.stack(made), noise * radius, noise * radius * 1e-3, noise * 1e20])

    return rows
