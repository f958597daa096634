"""The next word's distribution after some words, in machine code: one distribution function F in whole numbers.

F(w) is the share, out of ONE, of all words before w. It mixes n-grams over words, n-grams over classes of words, and a network
(``adept.models.language_model.mixture``). A word's share is [F(w), F(w + 1)), never empty. Every value is computed from the same
tables by the same whole numbers, so that whoever asks for a word's share and whoever asks which share holds a point agree.

Nothing is remembered from one text to the next: the time of a record does not depend on other records.
"""

from typing import NamedTuple

import numpy as np

from adept.models.language_model.compiled import compiled
from adept.models.language_model.intervals import BITS, ONE
from adept.models.language_model.mixture import SEEN, ModelTables
from adept.models.language_model.ngrams import KEY, REST, START, SUM, NgramTables, Whole
from adept.models.language_model.word_lstm import (
    FINE,
    INPUTS,
    RANGE,
    SIGMOID,
    STATES,
    TANH,
    UNIT,
    Matrix,
    NetworkTables,
)


class Next(NamedTuple):
    """The distribution after a text, in arrays that change when it is read on.

    Attributes:
        window: the text's last words (SEEN,), V before its first one.
        contexts: the numbers of the window's known ends, as words and as classes, and how many there are (2, SEEN + 1).
        seen: what the network reads: the last word's embedding, the state, and UNIT (E + H + 1,).
        cell: its cells (H,).
        asked: what it asks of the next word, and UNIT (E + 1,).
        weights: its weights of classes, and of one class's words, summed up (2, the largest number of them + 1).
        unknown: F of UNKNOWN and of the word after it, where the model does not spell (2,).
    """

    window: Whole
    contexts: Whole
    seen: Whole
    cell: Whole
    asked: Whole
    weights: Whole
    unknown: Whole


def unread(tables: ModelTables) -> Next:
    """Room for a distribution: nothing was read yet, not even that a text starts."""
    inputs, states = INPUTS, STATES
    most = max(len(tables.first), 1 + tables.largest_class)
    shapes = (SEEN,), (2, SEEN + 1), (inputs + states + 1,), (states,), (inputs + 1,), (2, most), (2,)
    return Next(*(np.zeros(shape, dtype=np.int64) for shape in shapes))


@compiled
def start(tables: ModelTables, after: Next) -> None:
    """Begin a text: the distribution of its first word."""
    after.window[:] = len(tables.class_of) - 1
    after.seen[:-1] = 0
    after.cell[:] = 0
    after.seen[-1], after.asked[-1] = UNIT, UNIT
    look(tables, after)


@compiled
def copied(after: Next) -> Next:
    """The same distribution, to be read on by itself."""
    return Next(
        after.window.copy(),
        after.contexts.copy(),
        after.seen.copy(),
        after.cell.copy(),
        after.asked.copy(),
        after.weights.copy(),
        after.unknown.copy(),
    )


@compiled
def read(tables: ModelTables, after: Next, word: int) -> None:
    """Go on to the distribution after one more word."""
    append(after.window, word)
    look(tables, after)


@compiled
def append(window: Whole, word: int) -> None:
    """Put a word behind the last ones, of which the oldest is dropped."""
    for place in range(len(window) - 1):
        window[place] = window[place + 1]
    window[-1] = word


@compiled
def span(tables: ModelTables, after: Next, word: int) -> tuple[int, int]:
    """A word's share."""
    own = tables.class_of[word]
    low, high = _begin_of_class(tables, after, own), _begin_of_class(tables, after, own + 1)
    _look_into_class(tables, after, own)
    return _edge(tables, after, own, low, high, word), _edge(tables, after, own, low, high, word + 1)


@compiled
def find(tables: ModelTables, after: Next, point: int) -> tuple[int, int, int]:
    """The word whose share holds a point of [0, ONE), and its share: first its class, then the word."""
    own, beyond = 0, len(tables.first) - 1
    while beyond - own > 1:
        middle = (own + beyond) // 2
        edge = _begin_of_class(tables, after, middle)
        if _edge(tables, after, middle, edge, edge, tables.first[middle]) <= point:
            own = middle
        else:
            beyond = middle
    low, high = _begin_of_class(tables, after, own), _begin_of_class(tables, after, own + 1)
    _look_into_class(tables, after, own)
    word, beyond = tables.first[own], tables.first[own + 1]
    while beyond - word > 1:
        middle = (word + beyond) // 2
        if _edge(tables, after, own, low, high, middle) <= point:
            word = middle
        else:
            beyond = middle
    return word, _edge(tables, after, own, low, high, word), _edge(tables, after, own, low, high, word + 1)


@compiled
def spans(tables: ModelTables, after: Next, words: Whole) -> Whole:
    """The shares (L, 2) of a text's words (L,), one after the other; read on to the distribution after them."""
    shares = np.empty((len(words), 2), np.int64)
    start(tables, after)
    for place, word in enumerate(words):
        shares[place, 0], shares[place, 1] = span(tables, after, word)
        read(tables, after, word)
    return shares


@compiled
def look(tables: ModelTables, after: Next) -> None:
    """Find what the tables know of the window, and what the network says after its last word."""
    know_ends(tables.words, after.window, after.contexts[0])
    know_ends(tables.classes, tables.class_of[after.window], after.contexts[1])
    if tables.shares[2]:
        _read_by_network(tables.network, after)
    if not tables.spells:
        for edge in range(2):
            low, high = _begin_of_class(tables, after, 1 + edge), _begin_of_class(tables, after, 2)
            after.unknown[edge] = _mixed(tables, after, 1, low, high, 1 + edge)


@compiled
def _edge(tables: ModelTables, after: Next, own: int, low: int, high: int, word: int) -> int:
    """F at a word of a class, or at the first word behind it, strictly increasing; the class lies in [low, high) by n-grams."""
    edge, size = _mixed(tables, after, own, low, high, word), len(tables.class_of) - 1
    if not tables.spells:
        unknown = after.unknown[1] - after.unknown[0]
        edge = (edge - (unknown if word > 1 else 0)) * ONE // (ONE - unknown)  # shared by the others
    return (edge * (ONE - size) >> BITS) + word


@compiled
def _mixed(tables: ModelTables, after: Next, own: int, low: int, high: int, word: int) -> int:
    of_words, of_classes, of_network = tables.shares
    first, last = tables.first[own], tables.first[own + 1]
    mixed = of_words * below(tables.words, after.contexts[0], word)
    mixed += of_classes * (low + ((high - low) * (ONE if word == last else tables.in_class[word]) >> BITS))
    if of_network:
        (of_class, of_word), classes = after.weights, len(tables.first) - 1
        begins, ends = ONE * of_class[own] // of_class[classes], ONE * of_class[own + 1] // of_class[classes]
        inside = ONE * of_word[word - first] // of_word[last - first] if word > first else 0
        mixed += of_network * (begins + ((ends - begins) * inside >> BITS))
    return mixed >> BITS


@compiled
def _begin_of_class(tables: ModelTables, after: Next, own: int) -> int:
    """Where a class begins, by n-grams of classes."""
    return below(tables.classes, after.contexts[1], own)


@compiled
def know_ends(tables: NgramTables, window: Whole, contexts: Whole) -> None:
    """Write the numbers of the known ends of a window, the shortest first, and how many there are."""
    size, parent, known = len(tables.alone) - 1, 0, 0
    for length in range(1, len(tables.levels)):
        begins, ends = tables.levels[length - 1], tables.levels[length]
        key = parent * (size + 1) + window[-length]
        found = first_at_least(tables.contexts, begins, ends, key)
        if found == ends or tables.contexts[found, KEY] != key:
            break
        contexts[known], parent = found, found - begins
        known += 1
    contexts[-1] = known


@compiled
def below(tables: NgramTables, contexts: Whole, symbol: int) -> int:
    """F of a symbol by n-grams: the recursion from what is seen after anything to the longest known context."""
    value = tables.alone[symbol]
    for context in contexts[: contexts[-1]]:
        begins, ends, rest = (
            tables.contexts[context, START],
            tables.contexts[context + 1, START],
            tables.contexts[context, REST],
        )
        before = tables.followers[begins, SUM]
        counted = tables.followers[first_at_least(tables.followers, begins, ends, symbol), SUM] - before
        value = (counted * ONE + rest * value) // (tables.followers[ends, SUM] - before + rest)
    return value


@compiled
def first_at_least(rows: Whole, begins: int, ends: int, wanted: int) -> int:
    """The first of some rows whose first number is not below what is wanted; their end where all are."""
    while begins < ends:
        middle = (begins + ends) // 2
        if rows[middle, 0] < wanted:
            begins = middle + 1
        else:
            ends = middle
    return begins


@compiled
def _read_by_network(tables: NetworkTables, after: Next) -> None:
    """Read the window's last word: the state, what is asked by it, and the weights of classes."""
    for row in range(INPUTS):
        after.seen[row] = tables.embedding[after.window[-1], row]
    gates = np.zeros(4 * STATES, np.int64)
    _add_product(after.seen, tables.gates, gates)
    for unit in range(STATES):
        taken, kept, shown = (
            _curve(tables.curves[SIGMOID], gates[unit]),
            _curve(tables.curves[SIGMOID], gates[STATES + unit]),
            _curve(tables.curves[SIGMOID], gates[3 * STATES + unit]),
        )
        new = _curve(tables.curves[TANH], gates[2 * STATES + unit])
        after.cell[unit] = (kept * after.cell[unit] + taken * new) >> FINE
        after.seen[INPUTS + unit] = (shown * _curve(tables.curves[TANH], after.cell[unit] << FINE)) >> FINE
    asked = np.zeros(INPUTS, np.int64)
    _add_product(after.seen[INPUTS:], tables.query, asked)
    for row in range(INPUTS):
        after.asked[row] = _scaled(asked[row])
    scores = np.zeros(tables.of_class.shape[1], np.int64)
    _add_product(after.asked, tables.of_class, scores)
    _sum_up(tables.fall, scores, after.weights[0])


@compiled
def _look_into_class(tables: ModelTables, after: Next, own: int) -> None:
    """The network's weights of the words of a class."""
    if tables.shares[2]:
        words = tables.network.embedding[tables.first[own] : tables.first[own + 1]]
        scores = np.zeros(len(words), np.int64)
        for word in range(len(words)):
            weights = words[word]
            for place in range(len(weights)):
                scores[word] += np.int64(np.int32(after.asked[place])) * np.int64(weights[place])
        _sum_up(tables.network.fall, scores, after.weights[1])


@compiled
def _add_product(vector: Whole, matrix: Matrix, sums: Whole) -> None:
    """Add the product of a vector (N,) and a matrix (N, M) to sums (M,)."""
    for row in range(len(vector)):
        factor, weights = np.int32(vector[row]), matrix[row]
        for column in range(len(sums)):
            sums[column] += np.int64(factor) * np.int64(weights[column])  # of 32 bits each: one instruction


@compiled
def _sum_up(fall: Whole, scores: Whole, sums: Whole) -> None:
    """The weights of a softmax of scores, summed up before each of them."""
    best = scores.max()
    sums[0] = 0
    for place in range(len(scores)):
        sums[place + 1] = sums[place] + fall[min(_scaled(best) - _scaled(scores[place]), len(fall) - 1)]


@compiled
def _scaled(product: int) -> int:
    """A sum of products of two numbers in units of 2^-FINE, in those units again, rounded down."""
    return product >> FINE


@compiled
def _curve(curve: Whole, product: int) -> int:
    """A curve at a sum of products, and at its end beyond it."""
    return curve[min(max(_scaled(product) + RANGE, 0), len(curve) - 1)]
