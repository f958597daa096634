"""Claims about the first use of a codec: what training put off is learned once, before any record is read, and found again."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
import torch
import travel
from safetensors.torch import load_file, save_file

from adept.data.corpus import Corpus
from adept.data.files import cache_directory
from adept.errors import ModelError
from adept.mechanisms import Description, LearnedCodebook
from adept.models.codec import listed_texts, training
from adept.models.codec.codec import Codec, words_of
from adept.models.codec.files import DESCRIPTION, TABLES, codec_sha256, load_codec, save_codec, save_learned
from adept.models.codec.first_use import complete
from adept.models.codec.training import learn_codec
from adept.models.config import CodecConfig, TrainingConfig
from adept.models.language_model import word_lstm_training
from adept.models.language_model.mixture import LanguageModel
from adept.rewriting.rewriter import Rewriter

RECORDS = ["when does the last flight leave", "zyzzyva", ""]


@pytest.fixture(autouse=True, scope="module")
def quick(tiny_run: Path) -> Iterator[None]:
    """Little is learned, but not by the model that other tests share."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_lstm_training, "UPDATES", 20)
        patch.setattr(word_lstm_training, "LEAST_EPOCHS", 1)
        patch.setattr(listed_texts, "MOST_READ", 2_000)
        patch.setattr(training, "FEWEST", 200)
        yield


@pytest.fixture(scope="module")
def corpora() -> tuple[Corpus, Corpus]:
    return Corpus(travel.texts(250)), Corpus(travel.texts(40, split="validation"))


@pytest.fixture(scope="module")
def at_once(corpora: tuple[Corpus, Corpus]) -> Codec:
    return learn_codec(*corpora, public=True, seed=0, config=CodecConfig("now", likely=600))


@pytest.fixture(scope="module")
def put_off(corpora: tuple[Corpus, Corpus], tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("put_off")
    save_codec(learn_codec(*corpora, public=True, seed=0, config=CodecConfig("later", likely=600)), directory)
    return directory


@pytest.fixture
def model_directory(put_off: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(put_off, tmp_path / "model"))


def nothing_is_learned(codec: Codec, report: object = None) -> NoReturn:
    raise AssertionError("learned again")


def test_what_is_learned_later_is_what_is_learned_at_once(at_once: Codec, model_directory: Path) -> None:
    later = complete(load_codec(model_directory))
    assert later.model.lstm
    assert len(later.listed)
    assert codec_sha256(later) == codec_sha256(at_once)


def test_the_network_is_that_of_the_training_text_in_its_order(at_once: Codec, corpora: tuple[Corpus, Corpus]) -> None:
    rows = [words_of(text) for text in corpora[0].texts]
    expected = LanguageModel.of(rows).with_network(rows).lstm
    assert at_once.model.lstm
    assert expected
    assert all(np.array_equal(table, expected.weights[name]) for name, table in at_once.model.lstm.weights.items())


def test_it_is_learned_once(model_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = complete(load_codec(model_directory))
    monkeypatch.setattr(Codec, "learned", nothing_is_learned)
    again = complete(load_codec(model_directory))
    assert codec_sha256(again) == codec_sha256(first)
    for size in (300, 500, 1 << 20):
        assert again.describe(RECORDS, size=size) == first.describe(RECORDS, size=size)


def test_a_codec_with_something_to_learn_describes_and_writes_nothing(put_off: Path) -> None:
    codec = load_codec(put_off)
    with pytest.raises(ModelError, match="yet to learn"):
        codec.describe(["hello"], size=100)
    with pytest.raises(ModelError, match="yet to learn"):
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
    monkeypatch.setattr(Codec, "learned", nothing_is_learned)
    assert codec_sha256(complete(codec)) == codec_sha256(first)


def test_where_nothing_can_be_written_it_is_learned_every_time(
    put_off: Path, at_once: Codec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(file))
    codec = load_codec(put_off)
    codec.directory = None
    assert codec_sha256(complete(codec)) == codec_sha256(at_once)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_of_two_that_learn_at_a_time_both_use_what_the_first_one_learned(
    model_directory: Path, at_once: Codec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their weights may differ, as those of two machines do; files described by one must be read by the other."""
    codec = load_codec(model_directory)
    theirs = Codec(codec.model.with_network(codec.utterances[:40]), codec.weigh, codec.utterances, codec.held_out)

    def meanwhile(codec: Codec, report: object = None) -> Codec:
        save_learned(theirs, model_directory / f"codec-{codec_sha256(codec)[:32]}.safetensors")
        return at_once

    monkeypatch.setattr(Codec, "learned", meanwhile)
    assert codec_sha256(complete(codec)) == codec_sha256(theirs) != codec_sha256(at_once)


def test_a_damaged_file_is_an_error_that_says_what_to_do(model_directory: Path) -> None:
    codec = load_codec(model_directory)
    complete(codec)
    (kept,) = model_directory.glob("codec-*.safetensors")
    tables = load_file(kept)
    for spoiled in (
        {name: table for name, table in tables.items() if name != "lstm.gates"},
        {**tables, "likely": torch.tensor([1, 0], dtype=torch.int16)},
        {**tables, "likely": tables["likely"][None]},
        {**tables, "more": tables["likely"].clone()},
    ):
        save_file(spoiled, kept)
        with pytest.raises(ModelError, match="is damaged: remove it"):
            complete(codec)


@pytest.mark.parametrize(
    "unlearned",
    [None, [], {}, {"network": 1, "listed": 5, "seed": 0}, {"network": True, "listed": 1 << 40, "seed": 0},
     {"network": True, "listed": 5, "seed": -1}, {"network": True, "listed": 5, "seed": 0, "more": 1}],
)  # fmt: skip
def test_a_strangers_wish_to_learn_is_checked(model_directory: Path, unlearned: object) -> None:
    stored = json.loads((model_directory / DESCRIPTION).read_text())
    (model_directory / DESCRIPTION).write_text(json.dumps(stored | {"unlearned": unlearned}))
    with pytest.raises(ModelError, match="corrupt"):
        load_codec(model_directory)


@pytest.mark.parametrize("row", [-1, 1 << 20])
def test_rows_are_numbers_of_utterances(model_directory: Path, row: int) -> None:
    tables = load_file(model_directory / TABLES)
    tables["rows"][3] = row
    save_file(tables, model_directory / TABLES)
    with pytest.raises(ModelError, match="table rows holds other numbers"):
        load_codec(model_directory)


def test_private_text_has_nothing_to_learn_later(corpora: tuple[Corpus, Corpus]) -> None:
    """What is put off needs the text, and a directory must not hold text that is private."""
    codec = learn_codec(*corpora, public=False, seed=0, config=CodecConfig("later"))
    assert codec.unlearned is None
    assert not codec.utterances


def test_training_learns_at_once_what_its_mechanism_releases() -> None:
    assert TrainingConfig().for_mechanism(Description).codec.learn == "now"
    assert TrainingConfig().for_mechanism(LearnedCodebook).codec.learn == "later"
    asked = TrainingConfig(codec=CodecConfig("now"))
    assert asked.for_mechanism(LearnedCodebook).codec.learn == "now"


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
