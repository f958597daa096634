"""A text's vector says what the text is about, whichever words say it and whatever stands beside it."""

import numpy as np
import pytest

from adept.evaluation.meaning import Meaning

RARITY = {"rent": 3.0, "a": 1.0, "car": 3.0, "the": 1.0, "play": 3.0, "music": 3.0}


def likeness(meaning: Meaning, one: str, other: str) -> float:
    first, second = meaning.of([one, other])
    return float(first @ second)


def test_other_words_for_the_same_are_alike_and_other_things_are_not() -> None:
    meaning = Meaning(RARITY)
    other = likeness(meaning, "rent a car", "play music")
    assert likeness(meaning, "rent a car", "hire the vehicle") > 0.6 > 0.5 > other
    assert likeness(meaning, "CAR", "(car)?") == pytest.approx(1)


def test_rare_words_say_more_than_common_ones() -> None:
    meaning, even = Meaning(RARITY), Meaning(dict.fromkeys(RARITY, 1.0))
    for said in ("the car", "the unicorn"):
        assert likeness(meaning, said, said.split()[1]) > likeness(even, said, said.split()[1]) + 0.05


def test_vectors_have_length_one_or_nothing_and_do_not_depend_on_company() -> None:
    meaning, texts = Meaning(RARITY), ["rent a car", "", "qqqq", "car qqqq zzzz", "möchte ich früh"]
    vectors = meaning.of(texts)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1)[:4], [1, 0, 0, 1], atol=1e-6)
    for text, vector in zip(texts, vectors, strict=True):
        np.testing.assert_allclose(meaning.of([text, "zzzz", "xxxx"])[0], vector, atol=1e-6)
    assert meaning.of([]).shape == (0, vectors.shape[1])


def test_of_another_language_nothing_is_said() -> None:
    german = Meaning(dict.fromkeys(["ich", "möchte", "morgen", "früh", "aufstehen", "in", "paris"], 1.0))
    assert not german.known
    assert not german.of(["paris", "car"]).any()
