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
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from adept.comparison.cells import Cell
from adept.comparison.config import CompareConfig
from adept.comparison.families import Family
from adept.comparison.results import Row
from adept.data.files import write_once
from adept.errors import DataError
from adept.evaluation.classifiers import REVISIONS

LAYOUT = 3  # of the directory; a comparison of another one is refused
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

T = TypeVar("T")


@dataclass(frozen=True)
class Written:
    """Texts, their labels, and the records that were written a second."""

    texts: list[str]
    labels: list[str]
    records_per_second: float

    def __post_init__(self) -> None:
        if len(self.texts) != len(self.labels):
            raise ValueError("texts and labels must be equally many")


def open_directory(config: CompareConfig) -> Path:
    """Make a comparison's directory, or go on in one that holds the same comparison; its settings are brought up to date.

    Raises:
        DataError: the directory holds something else, another comparison or one of an older layout, or cannot be written.
    """
    directory = Path(config.output_dir)
    path = directory / SETTINGS
    settings = json.loads(json.dumps({"layout": LAYOUT, **asdict(config)}))
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
        before = dict(json.loads((directory / SETTINGS).read_text("utf-8")))
    if before.get("layout") != LAYOUT:
        raise DataError(
            f"output_dir {directory} holds a comparison of another version of adept: choose another directory"
        )
    if changed := [key for key in settings if key not in GROWING and before.get(key) != settings[key]]:
        raise DataError(
            f"output_dir {directory} holds a comparison with another {changed[0]}: choose another directory"
        )


class Store:
    """What a comparison has kept of one seed; each method returns what is there, or makes it once.

    Args:
        directory: of the comparison.
        seed: the seed that a cell's files belong to; verdicts have none.
    """

    def __init__(self, directory: Path, seed: int = 0) -> None:
        self.directory, self.seed = directory, seed

    def model(self, family: Family) -> Path:
        """The directory of a model's training run."""
        return self.directory / "models" / f"{family.key}-seed{self.seed}"

    def labels(self, make: Callable[[], list[str]]) -> list[str]:
        """The released labels of the private records."""
        return self._json(self._path("releases", "labels"), make, _labels)

    def released(self, cell: Cell, make: Callable[[], Tensor]) -> Tensor:
        """The released latents (N, n) of the private records."""
        path = self._path("releases", *_release_key(cell), suffix="safetensors")
        if not path.exists():
            write_once(path, save({"released": make().contiguous()}))
        with _undamaged(path):
            return load_file(path)["released"]

    def written(self, cell: Cell, make: Callable[[], Written] | None = None) -> Written:
        """The texts that a cell's decoder wrote; without ``make`` they must be there."""
        return self._json(self._path("rewrites", *_text_key(cell)), make and (lambda: asdict(make())), _written)

    def quality(self, cell: Cell, columns: Collection[str], make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What was measured of a cell's texts: measured again where a column has come since."""
        path = self._path("quality", *_text_key(cell))
        if path.exists() and not set(columns) <= self._json(path, None, dict).keys():
            path.unlink()
        return self._json(path, make, dict)

    def row(self, cell: Cell, make: Callable[[], Row]) -> Row:
        """A cell's row."""
        path = self._path("rows", *_text_key(cell), _reader(cell.classifier))
        return self._json(path, lambda: make().plain(), Row.from_plain)

    def verdict(self, mechanism: str, epsilon: float, make: Callable[[], T], kind: Callable[..., T]) -> T:
        """What an audit says of a mechanism's claim; ``kind`` is the dataclass that ``make`` returns."""
        path = self.directory / "audits" / f"{mechanism}-{_budget(epsilon)}.json"
        return self._json(path, lambda: asdict(make()), lambda found: kind(**found))  # type: ignore[call-overload]

    def attack(self, cell: Cell, make: Callable[[], Any], parse: Callable[[Any], T]) -> T:
        """What attacks on a cell's mechanism came to: ``make`` returns it as JSON can hold it, ``parse`` reads it."""
        return self._json(self._path("attacks", *_release_key(cell)), make, parse)

    def _path(self, folder: str, *key: str, suffix: str = "json") -> Path:
        return self.directory / folder / f"{'-'.join([*key, f'seed{self.seed}'])}.{suffix}"

    @staticmethod
    def _json(path: Path, make: Callable[[], Any] | None, parse: Callable[[Any], T]) -> T:
        if make and not path.exists():
            write_once(path, json.dumps(make()))
        with _undamaged(path):
            return parse(json.loads(path.read_text("utf-8")))


def _release_key(cell: Cell) -> list[str]:
    budget = [] if cell.budget is None else [_budget(cell.budget)]
    return [cell.mechanism, *budget, *([cell.family.key] if cell.family else [])]


def _text_key(cell: Cell) -> list[str]:
    return [*_release_key(cell), *([cell.decoder] if cell.decoder else [])]


def _reader(classifier: str) -> str:
    """A classifier's name and revision: rows of an older one stay where they are and are not read any more."""
    revision = REVISIONS.get(classifier, 1)
    return classifier if revision == 1 else f"{classifier}_{revision}"


def _budget(epsilon: float) -> str:
    """A budget to the last digit: what is shared by two of them would be released once and called both."""
    return repr(float(epsilon))


def _labels(found: list[str]) -> list[str]:
    if not isinstance(found, list):
        raise TypeError("labels must be a list")
    return found


def _written(found: dict[str, Any]) -> Written:
    return Written(**found)


@contextmanager
def _undamaged(path: Path, *, advice: str = "remove it, and the same command makes it again") -> Iterator[None]:
    """Turn whatever a truncated or altered file causes while it is read into one line."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, SafetensorError, OSError) as error:
        raise DataError(f"{path} is damaged ({type(error).__name__}): {advice}") from None
