"""What n-grams say of the next symbol after some others, in machine code: their distribution functions, read from their tables.

How the tables are made is in ``adept.models.language_model.ngrams``. What is known of a context is written into an array of
numbers, so that it is looked for once for all symbols that are asked for.
"""

from adept.models.language_model.compiled import without_reference_counts
from adept.models.language_model.intervals import ONE
from adept.models.language_model.ngrams import KEY, LONGER, REST, START, SUM, SYMBOL, NgramTables, Whole

# Of a known context: its number; the followers among which a symbol is looked for, and where one was found; the sum of counts
# before all of them, what was taken off their counts, and what all of them and that come to.
CONTEXT, BEGINS, ENDS, FOUND, BEFORE, TAKEN_OFF, ALL = range(7)


@without_reference_counts
def know_ends(tables: NgramTables, window: Whole, contexts: Whole) -> None:
    """Write down the known ends of a window, the shortest first, and how many there are."""
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
    widen_search(tables, contexts)
    for end in contexts[:known]:
        end[BEFORE], end[TAKEN_OFF] = tables.followers[end[BEGINS], SUM], tables.contexts[end[CONTEXT], REST]
        end[ALL] = tables.followers[end[ENDS], SUM] - end[BEFORE] + end[TAKEN_OFF]


@without_reference_counts
def below(tables: NgramTables, contexts: Whole, symbol: int) -> int:
    """F of a symbol by n-grams: the recursion from what is seen after anything to the longest known context."""
    value: int = tables.alone[symbol]
    for end in contexts[: contexts[-1, CONTEXT]]:
        end[FOUND] = first_at_least(tables.followers, end[BEGINS], end[ENDS], symbol)
        counted = tables.followers[end[FOUND], SUM] - end[BEFORE]
        value = (counted * ONE + end[TAKEN_OFF] * value) // end[ALL]
    return value


@without_reference_counts
def around(tables: NgramTables, contexts: Whole, symbol: int) -> tuple[int, int]:
    """F of a symbol and of the next one."""
    low, high = tables.alone[symbol], tables.alone[symbol + 1]
    for end in contexts[: contexts[-1, CONTEXT]]:
        found = first_at_least(tables.followers, end[BEGINS], end[ENDS], symbol)
        behind = found + (found < end[ENDS] and tables.followers[found, SYMBOL] == symbol)
        counted, more = tables.followers[found, SUM] - end[BEFORE], tables.followers[behind, SUM] - end[BEFORE]
        low, high = (counted * ONE + end[TAKEN_OFF] * low) // end[ALL], (more * ONE + end[TAKEN_OFF] * high) // end[ALL]
    return low, high


@without_reference_counts
def narrow_search(contexts: Whole, low_enough: bool) -> None:
    """Go on with the followers from where a symbol was found, or with those before it."""
    for place in range(contexts[-1, CONTEXT]):
        contexts[place, BEGINS if low_enough else ENDS] = contexts[place, FOUND]


@without_reference_counts
def widen_search(tables: NgramTables, contexts: Whole) -> None:
    """Look for symbols among all followers again."""
    for place in range(contexts[-1, CONTEXT]):
        context = contexts[place, CONTEXT]
        contexts[place, BEGINS], contexts[place, ENDS] = (
            tables.contexts[context, START],
            tables.contexts[context + 1, START],
        )


@without_reference_counts
def first_at_least(rows: Whole, begins: int, ends: int, wanted: int) -> int:
    """The first of some rows whose first number is not below what is wanted; their end where all are."""
    while begins < ends:
        middle = (begins + ends) // 2
        if rows[middle, 0] < wanted:
            begins = middle + 1
        else:
            ends = middle
    return begins
