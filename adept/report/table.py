"""The numbers of a comparison, averaged over seeds, for the figures, the findings and the page.

To show another column of ``results.csv``, add its name to ``QUALITY``. ``OTHERS`` names columns that are shown in
brackets; these columns compare a record with the rewrite of a different record. To show a new reference, such as
``random`` (text from random latents), add it to ``LEVELS``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import mean

from adept.comparison.config import ALTERNATIVES, NO_RECORDS, REFERENCES, is_foreign
from adept.comparison.results import ResultRow, SeedMean, exceeds, unpack_hits
from adept.evaluation.metrics import OTHER, PAIRED, gain_in_hits
from adept.mechanisms import BY_NAME
from adept.plotting import NAMES, group_rows

METRICS = {"accuracy": "accuracy", "macro_f1": "macro-F1"}
QUALITY = {name: name for name in ("bleu", "distinct", "perplexity", *PAIRED, "fluency", "verbatim_public")}
QUALITY |= {"bleu": "BLEU", "verbatim_public": "public text"}
OTHERS = {name: f"{name}{OTHER}" for name in PAIRED}
MEASURES = (*QUALITY, *OTHERS.values())
MAJORITY = "always the majority label"
FLOORS = ("random", *NO_RECORDS)
LEVELS = ("none", "redaction", "public_only", *NO_RECORDS, *REFERENCES)  # that every curve is read against


@dataclass(frozen=True, kw_only=True)
class Line:
    """Mean results, over all seeds, for one mechanism, decoder, model, classifier and epsilon."""

    row: ResultRow  # of the first seed
    false_claim: bool
    title: str
    model: str  # in words
    accuracy: SeedMean
    macro_f1: SeedMean
    majority: SeedMean  # accuracy of the majority label
    floor: str | None  # the name of the best floor; None for a floor, and if there is none
    above_floor: SeedMean | None  # added by the records: several seeds, or one with an interval over the test records
    extremes: tuple[float, float]  # the least and the largest accuracy of a seed
    measures: dict[str, float | None]


@dataclass(frozen=True)
class Curve:
    """The lines of one mechanism, model, decoder and classifier: a line for each claimed epsilon."""

    mechanism: str
    title: str
    false_claim: bool  # at any budget
    at: dict[float, Line]
    random: Line | None  # of the same model, decoder and classifier

    @property
    def holds(self) -> bool:
        """True if the claim was proved."""
        return not (self.false_claim or is_foreign(self.mechanism))


@dataclass(frozen=True)
class ComparisonTable:
    """All results of a comparison, averaged over seeds.

    A line averages the rows of the results that differ only in the seed. A curve holds the lines of one mechanism,
    one for each epsilon. A level is the result of a reference (a row without an epsilon, such as the original texts).
    """

    lines: list[Line]  # in the order of the rows
    texts: list[Line]  # those of the first classifier
    budgets: list[float]  # claimed, ascending
    curves: list[Curve]
    levels: dict[str, dict[str, SeedMean]]  # by metric and name
    classifiers: list[str]


@dataclass(frozen=True)
class Grid:
    """A table of the page: a title, column headings, and a section of rows for each model."""

    title: str
    headings: list[str]
    sections: dict[str, list[list[str]]]


def table(rows: Sequence[ResultRow]) -> ComparisonTable:
    """Average the rows of a comparison's results over seeds, and return all averages."""
    groups = group_rows(rows, lambda row: (*_reader(row), row.mechanism, row.claimed_epsilon))
    classifiers = list(dict.fromkeys(row.classifier for row in rows))
    floors = [own for own in groups.values() if own[0].mechanism in FLOORS]
    floors += [
        [replace(row, mechanism=MAJORITY, accuracy=row.majority_accuracy, hits=row.majority_hits) for row in own]
        for own in groups.values()
        if own[0].mechanism == "none"
    ]
    lines = [_line(own, floors) for own in groups.values()]
    texts = [line for line in lines if line.row.classifier == classifiers[0]]
    return ComparisonTable(
        lines,
        texts,
        sorted({line.row.claimed_epsilon for line in texts if line.row.claimed_epsilon is not None}),
        _curves(texts),
        {metric: _levels(texts, metric) for metric in METRICS},
        classifiers,
    )


def _reader(row: ResultRow) -> tuple[str | None, ...]:
    return row.clip, row.content, row.decoder, row.classifier


def _line(own: list[ResultRow], floors: list[list[ResultRow]]) -> Line:
    row, claim = own[0], own[0].claimed_epsilon
    floor = _find_floor(row, floors) if row.mechanism not in (*FLOORS, "public_only") else []
    least = {under.seed: under for under in floor}
    pairs = [(row, least[row.seed]) for row in own if row.seed in least]
    return Line(
        row=row,
        false_claim=claim is not None
        and not is_foreign(row.mechanism)
        and any(exceeds(row.epsilon, claim) for row in own),
        title=title(row.mechanism),
        model=name_model(row),
        accuracy=SeedMean.of(row.accuracy for row in own),
        macro_f1=SeedMean.of(row.macro_f1 for row in own),
        majority=SeedMean.of(row.majority_accuracy for row in own),
        floor=floor[0].mechanism if pairs else None,
        above_floor=_measure_gain(pairs) if pairs else None,
        extremes=(min(row.accuracy for row in own), max(row.accuracy for row in own)),
        measures={
            name: mean(known)
            if (known := [value for row in own if (value := getattr(row, name)) is not None])
            else None
            for name in MEASURES
        },
    )


def _measure_gain(pairs: list[tuple[ResultRow, ResultRow]]) -> SeedMean:
    """Return how far rows lie above their floors: over seeds, or for one seed by a bootstrap over test records."""
    if len(pairs) == 1 and all(row.hits for row in pairs[0]):
        own, under = (unpack_hits(row.hits, row.test_records) for row in pairs[0])
        gain = gain_in_hits(own, under)
        return SeedMean(gain.value, gain.low, gain.high, (gain.high - gain.low) / 2)
    return SeedMean.of((row.accuracy - under.accuracy for row, under in pairs), least=-1.0)


def _find_floor(row: ResultRow, floors: list[list[ResultRow]]) -> list[ResultRow]:
    """Return the rows of the most accurate floor, or [] if there is no floor.

    A *floor* is a reference that reads no record. The commonest label is one if labels are copied.
    """
    free = (*NO_RECORDS, MAJORITY) if row.labels == "copy" else NO_RECORDS
    fit = [own for own in floors if name_model(own[0]) == name_model(row) or own[0].mechanism in free]
    fit = [own for own in fit if own[0].classifier == row.classifier]
    return max(fit, key=lambda own: mean(row.accuracy for row in own), default=[])


def title(mechanism: str) -> str:
    """Return the name that the page and the figures give to a mechanism."""
    return f"{mechanism} (claim not checked)" if is_foreign(mechanism) else NAMES.get(mechanism, mechanism)


def name_model(row: ResultRow) -> str:
    """Return a description of the row's model for the page, or "" for a row without a model."""
    return (f"{row.clip} model" + (f", {row.content}" if row.content not in (None, "none") else "")) if row.clip else ""


def _curves(lines: list[Line]) -> list[Curve]:
    random = {_reader(line.row): line for line in lines if line.row.mechanism == "random"}
    claiming = [line for line in lines if line.row.claimed_epsilon is not None]
    found = []
    for own in group_rows(claiming, lambda line: (line.row.mechanism, *_reader(line.row))).values():
        at = {line.row.claimed_epsilon or 0.0: line for line in own}
        false = any(line.false_claim for line in own)
        floor = random.get(_reader(own[0].row))
        found.append(Curve(own[0].row.mechanism, own[0].title, false, dict(sorted(at.items())), floor))
    order = [*BY_NAME, "by_label", "synthesizer", *ALTERNATIVES]
    return sorted(found, key=lambda curve: [*order, curve.mechanism].index(curve.mechanism))


def _levels(texts: list[Line], metric: str) -> dict[str, SeedMean]:
    result: dict[str, SeedMean] = {}
    for name in LEVELS:
        found = [line for line in texts if line.row.mechanism == name]
        for line in found:
            result[name if len(found) == 1 else f"{name} ({line.model})"] = getattr(line, metric)
    if metric == "accuracy":
        result[MAJORITY] = next(line.majority for line in texts if line.row.mechanism == "none")
    return result
