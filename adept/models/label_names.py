"""Names of labels and terms: the words of a name, and the sentences and texts that are near to it in meaning."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from adept.models.sentence_encoder import Codes, SentenceEncoder
from adept.models.sentences.meanings import Words, words_of
from adept.models.sentences.sentence_list import SentenceList
from adept.models.tokenizer import join_words

MIN_LETTERS, LETTERS_PER_TOKEN = 3, 2  # of a word that can say what a label means: a code is split into letters
MAX_TERM_WORDS = 3  # words of a line that names a thing and is no sentence
MAX_SENTENCES, MIN_PER_TERM = 1000, 8  # sentences for all terms together, and least number for one term
CAPITALS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_\-./:]+")
DIGITS = re.compile(r"(?<=[^\d\W])(?=\d)|(?<=\d)(?=[^\d\W])")


def spell_out(name: str) -> Words:
    """Return the words of a name, such as "card", "payment" and "failed" for "CardPaymentFailed"."""
    return words_of(CAPITALS.sub(" ", name))


def words_of_name(name: str) -> Words:
    """Return the words of a label's name without numbers, split at underscores, hyphens, capitals and digits.

    The result is empty unless one word has MIN_LETTERS English letters, and LETTERS_PER_TOKEN for each of its
    tokens, as "invoice" has (in, ##vo, ##ice) and "qx7" has not.
    """
    parts = [part for word in spell_out(name) for part in DIGITS.split(word)]
    words = tuple(part for part in parts if not part.isdigit())
    return words if any(map(_says_something, words)) else ()


def spell_name(label: str) -> str:
    """Return a label's name as a text: "card payment" for "card_payment", "" for a name without a meaning."""
    return " ".join(words_of_name(label))


def _says_something(word: str) -> bool:
    tokens = SentenceEncoder.load().count_tokens(word)
    return word.isascii() and tokens > 0 and len(word) >= max(MIN_LETTERS, LETTERS_PER_TOKEN * tokens)


def are_terms(lines: Sequence[str], *, most: int = MAX_TERM_WORDS) -> bool:
    """Return True if most lines are as short as a term: they have at most ``most`` words."""
    return 2 * sum(len(words_of(line)) <= most for line in lines) > len(lines)


def sentences_about(sentences: SentenceList, terms: Iterable[str]) -> list[str]:
    """Return the sentences of broad text that are nearest in meaning to each term."""
    asked = list(dict.fromkeys(filter(None, map(spell_out, terms))))
    each = max(MIN_PER_TERM, MAX_SENTENCES // max(1, len(asked)))
    found = dict.fromkeys(
        place
        for products in sentences.compare([*map(" ".join, asked)])
        for place in largest_first(products, each).tolist()
        if products[place] > 0
    )
    return [join_words(sentences[place]) for place in found]


def largest_first(values: NDArray[np.float32] | NDArray[np.int32], most: int) -> NDArray[np.int64]:
    """Return the places of the ``most`` largest values; the largest come first, and of equal ones the first."""
    least = np.partition(values, -most)[-most] if 0 < most < len(values) else values.min(initial=0)
    places = np.flatnonzero(values >= least)  # few are left to sort
    return places[np.argsort(-values[places], kind="stable")[:most]]


def label_by_names(
    labels: Sequence[str], texts: Sequence[str], about: Mapping[str, Sequence[str]] | None = None
) -> list[str] | None:
    """Return for each text the label whose name, and sentences ``about`` it, are nearest by the sentence encoder.

    The result is None if no label has a name or a sentence with a meaning.
    """
    beside, encoder = about or {}, SentenceEncoder.load()
    said = {label: " ".join([spell_name(label), *beside.get(label, ())]).strip() for label in labels}
    named = [label for label, text in said.items() if text]
    if not named:
        return None
    names = encoder.encode([said[label] for label in named]).astype(np.float32)
    return [named[place] for place in (encoder.encode(texts).astype(np.float32) @ names.T).argmax(axis=1).tolist()]


def compare_names(
    sentences: SentenceList, spelled: Sequence[Words], table: Codes | None = None
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Yield, for each name with words, its index and its inner products (N,) with all sentences (``table``)."""
    named = [place for place, words in enumerate(spelled) if words]
    yield from zip(named, sentences.compare([" ".join(spelled[place]) for place in named], table), strict=True)
