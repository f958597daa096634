"""Functions, compiled to machine code, that compute the probabilities of a text's next word.

All words of the vocabulary are numbered. The distribution is a function F from these numbers to
whole numbers: ``F(w) / ONE`` is the probability that the next word has a number below w. So the
word w has the share of [0, ONE) from F(w) to F(w + 1), which is never empty. No result is kept from
one text to the next, so the time that a record takes does not depend on other records.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from adept.models.language_model.machine_code import compiled, without_reference_counts
from adept.models.language_model.ngram_mixture import CONTEXT_WORDS, SHARE_OF_CLASSES, SHARE_OF_WORDS, ModelTables
from adept.models.language_model.ngrams import BITS, FOLLOWERS, KEY, LONGER, ONE, REST, SUM, SYMBOL, NgramTables, Whole
from adept.models.language_model.vocabulary import UNKNOWN_NUMBER

# Columns for a context that the tables hold: its number; the first and the last row of the
# followers among which a symbol is looked for, and the row where it was found; the sum of the
# counts of all earlier followers; the sum of the discounts on the counts of the context's own
# followers; and the sum of these counts without discounts.
CONTEXT, BEGINS, ENDS, FOUND, BEFORE, TAKEN_OFF, ALL = range(7)
CONTEXT_COLUMNS = 7


class NextWord(NamedTuple):
    """The distribution of the next word, in arrays that are changed when a word is read."""

    window: Whole  # the last words; V stands before a text's first word (CONTEXT_WORDS,)
    classes: Whole  # their classes (CONTEXT_WORDS,)
    # Known ends of the window, the shortest first, then their number (2, CONTEXT_WORDS + 1, CONTEXT_COLUMNS)
    contexts: Whole
    unknown: Whole  # F of UNKNOWN and of the next number, if the model does not spell words (2,)


@compiled
def start(tables: ModelTables) -> NextWord:
    """Return the distribution of the first word of a text."""
    after = NextWord(
        np.empty(CONTEXT_WORDS, np.int64),
        np.empty(CONTEXT_WORDS, np.int64),
        np.empty((2, CONTEXT_WORDS + 1, CONTEXT_COLUMNS), np.int64),
        np.zeros(2, np.int64),
    )
    start_again(tables, after)
    return after


@without_reference_counts
def start_again(tables: ModelTables, after: NextWord) -> None:
    """Reset ``after`` to the distribution of the first word of a text."""
    for place in range(len(after.window)):
        after.window[place] = len(tables.class_of) - 1
    look(tables, after)


@without_reference_counts
def read(tables: ModelTables, after: NextWord, word: int) -> None:
    """Read one more word: change ``after`` into the distribution of the word that follows it."""
    append(after.window, word)
    look(tables, after)


@without_reference_counts
def append(window: Whole, word: int) -> None:
    """Append a word to the window of the last words, and drop the oldest word of the window."""
    for place in range(len(window) - 1):
        window[place] = window[place + 1]
    window[-1] = word


@without_reference_counts
def look(tables: ModelTables, after: NextWord) -> None:
    """Look up the words of the window, and the classes of these words, in the n-gram tables."""
    for place in range(len(after.window)):
        after.classes[place] = tables.class_of[after.window[place]]
    find_contexts(tables.words, after.window, after.contexts[0])
    find_contexts(tables.classes, after.classes, after.contexts[1])
    if not tables.spells:
        own = tables.class_of[UNKNOWN_NUMBER]
        low, high = _around(tables.classes, after.contexts[1], own)
        by_words = _around(tables.words, after.contexts[0], UNKNOWN_NUMBER)
        for edge in range(2):
            after.unknown[edge] = _mix(tables, own, low, high, UNKNOWN_NUMBER + edge, by_words[edge])


@without_reference_counts
def span(tables: ModelTables, after: NextWord, word: int) -> tuple[int, int]:
    own = tables.class_of[word]
    low, high = _around(tables.classes, after.contexts[1], own)
    begins, ends = _around(tables.words, after.contexts[0], word)
    return _edge(tables, after, own, low, high, word, begins), _edge(tables, after, own, low, high, word + 1, ends)


@compiled
def shares_after(tables: ModelTables, windows: Whole) -> NDArray[np.float32]:
    """Return the probabilities (B, V) of the next word after each of B unfinished texts.

    Each row of ``windows`` (B, CONTEXT_WORDS) holds the last words of a text.
    """
    after, size = start(tables), len(tables.in_class)
    shares = np.empty((len(windows), size), np.float32)
    by_words, by_classes = np.empty(size), np.empty(len(tables.first) - 1)
    for row in range(len(windows)):
        after.window[:] = windows[row]
        look(tables, after)
        _spread(tables.words, after.contexts[0], by_words)
        _spread(tables.classes, after.contexts[1], by_classes)
        for word in range(size):
            own = tables.class_of[word]
            behind = ONE if word + 1 == tables.first[own + 1] else tables.in_class[word + 1]
            in_class = by_classes[own] * (behind - tables.in_class[word]) / ONE
            shares[row, word] = (SHARE_OF_WORDS * by_words[word] + SHARE_OF_CLASSES * in_class) / ONE
    return shares


@without_reference_counts
def _spread(tables: NgramTables, contexts: Whole, shares: NDArray[np.float64]) -> None:
    """Store in ``shares`` the probability of every symbol after the given contexts."""
    for symbol in range(len(shares)):
        shares[symbol] = (tables.alone[symbol + 1] - tables.alone[symbol]) / ONE
    for end in contexts[: contexts[-1, CONTEXT]]:
        for symbol in range(len(shares)):
            shares[symbol] *= end[TAKEN_OFF] / end[ALL]
        for place in range(end[BEGINS], end[ENDS]):
            counted = tables.followers[place + 1, SUM] - tables.followers[place, SUM]
            shares[tables.followers[place, SYMBOL]] += counted / end[ALL]


@without_reference_counts
def find(tables: ModelTables, after: NextWord, point: int) -> tuple[int, int, int]:
    """Return the word whose share contains a point of [0, ONE), and the two edges of this share."""
    words, classes = after.contexts[0], after.contexts[1]
    own, beyond = 0, len(tables.first) - 1
    while beyond - own > 1:
        middle = (own + beyond) // 2
        edge, first = below(tables.classes, classes, middle), tables.first[middle]
        low_enough = _edge(tables, after, middle, edge, edge, first, below(tables.words, words, first)) <= point
        own, beyond = (middle, beyond) if low_enough else (own, middle)
        _narrow_search(words, low_enough)
        _narrow_search(classes, low_enough)
    low, high = _around(tables.classes, classes, own)
    word, beyond = tables.first[own], tables.first[own + 1]
    while beyond - word > 1:
        middle = (word + beyond) // 2
        low_enough = _edge(tables, after, own, low, high, middle, below(tables.words, words, middle)) <= point
        word, beyond = (middle, beyond) if low_enough else (word, middle)
        _narrow_search(words, low_enough)
    begins, ends = _around(tables.words, words, word)
    _widen_search(tables.words, words)
    _widen_search(tables.classes, classes)
    begins = _edge(tables, after, own, low, high, word, begins)
    return word, begins, _edge(tables, after, own, low, high, word + 1, ends)


@without_reference_counts
def _edge(tables: ModelTables, after: NextWord, own: int, low: int, high: int, word: int, by_words: int) -> int:
    """Return F(``word``), computed from the n-grams of words and of classes.

    By the n-grams of words alone, F(``word``) is ``by_words``. By the n-grams of classes, the
    share of the class ``own`` is from ``low`` to ``high``.
    """
    edge, size = _mix(tables, own, low, high, word, by_words), len(tables.class_of) - 1
    if not tables.spells:
        unknown = after.unknown[1] - after.unknown[0]
        edge = (edge - (unknown if word > UNKNOWN_NUMBER else 0)) * ONE // (ONE - unknown)  # shared by the others
    return (edge * (ONE - size) >> BITS) + word


@without_reference_counts
def _mix(tables: ModelTables, own: int, low: int, high: int, word: int, by_words: int) -> int:
    inside = ONE if word == tables.first[own + 1] else tables.in_class[word]
    by_classes = low + ((high - low) * inside >> BITS)
    return SHARE_OF_WORDS * by_words + SHARE_OF_CLASSES * by_classes >> BITS


@without_reference_counts
def find_contexts(tables: NgramTables, window: Whole, contexts: Whole) -> None:
    """Store in ``contexts`` those ends of a window that are contexts in the tables.

    The ends of a window are its last symbol, its last two symbols, and so on.
    """
    size, parent, known = len(tables.alone) - 1, 0, 0
    begins, ends = 0, tables.levels[min(1, len(tables.levels) - 1)]
    for length in range(1, len(tables.levels)):
        key = parent * (size + 1) + window[-length]
        found = first_at_least(tables.contexts, begins, ends, key)
        if found == ends or tables.contexts[found, KEY] != key:
            break
        contexts[known, CONTEXT], parent = found, found - tables.levels[length - 1]
        begins, ends = tables.contexts[found, LONGER], tables.contexts[found + 1, LONGER]
        known += 1
    contexts[-1, CONTEXT] = known
    _widen_search(tables, contexts)
    for end in contexts[:known]:
        end[BEFORE], end[TAKEN_OFF] = tables.followers[end[BEGINS], SUM], tables.contexts[end[CONTEXT], REST]
        end[ALL] = tables.followers[end[ENDS], SUM] - end[BEFORE] + end[TAKEN_OFF]


@without_reference_counts
def below(tables: NgramTables, contexts: Whole, symbol: int) -> int:
    """Return F of a symbol: the share of all symbols with smaller numbers, out of ONE."""
    value: int = tables.alone[symbol]
    for end in contexts[: contexts[-1, CONTEXT]]:
        end[FOUND] = first_at_least(tables.followers, end[BEGINS], end[ENDS], symbol)
        counted = tables.followers[end[FOUND], SUM] - end[BEFORE]
        value = (counted * ONE + end[TAKEN_OFF] * value) // end[ALL]
    return value


@without_reference_counts
def _around(tables: NgramTables, contexts: Whole, symbol: int) -> tuple[int, int]:
    low, high = tables.alone[symbol], tables.alone[symbol + 1]
    for end in contexts[: contexts[-1, CONTEXT]]:
        found = first_at_least(tables.followers, end[BEGINS], end[ENDS], symbol)
        behind = found + (found < end[ENDS] and tables.followers[found, SYMBOL] == symbol)
        counted, more = tables.followers[found, SUM] - end[BEFORE], tables.followers[behind, SUM] - end[BEFORE]
        low, high = (counted * ONE + end[TAKEN_OFF] * low) // end[ALL], (more * ONE + end[TAKEN_OFF] * high) // end[ALL]
    return low, high


@without_reference_counts
def _narrow_search(contexts: Whole, low_enough: bool) -> None:
    for place in range(contexts[-1, CONTEXT]):
        contexts[place, BEGINS if low_enough else ENDS] = contexts[place, FOUND]


@without_reference_counts
def _widen_search(tables: NgramTables, contexts: Whole) -> None:
    for place in range(contexts[-1, CONTEXT]):
        context = contexts[place, CONTEXT]
        contexts[place, BEGINS] = tables.contexts[context, FOLLOWERS]
        contexts[place, ENDS] = tables.contexts[context + 1, FOLLOWERS]


@without_reference_counts
def first_at_least(rows: Whole, begins: int, ends: int, wanted: int) -> int:
    """Return the index of the first row whose first number is at least ``wanted``.

    The rows from ``begins`` up to ``ends`` (excluded) are searched, and must be sorted. The result
    is ``ends`` if there is no such row.
    """
    while begins < ends:
        middle = (begins + ends) // 2
        if rows[middle, 0] < wanted:
            begins = middle + 1
        else:
            ends = middle
    return begins
