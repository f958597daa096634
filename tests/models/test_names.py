"""Claims about the words of names."""

import numpy as np
import pytest

from adept.models.label_names import are_terms, largest_first, spell_out, words_of_name


@pytest.mark.parametrize("kind", [np.float32, np.int32])
@pytest.mark.parametrize(("count", "most"), [(500, 40), (500, 1), (500, 499), (9, 9), (9, 20), (9, 0), (1, 1), (0, 3)])
def test_the_largest_values_come_first_and_of_equal_ones_the_first(
    kind: type[np.number], count: int, most: int
) -> None:
    """Seeded; half of the values stand there several times."""
    values = np.random.default_rng(count + most).integers(-count, count + 1, count).astype(kind)
    assert largest_first(values, most).tolist() == np.argsort(-values, kind="stable")[:most].tolist()


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
        ("qx7", ""),
        ("invoice", "invoice"),
        ("voicemail", "voicemail"),
        ("qxjw airfare", "qxjw airfare"),
        ("\u1200\u1201\u1202", ""),
        ("a" * 5000, ""),
        ("", ""),
    ],
)
def test_names_are_split_into_words_and_codes_have_none(name: str, words: str) -> None:
    assert " ".join(words_of_name(name)) == words


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("card_payment-failed", "card payment failed"),
        ("CardPaymentFailed", "card payment failed"),
        ("atis:airfare", "atis airfare"),
        ("HTTPServerError", "http server error"),
    ],
)
def test_names_are_read_as_words(name: str, words: str) -> None:
    assert " ".join(spell_out(name)) == words


def test_lines_are_terms_where_most_name_something() -> None:
    assert are_terms(["dining light", "thermostat", "please turn the heating down a bit"])
    assert not are_terms(["dining light", "please turn the heating down a bit"])
