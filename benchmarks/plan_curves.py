"""Measure the accuracies behind ``adept plan`` on cut corpora, and fit its curves to them.

    python benchmarks/plan_curves.py measure POINTS.jsonl CUTS SEED DIR...
    python benchmarks/plan_curves.py names DIR...
    python benchmarks/plan_curves.py fit POINTS.jsonl...

A DIR holds train.jsonl and validation.jsonl, with the columns text and intent; a file named ``listed``
beside them says that the packaged model lists sentences of this corpus, which are then left out of its
cells. ``measure`` cuts the corpora to few labels and to a file with few rows, public examples and a test, of
which no two share a row. It does what a plan does with the public texts, releases the file several times, and adds
a line for each command and epsilon to POINTS.jsonl. ``fit`` prints the numbers for ``adept/mechanisms/policy.py``
and, on stderr, how well curves that never saw a corpus predict it, and how often verdicts on it are right. A
hand-written help desk (``benchmarks/help_desks``) is one more corpus.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

from adept.data.corpus import Corpus
from adept.evaluation.classifiers import predict
from adept.evaluation.metrics import accuracy, codes
from adept.evaluation.record_free import NEAREST_NAME, PublicTexts, measure_free_rows
from adept.mechanisms import LearnedCodebook
from adept.mechanisms.central_counts import ADD_OR_REMOVE, Votes
from adept.mechanisms.curves import (
    NOT_WORTH,
    REHEARSED,
    REWRITE,
    SYNTHESIZE,
    TOO_CLOSE,
    WORTH,
    Known,
    Range,
    Rehearsal,
    expect_error,
    expected_names,
    log_odds,
    measured_odds,
    read_features,
    to_share,
)
from adept.mechanisms.policy import RANGE_ERRORS, WORTH_MARGIN
from adept.models.label_names import label_by_names
from adept.models.saved_model import Autoencoder
from adept.models.sentences.meanings import words_of
from adept.models.tokenizer import Tokenizer
from adept.report.plan import BUDGETS, rehearse
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import Rewriter
from adept.synthesis.synthesizer import Synthesizer

RIDGE, LEAST_VARIANCE = 5.0, 0.01
LABEL_COUNTS = 3, 6, 6, 8, 12
ROWS_PER_LABEL, EXAMPLES_PER_LABEL, TEST_SIZES = (5, 15, 40), (3, 8, 12), (60, 120, 240)
MAX_ROWS, RELEASES = 300, 3
SYNTHESIZED_SHARE = 0.25  # of the files, because synthetic records take longer
FAR_BELOW = -(1 << 15)  # an inner product of sentences that are left out; meanings have 16,129 at most
BOTH, ONLY_EXAMPLES, ONLY_TEST, ONLY_NAMES = "both", "examples", "test", "names"  # what a plan is given

Rows = list[tuple[str, str]]
Point = dict[str, Any]


def read(directory: Path, part: str) -> Rows:
    """Return the texts and labels of one part of a corpus."""
    lines = (directory / f"{part}.jsonl").read_text("utf-8").splitlines()
    return [(row["text"], row["intent"]) for row in map(json.loads, lines)]


def corpus(rows: Rows) -> Corpus:
    return Corpus([text for text, _ in rows], [label for _, label in rows])


def learn(train: Corpus, test: Corpus, *, epsilon: float = float("inf")) -> float:
    """Return the accuracy of the classifier "text" on ``test``."""
    return accuracy(*codes(test.labels or [], predict(train, test.texts, epsilon=epsilon)))


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
        object.__setattr__(self.counter, "votes", replace(votes, rounds=2))  # public texts are read once
        pairs = self.counter.synthesize(*given)
        return Corpus([text for text, _ in pairs], [str(label) for _, label in pairs])


def loaded() -> tuple[Autoencoder, Tokenizer]:
    return load_model(None)


def cut(directory: Path, draw: np.random.Generator) -> tuple[Corpus, Corpus, Corpus, list[str]] | None:
    """Return public examples, the rows of the file, a test and labels; None for too few labels.

    In half of the cuts, labels are equally common in all of them.
    """
    train, test = read(directory, "train"), read(directory, "validation")
    held, known = (Counter(label for _, label in rows) for rows in (train, test))
    usual = [label for label, count in held.items() if count >= 8 and known[label]]
    labels = sorted(str(label) for label in draw.permutation(usual)[: int(draw.choice(LABEL_COUNTS))])
    if len(labels) < 2:
        return None
    own, tested = ([row for row in rows if row[1] in labels] for rows in (train, test))
    own, tested = ([rows[place] for place in draw.permutation(len(rows)).tolist()] for rows in (own, tested))
    if draw.random() < 0.5:
        own = in_turns(own, min(held[label] for label in labels))
        tested = in_turns(tested, max(4, min(known[label] for label in labels)))
    public = max(each for each in EXAMPLES_PER_LABEL if each == 3 or 1.8 * each * len(labels) <= len(own)) * len(labels)
    own = first_of_labels(own)
    rows = first_of_labels(own[public:])[:MAX_ROWS]
    return corpus(own[:public]), corpus(rows), corpus(tested[: int(draw.choice(TEST_SIZES))]), labels


def in_turns(rows: Rows, most: int) -> Rows:
    """Return at most so many rows of each label, the first one of each label first, then the second ones."""
    seen: Counter[str] = Counter()
    turns: list[tuple[int, tuple[str, str]]] = []
    for row in rows:
        turns.append((seen[row[1]], row))
        seen[row[1]] += 1
    return [row for turn, row in sorted(turns, key=lambda pair: pair[0]) if turn < most]


def first_of_labels(rows: Rows) -> Rows:
    """Return the rows, the first one of each label first."""
    first = {label: place for place, (_, label) in reversed([*enumerate(rows)])}
    places = sorted(first.values())
    return [rows[place] for place in places] + [row for place, row in enumerate(rows) if first[row[1]] != place]


def plan_for(releases: Releases, labels: list[str], given: dict[str, Corpus], rows: int) -> Point | None:
    """Return what a plan knows, and the best free row that it measured."""
    public = PublicTexts.of(given.get("examples"), given.get("test"), labels=len(labels))
    if public is None or (known := rehearse((releases.model, releases.tokenizer), labels, public, {}, rows)) is None:
        return None
    best = max(measure_free_rows(labels, public, {}, has_examples="examples" in given), key=lambda row: row.accuracy)
    released = [known.released[epsilon] for epsilon in REHEARSED]
    return asdict(known) | {"released": released, "floor": best.accuracy}


def measure(place: Path, cuts: int, seed: int, directories: list[Path]) -> None:
    """Release cuts of the corpora, and append lines to a file."""
    draw, releases = np.random.default_rng(seed), Releases()
    for number in range(cuts):
        directory = directories[(number + seed) % len(directories)]
        if (made := cut(directory, draw)) is None:
            continue
        examples, held, test, labels = made
        listed = (directory / "listed").exists()
        releases.ban([text for part in ("train", "validation") for text, _ in read(directory, part)] if listed else [])
        free = {row.name: row.accuracy for row in measure_free_rows(
            labels, PublicTexts(examples, test), {}, has_examples=True)}  # fmt: skip
        about = {"corpus": directory.name, "cut": f"{seed}.{number}", "labels": len(labels),
                 "names": free.get(NEAREST_NAME, 1 / len(labels))}  # fmt: skip
        commands = (REWRITE, SYNTHESIZE) if draw.random() < SYNTHESIZED_SHARE else (REWRITE,)
        for size in {min(len(held), each * len(labels)) for each in ROWS_PER_LABEL}:
            rows = held.take(range(size))
            given = {BOTH: {"examples": examples, "test": test}, ONLY_EXAMPLES: {"examples": examples},
                     ONLY_TEST: {"test": test}}  # fmt: skip
            plans = {name: found for name, own in given.items() if (found := plan_for(releases, labels, own, size))}
            floors = dict.fromkeys(given, max(free.values()))
            floors[ONLY_TEST] = max(share for name, share in free.items() if name != "examples")
            for command in commands:
                for epsilon in BUDGETS[command]:
                    written = (releases.release(command, epsilon, rows, labels) for _ in range(RELEASES))
                    found = [learn(own, test, epsilon=epsilon) for own in written]
                    for name, plan in plans.items():
                        point = {"given": name, "file": size, "command": command, "epsilon": epsilon,
                                 "accuracies": found, "true_floor": floors[name]}  # fmt: skip
                        with place.open("a") as file:
                            file.write(json.dumps(about | plan | point) + "\n")


class Table:
    """The measured releases of one command as rows of a regression: features, log odds above the start, corpora."""

    def __init__(self, points: list[Point], command: str, *, rehearsed: bool) -> None:
        self.points = [point for point in points if point["command"] == command]
        self.known = [know(point, rehearsed=rehearsed) for point in self.points]
        self.command, self.features = (
            command,
            np.array(
                [
                    read_features(command, known, epsilon=point["epsilon"], rows=point["file"])
                    for known, point in zip(self.known, self.points, strict=True)
                ]
            ),
        )
        self.starts = np.array([known.start for known in self.known])
        self.means = np.array([np.mean(point["accuracies"]) for point in self.points])
        texts = [point["texts"] for point in self.points]
        self.odds = np.array([*map(measured_odds, self.means, texts)]) - self.starts
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

    def predict_unseen(self) -> Any:
        """Return for each row the accuracy that a regression without its corpus expects."""
        found = np.zeros(len(self.odds))
        for name in set(self.corpora):
            own = self.corpora == name
            found[own] = self.starts[own] + self.features[own] @ self.solve(~own)
        return np.array([*map(to_share, found)])

    def fit_error(self, expected: Any) -> Any:
        """Return the variance of means about a curve over p (1 - p): a constant, over texts, and of a curve that is prolonged.

        The variance of the mean of few releases is not part of it.
        """
        scale = np.maximum(expected * (1 - expected), LEAST_VARIANCE)
        chance = np.array([np.var(point["accuracies"], ddof=1) / len(point["accuracies"]) for point in self.points])
        parts = np.array(
            [[1, 1 / point["texts"], more**2] for point, more in zip(self.points, self.features[:, 1], strict=True)]
        )
        weights = 1 / (
            parts @ [LEAST_VARIANCE, 1, LEAST_VARIANCE]
        )  # errors differ in size, so none of them alone decides
        weights /= [Counter(self.corpora.tolist())[name] for name in self.corpora]
        errors = ((self.means - expected) ** 2 - np.nan_to_num(chance)) / scale
        return nnls(parts * weights[:, None], errors * weights)[0]

    def judge(self, expected: Any, given: str) -> str:
        """Return how well regressions predict the corpora that they did not see, and how often verdicts are right."""
        found: dict[str, list[tuple[float, ...]]] = {}
        verdicts = [NOT_WORTH, TOO_CLOSE, WORTH]
        table = np.zeros((3, 3))
        rows = [row for row, point in enumerate(self.points) if given in (point["given"], ONLY_NAMES)]
        sizes = Counter(self.corpora[rows].tolist())
        for row in rows:
            point, middle, known = self.points[row], float(expected[row]), self.known[row]
            floor, true = point["floor"], point["true_floor"]
            if given == ONLY_NAMES:
                floor, true = expected_names(known.labels), point["names"]
            error = expect_error(self.command, middle, known, rows=point["file"])
            verdict = verdicts.index(Range(0, middle, 1, error).judge(floor)) - 1
            gain = self.means[row] - true
            truth = int(np.sign(gain)) * (abs(gain) >= WORTH_MARGIN)
            table[verdict + 1, truth + 1] += 1 / sizes[point["corpus"]] / len(sizes)
            inside = np.mean([abs(share - middle) <= RANGE_ERRORS * error for share in point["accuracies"]])
            side = abs(gain) < WORTH_MARGIN if verdict == 0 else verdict == np.sign(gain)
            found.setdefault(point["corpus"], []).append(
                (
                    verdict == truth,
                    side,
                    verdict == 1 > truth,
                    verdict == 0,
                    truth == 0,
                    inside,
                    (middle - self.means[row]) ** 2,
                )
            )
        means = {name: np.mean(own, axis=0) for name, own in sorted(found.items())}
        right, side, wrong, close, truly, inside, square = np.mean([*means.values()], axis=0)
        return (
            f"{self.command}, given {given}, {len(rows)} rows of {len(means)} unseen corpora: verdicts right {right:.2f}, on the "
            f"right side {side:.2f}, wrongly worth it {wrong:.2f}, too close {close:.2f} (truly {truly:.2f}); error "
            f"{square**0.5:.3f}; range holds {inside:.2f}; not, close, worth by truth {table.round(2).tolist()}; right by "
            "corpus: " + ", ".join(f"{name} {values[0]:.2f}" for name, values in means.items())
        )


def know(point: Point, *, rehearsed: bool) -> Known:
    if not rehearsed:
        return Known(point["labels"], point["names"])
    released = dict(zip(REHEARSED, point["released"], strict=True))
    return Known(point["labels"], point["names"], Rehearsal(released, point["rows"], point["texts"]))


def fit(places: list[Path]) -> None:
    """Print the curves, and how well they predict corpora that they did not see."""
    points = [json.loads(line) for place in places for line in place.read_text().splitlines()]
    for command in (REWRITE, SYNTHESIZE):
        for rehearsed in (False, True):
            table = Table(points, command, rehearsed=rehearsed)
            expected, all_rows = table.predict_unseen(), np.ones(len(table.points), dtype=bool)
            print(
                f'    ("{command}", {rehearsed}): {tuple(round(weight, 3) for weight in table.solve(all_rows).tolist())},'
            )
            for given in (BOTH, ONLY_EXAMPLES, ONLY_TEST) if rehearsed else (ONLY_NAMES,):
                print(table.judge(expected, given), file=sys.stderr)
            if rehearsed:
                print(
                    f"# {command}, variance: constant, over texts, by log rows squared: {table.fit_error(expected).round(3)}"
                )


def fit_names(directories: list[Path]) -> None:
    """Print how often the nearest name of all labels of a corpus is right, by the number of labels."""
    labels, odds = [], []
    for directory in directories:
        test = corpus(read(directory, "validation"))
        names = sorted({label for _, label in read(directory, "train")})
        right = accuracy(*codes(test.labels or [], label_by_names(names, test.texts) or []))
        print(f"{directory.name}: {len(names)} labels, {right:.2f}", file=sys.stderr)
        labels.append(np.log(len(names)))
        odds.append(log_odds(right))
    slope, start = np.polyfit(labels, odds, 1)
    error = np.std(np.array(odds) - start - slope * np.array(labels))
    print(f"NAMES_ALONE = {start:.2f}, {slope:.2f}; deviation {error:.2f}")


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
