"""The next word's distribution after some words, in machine code: one distribution function F in whole numbers.

F(w) is the share, out of ONE, of all words before w. It mixes n-grams over words, n-grams over classes of words, and a network
(``adept.models.language_model.mixture``). A word's share is [F(w), F(w + 1)), never empty. Every value is computed from the same
tables by the same whole numbers, so that whoever asks for a word's share and whoever asks which share holds a point agree.

Nothing is remembered from one text to the next: the time of a record does not depend on other records.
"""

from typing import NamedTuple

import numpy as np

from adept.models.language_model.compiled import compiled, without_reference_counts
from adept.models.language_model.intervals import BITS, ONE
from adept.models.language_model.mixture import SEEN, ModelTables
from adept.models.language_model.ngram_reading import ALL, around, below, know_ends, narrow_search, widen_search
from adept.models.language_model.ngrams import Whole
from adept.models.language_model.word_lstm import (
    FINE,
    LARGE,
    RANGE,
    SIGMOID,
    TANH,
    UNIT,
    Falling,
    Matrix,
    NetworkTables,
)

Numbers = Whole | Matrix
USUAL = sum(LARGE)  # numbers that the packaged model's network reads at a step


class Next(NamedTuple):
    """The distributions after R texts, in arrays that change when a text is read on; ``at`` is one of them, without R.

    Attributes:
        window: each text's last words (R, SEEN), V before its first one.
        classes: their classes (R, SEEN).
        prefix: the number of the text among the common ones, NONE if it is not one of them (R, 1).
        contexts: the known ends of the window, the shortest first, as words and as classes (R, 2, SEEN + 1, 7), and behind them how
            many there are.
        seen: what the network reads: the last word's embedding and the state, in 16 bits (R, E + H).
        cell: its cells (R, H).
        asked: what it asks of the next word, and UNIT (R, E + 1).
        of_class: its weights of classes, summed up (R, C + 1).
        of_word: and of one class's words (R, 1 + the largest number of them).
        unknown: F of UNKNOWN and of the word after it, where the model does not spell (R, 2).
    """

    window: Whole
    classes: Whole
    prefix: Whole
    contexts: Whole
    seen: Matrix
    cell: Whole
    asked: Whole
    of_class: Whole
    of_word: Whole
    unknown: Whole


NONE = -1


@compiled
def unread(tables: ModelTables, texts: int) -> Next:
    """Room for distributions: nothing was read yet, not even that a text starts."""
    inputs, states = _size(tables.network)
    return Next(
        np.empty((texts, SEEN), np.int64),
        np.empty((texts, SEEN), np.int64),
        np.full((texts, 1), NONE),
        np.empty((texts, 2, SEEN + 1, ALL + 1), np.int64),
        np.empty((texts, inputs + states), np.int16),
        np.empty((texts, states), np.int64),
        np.empty((texts, inputs + 1), np.int64),
        np.empty((texts, len(tables.first)), np.int64),
        np.empty((texts, 1 + tables.largest_class), np.int64),
        np.empty((texts, 2), np.int64),
    )


@compiled
def at(rows: Next, text: int) -> Next:
    """One of several distributions, as views: what is written to it is written to them."""
    return Next(
        rows.window[text],
        rows.classes[text],
        rows.prefix[text],
        rows.contexts[text],
        rows.seen[text],
        rows.cell[text],
        rows.asked[text],
        rows.of_class[text],
        rows.of_word[text],
        rows.unknown[text],
    )


@without_reference_counts
def put(after: Next, other: Next) -> None:
    """Make a distribution the same as another one."""
    copy_into(after.window, other.window)
    copy_into(after.prefix, other.prefix)
    for kind in range(2):
        for end in range(SEEN + 1):
            copy_into(after.contexts[kind, end], other.contexts[kind, end])
    copy_into(after.seen, other.seen)
    copy_into(after.cell, other.cell)
    copy_into(after.asked, other.asked)
    copy_into(after.of_class, other.of_class)
    copy_into(after.unknown, other.unknown)


@without_reference_counts
def copy_into(to: Numbers, numbers: Numbers) -> None:
    """Write numbers into an array of their length."""
    for place in range(len(to)):
        to[place] = numbers[place]


@compiled
def start(tables: ModelTables, after: Next) -> None:
    """Begin a text: the distribution of its first word."""
    after.window[:] = len(tables.class_of) - 1
    after.seen[:] = 0
    after.cell[:] = 0
    after.asked[-1] = UNIT
    look(tables, after)


@without_reference_counts
def read(tables: ModelTables, after: Next, word: int) -> None:
    """Go on to the distribution after one more word."""
    append(after.window, word)
    look(tables, after)


@without_reference_counts
def append(window: Whole, word: int) -> None:
    """Put a word behind the last ones, of which the oldest is dropped."""
    for place in range(len(window) - 1):
        window[place] = window[place + 1]
    window[-1] = word


@without_reference_counts
def span(tables: ModelTables, after: Next, word: int) -> tuple[int, int]:
    """A word's share."""
    own = tables.class_of[word]
    low, high = around(tables.classes, after.contexts[1], own)
    _look_into_class(tables, after, own)
    begins, ends = around(tables.words, after.contexts[0], word)
    return _edge(tables, after, own, low, high, word, begins), _edge(tables, after, own, low, high, word + 1, ends)


@without_reference_counts
def find(tables: ModelTables, after: Next, point: int) -> tuple[int, int, int]:
    """The word whose share holds a point of [0, ONE), and its share: first its class, then the word.

    What a symbol's followers are looked for among becomes narrower with every symbol that was tried.
    """
    words, classes = after.contexts[0], after.contexts[1]
    own, beyond = 0, len(tables.first) - 1
    while beyond - own > 1:
        middle = (own + beyond) // 2
        edge, first = below(tables.classes, classes, middle), tables.first[middle]
        low_enough = _edge(tables, after, middle, edge, edge, first, below(tables.words, words, first)) <= point
        own, beyond = (middle, beyond) if low_enough else (own, middle)
        narrow_search(words, low_enough)
        narrow_search(classes, low_enough)
    low, high = around(tables.classes, classes, own)
    _look_into_class(tables, after, own)
    word, beyond = tables.first[own], tables.first[own + 1]
    while beyond - word > 1:
        middle = (word + beyond) // 2
        low_enough = _edge(tables, after, own, low, high, middle, below(tables.words, words, middle)) <= point
        word, beyond = (middle, beyond) if low_enough else (word, middle)
        narrow_search(words, low_enough)
    begins, ends = around(tables.words, words, word)
    widen_search(tables.words, words)
    widen_search(tables.classes, classes)
    begins, ends = (
        _edge(tables, after, own, low, high, word, begins),
        _edge(tables, after, own, low, high, word + 1, ends),
    )
    return word, begins, ends


@without_reference_counts
def look(tables: ModelTables, after: Next) -> None:
    """Find what the tables know of the window, and what the network says after its last word."""
    for place in range(SEEN):
        after.classes[place] = tables.class_of[after.window[place]]
    know_ends(tables.words, after.window, after.contexts[0])
    know_ends(tables.classes, after.classes, after.contexts[1])
    if tables.shares[2]:
        _read_by_network(tables.network, after)
    if not tables.spells:
        _look_into_class(tables, after, tables.class_of[1])
        low, high = around(tables.classes, after.contexts[1], tables.class_of[1])
        by_words = around(tables.words, after.contexts[0], 1)
        for edge in range(2):
            after.unknown[edge] = _mixed(tables, after, 1, low, high, 1 + edge, by_words[edge])


@without_reference_counts
def _edge(tables: ModelTables, after: Next, own: int, low: int, high: int, word: int, by_words: int) -> int:
    """F at a word of a class, or at the first word behind it, strictly increasing.

    The class lies in [low, high) by n-grams of classes; ``by_words`` is F by n-grams of words.
    """
    edge, size = _mixed(tables, after, own, low, high, word, by_words), len(tables.class_of) - 1
    if not tables.spells:
        unknown = after.unknown[1] - after.unknown[0]
        edge = (edge - (unknown if word > 1 else 0)) * ONE // (ONE - unknown)  # shared by the others
    return (edge * (ONE - size) >> BITS) + word


@without_reference_counts
def _mixed(tables: ModelTables, after: Next, own: int, low: int, high: int, word: int, by_words: int) -> int:
    of_words, of_classes, of_network = tables.shares
    first, last = tables.first[own], tables.first[own + 1]
    mixed = of_words * by_words + of_classes * (
        low + ((high - low) * (ONE if word == last else tables.in_class[word]) >> BITS)
    )
    if of_network:
        of_class, of_word, classes = after.of_class, after.of_word, len(tables.first) - 1
        begins, ends = ONE * of_class[own] // of_class[classes], ONE * of_class[own + 1] // of_class[classes]
        inside = ONE * of_word[word - first] // of_word[last - first] if word > first else 0
        mixed += of_network * (begins + ((ends - begins) * inside >> BITS))
    return mixed >> BITS


@without_reference_counts
def _size(tables: NetworkTables) -> tuple[int, int]:
    """The numbers of an embedding and of the state."""
    inputs, states = tables.query.shape
    return inputs, states


@compiled
def _read_by_network(tables: NetworkTables, after: Next) -> None:
    """Read the window's last word: the state, what is asked by it, and the weights of classes."""
    inputs, states = _size(tables)
    for row in range(inputs):
        after.seen[row] = tables.embedding[after.window[-1], row]
    gates = np.empty(4 * states, np.int64)
    _multiply(tables.gates, after.seen, tables.gate_offsets, tables.narrow, gates)
    for unit in range(states):
        input_gate, forget_gate, output_gate = (
            _curve(tables.curves[SIGMOID], gates[unit]),
            _curve(tables.curves[SIGMOID], gates[states + unit]),
            _curve(tables.curves[SIGMOID], gates[3 * states + unit]),
        )
        candidate = _curve(tables.curves[TANH], gates[2 * states + unit])
        after.cell[unit] = (forget_gate * after.cell[unit] + input_gate * candidate) >> FINE
        after.seen[inputs + unit] = (output_gate * _curve(tables.curves[TANH], after.cell[unit] << FINE)) >> FINE
    _ask(tables, after)


@without_reference_counts
def _ask(tables: NetworkTables, after: Next) -> None:
    """Find out what is asked by a state, and the weights of classes."""
    asked, of_class = after.asked[:-1], after.of_class
    of_class[:] = 0
    _multiply(tables.query, after.seen[len(asked) :], tables.query_offsets, tables.narrow, asked)
    for row in range(len(asked)):
        asked[row] = _scaled(asked[row])
    _add_product(after.asked, tables.of_class, of_class[1:])
    _sum_up(tables.fall, of_class)


@without_reference_counts
def _look_into_class(tables: ModelTables, after: Next, own: int) -> None:
    """The network's weights of the words of a class."""
    if tables.shares[2]:
        words = tables.network.embedding[tables.first[own] : tables.first[own + 1]]
        for word in range(len(words)):
            weights, score = words[word], np.int64(0)
            for place in range(len(weights)):
                score += np.int64(np.int32(after.asked[place])) * np.int64(weights[place])
            after.of_word[word + 1] = score
        _sum_up(tables.network.fall, after.of_word[: len(words) + 1])


@without_reference_counts
def _multiply(matrix: Matrix, vector: Matrix, offsets: Matrix, narrow: bool, products: Whole) -> None:
    """The products (M,) of a matrix (M, N) and a vector (N,), and UNITs added; ``narrow``: 32 bits hold that of half a row.

    A processor multiplies many numbers at once then, and takes two thirds of the time where N is known as this is compiled.
    """
    half, usual = len(vector) // 2, len(vector) == USUAL
    behind = vector[half:]
    for row in range(len(products)):
        weights, product = matrix[row], np.int64(offsets[row]) * UNIT
        if not narrow:
            product += _wide_product(weights, vector)
        elif usual:
            product += np.int64(_product(weights, vector, USUAL // 2)) + _product(weights[half:], behind, USUAL // 2)
        else:
            product += np.int64(_product(weights, vector, half)) + _product(weights[half:], behind, len(behind))
        products[row] = product


@without_reference_counts
def _product(weights: Matrix, vector: Matrix, length: int) -> np.int32:
    """The product of the first numbers of two vectors, which 32 bits hold."""
    product = np.int32(0)
    for place in range(length):
        product = np.int32(product + np.int32(np.int32(weights[place]) * np.int32(vector[place])))
    return product


@without_reference_counts
def _wide_product(weights: Matrix, vector: Matrix) -> np.int64:
    product = np.int64(0)
    for place in range(len(vector)):
        product += np.int64(weights[place]) * np.int64(vector[place])
    return product


@without_reference_counts
def _add_product(vector: Whole, matrix: Matrix, sums: Whole) -> None:
    """Add the product of a vector (N,) and a matrix (N, M) to sums (M,): four rows at a time, as sums are read and written then."""
    fours = len(vector) // 4 * 4
    for row in range(0, fours, 4):
        a, b, c, d = (
            np.int32(vector[row]),
            np.int32(vector[row + 1]),
            np.int32(vector[row + 2]),
            np.int32(vector[row + 3]),
        )
        of_a, of_b, of_c, of_d = matrix[row], matrix[row + 1], matrix[row + 2], matrix[row + 3]
        for column in range(len(sums)):  # of at most 32 bits each: one instruction
            sums[column] += (
                np.int64(a) * np.int64(of_a[column])
                + np.int64(b) * np.int64(of_b[column])
                + np.int64(c) * np.int64(of_c[column])
                + np.int64(d) * np.int64(of_d[column])
            )
    for row in range(fours, len(vector)):
        factor, weights = np.int32(vector[row]), matrix[row]
        for column in range(len(sums)):
            sums[column] += np.int64(factor) * np.int64(weights[column])


@without_reference_counts
def _sum_up(fall: Falling, sums: Whole) -> None:
    """Put the weights of a softmax, summed up before each score and behind the last, for any first number and the scores."""
    best = sums[1]
    for score in sums[2:]:
        best = max(best, score)
    sums[0] = 0
    for place in range(1, len(sums)):
        sums[place] = sums[place - 1] + fall[min(_scaled(best) - _scaled(sums[place]), len(fall) - 1)]


@without_reference_counts
def _scaled(product: int) -> int:
    """A sum of products of two numbers in units of 2^-FINE, in those units again, rounded down."""
    return product >> FINE


@without_reference_counts
def _curve(curve: Matrix, product: int) -> int:
    """A curve at a sum of products, and at its end beyond it."""
    return curve[min(max(_scaled(product) + RANGE, 0), len(curve) - 1)]
