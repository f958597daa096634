"""A word outside the vocabulary is read as the known one that means most nearly the same, whatever stands beside it."""

import json
from pathlib import Path

import numpy as np
import pytest

from adept.errors import ModelError
from adept.models.lexicon import LIKE, Lexicon
from adept.models.tokenizer import END, FIRST_LABEL, UNKNOWN, Tokenizer, TokenizerConfig

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
        assert cosines.max() >= LIKE - 0.01
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


def test_a_lexicon_is_made_from_glove_and_read_again(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    words = ["the", ",", "w2", *(f"word{chr(97 + n)}" for n in range(20))]
    vectors = rng.normal(size=(len(words), 10)) + 3  # a mean that all of them share
    lines = (" ".join([word, *map(str, row)]) for word, row in zip(words, vectors.tolist(), strict=True))
    (tmp_path / "glove.txt").write_text("\n".join(lines) + "\n", "utf-8")
    lexicon = Lexicon.from_glove(tmp_path / "glove.txt", words=15)
    assert lexicon.words == ("the", *words[3:17])
    lexicon.save(tmp_path)
    again = Lexicon.load(tmp_path)
    np.testing.assert_array_equal(again.of(lexicon.words), lexicon.of(lexicon.words))
    assert abs(again.of(again.words).mean(axis=0)).max() < 0.3
