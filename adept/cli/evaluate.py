"""``adept evaluate``: train an intent classifier on one file and test it on another."""

from pathlib import Path
from typing import Any

from adept.cli.config import EvaluateConfig
from adept.cli.console import show, write_json
from adept.data.corpus import Columns, read_corpus, samples_of
from adept.data.writing import new_directory
from adept.evaluation.classifiers import Evaluation, evaluate
from adept.evaluation.metrics import ConfidenceInterval
from adept.models.untrusted_files import read_json
from adept.release.publication import STATEMENT


def main(config: EvaluateConfig) -> None:
    """Evaluate, and print the figures."""
    found = run(config)
    rows = [
        ("macro-F1", _figure(found.macro_f1)),
        ("always the majority label", f"accuracy {found.majority_accuracy:.3f}"),
        ("classifier", f"{config.classifier}, {found.labels} labels"),
        ("records", f"{found.train_records} for training, {found.test_records} for the test"),
    ]
    show(f"accuracy {_figure(found.accuracy)}", rows)


def run(config: EvaluateConfig) -> Evaluation:
    """Evaluate, and write ``result.json``; raises AdeptError for what the user can mend."""
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
    if directory:
        intervals = {name: getattr(found, name) for name in ("accuracy", "macro_f1")}
        flat = {name: interval.value for name, interval in intervals.items()}
        flat |= {f"{name}_interval": (interval.low, interval.high) for name, interval in intervals.items()}
        write_json({**vars(found), **flat, "classifier": config.classifier}, directory / "result.json")
    return found


def _stated(location: str) -> dict[str, Any]:
    """Return the statement beside a file, or an empty dict without one."""
    statement = Path(location + STATEMENT)
    return read_json(statement)[1] if statement.is_file() else {}


def _columns(config: EvaluateConfig, stated: dict[str, Any]) -> Columns:
    """Return both files' columns: from the options, the statement, or the defaults."""
    named = {name: stated[name] for name in ("text_column", "label_column") if isinstance(stated.get(name), str)}
    asked = {"text_column": config.text_column, "label_column": config.label_column}
    return Columns(**named | {name: column for name, column in asked.items() if column is not None})


def _figure(found: ConfidenceInterval) -> str:
    return f"{found.value:.3f}  (95 % interval {found.low:.3f} to {found.high:.3f})"
