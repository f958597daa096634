"""A tiny model with topics, and public and private utterances of the bundled grammar."""

from pathlib import Path

import pytest

from adept.data import air_travel
from adept.data.corpus import Corpus
from adept.models.network.autoencoder import Autoencoder
from adept.models.tokenizer.tokenizer import Tokenizer
from adept.rewriting.loading import load_model


@pytest.fixture(scope="session")
def loaded(topic_run: Path) -> tuple[Autoencoder, Tokenizer]:
    return load_model(topic_run)


@pytest.fixture(scope="session")
def travel() -> dict[str, Corpus]:
    """``train`` is public, ``validation`` private, ``test`` what a classifier is tested on."""
    drawn = air_travel.generate(seed=5, train=1500, validation=1200, test=400, balanced=True)
    return {split: Corpus([one.text for one in rows], [one.intent for one in rows]) for split, rows in drawn.items()}
