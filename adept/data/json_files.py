"""Read and write JSON: one object on each line (jsonl), or one array of objects (json).

The reader of an array first finds the text of an element, and then parses the element. It reads the
file in parts, so the file may be larger than the memory.

*Claim*: suppose that an element closes all its strings and brackets. Then its end depends only on the place where the
element begins and on the characters of the element. *Proof*: an element ends before the first comma that lies outside
all strings, lists and objects that were opened since the element began. The reader remembers only the number of
brackets that are open. The number is zero at the beginning of every element, so the reader remembers nothing of
earlier elements. A tolerant reader treats a closing bracket that no bracket opened as an ordinary character of the
element. A tolerant reader also treats the end of the file as the end of the array. QED.

An element that does not close a string or bracket takes in later ones (``reading.READING_EXCEPTIONS``).
"""

import datetime
import decimal
import json
import math
import re
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, repeat
from typing import IO, Any

from adept.data.formats import (
    BYTE_ORDER_MARK,
    MAX_CHARACTERS,
    TOO_LONG,
    DamagedRecord,
    Record,
    UnfitFile,
    Write,
    check_text,
    read_lines,
)
from adept.errors import DataError

MAX_DEPTH = 100  # lists and objects inside each other: what is deeper could not be written again
PART_CHARACTERS = 2**16  # read at once from an array
TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+("?)|[\[\]{},]', re.DOTALL)
SPACE = " \t\r\n"
NOT_JSON = "bytes, NUL, infinity, a date beyond the calendar or too deep a list"


def read_jsonl(stream: IO[str], *, tolerant: bool = False) -> Iterator[Record]:
    """Yield the object of each line that is not blank; lone surrogates become U+FFFD."""
    lines = (line for line in read_lines(stream, tolerant=tolerant) if line.strip())
    yield from (_object_of(line, tolerant=tolerant) for line in lines)


def read_json(stream: IO[str], *, tolerant: bool = False) -> Iterator[Record]:
    """Yield the objects in a JSON array.

    With ``tolerant``, only a missing opening bracket of the array raises an error.
    """
    for text in array_elements(stream, tolerant=tolerant):
        if text:
            text = text.replace("\0", "\ufffd") if tolerant else check_text(text)
        yield _object_of(text, tolerant=tolerant)


def _object_of(text: str | None, *, tolerant: bool) -> Record:
    try:
        if text is None:
            raise DamagedRecord(TOO_LONG)
        return _parse(text)
    except DamagedRecord:
        if not tolerant:
            raise
        return {}


def _parse(line: str) -> Record:
    try:
        record = json.loads(line, object_pairs_hook=_unique_object)
        if "\\ud" in line.lower():
            pairs = json.dumps(record, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            record = json.loads(pairs, object_pairs_hook=_unique_object)
    except (ValueError, RecursionError):
        opened = line.strip() == "{"
        several = "an object over several lines, which must stand on one line, or in an array"
        raise DamagedRecord(several if opened else "no valid JSON") from None
    if not isinstance(record, dict):
        raise DamagedRecord('not a JSON object such as {"text": "..."}')
    if line.count("[") + line.count("{") > MAX_DEPTH and _is_deep(record):
        raise DamagedRecord(f"lists or objects more than {MAX_DEPTH} deep")
    return record


def _unique_object(pairs: list[tuple[str, Any]]) -> Record:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise DamagedRecord("an object with the same name twice")
    return record


def _is_deep(record: Record) -> bool:
    level: list[Any] = [record]
    for _ in range(MAX_DEPTH):
        inside = [part.values() if isinstance(part, dict) else part for part in level]
        level = [value for values in inside for value in values if isinstance(value, dict | list)]
    return bool(level)


def array_elements(stream: IO[str], *, tolerant: bool = False) -> Iterator[str | None]:
    """Yield the text of each element of a JSON array; None for an element that is too long."""
    if (text := _read_opening(stream)) is None:
        return
    element: list[str] | None = []
    length = depth = 0
    while True:
        begin, rest = 0, ""
        for token in TOKEN.finditer(text):
            sign = text[token.start()]
            if sign == '"':
                if not token[1]:  # the string goes on in the next part
                    rest = text[token.start() :]
                    break
            elif sign in "[{":
                depth += 1
            elif depth and sign in "]}":
                depth -= 1
            elif not depth and (sign == "," or not tolerant):
                length += token.start() - begin
                if element is not None:
                    element.append(text[begin : token.start()])
                yield from _join_element(element if length <= MAX_CHARACTERS else None, last=sign != ",")
                element, length, begin = [], 0, token.end()
                if sign != ",":
                    _check_end(text[begin:], stream)
                    return
        end = len(text) - len(rest)
        length += end - begin
        element = [*element, text[begin:end]] if element is not None and length + len(rest) <= MAX_CHARACTERS else None
        if element is None and rest:
            rest = '"' + ("\\" if (len(rest) - len(rest.rstrip("\\"))) % 2 else "")
            length = MAX_CHARACTERS + 1
        part = stream.read(max(PART_CHARACTERS, len(rest)))
        if not part:
            if not tolerant:
                raise UnfitFile("ends inside its array: repair it")
            if element is not None:
                element = ["".join([*element, rest]).rstrip(SPACE).removesuffix("]")]
            yield from _join_element(element, last=True)
            return
        text = rest + part


def _read_opening(stream: IO[str]) -> str | None:
    read = stream.read(PART_CHARACTERS)
    text = read.removeprefix(BYTE_ORDER_MARK).lstrip(SPACE)
    if not read:
        return None
    if not text.startswith("["):
        raise UnfitFile("is no JSON array of objects: add format=jsonl if each line holds one")
    return text[1:]


def _join_element(element: list[str] | None, *, last: bool) -> Iterator[str | None]:
    text = None if element is None else "".join(element)
    if text is None or text.strip(SPACE) or not last:  # an empty array, or a comma before the last bracket
        yield text


def _check_end(text: str, stream: IO[str]) -> None:
    if text.strip(SPACE) or any(part.strip(SPACE) for part in iter(lambda: stream.read(PART_CHARACTERS), "")):
        raise UnfitFile("goes on after its array: repair it")


@contextmanager
def write_jsonl(stream: IO[str], columns: Sequence[str], types: Any = None) -> Iterator[Write]:
    """Yield a function that writes each record as an object on its own line; NaN becomes null."""
    yield lambda records: stream.writelines(
        to_json({column: record[column] for column in columns}) + "\n" for record in records
    )


def _replace_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _replace_nan(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_nan(part) for part in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def to_json(value: Any) -> str:
    try:
        return json.dumps(_replace_nan(value), ensure_ascii=False, allow_nan=False, default=_spell)
    except (TypeError, ValueError, RecursionError):
        raise DataError(f"a kept column holds {NOT_JSON}: leave it out, or write parquet") from None


def _spell(value: Any) -> str:
    match value:
        case datetime.date() | datetime.time():
            return value.isoformat()
        case decimal.Decimal() | datetime.timedelta() | uuid.UUID():
            return str(value)
    raise TypeError


@contextmanager
def write_json(stream: IO[str], columns: Sequence[str], types: Any = None) -> Iterator[Write]:
    """Yield a function that writes records as one array, with one object on each line."""
    begins = chain(["[\n"], repeat(",\n"))  # of the first object, and of each later one
    yield lambda records: stream.writelines(
        next(begins) + to_json({column: record[column] for column in columns}) for record in records
    )
    stream.write("[]\n" if next(begins) == "[\n" else "\n]\n")
