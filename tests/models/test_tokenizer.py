"""The vocabulary comes from the training text alone, and any text is some list of ids."""

import json
import pickle
import random
import re
import unicodedata
from pathlib import Path

import pytest

from adept.errors import ConfigurationError, ModelError
from adept.models.config import TokenizerConfig
from adept.models.sentences.meanings import words_of
from adept.models.tokenizer import END, PAD, PUNCTUATION, SPECIAL_TOKENS, START, UNKNOWN, Tokenizer, join_words

TEXTS = ["show flights to Boston", "show flights to Denver, please", "flights from st. louis to boston."] * 3


def test_words_survive_the_round_trip_in_lower_case() -> None:
    tokenizer = Tokenizer.train(TEXTS)
    texts = ["Show flights to boston", "flights from st. louis to denver, please"]
    assert tokenizer.decode(tokenizer.encode(texts, max_length=40)) == [text.lower() for text in texts]


@pytest.fixture(scope="module")
def subwords() -> Tokenizer:
    return Tokenizer.train(TEXTS, TokenizerConfig(kind="bpe", vocabulary_size=320))


def _normal(text: str) -> str:
    """A text as a tokenizer sees it: in lower case, with spaces for what is not written, one between any two words."""
    composed = unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode("utf-8"))
    written = "".join(" " if unicodedata.category(letter)[0] == "C" else letter for letter in composed)
    words = " ".join(written.lower().split())
    words = re.sub(
        PUNCTUATION.replace(r"|\.$", r"|(?<!\S)\.(?!\S)"), r" \g<0> ", re.sub(r"(\S)\.(?!\S)", r"\1 .", words)
    )
    return re.sub(r" ([.,;:!?)\]])", r"\1", " ".join(words.split()))


@pytest.mark.parametrize(
    "text",
    ["flights to loston", "Zürich 😀👩‍🚀!",
     "東京まで、片道。", "رحلة إلى القاهرة؟", "Ġ Ċ </w> a.m. [END]",
     "नमस्ते दुनिया", "e\u0301té", "a\nb\u2028c\u3000d"],
)  # fmt: skip
def test_subwords_write_any_text_again(subwords: Tokenizer, text: str) -> None:
    [row] = subwords.encode([text], max_length=500)
    assert UNKNOWN not in row
    assert subwords.decode([row]) == [_normal(text)]


def test_subwords_write_random_text_of_all_alphabets_again(subwords: Tokenizer) -> None:
    """Letters of every block of an old Unicode, which every library knows, controls and halves of characters included."""
    rng = random.Random(0)
    letters = [chr(n) for n in range(0x110000) if unicodedata.ucd_3_2_0.category(chr(n)) != "Cn"]
    texts = ["".join(rng.choices([*rng.sample(letters, 8), *" ,.aZ"], k=rng.randrange(30))) for _ in range(3000)]
    assert subwords.decode(subwords.encode(texts, max_length=500)) == [_normal(text) for text in texts]


def test_subwords_never_write_a_second_line_or_a_control_character(subwords: Tokenizer) -> None:
    rng = random.Random(1)
    written = subwords.decode([rng.choices(range(4, len(subwords)), k=30) for _ in range(2000)])
    assert all(len(text.splitlines()) <= 1 for text in written)
    assert not {unicodedata.category(letter) for text in written for letter in text} & {"Cc", "Cf", "Cs"}


def test_subwords_without_a_byte_are_refused_and_those_of_version_0_1_are_read(
    subwords: Tokenizer, tmp_path: Path
) -> None:
    path = tmp_path / "tokenizer.json"
    subwords.save_pretrained(tmp_path)
    assert Tokenizer.from_pretrained(tmp_path).vocabulary == subwords.vocabulary
    content = json.loads(path.read_text("utf-8"))
    words = content["model"]["vocab"]
    words["not a byte"] = words.pop("Ċ")  # the line break's
    path.write_text(json.dumps(content), "utf-8")
    with pytest.raises(ModelError, match="a byte without a token"):
        Tokenizer.from_pretrained(tmp_path)


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


@pytest.mark.parametrize(
    "options", [{"kind": "char"}, {"min_frequency": 0}, {"vocabulary_size": 4}, {"kind": "bpe", "vocabulary_size": 259}]
)
def test_impossible_settings_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match="tokenizer"):
        TokenizerConfig(**options)  # type: ignore[arg-type]


def test_subwords_of_one_text_are_worked_out_anew_for_the_next(tmp_path: Path) -> None:
    """The library keeps those of 10,000 words, and would write them again after its words have changed."""
    trained = Tokenizer.train(["flights from boston to denver"] * 5, TokenizerConfig(kind="bpe"))
    trained.save_pretrained(tmp_path)
    for tokenizer in (trained, Tokenizer.from_pretrained(tmp_path), pickle.loads(pickle.dumps(trained))):
        before = tokenizer.encode(["flights"], max_length=9)
        tokenizer._backend.model.end_of_word_suffix = "~"
        assert tokenizer.encode(["flights"], max_length=9) != before


@pytest.mark.parametrize(
    "text", ["播放一首周杰伦的歌。", "今日の天気は?", "เปิดเพลงของเชียงใหม่", "播放 adele 的歌", "ສະບາຍດີ"]
)
@pytest.mark.parametrize("later", [True, False])
def test_text_without_spaces_is_read_by_characters_and_written_as_it_was(text: str, later: bool) -> None:
    tokenizer = Tokenizer.train(["play"]).with_words([text]) if later else Tokenizer.train([text] * 2)
    [row] = tokenizer.encode([text], max_length=40)
    assert len(row) > 5
    assert UNKNOWN not in row
    assert tokenizer.decode([row]) == [text]
    assert join_words(words_of(text)) == text
    assert len(words_of(text)) == len(row) - 1


def test_subwords_keep_the_spaces_between_characters() -> None:
    tokenizer = Tokenizer.train(["播放 一首 歌"] * 4, TokenizerConfig(kind="bpe", vocabulary_size=300))
    assert tokenizer.decode(tokenizer.encode(["播放 一首 歌"], max_length=40)) == ["播放 一首 歌"]
