"""Measure the accuracies behind ``adept plan`` on cut corpora, and fit its curves to them.

    python benchmarks/plan_curves.py measure POINTS.jsonl CUTS SEED DIR...
    python benchmarks/plan_curves.py names DIR...
    python benchmarks/plan_curves.py fit POINTS.jsonl...

A DIR holds train.jsonl and validation.jsonl, with the columns text and intent; a file named ``listed``
beside them says that the packaged model lists sentences of this corpus, which are then left out of its
cells. ``measure`` cuts the corpora to few labels and rows, releases each cut with the packaged model
and adds a line for each release to POINTS.jsonl: the accuracy of the classifier "text" that learns from it,
and of the free rows. ``fit`` prints the numbers for ``adept/mechanisms/policy.py``, and on stderr how well curves
that never saw a corpus predict it. A hand-written help desk (``benchmarks/help_desks``) is one more corpus.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from adept.data.corpus import Corpus
from adept.evaluation.classifiers import predict
from adept.mechanisms import LearnedCodebook
from adept.mechanisms.central_counts import ADD_OR_REMOVE, Votes
from adept.mechanisms.curves import (
    ENOUGH_TEXTS,
    REHEARSED,
    REWRITE,
    SYNTHESIZE,
    USUAL_EPSILON,
    Known,
    Rehearsal,
    log_odds,
    read_features,
    start_odds,
    to_share,
)
from adept.mechanisms.policy import CAUTION_DEVIATIONS, RANGE_DEVIATIONS, WORTH_MARGIN
from adept.models.names import label_by_names
from adept.models.saved_model import Autoencoder
from adept.models.sentences.meanings import words_of
from adept.models.tokenizer import Tokenizer
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import Rewriter
from adept.synthesis.synthesizer import Synthesizer

EXAMPLES_PER_LABEL = 2, 5, 8, 20  # rows for each label of a rehearsal
RIDGE = 10.0
LABEL_COUNTS = 3, 6, 6, 8, 12, 20, 40, 79
ROWS_PER_LABEL = 2, 5, 8, 20, 50, 150
MAX_ROWS, MAX_SLOW_ROWS, MAX_SYNTHESIZED_ROWS, MAX_TEST = 1000, 400, 600, 400
CODED_SHARE = 0.08  # of the cuts, whose labels get codes instead of names
SYNTHESIZED_SHARE = 0.25  # of the files, because synthetic records take longer
FAR_BELOW = -(1 << 15)  # an inner product of sentences that are left out; meanings have 16,129 at most

Rows = list[tuple[str, str]]
Point = dict[str, Any]


def read(directory: Path, part: str) -> Rows:
    """Return the texts and labels of one part of a corpus."""
    lines = (directory / f"{part}.jsonl").read_text("utf-8").splitlines()
    return [(row["text"], row["intent"]) for row in map(json.loads, lines)]


def corpus(rows: Rows) -> Corpus:
    return Corpus([text for text, _ in rows], [label for _, label in rows])


def share_right(predicted: list[str], test: Corpus) -> float:
    return float(np.mean([one == other for one, other in zip(predicted, test.labels or [], strict=True)]))


def learn(train: Corpus, test: Corpus, *, epsilon: float = float("inf")) -> float:
    """Return the accuracy of the classifier "text" on ``test``."""
    return share_right(predict(train, test.texts, classifier="text", epsilon=epsilon), test)


class Releases:
    """The packaged model, and its releases of cut corpora."""

    def __init__(self) -> None:
        self.model, self.tokenizer = loaded()
        self.writers: dict[float, Rewriter] = {}
        self.counter: Synthesizer | None = None
        self.banned = np.zeros(0, dtype=np.int64)
        sentences = self.model.sentences
        if sentences is None:
            raise SystemExit("the packaged model lists no sentences")
        self.places: dict[Any, int] = {sentences[place]: place for place in range(len(sentences))}
        index = sentences.index()
        for owner, name in ((sentences, "compare"), (index, "compare_all")):
            setattr(owner, name, self._leave_out(getattr(owner, name)))

    def _leave_out(self, compare: Any) -> Any:
        def without(*given: Any) -> Iterator[Any]:
            for products in compare(*given):
                changed = np.array(products)
                if len(changed) > self.banned.max(initial=0):
                    changed[self.banned] = FAR_BELOW
                yield changed

        return without

    def ban(self, texts: list[str]) -> None:
        """Leave these texts out of all cells, where the model lists them."""
        found = {self.places[words] for words in map(words_of, texts) if words in self.places}
        self.banned = np.array(sorted(found), dtype=np.int64)
        self.writers, self.counter = {}, None

    def release(self, command: str, epsilon: float, rows: Corpus, labels: list[str]) -> Corpus:
        """Return one release of the rows."""
        given = rows.texts, rows.labels
        if command == REWRITE:
            if epsilon not in self.writers:
                mechanism = LearnedCodebook(epsilon=epsilon)
                self.writers[epsilon] = Rewriter(self.model, self.tokenizer, mechanism=mechanism).by_label()
            return Corpus([text for text, _ in self.writers[epsilon].rewrite_pairs(*given)], rows.labels)
        votes = Votes(epsilon=epsilon, neighbours=ADD_OR_REMOVE, votes_per_person=1)
        if self.counter is None or list(self.counter.labels) != labels:
            self.counter = Synthesizer(self.model, self.tokenizer, votes=votes, label_set=labels)
        self.counter.votes = replace(votes, rounds=2)
        pairs = self.counter.synthesize(*given)
        return Corpus([text for text, _ in pairs], [str(label) for _, label in pairs])


def loaded() -> tuple[Autoencoder, Tokenizer]:
    return load_model(None)


def cut(directory: Path, draw: np.random.Generator) -> tuple[Rows, Rows, list[str]] | None:
    """Return rows, of which the first ones hold each label once, test rows and labels; None for too few labels."""
    train, test = read(directory, "train"), read(directory, "validation")
    known, count = Counter(label for _, label in test), int(draw.choice(LABEL_COUNTS))
    usual = [label for label, held in Counter(label for _, label in train).items() if held >= 5 and known[label]]
    labels = sorted(str(label) for label in draw.permutation(usual)[:count])
    if count > 1.7 * len(labels) or len(labels) < 2:
        return None
    own, tested = ([row for row in rows if row[1] in labels] for rows in (train, test))
    own, tested = ([rows[place] for place in draw.permutation(len(rows)).tolist()] for rows in (own, tested))
    first = {label: place for place, (_, label) in reversed([*enumerate(own)])}
    places = sorted(first.values())
    own = [own[place] for place in places] + [row for place, row in enumerate(own) if place not in places]
    return own, tested[:MAX_TEST], labels


def code(own: Rows, tested: Rows, labels: list[str]) -> tuple[Rows, Rows, list[str]]:
    """Replace the names of labels by codes, which say nothing."""
    codes = {label: f"q{number}" for number, label in enumerate(labels)}
    return *([(text, codes[label]) for text, label in rows] for rows in (own, tested)), sorted(codes.values())


def releases_of(rows: int, draw: np.random.Generator) -> list[tuple[str, float]]:
    """Return commands and budgets for a file of so many rows: fewer for large files."""
    slow = [12.0, 16.0] if rows <= MAX_SLOW_ROWS else []
    found = [(REWRITE, epsilon) for epsilon in (4.0, 8.0, *slow)]
    if draw.random() < SYNTHESIZED_SHARE and rows <= MAX_SYNTHESIZED_ROWS:
        found += [(SYNTHESIZE, epsilon) for epsilon in (1.0, 2.0, 4.0)]
    return found


def measure(place: Path, cuts: int, seed: int, directories: list[Path]) -> None:
    """Release cuts of the corpora, and append a line for each release to a file."""
    draw, releases = np.random.default_rng(seed), Releases()
    for number in range(cuts):
        directory = directories[(number + seed) % len(directories)]
        if (made := cut(directory, draw)) is None:
            continue
        own, tested, labels = code(*made) if draw.random() < CODED_SHARE else made
        listed = (directory / "listed").exists()
        releases.ban([text for part in ("train", "validation") for text, _ in read(directory, part)] if listed else [])
        test = corpus(tested)
        named = label_by_names(labels, test.texts)
        about = {
            "corpus": directory.name,
            "cut": f"{seed}.{number}",
            "labels": len(labels),
            "test": len(test),
            "names": share_right(named, test) if named else None,
            "majority": max(Counter(test.labels).values()) / len(test),
        }
        for each in ROWS_PER_LABEL:
            rows = corpus(own[: each * len(labels)])
            if len(rows) < each * len(labels) or len(rows) > MAX_ROWS:
                break
            original = learn(rows, test)
            for command, epsilon in releases_of(len(rows), draw):
                accuracy = learn(releases.release(command, epsilon, rows, labels), test, epsilon=epsilon)
                point = {
                    "each": each,
                    "original": original,
                    "command": command,
                    "epsilon": epsilon,
                    "accuracy": accuracy,
                }
                with place.open("a") as file:
                    file.write(json.dumps(about | point) + "\n")


class Table:
    """The measured releases of one command as rows of a regression: features, log odds above the start, corpora."""

    def __init__(self, points: list[Point], command: str, *, rehearsed: bool) -> None:
        rows = [row for row in pair(points, rehearsed=rehearsed) if row[1]["command"] == command]
        self.known, self.points = [known for known, _ in rows], [point for _, point in rows]
        self.features = np.array(
            [
                read_features(command, known, epsilon=point["epsilon"], rows=point["each"] * point["labels"])
                for known, point in rows
            ]
        )
        self.starts = np.array([start_odds(command, known, epsilon=point["epsilon"]) for known, point in rows])
        self.odds = np.array([log_odds(point["accuracy"]) for point in self.points]) - self.starts
        self.corpora = np.array([point["corpus"] for point in self.points])

    def solve(self, chosen: Any) -> Any:
        """Return the weights of a ridge regression, in which corpora with many rows count less for each row."""
        sizes = Counter(self.corpora[chosen].tolist())
        weights = np.array([sizes[name] ** -0.5 for name in self.corpora[chosen]])
        weights, features = weights / weights.mean(), self.features[chosen]
        penalty = RIDGE * np.eye(features.shape[1])
        return np.linalg.solve(
            features.T @ (weights[:, None] * features) + penalty, features.T @ (weights * self.odds[chosen])
        )

    def predict_unseen(self, learned: Any) -> Any:
        """Return for each row the log odds that a regression of the ``learned`` rows without its corpus expects."""
        found = np.zeros(len(self.odds))
        for name in set(self.corpora):
            own = self.corpora == name
            found[own] = self.features[own] @ self.solve(learned & ~own)
        return found

    def deviation(self, expected: Any, chosen: Any) -> float:
        """Return the deviation whose range holds eight of ten of the chosen rows of a typical corpus."""
        errors, corpora = np.abs(self.odds - expected)[chosen], self.corpora[chosen]
        order, sizes = np.argsort(errors), Counter(corpora.tolist())
        mass = np.cumsum([1 / sizes[name] for name in corpora[order]])
        return float(errors[order][np.searchsorted(mass, 0.8 * mass[-1])]) / RANGE_DEVIATIONS

    def judge(self, expected: Any, deviation: float, chosen: Any) -> str:
        """Return how well regressions predict the corpora that they did not see, and how often verdicts are right."""
        found: dict[str, list[tuple[bool, bool, bool, float, bool]]] = {}
        for row in np.flatnonzero(chosen).tolist():
            known, point, odds = self.known[row], self.points[row], float(self.starts[row] + expected[row])
            floor = max(known.names or 0.0, point["majority"], known.rehearsal.original if known.rehearsal else 0.0)
            cautious, gain = to_share(odds - CAUTION_DEVIATIONS * deviation) - floor, point["accuracy"] - floor
            verdict = 1 if cautious >= WORTH_MARGIN else -1 if to_share(odds) - floor <= -WORTH_MARGIN else 0
            truth = int(np.sign(gain)) * (abs(gain) >= WORTH_MARGIN)
            low, high = (to_share(odds + sign * RANGE_DEVIATIONS * deviation) for sign in (-1, 1))
            inside = abs(self.odds[row] - expected[row]) <= RANGE_DEVIATIONS * deviation
            figures = verdict == truth, verdict == 1 > truth, verdict == 0, high - low, inside
            found.setdefault(point["corpus"], []).append(figures)
        means = {name: np.mean(rows, axis=0) for name, rows in sorted(found.items())}
        right, wrong, close, width, inside = np.mean([*means.values()], axis=0)
        return (
            f"{int(chosen.sum())} rows of {len(found)} unseen corpora: verdicts right {right:.2f}, wrongly worth it {wrong:.2f}, "
            f"too close {close:.2f}; ranges {width:.2f} wide hold {inside:.2f}; verdicts right by corpus: "
            + ", ".join(f"{name} {values[0]:.2f}" for name, values in means.items())
        )


def pair(points: list[Point], *, rehearsed: bool) -> Iterator[tuple[Known, Point]]:
    """Yield what may be known before each release: without public texts, or after rehearsals with fewer rows."""
    cuts: dict[str, dict[int, dict[float, Point]]] = {}
    for point in points:
        if point["command"] == REWRITE and point["each"] in EXAMPLES_PER_LABEL:
            cuts.setdefault(point["cut"], {}).setdefault(point["each"], {})[point["epsilon"]] = point
    for point in points:
        names = 1 / point["labels"] if point["names"] is None else point["names"]
        if not rehearsed:
            yield Known(point["labels"], names), point
            continue
        for each, tried in cuts[point["cut"]].items():
            if each < point["each"] and set(REHEARSED) <= set(tried):
                released = sorted(tried[epsilon]["accuracy"] for epsilon in REHEARSED)
                by_epsilon = dict(zip(REHEARSED, released, strict=True))
                known = Rehearsal(by_epsilon, tried[USUAL_EPSILON]["original"], each, point["test"])
                yield Known(point["labels"], names, 0, known), point


def fit(places: list[Path]) -> None:
    """Print the curves, and how well they predict corpora that they did not see."""
    points = [json.loads(line) for place in places for line in place.read_text().splitlines()]
    for command in (REWRITE, SYNTHESIZE):
        for rehearsed in (False, True):
            table = Table(points, command, rehearsed=rehearsed)
            few = np.array([bool(known.rehearsal and known.rehearsal.rows < ENOUGH_TEXTS) for known in table.known])
            expected = table.predict_unseen(~few)
            deviations = [table.deviation(expected, chosen) if chosen.any() else 0.0 for chosen in (~few, few)]
            weights = tuple(round(weight, 3) for weight in table.solve(~few).tolist())
            print(f'    ("{command}", {rehearsed}): ({weights}, {deviations[0]:.2f}, {deviations[1]:.2f}),')
            for name, chosen, deviation in zip(("enough", "few"), (~few, few), deviations, strict=True):
                if chosen.any():
                    said = table.judge(expected, deviation, chosen)
                    print(f"{command}, rehearsal {rehearsed} ({name} texts): {said}", file=sys.stderr)


def fit_names(directories: list[Path]) -> None:
    """Print how often the nearest name of all labels of a corpus is right, by the number of labels."""
    labels, odds = [], []
    for directory in directories:
        test = corpus(read(directory, "validation"))
        names = sorted({label for _, label in read(directory, "train")})
        right = share_right(label_by_names(names, test.texts) or [], test)
        print(f"{directory.name}: {len(names)} labels, {right:.2f}", file=sys.stderr)
        labels.append(np.log(len(names)))
        odds.append(log_odds(right))
    slope, start = np.polyfit(labels, odds, 1)
    error = np.std(np.array(odds) - start - slope * np.array(labels))
    print(f"NAMES_ALONE = {start:.2f}, {slope:.2f}; TYPICAL_NAMES_ERROR = {error:.2f}")


def main() -> None:
    """Measure or fit."""
    match sys.argv[1:]:
        case ["measure", place, cuts, seed, *directories]:
            measure(Path(place), int(cuts), int(seed), [*map(Path, directories)])
        case ["names", *directories]:
            fit_names([*map(Path, directories)])
        case ["fit", *places]:
            fit([*map(Path, places)])
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
