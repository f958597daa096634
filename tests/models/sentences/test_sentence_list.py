"""Claims about the list of public sentences: one record at a time, public text alone, and nothing remembered."""

import copy
import pickle
import random

import pytest
import travel

from adept.errors import ConfigurationError, DataError
from adept.models.sentences import sentence_list
from adept.models.sentences.meanings import words_of
from adept.models.sentences.sentence_list import SentenceList
from adept.models.tokenizer import join_words

STRANGE = [
    "",
    "   ",
    "zzyzx",
    "ünïcödé ☃",
    "\ud800",
    "a" * 5000,
    "word " * 300,
    "[END] [UNK]",
    "\x00",
    "st. louis, mo.",
]


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return travel.texts(600)


@pytest.fixture(scope="module")
def own(texts: list[str]) -> SentenceList:
    return SentenceList.of(texts, held_out=[*travel.texts(20, split="validation"), texts[0]])


@pytest.fixture(scope="module")
def broad() -> SentenceList:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentence_list, "MAX_UTTERANCES", 200)
        return SentenceList.of_broad_text(travel.texts(1500), held_out=travel.texts(20, split="validation"))


@pytest.fixture(params=["own", "broad"])
def sentences(request: pytest.FixtureRequest) -> SentenceList:
    found: SentenceList = request.getfixturevalue(request.param)
    return found


def test_the_list_is_all_public_sentences_once_and_no_other_text(own: SentenceList, texts: list[str]) -> None:
    assert sorted(map(own.__getitem__, range(len(own)))) == sorted(set(filter(None, map(words_of, texts))))


def test_held_out_sentences_are_not_in_the_list(sentences: SentenceList) -> None:
    assert len(sentences.held_out) >= 10
    assert not set(sentences.held_out) & set(sentences.utterances)


def test_all_words_of_a_sentence_of_broad_text_stand_in_several(broad: SentenceList) -> None:
    kept = [broad[place] for place in range(len(broad))]
    assert (len(broad.utterances), len(set(kept))) == (200, len(kept))
    assert set(kept) <= set(map(words_of, travel.texts(1500)))
    for word in {word for row in kept for word in row}:
        assert sum(word in row for row in kept) >= sentence_list.MIN_HOLDERS


@pytest.mark.parametrize("size", [2, 37, None])
def test_every_text_has_a_place_and_every_place_a_sentence(sentences: SentenceList, size: int | None) -> None:
    count = size or len(sentences)
    found = sentences.nearest(STRANGE, size=count)
    assert all(len(row) == 1 and 0 <= row[0] < count for row in found)
    written = sentences.write([row[0] for row in found])
    assert written == [join_words(sentences[row[0]]) for row in found]
    assert all("\n" not in text and "\x00" not in text for text in written)


def test_a_sentence_of_the_list_is_nearest_to_itself(sentences: SentenceList) -> None:
    places = range(0, len(sentences), 37)
    written = sentences.write(list(places))
    found = sentences.nearest(written, size=len(sentences))
    same = [set(sentences[row[0]]) == set(sentences[place]) for row, place in zip(found, places, strict=True)]
    assert sum(same) > 0.9 * len(same)


@pytest.mark.parametrize("count", [1, 7])
def test_what_is_near_depends_on_its_own_record_alone(sentences: SentenceList, count: int) -> None:
    """Batches of one, another order and other neighbours change nothing; all places of a record differ."""
    records = [*random.Random(1).sample(travel.texts(40, start=1600), 40), "", "zqxjv"]
    for size in (100, len(sentences)):
        together = sentences.nearest(records, size=size, count=count)
        assert [sentences.nearest([text], size=size, count=count)[0] for text in records] == together
        assert sentences.nearest(records[::-1], size=size, count=count)[::-1] == together
        assert all(len(set(row)) == count for row in together)


def test_the_first_utterances_represent_all_better_than_others_do(own: SentenceList) -> None:
    """By the mean distance of all sentences from the nearest of the first 30, against 30 at random."""
    index, rows = own.index(), [own[place] for place in range(len(own))]
    distances = index._by_words([set(row) for row in rows], index._all)
    chosen = random.Random(3).sample(range(len(rows)), 30)
    assert distances[:, :30].min(axis=1).mean() < 0.9 * distances[:, chosen].min(axis=1).mean()


def test_learning_twice_gives_the_same_list(own: SentenceList, texts: list[str]) -> None:
    assert SentenceList.of(texts).utterances == own.utterances


@pytest.mark.parametrize("value", [None, 7, b"bytes"])
def test_a_value_that_is_no_text_has_no_place(value: object, own: SentenceList) -> None:
    with pytest.raises(DataError, match="at position 2"):
        own.nearest(["a flight", value], size=37)  # type: ignore[list-item]


@pytest.mark.parametrize("value", [-1, 10**9, True, "0"])
def test_a_place_out_of_range_is_refused(own: SentenceList, value: object) -> None:
    with pytest.raises(ConfigurationError, match=f"places must be integers from 0 to {len(own) - 1}"):
        own.write([0, value])  # type: ignore[list-item]


def test_sizes_and_texts_are_checked(sentences: SentenceList) -> None:
    for size, count in ((0, 1), (len(sentences) + 1, 1), (300, 301)):
        with pytest.raises(ConfigurationError, match="number of public sentences"):
            sentences.nearest(["a"], size=size, count=count)
    with pytest.raises(DataError, match="list of strings"):
        sentences.nearest("a flight", size=8)


def test_copies_and_pickles_hold_nothing_of_records(sentences: SentenceList) -> None:
    before = pickle.dumps(sentences)
    record = ["call wojciechowski about flights to boston"]
    found = sentences.nearest(record, size=len(sentences), count=3)
    for copied in (pickle.loads(pickle.dumps(sentences)), copy.deepcopy(sentences)):
        assert copied.nearest(record, size=len(sentences), count=3) == found
    assert pickle.dumps(sentences) == before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('say "Fare (q)," a.m.', ("say", '"', "fare", "(", "q", ")", ",", '"', "a.m", ".")),
        ("a\tb\x7fc\nd", ("a", "b", "c", "d")),
        ("CAFE\u0301 zwei\u200bteile", ("caf\xe9", "zwei", "teile")),
        ("a \x00 b", ("a", "b")),
    ],
)
def test_words_are_what_stands_between_spaces_control_characters_and_marks(text: str, words: tuple[str, ...]) -> None:
    assert words_of(text) == words
