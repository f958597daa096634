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
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

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
from adept.comparison.results import Results, Row
from adept.comparison.run import Comparison
from adept.comparison.store import open_directory
from adept.comparison.trial import Trial
from adept.data.files import write_table
from adept.mechanisms import BY_NAME
from adept.mechanisms.base import SymbolRandomizer
from adept.mechanisms.choice import MechanismChoice
from adept.release.columns import ReleaseOptions
from adept.release.shuffling import Shuffled, shuffled

SHUFFLED, REFERENCE = "shuffled", "reference"
PRIVATE, COPIED = "private", "copied"  # labels
REPLACED = 2.0  # an epsilon for replacing a record, over that for adding or removing one
LABEL_SHARE = 0.5  # of a claimed budget, where text and label are no single symbol


@dataclass(frozen=True, kw_only=True)
class TrustRow:
    """One line of ``trust.csv``.

    Attributes:
        trust: local, shuffled or central; reference for the text itself and for random latents.
        mechanism: as in ``results.csv``.
        labels: private or copied.
        epsilon, delta: true, for replacing one record; None for references.
        claimed_epsilon: what the release behind it claims: for adding or removing a record where it is central.
        records: how many records a record hides among; None where it does not.
        seed, accuracy, macro_f1: as in ``results.csv``.
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
        self.parts = [Comparison(part, models=models) for part in parts(config)]

    @property
    def size(self) -> int:
        """How many rows its comparisons have."""
        return sum(part.size for part in self.parts)

    def run(self) -> Iterator[int]:
        """Make what is not there yet; yields how many rows are done."""
        done = 0
        for part in self.parts:
            told = 0
            for told in part.run():
                yield done + told
            done += told

    def collect(self) -> tuple[list[TrustRow], list[Results]]:
        """Return what was made, in one relation and by comparison, and write ``trust.csv``."""
        results = [part.collect() for part in self.parts]
        rows = [row for part, found in zip(self.parts, results, strict=True) for row in trust_rows(part, found.rows)]
        write_table(rows, self.directory / "trust.csv")
        return rows, results


def parts(config: CompareConfig) -> list[CompareConfig]:
    """Return the comparisons that one of all kinds of trust is made of."""
    below = Path(config.output_dir)
    halved = [epsilon / REPLACED for epsilon in config.epsilons]
    found = [replace(config, trust=CENTRAL, epsilons=halved, samples=1, output_dir=str(below / CENTRAL))]
    for name in config.mechanisms:
        symbol = issubclass(BY_NAME[name], SymbolRandomizer)
        for labels in (JOINT_RESPONSE if symbol else RANDOMIZED_RESPONSE, COPY):
            share = LABEL_SHARE if labels == RANDOMIZED_RESPONSE else None
            spent = _spent(config, name, share=share or 0.0)
            found.append(
                replace(
                    config,
                    trust=LOCAL,
                    mechanisms=[name],
                    epsilons=[epsilon / spent for epsilon in config.epsilons],
                    samples=config.samples if symbol else 1,
                    labels=labels,
                    label_share=share,
                    output_dir=str(below / f"{name}-{labels}"),
                )
            )
    return found


def _spent(config: CompareConfig, name: str, *, share: float) -> float:
    """What a mechanism truly spends of text and label for each epsilon that it claims: 1 where the claim holds."""
    promise = MechanismChoice(BY_NAME[name]).build(epsilon=1.0, clip_norm=config.model.clip_norm)
    return share + (1 - share) * promise.guarantee(config.model.latent_dim).epsilon


def trust_rows(part: Comparison, rows: list[Row]) -> Iterator[TrustRow]:
    """Yield the rows of one comparison, in the one relation."""
    for seed in part.config.seeds:
        trial = Trial(part.store, part.splits, seed)
        cells = {(cell.mechanism, cell.budget, cell.classifier): cell for cell in part.plan.cells}
        for row in rows:
            if row.seed == seed and row.classifier == part.config.classifiers[0]:
                yield from _trusted(trial, cells[row.mechanism, row.claimed_epsilon, row.classifier], row)


def _trusted(trial: Trial, cell: Cell, row: Row) -> Iterator[TrustRow]:
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
        if (hidden := hidden_among(trial, cell)) is not None:
            yield replace(local, trust=SHUFFLED, epsilon=hidden.epsilon, delta=hidden.delta, records=hidden.smallest)


def hidden_among(trial: Trial, cell: Cell) -> Shuffled | None:
    """Return what shuffling the private half adds, as its statement would say; None where a release is no single symbol."""
    rewriter, config = trial.rewriter(cell), trial.config
    if not isinstance(rewriter.mechanism, SymbolRandomizer):
        return None
    own = trial.private.labels or []
    options = ReleaseOptions(labels=config.labels, label_response=rewriter.joint, shuffle=True)
    smallest = min(Counter(own).values()) if config.labels == COPY else len(own)
    dim = rewriter.model.config.latent_dim
    return shuffled(rewriter.mechanism, options, dim=dim, records=len(own), smallest=smallest)
