"""A word outside the vocabulary is read as the known one that means most nearly the same, whatever stands beside it."""

import json
from pathlib import Path

import numpy as np
import pytest

from adept.errors import ModelError
from adept.models.config import TokenizerConfig
from adept.models.sentence_encoder import MIN_COSINE, english_vectors
from adept.models.tokenizer import END, FIRST_LABEL, UNKNOWN, Tokenizer

TEXTS = ["book a cheap hotel in paris", "rent a car on friday", "play music by the band", "cancel my order"] * 2
GERMAN = ["ich", "möchte", "morgen", "früh", "aufstehen", "in", "paris"]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(TEXTS).with_synonyms()


def test_words_of_like_meaning_have_like_vectors() -> None:
    bicycle, bike, invoice = english_vectors(["bicycle", "bike", "invoice"])
    assert bicycle @ bike > 0.7 > 0.3 > bicycle @ invoice
    np.testing.assert_allclose(np.linalg.norm(english_vectors(["Paris", "what's"]), axis=1), 1)


def test_another_language_has_no_vectors_and_no_synonyms() -> None:
    assert not english_vectors(GERMAN).any()
    assert not english_vectors([]).any()
    assert not Tokenizer.train([" ".join(GERMAN)] * 2).with_synonyms().synonyms


def test_an_unknown_word_is_read_as_the_nearest_known_one(tokenizer: Tokenizer) -> None:
    known = tokenizer.encode(["rent a car on friday", "book a cheap hotel in paris"], max_length=40)
    assert tokenizer.encode(["rent a vehicle on THURSDAY", "book a inexpensive motel in paris"], max_length=40) == known
    assert tokenizer.encode(["qqqq car"], max_length=40) == [[UNKNOWN, tokenizer.vocabulary["car"], END]]


def test_known_words_stay_and_only_likely_ones_are_put_in_the_place_of_others(tokenizer: Tokenizer) -> None:
    assert tokenizer.synonyms.keys().isdisjoint(tokenizer.vocabulary)
    for word, known in list(tokenizer.synonyms.items())[::50]:
        likeness = english_vectors([word, *tokenizer.words[FIRST_LABEL:]])
        cosines = likeness[1:] @ likeness[0]
        assert cosines.max() >= MIN_COSINE
        assert tokenizer.words[FIRST_LABEL + int(cosines.argmax())] == known


def test_a_word_of_which_only_parts_are_known_is_nobodys_synonym() -> None:
    """The first part of "vacco" alone would make it the word for "va"."""
    words = Tokenizer.train(["vacco is a car"] * 2).with_synonyms()
    assert "vacco" not in words.synonyms.values()
    assert "car" in words.synonyms.values()


def test_what_a_word_is_read_as_depends_on_no_other_word(tokenizer: Tokenizer) -> None:
    alone = tokenizer.encode(["vehicle"], max_length=40)[0][0]
    for text in ("vehicle qqqq", "VEHICLE, friday", "😀 vehicle"):
        assert alone in tokenizer.encode([text, "motel"], max_length=40)[0]


def test_subwords_are_never_unknown_so_that_none_has_a_synonym() -> None:
    config = TokenizerConfig(kind="bpe", vocabulary_size=300)
    assert not Tokenizer.train(TEXTS, config).with_synonyms().synonyms


def test_synonyms_are_saved_with_the_vocabulary_and_hostile_ones_refused(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenizer.save_pretrained(tmp_path)
    assert Tokenizer.from_pretrained(tmp_path).synonyms == tokenizer.synonyms
    for wrong in ({"vehicle": "qqqq"}, {"vehicle": 7}, {"vehicle": "[END]"}, {"vehicle": None}, ["vehicle"]):
        (tmp_path / "synonyms.json").write_text(json.dumps(wrong), "utf-8")
        with pytest.raises(ModelError, match=r"synonyms\.json"):
            Tokenizer.from_pretrained(tmp_path)
    Tokenizer.train(TEXTS).save_pretrained(tmp_path)
    assert not (tmp_path / "synonyms.json").exists()
