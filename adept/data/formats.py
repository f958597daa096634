"""Names and formats of data files, the rules that the formats have in common, and the format txt.

A user names a file, a directory, a pattern, or the splits of a data set.

A central release computes one result from all records. In a central release, only a file's name and
``ReadingOptions`` determine compression, format, delimiter and header. If the content of a file
determined the format, one record (the first row) could change how all other rows are read.
"""

import glob
import io
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice, product
from pathlib import Path
from typing import IO, Any

from adept.data.texts import list_names, say_once
from adept.errors import DataError

Record = dict[str, Any]
Write = Callable[[Sequence[Record]], None]
Types = Mapping[str, Any]  # Arrow types of columns

FORMATS = ("txt", "jsonl", "json", "csv", "parquet")
STANDARD_STREAM = "-"
ARROW = ("arrow", "feather", "ipc")  # read as parquet files are, and never written
ENDINGS = {**{name: name for name in FORMATS}, "ndjson": "jsonl", "tsv": "csv", **dict.fromkeys(ARROW, "parquet")}
COMPRESSIONS = {"gz": "gz", "gzip": "gz", "bz2": "bz2", "bzip2": "bz2", "xz": "xz", "zst": "zst", "zstd": "zst"}
COMPRESSED_ADVICE = "compressed in a way that is not read or written: unpack it, or compress it with gzip"
SPREADSHEET_ADVICE = "a spreadsheet, which cannot be read or written: save it as csv (UTF-8)"
DOCUMENT_ADVICE = "a document, which cannot be read or written: save its text as txt (UTF-8), one record on each line"
TABLE_ADVICE = "a table in a format that is not read or written: save it as parquet, or as csv (UTF-8)"
REFUSED = {  # by the ending of a name, which nobody gives to data by mistake
    **dict.fromkeys(("xls", "xlsx", "xlsm", "xlsb", "ods", "numbers"), SPREADSHEET_ADVICE),
    **dict.fromkeys(("zip", "7z", "rar", "lz4", "br", "lzma", "tar", "tgz", "z", "snappy"), COMPRESSED_ADVICE),
    **dict.fromkeys(
        ("orc", "avro", "pkl", "pickle", "db", "sqlite", "sqlite3", "h5", "hdf5", "npy", "npz"), TABLE_ADVICE
    ),
    **dict.fromkeys(("dta", "sav", "rds", "rdata", "msgpack", "yaml", "yml"), TABLE_ADVICE),
    **dict.fromkeys(("doc", "docx", "odt", "pdf", "rtf", "html", "htm", "xml", "pptx"), DOCUMENT_ADVICE),
    **dict.fromkeys(("vtt", "srt", "eml", "mbox", "conll", "conllu"), DOCUMENT_ADVICE),
}
MAX_UNREAD = 10  # names that a line lists
MAX_CHARACTERS = 2**24  # of a row
TOO_LONG = f"more than {MAX_CHARACTERS:,} characters"
END_MARK = "\x1a"  # alone in the last line of a file of DOS, of which it is no part
BYTE_ORDER_MARK = "\ufeff"  # dropped at the beginning of every row, so that the rule reads one row alone
SPLITS = ("train", "validation", "test")
SPLIT_NAMES = {  # as data sets on the Hub call their splits
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("validation", "val", "valid", "dev"), "validation"),
    **dict.fromkeys(("test", "testing", "eval", "evaluation"), "test"),
}
# Such as train.csv, train-00000-of-00002.parquet and train_part1.jsonl.gz, and the folder train
SPLIT_FILE = re.compile(
    r"(?i)([a-z]+)(?P<part>[-_.]?(?:part|shard)?[-_.]?\d+(?P<of>-of-\d+)?(?:-[0-9a-f]{16})?)?(?P<rest>(?:\.[a-z]\w*)*)"
)
SPLIT_WORD = re.compile(rf"(?i)(?<![^\W\d_])({'|'.join(SPLIT_NAMES)})(?![^\W\d_])")  # as in my_train.csv
# Of the names of a data set's parts, such as train-00000-of-00002.parquet and c4.00000-of-00002.json.gz
SHARD = re.compile(r"(?<!\d)(\d+)-of-(\d+)(?:-[0-9a-f]{16})?(?=\.|\Z)")
SIDECARS = re.compile(  # also what ``map`` of ``datasets`` writes into the directory of a data set
    r"[._].*|dataset_infos?\.json|dataset_dict\.json|state\.json|cache-[0-9a-f]{16}(_\d+_of_\d+)?\.arrow|.*\.md|.*\.privacy\.json|(README|LICENSE)(\..*)?",
    re.IGNORECASE,
)
KNOWN_ENDINGS = re.compile(rf"(\.({'|'.join([*ENDINGS, *COMPRESSIONS])}))+\Z", re.IGNORECASE)
COPY = re.compile(  # of what a copy's name has more, as desktops, browsers, editors and shared folders write it
    r"\A(copy|kopie) (of|von) |( - (copy|kopie|copie|copia)|[ _-]copy( \d+)?|[-_.](bak|backup|orig))?( \(\d+\))?\Z"
    r"| \([^()]*\b(copy|kopie|copie|copia)\b[^()]*\)\Z|\.sync-conflict-[\w-]+\Z",
    re.IGNORECASE,
)
TABLES = {  # by what lies beside the files
    "_delta_log/*": "a table of Delta Lake",
    ".hoodie/*": "a table of Hudi",
    "../metadata/*.metadata.json": "a table of Iceberg",
    "_temporary": "what an unfinished job has written",
}
PARTITIONS = re.compile(r"((\A|/)[^/]*=[^/]*)+\Z")  # at the end of a directory's name
ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
STATEMENT = ".privacy.json"  # follows the name of a release's output
WORKING_FILE = re.compile(r"\.(partial|journal(-wal|-shm|-journal)?)\Z")  # of a release that is not complete


def say_unread(place: str, names: Sequence[str]) -> None:
    """Log one line, once in a run, with the names of what is not read in a directory or file."""
    more = " and others" if len(names) > MAX_UNREAD else ""
    if names:
        say_once(f"in {place}, these are not read: {', '.join(names[:MAX_UNREAD])}{more}")


class UnfitFile(Exception):
    """An error: a file needs repair or other options; the message shows nothing of the file."""


class DamagedRecord(Exception):
    """An error: a record is damaged; the message shows none of the record's content."""


class WaitingFile(io.FileIO):
    """A file whose stream waits, even if a program that shares it, such as ssh, has made it non-blocking (``O_NONBLOCK``).

    Else a pipe that is empty for a moment would look like its end, and a full one like an error.
    """

    read, readall = io.RawIOBase.read, io.RawIOBase.readall  # type: ignore[assignment]  # by ``readinto``, unlike FileIO's own

    def readinto(self, buffer: Any) -> int:
        while (count := super().readinto(buffer)) is None:
            os.set_blocking(self.fileno(), True)
        return count

    def write(self, data: Any) -> int:
        while (count := super().write(data)) is None:
            os.set_blocking(self.fileno(), True)
        return count


class PlacedRecord(Record):
    """A record with its place: an Arrow batch (None for a data frame's record) and a row number."""

    def __init__(self, values: Mapping[str, Any], batch: Any, index: int) -> None:
        super().__init__(values)
        self.batch, self.index = batch, index

    def __or__(self, other: Any) -> "PlacedRecord":  # type: ignore[override]
        return PlacedRecord({**self, **other}, self.batch, self.index)

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)

    def cell(self, column: str) -> "ArrowValue":
        """Return the value in a column as an ArrowValue, without a conversion to Python."""
        return ArrowValue(self.batch.column(column), self.index)


class ArrowValue:
    """One value of an Arrow array: the array, and the index of the value in it."""

    def __init__(self, array: Any, index: int) -> None:
        self.array, self.index = array, index


class UnreadableValue:
    """A value that Python cannot hold: invalid UTF-8, or a date outside the years 1 to 9999."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __repr__(self) -> str:
        """Return the text that Arrow writes for the value; a record's digest depends on it."""
        import pyarrow

        try:
            return str(self._value.to_string())
        except UnicodeDecodeError:
            try:
                return str(self._value.cast(pyarrow.binary()).to_string())
            except pyarrow.ArrowException:
                return "unreadable"


def check_columns(names: Sequence[str]) -> None:
    """Raise UnfitFile if two columns have the same name."""
    places: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        if places.setdefault(name, number) != number:
            raise UnfitFile(f"is unclear (columns {places[name]} and {number} have the same name): rename one")


def compression_of(location: str) -> str | None:
    """Return the usual ending of a compressed file's name, such as ``gz``, the only one of outputs; None for others."""
    return COMPRESSIONS.get(Path(location).suffix.removeprefix(".").lower())


def ending_of(location: str) -> str:
    """Return the ending of a file's name in lower case, without a dot and without ``.gz``."""
    path = Path(location)
    return Path(path.stem if compression_of(location) else path.name).suffix.removeprefix(".").lower()


def tells_format(location: str) -> bool:
    """Return True if the ending of a file's name shows the format of its data."""
    return ending_of(location) in ENDINGS


def format_of_name(location: str) -> str | None:
    """Return the format that a file's name shows, or None; raise DataError for names like a.pdf."""
    ending = ending_of(location)
    if ending in REFUSED:
        raise DataError(f"{location} is {REFUSED[ending]}")
    return ENDINGS.get(ending)


def file_format(location: str, given: str | None = None) -> str:
    """Return ``given`` or, if it is None, the format that the name of an input file shows."""
    if found := given or format_of_name(location):
        return found
    if location == STANDARD_STREAM:
        raise DataError(f"format of standard input or output is unknown: give format= as one of {', '.join(ENDINGS)}")
    raise DataError(
        f"unknown file format {ending_of(location)!r} of {location}: use one of {', '.join(ENDINGS)}, or give format="
    )


def read_lines(stream: IO[str], *, tolerant: bool) -> Iterator[str]:
    """Yield the lines of a text, each with its line end.

    If ``tolerant`` is True, a line is cut after MAX_CHARACTERS characters, and an empty line is
    skipped. Otherwise, a line that is too long raises DamagedRecord.
    """
    while (line := stream.readline(MAX_CHARACTERS + 1)) not in ("", END_MARK):
        if len(line) > MAX_CHARACTERS:
            if not tolerant:
                raise DamagedRecord(f"a line of {TOO_LONG}")
            rest = line
            while rest and not rest.endswith("\n"):
                rest = stream.readline(MAX_CHARACTERS)
            line = line[:MAX_CHARACTERS].rstrip("\n") + "\n"
        line = line.removeprefix(BYTE_ORDER_MARK)
        if not tolerant:
            yield check_text(line)
        elif line.strip("\n"):
            yield line.replace("\0", "\ufffd")


def check_text(text: str) -> str:
    """Return the text of a row unchanged; raise DamagedRecord if it is not UTF-8 or holds NUL."""
    if "\0" in text:
        raise DamagedRecord("NUL in the text, as UTF-16 has it, which can be converted to UTF-8")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise DamagedRecord("not UTF-8, to which it can be converted") from None
    return text


def read_txt(stream: IO[str], *, tolerant: bool = False) -> Iterator[Record]:
    """Return a record for each line of a txt file; with ``tolerant``, empty lines are skipped."""
    return ({"text": line.removesuffix("\n")} for line in read_lines(stream, tolerant=tolerant))


@contextmanager
def write_txt(stream: IO[str], columns: Sequence[str], types: Any = None) -> Iterator[Write]:
    """Yield a function that writes the first column of each record on a line of its own."""
    yield lambda records: stream.writelines(f"{record[columns[0]]}\n" for record in records)


# --- Places of files


def data_files(location: str, given: str | None) -> tuple[list[str], str | None]:
    """Return the files at a location (as for ``read_records``), and their format, if known.

    Outputs of releases are left out and named, if there are other files.
    """
    if ADDRESS.match(location) and not os.path.exists(location):  # noqa: PTH110
        raise DataError(f"{location} is an address, which is not read: download the file, and give its name")
    if location != STANDARD_STREAM and not os.path.exists(location) and glob.has_magic(location):  # noqa: PTH110
        found = _matching(location)
    elif location == STANDARD_STREAM or not os.path.isdir(location):  # noqa: PTH112 - Path.is_dir raises for a long name
        return [location], given
    else:
        given = given or format_of_name(location.rstrip("/"))
        found = part_files(location, given)
    check_shards(found)
    if parted := next((path.parent.name for path in map(Path, found) if "=" in path.parent.name), None):
        say_once(f"folders such as {parted} hold a column's value, which is not read: write the column into the files")
    _check_files(found)
    released = {name for name in found if os.path.exists(name + STATEMENT) or WORKING_FILE.search(name)}  # noqa: PTH110
    if sources := [name for name in found if name not in released]:
        say_unread(location, [f"{name} (the output of a release)" for name in found if name in released])
        stated = sorted(path for place in {Path(name).parent for name in found} for path in place.glob(f"*{STATEMENT}"))
        if lost := next((str(path) for path in stated if not path.with_suffix("").with_suffix("").exists()), None):
            say_once(f"{lost} is of a file that is not there: if {location} holds it under another name, move it away")
    return sources or found, given


def _check_files(found: Sequence[str]) -> None:
    """Raise DataError if there is more or less in files than their names say."""
    places = {PARTITIONS.sub("", str(Path(name).parent)) or "." for name in found}
    for place, (mark, table) in product(sorted(places), TABLES.items()):
        if glob.glob(f"{glob.escape(place)}/{mark}"):  # noqa: PTH207
            raise DataError(f"{place} holds {table}, whose files may have rows that are not in it: export its rows")
    first: dict[tuple[int, int], str] = {}
    for name in found:
        with suppress(OSError):  # reading says why
            state = Path(name).stat()
            if not stat.S_ISREG(state.st_mode):
                raise DataError(f"{name} is a device, a pipe or a socket, not a file: remove it, or name it alone")
            if (other := first.setdefault((state.st_dev, state.st_ino), name)) != name:
                raise DataError(f"{other} and {name} are one file, which would be read twice: leave one out")


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
    _check_copies(parts)
    say_unread(directory, [path.name for path in files if not (given or tells_format(path.name))])
    return list(map(str, parts))


def _check_copies(paths: Sequence[Path]) -> None:
    bare = {path.name: KNOWN_ENDINGS.sub("", path.name) for path in paths}
    first = dict(reversed([(stem, name) for name, stem in bare.items()]))
    for path in paths:
        stem = bare[path.name]
        if (other := first.get(COPY.sub("", stem), first[stem])) != path.name:
            raise DataError(
                f"{path.parent} holds {other} and {path.name}, which may be the same records: name one of them, or both by "
                "a pattern"
            )


def check_shards(files: Iterable[str | Path]) -> None:
    """Raise DataError if files are called ``-of-00002`` and others of the two are missing."""
    groups: dict[tuple[Path, str, str], list[tuple[str, str]]] = {}
    for path in map(Path, files):
        if found := SHARD.search(path.name):
            key = path.parent, path.name[: found.start()], path.name[found.end() :]
            groups.setdefault(key, []).append((found[1], found[2]))
    for (place, before, after), parts in groups.items():
        number, most = max(parts, key=lambda part: int(part[1]))
        held, count = {int(n) for n, of in parts if of == most}, int(most)
        first = int(0 not in held and count in held)  # some count their parts from 1
        lacking = list(islice((n for n in range(first, first + count) if n not in held), MAX_UNREAD))
        names = ", ".join(f"{before}{missing:0{len(number)}}-of-{most}{after}" for missing in lacking)
        if lacking or len(parts) != count:
            advice = f", without {names}: add what is missing, or read file by file"
            raise DataError(
                f"{place} gives {len(parts)} of the {count} parts of {before.rstrip('-_.')}{after}"
                f"{advice if names else ': remove the surplus, such as parts of an earlier version'}"
            )


def _matching(pattern: str) -> list[str]:
    names = [Path(name) for name in glob.glob(pattern, recursive=True)]  # noqa: PTH207
    files = [str(name) for name in names if not name.is_dir() and not SIDECARS.fullmatch(name.name)]
    folders = [str(name) for name in names if name.is_dir() and tells_format(str(name))]
    parts = [part for name in folders for part in part_files(name, format_of_name(name))]
    if not (found := sorted({*files, *parts})):
        raise DataError(f"cannot read {pattern}: no file has such a name{advise_pattern(pattern)}")
    return found


def advise_pattern(location: str) -> str:
    """Return advice to add to an error if the name of a missing file may be a list of names."""
    is_list = re.search(r"[,{]|\.\w+\s", location)
    return "; to read several files, give their directory or a pattern such as '*.csv'" if is_list else ""


def find_splits(
    directory: Path, given: str | None, *, apart: bool = False
) -> tuple[Path, dict[str, list[Path]], list[str]]:
    """Return the directory, a folder, a file or a file's parts for each split, and the names of all others.

    A directory's only folder is searched instead. The format of the files is ``given``, or their names show it. If
    ``apart`` is True, a split's name may stand anywhere in a file's name, between characters that are no letters.
    """
    found: dict[str, dict[str, list[Path]]] = {}
    unread = []
    for path in sorted(path for path in directory.iterdir() if not SIDECARS.fullmatch(path.name)):
        named = _split_of(path.name, apart)
        if named and (path.is_dir() or given or tells_format(path.name)):
            found.setdefault(named[0], {}).setdefault(named[1] + ("/" if path.is_dir() else ""), []).append(path)
        else:
            unread.append(path.name)
    for split, (pattern, *others) in found.items():
        if others:
            raise DataError(
                f"{directory} has {len(others) + 1} files for the split {split!r}, {pattern} and {others[0]}: keep one"
            )
        check_shards(found[split][pattern])
    if not found and len(unread) == 1 and (directory / unread[0]).is_dir():
        return find_splits(directory / unread[0], given, apart=apart)
    return directory, {split: paths for split in SPLITS for paths in found.get(split, {}).values()}, unread


def _split_of(name: str, apart: bool) -> tuple[str, str] | None:
    """Return the split that a name shows, and a pattern that is the same for all parts of one file."""
    words = list(SPLIT_WORD.finditer(name)) if apart else []
    start = words[0].start() if len(words) == 1 else 0
    if (found := SPLIT_FILE.fullmatch(name[start:])) and (split := SPLIT_NAMES.get(found[1].lower())):
        return split, f"{name[:start]}{found[1]}{'-*' if found['part'] else ''}{found['of'] or ''}{found['rest']}"
    return (SPLIT_NAMES[words[0][0].lower()], name) if len(words) == 1 else None
