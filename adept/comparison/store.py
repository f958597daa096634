"""Where a comparison keeps what was slow to make: the only place that knows files, keys and what they depend on.

Nothing is made twice, so a comparison goes on where it stopped and grows by what is new. A directory belongs to one comparison:
what may change between two runs is listed in ``GROWING``; all else is in ``comparison.json`` and has to stay. A key names what its
file depends on, budgets to the last digit: two budgets that print alike to six digits are two releases. Each file is written whole
or not at all; one that was damaged afterwards is named in one line, never half read.

    models/        a run of training for each model and seed
    releases/      every record's released latent, once, whatever reads it; its released label
    rewrites/      texts that a decoder wrote from a release, their labels, and how fast
    quality/       what was measured of those texts
    rows/          what a classifier made of them
    audits/        verdicts on the mechanisms' claims
    attacks/       what a reconstruction found, of releases of its own
"""

import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from safetensors import SafetensorError
from safetensors.torch import load, save

from adept.attacks.reconstruction_game import GivenAway
from adept.comparison.config import CompareConfig
from adept.comparison.plan import Cell, Family
from adept.comparison.results import (
    Attacked,
    AttackLine,
    AuditVerdict,
    Labels,
    Quality,
    Released,
    Row,
    Written,
)
from adept.data.files import write_once
from adept.errors import DataError
from adept.evaluation.classifiers import REVISIONS
from adept.evaluation.quality import COLUMNS
from adept.mechanisms.guarantee import json_number

LAYOUT = 5  # of the directory, and what its releases stand for; a comparison of another one is refused
SETTINGS = "comparison.json"
GROWING = (
    "mechanisms",
    "epsilons",
    "seeds",
    "classifiers",
    "processes",
    "baselines",
    "alternatives",
    "attacks",
    "examples",
    "output_dir",
)

UNBOUNDED = ("epsilon", "largest_odds")  # numbers that may be infinite

Kept = TypeVar("Kept", Labels, Released, Written, Quality, Row, AuditVerdict, Attacked)


class Store:
    """What a comparison has kept, by what it is (a class of ``adept.comparison.results``), its seed and its cell.

    Args:
        config: of the comparison.
        models: where its models are, if other comparisons share them.

    Raises:
        DataError: the directory holds something else, another comparison or one of an older layout, or cannot be written.
    """

    def __init__(self, config: CompareConfig, *, models: Path | None = None) -> None:
        self.config, self.directory = config, open_directory(config)
        self._models = models or self.directory / "models"

    def model(self, seed: int, family: Family) -> Path:
        """Return the directory of a model's training run."""
        return self._models / f"{_model_key(family)}-seed{seed}"

    def find(self, kind: type[Kept], seed: int, cell: Cell) -> Kept | None:
        """Return what was kept of a cell; None where there is nothing, or measures have come since that it has not.

        Raises:
            DataError: the file is damaged.
        """
        path = self._path(kind, seed, cell)
        with _undamaged(path):
            return _parsed(kind, path.read_bytes()) if path.exists() else None

    def keep(self, value: Kept, seed: int, cell: Cell) -> Kept:
        """Keep something of a cell, and return it."""
        path = self._path(type(value), seed, cell)
        if isinstance(value, Quality):
            path.unlink(missing_ok=True)  # it has a measure less
        write_once(path, _content(value))
        return value

    def _path(self, kind: type[Any], seed: int, cell: Cell) -> Path:
        """The one place that says what a file depends on."""
        release = [cell.mechanism, *_budget(cell.budget), *([_model_key(cell.family)] if cell.family else [])]
        text = [*release, *([cell.decoder] if cell.decoder else [])]
        own = f"seed{seed}"
        claim = [cell.mechanism, *_budget(self.config.text_epsilon(cell.budget or 0.0))]
        places: dict[type[Any], tuple[str, list[str]]] = {
            Labels: ("releases", [*release, own]),
            Released: ("releases", [*release, own]),
            Written: ("rewrites", [*text, own]),
            Quality: ("quality", [*text, own]),
            Row: ("rows", [*text, _reader(cell.classifier), own]),
            Attacked: ("attacks", [*release, own]),
            AuditVerdict: ("audits", claim),  # of a claim, whatever the seed
        }
        folder, key = places[kind]
        return self.directory / folder / f"{'-'.join(key)}.{'safetensors' if kind is Released else 'json'}"


def open_directory(config: CompareConfig) -> Path:
    """Make a comparison's directory, or go on in one that holds the same comparison; its settings are brought up to date.

    Raises:
        DataError: the directory holds something else, another comparison or one of an older layout, or cannot be written.
    """
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
    with _undamaged(directory / SETTINGS, advice="choose another directory"):
        before = _from_anywhere(dict(json.loads((directory / SETTINGS).read_text("utf-8"))))
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
    """Return settings with absolute paths, so that a comparison can be resumed from another directory."""
    data = dict(settings.get("data") or {})
    data |= {name: _absolute(data[name]) for name in ("path", "broad") if name in data}
    return settings | {"model_dir": _absolute(settings.get("model_dir")), "data": data}


def _absolute(path: str | None) -> str | None:
    return path and os.path.realpath(path)


def _content(value: Any) -> str | bytes:
    """A file's content."""
    match value:
        case Released():
            return save({"released": value.rows.contiguous()})
        case Labels():
            return json.dumps(value.values)
        case Quality():
            return json.dumps(value.columns)
    return json.dumps(_bounded(asdict(value)))


def _parsed(kind: type[Any], content: bytes) -> Any:
    """What a file's content came from."""
    if kind is Released:
        return Released(load(content)["released"])
    found = json.loads(content.decode("utf-8"))
    if kind is Labels:
        if not isinstance(found, list):
            raise TypeError("labels must be a list")
        return Labels(found)
    if kind is Quality:
        return Quality(found) if set(COLUMNS) <= dict(found).keys() else None
    if kind is Attacked:
        lines = [AttackLine(**_unbounded(line)) for line in found["lines"]]
        return Attacked(lines, [GivenAway(**away) for away in found["given_away"]])
    return kind(**_unbounded(found))


def _bounded(value: Any) -> Any:
    """Numbers as JSON can hold them, wherever they stand."""
    if isinstance(value, dict):
        return {name: _bounded(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_bounded(inner) for inner in value]
    return json_number(value) if isinstance(value, float) else value


def _unbounded(found: dict[str, Any]) -> dict[str, Any]:
    """The fields of a dataclass whose infinite numbers were written as words."""
    return {name: math.inf if name in UNBOUNDED and value == "inf" else value for name, value in found.items()}


def _model_key(family: Family) -> str:
    return family.clip if family.content == "none" else f"{family.clip}-{family.content}"


def _reader(classifier: str) -> str:
    """A classifier's name and revision: rows of an older one stay where they are and are not read any more."""
    revision = REVISIONS.get(classifier, 1)
    return classifier if revision == 1 else f"{classifier}_{revision}"


def _budget(epsilon: float | None) -> list[str]:
    """A budget to the last digit: what is shared by two of them would be released once and called both."""
    return [] if epsilon is None else [repr(float(epsilon))]


@contextmanager
def _undamaged(path: Path, *, advice: str = "remove it, and the same command makes it again") -> Iterator[None]:
    """Turn whatever a truncated or altered file causes while it is read into one line."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, SafetensorError, OSError) as error:
        raise DataError(f"{path} is damaged ({type(error).__name__}): {advice}") from None
