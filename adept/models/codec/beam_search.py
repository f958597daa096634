"""Beam search for texts that are near to a record and cost at most a given number of bits.

A word to which the language model gives the probability p costs -log2(p) bits, and a text costs the
sum of its words' costs. The search reads the record word by word, and builds texts that keep each
word or leave it out. Before a kept word, a text may contain one inserted word, namely the likeliest
one. Each word that is left out or inserted adds to the distance of the text from the record. The
place of a left-out or inserted word in the text is called a *seam*. If the word after a seam costs
more bits in the text than in the record, each extra bit adds to the distance, too. After each word
of the record, the search keeps a few texts, the *beam*: for every whole number of bits, the nearest
texts that cost at most that many bits. The *state* of a text is a row of numbers, such as its cost,
its distance from the record and its last words.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from adept.models.codec.word_weights_and_meanings import ADDED_COST, MISSING_COST
from adept.models.language_model.machine_code import compiled, without_reference_counts
from adept.models.language_model.next_word import CONTEXT, NextWord, append, look, read, span, start
from adept.models.language_model.ngram_mixture import CONTEXT_WORDS, LanguageModel, ModelTables
from adept.models.language_model.ngrams import BITS, LIKELIEST, Whole
from adept.models.language_model.vocabulary import END_NUMBER, UNKNOWN_NUMBER

UNIT = 256  # units of cost in a bit: costs are whole numbers
BEAM_WIDTHS = 2, 8  # texts kept for each whole number of bits, below MANY_BITS and above
MANY_BITS = 26.0
ANYWHERE = 1 << 40  # a distance larger than that of any text
UNPAYABLE = 1 << 20  # a cost in UNITs that is larger than any budget
NO_WORD = -1

NUMBER, SPELLED, LEFT_OUT, USUAL = range(4)  # columns of a record's word: number, cost of its letters, weight, own cost
COST, DISTANCE, WINDOW = range(3)  # columns of the state of a text
TEXT, WORD, INSERTED, SEAMS, STATE_COLUMNS = range(WINDOW + CONTEXT_WORDS, WINDOW + CONTEXT_WORDS + 5)


class Found(NamedTuple):
    """A found text, with its distance from the record, and its cost in units of 1 / UNIT bits."""

    distance: int
    seams: int  # the part of the distance that left-out and inserted words add
    cost: int
    words: tuple[str, ...]


class BeamSearch:
    """A beam search for texts that are near to a record and likely under a language model.

    The function ``weigh`` returns the weight of a word in distances. A seam is a place where a word
    was left out or inserted. If the word after a seam costs more bits in the text than in the
    record, each of these extra bits adds ``seam`` to the distance.
    """

    def __init__(self, model: LanguageModel, *, weigh: Callable[[str], int], seam: int = 0) -> None:
        self.model, self.weigh, self.seam = model, weigh, seam
        self._added = ADDED_COST * np.array([*map(weigh, model.vocabulary.words)])

    def near(self, words: Sequence[str], *, bits: float, within: int = ANYWHERE) -> Iterator[Found]:
        """Yield texts that are near to the record with these ``words``, the nearest text first.

        Each text costs at most ``bits`` bits, and its distance from the record is below ``within``.
        """
        vocabulary, kept = self.model.vocabulary, BEAM_WIDTHS[bits >= MANY_BITS]
        numbers = vocabulary.encode(words)
        spelled = [*map(self._spelling_cost, words, numbers), 0]
        left_out = [*(MISSING_COST * self.weigh(word) for word in words), 0]
        record, most = np.array([numbers, spelled, left_out, [0] * len(numbers)]).T.copy(), int(bits * UNIT)
        beam, texts = _search(self.model.tables, record, self._added, self.seam, most, within, kept)
        spoken = _spell_out(texts.tolist(), words, vocabulary.words)
        for distance, seams, cost, text in beam[:, [DISTANCE, SEAMS, COST, TEXT]].tolist():
            yield Found(distance, seams, cost, spoken[text])

    def _spelling_cost(self, word: str, number: int) -> int:
        if number != UNKNOWN_NUMBER:
            return 0
        spans = self.model.spelling.spans(word) if self.model.spells else None
        return UNPAYABLE if spans is None else sum(_cost(high - low) for low, high in spans)


def _spell_out(
    texts: Sequence[tuple[int, int, int]], record: Sequence[str], vocabulary: Sequence[str]
) -> list[tuple[str, ...]]:
    """Return the words of each text in the table ``texts``; a last entry () is the empty text.

    Each row of ``texts`` stands for a text that extends an earlier text by a word of the record.
    The row holds the index of the earlier text (-1 for the empty text), the place of the word in
    the record, and the number of the word that is inserted before it (NO_WORD for none).
    """
    spoken: list[tuple[str, ...]] = [()] * (len(texts) + 1)
    for text, (before, place, inserted) in enumerate(texts):
        words = spoken[before]
        if inserted != NO_WORD:
            words += (vocabulary[inserted],)
        spoken[text] = (*words, record[place]) if place < len(record) else words
    return spoken


@compiled
def _search(
    tables: ModelTables, record: Whole, added: Whole, seam: int, most: int, within: int, kept: int
) -> tuple[Whole, Whole]:
    """Find texts near to a record; return their states, and the table for ``_spell_out``."""
    after, counts = start(tables), np.empty(most // UNIT + 1, np.int64)
    widest = kept * len(counts)
    beam, states = np.empty((3 * widest, STATE_COLUMNS), np.int64), np.empty((3 * widest, STATE_COLUMNS), np.int64)
    steps, order = np.empty((widest, 4), np.int64), np.empty(3 * widest, np.int64)
    texts, written, count = np.empty(((len(record) + 1) * widest, 3), np.int64), 0, 1
    beam[0], beam[0, WINDOW:TEXT], beam[0, TEXT] = 0, len(tables.class_of) - 1, NO_WORD
    for place in range(len(record)):
        record[place, USUAL] = _cost_of(tables, after, record[place, NUMBER])
        read(tables, after, record[place, NUMBER])
    for place in range(len(record)):
        _look_ahead(tables, after, beam[:count], record[place, NUMBER], steps)
        count = _extend(beam[:count], steps, record[place], added, seam, most, states)
        count = _sort(states[:count], within, order)
        if record[place, NUMBER] != END_NUMBER:
            count = _thin_out(states, order[:count], counts, kept)
        written = _go_on(beam, states, order[:count], place, texts, written)
    return beam[:count], texts[:written]


@without_reference_counts
def _go_on(beam: Whole, states: Whole, order: Whole, place: int, texts: Whole, written: int) -> int:
    for row in range(len(order)):
        state = beam[row]
        _copy(state, states[order[row]])
        if state[WORD] != NO_WORD:
            texts[written, 0], texts[written, 1], texts[written, 2] = state[TEXT], place, state[INSERTED]
            state[TEXT] = written
            written += 1
    return written


@without_reference_counts
def _extend(beam: Whole, steps: Whole, own: Whole, added: Whole, seam: int, most: int, states: Whole) -> int:
    """Store the texts that follow from the beam and the record's next word; return their number.

    From each text of the beam, up to three texts follow: one leaves the record's word out, one
    keeps it, and one keeps it after an inserted word. No stored text costs more than ``most``.
    """
    word, count = own[NUMBER], 0
    for row in range(len(beam)):
        alone, likely, first, second = steps[row]
        if word != END_NUMBER:
            _copy(states[count], beam[row])
            states[count, DISTANCE] += own[LEFT_OUT]
            states[count, WORD] = NO_WORD
            count += 1
        for inserted, cost in ((NO_WORD, alone), (likely, first + second)):
            if beam[row, COST] + own[SPELLED] + cost > most:
                continue
            state = states[count]
            _copy(state, beam[row])
            state[COST] += own[SPELLED] + cost
            if state[WORD] == NO_WORD or inserted != NO_WORD:
                more = seam * max(cost - own[USUAL], 0) // UNIT
                state[SEAMS] += more
                state[DISTANCE] += more
            if inserted != NO_WORD:
                state[DISTANCE] += added[inserted]
                append(state[WINDOW:TEXT], inserted)
            append(state[WINDOW:TEXT], word)
            state[WORD], state[INSERTED] = word, inserted
            count += 1
    return count


@without_reference_counts
def _sort(states: Whole, within: int, order: Whole) -> int:
    """Store in ``order`` the row numbers of the states nearer than ``within``, nearest first."""
    count = 0
    for row in range(len(states)):
        if states[row, DISTANCE] >= within:
            continue
        place = count
        while place and _is_nearer(states[row], states[order[place - 1]]):
            order[place] = order[place - 1]
            place -= 1
        order[place] = row
        count += 1
    return count


@without_reference_counts
def _copy(to: Whole, numbers: Whole) -> None:
    for place in range(len(to)):
        to[place] = numbers[place]


@without_reference_counts
def _is_nearer(one: Whole, other: Whole) -> bool:
    return one[DISTANCE] < other[DISTANCE] or (one[DISTANCE] == other[DISTANCE] and one[COST] < other[COST])


@without_reference_counts
def _look_ahead(tables: ModelTables, after: NextWord, beam: Whole, word: int, steps: Whole) -> None:
    """Store in ``steps`` the costs of the record's next ``word`` after each text of the beam.

    A row of ``steps`` holds four numbers: the cost of the record's word, the likeliest word to
    insert before the record's word, the cost of the inserted word, and the cost of the record's
    word after the inserted word.
    """
    for row in range(len(beam)):
        twin = _twin(beam, row)
        if twin < row:
            _copy(steps[row], steps[twin])
            continue
        _copy(after.window, beam[row, WINDOW:TEXT])
        look(tables, after)
        likely = _likeliest(tables, after)
        steps[row, 0], steps[row, 1] = _cost_of(tables, after, word), likely
        steps[row, 2], steps[row, 3] = UNPAYABLE, 0
        if likely != NO_WORD:
            steps[row, 2] = _cost_of(tables, after, likely)
            read(tables, after, likely)
            steps[row, 3] = _cost_of(tables, after, word)


@without_reference_counts
def _twin(beam: Whole, row: int) -> int:
    for other in range(row):
        if _same(beam[other], beam[row]):
            return other
    return row


@without_reference_counts
def _thin_out(states: Whole, order: Whole, counts: Whole, kept: int) -> int:
    """Drop the states that are far from the record for their cost; return the number of the others.

    A state is dropped if at least ``kept`` other states are nearer to the record and cost no more
    whole bits. A state is dropped, too, if a nearer state has the same last words and costs the
    same whole number of bits.
    """
    counts[:], count = 0, 0
    for row in order:
        bucket = states[row, COST] // UNIT
        if counts[bucket] >= kept or _has_twin(states, order[:count], row, bucket):
            continue
        order[count] = row
        count += 1
        for dearer in range(bucket, len(counts)):
            counts[dearer] += 1
            if counts[dearer] > kept:
                break  # and so are all that cost more
    return count


@without_reference_counts
def _has_twin(states: Whole, chosen: Whole, row: int, bucket: int) -> bool:
    for other in chosen:  # noqa: SIM110 - machine code has no generators
        if states[other, COST] // UNIT == bucket and _same(states[other], states[row]):
            return True
    return False


@without_reference_counts
def _same(one: Whole, other: Whole) -> bool:
    for place in range(WINDOW, TEXT):  # noqa: SIM110 - machine code has no generators
        if one[place] != other[place]:
            return False
    return True


@without_reference_counts
def _likeliest(tables: ModelTables, after: NextWord) -> int:
    """Return the word that followed a text's last words most often in training, or NO_WORD."""
    known = after.contexts[0, -1, CONTEXT]
    word = tables.words.contexts[after.contexts[0, known - 1, CONTEXT] if known else -1, LIKELIEST]
    return word if word < len(tables.in_class) else NO_WORD


@without_reference_counts
def _cost_of(tables: ModelTables, after: NextWord, word: int) -> int:
    low, high = span(tables, after, word)
    return _cost(high - low)


@without_reference_counts
def _cost(share: int) -> int:
    return round(UNIT * (BITS - math.log2(share)))
