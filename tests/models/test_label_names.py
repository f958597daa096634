"""Claims about the words of label names."""

import pytest

from adept.models.names import words_of_name
from adept.models.word_vectors import Lexicon


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cheapest_airfare", "cheapest airfare"),
        ("HTTPServerError", "http server error"),
        ("play-music", "play music"),
        ("book a flight, please", "book a flight , please"),
        ("top10hotels", "top hotels"),
        ("flight 3", "flight"),
        ("X17", ""),
        ("42", ""),
        ("q_1", ""),
        ("zzqxv", ""),
        ("", ""),
    ],
)
def test_names_are_split_into_words_and_codes_have_none(name: str, words: str) -> None:
    assert " ".join(words_of_name(name, Lexicon.load())) == words
