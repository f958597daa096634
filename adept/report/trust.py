"""``trust=all``: what is reached under each kind of trust, on the same private records, at budgets of one neighbouring relation.

A comparison of this kind is made of comparisons, each in a directory of its own below ``output_dir`` with a page of its own, which
share their models:

    central/                   the synthesizer, labels private
    NAME-joint_response/       a mechanism whose releases are symbols: text and label as one symbol
    NAME-randomized_response/  any other mechanism, one text a record: half of the claimed budget randomises the label
    NAME-copy/                 the same mechanism, labels copied

Every budget here is for *replacing* one record by any other, the number of records being public, and is the true one:

- central: an epsilon for adding or removing one record is twice that for replacing one, which is a removal and an addition. So the
  synthesizer runs at half of each epsilon.
- shuffled: the releases of a local row, in an order that nobody knows, and the central epsilon and delta that the statement of such
  a file has (``adept.release.shuffling``). Where labels are copied, it is that of the label with the fewest records.
- local: as it is. The claim of a mechanism such as ``original`` may be false: it runs at that fraction of each epsilon at which
  text and label together truly spend the epsilon.

The figure is one panel: accuracy over epsilon, each kind of trust a curve. Thick curves keep labels private; thin ones copy them. A
band is the range of the seeds. A curve leaves the panel where its budgets do: shuffling makes small budgets smaller.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

from matplotlib.lines import Line2D

from adept.comparison.config import (
    CENTRAL,
    COPY,
    JOINT_RESPONSE,
    LOCAL,
    RANDOMIZED_RESPONSE,
    SYNTHESIZER,
    CompareConfig,
)
from adept.comparison.plan import Cell
from adept.comparison.results import ResultRow
from adept.comparison.run import Comparison
from adept.comparison.store import open_directory
from adept.comparison.trial import Trial
from adept.data.files import write_table
from adept.mechanisms import BY_NAME
from adept.mechanisms.base import SymbolRandomizer
from adept.mechanisms.guarantee import words
from adept.plotting import COLOURS, INK, drawing, log_axis
from adept.release.columns import ReleaseOptions
from adept.release.shuffling import Shuffled, find_shuffled
from adept.report import page
from adept.report.figure import NamedEnd, name_ends

SHUFFLED, REFERENCE = "shuffled", "reference"
PRIVATE, COPIED = "private", "copied"  # labels
REPLACED = 2.0  # an epsilon for replacing a record, over that for adding or removing one
LABEL_SHARE = 0.5  # of a claimed budget, where text and label are no single symbol
ORIGINAL = "original"
FIGURE, SIZE = "trust.svg", (7.6, 4.6)
TRUST_ORDER = (CENTRAL, SHUFFLED, LOCAL)
SHUFFLED_COLOUR, GREY = "#7d5ba6", "#777"
LEVELS = {"none": "the text itself", "random": "random"}
WIDTHS = {PRIVATE: 2.2, COPIED: 0.9}  # of curves, by what becomes of labels
MARGIN = 2**0.15  # of the axis, beyond the least and the largest budget


@dataclass(frozen=True, kw_only=True)
class TrustRow:
    """One line of ``trust.csv``.

    Attributes:
        trust: local, shuffled or central; reference for the text itself and for random latents.
        labels: private or copied.
        epsilon, delta: true, for replacing one record; None for references.
        claimed_epsilon: of the release behind it: for adding or removing a record where it is central.
        records: number of records that a record hides among; None where it does not.
    """

    data: str
    trust: str
    mechanism: str
    labels: str
    epsilon: float | None
    delta: float | None
    claimed_epsilon: float | None
    records: int | None
    seed: int
    accuracy: float
    macro_f1: float


class TrustComparison:
    """Comparisons under each kind of trust, in one directory: new ones, or ones that are there and go on where they stopped.

    Attributes:
        parts: the comparisons.

    Raises:
        DataError: the data have no labels, or a directory holds another comparison.
    """

    def __init__(self, config: CompareConfig) -> None:
        self.config, self.directory = config, open_directory(config)
        models = self.directory / "models"
        self.parts = [Comparison(part, models=models) for part in part_configs(config)]

    @property
    def size(self) -> int:
        """Number of rows of its comparisons."""
        return sum(part.size for part in self.parts)

    def run(self) -> Iterator[int]:
        """Make what is not there yet; yields the number of rows that are done."""
        done = 0
        for part in self.parts:
            made = 0
            for made in part.run():
                yield done + made
            done += made

    def collect(self) -> list[TrustRow]:
        """Return all rows in one relation, and write ``trust.csv`` and the page of each comparison."""
        rows: list[TrustRow] = []
        for part in self.parts:
            results = part.collect()
            page.write(results)
            rows += _trust_rows(part, results.rows)
        write_table(rows, self.directory / "trust.csv")
        return rows


def write(comparison: TrustComparison) -> page.Report:
    """Write ``figures/trust.svg`` beside what ``collect`` writes."""
    rows = comparison.collect()
    path = comparison.directory / "figures" / FIGURE
    path.parent.mkdir(exist_ok=True)
    path.write_text(draw(rows, comparison.config.epsilons), "utf-8")
    return page.Report(path, [accuracy_grid(rows)], [], [])


def part_configs(config: CompareConfig) -> list[CompareConfig]:
    """Return the comparisons that one of all kinds of trust is made of."""
    below = Path(config.output_dir)
    halved = [epsilon / REPLACED for epsilon in config.epsilons]
    found = [replace(config, trust=CENTRAL, epsilons=halved, samples=1, output_dir=str(below / CENTRAL))]
    for name in config.mechanisms:
        symbol = issubclass(BY_NAME[name], SymbolRandomizer)
        truly = config.mechanism(name, 1.0).guarantee(config.model.latent_dim).epsilon  # 1 where the claim holds
        for labels in (JOINT_RESPONSE if symbol else RANDOMIZED_RESPONSE, COPY):
            share = LABEL_SHARE if labels == RANDOMIZED_RESPONSE else 0.0
            spent = share + (1 - share) * truly
            found.append(
                replace(
                    config,
                    trust=LOCAL,
                    mechanisms=[name],
                    epsilons=[epsilon / spent for epsilon in config.epsilons],
                    samples=config.samples if symbol else 1,
                    labels=labels,
                    label_share=share or None,
                    output_dir=str(below / f"{name}-{labels}"),
                )
            )
    return found


def _trust_rows(part: Comparison, rows: list[ResultRow]) -> Iterator[TrustRow]:
    cells = {(cell.mechanism, cell.budget, cell.classifier): cell for cell in part.schedule.cells}
    trials = {seed: Trial(part.store, part.splits, seed) for seed in part.config.seeds}
    for row in rows:
        if row.classifier == part.config.classifiers[0]:
            cell = cells[row.mechanism, row.claimed_epsilon, row.classifier]
            yield from _in_one_relation(trials[row.seed], cell, row)


def _in_one_relation(trial: Trial, cell: Cell, row: ResultRow) -> Iterator[TrustRow]:
    config = trial.config
    local = TrustRow(
        data=row.data,
        trust=LOCAL,
        mechanism=row.mechanism,
        labels=COPIED if config.labels == COPY and config.trust == LOCAL else PRIVATE,
        epsilon=row.epsilon,
        delta=row.delta,
        claimed_epsilon=row.claimed_epsilon,
        records=None,
        seed=row.seed,
        accuracy=row.accuracy,
        macro_f1=row.macro_f1,
    )
    if row.claimed_epsilon is None:
        yield replace(local, trust=REFERENCE, epsilon=None, delta=None)
    elif row.mechanism == SYNTHESIZER:
        yield replace(local, trust=CENTRAL, epsilon=REPLACED * row.epsilon)
    else:
        yield local
        if (hidden := _hide_among(trial, cell)) is not None:
            yield replace(local, trust=SHUFFLED, epsilon=hidden.epsilon, delta=hidden.delta, records=hidden.smallest)


def _hide_among(trial: Trial, cell: Cell) -> Shuffled | None:
    """Return what shuffling the private half adds, as its statement would say; None where a release is no single symbol."""
    rewriter = trial.rewriter(cell)
    if not isinstance(rewriter.mechanism, SymbolRandomizer):
        return None
    own = trial.private.labels or []
    options = ReleaseOptions(labels=cell.labels, label_response=rewriter.joint, shuffle=True)
    smallest = min(Counter(own).values()) if cell.labels == COPY else len(own)
    dim = rewriter.model.config.latent_dim
    return find_shuffled(rewriter.mechanism, options, dim=dim, records=len(own), smallest=smallest)


@dataclass(frozen=True)
class TrustCurve:
    """One kind of trust, one mechanism and one treatment of labels.

    Attributes:
        points: true epsilon, and the least, mean and largest accuracy over all seeds, by epsilon, ascending.
    """

    trust: str
    mechanism: str
    labels: str
    points: list[tuple[float, float, float, float]]

    @property
    def colour(self) -> str:
        """Colour of the curve, that of its mechanism unless it is shuffled."""
        return SHUFFLED_COLOUR if self.trust == SHUFFLED else COLOURS[self.mechanism]


def curves(rows: Sequence[TrustRow]) -> list[TrustCurve]:
    """Return all curves: central, shuffled, local, those whose labels are private first."""
    groups: dict[tuple[str, str, str], dict[float, list[TrustRow]]] = {}
    for row in rows:
        if row.trust != REFERENCE:
            of_curve = groups.setdefault((row.trust, row.mechanism, row.labels), {})
            of_curve.setdefault(row.claimed_epsilon or 0.0, []).append(row)
    found = [TrustCurve(*key, sorted(map(_point, of_curve.values()))) for key, of_curve in groups.items()]
    return sorted(found, key=lambda curve: (curve.labels != PRIVATE, TRUST_ORDER.index(curve.trust)))


def _point(rows: list[TrustRow]) -> tuple[float, float, float, float]:
    found = [row.accuracy for row in rows]
    return max(row.epsilon or 0.0 for row in rows), min(found), mean(found), max(found)


def _levels(rows: Sequence[TrustRow]) -> Iterator[tuple[str, float, str]]:
    """Yield name, accuracy and colour of the text itself, and of the best that any decoder writes of random latents."""
    for name, title in LEVELS.items():
        groups: dict[tuple[str, str], list[float]] = {}
        for row in rows:
            if row.mechanism == name:
                groups.setdefault((row.trust, row.labels), []).append(row.accuracy)
        yield title, max(map(mean, groups.values())), GREY if name == "random" else INK


def draw(rows: Sequence[TrustRow], epsilons: Sequence[float]) -> str:
    """Return the panel as an SVG file, over the range of the budgets that were asked for."""
    found = curves(rows)
    with drawing(1, 1, size=SIZE) as opened:
        axis = opened.axes[0][0]
        for curve in found:
            _draw_curve(axis, curve)
        ends = [_end(curve, _name(curve, found), epsilons) for curve in found if curve.labels == PRIVATE]
        for name, height, colour in _levels(rows):
            axis.axhline(height, color=colour, lw=1.1, ls=":", zorder=1)
            ends.append((height, name, colour))
        powers = range(math.ceil(math.log2(min(epsilons))), math.floor(math.log2(max(epsilons))) + 1)
        log_axis(axis, [2.0**power for power in powers], _axis_label(rows))
        axis.set_xlim(min(epsilons) / MARGIN, max(epsilons) * MARGIN)
        axis.set_ylim(0, 1)
        axis.set_ylabel("accuracy of a classifier trained on the release")
        name_ends(axis, ends)
        keys = [Line2D([], [], color=INK, lw=width, label=f"labels {name}") for name, width in WIDTHS.items()]
        opened.figure.legend(handles=keys, loc="outside lower center", ncols=len(keys), frameon=False)
    return opened.svg


def _draw_curve(axis: Any, curve: TrustCurve) -> None:
    x, low, middle, high = zip(*curve.points, strict=True)
    thick = curve.labels == PRIVATE
    style: dict[str, Any] = {"color": curve.colour, "lw": WIDTHS[curve.labels], "zorder": 3 if thick else 2}
    style["ls"] = "--" if curve.mechanism == ORIGINAL else "-"
    axis.plot(x, middle, marker="o" if thick else "", ms=3.8, **style)
    if thick:
        axis.fill_between(x, low, high, color=curve.colour, alpha=0.15, lw=0)


def _end(curve: TrustCurve, name: str, epsilons: Sequence[float]) -> NamedEnd:
    """The last point of a curve within the panel, where it is named."""
    inside = [middle for epsilon, _, middle, _ in curve.points if epsilon <= max(epsilons) * MARGIN]
    return inside[-1], name, curve.colour


def _name(curve: TrustCurve, found: Sequence[TrustCurve]) -> str:
    if curve.mechanism == ORIGINAL:
        return "original ADePT"
    alike = [other for other in found if (other.trust, other.labels) == (curve.trust, PRIVATE)]
    several = sum(other.mechanism != ORIGINAL for other in alike) > 1
    return curve.trust + (f", {curve.mechanism}" if several else "")


def _axis_label(rows: Sequence[TrustRow]) -> str:
    deltas = {row.delta for row in rows if row.trust == SHUFFLED and row.labels == PRIVATE and row.delta}
    delta = f"; shuffled: delta {words(max(deltas))}" if deltas else ""
    return f"true epsilon for replacing one record, n public{delta}"


def accuracy_grid(rows: Sequence[TrustRow]) -> page.Grid:
    """Return all curves as a table: a column an epsilon; what is shuffled stands below the local epsilon, with the central one."""
    found = curves(rows)
    asked = [words(epsilon) for epsilon, *_ in next(curve for curve in found if curve.trust == CENTRAL).points]
    lines = [[_name(curve, found), curve.labels, *(_cell(curve, *point) for point in curve.points)] for curve in found]
    lines += [[name, "", *[f"{height:.3f}"] * len(asked)] for name, height, _ in _levels(rows)]
    return page.Grid("accuracy", ["true epsilon", "labels", *asked], [page.GridSection("", lines)])


def _cell(curve: TrustCurve, epsilon: float, _low: float, middle: float, _high: float) -> str:
    return f"{middle:.3f}" + (f" at {epsilon:.3g}" if curve.trust == SHUFFLED else "")
