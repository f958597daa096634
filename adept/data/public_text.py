"""Broad public text, thinned: no text twice, few texts of one template, no source or subject that drowns the others."""

import random
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from adept.data.reading import read_records
from adept.errors import DataError

COMMON_IN = 60  # texts that hold a word which belongs to a template; rarer ones and numbers are what fills it
MAX_OF_TEMPLATE = 3  # texts of one template that are kept, the first ones
MAX_WORDS = 30  # of a text that is kept
MAX_OF_SUBJECT, MAX_OF_SOURCE = 8_000, 16_000  # texts that are kept of one subject of a source, and of one source
MAX_OF_DIALOGUES = 60_000  # of the sources in DIALOGUES, which hold many subjects without naming them
DIALOGUES = ("sgd",)


class PublicText(NamedTuple):
    """A text, its source, and the subject that the source names, or the source again."""

    text: str
    source: str
    subject: str


def read_public_texts(directories: Iterable[str | Path]) -> list[PublicText]:
    """Read the train.* and part-* files of directories, with the columns text, source and, where there is one, domain.

    Raises:
        DataError: a directory has no such files, or a record lacks text or source.
    """
    texts = []
    for directory in map(Path, directories):
        paths = sorted(path for pattern in ("train.*", "part-*") for path in directory.glob(pattern))
        if not paths:
            raise DataError(f"{directory} has no train.* or part-*: name a directory of public text")
        for record in (record for path in paths for record in read_records(str(path))):
            text, source = record.get("text"), record.get("source")
            if not isinstance(text, str) or not isinstance(source, str):
                raise DataError(f"{directory} must hold records with text and source, got one without")
            texts.append(PublicText(text, source, str(record.get("domain", source))))
    return texts


def thin_texts(texts: Iterable[PublicText], *, seed: int = 0) -> list[PublicText]:
    """Return different texts of 1 to MAX_WORDS words in an order by chance, few of each template, subject and source.

    A template is what is left of a text without its rare words and its numbers; texts without such words are all kept.
    """
    order = list(texts)
    random.Random(seed).shuffle(order)
    rows = [tuple(re.findall(r"\w+", text.text.lower())) for text in order]
    holders = Counter(word for row in rows for word in set(row))
    seen: set[tuple[str, ...]] = set()
    templates: Counter[tuple[str, ...]] = Counter()
    subjects: Counter[tuple[str, str]] = Counter()
    sources: Counter[str] = Counter()
    kept = []
    for text, row in zip(order, rows, strict=True):
        if not 1 <= len(row) <= MAX_WORDS or row in seen:
            continue
        seen.add(row)
        template = tuple(word if holders[word] >= COMMON_IN and not word.isdigit() else "" for word in row)
        dialogues, subject = text.source in DIALOGUES, (text.source, text.subject)
        if (
            ("" in template and templates[template] >= MAX_OF_TEMPLATE)
            or sources[text.source] >= (MAX_OF_DIALOGUES if dialogues else MAX_OF_SOURCE)
            or subjects[subject] >= (MAX_OF_DIALOGUES if dialogues else MAX_OF_SUBJECT)
        ):
            continue
        templates[template] += 1
        subjects[subject] += 1
        sources[text.source] += 1
        kept.append(text)
    return kept
