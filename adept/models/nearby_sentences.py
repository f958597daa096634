"""Public sentences near to a domain: which of a broad model's own texts are about what a user names.

A user who has no examples has words: names of products, a glossary, a page of help, the names of the labels. A broad model holds
hundreds of thousands of sentences that people said, and those that mean most nearly what a word does show how people speak of it
(``adept.models.codec.meaning``). All of it reads public text alone.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from adept.errors import ModelError
from adept.models.codec.codec import Codec, text_of, words_of
from adept.models.codec.listed_texts import MAX_LISTED_WORDS, ListedTexts, Words
from adept.models.codec.meaning import Meanings, join_groups

MAX_TERM_WORDS = 3  # words of a line that names a thing rather than says something
MAX_SENTENCES, MIN_PER_TERM = 1000, 8  # that stand for all terms together, and for one of them at least
BATCH_SENTENCES = 1 << 14  # sentences whose products are computed together
BATCH_TEXTS = 64  # texts whose products with all sentences are computed together


def spell_out(name: str) -> str:
    """Return a label's or a product's name in words: "card_payment-failed" and "CardPaymentFailed" are three."""
    return " ".join(words_of(re.sub(r"(?<=[a-z])(?=[A-Z])|[_\-./:]+", " ", name)))


def are_terms(lines: Sequence[str]) -> bool:
    """Return True if lines name things rather than say something: most of them have at most MAX_TERM_WORDS words."""
    return 2 * sum(len(words_of(line)) <= MAX_TERM_WORDS for line in lines) > len(lines)


def read_page(page: str) -> list[str]:
    """Return the headings and sentences of a page in Markdown or plain text, without its marks, links' addresses and code."""
    text = re.sub(r"```.*?```|<[^>]*>|!?\[([^\]]*)\]\([^)]*\)", r"\1", page, flags=re.DOTALL)
    lines = (re.sub(r"^[\s#>*+\-|]+|[*_`|]+", " ", line) for line in text.splitlines())
    parts = (part.strip() for line in lines for part in re.split(r"(?<=[.!?])\s+", line))
    return [part for part in parts if words_of(part)]


def sentences_about(codec: Codec, terms: Iterable[str]) -> list[str]:
    """Return the sentences of a broad model's codec that mean most nearly what terms do, the same number for each term.

    Raises:
        ModelError: the model is not broad.
    """
    asked = list(dict.fromkeys(filter(None, map(spell_out, terms))))
    sentences = _Sentences(codec)
    each = max(MIN_PER_TERM, MAX_SENTENCES // max(1, len(asked)))
    products = sentences.products(asked)
    found = [place for row in products for place in np.argsort(-row, kind="stable")[:each].tolist() if row[place] > 0]
    return [text_of(sentences[place]) for place in dict.fromkeys(found)]


def nearest_first(
    codec: Codec, texts: Sequence[str], *, most: int, besides: int = 0
) -> tuple[list[Words], list[Words], ListedTexts]:
    """Return the ``most`` sentences of a broad model's codec that mean most nearly what any of some texts does, and the others.

    Of the others up to ``besides`` come first, by chance: the first of the codec's utterances, whose order says nothing.
    """
    sentences = _Sentences(codec)
    nearness = np.full(len(sentences), -np.inf, dtype=np.float32)
    for start in range(0, len(texts), BATCH_TEXTS):
        nearness = np.maximum(nearness, sentences.products(texts[start : start + BATCH_TEXTS]).max(axis=0))
    first = np.argsort(-nearness, kind="stable")[:most]
    second = np.setdiff1d(np.arange(len(codec.utterances)), first)[:besides]
    near, others = ([sentences[place] for place in places.tolist()] for places in (first, second))
    return near, others, sentences.without(np.concatenate([first, second]))


class _Sentences:
    """All sentences of a broad model's codec by number, and what they mean."""

    def __init__(self, codec: Codec) -> None:
        if codec.lexicon is None:
            raise ModelError("model_dir must hold a model of broad text: leave model_dir out, or give examples")
        self.codec, self.meanings = codec, Meanings(codec.lexicon, codec.weigh)
        self._table = np.concatenate([self.meanings.of(codec.utterances), self.meanings.of_listed(codec.listed)])

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, place: int) -> Words:
        said = self.codec.utterances
        return said[place] if place < len(said) else self.codec.listed[place - len(said)]

    def products(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the products (B, N) of the meanings of texts with those of all sentences."""
        asked = self.meanings.of(map(words_of, texts)).astype(np.float32)
        parts = np.array_split(self._table, max(1, len(self._table) // BATCH_SENTENCES))
        return np.concatenate([asked @ part.astype(np.float32).T for part in parts], axis=1)

    def without(self, places: NDArray[np.int64]) -> ListedTexts:
        """Return all sentences but those at some places, as listed texts; words that only the codec's utterances have come last.

        Raises:
            ModelError: they are too many to be numbers of 16 bits.
        """
        said, listed = self.codec.utterances, self.codec.listed
        kept = np.ones(len(self), dtype=bool)
        kept[places] = False
        lengths = np.diff(listed.ends, prepend=-1)
        stay = [row for row, stays in zip(said, kept, strict=False) if stays]
        words = list(dict.fromkeys(chain(listed.words, *stay)))
        if len(words) > MAX_LISTED_WORDS:
            raise ModelError(
                f"model_dir has over {MAX_LISTED_WORDS:,} different words: adapt the model that it was adapted from"
            )
        numbers = {word: number for number, word in enumerate(words)}
        left = [numbers[word] for row in stay for word in (*row, words[0])]
        flat = [np.array(left, dtype=np.int16), listed.flat[np.repeat(kept[len(said) :], lengths)]]
        return ListedTexts(words, np.concatenate(flat), join_groups(self._table, listed.groups)[kept])
