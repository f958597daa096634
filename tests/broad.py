"""A tiny broad model: sentences of air travel as codewords, some of which are near a label's name."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
import travel

from adept.mechanisms import policy
from adept.mechanisms.policy import ADDED_COST, MISSING_COST
from adept.models.saved_model import Autoencoder
from adept.models.sentence_encoder import SentenceEncoder, at_length
from adept.models.sentences import sentence_list
from adept.models.sentences.meanings import WordWeights
from adept.models.sentences.sentence_list import SentenceList
from adept.models.tokenizer import Tokenizer
from adept.rewriting.loading import load_model

CELL = 64  # sentences in a label's cell
NAMES = ["cheapest_airfare", "GroundTransportation", "X17"]


def by_words(weigh: WordWeights, record: Iterable[str], text: Iterable[str]) -> int:
    """The distance of a text from a record by their words alone, from its definition."""
    wanted, given = set(record), set(text)
    return MISSING_COST * sum(map(weigh, wanted - given)) + ADDED_COST * sum(map(weigh, given - wanted))


def meaning_of_words(words: Iterable[str]) -> list[int]:
    """The meaning of a public sentence, from its definition: the sum over its different words, at one length."""
    return list(_at_length(frozenset(words)))


@cache
def _at_length(words: frozenset[str]) -> tuple[int, ...]:
    sums = SentenceEncoder.load().sums(sorted(words) or [""])
    return tuple(at_length(sums.sum(axis=0, keepdims=True))[0].tolist())


@contextmanager
def model_of(run: Path) -> Iterator[tuple[Autoencoder, Tokenizer]]:
    """Load a model with topics, and give it some 2,000 sentences, 200 of which are utterances."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentence_list, "MAX_UTTERANCES", 200)
        patch.setattr(policy, "CELL_SENTENCES", CELL)
        model, tokenizer = load_model(run)
        model.sentences = SentenceList.of_broad_text(travel.texts(3000))
        yield model, tokenizer
