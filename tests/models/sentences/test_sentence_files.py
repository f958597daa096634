"""Claims about the files of a list of sentences: what is saved is loaded, whatever else is a model error."""

import json
import shutil
from pathlib import Path

import pytest
import torch
import travel
from safetensors.torch import load_file, save_file

from adept.errors import ModelError
from adept.models.sentences import sentence_list
from adept.models.sentences.meanings import MAX_WORD_SUM
from adept.models.sentences.sentence_list import (
    SentenceList,
    load_sentences,
    save_sentences,
    sentence_content,
    sentences_sha256,
)
from adept.models.untrusted_files import DESCRIPTION, TABLES, ModelFiles

SPECIMENS = Path(__file__).parents[2] / "specimens"


@pytest.fixture(scope="module")
def broad() -> SentenceList:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentence_list, "MAX_UTTERANCES", 200)
        return SentenceList.of_broad_text(travel.texts(1500), held_out=travel.texts(20, split="validation"))


@pytest.fixture(scope="module")
def own() -> SentenceList:
    once = ["zebra", "quokka", "wombat", "numbat", "dingo"]
    return SentenceList.of([*travel.texts(300), *(f"flights to {word} please" for word in once)])


@pytest.mark.parametrize("name", ["own", "broad"])
def test_a_saved_list_is_the_same_list(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Words of a single text included: one digest must not stand for two lists."""
    sentences: SentenceList = request.getfixturevalue(name)
    save_sentences(sentences, tmp_path)
    loaded = load_sentences(ModelFiles(tmp_path, DESCRIPTION))
    assert sentences_sha256(loaded) == sentences_sha256(sentences)
    assert [loaded[place] for place in range(len(loaded))] == [sentences[place] for place in range(len(sentences))]
    assert (loaded.held_out, loaded.is_broad) == (list(sentences.held_out), sentences.is_broad)
    records = ["flights to boston", "quokka flights", ""]
    for size in (50, len(loaded)):
        assert loaded.nearest(records, size=size, count=3) == sentences.nearest(records, size=size, count=3)


def test_public_sentences_of_0_2_are_read_in_their_order_and_nothing_else(tmp_path: Path) -> None:
    """Neither the language model, nor the texts that it thought likely; what is saved again needs neither."""
    old = SPECIMENS / "model-0.2.0"
    loaded, stored = load_sentences(ModelFiles(old, DESCRIPTION)), json.loads((old / DESCRIPTION).read_text("utf-8"))
    assert [" ".join(words) for words in loaded.utterances] == stored["utterances"]
    assert (len(loaded.listed), loaded.is_broad) == (0, False)
    save_sentences(loaded, tmp_path)
    assert sentences_sha256(load_sentences(ModelFiles(tmp_path, DESCRIPTION))) == sentences_sha256(loaded)
    assert (tmp_path / TABLES).stat().st_size < (old / TABLES).stat().st_size


def as_format_2(sentences: SentenceList, directory: Path) -> None:
    """Write a list as the version before the sentence encoder did: with the digest of a lexicon."""
    save_sentences(sentences, directory)
    stored = json.loads((directory / DESCRIPTION).read_text("utf-8"))
    lexicon = stored.pop("encoder") and "0" * 64
    changed = {**stored, "lexicon": lexicon, "format_version": 2}
    (directory / DESCRIPTION).write_text(json.dumps(changed), "utf-8")


def test_a_list_of_one_domain_of_format_2_is_the_same_list(own: SentenceList, tmp_path: Path) -> None:
    as_format_2(own, tmp_path)
    loaded = load_sentences(ModelFiles(tmp_path, DESCRIPTION))
    assert sentences_sha256(loaded) == sentences_sha256(own)
    assert loaded.nearest(["quokka flights"], size=50, count=3) == own.nearest(["quokka flights"], size=50, count=3)


def test_a_list_of_broad_text_whose_groups_a_lexicon_made_is_refused_in_one_line(
    broad: SentenceList, tmp_path: Path
) -> None:
    """Of formats 1 and 2."""
    as_format_2(broad, tmp_path)
    for directory in (tmp_path, SPECIMENS / "adapted-0.2.0"):
        with pytest.raises(ModelError, match=r"older version.* lexicon: adapt or train the model again$") as caught:
            load_sentences(ModelFiles(directory, DESCRIPTION))
        assert str(caught.value).startswith(str(directory / DESCRIPTION))
        assert "\n" not in str(caught.value)


def test_a_list_of_private_text_of_0_2_is_empty(tmp_path: Path) -> None:
    shutil.copytree(SPECIMENS / "model-0.2.0", tmp_path, dirs_exist_ok=True)
    stored = json.loads((tmp_path / DESCRIPTION).read_text("utf-8"))
    (tmp_path / DESCRIPTION).write_text(json.dumps({**stored, "utterances": [], "held_out": []}), "utf-8")
    assert len(load_sentences(ModelFiles(tmp_path, DESCRIPTION))) == 0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("format_version", 4),
        ("format_version", 0),
        ("format_version", None),
        ("listed_words", ["", "a", "a"]),
        ("listed_words", ["", "a\nb"]),
        ("listed_words", ["a", "b"]),
        ("listed_words", 7),
        ("texts", "many"),
        ("texts", 1),
        ("holders", {"a": 1 << 40}),
        ("holders", {"a": -1}),
        ("holders", []),
        ("encoder", 5),
        ("utterances", ["two  spaces"]),
        ("utterances", ["a " * 100]),
        ("held_out", ["\x00"]),
    ],
)
def test_what_no_list_writes_is_a_model_error(broad: SentenceList, tmp_path: Path, field: str, value: object) -> None:
    save_sentences(broad, tmp_path)
    stored = json.loads((tmp_path / DESCRIPTION).read_text("utf-8"))
    (tmp_path / DESCRIPTION).write_text(json.dumps({**stored, field: value}), "utf-8")
    with pytest.raises(ModelError, match="corrupt"):
        load_sentences(ModelFiles(tmp_path, DESCRIPTION))


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("likely", lambda table: table + 10_000),
        ("likely", lambda table: table - 1),
        ("likely", lambda table: table[:-1]),
        ("likely", lambda table: torch.cat([table, torch.zeros(1, dtype=torch.int16)])),
        ("likely", lambda table: torch.cat([torch.ones(60, dtype=torch.int16), table])),
        ("groups", lambda table: table[1:]),
        ("groups", lambda table: table - 1000),
        ("groups", lambda table: table + (1 << 12)),
    ],
)
def test_tables_are_checked(broad: SentenceList, tmp_path: Path, table: str, change: object) -> None:
    save_sentences(broad, tmp_path)
    tables = load_file(tmp_path / TABLES)
    save_file({**tables, table: change(tables[table]).contiguous()}, tmp_path / TABLES)  # type: ignore[operator]
    with pytest.raises(ModelError, match=f"corrupt.*{table}"):
        load_sentences(ModelFiles(tmp_path, DESCRIPTION))


@pytest.mark.parametrize("damaged", [b"", None])
def test_tables_of_0_2_are_not_read(damaged: bytes | None, tmp_path: Path) -> None:
    """They hold what a language model of that version needed, and texts that it thought likely."""
    shutil.copytree(SPECIMENS / "model-0.2.0", tmp_path, dirs_exist_ok=True)
    whole = load_sentences(ModelFiles(tmp_path, DESCRIPTION))
    (tmp_path / TABLES).unlink() if damaged is None else (tmp_path / TABLES).write_bytes(damaged)
    without = load_sentences(ModelFiles(tmp_path, DESCRIPTION))
    assert (len(whole.listed), without.utterances) == (0, whole.utterances)


def test_a_list_of_another_encoder_is_refused(broad: SentenceList, tmp_path: Path) -> None:
    save_sentences(broad, tmp_path)
    path = tmp_path / DESCRIPTION
    path.write_text(path.read_text("utf-8").replace(sentence_content(broad)[0]["encoder"], "0" * 64), "utf-8")
    with pytest.raises(ModelError, match=r"another sentence encoder .*: adapt or train the model again$"):
        load_sentences(ModelFiles(tmp_path, DESCRIPTION))


def test_a_strangers_word_that_is_too_long_for_exact_sums_is_refused(broad: SentenceList, tmp_path: Path) -> None:
    """As soon as the list is searched, in one line that does not repeat the word."""
    save_sentences(broad, tmp_path)
    path = tmp_path / DESCRIPTION
    stored, word = json.loads(path.read_text("utf-8")), "\u98df" * (1 + MAX_WORD_SUM // 127)
    for field in ("utterances", "listed_words"):
        path.write_text(json.dumps({**stored, field: [*stored[field], word]}), "utf-8")
        loaded = load_sentences(ModelFiles(tmp_path, DESCRIPTION))
        with pytest.raises(ModelError, match="too long for exact sums") as caught:
            loaded.nearest(["a fare"], size=len(loaded))
        assert len(str(caught.value)) < 200
    path.write_text(json.dumps({**stored, "utterances": [*stored["utterances"], word[:-1]]}), "utf-8")
    assert load_sentences(ModelFiles(tmp_path, DESCRIPTION)).nearest([word], size=201) == [[200]]
