"""Beam search: the texts near a record that a budget of bits can write, nearest first.

Word by word, the record's next word is kept or left out, and before a word that is kept the likeliest word may be inserted. A
word left out adds its weight to the distance, an inserted word a part of its weight, and every word that is kept or inserted
costs the bits that the model asks for it. Every text found is a complete text of the model's language, since it is closed by an
end that is paid for. The beam keeps, for every number of bits, the few texts nearest to the record that cost no more.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from adept.models.language_model.intervals import BITS, Span
from adept.models.language_model.mixture import LanguageModel, Reading
from adept.models.language_model.ngrams import Context
from adept.models.language_model.vocabulary import END, UNKNOWN

UNIT = 256  # costs are in parts of a bit, so that they are whole numbers
KEPT = 2, 4  # texts kept for each whole number of bits, below MANY_BITS and above
MANY_BITS = 26.0
INSERTED = 1  # likely words that are tried before each word of the record

Weigh = Callable[[str], int]


class Step(NamedTuple):
    """Saying one word after a history: what it costs in UNITs, and the history afterwards."""

    cost: int
    history: Context


class Found(NamedTuple):
    """A text, its distance from the record, and what it costs in UNITs."""

    distance: int
    cost: int
    words: tuple[str, ...]


class _State(NamedTuple):
    cost: int
    distance: int
    history: Context
    last: "_Last | None"  # the last word, and through it those before


class _Last(NamedTuple):
    before: "_Last | None"
    word: str


class BeamSearch:
    """Searches texts near to one record; the steps that it remembers are as secret as the record, and end with it.

    Args:
        model: says what is likely; the search is quick with one that reads the last words alone.
        weigh: the weight of a record's word that is left out.
        weigh_added: the weight of an inserted word.
    """

    def __init__(self, model: LanguageModel, *, weigh: Weigh, weigh_added: Weigh) -> None:
        self.model, self.weigh, self.weigh_added = model, weigh, weigh_added
        self.reading = Reading(model)
        self._steps: dict[tuple[Context, str], Step | None] = {}
        self._likely: dict[Context, list[str]] = {}

    def near(self, words: Sequence[str], *, bits: float, within: float = math.inf) -> list[Found]:
        """Texts of at most ``bits`` bits nearer to a record than ``within``, by distance and then by cost."""
        most, kept = int(bits * UNIT), KEPT[bits >= MANY_BITS]
        beam = [_State(0, 0, self.reading.start, None)]
        for word in words:
            left_out = self.weigh(word)
            skipped = (state._replace(distance=state.distance + left_out) for state in beam)
            longer = self._extended(beam, word, most)
            beam = _pruned([state for state in (*skipped, *longer) if state.distance < within], most, kept)
        closed = [state for state in self._extended(beam, END, most) if state.distance < within]
        return [_found(state) for state in sorted(closed, key=lambda state: (state.distance, state.cost))]

    def _extended(self, beam: list[_State], word: str, most: int) -> Iterator[_State]:
        """The states after one more word of the record, appended at once or after an inserted one."""
        for state in beam:
            inserted = (
                self._appended(state, likely, self.weigh_added(likely), most)
                for likely in self._likely_words(state.history)
            )
            for before in (state, *inserted):
                if before and (longer := self._appended(before, word, 0, most)):
                    yield longer

    def _appended(self, state: _State, word: str, distance: int, most: int) -> _State | None:
        """The state after one more word; None if it costs too much, or cannot be written at all."""
        step = self._step(state.history, word)
        if step is None or state.cost + step.cost > most:
            return None
        last = _Last(state.last, word)
        return _State(state.cost + step.cost, state.distance + distance, step.history, last)

    def _step(self, history: Context, word: str) -> Step | None:
        key = history, word
        if key not in self._steps:
            self._steps[key] = self._make_step(history, word)
        return self._steps[key]

    def _make_step(self, history: Context, word: str) -> Step | None:
        vocabulary = self.model.vocabulary
        number = vocabulary.numbers.get(word, vocabulary.numbers[UNKNOWN])
        spans = [self.reading.span(history, number)]
        if vocabulary.words[number] == UNKNOWN:
            spelled = self.model.spelling.spans(word) if self.model.spells else None
            if spelled is None:
                return None
            spans += spelled
        return Step(sum(map(_cost, spans)), self.reading.after(history, number))

    def _likely_words(self, history: Context) -> list[str]:
        if history not in self._likely:
            words = [self.model.vocabulary.words[number] for number in self.reading.likely(history, INSERTED + 2)]
            self._likely[history] = [word for word in words if word not in (END, UNKNOWN)][:INSERTED]
        return self._likely[history]


def _cost(span: Span) -> int:
    return round(UNIT * (BITS - math.log2(span[1] - span[0])))


def _found(state: _State) -> Found:
    """The text of a closed state: its words without the end."""
    words: list[str] = []
    last = state.last
    while last:
        words.append(last.word)
        last = last.before
    return Found(state.distance, state.cost, tuple(words[:0:-1]))


def _pruned(states: list[_State], most: int, kept: int) -> list[_State]:
    """For each whole number of bits the ``kept`` nearest texts that cost no more; of two with one history, the nearer."""
    best: dict[tuple[Context, int], _State] = {}
    for state in states:
        key = state.history, state.cost // UNIT
        known = best.get(key)
        if known is None or (state.distance, state.cost) < (known.distance, known.cost):
            best[key] = state
    counts = [0] * (most // UNIT + 1)
    left = []
    for state in sorted(best.values(), key=lambda state: (state.distance, state.cost)):
        bucket = state.cost // UNIT
        if counts[bucket] < kept:
            left.append(state)
            for place in range(bucket, len(counts)):
                counts[place] += 1
                if counts[place] > kept:
                    break  # and so are all that cost more
    return left
