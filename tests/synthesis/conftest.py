"""A tiny model with topics, and public and private utterances of the bundled corpus."""

from pathlib import Path

import pytest

from adept.data.corpus import Corpus, DataConfig, load
from adept.models.saved_model import Autoencoder
from adept.models.tokenizer import Tokenizer
from adept.rewriting.loading import load_model


@pytest.fixture(scope="session")
def loaded(topic_run: Path) -> tuple[Autoencoder, Tokenizer]:
    return load_model(topic_run)


@pytest.fixture(scope="session")
def travel() -> dict[str, Corpus]:
    """``train`` is public, ``validation`` private, ``test`` what a classifier is tested on."""
    splits = load(DataConfig(sizes=[2700, 0, 400]))
    own = splits["train"]
    return {"train": own.take(range(1500)), "validation": own.take(range(1500, 2700)), "test": splits["test"]}
