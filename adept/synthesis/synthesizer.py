"""Synthetic text from the counts of a whole collection, if nobody needs its rows one by one.

A *cell* is a pair of a codeword (the centre of a group of public texts) and a label. Every record
votes once, for the cell of its text and its label. The program adds noise, in exact arithmetic, to
the number of votes for each cell. Synthetic records are public texts and labels; the noisy counts
determine how often each of them occurs. Claim and proof: ``adept.mechanisms.central_counts``.
"""

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adept.data.labels import label_set_of
from adept.data.text_arguments import plain_text, text_list, value_list
from adept.errors import ConfigurationError, ModelError
from adept.mechanisms.central_counts import ADD_OR_REMOVE, Counts, Votes
from adept.mechanisms.guarantee import Guarantee
from adept.models.saved_model import Autoencoder
from adept.models.tokenizer import Tokenizer
from adept.ranges import check_integer
from adept.rewriting.encode_release_write import Pair
from adept.rewriting.loading import check_release, load_model
from adept.synthesis.draw_by_label_names import choose_texts, score_labels, spell_label_set
from adept.synthesis.label_estimate import Estimate, estimate
from adept.synthesis.vote_cells import MAX_CELLS, PublicCells, PublicTexts, WritableTexts, default_size
from adept.synthesis.vote_counting import NO_TEXT, OUTSIDE, Tally

MAX_ROWS = 10**8
FALSE_ALARM = 0.05  # probability that noise alone makes a cell stand out


class Synthesizer:
    """A writer of synthetic records for a collection of records, with one model and one budget.

    Args:
        model, tokenizer: a model and its tokenizer, saved together; the encoder finds a text's
            codeword.
        votes: the budget, the neighbouring relation, and the largest number of votes of a person.
        label_set: two or more public labels; if it is empty, synthetic records have no labels. A
            label set collected from private records would leak information.
        cells: the number K of codewords; by default ``adept.synthesis.vote_cells.default_size``.
        texts: public texts that synthetic records can have; by default those of the model.
        accept_private_model: True to go on even if the model was trained on text that was not
            declared public.

    Raises:
        ModelError: there are no public texts.
        ConfigurationError: the label set is not valid, or ``cells`` is larger than the number of
            public texts or than memory allows.
        ReleaseRefused: the model was trained on private text, and ``accept_private_model`` is
            False.
    """

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
        self.model, self.tokenizer, self.votes = model.eval(), tokenizer, votes
        check_release(self.guarantee, model.training_data, accept_private_model=accept_private_model)
        self.labels: tuple[str | None, ...] = label_set_of(label_set) if label_set else (None,)
        if label_set and len(self.labels) < 2:
            raise ConfigurationError(
                "label_set must hold at least two labels, got one: add the others, or leave labels out"
            )
        self._spelled = spell_label_set(model.codec if texts is None else None, self.labels)
        public = self._choose_texts(texts)
        size = cells or default_size(
            epsilon=votes.epsilon,
            sensitivity=votes.sensitivity,
            labels=len(self.labels),
            texts=len(public.texts),
            named=any(self._spelled),
        )
        check_integer(1, max(1, min(len(public.texts), MAX_CELLS // len(self.labels))), cells=size)
        self.cells = PublicCells(model, tokenizer, public, size=size)
        self._places = {label: place for place, label in enumerate(self.labels)}

    def _choose_texts(self, texts: Sequence[str] | None) -> PublicTexts:
        """Return the public texts that synthetic records can have.

        They are the given texts or, without any, the model's texts and sentences near to labels'
        names.
        """
        if self.model.codec and any(self._spelled):
            return choose_texts(self.model.codec, self._spelled)
        written = list(dict.fromkeys(self.model.public_texts if texts is None else text_list(texts)))
        if not written:
            raise ModelError("the model holds no public texts to write: train one on public text, or give texts=")
        return PublicTexts.alike(written)

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
        """Return a synthesizer with a saved model; by default the model of this package.

        The budget ``epsilon``, in nats, covers all rows of a person or, if no persons are given,
        one record. ``neighbours`` is "add_or_remove" or "replace"
        (``adept.mechanisms.central_counts``). The ``options`` are passed to the constructor.
        """
        votes = Votes(epsilon=epsilon, neighbours=neighbours, votes_per_person=max_records_per_person)
        return cls(*load_model(model), votes=votes, **options)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of a release for a person, or for a record if there are no persons."""
        return self.votes.guarantee()

    @property
    def neighbours(self) -> str:
        return self.votes.neighbours

    @property
    def least_standing_out(self) -> int:
        """The smallest count that noise alone would hardly reach in any cell."""
        return least_standing_out(self.votes, self.cells.size * len(self.labels))

    @property
    def _decay(self) -> float:
        return math.exp(-1 / self.votes.scale)

    def synthesize(self, texts: Any, labels: Any = None, persons: Any = None, *, rows: int | None = None) -> list[Pair]:
        """Release a collection's counts once, and write synthetic records from them.

        If ``persons`` is missing, each record counts as the record of a different person. If
        ``rows`` is missing, the noisy counts determine the number of synthetic records.

        Raises:
            DataError: an argument is not a list, a text is not a string, or the lengths differ.
            ConfigurationError: labels are given without a label set, or missing with one.
        """
        given = text_list(texts)
        beside = None if labels is None else value_list(labels, len(given), "labels")
        people = None if persons is None else value_list(persons, len(given), "persons")
        tally = self.tally()
        tally.add(self.vote(given, beside), people)
        return list(self.write(self.release(tally), rows=rows))

    def tally(self) -> Tally:
        return Tally(self.cells.size * len(self.labels), votes_per_person=self.votes.votes_per_person)

    def vote(self, texts: Sequence[object], labels: Sequence[object] | None = None) -> list[int]:
        """Return the number of each record's cell: ``L * codeword + label``, for L labels.

        For a record without a cell, the number is negative and states the reason: NO_TEXT or
        OUTSIDE.
        """
        if (labels is None) != (self.labels == (None,)):
            raise ConfigurationError("labels must be given with a label set, and only then")
        beside = [None] * len(texts) if labels is None else [plain_text(label) for label in labels]
        votes = [
            NO_TEXT if not isinstance(text, str) else 0 if label in self._places else OUTSIDE
            for text, label in zip(texts, beside, strict=True)
        ]
        able = [row for row, reason in enumerate(votes) if not reason]
        for row, codeword in zip(able, self._codewords([str(texts[row]) for row in able]), strict=True):
            votes[row] = NO_TEXT if codeword < 0 else codeword * len(self.labels) + self._places[beside[row]]
        return votes

    def _codewords(self, texts: list[str]) -> list[int]:
        try:
            return list(map(int, self.cells.vote(texts)))
        except Exception:  # noqa: BLE001 - whatever it is, it must not be seen
            return [NO_TEXT] if len(texts) < 2 else [place for text in texts for place in self._codewords([text])]

    def release(self, tally: Tally) -> Counts:
        """Return noisy counts (K, L): exact noise is added to the count of every cell.

        Each call spends the whole budget.
        """
        return self.votes.privatize(tally.counts).reshape(self.cells.size, len(self.labels))

    def stands_out(self, released: Counts) -> bool:
        """Return True if some count is so large that noise alone would hardly have produced it."""
        return bool(released.max() >= self.least_standing_out)

    @cached_property
    def writable(self) -> WritableTexts:
        """The public texts with their codewords, and scores of labels by their names."""
        return self.cells.writable(score_labels(self.cells, self._spelled))

    def write(self, released: Counts, *, rows: int | None = None) -> Iterator[Pair]:
        """Yield synthetic records from noisy counts (K, L): post-processing, which costs no budget.

        The same counts always give the same records.
        """
        if rows is not None:
            check_integer(0, MAX_ROWS, rows=rows)
        found = estimate(released, self.writable, decay=self._decay)
        count = min(round(found.total), MAX_ROWS) if rows is None else rows
        texts, labels = self.cells.texts, self.labels
        return ((texts[place], labels[found.labels[place]]) for place in _apportion(found, self.writable.places, count))


def least_standing_out(votes: Votes, cells: int) -> int:
    """Return the smallest count that noise alone hardly ever reaches in any cell.

    For M ``cells``, noise reaches a count T in some cell with a probability of at most ``M * a^T /
    (1 + a)``, where P(x) of the noise is proportional to ``a^|x|``. The result is the smallest T
    for which this bound is at most FALSE_ALARM.
    """
    decay = math.exp(-1 / votes.scale)
    return max(1, math.ceil(math.log(FALSE_ALARM * (1 + decay) / cells) / math.log(decay)))


def share_standing_out(votes: Votes, rows: int, *, texts: int, labels: int, named: bool = False) -> float | None:
    """Return the smallest share of all rows with which a cell stands out of the noise.

    A cell stands out if noise alone would hardly reach its count (``least_standing_out``). The
    result is None if no cell of a file of ``rows`` rows can stand out. The number of cells depends
    on the number of public ``texts`` and of ``labels``, and on whether labels are ``named`` in
    words.
    """
    size = default_size(epsilon=votes.epsilon, sensitivity=votes.sensitivity, labels=labels, texts=texts, named=named)
    least = least_standing_out(votes, size * labels)
    return None if least > rows else least / rows


def _apportion(found: Estimate, places: NDArray[np.int64], rows: int) -> Iterator[int]:
    """Yield the index of the text of each synthetic record, in a public order.

    Texts occur in proportion to their weights. These numbers of records are rounded so that the
    total of a codeword's texts is wrong by at most one record.
    """
    order = np.lexsort((found.labels, places))
    weights = found.weights[order] if found.weights.sum() > 0 else np.ones(len(order))
    ends = np.floor(np.cumsum(weights) * (rows / weights.sum()) + 0.5).astype(np.int64)
    ends[-1] = rows
    chosen = np.repeat(order, np.diff(np.minimum(ends, rows), prepend=0))
    yield from chosen[np.random.default_rng(0).permutation(len(chosen))].tolist()
