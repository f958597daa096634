"""Files of the page: those that a user drops on it, with their release, and results of earlier commands.

The release of a dropped file works as in ``adept rewrite``. The file lies in a folder that only this user can read.
It is removed when the user removes it on the page, when the server ends, or after an hour (``Files.tidy``).
"""

import secrets
import shutil
import tempfile
import time
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import anyio

from adept.data.csv_files import DELIMITERS
from adept.data.formats import STATEMENT
from adept.data.reading import ReadingOptions, read_records
from adept.data.texts import USUAL_NAMES, folded
from adept.data.writing import make_directory
from adept.errors import AdeptError, DataError, ModelError, refuse
from adept.mechanisms.guarantee import words
from adept.models.untrusted_files import read_json
from adept.release.flow.local import choose_writer, open_release, prepare_file, release_file
from adept.release.flow.publication import CARD
from adept.release.flow.steps import preview
from adept.release.ledger.default import NO_LEDGER, open_ledger
from adept.release.ledger.file import LedgerFile
from adept.release.ledger.identity import secret_key
from adept.release.options import ReleaseRequest
from adept.rewriting.expectation import LABELLED, expected_lines

UPLOAD_ENDINGS = ("csv", "tsv", "txt", "jsonl", "ndjson", "json")
MAX_UPLOAD_BYTES = 20 * 2**20
MAX_FILES, HOUR_SECONDS = 8, 3600.0

Choices = dict[str, Any]  # options of ``adept rewrite``, under their names
PAGES = {"report.html": "comparison", "plan.html": "plan"}  # of a result, which then is shown alone
MAX_RUNS = 50
RESULT_TABLES = {
    "audit": ("checks", ("name", "kind", "verdict", "evidence")),
    "attack": ("rows", ("attack", "knows", "success", "words")),
}


@dataclass
class Dropped:
    """One dropped file, and the progress of its release."""

    source: Path
    records: int
    columns: list[str]
    text: str  # the column whose name says that it holds the sentences, or ""
    labels: list[str]  # columns with few values, or a usual name
    reading: ReadingOptions
    born: float = field(default_factory=time.monotonic)
    done: int = 0  # records that are released
    running: bool = False
    finished: bool = False
    error: str | None = None  # the reason why there is no release

    @property
    def target(self) -> Path:
        """Path of the released file, which has the format of the dropped file."""
        return self.source.with_name(f"private{self.source.suffix}")

    def results(self) -> dict[str, Path]:
        """Return the paths of a complete release: rewritten text, statement and card."""
        endings = {"text": "", "statement": STATEMENT, "card": CARD}
        return {part: Path(f"{self.target}{ending}") for part, ending in endings.items()}


class Files:
    """All dropped files that the page holds, and the model that rewrites them. ``ledger`` lists their releases."""

    def __init__(self, *, ledger: str | None, model_dir: str | None = None) -> None:
        self.ledger, self.model_dir = str(Path(ledger).expanduser()) if ledger else None, model_dir
        if self.ledger:
            make_directory(Path(self.ledger).parent)
            LedgerFile(self.ledger, key=None, read_only=True).close()  # refuses a file that is no ledger
        self._root = Path(tempfile.mkdtemp(prefix="adept-play-"))
        self._files: dict[str, Dropped] = {}

    def close(self) -> None:
        shutil.rmtree(self._root, ignore_errors=True)

    def add(self, filename: str, content: bytes) -> tuple[str, Dropped]:
        """Store a dropped file, and return its key and description; refuse an unsuitable file."""
        ending = Path(filename).suffix.lower().lstrip(".")
        refuse(
            (
                ending not in UPLOAD_ENDINGS,
                f"the file must be one of {', '.join(UPLOAD_ENDINGS)}: save it as one of them",
            ),
            (len(self._files) >= MAX_FILES, f"at most {MAX_FILES} files are held at once: forget one, or wait an hour"),
        )
        key = secrets.token_urlsafe(16)
        source = self._root / key / f"input.{ending}"
        source.parent.mkdir(mode=0o700)
        source.write_bytes(content)
        try:
            self._files[key] = _look_at(source)
        except AdeptError as error:
            shutil.rmtree(source.parent, ignore_errors=True)
            raise type(error)(str(error).replace(str(source), "the file")) from None
        return key, self._files[key]

    def get(self, key: str) -> Dropped:
        """Return the dropped file with this key; raise DataError if there is none."""
        if key not in self._files:
            raise DataError("this file is no longer held: drop it again")
        return self._files[key]

    def forget(self, key: str) -> None:
        """Remove a dropped file, and all files that were made from it; refuse one that is being released."""
        running = key in self._files and self._files[key].running
        refuse((running, "the file is being released: wait for the end of its release"))
        if (dropped := self._files.pop(key, None)) is not None:
            shutil.rmtree(dropped.source.parent, ignore_errors=True)

    async def tidy(self) -> None:
        """Remove each file an hour after it was dropped, or when its release ends."""
        while True:
            for key, held in list(self._files.items()):
                if time.monotonic() - held.born > HOUR_SECONDS and not held.running:
                    self.forget(key)
            await anyio.sleep(HOUR_SECONDS / 60)

    def explain(self, dropped: Dropped, choices: Choices) -> dict[str, Any]:
        """Describe the release of a file as ``dry_run=true`` does, but do not release the file."""
        rewriter, options = open_release(self._request(dropped, choices))
        statement = preview(*prepare_file(rewriter, str(dropped.source), str(dropped.target), options=options))
        return {
            "records": statement.records,
            "epsilon": words(statement.epsilon),
            "statement": statement.text,
            "expected": expected_lines(
                choose_writer(rewriter, options, has_labels=statement.label_column is not None),
                labelled=statement.labels in LABELLED,
            ),
        }

    def release(self, dropped: Dropped, choices: Choices) -> None:
        request = self._request(dropped, choices)
        rewriter, options = open_release(request)
        key = secret_key(None)
        place, progress = (str(dropped.source), str(dropped.target)), partial(setattr, dropped, "done")
        with open_ledger(request, key) as ledger:
            release_file(rewriter, *place, options=options, key=key, ledger=ledger, progress=progress)

    def _request(self, dropped: Dropped, choices: Choices) -> ReleaseRequest:
        own = choices | {"model_dir": self.model_dir, "delimiter": dropped.reading.delimiter}
        return ReleaseRequest(**own, ledger=self.ledger or NO_LEDGER, card=True)


def _look_at(source: Path) -> Dropped:
    reading = ReadingOptions(delimiter=_delimiter(source))
    records = read_records(str(source), options=reading)
    first = list(islice(records, 200))  # which show the columns, and whether a column looks like labels
    columns = list(dict.fromkeys(column for record in first for column in record))
    named = (name for usual in USUAL_NAMES["text_column"] for name in columns if folded(name) == usual)
    text = next(named, columns[0] if len(columns) == 1 else "")
    values = {column: {str(record.get(column)) for record in first} for column in columns if column != text}
    few, usual = min(50, max(2, len(first) // 2)), USUAL_NAMES["label_column"]
    labels = [column for column, found in values.items() if len(found) <= few or folded(column) in usual]
    return Dropped(source, len(first) + sum(1 for _ in records), columns, text, labels, reading)


def _delimiter(file: Path) -> str | None:
    """Guess the separator of a csv file whose header has no comma."""
    with file.open("rb") as stream:
        header = stream.readline(2**16).decode("utf-8", "replace")
    if file.suffix != ".csv" or "," in header or header.removeprefix("\ufeff").startswith("sep="):
        return None
    return next((name for name, character in DELIMITERS.items() if character in header), None)


# --- Results of earlier commands, which are shown unchanged


@dataclass(frozen=True)
class EarlierResult:
    """The result of one earlier command, read from its output directory."""

    name: str
    kind: str
    page: Path | None = None
    picture: Path | None = None
    sentence: str = ""
    wrong: bool = False  # a claim was found to be false
    rows: tuple[tuple[str, str], ...] = ()  # names and values
    headings: tuple[str, ...] = ()
    table: tuple[list[str], ...] = ()  # checks of an audit, those that failed first, or rows of an attack


def earlier_results(directory: Path) -> list[EarlierResult]:
    """Return the newest results in a directory, at most ``MAX_RUNS``, with the newest one first."""
    found = {
        path.parent: path for name in ("result.json", *PAGES) for path in directory.glob(f"*/{name}") if path.is_file()
    }
    newest = sorted(found.values(), key=lambda path: path.stat().st_mtime, reverse=True)
    return [run for path in newest[:MAX_RUNS] if (run := _earlier(path)) is not None]


def read_earlier(directory: Path, name: str, part: Literal["page", "picture"]) -> bytes:
    """Return the page or the figure of a result; raise DataError if no result has this name."""
    for run in earlier_results(directory):
        path: Path | None = getattr(run, part)
        if run.name == name and path is not None:
            return path.read_bytes()
    raise DataError("there is no such result: reload the page")


def _earlier(path: Path) -> EarlierResult | None:
    name = path.parent.name
    if kind := PAGES.get(path.name):
        return EarlierResult(name, kind, page=path)
    try:
        result = read_json(path)
    except ModelError:  # damaged, or no object
        return None
    own_fields = {"certified_epsilon": "audit", "attack": "attack", "study": "study"}  # that only this kind has
    kind = next((kind for field, kind in own_fields.items() if field in result), "result")
    listed, headings = RESULT_TABLES.get(kind, ("", ()))
    kinds = result.get("kinds") if kind == "audit" else None
    outcomes = tuple((name, str(outcome)) for name, outcome in kinds.items()) if isinstance(kinds, dict) else ()
    said = ("sentence", "violated", "judged", "outcome", "refutes_claim", "beyond_bound")  # in the sentence
    shown = [key for key, value in result.items() if isinstance(value, str | int | float) and key not in said]
    return EarlierResult(
        name, kind, picture=next(iter(sorted(path.parent.glob("*.svg"))), None), sentence=str(result.get("sentence", "")),
        wrong=any(result.get(field) is True for field in ("violated", "refutes_claim", "beyond_bound")),
        rows=(*outcomes, *((key, _short(result[key])) for key in shown)), headings=headings,
        table=tuple(sorted(_table(result.get(listed), headings), key=lambda row: "failed" not in row)),
    )  # fmt: skip


def _table(rows: Any, headings: tuple[str, ...]) -> list[list[str]]:
    found = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return [[_short(row.get(heading, "")) for heading in headings] for row in found]


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
