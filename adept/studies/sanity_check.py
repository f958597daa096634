r"""Figure 2 of Habernal (2022): an empirical sanity check of mechanisms, compared with exact
values.

The inputs are x = (0, ..., 0) and x' = (1, ..., 1), whose l1 distance is n. Each coordinate of a release is rounded to
1 if it is at least 1/2, and otherwise to 0. The *vote* of the coordinates guesses x' if more than half of them are
rounded to 1, and otherwise x. The *loss of the vote* is the largest absolute logarithm of P[guess | x] / P[guess | x'],
over the two possible guesses. The vote is post-processing, so its loss is at most epsilon if the mechanism is eps-LDP.

The number of coordinates that are rounded to 1 is binomial, so the loss has a closed form. If a guess never occurs in
a simulation, the simulation proves only a lower bound on the loss, not an infinite loss. The privacy loss of the
whole release z, sum_i (|z_i - 1| - |z_i|) / b, reaches n / b for Laplace noise of scale b.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import torch
from scipy.stats import binom
from torch import Tensor

from adept.audit.stats import clopper_pearson
from adept.errors import check_choice, refuse
from adept.mechanisms.guarantee import format_bound
from adept.plotting import INK, Figure, Table, colours, columns, drawing, group_rows, legend, number
from adept.studies.limits import CONFIDENCE

DIMS = (1, 2, 8, 32, 64, 128)
# The values of the published figure at epsilon 1, by mechanism and dimension. Empty cells were drawn as infinity;
# "random" was at most .004.
PUBLISHED: dict[str, tuple[float, ...]] = {
    "laplace": (0.832, 0.900, 0.365, 0.157, 0.108, 0.074),
    "adept": (0.832, 1.662, 2.579, 5.120, 8.056, math.inf),
    "dptext_redraw": (math.inf,) * 6,
    "dptext_zero": (math.inf,) * 6,
    "copy": (math.inf,) * 6,
    "random": (0.004,) * 6,
}
FLOOR, CEILING = 1e-2, 2e3  # smaller and larger losses are drawn at these values
LOSS_TICKS = {FLOOR: "< 0.01", 0.1: "0.1", 1: "1", 10: "10", 100: "100", CEILING: "infinite"}
MARKS: dict[str, dict[str, Any]] = {  # style of each column
    "exact": {},
    "run": {"ls": "", "marker": "o", "ms": 4},
    "likelihood_ratio": {"ls": ":", "lw": 1},
    "published": {"ls": "", "marker": "x", "ms": 6, "color": INK, "zorder": 4},
}


@dataclass(frozen=True, kw_only=True)
class SanityRow:
    """Exact, simulated and published loss of the vote for one mechanism, epsilon and dimension."""

    mechanism: str
    epsilon: float  # the claimed epsilon
    dim: int
    trials: int  # number of simulated releases of each input
    exact: float  # loss of the vote, in closed form
    likelihood_ratio: float  # the largest privacy loss of a whole release: the true epsilon
    run: float  # loss of the vote in the simulation; see `observed_loss`
    run_lower: float  # 99.9 % interval of the exact loss, from the simulation
    run_upper: float
    published: float | None
    violated: bool  # True if the whole interval lies above the claimed epsilon


def run(
    *,
    trials: int = 1_000_000,
    epsilons: tuple[float, ...] = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0),
    dims: tuple[int, ...] = DIMS,
    mechanisms: tuple[str, ...] = tuple(PUBLISHED),
    seed: int = 2022,
) -> Iterator[SanityRow]:
    refuse((trials < 100, f"trials must be at least 100, got {trials}"))
    for mechanism in mechanisms:
        check_choice(PUBLISHED, mechanisms=mechanism)
    generator = torch.Generator().manual_seed(seed)
    yield from (_row(*case, trials, generator) for case in product(mechanisms, epsilons, dims))


def rounding_probabilities(mechanism: str, *, epsilon: float, dim: int) -> tuple[float, float]:
    """Return the probabilities that a coordinate is rounded to 1 for the input x and for x'."""
    tail = math.exp(-0.5 / scale(mechanism, epsilon=epsilon, dim=dim))
    return {
        "laplace": (0.5 * tail, 1 - 0.5 * tail),
        "adept": (0.5 * tail, 1 - 0.5 * tail),
        "dptext_redraw": (tail, 1.0),
        "dptext_zero": (0.5 * tail, 1.0),
        "copy": (0.0, 1.0),
        "random": (0.5, 0.5),
    }[mechanism]


def scale(mechanism: str, *, epsilon: float, dim: int) -> float:
    """Return the noise scale b: 1 / epsilon for ADePT, else n / epsilon (Habernal 2022, Sec. 5)."""
    return (1 if mechanism == "adept" else dim) / epsilon


def exact_loss(mechanism: str, *, epsilon: float, dim: int) -> float:
    """Return the exact loss of the vote, computed from two binomial distributions."""
    zero, one = rounding_probabilities(mechanism, epsilon=epsilon, dim=dim)
    ties = dim // 2  # the vote says 1 when more than half of the coordinates do
    says_one = binom.logsf(ties, dim, zero), binom.logsf(ties, dim, one)
    says_zero = binom.logcdf(ties, dim, zero), binom.logcdf(ties, dim, one)
    return max(_log_ratio(*map(float, pair)) for pair in (says_one, says_zero))


def likelihood_ratio(mechanism: str, *, epsilon: float, dim: int) -> float:
    """Return the largest privacy loss of a whole release (Habernal 2021, Appendix A)."""
    if mechanism in ("laplace", "adept"):
        return dim / scale(mechanism, epsilon=epsilon, dim=dim)
    return 0.0 if mechanism == "random" else math.inf


def release(mechanism: str, rows: int, dim: int, *, value: float, epsilon: float, generator: torch.Generator) -> Tensor:
    """Return releases (rows, dim) of the input whose coordinates are all ``value``."""
    b = scale(mechanism, epsilon=epsilon, dim=dim)
    uniform = torch.rand(rows, dim, generator=generator)
    if mechanism in ("copy", "random"):
        return uniform if mechanism == "random" else torch.full((rows, dim), value)
    if mechanism in ("laplace", "adept"):
        v = uniform - 0.5
        return value - b * v.sign() * (1 - 2 * v.abs()).clamp_min(1e-12).log()
    noise = -b * uniform.sign() * (1 - 2 * uniform.abs()).log()  # v from (0, 1), where (-1/2, 1/2) was meant
    while mechanism == "dptext_redraw" and (missing := noise.isnan()).any():
        noise[missing] = -b * (1 - 2 * torch.rand(int(missing.sum()), generator=generator)).log()
    return value + noise.nan_to_num(nan=0.0, posinf=math.inf)


def _row(mechanism: str, epsilon: float, dim: int, trials: int, generator: torch.Generator) -> SanityRow:
    votes, step = [0, 0], max(1, 2**20 // dim)
    for value, start in product((0, 1), range(0, trials, step)):
        size = min(step, trials - start)
        released = release(mechanism, size, dim, value=float(value), epsilon=epsilon, generator=generator)
        votes[value] += int(((released >= 0.5).sum(dim=1) > dim // 2).sum())
    zeros_say_one, ones_say_one = votes
    lower, upper = _loss_interval(zeros_say_one, ones_say_one, trials)
    return SanityRow(
        mechanism=mechanism,
        epsilon=epsilon,
        dim=dim,
        trials=trials,
        exact=exact_loss(mechanism, epsilon=epsilon, dim=dim),
        likelihood_ratio=likelihood_ratio(mechanism, epsilon=epsilon, dim=dim),
        run=observed_loss(zeros_say_one, ones_say_one, trials),
        run_lower=lower,
        run_upper=upper,
        published=PUBLISHED[mechanism][DIMS.index(dim)] if epsilon == 1.0 and dim in DIMS else None,
        violated=lower > epsilon,
    )


def observed_loss(zeros_say_one: int, ones_say_one: int, trials: int) -> float:
    """Return the simulated loss of the vote, given how often the vote was x' under each input.

    The loss is inf if a guess occurred under one input only, and nan if a guess never occurred.
    """
    cells = (zeros_say_one, ones_say_one), (trials - zeros_say_one, trials - ones_say_one)
    losses = [math.nan if first == second == 0 else _log_ratio(_log(first), _log(second)) for first, second in cells]
    return math.inf if math.inf in losses else max(losses, key=lambda loss: (math.isnan(loss), loss))


def _loss_interval(zeros_say_one: int, ones_say_one: int, trials: int) -> tuple[float, float]:
    lows, highs = clopper_pearson([zeros_say_one, ones_say_one], trials, alpha=(1 - CONFIDENCE) / 4)
    (a, c), (b, d) = lows.tolist(), highs.tolist()
    columns = ((a, b), (c, d)), ((1 - b, 1 - a), (1 - d, 1 - c))
    lower = max(max(_log(a) - _log(d), _log(c) - _log(b)) for (a, b), (c, d) in columns)
    return max(0.0, lower), max(max(_log(b) - _log(c), _log(d) - _log(a)) for (a, b), (c, d) in columns)


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def _log_ratio(first: float, second: float) -> float:
    return 0.0 if first == second else abs(first - second)


def tables(rows: Sequence[SanityRow]) -> list[Table]:
    """Return one table for each epsilon, of the rows with a published loss if there are any."""
    known = [row for row in rows if row.published is not None] or rows
    headings = ["mechanism", "n", "exact", "run", "from", "to", "paper", "true", "claim"]
    return [
        (f"Epsilon {epsilon:g}: loss of the vote (99.9 % interval); true: of any event", headings, [*map(_line, some)])
        for epsilon, some in group_rows(known, lambda row: row.epsilon).items()
    ]


def _line(row: SanityRow) -> list[str]:
    interval = [format_bound(row.run_lower, lower=True), format_bound(row.run_upper)]
    losses = [number(row.exact), number(row.run), *interval, number(row.published), f"{row.likelihood_ratio:.4g}"]
    return [row.mechanism, str(row.dim), *losses, "false" if row.violated else ""]


def draw(rows: Sequence[SanityRow]) -> Figure:
    names = group_rows(rows, lambda row: row.mechanism)
    dims = sorted({row.dim for row in rows})
    of_dim = dict(zip(dims, colours(len(dims)), strict=True))
    with drawing(1, len(names), size=(1.2 + 2.3 * len(names), 4.2), share_rows=True) as opened:
        for axis, (name, chosen) in zip(opened.axes[0], names.items(), strict=True):
            for dim, curve in group_rows(chosen, lambda row: row.dim).items():
                for field, style in MARKS.items():
                    label = f"n = {dim}" if field == "exact" else field.replace("_", " ")
                    values = [(row.epsilon, getattr(row, field)) for row in curve]
                    points = [
                        (x, min(max(y, FLOOR), CEILING)) for x, y in values if y is not None and not math.isnan(y)
                    ]
                    axis.plot(*columns(points), **{"color": of_dim[dim], "label": label, **style})
            _draw_claim(axis, chosen)
            axis.set_title(name, fontsize=10)
            axis.set_xlabel("claimed epsilon")
        opened.axes[0][0].set_ylabel("loss of the majority vote")
        legend(opened.figure, *opened.axes[0], columns=6)
    return opened.svg


def _draw_claim(axis: Any, rows: list[SanityRow]) -> None:
    epsilons = sorted({row.epsilon for row in rows})
    axis.plot(epsilons, epsilons, color=INK, ls="--", lw=1, label="the claim: at most epsilon")
    axis.set(xscale="log", yscale="log", ylim=(FLOOR / 1.3, CEILING * 1.3))
    axis.minorticks_off()
    axis.set_yticks(list(LOSS_TICKS), LOSS_TICKS.values())
    axis.set_xticks(epsilons, [f"{e:g}" if e in (0.1, 1.0, 10.0) or len(epsilons) < 4 else "" for e in epsilons])
