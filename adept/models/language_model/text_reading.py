"""The interval of a text among those of its band, in machine code; one text after the other, from the words that they share on."""

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
    """What was read of the last text; the first numbers of ``read`` say how much of the others holds.

    Attributes:
        read: how many words, shares and distributions are known (3,).
        words: the words (L,).
        shares: their shares (L, 2).
        ends: the shares of an end before them, out of ONE, and NONE where nobody asked for it (L,).
        after: the distributions before them (L).
    """

    read: Whole
    words: Whole
    shares: Whole
    ends: Whole
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
def reading(tables: ModelTables, most: int) -> Reading:
    """Room for texts of at most so many words, their ends among them; none was read yet."""
    return Reading(
        np.zeros(3, np.int64),
        np.empty(most, np.int64),
        np.empty((most, 2), np.int64),
        np.empty(most, np.int64),
        unread(tables, most),
    )


@compiled
def interval(
    tables: ModelTables, common: Prefixes, last: Reading, words: Whole, spelled: Spelled, bands: Whole, narrowest: int
) -> tuple[int, Whole, WidthAndDepth, WidthAndDepth]:
    """A text's band, the steps (M, 2) to its interval in it, the width and depth of that, and those of its probability.

    A step is where a share begins in its interval, and by how many bits that is refined then. The band is NONE where the text is of
    no band, or its interval is too narrow; there is nothing to do with the rest then.

    Args:
        tables: the model.
        common: the distributions after its commonest prefixes.
        last: the text before; it becomes this one.
        words: the text's words and its end (L,).
        spelled: the words that the vocabulary lacks.
        bands: the limits of bands, less likely texts first (B, 5).
        narrowest: the depth of an interval that is too narrow.
    """
    _forget_others(last, words)
    text, none = _probability(tables, common, last, words, spelled, bands[0]), np.empty((0, 2), np.int64)
    for number in range(len(bands)):
        if is_of(bands[number], text[0], text[1]) and _may_end(tables, last, words, bands[number]):
            steps, own = _steps(tables, last, words, spelled, bands[number])
            return (NONE if own[1] > narrowest else number), steps, own, text
    return NONE, none, text, text


@compiled
def _may_end(tables: ModelTables, last: Reading, words: Whole, band: Limits) -> bool:
    """Whether a text that was read ends as texts of a band do; the longest ones have no end."""
    return bool(words[-1] != END_NUMBER or _end(tables, last, len(words) - 1) >= band[4])


@compiled
def _probability(
    tables: ModelTables, common: Prefixes, last: Reading, words: Whole, spelled: Spelled, band: Limits
) -> WidthAndDepth:
    """The width and the depth of a text's probability, or of one of its beginnings that is too narrow for a band."""
    text, unknown = whole_line(), 0
    for place in range(len(words)):
        low, high = _share(tables, common, last, place)
        narrow(text, low, high)
        if words[place] == UNKNOWN_NUMBER:
            for letter in spelled.shares[spelled.starts[unknown] : spelled.starts[unknown + 1]]:
                narrow(text, letter[0], letter[1])
            unknown += 1
        if is_too_narrow(band, text[0], text[1]):
            break
    return text


@compiled
def _steps(
    tables: ModelTables, last: Reading, words: Whole, spelled: Spelled, band: Limits
) -> tuple[Whole, WidthAndDepth]:
    """The steps to the interval of a text of a band, and its width and depth."""
    steps, taken = np.empty((2 * len(words) + len(spelled.shares), 2), np.int64), 0
    text, own, unknown = whole_line(), whole_line(), 0
    for place in range(len(words)):
        end = _end(tables, last, place)
        share = end_share(band, text, end)
        if words[place] == END_NUMBER:
            steps[taken] = narrow(own, 0, share)
            return steps[: taken + 1], own
        if share:
            steps[taken] = narrow(own, share, ONE)
            taken += 1
        low, high = last.shares[place]
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
def _end(tables: ModelTables, last: Reading, place: int) -> int:
    """The share of an end, out of ONE, before a word that was read."""
    if last.ends[place] == NONE:
        last.ends[place] = span(tables, at(last.after, place), END_NUMBER)[1]
    share: int = last.ends[place]
    return share


@compiled
def _forget_others(last: Reading, words: Whole) -> None:
    """Keep of the last text what holds for this one."""
    same = 0
    while same < min(last.read[0], len(words)) and last.words[same] == words[same]:
        same += 1
    for place in range(same, len(words)):
        last.words[place] = words[place]
    last.read[0], last.read[1], last.read[2] = len(words), min(same, last.read[1]), min(same + 1, last.read[2])


@compiled
def _share(tables: ModelTables, common: Prefixes, last: Reading, place: int) -> tuple[int, int]:
    """The share of a word of a text whose words before it were read."""
    if place >= last.read[2]:
        after = at(last.after, place)
        if place == 0:
            begin(common, after)
        else:
            put(after, at(last.after, place - 1))
            go_on(tables, common, after, last.words[place - 1])
        last.read[2], last.ends[place] = place + 1, NONE
    if place >= last.read[1]:
        low, high = span(tables, at(last.after, place), last.words[place])
        last.shares[place, 0], last.shares[place, 1] = low, high
        last.read[1] = place + 1
    return last.shares[place, 0], last.shares[place, 1]
