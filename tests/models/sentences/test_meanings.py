"""Meanings are whole numbers of one length, and a sentence of a list means what its words mean together."""

from collections.abc import Sequence

import broad
import numpy as np
import pytest
import travel

from adept.errors import ModelError
from adept.models.sentence_encoder import LENGTH, SentenceEncoder, at_length
from adept.models.sentences import meanings
from adept.models.sentences.meanings import (
    MAX_WORD_SUM,
    MAX_WORDS,
    ListedTexts,
    mean_meaning,
    meanings_of,
    meanings_of_table,
    tabulate,
    words_of,
)
from adept.models.sentences.sentence_list import SentenceList

Words = tuple[str, ...]
HEAVY = "\u98df"  # a token whose vector holds a number of 127: 4,000 of them make the longest word of a text
UNKNOWN = "\u1200\u1201"  # letters of which the sentence encoder has no token


@pytest.fixture(scope="module")
def rows() -> list[Words]:
    return list(dict.fromkeys(map(words_of, travel.texts(1500))))


def of_words(rows: Sequence[Words]) -> np.ndarray:
    words, table = tabulate(rows)
    return meanings_of_table([*words], table)


def as_listed(rows: Sequence[Words]) -> ListedTexts:
    words = ["", *dict.fromkeys(word for row in rows for word in row)]
    places = {word: place for place, word in enumerate(words)}
    return ListedTexts(words, np.array([places[word] for row in rows for word in (*row, "")], dtype=np.int16))


def test_meanings_are_whole_numbers_of_one_length(rows: list[Words]) -> None:
    for found in (meanings_of(travel.texts(1500)).astype(int), of_words(rows).astype(int)):
        lengths = np.linalg.norm(found[found.any(axis=1)], axis=1)
        assert np.allclose(lengths, LENGTH, atol=9)  # each of 256 numbers is rounded
        assert np.square(found).sum(axis=1).max() < 2**24


def test_what_means_the_same_has_nearer_meanings_than_what_does_not() -> None:
    texts = ["cheapest ticket to boston", "lowest fare to boston", "who is the pilot"]
    cheap, same, other = meanings_of(texts).astype(int)
    assert cheap @ same > 2 * abs(cheap @ other)


def test_a_text_without_a_known_token_means_nothing() -> None:
    assert not meanings_of(["", f"{UNKNOWN} \U0001f600"]).any()
    assert not of_words([(), (UNKNOWN, "\U0001f600")]).any()


@pytest.mark.parametrize("together", [7, 1 << 12])
def test_listed_texts_mean_what_they_mean_as_words(
    rows: list[Words], together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meanings, "BATCH_PRODUCTS", together)
    words, table = tabulate([], as_listed(rows))
    assert (meanings_of_table([*words], table) == of_words(rows)).all()


def test_a_sentence_means_the_sum_of_its_different_words(rows: list[Words], monkeypatch: pytest.MonkeyPatch) -> None:
    """By the definition, in batches of a few; words may be known or not, and repeat."""
    monkeypatch.setattr(meanings, "BATCH_TEXTS", 7)
    asked = [*rows[:60], words_of("to boston to boston"), (UNKNOWN,), (UNKNOWN, "to", "denver"), ()]
    found = of_words(asked)
    assert found.tolist() == [broad.meaning_of_words(row) for row in asked]
    assert (found[60] == of_words([("to", "boston")])[0]).all()
    assert [of_words([row])[0].tolist() for row in asked] == found.tolist()


def test_a_record_that_is_a_sentence_of_the_list_means_the_same(rows: list[Words]) -> None:
    """Of words that do not repeat, however the record writes spaces between them."""
    once = [row for row in rows if len(set(row)) == len(row)]
    assert len(once) > 500
    assert (meanings_of([" ".join(row) for row in once]) == of_words(once)).all()


def test_sums_of_the_heaviest_words_that_are_read_are_exact() -> None:
    """In any order: against Python's own whole numbers."""
    assert MAX_WORDS * MAX_WORD_SUM <= 2**24
    words = tuple(HEAVY * (MAX_WORD_SUM // 127 - place) for place in range(MAX_WORDS))
    sums = SentenceEncoder.load().sums(words)
    assert np.abs(sums).max() > MAX_WORD_SUM - 127
    total = np.array([[sum(map(int, column)) for column in sums.T]])
    assert np.abs(total).max() > 0.95 * 2**24
    assert (of_words([words]) == at_length(total)).all()
    assert (of_words([words[::-1]]) == at_length(total)).all()


def test_a_list_with_a_word_too_long_for_exact_sums_is_refused() -> None:
    """One letter less is read."""
    least = MAX_WORD_SUM // 127 + 1
    assert of_words([("fares", HEAVY * (least - 1))]).any()
    with pytest.raises(ModelError, match="a word that is too long for exact sums"):
        of_words([("fares",), ("fares", HEAVY * least)])
    stranger = SentenceList(SentenceList.of(["a fare"]).weigh, [("fares",), ("fares", HEAVY * least)])
    with pytest.raises(ModelError, match="a word that is too long for exact sums"):
        stranger.nearest(["fares"], size=2)


def test_the_mean_of_meanings_is_their_sum_at_one_length() -> None:
    texts = ["cheapest fares", "is there a taxi", UNKNOWN]
    total = meanings_of(texts).astype(np.int64).sum(axis=0, keepdims=True)
    assert (mean_meaning(texts) == at_length(total)[0]).all()
    assert (mean_meaning(texts[::-1]) == mean_meaning(texts)).all()
    assert (mean_meaning(texts[:1]) == meanings_of(texts[:1])[0]).all()
    assert not mean_meaning([UNKNOWN]).any()
    assert not mean_meaning([]).any()
