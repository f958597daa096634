"""The public sentences of a model: a list, from which ``description`` releases a sentence.

The list holds sentences of the public training text, and no other text; the index of a sentence in the list is its
*description*. The first sentences are the *utterances*, ordered so that, for every k, the first k represent all
utterances well. The others are *listed*, in less memory. *Broad text* is public text about many subjects. A list of
broad text is so long that each record is compared with some of its sentences only; any other list is compared as a
whole. The privacy guarantee of a release holds whichever sentences are chosen (``adept.mechanisms.selection``). The
list keeps no cache from one batch of records to the next, because a faster answer would reveal a repeated record.

*Files*. A JSON file holds the utterances and the weights of words, and a second file the listed sentences as
numbers of words, and their groups. Both are checked before the list is built, so that a damaged file causes an error
at once. Of files of adept 0.2 (formats 1 and 2), only the public sentences are read, in the same order, and not the
tables of a language model. Lists of broad text of these formats are refused: their groups are those of a lexicon,
which the sentence encoder replaced.
"""

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file

from adept.data.texts import text_list
from adept.errors import ConfigurationError, ModelError, refuse
from adept.models.config import MAX_LISTED_TEXTS, MAX_VOCABULARY
from adept.models.sentence_encoder import Codes, SentenceEncoder
from adept.models.sentences.meanings import (
    MAX_LISTED_WORDS,
    MAX_WORDS,
    Learned,
    ListedTexts,
    Words,
    WordWeights,
    meanings_of,
    meanings_of_table,
    multiply_all,
    tabulate,
    words_of,
)
from adept.models.sentences.nearest_text import PLACE_UNIT, SentenceIndex, group_meanings
from adept.models.tokenizer import is_writable, join_words
from adept.models.untrusted_files import DESCRIPTION, TABLES, ModelFiles, Shape

MAX_UTTERANCES = 1 << 14  # sentences of broad text that are utterances; the others are listed
SPOKEN_WORDS = range(4, 17)  # numbers of words of a sentence that may be an utterance
MIN_HOLDERS = 3  # least number of sentences that must hold each word of a kept sentence
COMPARED_TEXTS = 64  # texts whose products with all sentences are computed together
FORMAT_VERSION = 3
AGAIN = "adapt or train the model again"
LISTED = "likely"  # the listed sentences as numbers of words
GROUPS, MAX_GROUP_NUMBERS = "groups", 1 << 12  # groups of the listed sentences
MAX_OCCURRENCES = 1 << 30
MAX_UTTERED_WORDS = 2_000_000  # words of all utterances, or of all sentences that are held out
MAX_LISTED_NUMBERS = (MAX_WORDS + 1) * MAX_LISTED_TEXTS


@dataclass(eq=False)
class SentenceList(Learned):
    """Public sentences that are chosen once, saved with the model, and never changed."""

    weigh: WordWeights
    utterances: list[Words]  # in order
    held_out: Sequence[Words] = ()  # public sentences that are not in the list, for estimates
    listed: ListedTexts = field(default_factory=ListedTexts)  # behind the utterances
    is_broad: bool = False  # True if the sentences are about many subjects

    def __post_init__(self) -> None:
        self._indexes: dict[int, SentenceIndex] = {}

    @classmethod
    def of(cls, texts: Sequence[str], *, held_out: Iterable[str] = (), seed: int = 0) -> "SentenceList":
        """List all different sentences of public training texts."""
        rows = [row for row in map(words_of, texts) if row]
        distinct, weigh = list(dict.fromkeys(rows)), WordWeights.of(rows)
        ordered = [distinct[number] for number in SentenceIndex(distinct, weigh).order(seed=seed)]
        return cls(weigh, ordered, _drop_known(ordered, held_out))

    @classmethod
    def of_broad_text(cls, texts: Sequence[str], *, held_out: Iterable[str] = (), seed: int = 0) -> "SentenceList":
        """List those sentences of broad public text that hold no rare words."""
        different = list(dict.fromkeys(row for row in map(words_of, texts) if row))
        rows = sorted(_of_common_words(different), key=lambda row: len(row) not in SPOKEN_WORDS)
        weigh, utterances = WordWeights.of(different), rows[:MAX_UTTERANCES]
        listed = ListedTexts.of(rows[MAX_UTTERANCES:])
        listed.groups = group_meanings(_read_all([], listed), seed=seed)
        return cls(weigh, utterances, _drop_known(utterances, held_out), listed, True)

    def __len__(self) -> int:
        return len(self.utterances) + len(self.listed)

    def __getitem__(self, place: int) -> Words:
        count = len(self.utterances)
        return self.utterances[place] if place < count else self.listed[place - count]

    def spread(self, first: int, count: int) -> NDArray[np.int32]:
        """Return the places of ``count`` sentences behind the ``first``: one of each group, then a second one, and so on."""
        groups = self.listed.groups
        order = np.argsort(groups, kind="stable")
        turns = np.arange(len(order)) - np.searchsorted(groups[order], groups[order])
        places = len(self.utterances) + order[np.lexsort((order, turns))].astype(np.int32)
        return places[places >= first][:count]

    def nearest(self, texts: Sequence[str], *, size: int, count: int = 1) -> list[list[int]]:
        """Return, for each text alone, the ``count`` nearest of the first ``size`` sentences."""
        records = text_list(texts)
        refuse(
            (
                not 1 <= count <= size <= len(self),
                f"size must be from {count} to {len(self)}, the number of public sentences, got {size}",
            )
        )
        return list(self.index(size).several(records, count))

    def index(self, size: int | None = None) -> SentenceIndex:
        """Return the index of the first ``size`` sentences, by default of all."""
        count = len(self) if size is None else size
        if count not in self._indexes:
            said = self.utterances[:count]
            more = self.listed.first(count - len(said))
            self._indexes[count] = SentenceIndex(said, self.weigh, more, compares_all=not self.is_broad)
        return self._indexes[count]

    def table(self) -> Codes:
        """Return the meanings (N, d) of all sentences; raise ModelError unless they are broad text."""
        if not self.is_broad:
            raise ModelError("model_dir must hold a model of broad text: leave model_dir out, or give examples")
        return _read_all(self.utterances, self.listed)

    def compare(self, asked: Sequence[str], table: Codes | None = None) -> Iterator[NDArray[np.float32]]:
        """Yield, for each text, the inner products (N,) of its meaning with ``table`` (``self.table()``)."""
        table = self.table() if table is None else table
        for start in range(0, len(asked), COMPARED_TEXTS):
            yield from multiply_all(meanings_of(asked[start : start + COMPARED_TEXTS]), table)

    def write(self, places: Sequence[int]) -> list[str]:
        """Return the sentences at the given places."""
        for row, place in enumerate(places, start=1):
            if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < len(self):
                raise ConfigurationError(
                    f"places must be integers from 0 to {len(self) - 1}, got another value in record {row}"
                )
        return [join_words(self[place]) for place in places]


def _read_all(texts: Sequence[Words], more: ListedTexts) -> Codes:
    words, table = tabulate(texts, more)
    return meanings_of_table([*words], table)


def _drop_known(known: Iterable[Words], texts: Iterable[str]) -> list[Words]:
    """Return the different texts that are not among the known ones, as words."""
    held = set(known)
    return [words for words in dict.fromkeys(map(words_of, texts)) if words and words not in held]


def _of_common_words(rows: Sequence[Words]) -> Sequence[Words]:
    while True:
        holders = Counter(word for row in rows for word in set(row))
        common = {word for word, count in holders.most_common(MAX_LISTED_WORDS - 2) if count >= MIN_HOLDERS}
        kept = [row for row in rows if common.issuperset(row)]
        if len(kept) == len(rows):
            return kept
        rows = kept


# --- The two files of a list


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
    if is_old := stored.get("format_version") in (1, 2):
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
