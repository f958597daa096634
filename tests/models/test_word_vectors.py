"""A word outside the vocabulary is read as the known one that means most nearly the same, whatever stands beside it."""

import json
from pathlib import Path

import numpy as np
import pytest

from adept.errors import ModelError
from adept.models.config import TokenizerConfig
from adept.models.tokenizer import END, FIRST_LABEL, UNKNOWN, Tokenizer
from adept.models.word_vectors import MIN_COSINE, Lexicon, TextVectors

TEXTS = ["book a cheap hotel in paris", "rent a car on friday", "play music by the band", "cancel my order"] * 2


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(TEXTS).with_synonyms(Lexicon.load())


def test_the_lexicon_of_the_package_knows_what_words_mean() -> None:
    lexicon = Lexicon.load()
    assert len(lexicon.words) == len(set(lexicon.words)) == len(lexicon.vectors)
    bicycle, bike, invoice = lexicon.of(["bicycle", "bike", "invoice"])
    assert bicycle @ bike > 0.7 > 0.2 > bicycle @ invoice
    np.testing.assert_allclose(np.linalg.norm(lexicon.of(["Paris", "what's"]), axis=1), 1)


def test_words_that_it_does_not_hold_have_no_vector_and_another_language_has_none_at_all() -> None:
    lexicon = Lexicon.load()
    assert not lexicon.of(["paris", "hotel", "qqqq"])[2].any()
    assert not lexicon.of(["ich", "möchte", "morgen", "früh", "aufstehen", "in", "paris"]).any()


def test_an_unknown_word_is_read_as_the_nearest_known_one(tokenizer: Tokenizer) -> None:
    known = tokenizer.encode(["rent a car on friday", "book a cheap hotel in paris"], max_length=40)
    assert tokenizer.encode(["rent a vehicle on THURSDAY", "book a inexpensive motel in paris"], max_length=40) == known
    assert tokenizer.encode(["qqqq car"], max_length=40) == [[UNKNOWN, tokenizer.vocabulary["car"], END]]


def test_known_words_stay_and_only_likely_ones_are_put_in_the_place_of_others(tokenizer: Tokenizer) -> None:
    assert tokenizer.synonyms.keys().isdisjoint(tokenizer.vocabulary)
    lexicon = Lexicon.load()
    for word, known in list(tokenizer.synonyms.items())[::50]:
        likeness = lexicon.of([word, *tokenizer.words[FIRST_LABEL:]])
        cosines = likeness[1:] @ likeness[0]
        assert cosines.max() >= MIN_COSINE - 0.01
        assert tokenizer.words[FIRST_LABEL + int(cosines.argmax())] == known


def test_what_a_word_is_read_as_depends_on_no_other_word(tokenizer: Tokenizer) -> None:
    alone = tokenizer.encode(["vehicle"], max_length=40)[0][0]
    for text in ("vehicle qqqq", "VEHICLE, friday", "😀 vehicle"):
        assert alone in tokenizer.encode([text, "motel"], max_length=40)[0]


def test_subwords_are_never_unknown_so_that_none_has_a_synonym() -> None:
    config = TokenizerConfig(kind="bpe", vocabulary_size=200)
    assert not Tokenizer.train(TEXTS, config).with_synonyms(Lexicon.load()).synonyms


def test_synonyms_are_saved_with_the_vocabulary_and_hostile_ones_refused(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenizer.save_pretrained(tmp_path)
    assert Tokenizer.from_pretrained(tmp_path).synonyms == tokenizer.synonyms
    for wrong in ({"vehicle": "qqqq"}, {"vehicle": 7}, {"vehicle": "[END]"}, {"vehicle": None}, ["vehicle"]):
        (tmp_path / "synonyms.json").write_text(json.dumps(wrong), "utf-8")
        with pytest.raises(ModelError, match=r"synonyms\.json"):
            Tokenizer.from_pretrained(tmp_path)
    Tokenizer.train(TEXTS).save_pretrained(tmp_path)
    assert not (tmp_path / "synonyms.json").exists()


RARITY = {"rent": 3.0, "a": 1.0, "car": 3.0, "the": 1.0, "play": 3.0, "music": 3.0}


def text_likeness(meaning: TextVectors, one: str, other: str) -> float:
    first, second = meaning.of([one, other])
    return float(first @ second)


def test_other_words_for_the_same_are_alike_and_other_things_are_not() -> None:
    meaning = TextVectors(RARITY)
    other = text_likeness(meaning, "rent a car", "play music")
    assert text_likeness(meaning, "rent a car", "hire the vehicle") > 0.6 > 0.5 > other
    assert text_likeness(meaning, "CAR", "(car)?") == pytest.approx(1)


def test_rare_words_say_more_than_common_ones() -> None:
    meaning, even = TextVectors(RARITY), TextVectors(dict.fromkeys(RARITY, 1.0))
    for said in ("the car", "the unicorn"):
        assert text_likeness(meaning, said, said.split()[1]) > text_likeness(even, said, said.split()[1]) + 0.05


def test_vectors_have_length_one_or_nothing_and_do_not_depend_on_other_texts() -> None:
    meaning, texts = TextVectors(RARITY), ["rent a car", "", "qqqq", "car qqqq zzzz", "möchte ich früh"]
    vectors = meaning.of(texts)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1)[:4], [1, 0, 0, 1], atol=1e-6)
    for text, vector in zip(texts, vectors, strict=True):
        np.testing.assert_allclose(meaning.of([text, "zzzz", "xxxx"])[0], vector, atol=1e-6)
    assert meaning.of([]).shape == (0, vectors.shape[1])


def test_of_another_language_nothing_is_said() -> None:
    german = TextVectors(dict.fromkeys(["ich", "möchte", "morgen", "früh", "aufstehen", "in", "paris"], 1.0))
    assert not german.known
    assert not german.of(["paris", "car"]).any()
