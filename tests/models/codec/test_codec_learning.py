"""Claims about learning a codec: the list of likely texts is made once, before any record is read, and found again."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest
import torch
import travel
from safetensors.torch import load_file, save_file

from adept.data.corpus import Corpus
from adept.data.writing import cache_directory
from adept.errors import ModelError
from adept.mechanisms import Description
from adept.models.codec import codec_learning, listed_texts
from adept.models.codec.codec import Codec
from adept.models.codec.codec_files import DESCRIPTION, TABLES, codec_sha256, load_codec, save_codec, save_list
from adept.models.codec.codec_learning import complete, learn_codec
from adept.models.codec.listed_texts import ListedTexts
from adept.models.config import CodecConfig
from adept.rewriting.rewriter import Rewriter

RECORDS = ["when does the last flight leave", "zyzzyva", ""]


@pytest.fixture(autouse=True, scope="module")
def quick(tiny_run: Path) -> Iterator[None]:
    """Few texts are listed, but not by the model that other tests share."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listed_texts, "MAX_PREFIXES", 2_000)
        patch.setattr(codec_learning, "MIN_TEXTS_TO_LIST", 200)
        yield


@pytest.fixture(scope="module")
def corpora() -> tuple[Corpus, Corpus]:
    return Corpus(travel.texts(250)), Corpus(travel.texts(40, split="validation"))


@pytest.fixture(scope="module")
def at_once(corpora: tuple[Corpus, Corpus]) -> Codec:
    return learn_codec(*corpora, public=True, seed=0, config=CodecConfig(likely=600)).with_list()


@pytest.fixture(scope="module")
def put_off(corpora: tuple[Corpus, Corpus], tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("put_off")
    save_codec(learn_codec(*corpora, public=True, seed=0, config=CodecConfig(likely=600)), directory)
    return directory


@pytest.fixture
def model_directory(put_off: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(put_off, tmp_path / "model"))


def nothing_is_listed(codec: Codec) -> NoReturn:
    raise AssertionError("listed again")


def test_what_is_listed_later_is_what_is_listed_at_once(at_once: Codec, model_directory: Path) -> None:
    later = complete(load_codec(model_directory))
    assert len(later.listed)
    assert codec_sha256(later) == codec_sha256(at_once)


def test_it_is_listed_once(model_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = complete(load_codec(model_directory))
    monkeypatch.setattr(Codec, "with_list", nothing_is_listed)
    again = complete(load_codec(model_directory))
    assert codec_sha256(again) == codec_sha256(first)
    for size in (300, 500, 1 << 20):
        assert again.describe(RECORDS, size=size) == first.describe(RECORDS, size=size)


def test_a_codec_without_its_list_describes_and_writes_nothing(put_off: Path) -> None:
    codec = load_codec(put_off)
    with pytest.raises(ModelError, match="lacks its list"):
        codec.describe(["hello"], size=100)
    with pytest.raises(ModelError, match="lacks its list"):
        codec.write([5], size=100)


def test_a_directory_that_cannot_be_written_leaves_it_to_the_cache(
    put_off: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    file = tmp_path / "file"
    file.touch()
    codec = load_codec(put_off)
    codec.directory = file / "nowhere"  # what root may write elsewhere it cannot write here
    first = complete(codec)
    (kept,) = cache_directory().glob("codec-*")
    assert kept.name == f"codec-{codec_sha256(codec)[:32]}.safetensors"
    monkeypatch.setattr(Codec, "with_list", nothing_is_listed)
    assert codec_sha256(complete(codec)) == codec_sha256(first)


def test_where_nothing_can_be_written_it_is_listed_every_time(
    put_off: Path, at_once: Codec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(file))
    codec = load_codec(put_off)
    codec.directory = None
    assert codec_sha256(complete(codec)) == codec_sha256(at_once)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_of_two_that_list_at_a_time_both_use_what_the_first_one_listed(
    model_directory: Path, at_once: Codec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their texts may differ, as those of two machines do; files described by one must be read by the other."""
    codec = load_codec(model_directory)
    words = codec.model.vocabulary.words
    listed = ListedTexts(words, at_once.listed.flat[at_once.listed.ends[0] + 1 :])
    theirs = Codec(codec.model, codec.weigh, codec.utterances, codec.held_out, listed)

    def meanwhile(codec: Codec) -> Codec:
        save_list(theirs, model_directory / f"codec-{codec_sha256(codec)[:32]}.safetensors")
        return at_once

    monkeypatch.setattr(Codec, "with_list", meanwhile)
    assert codec_sha256(complete(codec)) == codec_sha256(theirs) != codec_sha256(at_once)


def test_a_damaged_file_is_an_error_that_says_what_to_do(model_directory: Path) -> None:
    codec = load_codec(model_directory)
    complete(codec)
    (kept,) = model_directory.glob("codec-*.safetensors")
    tables = load_file(kept)
    for spoiled in (
        {},
        {**tables, "likely": torch.tensor([1, 0], dtype=torch.int16)},
        {**tables, "likely": tables["likely"][None]},
        {**tables, "likely": tables["likely"].repeat(2)},  # more texts than the codec asks for
        {**tables, "more": tables["likely"].clone()},
    ):
        save_file(spoiled, kept)
        with pytest.raises(ModelError, match="is damaged: remove it"):
            complete(codec)


@pytest.mark.parametrize("unlisted", [None, [], True, -1, 1 << 40, "600"])
def test_a_strangers_wish_to_list_is_checked(model_directory: Path, unlisted: object) -> None:
    stored = json.loads((model_directory / DESCRIPTION).read_text())
    (model_directory / DESCRIPTION).write_text(json.dumps(stored | {"unlisted": unlisted}))
    with pytest.raises(ModelError, match="corrupt"):
        load_codec(model_directory)


def test_private_text_has_nothing_to_list(corpora: tuple[Corpus, Corpus]) -> None:
    codec = learn_codec(*corpora, public=False, seed=0, config=CodecConfig(likely=600))
    assert not codec.unlisted
    assert not codec.utterances


def test_a_model_that_was_trained_for_latents_describes(
    tiny_run: Path, put_off: Path, at_once: Codec, tmp_path: Path
) -> None:
    directory = Path(shutil.copytree(tiny_run / "model", tmp_path / "model"))
    for name in (DESCRIPTION, TABLES):
        shutil.copy(put_off / name, directory)
    rewriter = Rewriter.from_pretrained(directory, mechanism=Description(epsilon=12.0))
    assert rewriter.model.codec is not None
    assert codec_sha256(rewriter.model.codec) == codec_sha256(at_once)
    assert all(isinstance(text, str) for text in rewriter.rewrite(RECORDS))
    assert list(directory.glob("codec-*.safetensors"))
