"""A comparison in numbers: which of its rows belong together, their means over seeds, and the tables that hold them.

Rows are averaged over seeds and over nothing else. What else tells them apart is their *source*: the mechanism, the model, the
decoder and the classifier. A mechanism's merit is its distance above the ``random`` row of the same source.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import mean, stdev

from scipy.stats import t as student

from adept.comparison.results import DENOISED, LATENTS, LSTM, NEAREST, REFERENCES, Row
from adept.mechanisms import BY_NAME
from adept.mechanisms.guarantee import words
from adept.studies.figures import NAMES

METRICS = {"accuracy": "accuracy", "macro_f1": "macro-F1"}
LOOKUP, COMMONEST = "lookup", "always the commonest label"
ABSENT = "–"
LIGHT_SUPERVISION = ("labels", "air_travel")  # content that was learned from public labels
READERS = {DENOISED: ", denoised", NEAREST: ", nearest", LATENTS: ", latents"}
FAIR = ("text by", "claimed eps", "true eps", "accuracy", "macro-F1", "above random")
QUALITY = {"overlap": "overlap", "bleu": "BLEU", "distinct": "distinct", "perplexity": "perplexity"}
REPEATS = {"verbatim_own": "its own record", "verbatim_chance": "by chance", "verbatim_public": "a public text"}

Table = tuple[list[str], list[list[str]]]  # headings, lines
Entry = tuple["Source", float | None]  # and the claimed budget


@dataclass(frozen=True)
class Figure:
    """The mean over seeds and its 95 % Student interval (equal to the mean for a single seed)."""

    mean: float
    low: float
    high: float
    half: float = 0.0  # half the interval's width, wherever its ends were cut off
    seeds: int = 1

    def __str__(self) -> str:
        return f"{self.mean:.3f}"

    @property
    def spread(self) -> str:
        """The mean with half the interval's width."""
        return f"{self} ± {self.half:.3f}" if self.seeds > 1 else str(self)


def figure_of(values: Sequence[float], *, least: float = 0.0) -> Figure:
    """Return mean and interval over seeds; the interval stays between ``least`` and one."""
    centre, seeds = mean(values), len(values)
    half = float(student.ppf(0.975, seeds - 1)) * stdev(values) / math.sqrt(seeds) if seeds > 1 else 0.0
    return Figure(centre, max(least, centre - half), min(1.0, centre + half), half, seeds)


@dataclass(frozen=True)
class Source:
    """What a row is about, seed and budget aside: rows of different sources are never averaged."""

    mechanism: str
    decoder: str | None
    clip: str | None  # of the model; None where there is none
    content: str | None
    classifier: str

    @classmethod
    def of(cls, row: Row) -> "Source":
        """Return a row's source."""
        return cls(row.mechanism, row.decoder, row.clip, row.content, row.classifier)

    @property
    def random(self) -> "Source":
        """The rows above which this source's merit begins: same model, decoder and classifier, random latents."""
        return replace(self, mechanism="random")

    @property
    def model(self) -> tuple[str | None, str | None]:
        """The model, by its clip and content."""
        return self.clip, self.content

    @property
    def name(self) -> str:
        """The mechanism for readers, with what must be known of its claim, its reader and its model."""
        light = " (the rewriter saw public labels)" if self.content in LIGHT_SUPERVISION else ""
        return NAMES.get(self.mechanism, self.mechanism) + READERS.get(self.decoder or "", "") * bool(self.clip) + light


def model_name(source: Source) -> str:
    """A model for readers, by the set that its latents lie in and what they were trained to say."""
    light = ": light supervision" if source.content in LIGHT_SUPERVISION else ""
    return f"{source.clip} model" + (f", {source.content}{light}" if source.content not in (None, "none") else "")


def classifiers(rows: list[Row]) -> list[str]:
    """The classifiers of text, in order."""
    return list(dict.fromkeys(row.classifier for row in rows if row.decoder != LATENTS))


def text_rows(rows: list[Row], classifier: str | None = None) -> list[Row]:
    """The rows of one classifier, by default the first, on text as it is, written by a model's decoder, or looked up."""
    chosen = classifier or classifiers(rows)[0]
    return [row for row in rows if row.classifier == chosen and (row.decoder in (None, LSTM) or row.clip is None)]


def latent_rows(rows: list[Row]) -> list[Row]:
    """The rows of classifiers on released latents themselves."""
    return [row for row in rows if row.decoder == LATENTS]


def denoised_rows(rows: list[Row]) -> list[Row]:
    """The rows of the first classifier on text that was written after all releases were read together."""
    return [row for row in rows if row.decoder == DENOISED and row.classifier == classifiers(rows)[0]]


def sources(rows: list[Row]) -> list[Source]:
    """The sources with a budget: the mechanisms in the order of the library, then the look-up."""
    found = dict.fromkeys(Source.of(row) for row in rows if row.claimed_epsilon is not None)
    order = [*BY_NAME, LOOKUP]
    return sorted(found, key=lambda source: order.index(source.mechanism))


def ends(rows: list[Row], name: str) -> list[Source]:
    """The sources of an end, ``identity`` or ``random``: one for each model."""
    return list(dict.fromkeys(Source.of(row) for row in rows if row.mechanism == name))


def budgets(rows: list[Row]) -> list[float]:
    """The claimed budgets, ascending."""
    return sorted({row.claimed_epsilon for row in rows if row.claimed_epsilon is not None})


def rows_of(rows: list[Row], source: Source, epsilon: float | None = None) -> list[Row]:
    """The rows of a source at a claimed budget, one a seed."""
    return [row for row in rows if row.claimed_epsilon == epsilon and Source.of(row) == source]


def figure_at(rows: list[Row], metric: str, source: Source, epsilon: float | None = None) -> Figure | None:
    """A metric's mean over seeds, or None where there is no such row."""
    values = [getattr(row, metric) for row in rows_of(rows, source, epsilon)]
    return figure_of(values) if values else None


def above_random(rows: list[Row], source: Source, epsilon: float | None = None) -> Figure | None:
    """How much more accuracy a source has than its ``random``, seed by seed; None where it has no ``random``."""
    floor = {row.seed: row.accuracy for row in rows_of(rows, source.random)}
    gains = [row.accuracy - floor[row.seed] for row in rows_of(rows, source, epsilon) if row.seed in floor]
    return figure_of(gains, least=-1.0) if gains else None


def false_claim(rows: list[Row]) -> bool:
    """Is more spent than claimed."""
    return any(row.epsilon > (row.claimed_epsilon or math.inf) * (1 + 1e-9) for row in rows)


def levels(rows: list[Row], metric: str) -> dict[str, Figure]:
    """The levels that every curve is read against; ``random`` and ``identity`` of each model."""
    texts = text_rows(rows)
    result = {}
    for name in ("none", "public_only", *REFERENCES):
        found = ends(texts, name)
        for source in found:
            title = name if len(found) == 1 else f"{name} ({model_name(source)})"
            if figure := figure_at(texts, metric, source):
                result[title] = figure
    if metric == "accuracy":
        result[COMMONEST] = commonest(texts)
    return result


def commonest(rows: list[Row]) -> Figure:
    """The accuracy of always guessing the commonest label of the private records."""
    return figure_of([row.majority_accuracy for row in rows if row.mechanism == "none"])


def table(rows: list[Row], metric: str) -> Table:
    """A line a mechanism, a column a claimed budget, then the levels: text of the model's decoder, the first classifier."""
    texts = text_rows(rows)
    epsilons = budgets(texts)
    lines = []
    for source in sources(texts):
        cells = [figure_at(texts, metric, source, epsilon) for epsilon in epsilons]
        lines.append([source.name, *("" if cell is None else str(cell) for cell in cells)])
        true = [rows_of(texts, source, epsilon) for epsilon in epsilons]
        if any(map(false_claim, true)):
            lines.append(["  its true epsilon", *(words(found[0].epsilon) if found else "" for found in true)])
    for name, level in levels(rows, metric).items():
        lines.append([name, *[str(level)] * len(epsilons)])
    return ["claimed epsilon", *(f"{epsilon:g}" for epsilon in epsilons)], lines


@dataclass(frozen=True)
class Section:
    """Lines of a table that have one model, or the lack of one, in common."""

    title: str
    lines: list[list[str]]


def fair_table(rows: list[Row], classifier: str) -> tuple[list[str], list[Section]]:
    """Every source at every budget, judged by one classifier of text (released latents by their own), model by model."""
    chosen = [row for row in rows if row.classifier == classifier or row.decoder == LATENTS]
    quality = [name for name in QUALITY if any(getattr(row, name) is not None for row in chosen)]
    found = _sections(chosen, lambda entry: _fair_line(chosen, entry, quality))
    found[0].lines.append([COMMONEST, ABSENT, "0", commonest(chosen).spread, *[ABSENT] * (2 + len(quality))])
    return [*FAIR, *(QUALITY[name] for name in quality)], found


def repeats(rows: list[Row]) -> tuple[list[str], list[Section]]:
    """How often each source's texts repeat others word for word; no sections where nobody counted."""
    counted = [row for row in rows if row.verbatim_own is not None and row.classifier == classifiers(rows)[0]]

    def line(entry: Entry) -> list[str]:
        found = rows_of(counted, *entry)
        shares = [mean(getattr(row, metric) for row in found) for metric in REPEATS]
        return [entry[0].name, _budget_cells(found[0])[0], *(f"{share:.2%}" for share in shares)]

    return ["text by", "claimed eps", *REPEATS.values()], _sections(counted, line)


def _sections(rows: list[Row], line: Callable[[Entry], list[str]]) -> list[Section]:
    """A section for each model, what has none first; in it a line for each source and budget, decoder by decoder."""
    order = [None, LSTM, *READERS]
    ranked = sorted(rows, key=lambda row: (row.clip is not None, order.index(row.decoder)))
    entries = dict.fromkeys((Source.of(row), row.claimed_epsilon) for row in ranked)
    models = dict.fromkeys(source.model for source, _ in entries)
    return [
        Section(_section_title(model), [line(entry) for entry in entries if entry[0].model == model])
        for model in sorted(models, key=list(dict.fromkeys((row.clip, row.content) for row in rows)).index)
    ]


def _section_title(model: tuple[str | None, str | None]) -> str:
    clip, content = model
    if clip is None:
        return "Without a model"
    light = " (light supervision: the rewriter saw public labels)" if content in LIGHT_SUPERVISION else ""
    return f"Model with {clip} clip{f', content: {content}' if content else ''}{light}"


def _fair_line(rows: list[Row], entry: Entry, quality: list[str]) -> list[str]:
    source, _ = entry
    found = rows_of(rows, *entry)
    gain = None if source.mechanism == "random" else above_random(rows, *entry)
    return [
        source.name,
        *_budget_cells(found[0]),
        *(figure_of([getattr(row, metric) for row in found]).spread for metric in METRICS),
        ABSENT if gain is None else gain.spread,
        *(_mean_cell(found, metric) for metric in quality),
    ]


def _budget_cells(row: Row) -> list[str]:
    claimed = ABSENT if row.claimed_epsilon is None else f"{row.claimed_epsilon:g}"
    return [claimed, words(row.epsilon) if row.epsilon else "0"]


def _mean_cell(rows: list[Row], metric: str) -> str:
    values = [value for row in rows if (value := getattr(row, metric)) is not None]
    if not values:
        return ABSENT
    return f"{mean(values):.0f}" if mean(values) >= 100 else f"{mean(values):#.3g}"
