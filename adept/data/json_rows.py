"""Elements of a JSON array as texts; the file is read in parts, so it may be longer than the memory.

*Claim*: where an element ends depends on where it begins and on its own characters. *Proof*: an element ends before the
first comma outside its own strings, lists and objects. The scan keeps a state (how many brackets are open) that is zero
at the beginning of every element, and nothing of earlier elements. A tolerant reader takes a bracket that closes more
than the element opened for one of its characters, and the end of the file for the end of the array. QED. An element is
parsed only after its end is known. The one exception is an element whose strings or brackets never close: it takes what
follows with it.
"""

import re
from collections.abc import Iterator
from typing import IO

from adept.data.csv_rows import LONGEST, MARK

PART = 2**16
TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+("?)|[\[\]{},]', re.DOTALL)
SPACE = " \t\r\n"


class NoArray(Exception):
    """Raised if a text is not one JSON array; the message says why."""


def array_elements(stream: IO[str], *, tolerant: bool = False) -> Iterator[str | None]:
    """Yield the text of each element; None for one of more than ``LONGEST`` characters. A file of no bytes has none.

    Raises:
        NoArray: the text does not begin with a bracket; or, unless ``tolerant``, it ends before the array does or goes on after it.
    """
    if (text := _opened(stream)) is None:
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
                yield from _whole(element if length <= LONGEST else None, last=sign != ",")
                element, length, begin = [], 0, token.end()
                if sign != ",":
                    _check_end(text[begin:], stream)
                    return
        end = len(text) - len(rest)
        length += end - begin
        element = [*element, text[begin:end]] if element is not None and length + len(rest) <= LONGEST else None
        if element is None and rest:
            rest = '"' + ("\\" if (len(rest) - len(rest.rstrip("\\"))) % 2 else "")
            length = LONGEST + 1
        part = stream.read(max(PART, len(rest)))
        if not part:
            if not tolerant:
                raise NoArray("ends inside its array: repair it")
            if element is not None:
                element = ["".join([*element, rest]).rstrip(SPACE).removesuffix("]")]
            yield from _whole(element, last=True)
            return
        text = rest + part


def _opened(stream: IO[str]) -> str | None:
    """Read up to the bracket that opens the array; return what was read after it, None where there is nothing at all."""
    read = stream.read(PART)
    text = read.removeprefix(MARK).lstrip(SPACE)
    if not read:
        return None
    if not text.startswith("["):
        raise NoArray("is no JSON array of objects: add format=jsonl if each line holds one")
    return text[1:]


def _whole(element: list[str] | None, *, last: bool) -> Iterator[str | None]:
    text = None if element is None else "".join(element)
    if text is None or text.strip(SPACE) or not last:  # an empty array, or a comma before the last bracket
        yield text


def _check_end(text: str, stream: IO[str]) -> None:
    while text:
        if text.strip(SPACE):
            raise NoArray("goes on after its array: repair it")
        text = stream.read(PART)
