"""The distributions after the commonest beginnings of texts, made once: few texts need to be read from their first word on.

Which beginnings these are is said by the model alone, by the n-grams that were seen at the start of texts. So what is at hand
depends on no record.
"""

from typing import NamedTuple

import numpy as np

from adept.models.language_model.compiled import compiled
from adept.models.language_model.mixture import LanguageModel, ModelTables
from adept.models.language_model.next_word import NONE, Next, at, put, read, start, unread
from adept.models.language_model.ngram_reading import first_at_least
from adept.models.language_model.ngrams import Context, Whole
from adept.models.language_model.vocabulary import END_NUMBER

COMMON, NUMBERS = 2048, 1 << 22  # prefixes at most, the empty one among them, and numbers of all their distributions


class Prefixes(NamedTuple):
    """P prefixes, numbered by their lengths; the empty one is the first.

    Attributes:
        keys: of each prefix but the empty one: the number of the prefix without its last word, times V + 1, plus that word; it
            increases (P - 1, 1).
        after: the distributions after them (P).
    """

    keys: Whole
    after: Next


def common_prefixes(model: LanguageModel) -> Prefixes:
    """The commonest prefixes of the texts that a model was learned from."""
    numbers: dict[Context, int] = {(): 0}
    keys = []
    one = sum(part.size for part in unread(model.tables, 1))
    for prefix in sorted(_commonest(model, min(COMMON, NUMBERS // one)), key=lambda words: (len(words), words)):
        keys.append(numbers[prefix[:-1]] * len(model.tables.class_of) + prefix[-1])
        numbers[prefix] = len(numbers)
    table = np.array(keys, dtype=np.int64).reshape(-1, 1)
    return Prefixes(table, _distributions(model.tables, table))


def _commonest(model: LanguageModel, most: int) -> set[Context]:
    """Prefixes and all that they begin with, fewer than ``most``."""
    rows, counts, before = model.words.rows, model.words.counts, model.words.size
    starts = np.flatnonzero((rows[:, 0] == before) & (rows[:, -1] != END_NUMBER))
    often = starts[np.argsort(-counts[starts], kind="stable")]
    found: set[Context] = set()
    for number in often:
        prefix = tuple(word for word in rows[number].tolist() if word != before)
        if len(found) + len(prefix) >= most:
            break
        found.update(prefix[: end + 1] for end in range(len(prefix)))
    return found


@compiled
def _distributions(tables: ModelTables, keys: Whole) -> Next:
    rows = unread(tables, len(keys) + 1)
    start(tables, at(rows, 0))
    for number in range(len(rows.prefix)):
        if number:
            shorter, word = divmod(keys[number - 1, 0], len(tables.class_of))
            put(at(rows, number), at(rows, shorter))
            read(tables, at(rows, number), word)
        rows.prefix[number] = number
    return rows


@compiled
def begin(common: Prefixes, after: Next) -> None:
    """Begin a text: the distribution of its first word."""
    put(after, at(common.after, 0))


@compiled
def go_on(tables: ModelTables, common: Prefixes, after: Next, word: int) -> None:
    """Go on to the distribution after one more word."""
    if after.prefix[0] != NONE:
        key = after.prefix[0] * len(tables.class_of) + word
        found = first_at_least(common.keys, 0, len(common.keys), key)
        if found < len(common.keys) and common.keys[found, 0] == key:
            put(after, at(common.after, found + 1))
            return
        after.prefix[0] = NONE
    read(tables, after, word)
