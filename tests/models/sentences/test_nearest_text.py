"""Records are described by the public text that is nearest in meaning and in words."""

import pickle
from collections.abc import Sequence
from functools import cache
from operator import mul

import numpy as np
import pytest
import travel
from broad import by_words, meaning_of_words

from adept.mechanisms import policy
from adept.mechanisms.policy import MISSING_COST, NEGATION_FACTOR
from adept.models.sentence_encoder import LENGTH
from adept.models.sentences import nearest_text
from adept.models.sentences.meanings import (
    NEGATIONS,
    ListedTexts,
    WordWeights,
    meanings_of,
    words_of,
)
from adept.models.sentences.nearest_text import SentenceIndex

Words = tuple[str, ...]
UNKNOWN = "\u1200"  # a letter of which the sentence encoder has no token


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return travel.texts(1500)


@pytest.fixture(scope="module")
def rows(texts: list[str]) -> list[Words]:
    return list(dict.fromkeys(map(words_of, texts)))


@pytest.fixture(scope="module")
def weigh(rows: list[Words]) -> WordWeights:
    return WordWeights.of(rows)


def as_records(rows: Sequence[Words]) -> list[str]:
    return [" ".join(row) for row in rows]


def as_listed(rows: Sequence[Words]) -> ListedTexts:
    words = ["", *dict.fromkeys(word for row in rows for word in row)]
    places = {word: place for place, word in enumerate(words)}
    return ListedTexts(words, np.array([places[word] for row in rows for word in (*row, "")], dtype=np.int16))


def length(words: Words) -> int:
    return len(set(words) - {",", "?", "!", "."})


def least_words(record: Words) -> int:
    return min(length(record) // 2, policy.SCRAP_WORDS)


def nearest(index: SentenceIndex, records: Sequence[str]) -> list[int]:
    return [found[0] for found in index.several(records, 1)]


def by_definition(weigh: WordWeights, record: str, text: Words, *, many: bool = False) -> int:
    """The distance as the module's docstring defines it, in Python's own whole numbers."""
    weigh, words = WordWeights(weigh.holders, weigh.texts, dict.fromkeys(NEGATIONS, 3)), words_of(record)
    product = sum(map(mul, meaning_of(record), meaning_of_words(text)))
    weight = MISSING_COST * sum(map(weigh, set(words)))
    apart = weight * (LENGTH**2 - product)
    return by_words(weigh, words, text) + (apart // (2 * LENGTH**2) if many else 2 * apart // LENGTH**2)


@cache
def meaning_of(record: str) -> tuple[int, ...]:
    return tuple(meanings_of([record])[0].tolist())


def test_the_nearest_text_is_the_nearest_of_its_shortlist(weigh: WordWeights, rows: list[Words]) -> None:
    """By the definition, over a shortlist that is found by sorting all products."""
    held, records = rows[:700], [*as_records(rows[700:760]), "", UNKNOWN]
    index = SentenceIndex(held[:100], weigh, as_listed(held[100:]))
    products = meanings_of(records).astype(int) @ np.array([*map(meaning_of_words, held)]).T
    for record, row, number in zip(records, products, nearest(index, records), strict=True):
        least_product = np.sort(row)[-policy.SHORTLIST_TEXTS]
        surely = [place for place, product in enumerate(row) if product > least_product]
        assert row[number] >= least_product
        distance = by_definition(weigh, record, held[number])
        said = [held[place] for place in surely if length(held[place]) >= least_words(words_of(record))]
        assert all(by_definition(weigh, record, text) >= distance for text in said)


def test_several_texts_are_the_nearest_by_definition_and_different(weigh: WordWeights, rows: list[Words]) -> None:
    """Among as many texts as are compared, here all; an empty record, all of whose texts are equally near, has the first ones."""
    held, records = rows[: policy.SHORTLIST_TEXTS], [*as_records(rows[200:230]), ""]
    index = SentenceIndex(held[:100], weigh, as_listed(held[100:]))
    several = {count: list(index.several(records, count)) for count in (2, 9, 60)}
    for number, record in enumerate(records):
        least = least_words(words_of(record))
        distances = {
            place: by_definition(weigh, record, text) + (length(text) < least) * 10**9
            for place, text in enumerate(held)
        }
        nearest_first = sorted(distances, key=lambda place: (distances[place], place))
        for count, found in several.items():
            assert found[number] == nearest_first[:count]
            assert len(set(found[number])) == count


def test_where_fewer_texts_are_compared_the_first_ones_make_up_the_number(
    weigh: WordWeights, rows: list[Words], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record may find two texts in the groups that it probes, the second as often as there are places left."""
    index = SentenceIndex(rows[:50], weigh)
    found = np.array([[7, 3, 3, 3]]), np.array([[9, 8, 8, 8]])
    monkeypatch.setattr(index.file, "nearest", lambda asked, count, room: found)
    [several] = index.several(as_records(rows[60:61]), 5)
    assert sorted(several[:2]) == [3, 7]
    assert several[2:] == [0, 1, 2]


def test_a_long_record_is_not_answered_by_a_scrap(weigh: WordWeights) -> None:
    held = [words_of(text) for text in ("cheapest fares", "who flies to boston", "fares")]
    index = SentenceIndex(held, weigh)
    asked = ["cheapest fares", "what are the cheapest fares", "what are the cheapest fares today"]
    assert [held[number] for number in nearest(index, asked)] == [held[0], held[0], held[1]]


@pytest.mark.parametrize("listed", [False, True])
def test_neither_a_mark_nor_a_word_said_twice_makes_a_sentence_of_a_scrap(weigh: WordWeights, listed: bool) -> None:
    texts = "who flies to boston", "cheapest fares ?", "cheapest fares .", "cheapest cheapest fares"
    held = [words_of(text) for text in texts]
    index = SentenceIndex([] if listed else held, weigh, as_listed(held) if listed else None)
    record = "what are the cheapest fares today"
    assert [held[number] for number in nearest(index, [record, texts[1]])] == [held[0], held[1]]


def test_the_nearest_does_not_depend_on_the_batch(weigh: WordWeights, rows: list[Words]) -> None:
    index, records = SentenceIndex(rows[:500], weigh), as_records(rows[500:640])
    together = nearest(index, records)
    assert [nearest(index, [record])[0] for record in records] == together
    assert nearest(index, records[::-1])[::-1] == together


def test_what_negates_weighs_more(weigh: WordWeights) -> None:
    """The text that lacks two names is nearer than the one that says the opposite; copies of weights remember it."""
    names = f"to zqxjv{UNKNOWN} and zqxjw{UNKNOWN}"
    opposite, nameless = (words_of(text) for text in (f"do fly {names}", "do not fly to and"))
    index, record = SentenceIndex([opposite, nameless], weigh), f"do not fly {names}"
    assert nearest(index, [record]) == [1]
    copied = pickle.loads(pickle.dumps(index.weigh))
    assert index.weigh("not") == copied("not") == NEGATION_FACTOR * weigh("not")
    assert {"don't", "dont", "isn't", "isnt", "can't", "cannot"} < NEGATIONS
    assert not {"want", "now", "cancel"} & NEGATIONS


def test_meaning_and_words_are_both_needed(
    weigh: WordWeights, rows: list[Words], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without either part (the planted defects) other texts are nearest."""
    index, records = SentenceIndex(rows[:500], weigh), as_records(rows[500:600])
    both = nearest(index, records)
    monkeypatch.setattr(index, "_halves", 0)
    assert sum(a != b for a, b in zip(both, nearest(index, records), strict=True)) > 5
    monkeypatch.undo()
    monkeypatch.setattr(SentenceIndex, "_by_words", lambda self, wanted, numbers: np.zeros_like(numbers))
    assert sum(a != b for a, b in zip(both, nearest(index, records), strict=True)) > 5


def test_among_many_texts_words_count_more(
    weigh: WordWeights, rows: list[Words], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy, "MANY_TEXTS", 500)
    for held, are_many in ((rows[:499], False), (rows[:500], True)):
        index, record = SentenceIndex(held, weigh, compares_all=True), " ".join(rows[600])
        distances = [
            by_definition(weigh, record, text, many=are_many) + (length(text) < least_words(words_of(record))) * 10**9
            for text in held
        ]
        assert nearest(index, [record]) == [distances.index(min(distances))]


def test_where_all_are_compared_the_nearest_of_all_are_found(
    weigh: WordWeights, rows: list[Words], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the definition, in batches of a few records: also for a record of which the encoder knows no token."""
    held, records = rows[:400], [*as_records(rows[700:712]), f"{UNKNOWN} to", UNKNOWN, ""]
    monkeypatch.setattr(nearest_text, "MAX_DISTANCES", 3 * len(held))
    index = SentenceIndex(held, weigh, compares_all=True)
    several = {count: list(index.several(records, count)) for count in (1, 7, 60)}
    for number, record in enumerate(records):
        distances = [
            by_definition(weigh, record, text) + (length(text) < least_words(words_of(record))) * 10**9 for text in held
        ]
        nearest_first = sorted(range(len(held)), key=lambda place: (distances[place], place))
        assert {count: found[number] for count, found in several.items()} == {
            count: nearest_first[:count] for count in several
        }


def test_text_of_another_script_is_found_by_its_words() -> None:
    """The encoder knows none of its tokens; among more texts than a shortlist holds, the right one is found."""
    held = [(f"wq{number}{UNKNOWN}", f"xq{UNKNOWN}", f"yq{number % 7}{UNKNOWN}") for number in range(300)]
    records = [*map(" ".join, (held[250], held[250][:2], (held[17][1], held[17][0])))]
    assert not meanings_of(records).any()
    assert nearest(SentenceIndex(held, WordWeights.of(held), compares_all=True), records) == [250, 250, 17]


def test_the_meanings_of_an_index_are_those_of_its_texts(weigh: WordWeights, rows: list[Words]) -> None:
    """In the order of their numbers, and not of their groups."""
    held = rows[:700]
    index = SentenceIndex(held[:100], weigh, as_listed(held[100:]))
    numbers = np.array([699, 0, 350, 0, 99, 100])
    assert index.meanings(numbers).tolist() == [meaning_of_words(held[number]) for number in numbers]
