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
from adept.models.sentences.sentence_files import (
    DESCRIPTION,
    TABLES,
    load_sentences,
    save_sentences,
    sentence_content,
    sentences_sha256,
)
from adept.models.sentences.sentence_list import SentenceList

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
    loaded = load_sentences(tmp_path)
    assert sentences_sha256(loaded) == sentences_sha256(sentences)
    assert [loaded[place] for place in range(len(loaded))] == [sentences[place] for place in range(len(sentences))]
    assert (loaded.held_out, loaded.is_broad) == (list(sentences.held_out), sentences.is_broad)
    records = ["flights to boston", "quokka flights", ""]
    for size in (50, len(loaded)):
        assert loaded.nearest(records, size=size, count=3) == sentences.nearest(records, size=size, count=3)


@pytest.mark.parametrize(("name", "listed"), [("model-0.2.0", 0), ("adapted-0.2.0", 58)])
def test_public_sentences_of_0_2_are_read_in_their_order_and_nothing_else(
    name: str, listed: int, tmp_path: Path
) -> None:
    """Neither the language model, nor the texts that it thought likely; what is saved again needs neither."""
    loaded, stored = load_sentences(SPECIMENS / name), json.loads((SPECIMENS / name / DESCRIPTION).read_text("utf-8"))
    assert [" ".join(words) for words in loaded.utterances] == stored["utterances"]
    assert len(loaded.listed) == listed
    if listed:  # by hand: the numbers of the old file are those of its own words
        flat = load_file(SPECIMENS / name / TABLES)["likely"].tolist()
        words = [stored["listed_words"][number] for number in flat]
        assert [word for place in range(listed) for word in (*loaded.listed[place], "")] == words
    save_sentences(loaded, tmp_path)
    assert sentences_sha256(load_sentences(tmp_path)) == sentences_sha256(loaded)
    assert (tmp_path / TABLES).stat().st_size < (SPECIMENS / name / TABLES).stat().st_size


def test_a_list_of_private_text_of_0_2_is_empty(tmp_path: Path) -> None:
    shutil.copytree(SPECIMENS / "model-0.2.0", tmp_path, dirs_exist_ok=True)
    stored = json.loads((tmp_path / DESCRIPTION).read_text("utf-8"))
    (tmp_path / DESCRIPTION).write_text(json.dumps({**stored, "utterances": [], "held_out": []}), "utf-8")
    assert len(load_sentences(tmp_path)) == 0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("format_version", 3),
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
        ("lexicon", 5),
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
        load_sentences(tmp_path)


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
        load_sentences(tmp_path)


@pytest.mark.parametrize("name", ["model-0.2.0", "adapted-0.2.0"])
def test_tables_of_0_2_are_checked(name: str, tmp_path: Path) -> None:
    shutil.copytree(SPECIMENS / name, tmp_path, dirs_exist_ok=True)
    tables = load_file(tmp_path / TABLES)
    for spoiled in ({**tables, "more": torch.zeros(1)}, {**tables, "words": tables["words"][:, 1:].contiguous()}, {}):
        save_file(spoiled, tmp_path / TABLES)
        with pytest.raises(ModelError, match="do not fit"):
            load_sentences(tmp_path)
    (tmp_path / TABLES).unlink()
    with pytest.raises(ModelError, match=TABLES):
        load_sentences(tmp_path)


def test_a_list_of_another_lexicon_is_refused(broad: SentenceList, tmp_path: Path) -> None:
    save_sentences(broad, tmp_path)
    path = tmp_path / DESCRIPTION
    path.write_text(path.read_text("utf-8").replace(sentence_content(broad)[0]["lexicon"], "0" * 64), "utf-8")
    with pytest.raises(ModelError, match="another lexicon"):
        load_sentences(tmp_path)
