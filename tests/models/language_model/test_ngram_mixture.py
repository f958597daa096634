"""Claims about words outside a vocabulary: said in both directions alike, and English ones in fewer bits than letters take."""

import math
import random
from functools import reduce

import numpy as np
import pytest

from adept.models.language_model.interval_coder import WIDTH, decode_spelling, decoder
from adept.models.language_model.ngram_mixture import MAX_WORD_LETTERS, Span, UnknownWords
from adept.models.language_model.ngrams import BITS

KNOWN = ["", "\x00", "show", "me", "flights", "to", "boston", "please"]
LEARNED = ["show", "flights", "boston", "kyzburg", "wegotov", "kyzbotov"]
BYTES = 256  # of a point
WHOLE = 0, 1 << WIDTH, WIDTH  # an interval: where it begins and how wide it is, in units of 2^-(the third number)


@pytest.fixture(scope="module")
def spelling() -> UnknownWords:
    return UnknownWords.of(LEARNED, KNOWN)


def bits(spans: list[Span]) -> float:
    return sum(30 - math.log2(high - low) for low, high in spans)


def narrowed(interval: tuple[int, int, int], span: Span) -> tuple[int, int, int]:
    """A share of an interval, which is as wide in its units as the whole line is."""
    low, width, depth = interval
    begin, end = width * span[0] >> BITS, width * span[1] >> BITS
    more = WIDTH - (end - begin - 1).bit_length()
    return low + begin << more, end - begin << more, depth + more


def read(spelling: UnknownWords, interval: tuple[int, int, int], rng: random.Random) -> str:
    """Read a word at a random point of an interval."""
    low, width, depth = interval
    place = (low << 8 * BYTES) + rng.randrange(width << 8 * BYTES) >> depth
    bits = np.frombuffer(place.to_bytes(BYTES, "big"), dtype=np.uint8)
    letters = np.zeros(MAX_WORD_LETTERS, dtype=np.int64)
    deepest = 8 * BYTES - 4 * WIDTH
    decode_spelling(spelling.tables, decoder(bits, np.array([1, deepest, 1, 0]), deepest), letters)
    return spelling.word(letters.tolist())


@pytest.mark.parametrize("word", ["kyzburg", "guitar", "yesterday", "o", "bostot"])
def test_every_point_of_a_words_part_says_the_word(spelling: UnknownWords, word: str) -> None:
    spans = spelling.spans(word)
    assert spans is not None
    own = reduce(narrowed, spans, WHOLE)
    assert {read(spelling, own, random.Random(seed)) for seed in range(20)} == {word}


def test_every_point_says_something_and_what_it_says_has_a_part(spelling: UnknownWords) -> None:
    rng = random.Random(0)
    for _ in range(200):
        word = read(spelling, WHOLE, rng)
        assert len(word) <= 30
        assert not word or len(word) == 30 or spelling.spans(word) is not None


def test_common_words_of_english_cost_what_zipfs_law_says_and_names_are_spelled(spelling: UnknownWords) -> None:
    said = {word: spelling.spans(word) for word in ("yesterday", "guitar", "kyzburg")}
    assert len(said["yesterday"] or []) == len(said["guitar"] or []) == 2
    assert bits(said["yesterday"] or []) < bits(said["guitar"] or []) < 18
    assert len(said["kyzburg"] or []) == 2 + len("kyzburg")  # the choice, its letters and their end


def test_the_wider_part_is_taken() -> None:
    """A word that is listed and was learned, too: whichever costs less."""
    often = UnknownWords.of(["guitar"] * 50, KNOWN)
    spans = often.spans("guitar") or []
    assert len(spans) > 2
    assert bits(spans) < bits(often._as_listed("guitar"))


def test_words_of_the_vocabulary_and_of_another_language_are_not_listed(spelling: UnknownWords) -> None:
    assert "boston" not in spelling._listed
    german = UnknownWords.of(["fliege"], ["", "\x00", "zeige", "mir", "fluege", "nach", "zuerich", "bitte"])
    assert not german._listed
    assert german.spans("guitar") is None
    assert len(german.spans("fliege") or []) == len("fliege") + 1


def test_what_no_alphabet_holds_cannot_be_said(spelling: UnknownWords) -> None:
    assert spelling.spans("smørrebrød") is None
    assert spelling.spans("") is None
