"""Shared fixtures: tiny trained models, made once a session, and ways to run the command line."""

import gc
import json
import os

os.environ["OMP_NUM_THREADS"] = (
    "1"  # before anything counts the cores: two processes of two threads each wait for each other
)
os.environ["OMP_WAIT_POLICY"] = (
    "PASSIVE"  # before torch is loaded: a thread that waits for another one must not compute
)

import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import forked
import httpx2
import pytest
from huggingface_hub import constants
from hydra.core.global_hydra import GlobalHydra
from hypothesis import settings
from tiny import Run, tiny_config

from adept.__main__ import dispatch
from adept.cli import train
from adept.cli.process import SIGNALS
from adept.data import corpus
from adept.mechanisms import LearnedCodebook
from adept.mechanisms.base import MechanismChoice
from adept.models.saved_model import Autoencoder
from adept.models.tokenizer import Tokenizer
from adept.models.untrusted_files import ModelFiles, packaged_directory

HUB_TIMEOUT_SECONDS = 10
MEMORY, ROOMY_BYTES = "/dev/shm", 8 << 30
# Tests write thousands of small files and wait for each to be on the disk; in memory, all that costs a tenth less CPU
if "TMPDIR" not in os.environ and Path(MEMORY).is_dir() and shutil.disk_usage(MEMORY).free > ROOMY_BYTES:
    tempfile.tempdir = os.environ["TMPDIR"] = os.environ["PYTEST_DEBUG_TEMPROOT"] = MEMORY
PACKAGED = packaged_directory()
AIR_TRAVEL = str(Path(corpus.__file__).with_name("air_travel.jsonl.gz"))
# A change fails on its own account: every run tries the same examples. New ones: pytest --hypothesis-profile=default
settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable")


def pytest_collection_finish() -> None:
    """Freeze all imported objects: searching them for garbage would take some percent of the tests' time.

    Nothing is compiled into a cache from here on: a test may write a module twice within a second.
    """
    sys.dont_write_bytecode, os.environ["PYTHONDONTWRITEBYTECODE"] = True, "1"
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _packaged_model_read_once() -> Iterator[None]:
    """Read and check the files of the packaged model, and of the packaged data set, once in a process. Others are read anew."""
    with pytest.MonkeyPatch.context() as patch:
        for kind in (Autoencoder, Tokenizer):
            patch.setattr(kind, "of", _remember(kind.of))
        patch.setattr(corpus, "read_records", _remember_air_travel(corpus.read_records))
        yield


def _remember(read: Callable[[ModelFiles], Any]) -> Callable[[ModelFiles], Any]:
    held: list[Any] = []

    def of(files: ModelFiles) -> Any:
        if files.directory != PACKAGED:
            return read(files)
        if not held:
            held.append(_remember_table(read(files)))
            gc.freeze()
        return held[0]

    return of


def _remember_table(model: Any) -> Any:
    """Let a model compute the meanings of its sentences once, which takes half a second."""
    held, compute = list[Any](), getattr(getattr(model, "sentences", None), "table", None)

    def table() -> Any:
        held.extend([] if held else [compute()])
        return held[0]

    if compute:
        model.sentences.table = table
    return model


def _remember_air_travel(read: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    held: list[Any] = []

    def records(place: Any, *given: Any, **options: Any) -> Iterator[Any]:
        if place != AIR_TRAVEL:
            return read(place, *given, **options)
        held.extend([] if held else read(place))
        return iter(held)

    return records


@pytest.fixture(scope="session", autouse=True)
def _own_key(tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test makes a key, or anything else, in the user's home."""
    os.environ["XDG_CONFIG_HOME"] = str(tmp_path_factory.mktemp("config"))
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="session")
def _states(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Names of state directories. Pytest would look through all of a session's directories for the next free name."""
    parent = tmp_path_factory.mktemp("states")
    return (parent / str(number) for number in count())


@pytest.fixture(autouse=True)
def _own_state(_states: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test its own state directory, so that it neither writes to the user's ledger nor sees another test's."""
    state = next(_states)
    state.mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(state))


@pytest.fixture
def reachable_hub() -> None:
    """Skip a test where the Hugging Face Hub does not answer, and say that nothing was run."""
    try:
        httpx2.head(constants.ENDPOINT, timeout=HUB_TIMEOUT_SECONDS, follow_redirects=True).raise_for_status()
    except httpx2.HTTPError as error:
        pytest.skip(f"NOT RUN: {constants.ENDPOINT} does not answer ({type(error).__name__}): needs the Hub")


@pytest.fixture(autouse=True)
def _own_signals() -> Iterator[None]:
    """A command that runs in the tests' process handles signals; what is forked later must end when it is told to."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a finished training run, for l2 mechanisms; `tiny_run / "model"` is the model directory."""
    directory = tmp_path_factory.mktemp("tiny") / "run"
    train.run(tiny_config(directory))
    return directory


@pytest.fixture(scope="session")
def tiny_l1_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same for the l1 mechanism."""
    directory = tmp_path_factory.mktemp("tiny_l1") / "run"
    train.run(tiny_config(directory, clip="l1"))
    return directory


@pytest.fixture(scope="session")
def topic_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with topics, for learned codebooks and descriptions, and with public text held out."""
    directory = tmp_path_factory.mktemp("tiny_topics") / "run"
    config = tiny_config(directory, epochs=1)
    config.mechanism = MechanismChoice(LearnedCodebook)
    config.data.sizes = [200, 40, 20]
    train.run(config)
    return directory


@pytest.fixture
def labelled_file(tmp_path: Path) -> Path:
    """A jsonl file with a text, an intent and slot tags a record."""
    path = tmp_path / "records.jsonl"
    texts = ["flights to boston", "", "what does ap mean", "hello 😀 zebra", "cheap fare please"]
    rows = [{"text": t, "intent": f"intent_{i % 2}", "slots": f"SECRET-{i}"} for i, t in enumerate(texts)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.fixture
def adept() -> Run:
    """Run the command line in a process of its own, which is a fork of this one."""
    return forked.run


@pytest.fixture
def adept_here(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run the command line in this process: much faster, for what needs no process of its own."""

    def run(*arguments: object) -> "subprocess.CompletedProcess[str]":
        capfd.readouterr()
        monkeypatch.setattr(sys, "argv", ["adept"])
        GlobalHydra.instance().clear()
        status = dispatch([str(argument) for argument in arguments])
        return subprocess.CompletedProcess(sys.argv, status, *capfd.readouterr())

    return run
