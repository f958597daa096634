"""Measure if a file ever gets worse as its budget grows.

    python benchmarks/budgets.py split snips/train.jsonl OUT
    adept adapt examples=OUT/examples.jsonl label_column=intent public=true output_dir=OUT/adapted
    adept train data=files data.path=OUT/data data.public=true trainer.max_epochs=4 output_dir=OUT/trained
    adept train data=files data.path=OUT/data data.public=true trainer.max_epochs=4 labels=joint output_dir=OUT/joint
    python benchmarks/budgets.py measure OUT snips/validation.jsonl packaged adapted trained joint
    python benchmarks/budgets.py show OUT

``split`` divides a labelled file into 48 public examples, a public half and a private half. ``measure`` rewrites 40, 400 and 4,000
private records at each budget and for each treatment of labels, trains a classifier on the rewrites, and tests it on the second
file. It continues after an interruption. ``show`` prints the mean of each figure and its standard error, marks every fall from
the best smaller budget by more than a standard error with "!" and by more than two with "!!".
"""

import json
import random
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import fmean, variance

from adept import Rewriter
from adept.data.corpus import Corpus
from adept.evaluation.classifiers import predict
from adept.mechanisms import JointResponse, RandomizedResponse
from adept.models.saved_model import mean_word_f1
from adept.models.sentences.meanings import WordWeights
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import best_exact

EPSILONS = (4.0, 8.0, 12.0, 16.0, 24.0)
DRAWS = {40: 6, 400: 3, 4000: 1}  # of records, and of their releases, by the number of records
EXAMPLES = 48
LABEL_SHARE = 0.25  # of the budget that a randomised label gets
AUTO, OFF, JOINT, RESPONSE, RANDOMIZED = "copy, auto", "copy, off", "joint", "joint_response", "randomized_response"
FIGURES = ("accuracy", "content", "words")


def read(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def split(path: Path, out: Path) -> None:
    rows = read(path)
    random.Random(0).shuffle(rows)
    half = len(rows) // 2
    (out / "data").mkdir(parents=True)
    for name, part in {
        "examples.jsonl": rows[:EXAMPLES],
        "data/train.jsonl": rows[EXAMPLES : half - half // 10],
        "data/validation.jsonl": rows[half - half // 10 : half],
        "private.jsonl": rows[half:],
    }.items():
        (out / name).write_text("".join(json.dumps(row) + "\n" for row in part), "utf-8")


load = cache(load_model)


@cache
def open_rewriter(model_dir: Path | None, treatment: str, epsilon: float, labels: tuple[str, ...]) -> Rewriter:
    model, tokenizer = load(model_dir)
    text = epsilon * (1 - LABEL_SHARE) if treatment == RANDOMIZED else epsilon
    mechanism = best_exact(model, epsilon=text)(epsilon=text)
    used = JointResponse.of(mechanism, labels) if treatment == RESPONSE else mechanism
    rewriter = Rewriter.for_measurement(model, tokenizer, mechanism=used)
    return rewriter.by_label() if treatment == AUTO else rewriter


def kept_content(records: list[str], rewrites: list[str]) -> float:
    """Return the share of a record's words that its rewrite keeps; rare words count more."""
    rows = [text.lower().split() for text in records]
    weigh = WordWeights.of(rows)
    shares = []
    for row, rewrite in zip(rows, rewrites, strict=True):
        weights = {word: weigh(word) for word in row}
        written = set(rewrite.lower().split())
        shares.append(sum(weights[word] for word in weights if word in written) / max(1, sum(weights.values())))
    return fmean(shares)


def measure_cell(
    rewriter: Rewriter, treatment: str, epsilon: float, rows: list[dict[str, str]], test: Corpus
) -> dict[str, float]:
    texts, labels = [row["text"] for row in rows], [row["intent"] for row in rows]
    pairs = rewriter.rewrite_pairs(texts, labels if treatment in (AUTO, JOINT, RESPONSE) else None)
    rewrites, written = [text for text, _ in pairs], [label or "" for _, label in pairs]
    if treatment == RANDOMIZED:
        names = tuple(sorted(set(test.labels or [])))
        written = RandomizedResponse(epsilon=epsilon * LABEL_SHARE, labels=names).privatize(labels)
    beside = labels if treatment in (AUTO, OFF) else written
    noisy = treatment == RANDOMIZED
    found = predict(Corpus(rewrites, labels=beside), test.texts, classifier="tfidf", noisy_labels=noisy)
    hits = fmean(a == b for a, b in zip(found, test.labels or [], strict=True))
    figures = (hits, kept_content(texts, rewrites), mean_word_f1(texts, rewrites))
    return dict(zip(FIGURES, (round(figure, 4) for figure in figures), strict=True))


def cells(models: list[str]) -> Iterator[tuple[int, str, str, int, float]]:
    """Yield draw, model, treatment of labels, number of records and budget of each cell."""
    for draw in range(max(DRAWS.values())):
        for count, draws in DRAWS.items():
            for model in models:
                treatments = [JOINT] if model == JOINT else [OFF, AUTO, RESPONSE, RANDOMIZED]
                treatments = [name for name in treatments if not (model == "trained" and name == AUTO)]
                for treatment in treatments if draw < draws else ():
                    for epsilon in EPSILONS:
                        yield draw, model, treatment, count, epsilon


def measure(out: Path, test_file: Path, models: list[str]) -> None:
    private, rows, path = read(out / "private.jsonl"), read(test_file), out / "budgets.jsonl"
    test = Corpus([row["text"] for row in rows], labels=[row["intent"] for row in rows])
    names = tuple(sorted({row["intent"] for row in private}))
    done = {tuple(row["cell"]) for row in read(path)} if path.exists() else set()
    for cell in cells(models):
        draw, model, treatment, count, epsilon = cell
        if cell in done:
            continue
        rewriter = open_rewriter(None if model == "packaged" else out / model, treatment, epsilon, names)
        chosen = random.Random(draw).sample(private, count)
        figures = measure_cell(rewriter, treatment, epsilon, chosen, test)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"cell": cell, **figures}) + "\n")


def show(out: Path) -> None:
    found: dict[tuple[str, str, int, str], dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in read(out / "budgets.jsonl"):
        _, model, treatment, count, epsilon = row["cell"]
        for name in FIGURES:
            found[model, treatment, count, name][epsilon].append(row[name])
    print(
        f"| model | labels | records | figure | {' | '.join(f'{epsilon:g}' for epsilon in EPSILONS)} | error |\n{'|---' * 10}|"
    )
    for key, series in sorted(found.items()):
        values = [series[epsilon] for epsilon in EPSILONS if series[epsilon]]
        pooled = fmean(variance(some) / len(some) if len(some) > 1 else 0.0 for some in values) ** 0.5
        means = [fmean(some) for some in values]
        falls = [max(means[: place + 1]) - mean for place, mean in enumerate(means)]
        marks = ["!" * min(2, int(fall / (2**0.5 * pooled))) if pooled else "" for fall in falls]
        shown = (f"{mean:.3f}{mark}".lstrip("0") for mean, mark in zip(means, marks, strict=True))
        print(f"| {' | '.join(map(str, key))} | {' | '.join(shown)} | {f'{pooled:.3f}' if pooled else ''} |")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["split", path, out]:
            split(Path(path), Path(out))
        case ["measure", out, path, *models]:
            measure(Path(out), Path(path), models)
        case ["show", out]:
            show(Path(out))
