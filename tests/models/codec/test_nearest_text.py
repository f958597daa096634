"""Records are described by the public text that is nearest in words, or in meaning and in words."""

import pickle
import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import travel
from safetensors.torch import load_file, save_file

from adept.errors import ConfigurationError, ModelError
from adept.models.codec import codec as codecs
from adept.models.codec import nearest_text
from adept.models.codec.codec import Codec, words_of
from adept.models.codec.codec_files import load_codec, save_codec
from adept.models.codec.listed_texts import ListedTexts
from adept.models.codec.nearest_text import MAX_EQUALS, MeaningIndex, NearestTextIndex
from adept.models.codec.word_weights_and_meanings import (
    MEANING_LENGTH,
    MISSING_COST,
    NEGATION_FACTOR,
    NEGATIONS,
    Meanings,
    WordWeights,
)
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


@pytest.fixture(scope="module")
def codec(texts: list[str]) -> Codec:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codecs, "MAX_UTTERANCES", 200)
        return Codec.of_sentences(texts, lexicon=Lexicon.load())


def as_listed(rows: Sequence[Words]) -> ListedTexts:
    words = ["", *dict.fromkeys(word for row in rows for word in row)]
    places = {word: place for place, word in enumerate(words)}
    return ListedTexts(words, np.array([places[word] for row in rows for word in (*row, "")], dtype=np.int16))


def length(words: Words) -> int:
    return len(set(words) - {",", "?", "!", "."})


def least_words(record: Words) -> int:
    return min(length(record) // 2, nearest_text.SCRAP_WORDS)


def by_definition(meanings: Meanings, record: Words, text: Words, *, many: bool = False) -> int:
    """The distance as the module's docstring defines it, in Python's own whole numbers."""
    weigh = WordWeights(meanings.weigh.holders, meanings.weigh.texts, dict.fromkeys(NEGATIONS, 3))
    vectors = meanings.of([record, text]).astype(int).tolist()
    product = sum(a * b for a, b in zip(*vectors, strict=True))
    weight = MISSING_COST * sum(map(weigh, set(record)))
    apart = weight * (MEANING_LENGTH**2 - product)
    return weigh.distance(record, text) + (apart // (2 * MEANING_LENGTH**2) if many else 2 * apart // MEANING_LENGTH**2)


@pytest.mark.parametrize("few", [1, 4, 10**9], ids=["by words", "as it is", "all"])
def test_the_nearest_text_is_the_nearest_of_all(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against every distance, one by one: whichever way was taken, whether words are known, repeated, or missing."""
    monkeypatch.setattr("adept.models.codec.nearest_text.SCAN_SHARE", few)
    rng = random.Random(0)
    words = [f"w{number}" for number in range(30)]
    rows = [tuple(rng.choice(words) for _ in range(rng.randint(1, 7))) for _ in range(300)]
    listed: list[int] = []
    for _ in range(200):
        listed += [*(rng.randint(2, 31) for _ in range(rng.randint(1, 7))), 0]
    more = ListedTexts(["", "\x00", *words], np.array(listed, dtype=np.int16))
    weigh = WordWeights.of([row[:3] for row in rows])
    index = NearestTextIndex(rows, weigh, more)
    held = [index[number] for number in range(len(rows) + len(more))]
    for _ in range(150):
        record = tuple(rng.choice([*words, "new", "newer"]) for _ in range(rng.randint(0, 9)))
        distances = [weigh.distance(record, text) for text in held]
        ((place, distance),) = index.nearest([record])
        assert distances[place] == distance == min(distances)
        equal = [number for number, other in enumerate(distances) if other == distance][:MAX_EQUALS]
        shared = [_pairs(record, held[number]) for number in equal]
        assert place == equal[shared.index(max(shared))]


def test_a_text_as_near_as_what_was_looked_at_already_is_looked_at_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """One lacks the one word, one the other, and both weigh the same: the first of them is the answer."""
    monkeypatch.setattr("adept.models.codec.nearest_text.SCAN_SHARE", 0)
    rows = [("y", "a"), ("x", "a"), ("z", "b")]
    index = NearestTextIndex(rows, WordWeights.of([*rows, *rows]))
    assert next(index.nearest([("x", "y", "a")]))[0] == 0


def _pairs(record: Sequence[str], text: Sequence[str]) -> int:
    """Count the neighbours that two texts have in common, one by one."""
    left = [*pairwise(["", *text, ""])]
    shared = 0
    for pair in pairwise(["", *record, ""]):
        if pair in left:
            left.remove(pair)
            shared += 1
    return shared


def test_the_nearest_text_is_the_nearest_of_its_shortlist(meanings: Meanings, rows: list[Words]) -> None:
    """By the definition, over a shortlist that is found by sorting all products."""
    held, records = rows[:700], [*rows[700:760], (), ("zqxjv",)]
    index = MeaningIndex(held[:100], meanings, as_listed(held[100:]))
    products = meanings.of(records).astype(int) @ meanings.of(held).T.astype(int)
    for record, row, (number, distance) in zip(records, products, index.nearest(records), strict=True):
        least_product = np.sort(row)[-nearest_text.SHORTLIST_TEXTS]
        surely = [place for place, product in enumerate(row) if product > least_product]
        assert row[number] >= least_product
        assert distance == by_definition(meanings, record, index[number])
        said = [held[place] for place in surely if length(held[place]) >= least_words(record)]
        assert all(by_definition(meanings, record, text) >= distance for text in said)


@pytest.mark.parametrize("count", [2, 9, 60])
def test_several_texts_are_the_nearest_by_definition_and_different(
    meanings: Meanings, rows: list[Words], count: int
) -> None:
    """Among as many texts as are compared, here all; an empty record, all of whose texts are equally near, has the first ones."""
    held, records = rows[: nearest_text.SHORTLIST_TEXTS], [*rows[200:230], ()]
    index = MeaningIndex(held[:100], meanings, as_listed(held[100:]))
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
    index = MeaningIndex(rows[:50], meanings)
    found = np.array([[7, 3, 3, 3]]), np.array([[9, 8, 8, 8]])
    monkeypatch.setattr(index.file, "nearest", lambda asked, count: found)
    [several] = index.several([rows[60]], 5)
    assert sorted(several[:2]) == [3, 7]
    assert several[2:] == [0, 1, 2]


def test_a_record_has_as_many_descriptions_as_are_asked_for(codec: Codec, texts: list[str]) -> None:
    records = [*texts[:20], "", "zqxjv"]
    several = codec.describe_by_several(records, size=300, count=7)
    assert [row[0] for row in several] == codec.describe(records, size=300)
    assert all(len(set(row)) == 7 for row in several)
    assert several[3:5] == codec.describe_by_several(records[3:5], size=300, count=7)
    for size, count in ((codec.sentences + 1, 2), (300, 301)):
        with pytest.raises(ConfigurationError, match="top must be 1 unless"):
            codec.describe_by_several(records, size=size, count=count)


@pytest.mark.parametrize(
    ("size", "joint", "used"),
    [(2, False, 0), (codecs.MAX_PART_SIZE + 1, False, 1), (codecs.MAX_PART_SIZE + 1, True, 0)],
)
def test_all_sentences_are_used_where_the_budget_pays_for_few_of_them(
    codec: Codec, monkeypatch: pytest.MonkeyPatch, size: int, joint: bool, used: int
) -> None:
    monkeypatch.setattr(codecs, "MIN_SEARCH_RATIO", 100)
    assert codec.choose_size(size, joint=joint) == (
        codec.sentences if used or (joint and size > codec.sentences) else size
    )


def test_a_long_record_is_not_answered_by_a_scrap(meanings: Meanings) -> None:
    held = [words_of(text) for text in ("cheapest fares", "who flies to boston", "fares")]
    index = MeaningIndex(held, meanings)
    asked = [
        words_of(text)
        for text in ("cheapest fares", "what are the cheapest fares", "what are the cheapest fares today")
    ]
    assert [held[number] for number, _ in index.nearest(asked)] == [held[0], held[0], held[1]]


@pytest.mark.parametrize("listed", [False, True])
def test_neither_a_mark_nor_a_word_said_twice_makes_a_sentence_of_a_scrap(meanings: Meanings, listed: bool) -> None:
    texts = "who flies to boston", "cheapest fares ?", "cheapest fares .", "cheapest cheapest fares"
    held = [words_of(text) for text in texts]
    index = MeaningIndex([] if listed else held, meanings, as_listed(held) if listed else None)
    record = words_of("what are the cheapest fares today")
    assert [held[number] for number, _ in index.nearest([record, held[1]])] == [held[0], held[1]]
    assert list(index.nearer(record, [(text, 0) for text in held[1:]], 1 << 40)) == []


def test_the_nearest_does_not_depend_on_the_batch(meanings: Meanings, rows: list[Words]) -> None:
    index, records = MeaningIndex(rows[:500], meanings), rows[500:640]
    together = list(index.nearest(records))
    assert [next(index.nearest([record])) for record in records] == together
    assert list(index.nearest(records[::-1]))[::-1] == together


def test_what_negates_weighs_more(meanings: Meanings) -> None:
    """The text that lacks two names is nearer than the one that says the opposite; copies of weights remember it."""
    opposite, nameless = (words_of(text) for text in ("do fly to zqxjv and zqxjw", "do not fly to and"))
    index, record = MeaningIndex([opposite, nameless], meanings), words_of("do not fly to zqxjv and zqxjw")
    assert meanings.weigh.distance(record, opposite) < meanings.weigh.distance(record, nameless)
    assert index.weigh.distance(record, opposite) > index.weigh.distance(record, nameless)
    assert [number for number, _ in index.nearest([record])] == [1]
    assert [*index.nearer(record, [(opposite, 0), (nameless, 0)], 1 << 40)] == [nameless, opposite]
    copied = pickle.loads(pickle.dumps(index.weigh))
    assert index.weigh("not") == copied("not") == NEGATION_FACTOR * meanings.weigh("not")
    assert {"don't", "dont", "isn't", "isnt", "can't", "cannot"} < NEGATIONS
    assert not {"want", "now", "cancel"} & NEGATIONS


def test_a_search_leaves_out_what_negates_at_the_same_price(codec: Codec) -> None:
    weigh = codec._sized(2**41).search.weigh
    assert weigh("not") == NEGATION_FACTOR * codec.weigh("not")
    assert weigh("boston") == codec.weigh("boston")


def test_meaning_and_words_are_both_needed(
    meanings: Meanings, rows: list[Words], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without either part (the planted defects) other texts are nearest."""
    index, records = MeaningIndex(rows[:500], meanings), rows[500:600]
    both = list(index.nearest(records))
    monkeypatch.setattr(index, "_halves", 0)
    assert sum(a[0] != b[0] for a, b in zip(both, index.nearest(records), strict=True)) > 5
    monkeypatch.undo()
    monkeypatch.setattr(MeaningIndex, "_by_words", lambda self, wanted, numbers: np.zeros_like(numbers))
    assert sum(a[0] != b[0] for a, b in zip(both, index.nearest(records), strict=True)) > 5


def test_among_many_texts_words_count_more(
    meanings: Meanings, rows: list[Words], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nearest_text, "MANY_TEXTS", 500)
    few, many = MeaningIndex(rows[:499], meanings), MeaningIndex(rows[:400], meanings, as_listed(rows[400:500]))
    for index, are_many in ((few, False), (many, True)):
        record, (number, distance) = rows[600], next(index.nearest([rows[600]]))
        assert distance == by_definition(meanings, record, index[number], many=are_many)
        said = [row for row in rows[:40] if length(row) >= least_words(record)]
        found = list(index.nearer(record, [(row, 0) for row in said], 1 << 40))
        assert found == sorted(said, key=lambda row: by_definition(meanings, record, row, many=are_many))


def test_what_a_search_found_is_tried_nearest_first(meanings: Meanings, rows: list[Words]) -> None:
    record, others = rows[0], [*rows[1:40], ("boston",), ("to", "boston")]
    index = MeaningIndex(rows[:50], meanings)
    distances = [by_definition(meanings, record, text) for text in others]
    limit = sorted(distances)[10]
    plain = [(text, 0) for text in others]
    found = list(index.nearer(record, plain, limit))
    nearer = sorted((distance, place) for place, distance in enumerate(distances) if distance < limit)
    assert found == [others[place] for _, place in nearer if length(others[place]) >= least_words(record)]
    seams = [(text, 10**6 * (text == found[0])) for text in others]
    assert list(index.nearer(record, seams, limit)) == found[1:]
    assert {len(text) for text in index.nearer(("boston",), plain, 10**9)} >= {
        1,
        2,
    }  # of one word no sentence is asked


def test_what_reads_badly_is_further_away_in_broad_text_alone(codec: Codec, texts: list[str]) -> None:
    assert codec._sized(2**40).search.seam == codecs.SEAM_COST > 0
    assert Codec.of(texts[:50], public=False)._sized(2**40).search.seam == 0


@pytest.mark.parametrize("size", [150, 1000, 2**14, 2**40])
def test_sentences_have_the_first_numbers_and_come_back(codec: Codec, size: int) -> None:
    numbers = [*range(0, min(size, 1000), 37), size - 1]
    written = codec.write(numbers, size=size)
    held = [
        text
        for text, number in zip(written, numbers, strict=True)
        if number < len(codec.utterances) + len(codec.listed)
    ]
    assert codec.write(codec.describe(held, size=size), size=size) == held


def test_all_words_of_a_sentence_stand_in_several(codec: Codec, rows: list[Words]) -> None:
    listed = [codec.listed[place] for place in range(len(codec.listed))]
    kept = [*codec.utterances, *listed]
    assert len(set(kept)) == len(kept)
    assert set(kept) <= set(rows)
    for word in {word for row in kept for word in row}:
        assert sum(word in row for row in kept) >= codecs.MIN_HOLDERS


def test_a_description_by_meaning_depends_on_its_own_record_alone(codec: Codec, texts: list[str]) -> None:
    records = [*random.Random(1).sample(texts, 40), "", "zqxjv", "who knows about trains"]
    for size in (500, 2**20):
        together = codec.describe(records, size=size)
        assert [codec.describe([text], size=size)[0] for text in records] == together
        assert all(0 <= number < size for number in together)


def test_a_saved_codec_of_sentences_is_the_same_codec(codec: Codec, texts: list[str], tmp_path: Path) -> None:
    save_codec(codec, tmp_path)
    loaded = load_codec(tmp_path)
    for size in (500, 2**30):
        assert loaded.describe(texts[:20], size=size) == codec.describe(texts[:20], size=size)


def test_a_codec_of_another_lexicon_is_refused(codec: Codec, tmp_path: Path) -> None:
    save_codec(codec, tmp_path)
    path = tmp_path / "codec.json"
    path.write_text(path.read_text("utf-8").replace(Lexicon.load().sha256, "0" * 64), "utf-8")
    with pytest.raises(ModelError, match="another lexicon"):
        load_codec(tmp_path)


@pytest.mark.parametrize("number", [-1, 1 << 12])
def test_groups_that_no_codec_has_are_refused(codec: Codec, tmp_path: Path, number: int) -> None:
    save_codec(codec, tmp_path)
    tables = load_file(tmp_path / "codec.safetensors")
    tables["groups"][0] = number
    save_file(tables, tmp_path / "codec.safetensors")
    with pytest.raises(ModelError, match="groups"):
        load_codec(tmp_path)
