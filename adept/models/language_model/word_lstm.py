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

Matrix = NDArray[np.int32]
Integers = NDArray[np.int64]
INPUTS, STATES = 64, 128  # E and H
SIGMOID, TANH = 0, 1


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


class NetworkTables(NamedTuple):
    """The weights, in 32 bits, and the curves. The last row of a matrix, and the last number of an embedding, is
    what is added: it is multiplied by UNIT.

    Attributes:
        embedding: of each word, and of the start of a text; behind it the word's offset (V + 1, E + 1).
        gates: from the last word and the state to the gates (E + H + 1, 4H).
        query: from the state to what is asked of the next word (H + 1, E).
        of_class: from that to the scores of classes (E + 1, C).
        curves: SIGMOID and TANH from -RANGE to RANGE (2, 2 RANGE).
        fall: e^-x from PEAK down, never 0 (FALL,).
    """

    embedding: Matrix
    gates: Matrix
    query: Matrix
    of_class: Matrix
    curves: Integers
    fall: Integers


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

    @cached_property
    def tables(self) -> NetworkTables:
        """All of it in arrays; made when it is first asked for."""
        weights = {name: table.astype(np.int32) for name, table in self.weights.items()}
        return NetworkTables(
            np.column_stack([weights["embedding"], np.append(weights["word_offset"], np.int32(0))]),
            np.vstack([weights["from_input"], weights["from_state"], weights["gates"]]),
            np.vstack([weights["query"], weights["query_offset"]]),
            np.vstack([weights["of_class"], weights["class_offset"]]),
            *_curves(),
        )


_NO_WEIGHTS = np.zeros((STATES + 1, INPUTS), dtype=np.int32)
_NO_CURVES = np.zeros((2, 1), dtype=np.int64)
NO_NETWORK = NetworkTables(_NO_WEIGHTS, _NO_WEIGHTS, _NO_WEIGHTS, _NO_WEIGHTS, _NO_CURVES, _NO_CURVES[0])


@cache
def _curves() -> tuple[Integers, Integers]:
    """The tables of the activation functions, and of what scores below the largest count."""
    places = np.arange(-RANGE, RANGE) / UNIT
    curves = np.stack([1 / (1 + np.exp(-places)), np.tanh(places)])
    fall = np.rint(PEAK * np.exp(-np.arange(FALL) / UNIT)).astype(np.int64) + 1
    return np.rint(UNIT * curves).astype(np.int64), fall
