r"""Figure 1 of Habernal (2021): pairs of latents farther apart than ADePT assumes.

The original mechanism of ADePT clips each latent to the l2 norm C and assumes that the l1 sensitivity is 2C. The true
l1 sensitivity is 2C sqrt(n) (Theorem 5.1). The figure shows the share of pairs of clipped latents whose l1 distance
exceeds 2C, for uniform and for normal latents.

In the paper's text, normal latents have the variance 0.1 C. In the authors' code and in this module, normal latents
have the standard deviation 0.1 C. At the published C = 10, variance and standard deviation are both 1, so the
distributions agree.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import torch
from scipy.stats import fisher_exact
from torch import Tensor

from adept.audit.stats import clopper_pearson
from adept.errors import ConfigurationError, refuse
from adept.mechanisms.clip_to_grid import clip_latents
from adept.mechanisms.guarantee import format_bound
from adept.plotting import INK, Figure, Table, colours, drawing, group_rows, legend, log_axis, number
from adept.studies.limits import CONFIDENCE

PUBLISHED_PAIRS = 10_000
PUBLISHED_CLIP_NORM = 10.0
# The paper prints no numbers; these are the values of the authors' simulation at C = 10.
PUBLISHED = {
    "uniform": {2: 0.134, 4: 0.602, 8: 0.953, 16: 0.9998, 32: 1.0},
    "normal": {2: 0.0, 4: 0.0, 8: 0.0002, 16: 0.277, 32: 0.9999},
}
CLIPS = ("l2", "l1")
TOLERANCE = 1e-9  # relative: after an l1 clip, rounding alone puts some distances above 2C by the last bit


@dataclass(frozen=True, kw_only=True)
class SensitivityRow:
    """The share of pairs with an l1 distance above 2C, for one distribution, clip and dimension."""

    latents: str  # uniform, normal or the name of measured latents
    clip: str
    clip_norm: float
    dim: int
    pairs: int
    beyond: int  # pairs with l1 distance above 2C
    share: float
    lower: float  # two-sided 99.9 % interval of the share
    upper: float
    largest: float  # the largest l1 distance of a pair, divided by 2C
    published: float | None
    agrees: bool | None  # True if the share agrees with the published one; None without a published one


def run(
    *,
    clip_norm: float = PUBLISHED_CLIP_NORM,
    trials: int = PUBLISHED_PAIRS,
    dims: tuple[int, ...] = (2, 4, 8, 16, 32),
    seed: int = 2021,
) -> list[SensitivityRow]:
    """Recompute the figure's shares, for the l2 clip as published and also for the l1 clip."""
    refuse((trials < 1 or not clip_norm > 0, f"trials and clip_norm must be positive, got {trials} and {clip_norm}"))
    generator = torch.Generator().manual_seed(seed)
    rows: list[SensitivityRow] = []
    for latents, dim, clip in product(PUBLISHED, dims, CLIPS):
        setting: dict[str, Any] = {"latents": latents, "clip": clip, "dim": dim, "clip_norm": clip_norm}
        published = PUBLISHED[latents].get(dim) if (clip, clip_norm) == ("l2", PUBLISHED_CLIP_NORM) else None
        rows.append(_row(_simulate(trials, generator, **setting), trials, published, setting))
    return rows


def measure_latents(
    latents: Tensor, *, clip_norm: float, trials: int = PUBLISHED_PAIRS, seed: int = 2021, name: str = "model"
) -> list[SensitivityRow]:
    """Measure the l1 distances of random pairs of latents (N, n), for each way to clip latents."""
    if latents.ndim != 2 or len(latents) < 2:
        raise ConfigurationError(f"latents must have shape (N, n) with N >= 2, got {tuple(latents.shape)}")
    values = latents.detach().to("cpu", torch.float64)
    generator = torch.Generator().manual_seed(seed)
    first = torch.randint(len(values), (trials,), generator=generator)
    second = (first + torch.randint(1, len(values), (trials,), generator=generator)) % len(values)
    setting = {"latents": name, "dim": values.shape[1], "clip_norm": clip_norm}
    clipped = {clip: clip_latents(values, clip=clip, clip_norm=clip_norm) for clip in CLIPS}
    return [
        _row(count_beyond(of[first], of[second], clip_norm=clip_norm), trials, None, {**setting, "clip": clip})
        for clip, of in clipped.items()
    ]


def count_beyond(first: Tensor, second: Tensor, *, clip_norm: float) -> tuple[int, float]:
    """Return how many pairs of rows are over 2C apart (l1), and the largest distance / (2C)."""
    ratio = (first - second).abs().sum(dim=1) / (2 * clip_norm)
    return int((ratio > 1 + TOLERANCE).sum()), float(ratio.max())


def _simulate(
    pairs: int, generator: torch.Generator, *, latents: str, clip: str, clip_norm: float, dim: int
) -> tuple[int, float]:
    beyond, largest = 0, 0.0
    rows = max(1, 2**20 // dim)
    for start in range(0, pairs, rows):
        shape = (2, min(rows, pairs - start), dim)
        draw, factor = (torch.rand, clip_norm) if latents == "uniform" else (torch.randn, 0.1 * clip_norm)
        raw = draw(shape, dtype=torch.float64, generator=generator)
        raw = factor * (2 * raw - 1 if latents == "uniform" else raw)
        first, second = clip_latents(raw, clip=clip, clip_norm=clip_norm)
        more, peak = count_beyond(first, second, clip_norm=clip_norm)
        beyond, largest = beyond + more, max(largest, peak)
    return beyond, largest


def _row(found: tuple[int, float], pairs: int, published: float | None, setting: dict[str, Any]) -> SensitivityRow:
    beyond, largest = found
    lower, upper = clopper_pearson(beyond, pairs, alpha=(1 - CONFIDENCE) / 2)
    return SensitivityRow(
        **setting,
        pairs=pairs,
        beyond=beyond,
        share=beyond / pairs,
        lower=float(lower),
        upper=float(upper),
        largest=largest,
        published=published,
        agrees=None if published is None else two_samples_agree(beyond, pairs, published),
    )


def two_samples_agree(beyond: int, pairs: int, published: float) -> bool:
    """Return True if Fisher's test (99.9 %) does not distinguish our share from the published."""
    theirs = round(published * PUBLISHED_PAIRS)
    table = np.array([[beyond, pairs - beyond], [theirs, PUBLISHED_PAIRS - theirs]])
    return float(fisher_exact(table).pvalue) >= 1 - CONFIDENCE


def tables(rows: Sequence[SensitivityRow]) -> list[Table]:
    """Return one table, with a line for each distribution, clip and dimension."""
    lines = [
        [
            row.latents,
            row.clip,
            str(row.dim),
            f"{row.share:.4f}",
            format_bound(row.lower, digits=4, lower=True),
            format_bound(row.upper, digits=4),
            number(row.published, digits=4),
            {None: "", True: "yes", False: "NO"}[row.agrees],
            f"{row.largest:.3f}",
        ]
        for row in rows
    ]
    headings = ["latents", "clip", "n", "share", "from", "to", "published", "agree", "largest"]
    return [("Pairs further apart than 2C in l1 (99.9 % interval); largest distance / 2C", headings, lines)]


def draw(rows: Sequence[SensitivityRow]) -> Figure:
    with drawing(1, 1, size=(8, 4.8)) as opened:
        axis = opened.axes[0][0]
        curves = group_rows(rows, lambda row: f"{'every' if row.clip == 'l1' else row.latents}, {row.clip} clip")
        for colour, (name, curve) in zip(colours(len(curves)), curves.items(), strict=True):
            tops = {row.dim: row for row in sorted(curve, key=lambda row: row.share)}
            points = [tops[dim] for dim in sorted(tops)]
            ends = [[max(0.0, p.share - p.lower) for p in points], [max(0.0, p.upper - p.share) for p in points]]
            style = {"marker": "o", "ms": 4, "capsize": 3, "label": name, "color": colour}
            axis.errorbar([p.dim for p in points], [p.share for p in points], ends, **style)
        published = sorted({(row.dim, row.published) for row in rows if row.published is not None})
        if published:
            axis.plot(*zip(*published, strict=True), "x", color=INK, ms=8, mew=1.6, label="published", zorder=4)
        log_axis(axis, sorted({row.dim for row in rows}), "dimension n of the latent")
        axis.set(ylabel="share of pairs with an l1 distance above 2C", ylim=(-0.03, 1.05))
        legend(opened.figure, axis, columns=2)
    return opened.svg
