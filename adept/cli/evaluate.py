"""``adept evaluate``: train an intent classifier on one file and test it on another."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adept.cli.app import execute
from adept.cli.config import EvaluateConfig
from adept.cli.console import show, write_json
from adept.data.corpus import Columns, read_corpus, samples_of
from adept.data.files import new_directory
from adept.evaluation.classifiers import evaluate
from adept.models.untrusted_files import read_json
from adept.release.publication import STATEMENT


@dataclass(frozen=True)
class EvaluateResult:
    """The figures, and the ends of their 95 % bootstrap intervals over the test records."""

    accuracy: float
    accuracy_interval: tuple[float, float]
    macro_f1: float
    macro_f1_interval: tuple[float, float]
    majority_accuracy: float
    classifier: str
    train_records: int
    test_records: int
    labels: int


def run(config: EvaluateConfig) -> EvaluateResult:
    """Evaluate; raises AdeptError for what the user can mend."""
    config.check_used([config.train, config.test])
    stated = _stated(config.train)
    columns = _columns(config, stated)
    train, test = (
        read_corpus(path, text_column=columns.text_column, label_column=columns.label_column, options=config)
        for path in (config.train, config.test)
    )
    directory = new_directory(config.output_dir) if config.output_dir else None
    samples = samples_of(config.train, config)
    noisy = stated.get("labels") not in (None, "copy", "vote") if config.noisy_labels is None else config.noisy_labels
    found = evaluate(train, test, classifier=config.classifier, seed=config.seed, samples=samples, noisy_labels=noisy)
    result = EvaluateResult(
        accuracy=found.accuracy.value,
        accuracy_interval=(found.accuracy.low, found.accuracy.high),
        macro_f1=found.macro_f1.value,
        macro_f1_interval=(found.macro_f1.low, found.macro_f1.high),
        majority_accuracy=found.majority_accuracy,
        classifier=config.classifier,
        train_records=found.train_records,
        test_records=found.test_records,
        labels=found.labels,
    )
    if directory:
        write_json(result, Path(directory) / "result.json")
    return result


def _stated(location: str) -> dict[str, Any]:
    """Return the statement beside a file, or an empty dict without one."""
    statement = Path(location + STATEMENT)
    return read_json(statement)[1] if statement.is_file() else {}


def _columns(config: EvaluateConfig, stated: dict[str, Any]) -> Columns:
    """Return the columns of both files: those of the options, or else of the statement, or else the usual ones."""
    named = {name: stated[name] for name in ("text_column", "label_column") if isinstance(stated.get(name), str)}
    asked = {"text_column": config.text_column, "label_column": config.label_column}
    return Columns(**named | {name: column for name, column in asked.items() if column is not None})


def main() -> int:
    """Run ``adept evaluate`` from ``sys.argv``."""

    def command(config: EvaluateConfig) -> None:
        result = run(config)
        rows = [
            ("macro-F1", _figure(result.macro_f1, result.macro_f1_interval)),
            ("always the majority label", f"accuracy {result.majority_accuracy:.3f}"),
            ("classifier", f"{result.classifier}, {result.labels} labels"),
            ("records", f"{result.train_records} for training, {result.test_records} for the test"),
        ]
        show(f"accuracy {_figure(result.accuracy, result.accuracy_interval)}", rows)

    return execute("evaluate", command)


def _figure(value: float, ends: tuple[float, float]) -> str:
    return f"{value:.3f}  (95 % interval {ends[0]:.3f} to {ends[1]:.3f})"
