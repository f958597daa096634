"""Reconstruction without noise is measured on held-out words, beside the words shared with another record's text."""

from pathlib import Path

import pytest

from adept.data.corpus import DataConfig, load
from adept.errors import ConfigurationError
from adept.models.saved_model import Autoencoder, Reconstruction, mean_word_f1, reconstruction
from adept.rewriting.loading import load_model


@pytest.mark.parametrize(
    ("record", "rewrite", "value"),
    [("a b c", "c B  a", 1.0), ("a b", "c d", 0.0), ("a a b", "a c", 0.4), ("", " ", 1.0), ("a", "", 0.0)],
)
def test_words_are_counted_in_whatever_order(record: str, rewrite: str, value: float) -> None:
    assert mean_word_f1([record], [rewrite]) == pytest.approx(value)
    assert mean_word_f1([record, "a"], [rewrite, "a"]) == pytest.approx((value + 1) / 2)


def test_what_anybody_says_does_not_count_as_written_back() -> None:
    assert Reconstruction(own=0.3, other=0.3).share == 0
    assert Reconstruction(own=0.65, other=0.3).share == pytest.approx(0.5)
    assert Reconstruction(own=1.0, other=1.0).share == 1


def test_a_model_that_loses_much_is_warned_of_in_one_sentence() -> None:
    assert Reconstruction(own=0.6, other=0.2).warning is None
    warning = Reconstruction(own=0.3, other=0.2).warning or ""
    assert "writes back 0.30 of the words" in warning
    assert "0.20 are in another record's text" in warning
    assert ". " not in warning


def test_a_model_is_measured_on_texts_it_has_not_seen(tiny_run: Path) -> None:
    texts = load(DataConfig(sizes=[400, 60, 60]))["validation"].texts
    measured = reconstruction(*load_model(tiny_run), texts)
    assert measured is not None
    assert 0 < measured.own < 0.9
    assert reconstruction(*load_model(tiny_run), texts) == measured
    assert reconstruction(*load_model(tiny_run), texts[:1]) is None


def test_noise_free_text_is_one_call_and_does_not_depend_on_the_other_texts(tiny_l1_run: Path) -> None:
    model = Autoencoder.from_pretrained(tiny_l1_run)  # or its directory model/
    texts = ["show me flights to boston", "", "list fares"]
    written = model.reconstruct(texts)
    assert written == [model.reconstruct([text])[0] for text in texts]
    assert all(isinstance(text, str) for text in written)
    with pytest.raises(ConfigurationError, match="tokenizer must be given"):
        Autoencoder(model.config, vocabulary_size=9, clip="l1").reconstruct(texts)


def test_the_packaged_model_reconstructs_with_its_public_texts() -> None:
    model = Autoencoder.from_pretrained("utterances")
    light, flight = model.reconstruct(["turn the lights in the kitchen down a bit", "show me flights to boston"])
    assert {light, flight} <= set(model.public_texts)
    assert "light" in light
    assert "boston" in flight
