"""The comparison of ``trust=all``: accuracies under each kind of trust that people may have.

*Local* means that people trust nobody with their records. *Shuffled* means that people trust
somebody to hide the order of the records. *Central* means that people trust the holder of the file.
Each of the following comparisons has a directory and a page:

    central/                   the synthesizer, labels private
    NAME-joint_response/       a mechanism whose releases are symbols: text and label as one symbol
    NAME-randomized_response/  any other mechanism, one text per record; half of each budget is spent on the label
    NAME-copy/                 the same mechanism, labels copied

For all kinds of trust, the epsilon in the table is the true epsilon for *replacing* one record by
any other record. The number of records is public.

- central: the synthesizer's epsilon is for adding or removing a record. Replacing a record is a
  removal and an addition, so the synthesizer runs with half of each epsilon of the table.
- shuffled: the releases are the same as for local trust. Their epsilon and delta are those that
  ``adept.release.shuffle_guarantee`` computes for the shuffled file.
- local: a mechanism whose claim is false is run with only a fraction of each epsilon of the table.
  Then the true epsilon of text and label together is exactly the epsilon of the table.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from statistics import mean
from typing import Any

from adept.comparison.comparison import Comparison
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
from adept.comparison.store import open_directory
from adept.comparison.trial import Trial
from adept.data.writing import write_table
from adept.mechanisms.guarantee import words
from adept.plotting import group_rows
from adept.release.columns_labels_persons import ReleaseOptions
from adept.release.shuffle_guarantee import Shuffled, find_shuffled
from adept.report import page
from adept.report.figures import HEADLINE_LEVELS
from adept.rewriting.alphabets import Alphabet

SHUFFLED, REFERENCE = "shuffled", "reference"
PRIVATE, COPIED = "private", "copied"  # labels
REPLACED = 2.0  # an epsilon for replacing a record, over that for adding or removing one
LABEL_SHARE = 0.5  # of a claimed budget, where text and label are no single symbol
ORIGINAL = "original"
TABLE = "trust.csv"
TRUST_ORDER = (CENTRAL, SHUFFLED, LOCAL)


@dataclass(frozen=True, kw_only=True)
class TrustRow:
    """One line of ``trust.csv``: the accuracy of one release with one seed."""

    data: str
    trust: str  # local, shuffled or central; reference for the text itself and for random latents
    mechanism: str
    labels: str  # private or copied
    epsilon: float | None  # true, for replacing one record; None for references, as the next
    delta: float | None
    claimed_epsilon: float | None  # as the release has it
    records: int | None  # that a record hides among
    seed: int
    accuracy: float
    macro_f1: float


class TrustComparison:
    """All comparisons of ``trust=all``, in one directory."""

    def __init__(self, config: CompareConfig) -> None:
        self.config, self.directory = config, open_directory(config)
        models = self.directory / "models"
        self.parts = [Comparison(part, models=models) for part in split_config(config)]
        self.size = sum(part.size for part in self.parts)

    def run(self) -> Iterator[int]:
        """Compute all missing results; after each step, yield the number of finished rows."""
        done = 0
        for part in self.parts:
            yield from (done + made for made in part.run())
            done += part.size

    def collect(self) -> list[TrustRow]:
        """Return all rows, and write them and the pages of all comparisons.

        The epsilon of each row is for replacing a record.
        """
        rows: list[TrustRow] = []
        for part in self.parts:
            results = part.collect()
            page.write(results)
            rows += _trust_rows(part, results.rows)
        write_table(rows, self.directory / TABLE)
        return rows


def write(comparison: TrustComparison) -> page.Report:
    """Write ``trust.csv`` into the comparison's directory; return its path and a table."""
    return page.Report(comparison.directory / TABLE, [accuracy_grid(comparison.collect())], [], [])


def split_config(config: CompareConfig) -> list[CompareConfig]:
    """Return the configuration of each comparison that ``trust=all`` runs."""
    below = Path(config.output_dir)
    halved = [epsilon / REPLACED for epsilon in config.epsilons]
    found = [replace(config, trust=CENTRAL, epsilons=halved, samples=1, output_dir=str(below / CENTRAL))]
    for name in config.mechanisms:
        symbol = name in ("learned_codebook", "description")
        local = replace(config, trust=LOCAL, mechanisms=[name], samples=config.samples if symbol else 1)
        truly = config.mechanism(name, 1.0).guarantee(config.model.latent_dim).epsilon  # 1 where the claim holds
        for labels in (JOINT_RESPONSE if symbol else RANDOMIZED_RESPONSE, COPY):
            share = LABEL_SHARE if labels == RANDOMIZED_RESPONSE else 0.0
            epsilons = [epsilon / (share + (1 - share) * truly) for epsilon in config.epsilons]
            part = replace(local, epsilons=epsilons, labels=labels, label_share=share or None)
            found.append(replace(part, output_dir=str(below / f"{name}-{labels}")))
    return found


def _trust_rows(part: Comparison, rows: list[ResultRow]) -> Iterator[TrustRow]:
    cells = {(cell.mechanism, cell.budget, cell.classifier): cell for cell in part.schedule.cells}
    trials = {seed: Trial(part.store, part.splits, seed) for seed in part.config.seeds}
    for row in rows:
        if row.classifier == part.config.classifiers[0]:
            cell = cells[row.mechanism, row.claimed_epsilon, row.classifier]
            yield from _convert(trials[row.seed], cell, row)


def _convert(trial: Trial, cell: Cell, row: ResultRow) -> Iterator[TrustRow]:
    """Yield a release's line of ``trust.csv`` and, if it can be shuffled, one after shuffling."""
    config = trial.config
    same: dict[str, Any] = {field.name: getattr(row, field.name, None) for field in fields(TrustRow)}
    copied = config.labels == COPY and config.trust == LOCAL
    local = TrustRow(**same | {"trust": LOCAL, "labels": COPIED if copied else PRIVATE})
    if row.claimed_epsilon is None:
        yield replace(local, trust=REFERENCE, epsilon=None, delta=None)
    elif row.mechanism == SYNTHESIZER:
        yield replace(local, trust=CENTRAL, epsilon=REPLACED * row.epsilon)
    else:
        yield local
        if (hidden := _hide_among(trial, cell)) is not None:
            yield replace(local, trust=SHUFFLED, epsilon=hidden.epsilon, delta=hidden.delta, records=hidden.smallest)


def _hide_among(trial: Trial, cell: Cell) -> Shuffled | None:
    """Return the guarantee of shuffled releases, or None if the releases are not symbols."""
    rewriter = trial.rewriter(cell)
    if not isinstance(rewriter.alphabet, Alphabet):
        return None
    own = trial.private.labels or []
    options = ReleaseOptions(labels=cell.labels, label_response=rewriter.joint, shuffle=True)
    smallest = min(Counter(own).values()) if cell.labels == COPY else len(own)
    dim = rewriter.model.config.latent_dim
    return find_shuffled(rewriter.mechanism, options, dim=dim, records=len(own), smallest=smallest)


@dataclass(frozen=True)
class TrustCurve:
    """The accuracies for one kind of trust, one mechanism and one treatment of labels."""

    trust: str
    mechanism: str
    labels: str
    points: list[tuple[float, float, float, float]]  # epsilon; least, mean, largest accuracy


def trace_curves(rows: Sequence[TrustRow]) -> list[TrustCurve]:
    """Turn rows into curves, sorted by labels (private first), then by trust (central first)."""
    found, released = [], [row for row in rows if row.trust != REFERENCE]
    for key, own in group_rows(released, lambda row: (row.trust, row.mechanism, row.labels)).items():
        points = map(_point, group_rows(own, lambda row: row.claimed_epsilon).values())
        found.append(TrustCurve(*key, sorted(points)))
    return sorted(found, key=lambda curve: (curve.labels != PRIVATE, TRUST_ORDER.index(curve.trust)))


def _point(rows: list[TrustRow]) -> tuple[float, float, float, float]:
    found = [row.accuracy for row in rows]
    return max(row.epsilon or 0.0 for row in rows), min(found), mean(found), max(found)


def levels(rows: Sequence[TrustRow]) -> Iterator[tuple[str, float, str]]:
    """Yield the name, the accuracy and the colour of each reference row."""
    for name, (title, colour, _) in HEADLINE_LEVELS.items():
        groups = group_rows((row for row in rows if row.mechanism == name), lambda row: (row.trust, row.labels))
        if groups:
            yield title, max(mean(row.accuracy for row in own) for own in groups.values()), colour


def name_curve(curve: TrustCurve, found: Sequence[TrustCurve]) -> str:
    """Return the name of a curve, which tells it from the other curves."""
    if curve.mechanism == ORIGINAL:
        return "original ADePT"
    alike = [other for other in found if (other.trust, other.labels) == (curve.trust, PRIVATE)]
    several = sum(other.mechanism != ORIGINAL for other in alike) > 1
    return curve.trust + (f", {curve.mechanism}" if several else "")


def accuracy_grid(rows: Sequence[TrustRow]) -> page.Grid:
    """Return a table of accuracies, with a line for each curve and a column for each epsilon."""
    found = trace_curves(rows)
    asked = [words(epsilon) for epsilon, *_ in next(curve for curve in found if curve.trust == CENTRAL).points]
    lines = []
    for curve in found:
        beside = " at {:.3g}" if curve.trust == SHUFFLED else ""
        cells = [f"{middle:.3f}{beside.format(epsilon)}" for epsilon, _, middle, _ in curve.points]
        lines.append([name_curve(curve, found), curve.labels, *cells])
    lines += [[name, "", *[f"{height:.3f}"] * len(asked)] for name, height, _ in levels(rows)]
    return page.Grid("accuracy", ["true epsilon", "labels", *asked], {"": lines})
