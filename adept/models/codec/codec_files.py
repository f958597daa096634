"""Save and load the two files of a codec, and its list of likely texts.

A JSON file holds the words and the utterances. A second file holds the n-grams and, if the list was
already made, the listed texts. Both files are checked before the codec is built, so that a damaged
file causes an error at once, and not later for some records.
"""

import hashlib
import json
from collections import Counter
from dataclasses import replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file

from adept.errors import ModelError
from adept.models.codec.codec import Codec
from adept.models.codec.listed_texts import ListedTexts
from adept.models.codec.nearest_text import PLACE_UNIT
from adept.models.codec.word_weights_and_meanings import WordWeights
from adept.models.config import MAX_LISTED_TEXTS, MAX_VOCABULARY
from adept.models.language_model.ngram_mixture import CLASS_ORDER, LETTER_ORDER, WORD_ORDER, LanguageModel, UnknownWords
from adept.models.language_model.ngrams import MAX_NGRAMS, Ngrams
from adept.models.language_model.vocabulary import END_WORD, MAX_WORDS, UNKNOWN_WORD, Vocabulary
from adept.models.tokenizer import is_writable
from adept.models.untrusted_files import Shape, corrupt, read_json, read_tensors
from adept.models.word_vectors import Lexicon

DESCRIPTION, TABLES = "codec.json", "codec.safetensors"
FORMAT_VERSION = 1
ORDERS = {"words": WORD_ORDER, "classes": CLASS_ORDER, "letters": LETTER_ORDER}
LIKELY = "likely"  # the listed texts as numbers of words
GROUPS, MAX_GROUP_NUMBERS = "groups", 1 << 12  # groups of the listed texts, if texts are found by meaning
MAX_OCCURRENCES = 1 << 30
MAX_ALPHABET, MAX_STORED_HELD_OUT = 50_000, 10_000
MAX_UTTERED_WORDS = 2_000_000  # words of all utterances together
MAX_LIKELY = (MAX_WORDS + 1) * MAX_LISTED_TEXTS


def save_codec(codec: Codec, directory: Path) -> None:
    description, tables = codec_content(codec)
    (directory / DESCRIPTION).write_text(json.dumps(description, ensure_ascii=False) + "\n", "utf-8")
    save_file({name: torch.from_numpy(table) for name, table in tables.items()}, directory / TABLES)


def codec_content(codec: Codec) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the contents of a codec's two files: the fields of the JSON file, and the tables."""
    model, vocabulary, listed = codec.model, codec.model.vocabulary, codec.listed
    description = {
        "format_version": FORMAT_VERSION,
        "words": vocabulary.words,
        "classes": vocabulary.classes,
        "counts": vocabulary.counts,
        "alphabet": model.spelling.alphabet,
        "texts": codec.weigh.texts,
        "holders": dict(codec.weigh.holders),
        "utterances": [" ".join(words) for words in codec.utterances],
    }
    parts = {"words": model.words, "classes": model.classes, "letters": model.spelling.letters}
    tables: dict[str, NDArray[Any]] = {
        name: np.ascontiguousarray(np.column_stack([ngrams.rows, ngrams.counts])) for name, ngrams in parts.items()
    }
    if len(listed):
        description[LIKELY], tables[LIKELY] = len(listed.flat), listed.flat
        if listed.words != vocabulary.words:  # listed texts came from another model
            description["listed_words"] = list(listed.words)
    if codec.lexicon:
        description["lexicon"], tables[GROUPS] = codec.lexicon.sha256, listed.groups
    if codec.unlisted:
        description["unlisted"] = codec.unlisted
    if codec.held_out:
        description["held_out"] = [" ".join(words) for words in codec.held_out]
    return description, tables


def codec_sha256(codec: Codec) -> str:
    description, tables = codec_content(codec)
    digest = hashlib.sha256(json.dumps(description, sort_keys=True).encode("ascii"))
    for name, table in sorted(tables.items()):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(table).data)
    return digest.hexdigest()


def save_list(codec: Codec, path: Path) -> None:
    save_file({LIKELY: torch.from_numpy(codec.listed.flat)}, path)


def load_list(codec: Codec, path: Path) -> Codec:
    """Return a codec with the likely texts of a file; raise ModelError if the file is damaged."""
    tables = read_tensors(path, {LIKELY: ("int16", (None,))}, description=DESCRIPTION)
    words, flat = codec.model.vocabulary.words, tables[LIKELY].numpy()
    most = max(0, codec.unlisted - len(codec.utterances))
    if int((flat == 0).sum()) > most or (len(flat) and not _are_texts(flat, size=len(words))):
        raise corrupt(path, f"the table {LIKELY} holds other numbers than texts have")
    return replace(codec, listed=ListedTexts(words, flat), unlisted=0)


def load_codec(directory: Path) -> Codec:
    """Load a codec from a directory; raise ModelError if a file is missing or damaged."""
    path = directory / DESCRIPTION
    _, stored = read_json(path)
    if reason := _wrong(stored):
        raise corrupt(path, reason)
    lexicon = Lexicon.load() if "lexicon" in stored else None
    if lexicon and stored["lexicon"] != lexicon.sha256:
        raise ModelError(f"{path} was made with another lexicon than this version's: train the model again")
    vocabulary = Vocabulary(stored["words"], stored["classes"], stored["counts"])
    sizes = {
        "words": len(vocabulary.words),
        "classes": vocabulary.classes[-1] + 1,
        "letters": len(stored["alphabet"]) + 1,
    }
    tables = _read_tables(directory / TABLES, stored, sizes)
    words, classes, letters = (Ngrams(tables[name][:, :-1], tables[name][:, -1], size) for name, size in sizes.items())
    return Codec(
        LanguageModel(vocabulary, words, classes, UnknownWords(letters, stored["alphabet"], vocabulary.words)),
        WordWeights(Counter(stored["holders"]), stored["texts"]),
        [tuple(text.split(" ")) for text in stored["utterances"]],
        [tuple(text.split(" ")) for text in stored.get("held_out", [])],
        ListedTexts(stored.get("listed_words", vocabulary.words), tables.get(LIKELY), tables.get(GROUPS)),
        stored.get("unlisted", 0),
        lexicon,
        directory,
    )


def _read_tables(path: Path, stored: dict[str, Any], sizes: dict[str, int]) -> dict[str, NDArray[Any]]:
    expected: dict[str, tuple[str, Shape]] = {name: ("int32", (None, order + 1)) for name, order in ORDERS.items()}
    if LIKELY in stored:
        expected[LIKELY] = "int16", (stored[LIKELY],)
    if "lexicon" in stored:
        expected[GROUPS] = "int16", (None,)
    tables = {name: table.numpy() for name, table in read_tensors(path, expected, description=DESCRIPTION).items()}
    right = {name: _are_ngrams(tables[name], size=size) for name, size in sizes.items()}
    if LIKELY in tables:
        right[LIKELY] = _are_texts(tables[LIKELY], size=len(stored.get("listed_words", stored["words"])))
    if GROUPS in tables:
        texts, groups = int((tables.get(LIKELY, np.ones(1)) == 0).sum()), tables[GROUPS]
        right[LIKELY] = right.get(LIKELY, True) and texts + len(stored["utterances"]) <= PLACE_UNIT
        right[GROUPS] = len(groups) == texts and bool(((groups >= 0) & (groups < MAX_GROUP_NUMBERS)).all())
    if wrong := [name for name, is_right in right.items() if not is_right]:
        raise corrupt(path, f"the table {wrong[0]} holds other numbers than a codec's")
    return tables


def _wrong(stored: dict[str, Any]) -> str:
    """Return a message about the first invalid field of a codec's JSON file, or an empty text."""
    fields = ("words", "classes", "counts", "alphabet", "holders", "utterances")
    parts: list[Any] = [stored.get(name) for name in fields]
    words, classes, counts, alphabet, holders, utterances = parts
    held_out = stored.get("held_out", [])
    checks = {
        "format_version": stored.get("format_version") == FORMAT_VERSION,
        "words": _are_vocabulary(words),
        "classes": _is_counts(classes)
        and classes[:3] in ([0, 1], [0, 1, 2])
        and all(b - a in (0, 1) for a, b in pairwise(classes)),
        "counts": _is_counts(counts) and min(counts, default=0) >= 1,
        "alphabet": isinstance(alphabet, str)
        and len(set(alphabet)) == len(alphabet) <= MAX_ALPHABET
        and all(map(_is_word, alphabet)),
        "texts": _is_counts([stored.get("texts")]),
        "listed_words": _are_vocabulary(stored.get("listed_words", [END_WORD, UNKNOWN_WORD])),
        LIKELY: _is_counts([stored.get(LIKELY, 0)]) and stored.get(LIKELY, 0) <= MAX_LIKELY,
        "unlisted": _is_counts([stored.get("unlisted", 0)])
        and stored.get("unlisted", 0) <= (0 if "lexicon" in stored or not utterances else MAX_LISTED_TEXTS),
        "holders": isinstance(holders, dict) and _is_counts(list(holders.values())),
        "utterances": _are_utterances(utterances)
        and sum(text.count(" ") + 1 for text in utterances) <= MAX_UTTERED_WORDS,
        "held_out": _are_utterances(held_out) and len(held_out) <= MAX_STORED_HELD_OUT,
    }
    if wrong := [name for name, right in checks.items() if not right]:
        return f"its {wrong[0]} are not those of a codec"
    same = len(words) == len(classes) == len(counts) and max(holders.values(), default=0) <= stored["texts"]
    return "" if same else "its lists do not fit each other"


def _are_vocabulary(words: object) -> bool:
    if not isinstance(words, list) or len(words) > MAX_VOCABULARY or words[:2] != [END_WORD, UNKNOWN_WORD]:
        return False
    return all(map(_is_word, words[2:])) and len(set(words)) == len(words)


def _is_word(word: object) -> bool:
    return isinstance(word, str) and is_writable(word) and word.split() == [word]


def _are_utterances(texts: object) -> bool:
    if not (isinstance(texts, list) and all(isinstance(text, str) for text in texts)):
        return False
    parts = [text.split(" ") for text in texts]
    return all(len(words) <= MAX_WORDS for words in parts) and all(map(_is_word, set(chain.from_iterable(parts))))


def _is_counts(values: object) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value <= MAX_OCCURRENCES for value in values)


def _are_texts(flat: NDArray[np.int16], *, size: int) -> bool:
    """Return True if ``flat`` holds texts of 1 to MAX_WORDS word numbers, each followed by a 0."""
    inside = bool(((flat >= 0) & (flat < size) & (flat != 1)).all()) and bool(flat[-1:].any() == 0 < len(flat))
    lengths = np.diff(np.flatnonzero(flat == 0), prepend=-1) - 1
    return inside and bool(((lengths >= 1) & (lengths <= MAX_WORDS)).all())


def _are_ngrams(table: NDArray[np.int32], *, size: int) -> bool:
    most = np.array([*[size] * (table.shape[1] - 2), size - 1, MAX_OCCURRENCES])
    inside = bool(((table >= 0) & (table <= most)).all() and (table[:, -1] >= 1).all())
    return inside and len(table) <= MAX_NGRAMS
