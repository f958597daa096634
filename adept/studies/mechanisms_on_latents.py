r"""Squared error, cosine and information of mechanisms on latents, by dimension and epsilon.

Every measured value comes from a simulation with seeded noise, which protects nobody. Latents are drawn uniformly
from the sphere of radius 1, and each mechanism clips these latents into the set for which its guarantee holds. The
squared error is the squared distance between the release and the clipped latent. The cosine is between the release
and the unclipped latent, so mechanisms with different clips can be compared.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import torch
from torch import Tensor

from adept.errors import check_choice, refuse
from adept.mechanisms import BY_NAME, Codebook, Mechanism, PrivUnit, Selection
from adept.mechanisms.clip_to_grid import clip_latents
from adept.mechanisms.privunit import optimal_cap
from adept.plotting import COLOURS, INK, NAMES, Figure, Table, columns, drawing, group_rows, legend, log_axis
from adept.studies.limits import EPSILONS, capacity

STUDIED = {
    name: kind
    for name, kind in BY_NAME.items()
    # From uniform latents, a codebook cannot learn anything; clamping does not change the noise of `gaussian`
    if issubclass(kind, Mechanism) and name not in ("identity", "random", "learned_codebook", "clamped_gaussian")
}
MECHANISMS = tuple(STUDIED)
RECORDS = 2000
BROKEN: dict[str, dict[str, Any]] = {
    "original": {"ls": "--", "lw": 2.5},
    "dptext": {"ls": ":", "lw": 1.2, "zorder": 3},  # on top of the original's curve
}


@dataclass(frozen=True, kw_only=True)
class MechanismRow:
    """Results of one mechanism at one claimed epsilon and one dimension, for the clip norm 1."""

    mechanism: str
    dim: int
    claimed_epsilon: float
    epsilon: float  # the true epsilon
    delta: float
    records: int  # number of simulated records
    squared_length: float  # mean squared length of the clipped latents
    expected_squared_error: float  # computed in closed form
    squared_error: float  # mean over the simulated records
    squared_error_deviation: float  # standard error of squared_error
    expected_cosine: float | None  # closed form of PrivUnit and the codebook, an average over codebooks
    cosine: float  # mean over the simulated records
    cosine_deviation: float
    information_bits: float | None  # about a record that is uniform on the sphere; None if unknown
    capacity_bits: float | None  # limit at the true epsilon; pure mechanisms only


def run(
    *,
    mechanisms: Sequence[str] = MECHANISMS,
    dims: Sequence[int] = (16, 32, 64, 128, 256),
    epsilons: Sequence[float] = EPSILONS,
    trials: int = RECORDS,
    seed: int = 0,
) -> Iterator[MechanismRow]:
    refuse((trials < 2, f"trials must be at least 2, got {trials}"))
    for name, dim, epsilon in product(mechanisms, dims, epsilons):
        check_choice(STUDIED, mechanisms=name)
        yield measure(STUDIED[name](epsilon=epsilon), dim, records=trials, seed=seed)


def measure(mechanism: Mechanism, dim: int, *, records: int = RECORDS, seed: int = 0) -> MechanismRow:
    """Simulate one mechanism on latents of ``dim`` coordinates, for the clip norm 1."""
    generator = torch.Generator().manual_seed(seed)
    gaussian = torch.randn(records, dim, dtype=torch.float64, generator=generator)
    latents = clip_latents(gaussian, clip="sphere", clip_norm=1.0)
    clipped = clip_latents(latents, clip=mechanism.clip, clip_norm=1.0)
    released = mechanism.simulate(latents, generator)
    squared_error, error_deviation = _mean_and_error((released - clipped).square().sum(dim=1))
    cosine, cosine_deviation = _mean_and_error(torch.nn.functional.cosine_similarity(released, latents, dim=1))
    guarantee = mechanism.guarantee(dim)
    return MechanismRow(
        mechanism=mechanism.name,
        dim=dim,
        claimed_epsilon=mechanism.epsilon,
        epsilon=guarantee.epsilon,
        delta=guarantee.delta,
        records=records,
        squared_length=_mean_and_error(clipped.square().sum(dim=1))[0],
        expected_squared_error=mechanism.expected_squared_error(dim),
        squared_error=squared_error,
        squared_error_deviation=error_deviation,
        expected_cosine=mechanism.mean_cosine(dim) if isinstance(mechanism, PrivUnit | Codebook) else None,
        cosine=cosine,
        cosine_deviation=cosine_deviation,
        information_bits=information(mechanism, dim),
        capacity_bits=capacity(epsilon=guarantee.epsilon) if guarantee.delta == 0 else None,
    )


def information(mechanism: Mechanism, dim: int) -> float | None:
    """Return the bits of information in a release about a random unit vector; None if unknown.

    For PrivUnit, the release V is uniform on the sphere, because the record x is uniform. So the mutual information
    I(X; V) is exactly the relative entropy between the distribution of V given x and the uniform distribution
    (`cap_information`). For a codebook, the directions of a latent's blocks are independent, so the
    `codeword_information` of the blocks adds up.
    """
    if isinstance(mechanism, PrivUnit):
        cap = optimal_cap(dim, epsilon=mechanism.epsilon)
        return cap_information(cap.probability, escape=cap.escape)
    return sum(map(codeword_information, mechanism.selections(dim))) if isinstance(mechanism, Codebook) else None


def cap_information(q: float, *, escape: float) -> float:
    """Return p log2(p/q) + (1 - p) log2((1 - p)/(1 - q)), a relative entropy in bits.

    Here p = 1 - ``escape`` is the probability that a release falls into the preferred set (a cap, or the heavy
    codewords), and q is this probability for a uniformly random output.
    """
    inside = (1 - escape) * (math.log1p(-escape) - math.log(q))
    outside = escape * (math.log(escape) - math.log1p(-q)) if escape > 0 else 0.0
    return (inside + outside) / math.log(2)


def codeword_information(draw: Selection) -> float:
    """Return, in bits, the relative entropy of a record's release to a uniformly random codeword.

    The result is `cap_information` with q = t / k and p = t A / W. For a record, t of the k codewords are *heavy*:
    each of them is released with the probability A / W, the others with a lower one. Here A is the weight of a heavy
    codeword, and W is the sum of all weights. If every codeword is heavy for equally many records, the result is the
    mutual information of a record and its codeword; a random codebook meets this condition only approximately.
    """
    others = draw.size - draw.heavy_count
    return cap_information(draw.heavy_count / draw.size, escape=others * draw.odds[1] / draw.total)


def _mean_and_error(values: Tensor) -> tuple[float, float]:
    return float(values.mean()), float(values.std()) / math.sqrt(len(values))


def tables(rows: Sequence[MechanismRow]) -> list[Table]:
    ordered = sorted(rows, key=lambda row: (row.dim, row.claimed_epsilon))
    headings = ["claimed epsilon", *dict.fromkeys(f"{row.claimed_epsilon:g}" for row in ordered)]
    found = []
    for dim, of_dim in group_rows(ordered, lambda row: row.dim).items():
        curves = group_rows(of_dim, lambda row: row.mechanism).items()
        lines = [[NAMES.get(name, name), *(f"{row.cosine:.3f}" for row in curve)] for name, curve in curves]
        found.append((f"Mean cosine with the latent, n = {dim}", headings, lines))
    return found


def draw(rows: Sequence[MechanismRow]) -> Figure:
    dims = sorted({row.dim for row in rows})
    dims = dims if len(dims) < 4 else [dims[0], dims[len(dims) // 2], dims[-1]]
    with drawing(3, len(dims), size=(1.5 + 3.6 * len(dims), 9.6), share_rows=True) as opened:
        axes = opened.axes
        for column, dim in enumerate(dims):
            _draw_keeping(axes[:, column], [row for row in rows if row.dim == dim])
            axes[0][column].set_title(f"n = {dim}")
        axes[0][0].set_ylabel("mean cosine with the latent")
        axes[1][0].set_ylabel("squared error / squared length")
        axes[2][0].set_ylabel("information per record, bits")
        legend(opened.figure, axes[2][0], axes[0][0], columns=5)
    return opened.svg


def _draw_keeping(axes: Any, rows: list[MechanismRow]) -> None:
    epsilons = sorted({row.claimed_epsilon for row in rows})
    for name, curve in group_rows(rows, lambda row: row.mechanism).items():
        style = {"color": COLOURS[name], "marker": "o", "ms": 3, **BROKEN.get(name, {})}
        budgets = [row.claimed_epsilon for row in curve]
        axes[0].plot(budgets, [row.cosine for row in curve], label=NAMES.get(name, name), **style)
        axes[1].plot(budgets, [row.squared_error / row.squared_length for row in curve], **style)
        known = [(row.claimed_epsilon, row.information_bits) for row in curve if row.information_bits is not None]
        axes[2].plot(*columns(known), **style)
    bounds = {row.claimed_epsilon: row.capacity_bits for row in rows if row.epsilon == row.claimed_epsilon}
    most = sorted((epsilon, bits) for epsilon, bits in bounds.items() if bits is not None)
    axes[2].plot(*columns(most), color=INK, ls=":", lw=2, zorder=4, label="most that any mechanism can tell")
    for axis, scale in zip(axes, ("linear", "log", "log"), strict=True):
        axis.set_yscale(scale)
        log_axis(axis, epsilons, "")
    axes[2].set_xlabel("claimed epsilon (true for the solid lines)")
