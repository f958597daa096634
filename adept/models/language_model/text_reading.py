"""The interval of a text among those of its band, in machine code: what several texts begin with is read once."""

from typing import NamedTuple

import numpy as np

from adept.models.language_model.bands import (
    Limits,
    WidthAndDepth,
    end_share,
    goes_on,
    is_of,
    is_too_narrow,
    narrow,
    whole_line,
)
from adept.models.language_model.common_prefixes import Prefixes, begin, go_on
from adept.models.language_model.compiled import compiled
from adept.models.language_model.intervals import ONE
from adept.models.language_model.mixture import ModelTables
from adept.models.language_model.next_word import NONE, Next, at, put, span, unread
from adept.models.language_model.ngrams import Whole
from adept.models.language_model.vocabulary import END_NUMBER, UNKNOWN_NUMBER


class Reading(NamedTuple):
    """What was read of some texts: a tree of their beginnings, numbered as they were met; the empty one is the first.

    Attributes:
        size: how many beginnings were met (1,).
        path: those of the text that was asked for last, the empty one first (L + 1,).
        before: each beginning without its last word (N,).
        words: its last word (N,).
        shares: that word's share after the others (N, 2).
        ends: the share of an end behind it, out of ONE, and NONE where nobody asked for it (N,).
        known: whether the distribution behind it is (N,).
        after: that distribution (N).
    """

    size: Whole
    path: Whole
    before: Whole
    words: Whole
    shares: Whole
    ends: Whole
    known: Whole
    after: Next


class Spelled(NamedTuple):
    """The words of a text that the vocabulary lacks.

    Attributes:
        shares: those of their spellings, one after the other (S, 2).
        starts: where the shares of each word begin, and S.
    """

    shares: Whole
    starts: Whole


@compiled
def reading(tables: ModelTables, most: int, beginnings: int) -> Reading:
    """Room for texts of at most so many words, their ends among them, and for their beginnings; none was read yet.

    There must be room for all beginnings of one text.
    """
    return Reading(
        np.zeros(1, np.int64),
        np.zeros(most + 1, np.int64),
        np.empty(beginnings, np.int64),
        np.empty(beginnings, np.int64),
        np.empty((beginnings, 2), np.int64),
        np.empty(beginnings, np.int64),
        np.empty(beginnings, np.int64),
        unread(tables, beginnings),
    )


@compiled
def interval(
    tables: ModelTables, common: Prefixes, read: Reading, words: Whole, spelled: Spelled, bands: Whole, narrowest: int
) -> tuple[int, Whole, WidthAndDepth, WidthAndDepth]:
    """A text's band, the steps (M, 2) to its interval in it, the width and depth of that, and those of its probability.

    A step is where a share begins in its interval, and by how many bits that is refined then. The band is NONE where the text is of
    no band, or its interval is too narrow; there is nothing to do with the rest then.

    Args:
        tables: the model.
        common: the distributions after its commonest prefixes.
        read: the texts before; this one is put with them.
        words: the text's words and its end (L,).
        spelled: the words that the vocabulary lacks.
        bands: the limits of bands, less likely texts first (B, 5).
        narrowest: the depth of an interval that is too narrow.
    """
    _begin(common, read, len(words))
    text, none = _probability(tables, common, read, words, spelled, bands[0]), np.empty((0, 2), np.int64)
    for number in range(len(bands)):
        if is_of(bands[number], text[0], text[1]) and _may_end(tables, common, read, words, bands[number]):
            steps, own = _steps(tables, common, read, words, spelled, bands[number])
            return (NONE if own[1] > narrowest else number), steps, own, text
    return NONE, none, text, text


@compiled
def _may_end(tables: ModelTables, common: Prefixes, read: Reading, words: Whole, band: Limits) -> bool:
    """Whether a text that was read ends as texts of a band do; the longest ones have no end."""
    return bool(words[-1] != END_NUMBER or _end(tables, common, read, read.path[len(words) - 1]) >= band[4])


@compiled
def _probability(
    tables: ModelTables, common: Prefixes, read: Reading, words: Whole, spelled: Spelled, band: Limits
) -> WidthAndDepth:
    """The width and the depth of a text's probability, or of one of its beginnings that is too narrow for a band."""
    text, unknown = whole_line(), 0
    for place in range(len(words)):
        read.path[place + 1] = _with(tables, common, read, read.path[place], words[place])
        narrow(text, read.shares[read.path[place + 1], 0], read.shares[read.path[place + 1], 1])
        if words[place] == UNKNOWN_NUMBER:
            for letter in spelled.shares[spelled.starts[unknown] : spelled.starts[unknown + 1]]:
                narrow(text, letter[0], letter[1])
            unknown += 1
        if is_too_narrow(band, text[0], text[1]):
            break
    return text


@compiled
def _steps(
    tables: ModelTables, common: Prefixes, read: Reading, words: Whole, spelled: Spelled, band: Limits
) -> tuple[Whole, WidthAndDepth]:
    """The steps to the interval of a text of a band, and its width and depth."""
    steps, taken = np.empty((2 * len(words) + len(spelled.shares), 2), np.int64), 0
    text, own, unknown = whole_line(), whole_line(), 0
    for place in range(len(words)):
        end = _end(tables, common, read, read.path[place])
        share = end_share(band, text, end)
        if words[place] == END_NUMBER:
            steps[taken] = narrow(own, 0, share)
            return steps[: taken + 1], own
        if share:
            steps[taken] = narrow(own, share, ONE)
            taken += 1
        low, high = read.shares[read.path[place + 1]]
        narrow(text, low, high)
        steps[taken] = narrow(own, goes_on(end, low), goes_on(end, high))
        taken += 1
        if words[place] == UNKNOWN_NUMBER:
            for letter in spelled.shares[spelled.starts[unknown] : spelled.starts[unknown + 1]]:
                narrow(text, letter[0], letter[1])
                steps[taken] = narrow(own, letter[0], letter[1])
                taken += 1
            unknown += 1
    return steps[:taken], own


@compiled
def _end(tables: ModelTables, common: Prefixes, read: Reading, beginning: int) -> int:
    """The share of an end, out of ONE, behind a beginning."""
    if read.ends[beginning] == NONE:
        read.ends[beginning] = span(tables, _after(tables, common, read, beginning), END_NUMBER)[1]
    share: int = read.ends[beginning]
    return share


@compiled
def _begin(common: Prefixes, read: Reading, words: int) -> None:
    """Begin a text of so many words; where there is no room for it, all that was read is forgotten."""
    if read.size[0] == 0 or read.size[0] + words > len(read.words):
        read.size[0], read.known[0], read.ends[0] = 1, 1, NONE
        begin(common, at(read.after, 0))


@compiled
def _with(tables: ModelTables, common: Prefixes, read: Reading, beginning: int, word: int) -> int:
    """A beginning and one more word."""
    for longer in range(beginning + 1, read.size[0]):
        if read.before[longer] == beginning and read.words[longer] == word:
            return longer
    low, high = span(tables, _after(tables, common, read, beginning), word)
    new: int = read.size[0]
    read.before[new], read.words[new], read.shares[new, 0], read.shares[new, 1] = beginning, word, low, high
    read.ends[new], read.known[new], read.size[0] = NONE, 0, new + 1
    return new


@compiled
def _after(tables: ModelTables, common: Prefixes, read: Reading, beginning: int) -> Next:
    """The distribution behind a beginning; that behind the one before it is known."""
    after = at(read.after, beginning)
    if not read.known[beginning]:
        put(after, at(read.after, read.before[beginning]))
        go_on(tables, common, after, read.words[beginning])
        read.known[beginning] = 1
    return after
