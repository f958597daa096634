"""Meanings are whole numbers of one length."""

from collections.abc import Sequence

import numpy as np
import pytest
import scipy.sparse as sparse
import travel

from adept.models.sentences.meanings import MEANING_LENGTH, ListedTexts, Meanings, WordWeights
from adept.models.sentences.sentence_list import words_of
from adept.models.word_vectors import Lexicon

Words = tuple[str, ...]


@pytest.fixture(scope="module")
def rows() -> list[Words]:
    return list(dict.fromkeys(map(words_of, travel.texts(1500))))


@pytest.fixture(scope="module")
def of_texts(rows: list[Words]) -> Meanings:
    return Meanings(Lexicon.load(), WordWeights.of(rows))


def as_listed(rows: Sequence[Words]) -> ListedTexts:
    words = ["", *dict.fromkeys(word for row in rows for word in row)]
    places = {word: place for place, word in enumerate(words)}
    return ListedTexts(words, np.array([places[word] for row in rows for word in (*row, "")], dtype=np.int16))


def test_meanings_are_whole_numbers_of_one_length(of_texts: Meanings, rows: list[Words]) -> None:
    found = of_texts.of(rows).astype(int)
    lengths = np.linalg.norm(found[found.any(axis=1)], axis=1)
    assert np.allclose(lengths, MEANING_LENGTH, atol=7)  # each of 128 numbers is rounded
    assert np.square(found).sum(axis=1).max() < 2**24


def test_what_means_the_same_has_nearer_meanings_than_what_does_not(of_texts: Meanings) -> None:
    texts = map(words_of, ("cheapest ticket to boston", "lowest fare to boston", "who is the pilot"))
    cheap, same, other = of_texts.of(texts).astype(int)
    assert cheap @ same > 2 * abs(cheap @ other)


def test_a_text_without_a_known_word_means_nothing(of_texts: Meanings) -> None:
    assert not of_texts.of([(), ("zqxjv", "\U0001f600")]).any()


def test_listed_texts_mean_what_they_mean_as_words(of_texts: Meanings, rows: list[Words]) -> None:
    assert (of_texts.of([], as_listed(rows)) == of_texts.of(rows)).all()


def test_held_texts_mean_what_they_mean_as_words(of_texts: Meanings) -> None:
    """Their words may be in the lexicon or not, and repeat in a text."""
    rows = [words_of(text) for text in ("to boston to boston", "zqxjv", "zqxjv to denver", "fares")]
    words = sorted({word for row in rows for word in row})
    held = sparse.csr_array(np.array([[word in row for word in words] for row in rows], dtype=np.int8))
    assert (of_texts.of_table(words, held) == of_texts.of(rows)).all()
