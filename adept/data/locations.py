"""Find the data files that a user names: a file, a directory, a pattern, or the splits of a data set."""

import glob
import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from adept.data.column_names import list_names
from adept.data.formats import STANDARD_STREAM, format_of_name, say_unread, tells_format
from adept.errors import DataError

SPLITS = ("train", "validation", "test")
SPLIT_NAMES = {  # as data sets on the Hub call their splits
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("validation", "val", "valid", "dev"), "validation"),
    **dict.fromkeys(("test", "testing", "eval", "evaluation"), "test"),
}
SPLIT_FILE = (
    re.compile(  # such as train.csv, train-00000-of-00002.parquet and train_part1.jsonl.gz, and the folder train
        r"([a-z]+)(?P<part>[-_.]?(?:part|shard)?[-_.]?\d+(?P<of>-of-\d+)?(?:-[0-9a-f]{16})?)?(?P<rest>(?:\.[a-z]\w*)*)",
        re.IGNORECASE,
    )
)
SHARD = re.compile(r"-\d+-of-0*(\d+)(?:-[0-9a-f]{16})?(?=\.)")  # of the names of a data set's parts on the Hub
SIDECARS = re.compile(
    r"[._].*|dataset_infos?\.json|dataset_dict\.json|state\.json|.*\.md|(README|LICENSE)(\..*)?", re.IGNORECASE
)


def data_files(location: str, given: str | None) -> tuple[list[str], str | None]:
    """Return the files at a location (as for ``read_records``), and their format, if known."""
    if location != STANDARD_STREAM and not os.path.exists(location) and glob.has_magic(location):  # noqa: PTH110
        return _matching(location), given
    if location == STANDARD_STREAM or not os.path.isdir(location):  # noqa: PTH112 - Path.is_dir raises for a long name
        return [location], given
    given = given or format_of_name(location.rstrip("/"))
    return part_files(location, given), given


def part_files(directory: str, given: str | None = None) -> list[str]:
    """Return the data files in a directory, sorted by name, and log the names of the others.

    SIDECARS are left out and not named. If the format is ``given``, all other files hold data.
    """
    try:
        found = sorted(path for path in Path(directory).iterdir() if not SIDECARS.fullmatch(path.name))
    except OSError as error:
        raise DataError(f"cannot read {directory}: {error.strerror}") from None
    files, folders = [path for path in found if not path.is_dir()], [path.name for path in found if path.is_dir()]
    if folders:
        raise DataError(
            f"{directory} holds directories ({list_names(folders)}), which are not read: name one of them, or the "
            "files by a pattern such as '*/*'"
        )
    parts = [path for path in files if given or tells_format(path.name)]
    if not parts:
        raise DataError(f"{directory} is a directory without data files: name another one, or add format=")
    check_shards(parts)
    say_unread(directory, tuple(path.name for path in files if path not in parts))
    return list(map(str, parts))


def check_shards(paths: Sequence[Path]) -> None:
    """Raise DataError if files are called ``-of-00002`` and others of the two are missing."""
    counts = Counter((SHARD.sub("", path.name), int(found[1])) for path in paths if (found := SHARD.search(path.name)))
    for (name, most), count in counts.items():
        if count != most:
            raise DataError(
                f"{paths[0].parent} holds {count} of the {most} parts of {name}: add the others, or remove the surplus"
            )


def _matching(pattern: str) -> list[str]:
    names = [Path(name) for name in glob.glob(pattern, recursive=True)]  # noqa: PTH207
    files = [str(name) for name in names if name.is_file() and not SIDECARS.fullmatch(name.name)]
    folders = [str(name) for name in names if name.is_dir() and tells_format(str(name))]
    parts = [part for name in folders for part in part_files(name, format_of_name(name))]
    found = sorted({*files, *parts})
    if not found:
        raise DataError(f"cannot read {pattern}: no file has such a name")
    places: dict[tuple[int, int], str] = {}
    for location in found:
        state = Path(location).stat()
        first = places.setdefault((state.st_dev, state.st_ino), location)
        if first != location:
            raise DataError(f"{first} and {location} are one file, which would be read twice: leave one out")
    return found


def find_splits(directory: Path, given: str | None) -> tuple[dict[str, list[Path]], list[str]]:
    """Return a folder, a file or the parts of a file for each split, and the names of all others.

    The format of the files is ``given``, or their names show it.
    """
    found: dict[str, dict[str, list[Path]]] = {}
    unread = []
    for path in sorted(directory.iterdir()):
        name = SPLIT_FILE.fullmatch(path.name)
        if name and name[1].lower() in SPLIT_NAMES and (path.is_dir() or given or tells_format(path.name)):
            pattern = f"{name[1]}{'-*' if name['part'] else ''}{name['of'] or ''}{name['rest']}{'/' * path.is_dir()}"
            found.setdefault(SPLIT_NAMES[name[1].lower()], {}).setdefault(pattern, []).append(path)
        elif not SIDECARS.fullmatch(path.name):
            unread.append(path.name)
    for split, (pattern, *others) in found.items():
        if others:
            raise DataError(
                f"{directory} has {len(others) + 1} files for the split {split!r}, {pattern} and {others[0]}: keep one"
            )
        check_shards(found[split][pattern])
    return {split: paths for split in SPLITS for paths in found.get(split, {}).values()}, unread
