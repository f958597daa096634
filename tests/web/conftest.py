"""The page of the packaged model, made once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from adept.rewriting.loading import load_model
from adept.web.files import Files
from adept.web.sentences import Sentences
from adept.web.server import Play


@pytest.fixture(scope="session")
def sentences() -> Sentences:
    return Sentences(*load_model())


@pytest.fixture
def play(sentences: Sentences, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Play]:
    monkeypatch.setattr(sentences, "warm", lambda: None)
    monkeypatch.setattr(sentences, "end", lambda: None)  # the next page has the same sentences
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    files = Files(ledger=str(tmp_path / "ledger"))
    yield Play(sentences, files, runs=tmp_path / "runs")
    files.close()
