"""``adept evaluate``: train a classifier on one or more files, and test it on another file."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from adept.cli.config import EvaluateConfig
from adept.cli.console import show, show_lines, warn, write_json
from adept.data.corpus import Corpus, join, read_corpora
from adept.data.formats import COMPRESSIONS, STATEMENT
from adept.data.writing import new_directory
from adept.errors import refuse
from adept.evaluation.classifiers import TEXT, Evaluation, check_files_fit, evaluate
from adept.evaluation.metrics import ConfidenceInterval
from adept.evaluation.record_free import (
    COMMONEST_LABEL,
    EXAMPLES,
    LARGER_ENCODER,
    NEAREST_NAME,
    TITLES,
    AddedByRecords,
    compare_with_free,
    describe_variation,
    measure_references,
)
from adept.evaluation.text_classifier import weigh_name
from adept.models.untrusted_files import read_json

TOGETHER = "together"  # name of the classifier that learns from the training files and the public examples
COMPARED = TITLES | {"reference": "the originals instead", TOGETHER: "with the public examples"}  # named in the table
LEFT_OUT = "without "  # in the name of a classifier that does not learn from one of the training files

Stated = dict[str, Any]  # the fields of a privacy statement; empty for a file without one


@dataclass(frozen=True)
class TrainingFile:
    """The records of a training file, and its privacy statement."""

    corpus: Corpus
    stated: Stated

    @property
    def epsilon(self) -> float:
        """The budget of a record; infinite for a file without a statement."""
        return _epsilon(self.stated)

    @property
    def samples(self) -> int:
        """The number of rows per record that the statement names; 1 if rows were added or removed."""
        samples = _samples(self.stated)
        return samples if self.stated.get("records") == len(self.corpus) / samples else 1


def main(config: EvaluateConfig) -> None:
    """Train and test the classifiers, and print and write their accuracies."""
    found = run(config)
    rows = [
        ("macro-F1", _figure(found.macro_f1)),
        ("always the majority label", f"accuracy {found.majority_accuracy:.3f}"),
        ("classifier", f"{config.classifier}, {found.labels} labels"),
        ("texts", f"{found.train_records} for training, {found.test_records} for the test"),
    ]
    shown = {name: other for name, other in found.others.items() if name != COMMONEST_LABEL}
    rows += [(COMPARED.get(name, name), f"accuracy {_figure(other.accuracy)}") for name, other in shown.items()]
    if config.classifier == TEXT and NEAREST_NAME in found.others:
        stated = [_stated(name) for name in _train_files(config)]
        noisy, each = _are_noisy(config, stated), found.train_records / found.labels / max(map(_samples, stated))
        weight = weigh_name(min(map(_epsilon, stated)), math.inf if noisy else each)
        rows.append(("names of labels", f"each counts as {weight:.3g} records of its label"))
    added = _compare_all(found)
    rows += [(title, f"{_figure(gain.gain, sign='+')}, above {TITLES[gain.name]}") for title, gain in added.items()]
    verdicts = [gain.verdict for gain in added.values()]
    show(f"accuracy {_figure(found.accuracy)}" + (f": {verdicts[-1]}" if verdicts and all(verdicts) else ""), rows)
    left = {name.removeprefix(LEFT_OUT): other for name, other in found.others.items() if name.startswith(LEFT_OUT)}
    show_lines(f"{name} {_gain(found.accuracy, other.accuracy.value)}" for name, other in left.items())
    show_lines([LARGER_ENCODER] if NEAREST_NAME in found.others else [])
    if config.output_dir:  # last, as a disk may be full
        _write(found, config.classifier, Path(config.output_dir) / "result.json")


def _compare_all(found: Evaluation) -> dict[str, AddedByRecords]:
    """Return what the records add by themselves and together with public examples, by its title in the table."""
    judged = {"added by the records": found, "added to the examples": found.others.get(TOGETHER)}
    gains = {title: one and compare_with_free(one, found.others) for title, one in judged.items()}
    return {title: gain for title, gain in gains.items() if gain}


def run(config: EvaluateConfig) -> Evaluation:
    """Test the classifiers, and make the output directory; raise AdeptError for a user's mistake."""
    names = _train_files(config)
    named = {name: path for name in ("reference", EXAMPLES) if (path := getattr(config, name)) is not None}
    config.check_used([*names, config.test, *named.values()])
    stated = {name: _stated(name) for name in names}
    known = next(filter(None, stated.values()), {})
    columns = {path: _columns(config, known) for path in (config.test, *named.values())}
    corpora = read_corpora(columns | {name: _columns(config, stated[name] or known) for name in names}, config)
    test = corpora[config.test]
    for trained in (names, *([path] for path in named.values())):
        for note in check_files_fit({path: corpora[path] for path in trained}, test, name=config.test):
            warn(f"note: {note}")
    files = {name: TrainingFile(corpora[name], stated[name]) for name in names}
    if config.output_dir:
        new_directory(config.output_dir)
    found = _judge(config, files, test, {name: corpora[path] for name, path in named.items()})
    records = sum(len(file.corpus) // file.samples for file in files.values())
    local = all(file.epsilon < math.inf and file.stated.get("trust") != "central" for file in files.values())
    if local and (variation := describe_variation(records)):  # another release of so few records may differ
        warn(f"note: {variation}")
    return found


def _judge(
    config: EvaluateConfig, files: dict[str, TrainingFile], test: Corpus, named: dict[str, Corpus]
) -> Evaluation:
    judge = partial(evaluate, test=test, classifier=config.classifier, seed=config.seed)
    public = [corpus for name, corpus in named.items() if name == EXAMPLES]

    def learn(*, without: str = "", beside: Sequence[Corpus] = ()) -> Evaluation:
        released, others = _separate([file for name, file in files.items() if name != without], config.classifier)
        known = join([*others, *beside]) if others or beside else None
        samples = math.lcm(*(file.samples for file in released))  # rows are repeated: all records weigh the same
        train = join(
            [file.corpus.take(sorted([*range(len(file.corpus))] * (samples // file.samples))) for file in released]
        )
        budget: dict[str, Any] = {"epsilon": min(file.epsilon for file in released), "samples": samples}
        noisy = _are_noisy(config, [file.stated for file in released])
        one = judge(train, examples=known, noisy_labels=noisy, **budget)
        return replace(one, train_records=one.train_records - len(train) + sum(len(file.corpus) for file in released))

    found = {name: judge(corpus) for name, corpus in named.items()}
    if public and config.classifier == TEXT:
        found[TOGETHER] = learn(beside=public)
    elif unstated := _separate([*files.values()], config.classifier)[1]:
        found[EXAMPLES] = judge(join(unstated))
    if len(_names(config.train)) > 1:
        found |= {LEFT_OUT + name: learn(without=name) for name in files}
    labels = [label for file in files.values() for label in file.corpus.labels or []]
    copied = all(file.stated.get("labels", "copy") == "copy" for file in files.values())
    return replace(learn(), others=found | measure_references(labels, test, copied=copied))


def _separate(files: list[TrainingFile], classifier: str) -> tuple[list[TrainingFile], list[Corpus]]:
    """Return the releases, and the texts of files without a statement: examples beside a release."""
    released = [file for file in files if file.epsilon < math.inf]
    if classifier != TEXT or not released:
        return files, []
    return released, [file.corpus for file in files if file.epsilon == math.inf]


def _write(found: Evaluation, classifier: str, path: Path) -> None:
    kept = _flat(found) | {name: _flat(other) for name, other in found.others.items()}
    for title, gain in _compare_all(found).items():
        one = gain.gain
        kept[title.replace(" ", "_")] = {"gain": one.value, "gain_interval": (one.low, one.high), "above": gain.name}
    write_json({**kept, "classifier": classifier}, path)


def _names(given: object) -> list[str]:
    listed: list[Any] = given if isinstance(given, list) else [given]
    names = [name for name in listed if isinstance(name, str)]
    refuse(
        (
            not names or len(set(map(os.path.realpath, names))) < len(listed),
            f"train must be a file, or a list of different files, got {given}: write train=[a.csv,b.csv]",
        )
    )
    return names


def _train_files(config: EvaluateConfig) -> list[str]:
    """Return the training files, with the parts of a directory or pattern if these are releases with statements."""
    places = {name: list(config.find_files(name)[0]) for name in _names(config.train)}
    return [file for name, parts in places.items() for file in (parts if all(map(_stated, parts)) else [name])]


def _columns(config: EvaluateConfig, stated: Stated) -> dict[str, str]:
    """Return the names of the columns of text and labels that the options or the privacy statement give."""
    asked = {name: getattr(config, name) or stated.get(name) for name in ("text_column", "label_column")}
    return {name: column for name, column in asked.items() if isinstance(column, str)}


def _flat(found: Evaluation) -> dict[str, Any]:
    fields = {name: value for name, value in vars(found).items() if name not in ("others", "hits")}
    intervals = {name: getattr(found, name) for name in ("accuracy", "macro_f1")}
    fields |= {name: interval.value for name, interval in intervals.items()}
    return fields | {f"{name}_interval": (interval.low, interval.high) for name, interval in intervals.items()}


def _are_noisy(config: EvaluateConfig, stated: Sequence[Stated]) -> bool:
    found = any(fields.get("labels") not in (None, "copy", "vote") for fields in stated)  # anybody may have edited it
    return found if config.noisy_labels is None else config.noisy_labels


def _samples(stated: Stated) -> int:
    samples = stated.get("samples")
    return samples if type(samples) is int and samples > 0 else 1


def _epsilon(stated: Stated) -> float:
    epsilon = stated.get("epsilon")
    return float(epsilon) if isinstance(epsilon, int | float) and epsilon >= 0 else math.inf


def _stated(location: str) -> Stated:
    stem, _, ending = location.rpartition(".")  # somebody may have packed or unpacked the release
    names = [location, *([stem] if ending in COMPRESSIONS else (f"{location}.{each}" for each in COMPRESSIONS))]
    statements = (Path(name + STATEMENT) for name in names if name == location or not Path(name).exists())
    return next((read_json(statement) for statement in statements if statement.is_file()), {})


def _gain(accuracy: ConfidenceInterval, without: float) -> str:
    """Describe a training file's gain in accuracy; ``without`` is the accuracy without the file."""
    gain = accuracy.value - without
    if accuracy.low <= without <= accuracy.high:
        return f"adds nothing that this test can show: {gain:+.3f} lies within the 95 % interval"
    return f"adds {gain:.3f} to the accuracy" if gain > 0 else f"takes {-gain:.3f} from the accuracy"


def _figure(found: ConfidenceInterval, *, sign: str = "") -> str:
    low, high = (f"{end:{sign}.3f}" for end in (found.low, found.high))
    return f"{found.value:{sign}.3f}  (95 % interval {low} to {high})"
