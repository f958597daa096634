"""A comparison in numbers: all its rows as one frame, built once, from which figure, findings and page are read.

Rows are averaged over seeds and over nothing else: a line of the frame is what a mechanism, a decoder, a model and a classifier
have at one claimed budget. A mechanism's merit is its distance above the ``random`` line of the same model, decoder and classifier,
taken seed by seed.

A new column of ``results.csv`` that is a mean over seeds goes into ``QUALITY``, and is shown where it was measured; the same figure
for another record's rewrite goes into ``OTHERS``, and is shown in brackets behind it. A new decoder goes into ``READERS`` with the
words that follow a mechanism's name, and into ``CURVES`` if the figure shall draw it.
"""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from statistics import mean, stdev
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as student

from adept.comparison.quality import OTHER
from adept.comparison.results import (
    ALTERNATIVES,
    DESCRIBED,
    LATENTS,
    LOOKUP,
    LSTM,
    NEAREST,
    REDACTED,
    REFERENCES,
    WORDS,
    Row,
)
from adept.mechanisms import BY_NAME
from adept.studies.figures import NAMES

METRICS = {"accuracy": "accuracy", "macro_f1": "macro-F1"}
KEPT = {"slots": "slots", "words": "words", "exact": "exact"}  # what of a record stands in its rewrite
QUALITY = {"overlap": "overlap", "bleu": "BLEU", "distinct": "distinct", "perplexity": "perplexity"}
QUALITY |= KEPT | {"fluency": "fluency"}
OTHERS = {name: f"{name}{OTHER}" for name in KEPT}
REPEATS = {"verbatim_own": "its own record", "verbatim_chance": "by chance", "verbatim_public": "a public text"}
LIGHT_SUPERVISION = ("labels", "air_travel")  # topics that were learned from public labels
READERS = {WORDS: "", LSTM: "", DESCRIBED: "", NEAREST: ", nearest", LATENTS: ", latents"}
CURVES = {"": "text", LSTM: "text", DESCRIBED: "text", LATENTS: "latents"}  # of a model
MAJORITY = "always the majority label"

MODEL = ["clip", "content"]
SOURCE = ["mechanism", "decoder", *MODEL, "classifier"]
ENTRY = [*SOURCE, "claimed_epsilon"]


@dataclass(frozen=True)
class Estimate:
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


def estimate(values: Iterable[float], *, least: float = 0.0) -> Estimate:
    """Return mean and interval over seeds; the interval stays between ``least`` and one."""
    values = list(values)
    centre, seeds = mean(values), len(values)
    half = float(student.ppf(0.975, seeds - 1)) * stdev(values) / math.sqrt(seeds) if seeds > 1 else 0.0
    return Estimate(centre, max(least, centre - half), min(1.0, centre + half), half, seeds)


def table(rows: Iterable[Row]) -> pd.DataFrame:
    """Return all rows as one frame, averaged over seeds, in the order of the rows.

    Columns: those of ``ENTRY`` (text that does not apply is "", a budget NaN); ``epsilon`` (true), ``false_claim``, ``title`` and
    ``model`` (in words), ``curve`` (which kind of curve the main figure draws of it, or ""), ``records`` and ``test_records``; an
    :class:`Estimate` each for ``majority``, ``METRICS`` and ``above_random`` (None where there is no such row); the mean of each
    column of quality (NaN where it was not measured); and ``break_even`` in words: how many labelled public records do as well ("<"
    the least and ">" the greatest number that was tried, "" where none was).
    """
    frame = pd.DataFrame([asdict(row) for row in rows])
    frame[["decoder", *MODEL]] = frame[["decoder", *MODEL]].fillna("")
    frame["claimed_epsilon"] = frame["claimed_epsilon"].astype(float)
    reading = [*MODEL, "decoder", "classifier", "seed"]
    random = frame[frame.mechanism == "random"].set_index(reading)["accuracy"].rename("random")
    frame = frame.join(random, on=reading)
    first = next(
        classifier for classifier, decoder in zip(frame.classifier, frame.decoder, strict=True) if decoder != LATENTS
    )
    groups = frame.groupby(ENTRY, sort=False, dropna=False)
    lines = pd.DataFrame([_line(dict(zip(ENTRY, key, strict=True)), group, first) for key, group in groups])
    lines["break_even"] = [_break_even(lines, line) for line in lines.itertuples()]
    return lines


def _line(entry: dict[str, Any], group: pd.DataFrame, first: str) -> dict[str, Any]:
    known = group[group.random.notna() & (group.mechanism != "random")]
    claim = entry["claimed_epsilon"]
    return {
        **entry,
        "epsilon": group.epsilon.iloc[0],
        "false_claim": not math.isnan(claim) and bool((group.epsilon > claim * (1 + 1e-9)).any()),
        "title": title(entry["mechanism"], entry["decoder"], entry["clip"], entry["content"]),
        "model": model_title(entry["clip"], entry["content"]),
        "curve": _curve(entry, first),
        "records": int(group.train_records.iloc[0]),
        "test_records": int(group.test_records.iloc[0]),
        "majority": estimate(group.majority_accuracy),
        **{metric: estimate(group[metric]) for metric in METRICS},
        "above_random": estimate(known.accuracy - known.random, least=-1.0) if len(known) else None,
        **{name: group[name].astype(float).mean() for name in (*QUALITY, *OTHERS.values(), *REPEATS)},
    }


def _curve(entry: dict[str, Any], first: str) -> str:
    if entry["decoder"] != LATENTS and entry["classifier"] != first:
        return ""
    return CURVES.get(entry["decoder"], "") if entry["clip"] else "text"


def _break_even(lines: pd.DataFrame, line: Any) -> str:
    """How many labelled public records do as well as a line with a budget: between two tried numbers along the logarithm."""
    tried = lines[lines.mechanism.str.startswith("public_") & (lines.classifier == line.classifier)]
    if tried.empty or math.isnan(line.claimed_epsilon):
        return ""
    tried = tried.sort_values("records")
    records, wanted = list(tried.records), line.accuracy.mean
    reached = list(np.maximum.accumulate([found.mean for found in tried.accuracy]))
    if wanted > reached[-1]:
        return f"> {records[-1]}"
    if wanted <= reached[0]:
        return f"< {records[0]}"
    above = next(place for place, accuracy in enumerate(reached) if accuracy >= wanted)
    between = np.interp(wanted, reached[above - 1 : above + 1], np.log(records[above - 1 : above + 1]))
    return f"{float(f'{math.exp(between):.2g}'):.0f}"


def title(mechanism: str, decoder: str, clip: str, content: str) -> str:
    """A mechanism for readers, with what must be known of its claim, its reader and its model."""
    light = " (the rewriter saw public labels)" if content in LIGHT_SUPERVISION else ""
    return NAMES.get(mechanism, mechanism) + READERS.get(decoder, f", {decoder}") * bool(clip and decoder) + light


def model_title(clip: str, content: str) -> str:
    """A model for readers, by the set that its latents lie in and the topics that they were trained towards; "" for none."""
    light = ": light supervision" if content in LIGHT_SUPERVISION else ""
    return (f"{clip} model" + (f", {content}{light}" if content not in ("", "none") else "")) if clip else ""


def classifiers(lines: pd.DataFrame) -> list[str]:
    """The classifiers of text, in order."""
    return list(lines[lines.decoder != LATENTS].classifier.unique())


def texts(lines: pd.DataFrame) -> pd.DataFrame:
    """The lines of the first classifier on text as it is, written by a model's decoder, or looked up."""
    return lines[lines.curve == "text"]


def budgets(lines: pd.DataFrame) -> list[float]:
    """The claimed budgets, ascending."""
    return sorted(lines.claimed_epsilon.dropna().unique())


def curves(lines: pd.DataFrame) -> list[pd.DataFrame]:
    """The lines with a budget, a frame for each source: mechanisms in the library's order, the look-up, then the alternatives."""
    order = [*BY_NAME, LOOKUP, *ALTERNATIVES]
    found = [curve for _, curve in lines[lines.claimed_epsilon.notna()].groupby(SOURCE, sort=False)]
    found = [curve.sort_values("claimed_epsilon") for curve in found]
    return sorted(found, key=lambda curve: order.index(of(curve, "mechanism")))


def of(curve: pd.DataFrame, column: str) -> Any:
    """What all lines of a curve have in common."""
    return curve[column].iloc[0]


def at(curve: pd.DataFrame, epsilon: float) -> Any:
    """A curve's line at a claimed budget; None where there is none."""
    found = curve[curve.claimed_epsilon == epsilon]
    return None if found.empty else next(found.itertuples())


def reference(lines: pd.DataFrame, curve: pd.DataFrame, name: str) -> Any:
    """The line of a reference with a curve's model, decoder and classifier; None where there is none."""
    same = lines[lines.mechanism == name]
    for column in (*MODEL, "decoder", "classifier"):
        same = same[same[column] == of(curve, column)]
    return None if same.empty else next(same.itertuples())


def levels(lines: pd.DataFrame, metric: str) -> dict[str, Estimate]:
    """The levels that every curve is read against: the references, of each model where there are several, and the majority."""
    chosen, result = texts(lines), {}
    for name in ("none", REDACTED, "public_only", *REFERENCES):
        found = chosen[chosen.mechanism == name]
        for line in found.itertuples():
            result[name if len(found) == 1 else f"{name} ({line.model})"] = getattr(line, metric)
    if metric == "accuracy":
        result[MAJORITY] = majority(chosen)
    return result


def majority(lines: pd.DataFrame) -> Estimate:
    """The accuracy of always guessing the majority label of the private records."""
    found: Estimate = lines[lines.mechanism == "none"].majority.iloc[0]
    return found
