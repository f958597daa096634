"""Save and load the two files of a list of public sentences.

A JSON file holds the utterances and the weights of words, and a second file the listed sentences as
numbers of words, and their groups. Both are checked before the list is built, so that a damaged file causes an error
at once. Of files of adept 0.2 (formats 1 and 2), only the public sentences are read, in the same order, and not the
tables of a language model. Lists of broad text of these formats are refused: their groups are those of a lexicon,
which the sentence encoder replaced.
"""

import hashlib
import json
import sys
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file

from adept.errors import ModelError
from adept.models.config import MAX_LISTED_TEXTS, MAX_VOCABULARY
from adept.models.sentence_encoder import SentenceEncoder
from adept.models.sentences.meanings import MAX_WORDS, ListedTexts, WordWeights
from adept.models.sentences.nearest_text import PLACE_UNIT
from adept.models.sentences.sentence_list import SentenceList
from adept.models.tokenizer import is_writable
from adept.models.untrusted_files import DESCRIPTION, TABLES, ModelFiles, Shape

FORMAT_VERSION, LEXICON_FORMAT, OLD_FORMAT = 3, 2, 1
AGAIN = "adapt or train the model again"
LISTED = "likely"  # the listed sentences as numbers of words
GROUPS, MAX_GROUP_NUMBERS = "groups", 1 << 12  # groups of the listed sentences
MAX_OCCURRENCES = 1 << 30
MAX_UTTERED_WORDS = 2_000_000  # words of all utterances, or of all sentences that are held out
MAX_LISTED_NUMBERS = (MAX_WORDS + 1) * MAX_LISTED_TEXTS


def save_sentences(sentences: SentenceList, directory: Path) -> None:
    description, tables = sentence_content(sentences)
    (directory / DESCRIPTION).write_text(json.dumps(description, ensure_ascii=False) + "\n", "utf-8")
    save_file({name: torch.from_numpy(table) for name, table in tables.items()}, directory / TABLES)


def sentence_content(sentences: SentenceList) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the contents of a list's two files: the fields of the JSON file, and the tables."""
    listed = sentences.listed
    description = {
        "format_version": FORMAT_VERSION,
        "texts": sentences.weigh.texts,
        "holders": dict(sentences.weigh.holders),
        "utterances": [" ".join(words) for words in sentences.utterances],
        "held_out": [" ".join(words) for words in sentences.held_out],
        "listed_words": list(listed.words),
        "encoder": SentenceEncoder.load().sha256 if sentences.is_broad else None,
    }
    return description, {LISTED: listed.flat, GROUPS: listed.groups}


def sentences_sha256(sentences: SentenceList) -> str:
    description, tables = sentence_content(sentences)
    digest = hashlib.sha256(json.dumps(description, sort_keys=True).encode("ascii"))
    for name, table in sorted(tables.items()):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(table).data)
    return digest.hexdigest()


def load_sentences(files: ModelFiles) -> SentenceList:
    """Load a list, empty if adept 0.2 made it from private text; raise ModelError if a file is missing or damaged."""
    path, stored = files.directory / DESCRIPTION, files.objects[DESCRIPTION]
    if is_old := stored.get("format_version") in (OLD_FORMAT, LEXICON_FORMAT):
        if stored.get("lexicon") is not None:
            raise ModelError(f"{path} was made by an older version, which read meaning with a lexicon: {AGAIN}")
        stored = {"held_out": [], **stored, "encoder": None, "listed_words": [], "format_version": FORMAT_VERSION}
    if reason := _wrong(stored):
        raise files.corrupt(DESCRIPTION, reason)
    if stored["encoder"] not in (None, SentenceEncoder.load().sha256):  # it made the groups of listed sentences
        raise ModelError(f"{path} was made with another sentence encoder than this version's: {AGAIN}")
    listed = ListedTexts() if is_old else _read_listed(files, stored["listed_words"])
    if len(listed) + len(stored["utterances"]) > PLACE_UNIT:
        raise files.corrupt(TABLES, f"the table {LISTED} holds too many texts")
    return SentenceList(
        WordWeights(Counter(stored["holders"]), stored["texts"]),
        [tuple(map(sys.intern, text.split(" "))) for text in stored["utterances"]],
        [tuple(text.split(" ")) for text in stored["held_out"]],
        listed,
        stored["encoder"] is not None,
    )


def _read_listed(files: ModelFiles, words: list[str]) -> ListedTexts:
    expected: dict[str, tuple[str, Shape]] = {LISTED: ("int16", (None,)), GROUPS: ("int16", (None,))}
    tables = files.tensors(TABLES, expected, described=DESCRIPTION)
    flat, groups = tables[LISTED].numpy(), tables[GROUPS].numpy()
    if not _are_texts(flat, size=len(words)):
        raise files.corrupt(TABLES, f"the table {LISTED} holds other numbers than a list's")
    if len(groups) != int((flat == 0).sum()) or not bool(((groups >= 0) & (groups < MAX_GROUP_NUMBERS)).all()):
        raise files.corrupt(TABLES, f"the table {GROUPS} holds other numbers than a list's")
    return ListedTexts(words, flat, groups)


def _wrong(stored: dict[str, Any]) -> str:
    """Return a message about the first invalid field of the JSON file, or an empty text."""
    fields = ("texts", "holders", "utterances", "held_out", "listed_words", "encoder")
    texts, holders, utterances, held_out, words, encoder = (stored.get(name) for name in fields)
    checks = {
        "format_version": stored.get("format_version") == FORMAT_VERSION,
        "texts": _is_counts([texts]),
        "holders": isinstance(holders, dict) and _is_counts([texts, *holders.values()], most=texts),
        "listed_words": _are_vocabulary(words),
        "encoder": encoder is None or isinstance(encoder, str),
        "utterances": _are_utterances(utterances),
        "held_out": _are_utterances(held_out),
    }
    wrong = [name for name, right in checks.items() if not right]
    return f"its {wrong[0]} are not those of a list" if wrong else ""


def _are_vocabulary(words: object) -> bool:
    if not isinstance(words, list) or len(words) > MAX_VOCABULARY or words[:1] not in ([], [""]):
        return False
    return all(map(_is_word, words[1:])) and len(set(words)) == len(words)


def _is_word(word: object) -> bool:
    return isinstance(word, str) and is_writable(word) and word.split() == [word]


def _are_utterances(texts: object) -> bool:
    if not (isinstance(texts, list) and all(isinstance(text, str) for text in texts)):
        return False
    parts = [text.split(" ") for text in texts]
    short = all(len(words) <= MAX_WORDS for words in parts) and sum(map(len, parts)) <= MAX_UTTERED_WORDS
    return short and all(map(_is_word, set(chain.from_iterable(parts))))


def _is_counts(values: list[Any], most: Any = MAX_OCCURRENCES) -> bool:
    return all(type(value) is int and 0 <= value <= MAX_OCCURRENCES for value in values) and max(values) <= most


def _are_texts(flat: NDArray[np.int16], *, size: int) -> bool:
    """Return True if ``flat`` holds texts of 1 to MAX_WORDS word numbers, each followed by a 0."""
    inside = (
        bool(((flat >= 0) & (flat < max(1, size))).all()) and not flat[-1:].any() and len(flat) <= MAX_LISTED_NUMBERS
    )
    lengths = np.diff(np.flatnonzero(flat == 0), prepend=-1) - 1
    return inside and bool(((lengths >= 1) & (lengths <= MAX_WORDS)).all())
