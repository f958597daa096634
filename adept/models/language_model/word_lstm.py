"""An LSTM over words in whole numbers: the next word's distribution after all words before it, the same on every machine.

n-grams see the last words alone and treat all words as different; an LSTM reads the whole text and knows which words are used
alike. An arithmetic code needs the very same numbers wherever it is used, and floating point does not promise that: sums differ
in the last bit by threads and machine. So weights, states and tables of the activation functions are whole numbers in units of
2^-12.

The next word is its class, then itself among the words of its class: words are numbered class by class, so that the mixture with
n-grams (``adept.models.language_model.mixture``) has one distribution function. ``word_lstm_training`` learns the weights.
"""

from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FINE = 12  # bits behind the point: a weight, a state or a score is a whole number of 2^-FINE
UNIT = 1 << FINE
LARGEST = 8 * UNIT - 1  # of a weight
RANGE = 8 * UNIT  # from its negative on the curves are tabulated
FALL = 12 * UNIT  # scores further below the largest count as this far
PEAK = 1 << 15  # the weight of the largest score: ONE times those of 200,000 words is a number of 63 bits

Matrix = NDArray[np.int16]
Falling = NDArray[np.uint16]
SIGMOID, TANH = 0, 1


class Size(NamedTuple):
    """Numbers of an embedding, E, and of the state, H."""

    inputs: int
    states: int


SMALL, LARGE = Size(64, 128), Size(96, 256)  # for the texts of a domain, and for broad text


def shapes(words: int, classes: int, size: Size) -> dict[str, tuple[int, ...]]:
    """The names and shapes of the weights, of V words in C classes."""
    inputs, states = size
    return {
        "embedding": (words + 1, inputs),
        "from_input": (inputs, 4 * states),
        "from_state": (states, 4 * states),
        "gates": (4 * states,),
        "query": (states, inputs),
        "query_offset": (inputs,),
        "of_class": (inputs, classes),
        "class_offset": (classes,),
        "word_offset": (words,),
    }


class NetworkTables(NamedTuple):
    """The weights and the curves, in 16 bits: a processor's caches hold them, and multiplies many of them at once.

    What is added to a product is multiplied by UNIT.

    Attributes:
        embedding: of each word, and of the start of a text; behind it the word's offset (V + 1, E + 1).
        gates: from the last word and the state to each gate (4H, E + H).
        gate_offsets: what is added (4H,).
        query: from the state to each number that is asked of the next word (E, H).
        query_offsets: what is added (E,).
        narrow: whether 32 bits hold the product of either half of a row of gates and query.
        of_class: from what is asked to the scores of classes; the last row is added (E + 1, C).
        curves: SIGMOID and TANH from -RANGE to RANGE (2, 2 RANGE).
        fall: e^-x from PEAK down, never 0 (FALL,).
    """

    embedding: Matrix
    gates: Matrix
    gate_offsets: Matrix
    query: Matrix
    query_offsets: Matrix
    narrow: bool
    of_class: Matrix
    curves: Matrix
    fall: Falling


class WordLstm:
    """The network.

    Args:
        weights: int16 arrays (``shapes``) in units of 2^-FINE. Row V of the embedding stands for the start of a text.
        first: the first word of each class, and the number of words V.
    """

    def __init__(self, weights: dict[str, NDArray[np.int16]], first: Sequence[int]) -> None:
        self.weights, self.first = weights, list(first)

    def __reduce__(self) -> tuple[Any, ...]:
        return WordLstm, (self.weights, self.first)

    @property
    def size(self) -> Size:
        """Its size, by its weights."""
        states, inputs = self.weights["query"].shape
        return Size(inputs, states)

    @cached_property
    def tables(self) -> NetworkTables:
        """All of it in arrays; made when it is first asked for."""
        weights = self.weights
        from_input, from_state, query = (weights[name] for name in ("from_input", "from_state", "query"))
        longest = float(_lengths(weights["embedding"]).max())
        return NetworkTables(
            np.column_stack([weights["embedding"], np.append(weights["word_offset"], np.int16(0))]),
            np.vstack([from_input, from_state]).T.copy(),
            weights["gates"],
            query.T.copy(),
            weights["query_offset"],
            _is_narrow(from_input, from_state, longest) and _is_narrow(query[:0], query),
            np.vstack([weights["of_class"], weights["class_offset"]]),
            *_curves(),
        )


def _is_narrow(from_input: Matrix, from_state: Matrix, longest: float = 0) -> bool:
    """Whether 32 bits hold the product of either half of the weights (E, M) and (H, M) with what a step reads; if learned, they do.

    With an embedding the product is at most that of both lengths (Cauchy and Schwarz), of which ``longest`` is one; a state's
    numbers are at most UNIT.
    """
    inputs, half = len(from_input), (len(from_input) + len(from_state)) // 2
    if inputs > half:
        return False
    of_state = UNIT * np.abs(from_state.astype(np.int64))
    first, second = of_state[: half - inputs].sum(axis=0), of_state[half - inputs :].sum(axis=0)
    return bool(max((first + longest * _lengths(from_input.T)).max(), second.max()) < (1 << 31) - 1)


def _lengths(vectors: Matrix) -> NDArray[np.float64]:
    return np.asarray(np.sqrt(np.einsum("nd,nd->n", vectors, vectors, dtype=np.float64)))


_NO_WEIGHTS, _NO_OFFSETS = np.zeros((1, 1), dtype=np.int16), np.zeros(1, dtype=np.int16)
_NO_CURVES, _NO_FALL = np.zeros((2, 1), dtype=np.int16), np.zeros(1, dtype=np.uint16)
NO_NETWORK = NetworkTables(
    _NO_WEIGHTS, _NO_WEIGHTS, _NO_OFFSETS, _NO_WEIGHTS, _NO_OFFSETS, True, _NO_WEIGHTS, _NO_CURVES, _NO_FALL
)


@cache
def _curves() -> tuple[Matrix, Falling]:
    """The tables of the activation functions, and of what scores below the largest count."""
    places = np.arange(-RANGE, RANGE) / UNIT
    curves = np.stack([1 / (1 + np.exp(-places)), np.tanh(places)])
    fall = np.rint(PEAK * np.exp(-np.arange(FALL) / UNIT)).astype(np.uint16) + np.uint16(1)
    return np.rint(UNIT * curves).astype(np.int16), fall
