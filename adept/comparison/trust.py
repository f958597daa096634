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
  ``adept.release.statement.shuffled`` computes for the shuffled file.
- local: a mechanism whose claim is false is run with only a fraction of each epsilon of the table.
  Then the true epsilon of text and label together is exactly the epsilon of the table.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
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
from adept.comparison.results import ResultRow, Results
from adept.comparison.store import open_directory
from adept.comparison.trial import Trial
from adept.data.writing import write_table
from adept.release.records.columns import ReleaseOptions
from adept.release.statement.shuffled import Shuffled, find_shuffled
from adept.rewriting.alphabets import Alphabet

SHUFFLED, REFERENCE = "shuffled", "reference"
PRIVATE, COPIED = "private", "copied"  # labels
REPLACED = 2.0  # an epsilon for replacing a record, over that for adding or removing one
LABEL_SHARE = 0.5  # of a claimed budget, where text and label are no single symbol


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


@dataclass(frozen=True)
class TrustResults:
    """The results of each comparison of ``trust=all``, and the table made of all of them."""

    table: Path  # trust.csv
    rows: list[TrustRow]
    parts: list[Results]


class TrustComparison:
    """All comparisons of ``trust=all``, in one directory."""

    def __init__(self, config: CompareConfig) -> None:
        self.directory = open_directory(config)
        models = self.directory / "models"
        self.parts = [Comparison(part, models=models) for part in split_config(config)]
        self.size = sum(part.size for part in self.parts)

    def run(self) -> Iterator[int]:
        """Compute all missing results; after each step, yield the number of finished rows."""
        done = 0
        for part in self.parts:
            yield from (done + made for made in part.run())
            done += part.size

    def collect(self) -> TrustResults:
        """Return all results, and write ``trust.csv``; its epsilons are for replacing a record."""
        results = [part.collect() for part in self.parts]
        rows = [row for part, own in zip(self.parts, results, strict=True) for row in _trust_rows(part, own.rows)]
        table = self.directory / "trust.csv"
        write_table(rows, table)
        return TrustResults(table, rows, results)


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
    first = part.config.classifiers[0]
    cells = {(cell.mechanism, cell.budget): cell for cell in part.schedule.cells if cell.classifier == first}
    trials = {trial.seed: trial for trial in part.trials()}
    for row in rows:
        if row.classifier == first:
            yield from _convert(trials[row.seed], cells[row.mechanism, row.claimed_epsilon], row)


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
