"""``adept evaluate``: train a classifier on one or more files, and test it on another file."""

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from adept.cli.config import EvaluateConfig
from adept.cli.console import show, warn, write_json
from adept.cli.process import show_lines
from adept.data.corpus import Corpus, join, read_corpora
from adept.data.writing import new_directory
from adept.errors import ConfigurationError
from adept.evaluation.classifiers import Evaluation, check_files_fit, evaluate
from adept.evaluation.metrics import ConfidenceInterval
from adept.models.untrusted_files import read_json
from adept.release.flow.publication import STATEMENT

# Options that name files to compare with
COMPARED = {"reference": "the originals instead", "examples": "public examples alone"}
LEFT_OUT = "without "  # in the name of a classifier that does not learn from one of the training files


def main(config: EvaluateConfig) -> None:
    """Train and test the classifiers, and print their accuracies."""
    found = run(config)
    rows = [
        ("macro-F1", _figure(found.macro_f1)),
        ("always the majority label", f"accuracy {found.majority_accuracy:.3f}"),
        ("classifier", f"{config.classifier}, {found.labels} labels"),
        ("records", f"{found.train_records} for training, {found.test_records} for the test"),
    ]
    rows += [(COMPARED.get(name, name), f"accuracy {_figure(other.accuracy)}") for name, other in found.others.items()]
    show(f"accuracy {_figure(found.accuracy)}", rows)
    left = {name.removeprefix(LEFT_OUT): other for name, other in found.others.items() if name.startswith(LEFT_OUT)}
    show_lines(f"{name} {_gain(found.accuracy, other.accuracy.value)}" for name, other in left.items())


def run(config: EvaluateConfig) -> Evaluation:
    """Test the classifiers, and write ``result.json``; raise AdeptError for a user's mistake."""
    names = _names(config.train)
    named = {name: path for name in COMPARED if (path := getattr(config, name)) is not None}
    config.check_used([*names, config.test, *named.values()])
    stated = {name: _stated(name) for name in names}
    known = next(filter(None, stated.values()), {})
    columns = {path: _columns(config, known) for path in (config.test, *named.values())}
    corpora = read_corpora(columns | {name: _columns(config, stated[name] or known) for name in names}, config)
    test, read = corpora[config.test], [corpora[path] for path in named.values()]
    for trained in (names, *([path] for path in named.values())):
        for note in check_files_fit({path: corpora[path] for path in trained}, test, name=config.test):
            warn(f"note: {note}")
    parts = {name: (corpora[name], _samples(corpora[name], stated[name])) for name in names}
    directory = new_directory(config.output_dir) if config.output_dir else None
    judge = partial(evaluate, test=test, classifier=config.classifier, seed=config.seed)

    def learn(chosen: list[str]) -> Evaluation:
        kinds = {stated[name].get("labels") for name in chosen}
        noisy = bool(kinds - {None, "copy", "vote"}) if config.noisy_labels is None else config.noisy_labels
        corpora = sorted((parts[name] for name in chosen), key=lambda part: -part[1])  # so that samples stay together
        epsilon = min(_epsilon(stated[name]) for name in chosen)
        joined = join([corpus for corpus, _ in corpora])
        return judge(joined, samples=corpora[0][1], noisy_labels=noisy, epsilon=epsilon)

    others = {name: judge(corpus) for name, corpus in zip(named, read, strict=True)}
    if len(names) > 1:
        others |= {LEFT_OUT + left: learn([name for name in names if name != left]) for left in names}
    found = replace(learn(names), others=others)
    if directory:
        flat = _flat(found) | {name: _flat(other) for name, other in others.items()}
        write_json({**flat, "classifier": config.classifier}, directory / "result.json")
    return found


def _names(given: object) -> list[str]:
    listed: list[Any] = given if isinstance(given, list) else [given]
    names = [name for name in listed if isinstance(name, str)]
    if not names or len(set(names)) < len(listed):
        raise ConfigurationError(
            f"train must be a file, or a list of different files, got {given}: write train=[a.csv,b.csv]"
        )
    return names


def _columns(config: EvaluateConfig, stated: dict[str, Any]) -> dict[str, str]:
    """Return the names of the columns of text and labels that the options or the privacy statement give."""
    asked = {name: getattr(config, name) or stated.get(name) for name in ("text_column", "label_column")}
    return {name: column for name, column in asked.items() if isinstance(column, str)}


def _samples(corpus: Corpus, stated: dict[str, Any]) -> int:
    """Return the number of rows per record that a statement names; 1 if rows were added or removed."""
    samples = stated.get("samples")
    fits = isinstance(samples, int) and samples > 0 and stated.get("records") == len(corpus) / samples
    return int(samples or 1) if fits else 1


def _epsilon(stated: dict[str, Any]) -> float:
    """Return the epsilon that a statement names; infinite for a file without a statement."""
    epsilon = stated.get("epsilon")
    return float(epsilon) if isinstance(epsilon, int | float) and epsilon >= 0 else math.inf


def _flat(found: Evaluation) -> dict[str, Any]:
    fields = {name: value for name, value in vars(found).items() if name != "others"}
    intervals = {name: getattr(found, name) for name in ("accuracy", "macro_f1")}
    fields |= {name: interval.value for name, interval in intervals.items()}
    return fields | {f"{name}_interval": (interval.low, interval.high) for name, interval in intervals.items()}


def _stated(location: str) -> dict[str, Any]:
    statement = Path(location + STATEMENT)
    return read_json(statement)[1] if statement.is_file() else {}


def _gain(accuracy: ConfidenceInterval, without: float) -> str:
    """Describe a training file's gain in accuracy; ``without`` is the accuracy without the file."""
    gain = accuracy.value - without
    if accuracy.low <= without <= accuracy.high:
        return f"adds nothing that this test can show: {gain:+.3f} lies within the 95 % interval"
    return f"adds {gain:.3f} to the accuracy" if gain > 0 else f"takes {-gain:.3f} from the accuracy"


def _figure(found: ConfidenceInterval) -> str:
    return f"{found.value:.3f}  (95 % interval {found.low:.3f} to {found.high:.3f})"
