"""Public sentences near to a domain: which of a broad model's own texts are about what a user names.

A user who has no examples has words: names of products, a glossary, a page of help, labels. The sentences of a broad model that
mean most nearly what a word does show how people speak of it. All of it reads public text alone.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from adept.errors import ModelError
from adept.models.codec.codec import Codec, text_of, words_of
from adept.models.codec.listed_texts import MAX_LISTED_WORDS, ListedTexts, Words
from adept.models.codec.meaning import Codes, Meanings, join_groups, multiply_all

MAX_TERM_WORDS = 3  # words of a line that names a thing rather than says something
MAX_SENTENCES, MIN_PER_TERM = 1000, 8  # that stand for all terms together, and for one of them at least
BATCH_TEXTS = 64  # texts whose products with all sentences are computed together


def spell_out(name: str) -> str:
    """Return a label's or a product's name in words: "card_payment-failed" and "CardPaymentFailed" are three."""
    return " ".join(words_of(re.sub(r"(?<=[a-z])(?=[A-Z])|[_\-./:]+", " ", name)))


def are_terms(lines: Sequence[str]) -> bool:
    """Return True if lines name things rather than say something: most of them have at most MAX_TERM_WORDS words."""
    return 2 * sum(len(words_of(line)) <= MAX_TERM_WORDS for line in lines) > len(lines)


def read_page(page: str) -> list[str]:
    """Return the headings and sentences of a page in Markdown or plain text, without marks, addresses and code."""
    text = re.sub(r"```.*?```|<[^>]*>|!?\[([^\]]*)\]\([^)]*\)", r"\1", page, flags=re.DOTALL)
    lines = (re.sub(r"^[\s#>*+\-|]+|[*_`|]+", " ", line) for line in text.splitlines())
    parts = (part.strip() for line in lines for part in re.split(r"(?<=[.!?])\s+", line))
    return [part for part in parts if words_of(part)]


def sentences_about(codec: Codec, terms: Iterable[str]) -> list[str]:
    """Return the sentences of a broad model's codec that mean most nearly what terms do, as many for each term.

    Raises:
        ModelError: the model is not broad.
    """
    asked = list(dict.fromkeys(filter(None, map(spell_out, terms))))
    meanings, table = _meanings_of(codec)
    each = max(MIN_PER_TERM, MAX_SENTENCES // max(1, len(asked)))
    products = multiply_all(meanings.of(map(words_of, asked)), table)
    found = [place for row in products for place in np.argsort(-row, kind="stable")[:each].tolist() if row[place] > 0]
    return [text_of(_sentence(codec, place)) for place in dict.fromkeys(found)]


def nearest_first(
    codec: Codec, texts: Sequence[str], *, most: int, besides: int = 0
) -> tuple[list[Words], list[Words], ListedTexts]:
    """Return the ``most`` sentences of a broad model's codec nearest in meaning to any of some texts, and the others.

    Of the others up to ``besides`` come first, by chance: the order of the codec's utterances says nothing.
    """
    meanings, table = _meanings_of(codec)
    nearness = np.full(len(table), -np.inf, dtype=np.float32)
    for start in range(0, len(texts), BATCH_TEXTS):
        asked = meanings.of(map(words_of, texts[start : start + BATCH_TEXTS]))
        nearness = np.maximum(nearness, multiply_all(asked, table).max(axis=0))
    first = np.argsort(-nearness, kind="stable")[:most]
    second = np.setdiff1d(np.arange(len(codec.utterances)), first)[:besides]
    near, others = ([_sentence(codec, place) for place in places.tolist()] for places in (first, second))
    return near, others, _list_without(codec, table, np.concatenate([first, second]))


def _meanings_of(codec: Codec) -> tuple[Meanings, Codes]:
    """Return what texts mean, and what all sentences of a broad model's codec do (N, d)."""
    if codec.lexicon is None:
        raise ModelError("model_dir must hold a model of broad text: leave model_dir out, or give examples")
    meanings = Meanings(codec.lexicon, codec.weigh)
    return meanings, meanings.of(codec.utterances, codec.listed)


def _sentence(codec: Codec, place: int) -> Words:
    said = codec.utterances
    return said[place] if place < len(said) else codec.listed[place - len(said)]


def _list_without(codec: Codec, table: Codes, places: NDArray[np.int64]) -> ListedTexts:
    """Return all sentences but those at some places, as listed texts.

    Raises:
        ModelError: they are too many to be numbers of 16 bits.
    """
    said, listed = codec.utterances, codec.listed
    kept = np.ones(len(table), dtype=bool)
    kept[places] = False
    stay = [row for row, stays in zip(said, kept, strict=False) if stays]
    words = list(dict.fromkeys(chain(listed.words, *stay)))
    if len(words) > MAX_LISTED_WORDS:
        raise ModelError(
            f"model_dir has over {MAX_LISTED_WORDS:,} different words: adapt the model that it was adapted from"
        )
    numbers = {word: number for number, word in enumerate(words)}
    left = [numbers[word] for row in stay for word in (*row, words[0])]
    lengths = np.diff(listed.ends, prepend=-1)
    flat = [np.array(left, dtype=np.int16), listed.flat[np.repeat(kept[len(said) :], lengths)]]
    return ListedTexts(words, np.concatenate(flat), join_groups(table, listed.groups)[kept])
