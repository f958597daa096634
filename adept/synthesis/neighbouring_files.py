"""Small files that differ in one person, on which ``adept.audit.run`` audits a synthesizer."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adept.data.formats import Record
from adept.mechanisms.central_counts import REPLACE
from adept.synthesis.synthesizer import Synthesizer
from adept.synthesis.votes import Tally

LABEL_SET, MOST_CODEWORDS = ("one", "other"), 8  # few, so that a difference in one of them shows
BASE_ROWS, EXCESS_ROWS = 3, 5  # rows of other people; a person's rows beyond those that are counted


class NeighbouringFiles:
    """A wrapper with which the audit treats a synthesizer as a mechanism on a few small files.

    The audit passes the name of a file to the wrapper, and the wrapper releases noisy counts of
    this file's records. ``files`` maps the name of each file to its records. Each of ``pairs``
    names two neighbouring files, which differ in the rows of one person. The synthesizer must have
    at least two labels, and must choose at least two codewords.
    """

    name, delta = "synthesizer", 0.0

    def __init__(self, synthesizer: Synthesizer) -> None:
        self.synthesizer = synthesizer
        self.files, self.pairs = _files(self._choose(0))
        self._votes: dict[tuple[int, str], list[int]] = {}

    @classmethod
    def from_pretrained(cls, model_dir: str | None, *, epsilon: float, **options: Any) -> "NeighbouringFiles":
        """Load a model, and return a wrapper whose synthesizer has few labels and few codewords."""
        few: dict[str, Any] = {"label_set": LABEL_SET, "accept_private_model": True}
        synthesizer = Synthesizer.from_pretrained(model_dir, epsilon=epsilon, **few, **options)
        synthesizer.largest_size = min(synthesizer.largest_size, MOST_CODEWORDS)
        return cls(synthesizer)

    @property
    def epsilon(self) -> float:
        return self.synthesizer.votes.epsilon

    def privatize(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Release each named file once: rows (B, M) of noisy counts, after the noisy number of votes, filled with zeros."""
        releases = [self._release(name) for name in names]
        width = max(map(len, releases), default=0)
        if not self.synthesizer.has_codewords:
            width = 1 + self.synthesizer.largest_size * len(self.synthesizer.labels)
        return np.array([release + [0] * (width - len(release)) for release in releases], dtype=np.float64)

    def supports(self, released: object, name: str) -> float:
        """Return the log-likelihood (nats) of the named file given a release, up to a constant."""
        shown, votes = np.ravel(np.asarray(released)), self.synthesizer.votes
        if self.synthesizer.has_codewords:
            return -self._distance(self.synthesizer, shown, name) / votes.scale
        writer = self._choose(int(shown[0]))
        first = self._distance(self.synthesizer, shown[:1], name) / votes.number_scale
        return (
            -first - self._distance(writer, shown[1 : 1 + writer.cells.size * len(writer.labels)], name) / votes.scale
        )

    def _release(self, name: str) -> list[int]:
        if self.synthesizer.has_codewords:
            return list(self.synthesizer.release(self._tally(self.synthesizer, name)).ravel())
        number = self.synthesizer.release_number(self._tally(self.synthesizer, name))
        writer = self._choose(number)
        return [number, *writer.release(self._tally(writer, name)).ravel()]

    def _choose(self, number: int) -> Synthesizer:
        return self.synthesizer if self.synthesizer.has_codewords else self.synthesizer.choose_codewords(number)

    def _distance(self, writer: Synthesizer, counts: NDArray[np.float64], name: str) -> float:
        return float(np.abs(counts - self._tally(writer, name).counts).sum())

    def _tally(self, writer: Synthesizer, name: str) -> Tally:
        rows, known = self.files[name], (writer.cells.size, name)
        if known not in self._votes:
            self._votes[known] = writer.vote([row.get("text") for row in rows], [row.get("intent") for row in rows])
        tally = writer.tally()
        tally.add(self._votes[known], [row.get("user") for row in rows])
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
