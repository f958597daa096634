"""Synthetic records for a whole collection of records, written from noisy counts.

Every record votes for a *cell*, a pair of a codeword and a label (``adept.synthesis.votes``).
Exact noise is added to the number of votes for each cell. The noisy counts determine how often each
public text is written, and with which label. If no option gives the number of codewords, there is a
first round of votes, in which all records vote for the same cell. The noisy number of these votes
decides how many codewords there are. Claim: ``adept.mechanisms.central_counts``.
"""

import logging
import math
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adept.data.formats import Record
from adept.data.texts import label_set_of, plain_text, text_list, value_list
from adept.errors import ModelError, check_integer, refuse
from adept.mechanisms.central_counts import ADD_OR_REMOVE, REPLACE, Counts, Votes
from adept.mechanisms.guarantee import Guarantee
from adept.mechanisms.policy import MANY_ROWS, ROWS_PER_RECORD
from adept.models.decoding import Pair
from adept.models.saved_model import Autoencoder
from adept.models.tokenizer import Tokenizer
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import check_release, set_unless_fixed
from adept.synthesis.labels import Estimate, Scores, choose_texts, estimate, score_labels, spell_label_set
from adept.synthesis.votes import (
    MAX_CELLS,
    NO_TEXT,
    OUTSIDE,
    PublicCells,
    Tally,
    WeightedTexts,
    choose_size,
    largest_size,
)
from adept.torch_defaults import usual_torch

MAX_ROWS = 10**8


class Synthesizer:
    """A generator of synthetic records, which are written from the noisy counts of a collection.

    Args:
        model, tokenizer: a model and the tokenizer that was saved with the model.
        votes: the budget, the neighbouring relation, and the largest number of votes of a person.
        label_set: two or more public labels. If ``label_set`` is empty, synthetic records have no
            labels. Labels that were collected from private records are not public.
        cells: the number K of codewords; if None, a first round of votes decides this number
            (``adept.synthesis.votes.choose_size``).
        texts: public texts from which the texts of synthetic records are chosen; if None, these
            public texts come from the model.
        accept_private_model: True to use a model even if its training text is not declared public.

    Raises:
        ModelError: there are no public texts.
        ConfigurationError: the label set is not valid, or ``cells`` is too large.
        ReleaseRefused: the model's training text is not declared public, and
            ``accept_private_model`` is False.
    """

    @usual_torch()
    def __init__(
        self,
        model: Autoencoder,
        tokenizer: Tokenizer,
        *,
        votes: Votes,
        label_set: Sequence[str] = (),
        cells: int | None = None,
        texts: Sequence[str] | None = None,
        accept_private_model: bool = False,
    ) -> None:
        self.model, self.tokenizer = model.eval(), tokenizer
        self.votes = replace(votes, rounds=1 if cells else 2)
        check_release(self.guarantee, model.training_data, accept_private_model=accept_private_model)
        named = label_set_of(label_set)
        self.labels: tuple[str | None, ...] = named or (None,)
        refuse(
            (len(named) == 1, "label_set must hold at least two labels, got one: add the others, or leave labels out")
        )
        self._spelled = spell_label_set(model.sentences if texts is None else None, self.labels)
        public = self._choose_texts(texts)
        largest = max(1, min(len(public.texts), MAX_CELLS // len(self.labels)))
        check_integer(1, largest, cells=cells or largest)
        self._named = any(self._spelled)
        self.largest_size = largest_size(labels=len(self.labels), texts=len(public.texts), named=self._named)
        self.cells = PublicCells(model, tokenizer, public)
        if cells:
            self.cells = self.cells.choose_codewords(cells)
        self._chosen: dict[int, PublicCells] = {}
        self._places = {label: place for place, label in enumerate(self.labels)}

    __setattr__ = set_unless_fixed

    def _choose_texts(self, texts: Sequence[str] | None) -> WeightedTexts:
        if self.model.sentences and any(self._spelled):
            return choose_texts(self.model.sentences, self._spelled)
        written = list(dict.fromkeys(self.model.public_texts if texts is None else text_list(texts)))
        if not written:
            raise ModelError("the model holds no public texts to write: train one on public text, or give texts=")
        return WeightedTexts.alike(written)

    @classmethod
    def from_pretrained(
        cls,
        model: str | Path | None = None,
        *,
        epsilon: float = 1.0,
        neighbours: str = ADD_OR_REMOVE,
        max_records_per_person: int = 1,
        **options: Any,
    ) -> "Synthesizer":
        """Load a model and return a synthesizer; by default, load the model that comes with adept.

        The budget ``epsilon``, in nats, covers all rows of a person or, if no persons are given, one record.
        ``neighbours`` is "add_or_remove" or "replace". ``options`` are keyword arguments of the constructor.
        """
        votes = Votes(epsilon=epsilon, neighbours=neighbours, votes_per_person=max_records_per_person)
        return cls(*load_model(model), votes=votes, **options)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of a release for each person or, if no persons are given, each record."""
        return self.votes.guarantee()

    @property
    def neighbours(self) -> str:
        return self.votes.neighbours

    @property
    def has_codewords(self) -> bool:
        """True if codewords are chosen; False if the first round must still decide their number."""
        return self.cells.size > 0

    @usual_torch()
    def synthesize(self, texts: Any, labels: Any = None, persons: Any = None, *, rows: int | None = None) -> list[Pair]:
        """Release the noisy counts of a collection once, and write synthetic records from them.

        If ``persons`` is None, each record counts as the record of a different person. If ``rows``
        is None, the noisy counts determine the number of synthetic records.

        Raises:
            DataError: an argument is not a list, a text is not a string, or the lists differ in length.
            ConfigurationError: labels are given without a label set, or a label set without labels.
        """
        given = text_list(texts)
        beside = None if labels is None else value_list(labels, len(given), "labels")
        people = None if persons is None else value_list(persons, len(given), "persons")
        writer = self
        if not self.has_codewords:
            writer = self.choose_codewords(self.release_number(self._count(given, beside, people)))
        tally = writer._count(given, beside, people)
        if tally.uncounted:
            logging.getLogger("adept").warning(f"not part of the release: {tally.lines[0]}")
        return list(writer.write(writer.release(tally), rows=rows))

    def _count(self, texts: Sequence[object], labels: Any, persons: Any) -> Tally:
        tally = self.tally()
        tally.add(self.vote(texts, labels), persons)
        return tally

    def tally(self) -> Tally:
        size = self.cells.size * len(self.labels) if self.has_codewords else 1
        return Tally(size, votes_per_person=self.votes.votes_per_person)

    def vote(self, texts: Sequence[object], labels: Sequence[object] | None = None) -> list[int]:
        """Return, for each record, the index of the cell for which the record votes.

        For L labels, the index is ``L * codeword + label``, and 0 before codewords are chosen. NO_TEXT or OUTSIDE
        stands for a record without a readable text or with a label outside the label set.
        """
        refuse(((labels is None) != (self.labels == (None,)), "labels must be given with a label set, and only then"))
        beside = [None] * len(texts) if labels is None else [plain_text(label) for label in labels]
        votes = [
            NO_TEXT if not isinstance(text, str) else 0 if label in self._places else OUTSIDE
            for text, label in zip(texts, beside, strict=True)
        ]
        if not self.has_codewords:
            return votes
        able = [row for row, reason in enumerate(votes) if not reason]
        for row, codeword in zip(able, self._codewords([str(texts[row]) for row in able]), strict=True):
            votes[row] = NO_TEXT if codeword < 0 else codeword * len(self.labels) + self._places[beside[row]]
        return votes

    def _codewords(self, texts: list[str]) -> list[int]:
        try:
            return list(map(int, self.cells.vote(texts)))
        except Exception:  # noqa: BLE001 - whatever it is, it must not be seen
            return [NO_TEXT] if len(texts) < 2 else [place for text in texts for place in self._codewords([text])]

    def release_number(self, tally: Tally) -> int:
        """Return the noisy number of all votes; each call spends the budget of the first round."""
        return self.votes.privatize_number(int(tally.counts.sum()))

    def choose_codewords(self, number: int) -> "Synthesizer":
        """Return a copy with codewords; the noisy ``number`` of all votes decides how many."""
        size = choose_size(number, self.votes, labels=len(self.labels), most=self.largest_size, named=self._named)
        if size not in self._chosen:
            self._chosen[size] = self.cells.choose_codewords(size)
        chosen = copy(self)
        chosen.cells = self._chosen[size]
        return chosen

    def release(self, tally: Tally) -> Counts:
        """Return noisy counts (K, L) of all cells; each call spends the budget of the counts."""
        refuse((not self.has_codewords, "codewords must be chosen before counts are released: call choose_codewords"))
        return self.votes.privatize(tally.counts).reshape(self.cells.size, len(self.labels))

    def stands_out(self, released: Counts) -> bool:
        """Return True if noise alone hardly ever reaches the largest of the released counts."""
        return bool(released.max() >= least_standing_out(self.votes, released.size))

    @cached_property
    def scores(self) -> Scores:
        """The log odds of the labels of each public text (``score_labels``)."""
        return score_labels(self.cells, self._spelled)

    def write(self, released: Counts, *, rows: int | None = None) -> Iterator[Pair]:
        """Return ``rows`` synthetic records from noisy counts (K, L) alone; None stands for ``choose_rows``."""
        if rows is not None:
            check_integer(0, MAX_ROWS, rows=rows)
        found = estimate(released, self.cells, self.scores, decay=self.votes.decay)
        count = choose_rows(found.total, labelled=len(self.labels) > 1) if rows is None else rows
        texts, labels = self.cells.texts, self.labels
        return ((texts[place], labels[found.labels[place]]) for place in _apportion(found, self.cells.places, count))


def choose_rows(total: float, *, labelled: bool) -> int:
    """Return the default number of synthetic records, given their noisy number ``total``.

    Reason: ``docs/decisions.md``, "More rows than records".
    """
    more = min(round(ROWS_PER_RECORD * total), MANY_ROWS) if labelled else 0
    return min(max(round(total), more), MAX_ROWS)


def least_standing_out(votes: Votes, cells: int) -> int:
    """Return the smallest count that noise alone hardly ever reaches in any of M = ``cells`` cells.

    The noise of a cell is x with a probability proportional to ``a^|x|``, a = ``votes.decay``. So one of them reaches a
    count T with a probability of at most ``M * a^T / (1 + a)``, which is at most 0.05 for the result.
    """
    return max(1, math.ceil(math.log(0.05 * (1 + votes.decay) / cells) / math.log(votes.decay)))


def share_standing_out(votes: Votes, rows: int, *, texts: int, labels: int, named: bool = False) -> float | None:
    """Return the smallest share of a file's rows that a cell needs to stand out from noise; None if none suffices.

    ``named`` is True if at least one label's name has a word with a meaning.
    """
    votes, most = replace(votes, rounds=2), largest_size(labels=labels, texts=texts, named=named)
    least = least_standing_out(votes, choose_size(rows, votes, labels=labels, most=most, named=named) * labels)
    return None if least > rows else least / rows


def _apportion(found: Estimate, places: NDArray[np.int64], rows: int) -> Iterator[int]:
    order = np.lexsort((found.labels, places))
    weights = found.weights[order] if found.weights.sum() > 0 else np.ones(len(order))
    ends = np.floor(np.cumsum(weights) * (rows / weights.sum()) + 0.5).astype(np.int64)
    ends[-1] = rows
    chosen = np.repeat(order, np.diff(np.minimum(ends, rows), prepend=0))
    yield from chosen[np.random.default_rng(0).permutation(len(chosen))].tolist()


# --- Small files that differ in one person, on which ``adept.audit.run`` audits a synthesizer


class NeighbouringFiles:
    """A wrapper with which the audit treats a synthesizer as a mechanism on a few small files.

    The audit passes the name of a file to the wrapper, and the wrapper releases noisy counts of this file's records.
    ``files`` maps the name of each file to its records. Each of ``pairs`` names two neighbouring files, which differ in
    the rows of one person. The synthesizer must have at least two labels, and must choose at least two codewords.
    """

    name, delta = "synthesizer", 0.0

    def __init__(self, synthesizer: Synthesizer) -> None:
        self.synthesizer = synthesizer
        self.files, self.pairs = _files(self._choose(0))
        self._counts: dict[tuple[int, str], Counts] = {}

    @classmethod
    def from_pretrained(cls, model_dir: str | None, *, epsilon: float, **options: Any) -> "NeighbouringFiles":
        """Load a model, and return a wrapper whose synthesizer has few labels and few codewords."""
        few: dict[str, Any] = {"label_set": ("one", "other"), "accept_private_model": True}
        synthesizer = Synthesizer.from_pretrained(model_dir, epsilon=epsilon, **few, **options)
        synthesizer.largest_size = min(synthesizer.largest_size, 8)
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
        known, tally = (writer.cells.size, name), writer.tally()
        if known not in self._counts:
            texts, labels, persons = ([row.get(key) for row in self.files[name]] for key in ("text", "intent", "user"))
            tally.add(writer.vote(texts, labels), persons)
            self._counts[known] = tally.counts.copy()  # a broken synthesizer may change the tally
        tally.counts[:] = self._counts[known]
        return tally


def _files(synthesizer: Synthesizer) -> tuple[dict[str, list[Record]], list[tuple[str, str]]]:
    places, most = synthesizer.cells.places, synthesizer.votes.votes_per_person
    first, second = (synthesizer.cells.texts[int((places == place).argmax())] for place in np.unique(places)[:2])
    one, other = synthesizer.labels[:2]

    def rows(text: str, label: str | None) -> list[Record]:
        return [{"text": text, "intent": label, "user": "x"}] * (most + 5)  # more rows than are counted

    base: list[Record] = [{"text": first, "intent": one, "user": f"u{number}"} for number in range(3)]
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
