"""A tiny broad model: sentences of air travel as codewords, some of which are near a label's name."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import travel

from adept.mechanisms import policy
from adept.models.codec import codec as codecs
from adept.models.codec.codec import Codec
from adept.models.saved_model import Autoencoder
from adept.models.tokenizer import Tokenizer
from adept.models.word_vectors import Lexicon
from adept.rewriting.loading import load_model

CELL = 64  # sentences in a label's cell
NAMES = ["cheapest_airfare", "GroundTransportation", "X17"]


@contextmanager
def model_of(run: Path) -> Iterator[tuple[Autoencoder, Tokenizer]]:
    """Load a model with topics, and give it some 2,000 sentences, 200 of which are utterances."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codecs, "MAX_UTTERANCES", 200)
        patch.setattr(policy, "CELL_SENTENCES", CELL)
        model, tokenizer = load_model(run)
        model.codec = Codec.of_sentences(travel.texts(3000), lexicon=Lexicon.load())
        yield model, tokenizer
