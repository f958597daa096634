"""Records are described by the public text that is nearest in meaning and in words."""

import pickle
from collections.abc import Sequence

import numpy as np
import pytest
import travel
from broad import by_words

from adept.mechanisms.policy import MISSING_COST, NEGATION_FACTOR
from adept.models.sentences import nearest_text
from adept.models.sentences.meanings import (
    MEANING_LENGTH,
    NEGATIONS,
    ListedTexts,
    Meanings,
    WordWeights,
)
from adept.models.sentences.nearest_text import SentenceIndex
from adept.models.sentences.sentence_list import words_of
from adept.models.word_vectors import Lexicon

Words = tuple[str, ...]


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return travel.texts(1500)


@pytest.fixture(scope="module")
def rows(texts: list[str]) -> list[Words]:
    return list(dict.fromkeys(map(words_of, texts)))


@pytest.fixture(scope="module")
def meanings(rows: list[Words]) -> Meanings:
    return Meanings(Lexicon.load(), WordWeights.of(rows))


def as_listed(rows: Sequence[Words]) -> ListedTexts:
    words = ["", *dict.fromkeys(word for row in rows for word in row)]
    places = {word: place for place, word in enumerate(words)}
    return ListedTexts(words, np.array([places[word] for row in rows for word in (*row, "")], dtype=np.int16))


def length(words: Words) -> int:
    return len(set(words) - {",", "?", "!", "."})


def least_words(record: Words) -> int:
    return min(length(record) // 2, nearest_text.SCRAP_WORDS)


def nearest(index: SentenceIndex, records: Sequence[Words]) -> list[int]:
    return [found[0] for found in index.several(records, 1)]


def by_definition(meanings: Meanings, record: Words, text: Words, *, many: bool = False) -> int:
    """The distance as the module's docstring defines it, in Python's own whole numbers."""
    weigh = WordWeights(meanings.weigh.holders, meanings.weigh.texts, dict.fromkeys(NEGATIONS, 3))
    vectors = meanings.of([record, text]).astype(int).tolist()
    product = sum(a * b for a, b in zip(*vectors, strict=True))
    weight = MISSING_COST * sum(map(weigh, set(record)))
    apart = weight * (MEANING_LENGTH**2 - product)
    return by_words(weigh, record, text) + (
        apart // (2 * MEANING_LENGTH**2) if many else 2 * apart // MEANING_LENGTH**2
    )


def test_the_nearest_text_is_the_nearest_of_its_shortlist(meanings: Meanings, rows: list[Words]) -> None:
    """By the definition, over a shortlist that is found by sorting all products."""
    held, records = rows[:700], [*rows[700:760], (), ("zqxjv",)]
    index = SentenceIndex(held[:100], meanings, as_listed(held[100:]))
    products = meanings.of(records).astype(int) @ meanings.of(held).T.astype(int)
    for record, row, number in zip(records, products, nearest(index, records), strict=True):
        least_product = np.sort(row)[-nearest_text.SHORTLIST_TEXTS]
        surely = [place for place, product in enumerate(row) if product > least_product]
        assert row[number] >= least_product
        distance = by_definition(meanings, record, held[number])
        said = [held[place] for place in surely if length(held[place]) >= least_words(record)]
        assert all(by_definition(meanings, record, text) >= distance for text in said)


@pytest.mark.parametrize("count", [2, 9, 60])
def test_several_texts_are_the_nearest_by_definition_and_different(
    meanings: Meanings, rows: list[Words], count: int
) -> None:
    """Among as many texts as are compared, here all; an empty record, all of whose texts are equally near, has the first ones."""
    held, records = rows[: nearest_text.SHORTLIST_TEXTS], [*rows[200:230], ()]
    index = SentenceIndex(held[:100], meanings, as_listed(held[100:]))
    for record, found in zip(records, index.several(records, count), strict=True):
        distances = {
            place: by_definition(meanings, record, text) + (length(text) < least_words(record)) * 10**9
            for place, text in enumerate(held)
        }
        assert found == sorted(distances, key=lambda place: (distances[place], place))[:count]
        assert len(set(found)) == count
        assert all(0 <= place < len(held) for place in found)


def test_where_fewer_texts_are_compared_the_first_ones_make_up_the_number(
    meanings: Meanings, rows: list[Words], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record may find two texts in the groups that it probes, the second as often as there are places left."""
    index = SentenceIndex(rows[:50], meanings)
    found = np.array([[7, 3, 3, 3]]), np.array([[9, 8, 8, 8]])
    monkeypatch.setattr(index.file, "nearest", lambda asked, count: found)
    [several] = index.several([rows[60]], 5)
    assert sorted(several[:2]) == [3, 7]
    assert several[2:] == [0, 1, 2]


def test_a_long_record_is_not_answered_by_a_scrap(meanings: Meanings) -> None:
    held = [words_of(text) for text in ("cheapest fares", "who flies to boston", "fares")]
    index = SentenceIndex(held, meanings)
    asked = [
        words_of(text)
        for text in ("cheapest fares", "what are the cheapest fares", "what are the cheapest fares today")
    ]
    assert [held[number] for number in nearest(index, asked)] == [held[0], held[0], held[1]]


@pytest.mark.parametrize("listed", [False, True])
def test_neither_a_mark_nor_a_word_said_twice_makes_a_sentence_of_a_scrap(meanings: Meanings, listed: bool) -> None:
    texts = "who flies to boston", "cheapest fares ?", "cheapest fares .", "cheapest cheapest fares"
    held = [words_of(text) for text in texts]
    index = SentenceIndex([] if listed else held, meanings, as_listed(held) if listed else None)
    record = words_of("what are the cheapest fares today")
    assert [held[number] for number in nearest(index, [record, held[1]])] == [held[0], held[1]]


def test_the_nearest_does_not_depend_on_the_batch(meanings: Meanings, rows: list[Words]) -> None:
    index, records = SentenceIndex(rows[:500], meanings), rows[500:640]
    together = nearest(index, records)
    assert [nearest(index, [record])[0] for record in records] == together
    assert nearest(index, records[::-1])[::-1] == together


def test_what_negates_weighs_more(meanings: Meanings) -> None:
    """The text that lacks two names is nearer than the one that says the opposite; copies of weights remember it."""
    opposite, nameless = (words_of(text) for text in ("do fly to zqxjv and zqxjw", "do not fly to and"))
    index, record = SentenceIndex([opposite, nameless], meanings), words_of("do not fly to zqxjv and zqxjw")
    assert nearest(index, [record]) == [1]
    copied = pickle.loads(pickle.dumps(index.weigh))
    assert index.weigh("not") == copied("not") == NEGATION_FACTOR * meanings.weigh("not")
    assert {"don't", "dont", "isn't", "isnt", "can't", "cannot"} < NEGATIONS
    assert not {"want", "now", "cancel"} & NEGATIONS


def test_meaning_and_words_are_both_needed(
    meanings: Meanings, rows: list[Words], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without either part (the planted defects) other texts are nearest."""
    index, records = SentenceIndex(rows[:500], meanings), rows[500:600]
    both = nearest(index, records)
    monkeypatch.setattr(index, "_halves", 0)
    assert sum(a != b for a, b in zip(both, nearest(index, records), strict=True)) > 5
    monkeypatch.undo()
    monkeypatch.setattr(SentenceIndex, "_by_words", lambda self, wanted, numbers: np.zeros_like(numbers))
    assert sum(a != b for a, b in zip(both, nearest(index, records), strict=True)) > 5


def test_among_many_texts_words_count_more(
    meanings: Meanings, rows: list[Words], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nearest_text, "MANY_TEXTS", 500)
    for held, are_many in ((rows[:499], False), (rows[:500], True)):
        index, record = SentenceIndex(held, meanings, compares_all=True), rows[600]
        distances = [
            by_definition(meanings, record, text, many=are_many) + (length(text) < least_words(record)) * 10**9
            for text in held
        ]
        assert nearest(index, [record]) == [distances.index(min(distances))]


@pytest.mark.parametrize("count", [1, 7, 60])
def test_where_all_are_compared_the_nearest_of_all_are_found(
    meanings: Meanings, rows: list[Words], count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the definition, in batches of a few records: also for a record of which the lexicon knows no word."""
    held, records = rows[:700], [*rows[700:720], ("zqxjv", "to"), ("zqxjv",), ()]
    monkeypatch.setattr(nearest_text, "MAX_DISTANCES", 3 * len(held))
    index = SentenceIndex(held, meanings, compares_all=True)
    for record, found in zip(records, index.several(records, count), strict=True):
        distances = [
            by_definition(meanings, record, text) + (length(text) < least_words(record)) * 10**9 for text in held
        ]
        assert found == sorted(range(len(held)), key=lambda place: (distances[place], place))[:count]


def test_text_of_another_language_is_found_by_its_words() -> None:
    """The lexicon knows none of its words; among more texts than a shortlist holds, the right one is found."""
    held = [(f"wq{number}", "xq", f"yq{number % 7}") for number in range(300)]
    meanings = Meanings(Lexicon.load(), WordWeights.of(held))
    records = [held[250], ("wq250", "xq"), ("xq", "wq17")]
    assert not meanings.of(records).any()
    assert nearest(SentenceIndex(held, meanings, compares_all=True), records) == [250, 250, 17]
