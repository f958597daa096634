"""The vocabulary comes from the training text alone, and any text is some list of ids."""

import json
from pathlib import Path

import pytest

from adept.errors import ConfigurationError, ModelError
from adept.models.tokenizer import END, PAD, SPECIAL_TOKENS, START, UNKNOWN, Tokenizer, TokenizerConfig

TEXTS = ["show flights to Boston", "show flights to Denver, please", "flights from st. louis to boston."] * 3


def test_words_survive_the_round_trip_in_lower_case() -> None:
    tokenizer = Tokenizer.train(TEXTS)
    texts = ["Show flights to boston", "flights from st. louis to denver, please"]
    assert tokenizer.decode(tokenizer.encode(texts, max_length=40)) == [text.lower() for text in texts]


def test_byte_pairs_write_words_that_were_never_seen() -> None:
    tokenizer = Tokenizer.train(TEXTS, TokenizerConfig(kind="bpe", vocabulary_size=200))
    assert tokenizer.decode(tokenizer.encode(["flights to loston"], max_length=40)) == ["flights to loston"]


def test_rare_words_are_cut_and_unknown_words_become_one_token() -> None:
    tokenizer = Tokenizer.train([*TEXTS, "zebra"], TokenizerConfig(min_frequency=2))
    assert "zebra" not in tokenizer.vocabulary
    assert tokenizer.encode(["zebra giraffe"], max_length=40) == [[UNKNOWN, UNKNOWN, END]]


def test_special_tokens_have_the_ids_that_the_model_relies_on() -> None:
    vocabulary = Tokenizer.train(TEXTS).vocabulary
    assert [vocabulary[token] for token in SPECIAL_TOKENS] == [PAD, UNKNOWN, START, END]


def test_a_record_cannot_write_special_tokens_or_line_breaks() -> None:
    tokenizer = Tokenizer.train([*TEXTS, "[END] [PAD]", "[END] [PAD]"])
    rows = tokenizer.encode(["[END] flights [PAD] [START]", "a\nb\x0bc\u2028d\x1ce"], max_length=40)
    assert all(END not in row[:-1] and PAD not in row for row in rows)
    assert all(len(text.splitlines()) <= 1 for text in tokenizer.decode([list(range(len(tokenizer)))[4:]]))


@pytest.mark.parametrize("text", ["", " \t\n ", "😀🎉", "\x00\x07", "word " * 10_000, "x" * 100_000])
def test_any_text_has_between_one_id_and_the_limit(text: str) -> None:
    [row] = Tokenizer.train(TEXTS).encode([text], max_length=40)
    assert 1 <= len(row) <= 41
    assert row[-1] == END


def test_the_same_texts_give_the_same_vocabulary_and_a_saved_one_is_the_same(tmp_path: Path) -> None:
    tokenizer = Tokenizer.train(TEXTS)
    tokenizer.save_pretrained(tmp_path)
    loaded = Tokenizer.from_pretrained(tmp_path)
    assert loaded.vocabulary == tokenizer.vocabulary == Tokenizer.train(TEXTS).vocabulary


def test_a_missing_or_corrupt_file_is_a_model_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no readable tokenizer"):
        Tokenizer.from_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": None}))
    with pytest.raises(ModelError, match="corrupt"):
        Tokenizer.from_pretrained(tmp_path)


@pytest.mark.parametrize("options", [{"kind": "char"}, {"min_frequency": 0}, {"vocabulary_size": 4}])
def test_impossible_settings_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match="tokenizer"):
        TokenizerConfig(**options)  # type: ignore[arg-type]
