"""Beam search: the texts near a record that a budget of bits can write, nearest first.

Word by word, the record's next word is kept or left out, and before a word that is kept the likeliest word may be inserted. A
word left out adds its weight to the distance, an inserted word a part of its weight, and every word that is kept or inserted
costs the bits that the model asks for it. Every text found is a complete text of the model's language, since it is closed by an
end that is paid for. The beam keeps, for every number of bits, the few texts nearest to the record that cost no more.

The steps are machine code, and nothing is remembered from one record to the next.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from adept.models.language_model.compiled import compiled
from adept.models.language_model.intervals import BITS
from adept.models.language_model.mixture import SEEN, LanguageModel, ModelTables
from adept.models.language_model.next_word import Next, append, copied, look, read, span, unread
from adept.models.language_model.ngrams import LIKELIEST, Whole
from adept.models.language_model.vocabulary import END_NUMBER, UNKNOWN_NUMBER

UNIT = 256  # costs are in parts of a bit, so that they are whole numbers
KEPT = 2, 4  # texts kept for each whole number of bits, below MANY_BITS and above
MANY_BITS = 26.0
ANYWHERE = 1 << 40  # further away than any text
UNPAYABLE = 1 << 20  # UNITs: more than any budget

COST, DISTANCE, WINDOW, TEXT, WORD, INSERTED, COLUMNS = 0, 1, 2, 2 + SEEN, 3 + SEEN, 4 + SEEN, 5 + SEEN
NONE = -1

Weigh = Callable[[str], int]


class Found(NamedTuple):
    """A text, its distance from the record, and what it costs in UNITs."""

    distance: int
    cost: int
    words: tuple[str, ...]


class BeamSearch:
    """Searches texts near to records.

    Args:
        model: says what is likely; the search is quick with one that reads the last words alone.
        weigh: the weight of a record's word that is left out.
        weigh_added: the weight of an inserted word.
    """

    def __init__(self, model: LanguageModel, *, weigh: Weigh, weigh_added: Weigh) -> None:
        self.model, self.weigh = model, weigh
        self._room = unread(model.tables)
        self._added = np.array([*map(weigh_added, model.vocabulary.words)])

    def near(self, words: Sequence[str], *, bits: float, within: int = ANYWHERE) -> Iterator[Found]:
        """Texts of at most ``bits`` bits nearer to a record than ``within``, by distance and then by cost."""
        vocabulary, kept = self.model.vocabulary, KEPT[bits >= MANY_BITS]
        numbers = np.array(vocabulary.encode(words))
        spelled = np.array([*map(self._spelling_cost, words, numbers.tolist()), 0])
        left_out = np.array([*map(self.weigh, words), 0])
        beam, texts = _search(
            self.model.tables, self._room, numbers, spelled, left_out, self._added, int(bits * UNIT), within, kept
        )
        for distance, cost, text in beam[:, [DISTANCE, COST, TEXT]].tolist():
            yield Found(distance, cost, tuple(_words_of(texts, text, words, vocabulary.words)))

    def _spelling_cost(self, word: str, number: int) -> int:
        """What the letters of a word cost that the vocabulary lacks."""
        if number != UNKNOWN_NUMBER:
            return 0
        spans = self.model.spelling.spans(word) if self.model.spells else None
        return UNPAYABLE if spans is None else sum(_cost(high - low) for low, high in spans)


def _words_of(texts: Whole, text: int, record: Sequence[str], vocabulary: Sequence[str]) -> list[str]:
    """The words of a text, without its end."""
    words: list[str] = []
    while text != NONE:
        text, place, inserted = texts[text].tolist()
        words += [record[place]] if place < len(record) else []
        words += [vocabulary[inserted]] if inserted != NONE else []
    return words[::-1]


@compiled
def _search(
    tables: ModelTables,
    room: Next,
    numbers: Whole,
    spelled: Whole,
    left_out: Whole,
    added: Whole,
    most: int,
    within: int,
    kept: int,
) -> tuple[Whole, Whole]:
    """The states of closed texts, and all texts: to each the text before its last word, that word's place, and what is inserted.

    Args:
        tables: the model.
        room: for the distributions of next words; it is copied.
        numbers: the record's words and an end (L,).
        spelled: what their letters cost, in UNITs (L,).
        left_out: what leaving each of them out adds to the distance (L,).
        added: what each word of the vocabulary adds that is inserted (V,).
        most: UNITs that a text may cost.
        within: distance that a text must not reach.
        kept: texts for each whole number of bits.
    """
    after, buckets = copied(room), most // UNIT + 1
    beam = np.zeros((1, COLUMNS), np.int64)
    beam[0, WINDOW:TEXT], beam[0, TEXT] = len(tables.class_of) - 1, NONE
    texts, written = np.empty(((len(numbers) + 1) * kept * buckets, 3), np.int64), 0
    for place in range(len(numbers)):
        last = place == len(numbers) - 1
        steps = _steps(tables, after, beam, numbers[place])
        states = _extended(beam, steps, numbers[place], spelled[place], left_out[place], added, most)
        states = _nearest(states, within)
        beam = states if last else states[_kept(states, buckets, kept)]
        for row in range(len(beam)):
            if beam[row, WORD] != NONE:
                texts[written, 0], texts[written, 1], texts[written, 2] = beam[row, TEXT], place, beam[row, INSERTED]
                beam[row, TEXT] = written
                written += 1
    return beam, texts


@compiled
def _extended(beam: Whole, steps: Whole, word: int, spelled: int, left_out: int, added: Whole, most: int) -> Whole:
    """The states after one more word of the record: left out (but for an end), appended at once, or after an inserted one."""
    states, count = np.empty((3 * len(beam), COLUMNS), np.int64), 0
    for row in range(len(beam)):
        own, likely, first, second = steps[row]
        if word != END_NUMBER:
            _set(states[count], beam[row])
            states[count, DISTANCE] += left_out
            states[count, WORD] = NONE
            count += 1
        for inserted, cost in ((NONE, own), (likely, first + second)):
            if beam[row, COST] + spelled + cost > most:
                continue
            state = states[count]
            _set(state, beam[row])
            state[COST] += spelled + cost
            if inserted != NONE:
                state[DISTANCE] += added[inserted]
                append(state[WINDOW:TEXT], inserted)
            append(state[WINDOW:TEXT], word)
            state[WORD], state[INSERTED] = word, inserted
            count += 1
    return states[:count]


@compiled
def _nearest(states: Whole, within: int) -> Whole:
    """The states nearer than ``within``, by distance and then by cost: put in one by one, as they come nearly in order."""
    order, count = np.empty(len(states), np.int64), 0
    for row in range(len(states)):
        if states[row, DISTANCE] >= within:
            continue
        place = count
        while place and _is_nearer(states[row], states[order[place - 1]]):
            order[place] = order[place - 1]
            place -= 1
        order[place] = row
        count += 1
    return states[order[:count]]


@compiled
def _is_nearer(one: Whole, other: Whole) -> bool:
    return one[DISTANCE] < other[DISTANCE] or (one[DISTANCE] == other[DISTANCE] and one[COST] < other[COST])


@compiled
def _set(to: Whole, numbers: Whole) -> None:
    for place in range(len(to)):
        to[place] = numbers[place]


@compiled
def _steps(tables: ModelTables, after: Next, beam: Whole, word: int) -> Whole:
    """For each state (B, 4): what a word costs, the word to insert, what that costs, and what the word costs after it."""
    steps = np.empty((len(beam), 4), np.int64)
    for row in range(len(beam)):
        twin = _twin(beam, row)
        if twin < row:
            _set(steps[row], steps[twin])
            continue
        _set(after.window, beam[row, WINDOW:TEXT])
        look(tables, after)
        likely = _likeliest(tables, after)
        steps[row, 0], steps[row, 1] = _cost_of(tables, after, word), likely
        steps[row, 2], steps[row, 3] = UNPAYABLE, 0
        if likely != NONE:
            steps[row, 2] = _cost_of(tables, after, likely)
            read(tables, after, likely)
            steps[row, 3] = _cost_of(tables, after, word)
    return steps


@compiled
def _twin(beam: Whole, row: int) -> int:
    """The first state with the last words of this one."""
    for other in range(row):
        if _same(beam[other], beam[row]):
            return other
    return row


@compiled
def _kept(states: Whole, buckets: int, kept: int) -> Whole:
    """For each whole number of bits the first ``kept`` states that cost no more; of two with the same last words, the first."""
    counts, chosen, count = np.zeros(buckets, np.int64), np.empty(len(states), np.int64), 0
    for row in range(len(states)):
        bucket = states[row, COST] // UNIT
        if counts[bucket] >= kept:
            continue
        twin = False
        for other in chosen[:count]:
            if states[other, COST] // UNIT == bucket and _same(states[other], states[row]):
                twin = True
                break
        if twin:
            continue
        chosen[count] = row
        count += 1
        for dearer in range(bucket, buckets):
            counts[dearer] += 1
            if counts[dearer] > kept:
                break  # and so are all that cost more
    return chosen[:count]


@compiled
def _same(one: Whole, other: Whole) -> bool:
    """Whether two states have the same last words."""
    for place in range(WINDOW, TEXT):  # noqa: SIM110 - machine code has no generators
        if one[place] != other[place]:
            return False
    return True


@compiled
def _likeliest(tables: ModelTables, after: Next) -> int:
    """The word most often seen after a window, in its longest known end; NONE where there was none."""
    known = after.contexts[0, -1]
    word = tables.words.contexts[after.contexts[0, known - 1] if known else -1, LIKELIEST]
    return word if word < len(tables.in_class) else NONE


@compiled
def _cost_of(tables: ModelTables, after: Next, word: int) -> int:
    low, high = span(tables, after, word)
    return _cost(high - low)


@compiled
def _cost(share: int) -> int:
    """The bits of a share out of ONE, in UNITs."""
    return round(UNIT * (BITS - math.log2(share)))
