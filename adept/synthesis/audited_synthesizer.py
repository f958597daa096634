"""A synthesizer as a mechanism on files, which ``adept.audit.run`` can audit."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adept.data.formats import Record
from adept.mechanisms.central_counts import REPLACE
from adept.synthesis.synthesizer import Synthesizer
from adept.synthesis.vote_counting import Tally

LABEL_SET, CELLS = ("one", "other"), 4  # few, so that a difference in one of them shows
BASE_ROWS, EXCESS_ROWS = 3, 5  # rows of either file; rows of a person beyond those that count


class NeighbouringFiles:
    """A synthesizer as a mechanism whose inputs are a few small files, each given by its name.

    ``pairs`` lists the pairs of neighbouring files, which differ in the rows of one person. The
    synthesizer must have at least two codewords and two labels.
    """

    name, delta = "synthesizer", 0.0

    def __init__(self, synthesizer: Synthesizer) -> None:
        self.synthesizer = synthesizer
        self.files, self.pairs = _files(synthesizer)
        self._votes = {
            name: synthesizer.vote([row.get("text") for row in rows], [row.get("intent") for row in rows])
            for name, rows in self.files.items()
        }
        self._counts = {name: self._tally(name).counts for name in self.files}

    @classmethod
    def from_pretrained(cls, model_dir: str | None, *, epsilon: float, **options: Any) -> "NeighbouringFiles":
        """Load a synthesizer with few codewords and labels, so that a change of one count shows."""
        few: dict[str, Any] = {"label_set": LABEL_SET, "cells": CELLS, "accept_private_model": True}
        return cls(Synthesizer.from_pretrained(model_dir, epsilon=epsilon, **few, **options))

    @property
    def epsilon(self) -> float:
        return self.synthesizer.votes.epsilon

    def privatize(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Release the file of each of B names once; return the noisy counts (B, M) of M cells."""
        tallies = {name: self._tally(name) for name in dict.fromkeys(names)}
        return np.array([self.synthesizer.release(tallies[name]).ravel() for name in names], dtype=np.float64)

    def supports(self, counts: object, name: str) -> float:
        """Return the log-likelihood of released counts, given a file, in nats up to a constant."""
        distance = np.abs(np.ravel(np.asarray(counts)) - self._counts[name]).sum()
        return -float(distance) / self.synthesizer.votes.scale

    def _tally(self, name: str) -> Tally:
        tally = self.synthesizer.tally()
        tally.add(self._votes[name], [row.get("user") for row in self.files[name]])
        return tally


def _files(synthesizer: Synthesizer) -> tuple[dict[str, list[Record]], list[tuple[str, str]]]:
    places, most = synthesizer.cells.places, synthesizer.votes.votes_per_person
    first, second = (synthesizer.cells.texts[int((places == place).argmax())] for place in np.unique(places)[:2])
    one, other = synthesizer.labels[:2]

    def rows(text: str, label: str | None) -> list[Record]:
        return [{"text": text, "intent": label, "user": "x"}] * (most + EXCESS_ROWS)

    base: list[Record] = [{"text": first, "intent": one, "user": f"u{number}"} for number in range(BASE_ROWS)]
    files = {
        "others": base,
        "others, and a person among them": base + rows(first, one),
        "others, and a person apart": base + rows(second, other),
        "others, and a person without votes": base + rows(second, "no label of the set"),
        "nobody": [],
        "a person alone": rows(second, other),
    }
    if synthesizer.votes.neighbours == REPLACE:
        among, apart, outside = list(files)[1:4]
        return files, [(among, apart), (apart, outside)]
    return files, [*(("others", name) for name in list(files)[1:4]), ("nobody", "a person alone")]
