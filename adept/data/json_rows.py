"""Elements of a JSON array as texts, a part of the file at a time, so that its length does not matter.

*Claim*: where an element ends depends on where it begins and on its own characters. *Proof*: an element ends before the
first comma outside its own strings, lists and objects. The scan keeps a state (how many brackets are open) that is zero
at the beginning of every element, and nothing of earlier elements. To a tolerant reader a bracket that closes what the
element did not open is one of its characters, and the array ends where the file ends. QED. Whether an element is valid
JSON is decided once its end is known. The exception is an element whose strings or brackets do not close, which takes
what follows with it.
"""

import re
from collections.abc import Iterator
from typing import IO

from adept.data.csv_rows import LONGEST, MARK

PART = 2**16
TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+("?)|[\[\]{},]', re.DOTALL)
SPACE = " \t\r\n"


class NoArray(Exception):
    """A text that is no array, or holds something after it; the message says which."""


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
                raise NoArray("ends before its array does: repair it")
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
    if (
        text is None or text.strip(SPACE) or not last
    ):  # nothing before the last bracket is an empty array, or a comma too many
        yield text


def _check_end(text: str, stream: IO[str]) -> None:
    while text:
        if text.strip(SPACE):
            raise NoArray("goes on after its array: repair it")
        text = stream.read(PART)
