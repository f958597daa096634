"""An LSTM over words in whole numbers: the next word's distribution after all words before it, the same on every machine.

n-grams see the last words alone and treat all words as different; an LSTM reads the whole text and knows which words are used
alike. An arithmetic code needs the very same numbers wherever it is used, and floating point does not promise that: sums differ
in the last bit by threads and machine. So weights, states and tables of the activation functions are whole numbers in units of
2^-12, and matrix products are taken in float64, where sums of whole numbers below 2^53 are exact in any order.

The next word is its class, then itself among the words of its class: words are numbered class by class, so that the mixture with
n-grams (``adept.models.language_model.mixture``) has one distribution function. ``word_lstm_training`` learns the weights.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adept.models.language_model.intervals import ONE

FINE = 12  # bits behind the point: a weight, a state or a score is a whole number of 2^-FINE
UNIT = 1 << FINE
LARGEST = 8 * UNIT - 1  # of a weight
RANGE = 8 * UNIT  # from its negative on the curves are tabulated
FALL = 12 * UNIT  # scores further below the largest count as this far
PEAK = 1 << 15  # the weight of the largest score: ONE times those of 200,000 words is a number of 63 bits

Integers = NDArray[np.int64]
INPUTS, STATES = 64, 128  # E and H


def shapes(words: int, classes: int) -> dict[str, tuple[int, ...]]:
    """The names and shapes of the weights, of V words in C classes."""
    return {
        "embedding": (words + 1, INPUTS),
        "from_input": (INPUTS, 4 * STATES),
        "from_state": (STATES, 4 * STATES),
        "gates": (4 * STATES,),
        "query": (STATES, INPUTS),
        "query_offset": (INPUTS,),
        "of_class": (INPUTS, classes),
        "class_offset": (classes,),
        "word_offset": (words,),
    }


class State(NamedTuple):
    """What was read, (H,) and (H,), in units of 2^-FINE; and what is asked of the next word by it, (E,)."""

    hidden: Integers
    cell: Integers
    query: Integers


class WordLstm:
    """The network.

    Args:
        weights: int16 arrays (``shapes``) in units of 2^-FINE. Row V of the embedding stands for the start of a text.
        first: the first word of each class, and the number of words V.
    """

    def __init__(self, weights: dict[str, NDArray[np.int16]], first: Sequence[int]) -> None:
        self.weights, self.first = weights, list(first)
        self._float = {name: table.astype(np.float64) for name, table in weights.items()}
        self._whole = {name: table.astype(np.int64) for name, table in weights.items() if table.ndim == 1}

    def __reduce__(self) -> tuple[Any, ...]:
        return WordLstm, (self.weights, self.first)

    def start(self) -> State:
        """The state before the first word."""
        nothing = np.zeros(len(self.weights["from_state"]), dtype=np.int64)
        return self.read(State(nothing, nothing, nothing), self.first[-1])

    def read(self, state: State, word: int) -> State:
        """The state after one more word."""
        weights = self._float
        summed = weights["embedding"][word] @ weights["from_input"] + state.hidden @ weights["from_state"]
        gates = (_scaled(summed) + self._whole["gates"]).reshape(4, -1)
        taken, kept, _, shown = _curve(0, gates)
        cell = (kept * state.cell + taken * _curve(1, gates[2])) >> FINE
        hidden = (shown * _curve(1, cell)) >> FINE
        return State(hidden, cell, _scaled(hidden @ weights["query"]) + self._whole["query_offset"])

    def class_edges(self, state: State) -> list[int]:
        """The distribution function of the next word's class: C + 1 numbers from 0 to ONE."""
        return _edges(_scaled(state.query @ self._float["of_class"]) + self._whole["class_offset"])

    def word_edges(self, state: State, own: int) -> list[int]:
        """That of the word among those of its class, from 0 to ONE."""
        words = slice(self.first[own], self.first[own + 1])
        if words.stop - words.start == 1:
            return [0, ONE]
        scores = _scaled(self._float["embedding"][words] @ state.query)
        return _edges(scores + self._whole["word_offset"][words])


def _scaled(products: NDArray[np.float64]) -> Integers:
    """Sums of products of two numbers in units of 2^-FINE, in those units again, rounded down."""
    return products.astype(np.int64) >> FINE


def _edges(scores: Integers) -> list[int]:
    """The distribution function of a softmax of scores."""
    sums = _fall().take(scores.max() - scores, mode="clip").cumsum()
    return [0, *(ONE * sums // sums[-1]).tolist()]


def _curve(which: int, scores: Integers) -> Integers:
    """The sigmoid (0) or the hyperbolic tangent (1) of scores."""
    return _curves()[which].take(scores + RANGE, mode="clip")


@cache
def _curves() -> tuple[Integers, Integers]:
    """Sigmoid and hyperbolic tangent from -RANGE to RANGE."""
    places = np.arange(-RANGE, RANGE) / UNIT
    sigmoid, tanh = (np.rint(UNIT * curve).astype(np.int64) for curve in (1 / (1 + np.exp(-places)), np.tanh(places)))
    return sigmoid, tanh


@cache
def _fall() -> Integers:
    """e^-x from PEAK down, never 0."""
    return np.asarray(np.rint(PEAK * np.exp(-np.arange(FALL) / UNIT)) + 1, dtype=np.int64)
