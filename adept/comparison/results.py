"""Results of a comparison: rows, means over seeds, texts, verdicts, attacks and examples.

A new column of the table is a field with a default in :class:`ResultRow`, so that stored rows can
still be read.
"""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from statistics import mean, stdev
from typing import Any

import numpy as np
from scipy.stats import t as student

from adept.attacks.attack_game import AttackRow
from adept.comparison.config import CompareConfig
from adept.comparison.plan import ModelKind
from adept.evaluation.metrics import ConfidenceInterval, Hits

PACKED = ("hits", "majority_hits")  # fields of a row that are not in results.csv


@dataclass(frozen=True, kw_only=True)
class ResultRow:
    """One line of ``results.csv``. A field is None if it does not apply to this line."""

    data: str
    protocol: str
    mechanism: str
    decoder: str | None = None  # lstm, codec (public sentences), nearest or words
    claimed_epsilon: float | None  # None: the row has no budget
    epsilon: float  # true, of text and label together
    label_epsilon: float | None = None
    delta: float
    dim: int
    seed: int
    classifier: str
    labels: str
    samples: int
    accuracy: float
    macro_f1: float
    records_per_second: float | None
    clip: str | None  # of the model that wrote the text
    content: str | None = None  # topics of its latents
    majority_accuracy: float
    train_records: int
    test_records: int
    bleu: float | None = None
    distinct: float | None = None
    perplexity: float | None = None  # under a bigram model of the private originals
    verbatim_public: float | None = None  # share of rewrites that are a text of the model's training
    slots: float | None = None  # share of a record's slot values that stand in its rewrite
    slots_other: float | None = None  # the same in another record's rewrite
    words: float | None = None  # F1 of a rewrite's words with its record's
    words_other: float | None = None
    exact: float | None = None  # word for word, case and white space aside
    exact_other: float | None = None
    fluency: float | None = None  # relative perplexity under a trigram model of public text
    holds: bool | None = None  # is the claim true of these records
    enough: int | None = None  # epsilon above which a larger one writes the same texts
    hits: str = ""  # whether the label of each test record is right, as by pack_hits; not in results.csv
    majority_hits: str = ""  # the same for the commonest label of the private records, in the row of original text

    def columns(self) -> dict[str, Any]:
        """Return the columns of ``results.csv``."""
        return {name: value for name, value in asdict(self).items() if name not in PACKED}


@dataclass(frozen=True)
class SeedMean:
    """A mean over seeds with its 95 % Student interval, which is one point if there is one seed."""

    mean: float
    low: float
    high: float
    half: float = 0.0  # half the interval's width, wherever its ends were cut off
    seeds: int = 1

    @classmethod
    def of(cls, values: Iterable[float], *, least: float = 0.0) -> "SeedMean":
        """Return the mean of one value per seed; its 95 % interval is cut to [``least``, 1]."""
        values = list(values)
        centre, seeds = mean(values), len(values)
        half = float(student.ppf(0.975, seeds - 1)) * stdev(values) / math.sqrt(seeds) if seeds > 1 else 0.0
        return cls(centre, max(least, centre - half), min(1.0, centre + half), half, seeds)

    @classmethod
    def of_one(cls, found: ConfidenceInterval) -> "SeedMean":
        """Return the value of one seed, with an interval over the test records."""
        return cls(found.value, found.low, found.high, (found.high - found.low) / 2)

    def __str__(self) -> str:
        return f"{self.mean:.3f}"

    @property
    def spread(self) -> str:
        """Text that gives the mean and half the width of the mean's interval."""
        return f"{self} ± {self.half:.3f}" if self.seeds > 1 or self.half else str(self)


@dataclass(frozen=True)
class ReleasedLabels:
    """The randomised labels of the private records."""

    values: list[str]


@dataclass(frozen=True)
class WrittenTexts:
    """Texts that were written for a row of the table, and their labels."""

    texts: list[str]
    labels: list[str]
    spent: dict[str, Any]  # columns of the row

    def __post_init__(self) -> None:
        if len(self.texts) != len(self.labels):
            raise ValueError("texts and labels must be equally many")


@dataclass(frozen=True)
class AuditVerdict:
    """An audit's verdict on a mechanism's claim at the smallest epsilon of the comparison."""

    mechanism: str
    epsilon: float
    violated: bool
    certified_epsilon: float
    evidence: str  # of the strongest failed check
    guarantee: str  # in words


@dataclass(frozen=True, kw_only=True)
class AttackedRelease:
    """The results of all attacks on the releases of one mechanism at one epsilon."""

    mechanism: str
    model: ModelKind
    claimed_epsilon: float  # these three: of the text alone
    epsilon: float
    delta: float
    rows: list[AttackRow]

    def lines(self) -> list[dict[str, Any]]:
        """Return the lines of ``attacks.csv``, one for each attack."""
        shared = {name: getattr(self, name) for name in ("mechanism", "claimed_epsilon", "epsilon", "delta")}
        return [{**shared, **asdict(self.model), **_figures(row)} for row in self.rows]


def _figures(row: AttackRow) -> dict[str, Any]:
    rate = row.rate
    plain = ("knows", "success", "without_release", "claimed_bound", "bound", "optimum")
    return {
        **{name: getattr(row, name) for name in (*plain, "refutes_claim", "beyond_bound", "words")},
        **{name: row.detail.get(name) for name in ("candidates", "beyond_claim", "largest_odds")},
        **{"rate": rate.value, "low": rate.low, "high": rate.high},
        **{"records": rate.trials, "confidence": rate.confidence},
    }


@dataclass(frozen=True)
class Example:
    """A private record (None if it must stay hidden), and one rewrite from each shown row."""

    original: str | None
    rewrites: list[tuple[ResultRow, str]]


@dataclass(frozen=True)
class Results:
    """All results of a comparison, from which its report is made."""

    config: CompareConfig
    rows: list[ResultRow]  # seed by seed, in the order of the plan
    audits: list[AuditVerdict]
    attacks: list[AttackedRelease]
    examples: list[Example]


def pack_hits(hits: Hits) -> str:
    """Return booleans as hexadecimal digits; ``unpack_hits`` reads them."""
    return np.packbits(hits).tobytes().hex()


def unpack_hits(packed: str, count: int) -> Hits:
    """Return the ``count`` booleans that ``pack_hits`` wrote."""
    return np.unpackbits(np.frombuffer(bytes.fromhex(packed), dtype=np.uint8), count=count).astype(bool)


def exceeds(epsilon: float, claimed: float) -> bool:
    """Return True if the true epsilon exceeds the claimed one by more than a rounding error."""
    return epsilon > claimed * (1 + 1e-9)
