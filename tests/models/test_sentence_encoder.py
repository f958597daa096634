"""The vector of a text is whole numbers that depend on the text alone, whatever is read with it."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import tokenizers
import torch
import travel
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import models, pre_tokenizers

from adept.errors import ModelError
from adept.models.sentence_encoder import (
    LENGTH,
    MAX_DIMENSIONS,
    MAX_PARTS,
    PACKAGED_ENCODER,
    PIECE_LETTERS,
    SentenceEncoder,
    at_length,
    reads_as_english,
    share_alike,
)

UNREADABLE = ["", "   ", "\n", "[MASK]", "[CLS][SEP]", "\ue000\ue001", "\x00"]


@pytest.fixture(scope="module")
def encoder() -> SentenceEncoder:
    return SentenceEncoder.load()


@pytest.mark.parametrize("name", ["tokenizer.json", "vectors.safetensors"])
@pytest.mark.parametrize("kept", [None, 0, 1000])
def test_an_encoder_that_lacks_a_part_is_one_line(tmp_path: Path, name: str, kept: int | None) -> None:
    shutil.copytree(PACKAGED_ENCODER, tmp_path, dirs_exist_ok=True)
    part = (tmp_path / name).read_bytes()
    (tmp_path / name).unlink()
    if kept is not None:
        (tmp_path / name).write_bytes(part[:kept])
    with pytest.raises(ModelError, match=r"sentence encoder in .* is damaged: install adept again$"):
        SentenceEncoder.load(tmp_path)


def test_vectors_have_one_length_and_exact_products(encoder: SentenceEncoder) -> None:
    found = encoder.encode(travel.texts(500)).astype(np.int64)
    assert np.allclose(np.linalg.norm(found, axis=1), LENGTH, atol=9)  # each of 256 numbers is rounded
    assert np.square(found).sum(axis=1).max() < 2**24
    assert MAX_DIMENSIONS * LENGTH**2 < 2**24
    assert PIECE_LETTERS * MAX_PARTS * LENGTH < 2**24


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(), min_size=1, max_size=12), st.randoms())
def test_a_text_alone_has_the_vector_that_it_has_beside_others(texts: list[str], random: object) -> None:
    encoder = SentenceEncoder.load()
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    assert (encoder.encode(texts) == alone).all()
    assert (encoder.encode(texts[::-1])[::-1] == alone).all()


def test_the_number_of_threads_changes_nothing(encoder: SentenceEncoder) -> None:
    texts, threads = [*travel.texts(300), "a " * 50_000], torch.get_num_threads()
    found = []
    for count in (1, 2):
        torch.set_num_threads(count)
        found.append(encoder.encode(texts))
    torch.set_num_threads(threads)
    assert (found[0] == found[1]).all()


def test_sums_are_those_of_whole_numbers(encoder: SentenceEncoder) -> None:
    text = "play some jazz, please " * 4000  # longer than a piece
    words = ["play", "some", "jazz", ",", "please"]
    one = sum(encoder.vectors[encoder._tokenizer.token_to_id(word)].astype(object) for word in words)
    whole = text[: PIECE_LETTERS // len("play some jazz, please ") * len("play some jazz, please ")]
    assert (encoder.sums([whole])[0] == np.array(one) * (len(whole) // len("play some jazz, please "))).all()


def test_a_long_text_is_read_to_its_end(encoder: SentenceEncoder) -> None:
    start = "turn the light on " * 1000
    assert len(start) > PIECE_LETTERS
    text = start + "cancel my flight to boston " * 1000
    assert (encoder.encode([start]) != encoder.encode([text])).any()
    pieces = [text[begin : begin + PIECE_LETTERS] for begin in range(0, len(text), PIECE_LETTERS)]
    assert (encoder.sums([text])[0] == encoder.sums(pieces).sum(axis=0)).all()


def test_what_says_nothing_is_zero(encoder: SentenceEncoder) -> None:
    assert not encoder.encode(UNREADABLE).any()
    assert encoder.encode([]).shape == (0, encoder.dim)


@pytest.mark.parametrize("size", [1, 2**20 - 1, 2**20, 2**40 + 3, 2**61])
def test_sums_of_any_size_are_scaled_exactly(size: int) -> None:
    row = np.array([[size, -size, 0, size // 3]], dtype=np.int64)
    found, norm = at_length(row)[0].astype(float), float(np.linalg.norm(row.astype(float)))
    assert np.abs(found - row[0] / norm * LENGTH).max() <= 0.5 + 1e-3
    assert not at_length(np.zeros((2, 4), dtype=np.int64)).any()


def test_texts_have_one_topic_from_a_cosine_on_and_never_without_a_word() -> None:
    texts = ["book a table for two", "play some jazz", ""]
    assert share_alike(texts, texts) == pytest.approx(2 / 3)  # a text without words is alike to none
    others = ["reserve a table in a restaurant", "play a song of a jazz band", "hello"]
    assert share_alike(texts, others) == pytest.approx(2 / 3)
    assert share_alike(texts, [others[1], others[0], ""]) == 0


def test_english_is_known_by_most_of_its_words() -> None:
    assert reads_as_english(["what is the weather in Boston", "42!"])
    assert not reads_as_english(["wie wird morgen das wetter", "schalte bitte das licht aus"])


def test_near_in_meaning_is_near_in_numbers(encoder: SentenceEncoder) -> None:
    asked, near, far = encoder.encode(
        ["i lost my credit card", "my bank card is missing", "play some jazz music"]
    ).astype(int)
    assert asked @ near > asked @ far + LENGTH**2 / 4


@pytest.mark.parametrize(
    "vectors",
    [
        np.zeros((2, 8), dtype=np.int8),
        np.zeros((3, 257), dtype=np.int8),
        np.zeros((3, 8), dtype=np.int16),
        np.zeros(3, dtype=np.int8),
        np.full((3, 8), -128, dtype=np.int8),
    ],
)
def test_a_table_that_does_not_fit_is_refused(vectors: np.ndarray) -> None:
    backend = tokenizers.Tokenizer(models.WordLevel({"a": 0, "b": 1, "?": 2}, unk_token="?"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    with pytest.raises(ModelError, match="do not fit its tokenizer"):
        SentenceEncoder(backend, vectors)
    assert SentenceEncoder(backend, np.ones((3, 8), dtype=np.int8)).encode(["a b"]).any()


def test_every_letter_has_at_most_so_many_parts(encoder: SentenceEncoder) -> None:
    letters = [chr(point) for point in range(0x20, 0x30000) if not 0xD800 <= point < 0xE000]
    counts = [len(coding.ids) for coding in encoder._tokenizer.encode_batch_fast(letters, add_special_tokens=False)]
    assert max(counts) <= MAX_PARTS
