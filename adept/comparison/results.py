"""Results of a comparison, and the directory that stores them; only this module knows its files' names.

A new column of the table is a field with a default in :class:`ResultRow`, so that stored rows can still be read. A
directory belongs to one comparison. The file ``comparison.json`` holds the comparison's settings. Settings in
``GROWING`` may change between two runs; all others stay the same.

The content of a file depends on the settings and on other facts, such as the mechanism, the epsilon and the seed. The
name of a stored file contains all these other facts, but not the settings. Each file is written whole or not at all.
If a file is damaged later, an error names it.

    models/        a training run for each model and seed
    labels/        every record's released label, drawn once for all rows that use it
    rewrites/      texts written from one release of every record, their labels, and the epsilon spent
    rows/          a classifier's accuracy and, if measured, the quality of the texts
    audits/        verdicts on the mechanisms' claims
    attacks/       success rates of attacks, on releases that were made only for the attacks
"""

import json
import math
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any, TypeVar

import numpy as np
from scipy.stats import t as student

from adept.attacks.attack_game import AttackRow, Rate
from adept.comparison.config import CompareConfig, ModelKind, Recipe, find_kind, is_foreign
from adept.data.writing import new_directory, write_whole
from adept.errors import DataError, flatten
from adept.evaluation.metrics import Hits

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
        list(zip(self.texts, self.labels, strict=True))  # a ValueError unless they are equally many


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
        shared = {name: getattr(self, name) for name in ("mechanism", "claimed_epsilon", "epsilon", "delta")}
        plain = ("knows", "success", "without_release", "claimed_bound", "bound", "optimum")
        return [
            {
                **shared,
                **asdict(self.model),
                **{name: getattr(row, name) for name in (*plain, "refutes_claim", "beyond_bound", "words")},
                **{name: row.detail.get(name) for name in ("candidates", "beyond_claim", "largest_odds")},
                **{"rate": row.rate.value, "low": row.rate.low, "high": row.rate.high},
                **{"records": row.rate.trials, "confidence": row.rate.confidence},
            }
            for row in self.rows
        ]


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


LAYOUT = 7  # version of the directory
SETTINGS = "comparison.json"
GROWING = {"mechanisms", "epsilons", "seeds", "classifiers", "baselines", "alternatives", "attacks", "examples"}
GROWING |= {"processes", "output_dir", "figure"}

Stored = TypeVar("Stored", ReleasedLabels, WrittenTexts, ResultRow, AuditVerdict, AttackedRelease)


class Store:
    """The stored results of a comparison."""

    def __init__(self, config: CompareConfig) -> None:
        self.config, self.directory = config, open_directory(config)

    def model(self, seed: int, model: ModelKind) -> Path:
        """Return the directory of a model's training run."""
        return self.directory / "models" / f"{_model_key(model)}-seed{seed}"

    def find(self, kind: type[Stored], seed: int, recipe: Recipe) -> Stored | None:
        """Return the stored result for a row, or None; raise DataError if its file is damaged."""
        path = self._path(kind, seed, recipe)
        with _refuse_damage(path):
            return _parse(kind, path.read_bytes()) if path.exists() else None

    def keep(self, value: Stored, seed: int, recipe: Recipe) -> Stored:
        """Store a result for a row of the table, and return the result.

        Raise DataError if the result is already stored, but replace a stored ResultRow.
        """
        path = self._path(type(value), seed, recipe)
        write_whole(path, json.dumps(asdict(value)), replace=isinstance(value, ResultRow))
        return value

    def _path(self, kind: type[Any], seed: int, recipe: Recipe) -> Path:
        mechanism = _mechanism_key(recipe.mechanism)
        release = [mechanism, *_budget(recipe.budget), *([_model_key(recipe.model)] if recipe.model else [])]
        text = [*release, *([recipe.decoder] if recipe.decoder else [])]
        own = f"seed{seed}"
        places: dict[type[Any], tuple[str, list[str]]] = {
            ReleasedLabels: ("labels", [*_budget(recipe.label_epsilon), own]),
            WrittenTexts: ("rewrites", [*text, own]),
            ResultRow: ("rows", [*text, recipe.classifier, own]),
            AttackedRelease: ("attacks", [*release, own]),
            AuditVerdict: ("audits", [mechanism, *_budget(recipe.text_epsilon)]),  # of a claim, whatever the seed
        }
        folder, key = places[kind]
        return self.directory / folder / f"{'-'.join(key)}.json"


def open_directory(config: CompareConfig) -> Path:
    """Make the directory of a comparison, or check an existing one; write the settings into it."""
    directory = new_directory(config.output_dir, marker=SETTINGS)
    settings = json.loads(json.dumps({"layout": LAYOUT, **asdict(config)}))
    for holder, name in ((settings["data"], "path"), (settings["data"], "broad"), (settings, "model_dir")):
        holder[name] = holder[name] and os.path.realpath(holder[name])  # the same from any directory
    if (directory / SETTINGS).exists():
        _check_same(directory, settings)
    write_whole(directory / SETTINGS, json.dumps(settings, indent=2) + "\n", replace=True)
    return directory


def _check_same(directory: Path, settings: dict[str, Any]) -> None:
    with _refuse_damage(directory / SETTINGS, advice="choose another directory"):
        before = dict(json.loads((directory / SETTINGS).read_text("utf-8")))
    if before.get("layout") != LAYOUT:
        raise DataError(
            f"output_dir {directory} holds a comparison of another version of adept: choose another directory"
        )
    old = flatten(before)
    for name, value in flatten({name: value for name, value in settings.items() if name not in GROWING}).items():
        if value != old.get(name):
            raise DataError(
                f"output_dir {directory} holds a comparison with another {name} ({old.get(name)}): give the same options "
                "again, or choose another directory"
            )


def _parse(kind: type[Any], content: bytes) -> Any:
    found = json.loads(content.decode("utf-8"))
    if kind is AttackedRelease:
        found["model"] = ModelKind(**found["model"])
        found["rows"] = [AttackRow(**row | {"rate": Rate(**row["rate"])}) for row in found["rows"]]
    return kind(**found)


def _model_key(model: ModelKind) -> str:
    return model.clip if model.content == "none" else f"{model.clip}-{model.content}"


def _mechanism_key(name: str) -> str:
    """Return a name for files; of a mechanism that is not part of adept, the digest of its code is in it."""
    if not is_foreign(name):
        return name
    return f"{name}-{(find_kind(name).origin['sha256'] or '')[:12]}"  # type: ignore[attr-defined]


def _budget(epsilon: float | None) -> list[str]:
    """Return an epsilon as text with all digits, so that file names of two epsilons differ."""
    return [] if epsilon is None else [repr(float(epsilon))]


@contextmanager
def _refuse_damage(path: Path, *, advice: str = "remove it, and the same command makes it again") -> Iterator[None]:
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, OSError) as error:
        raise DataError(f"{path} is damaged ({type(error).__name__}): {advice}") from None
