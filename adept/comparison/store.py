"""The directory of a comparison. Only this module knows the names of the files in the directory.

A directory belongs to one comparison. The file ``comparison.json`` holds the comparison's settings.
Settings in ``GROWING`` may change between two runs; all other settings must stay the same.

The content of a file depends on the settings and on other facts, such as the mechanism, the epsilon
and the seed. The name of a stored file contains all these other facts, but not the settings. Each
file is written whole or not at all. If a file is damaged later, the program stops with an error
that names the file.

    models/        a training run for each model and seed
    labels/        every record's released label, drawn once for all rows that use it
    rewrites/      texts written from one release of every record, their labels, and the epsilon spent
    rows/          a classifier's accuracy and, if measured, the quality of the texts
    audits/        verdicts on the mechanisms' claims
    attacks/       success rates of attacks, on releases that were made only for the attacks
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from adept.attacks.attack_game import AttackRow
from adept.attacks.success_bounds import Rate
from adept.comparison.config import CompareConfig, find_kind, is_foreign
from adept.comparison.plan import Cell, ModelKind
from adept.comparison.results import AttackedRelease, AuditVerdict, ReleasedLabels, ResultRow, WrittenTexts
from adept.data.writing import write_once
from adept.errors import DataError

LAYOUT = 7  # version of the directory
SETTINGS = "comparison.json"
GROWING = {"mechanisms", "epsilons", "seeds", "classifiers", "baselines", "alternatives", "attacks", "examples"}
GROWING |= {"processes", "output_dir", "figure"}

Stored = TypeVar("Stored", ReleasedLabels, WrittenTexts, ResultRow, AuditVerdict, AttackedRelease)


class Store:
    """The stored results of a comparison; several comparisons may share their trained models."""

    def __init__(self, config: CompareConfig, *, models: Path | None = None) -> None:
        self.config, self.directory = config, open_directory(config)
        self._models = models or self.directory / "models"

    def model(self, seed: int, model: ModelKind) -> Path:
        """Return the directory of a model's training run."""
        return self._models / f"{_model_key(model)}-seed{seed}"

    def find(self, kind: type[Stored], seed: int, cell: Cell) -> Stored | None:
        """Return the stored result for a row, or None; raise DataError if its file is damaged."""
        path = self._path(kind, seed, cell)
        with _refuse_damage(path):
            return _parse(kind, path.read_bytes()) if path.exists() else None

    def keep(self, value: Stored, seed: int, cell: Cell) -> Stored:
        """Store a result for a row of the table, and return the result.

        Raise DataError if the result is already stored, but replace a stored ResultRow.
        """
        path = self._path(type(value), seed, cell)
        if isinstance(value, ResultRow):
            path.unlink(missing_ok=True)
        write_once(path, json.dumps(asdict(value)))
        return value

    def _path(self, kind: type[Any], seed: int, cell: Cell) -> Path:
        mechanism = _mechanism_key(cell.mechanism)
        release = [mechanism, *_budget(cell.budget), *([_model_key(cell.model)] if cell.model else [])]
        text = [*release, *([cell.decoder] if cell.decoder else [])]
        own = f"seed{seed}"
        places: dict[type[Any], tuple[str, list[str]]] = {
            ReleasedLabels: ("labels", [*_budget(cell.label_epsilon), own]),
            WrittenTexts: ("rewrites", [*text, own]),
            ResultRow: ("rows", [*text, cell.classifier, own]),
            AttackedRelease: ("attacks", [*release, own]),
            AuditVerdict: ("audits", [mechanism, *_budget(cell.text_epsilon)]),  # of a claim, whatever the seed
        }
        folder, key = places[kind]
        return self.directory / folder / f"{'-'.join(key)}.json"


def open_directory(config: CompareConfig) -> Path:
    """Make the directory of a comparison, or check an existing one; write the settings into it."""
    directory = Path(config.output_dir)
    path = directory / SETTINGS
    settings = _from_anywhere(json.loads(json.dumps({"layout": LAYOUT, **asdict(config)})))
    try:
        if path.exists():
            _check_same(directory, settings)
        elif directory.exists() and any(directory.iterdir()):
            raise DataError(f"output_dir {directory} is not empty and holds no comparison: choose another directory")
        path.unlink(missing_ok=True)
        write_once(path, json.dumps(settings, indent=2) + "\n")
    except OSError as error:
        raise DataError(f"cannot write output_dir {directory}: {error.strerror}") from None
    return directory


def _check_same(directory: Path, settings: dict[str, Any]) -> None:
    with _refuse_damage(directory / SETTINGS, advice="choose another directory"):
        before = dict(json.loads((directory / SETTINGS).read_text("utf-8")))
    if before.get("layout") != LAYOUT:
        raise DataError(
            f"output_dir {directory} holds a comparison of another version of adept: choose another directory"
        )
    if changed := [key for key in settings if key not in GROWING and before.get(key) != settings[key]]:
        place = next((f" (path was {before['data'].get('path')})" for key in changed[:1] if key == "data"), "")
        raise DataError(
            f"output_dir {directory} holds a comparison with another {changed[0]}{place}: choose another directory"
        )


def _from_anywhere(settings: dict[str, Any]) -> dict[str, Any]:
    for holder, name in ((settings["data"], "path"), (settings["data"], "broad"), (settings, "model_dir")):
        holder[name] = holder[name] and os.path.realpath(holder[name])
    return settings


def _parse(kind: type[Any], content: bytes) -> Any:
    found = json.loads(content.decode("utf-8"))
    if kind is AttackedRelease:
        found["model"] = ModelKind(**found["model"])
        found["rows"] = [AttackRow(**row | {"rate": Rate(**row["rate"])}) for row in found["rows"]]
    return kind(**found)


def _model_key(model: ModelKind) -> str:
    return model.clip if model.content == "none" else f"{model.clip}-{model.content}"


def _mechanism_key(name: str) -> str:
    """Return a name for files; of a mechanism that is not part of adept, the digest of its code is in it."""
    if not is_foreign(name):
        return name
    facts = find_kind(name).origin  # type: ignore[attr-defined]
    return f"{name}-{(facts.sha256 or '')[:12]}"


def _budget(epsilon: float | None) -> list[str]:
    """Return an epsilon as text with all digits, so that file names of two epsilons differ."""
    return [] if epsilon is None else [repr(float(epsilon))]


@contextmanager
def _refuse_damage(path: Path, *, advice: str = "remove it, and the same command makes it again") -> Iterator[None]:
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, OSError) as error:
        raise DataError(f"{path} is damaged ({type(error).__name__}): {advice}") from None
