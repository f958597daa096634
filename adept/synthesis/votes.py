r"""Votes of records for cells: the cells, the vote of each record, and the count of the votes.

A *cell* is a pair of a codeword and a label. The *features* of a text are two vectors of norm 1 side by side: its
latent, and its vector from the sentence encoder (``adept.models.sentence_encoder``). *Codewords* are centres that
k-means finds for the features of public texts, each weighted by how common it is expected to be in the file. For many
codewords, k-means first divides the texts into groups. A record votes for its label and the codeword nearest to its
text.

*Cells depend on records only through the noisy number of all votes*. Public texts and weights depend only on the model
and on options, and k-means has a fixed seed. The number of codewords is an option, or computed from the noisy number
(``adept.mechanisms.central_counts``, two rounds).

*The vote of a record depends on this record alone*, as ``adept.mechanisms.central_counts`` requires. Each bit of a
latent depends on its text alone (``adept.models.lstm_autoencoder``), and so does each bit of the encoder's vector.
Rounding errors of a matrix product could depend on its number of rows. So features and codewords are whole numbers of
steps of 1 / GRID, held in floats. Every partial sum of their products stays below ``2 * GRID^2 < 2^53``, which floats
hold exactly in any order.

*Claim*: adding or removing all rows of one person changes the counts by at most m in l1 norm. *Proof*: the vote of a
row is a function of that row. The first m votes of each person are counted; from one row to the next, the program
remembers only how many of each person it has counted. So other people's votes are counted as before, and at most m of
this person's each add one to one count. QED. If no persons are given, each row counts as the row of a different person.
Checked proof: ``proofs/DrawProofs.v``, ``a_person_among_others_moves_m``.

A *person* is a value in the column that names persons, read as text (``plain_text``), normalised (NFKC), and stripped
of unseen letters and spaces: a function of the row alone. Persons are told apart by digests of 128 bits, which are
assumed to differ. A vote of a row that names no person is not counted; otherwise one person could have any number of
votes. The count never raises an error.
"""

import hashlib
import math
import unicodedata
from collections import Counter
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from adept.data.texts import UNSEEN_LETTERS, plain_text
from adept.mechanisms import policy
from adept.mechanisms.central_counts import Counts, Votes
from adept.models.codebooks import k_means
from adept.models.saved_model import Autoencoder
from adept.models.sentences.meanings import meanings_of
from adept.models.tokenizer import Tokenizer

GRID = 4096  # steps to a unit of features
MAX_COMPARISONS = 1 << 31  # of votes with codewords, if there are many codewords
MAX_CELLS = 1 << 24
MAX_KMEANS_PRODUCTS = 10**7  # texts times codewords; above, texts are first divided into KMEANS_GROUPS
KMEANS_GROUPS = 256
BATCH_TEXTS = 4096

Features = NDArray[np.float64]
Places = NDArray[np.int64]
NO_TEXT, OUTSIDE, NOBODY, EXCESS = -1, -2, -3, -4  # in the place of a vote: the reason why none is counted
UNCOUNTED = {
    NO_TEXT: "have no text (text_column= names its column)",
    OUTSIDE: "have a label outside label_set, or none (label_column= names its column)",
    NOBODY: "name no person",
    EXCESS: "exceed their person's bound",
}
DIGEST_BYTES = 16


@dataclass(frozen=True)
class WeightedTexts:
    """Public texts for synthetic records, chosen from public sentences before records are read."""

    texts: list[str]  # all different (n,)
    density: NDArray[np.float64]  # expected share of each sentence like the text among the records, up to a factor (n,)
    chances: NDArray[np.float64]  # probability with which each text was chosen from all sentences (n,)

    @classmethod
    def alike(cls, texts: Sequence[str]) -> "WeightedTexts":
        """Return the given texts as public texts that are expected to be equally common."""
        return cls(list(texts), np.ones(len(texts)), np.ones(len(texts)))

    @property
    def shares(self) -> NDArray[np.float64]:
        """Share (n,) of records expected to resemble each text, up to a common factor."""
        return self.density / self.chances


class PublicCells:
    """Public texts with features (n, d), and the codewords (K, d) that are chosen for them.

    ``places`` (n,) holds the index of the codeword nearest to each public text. A new object has no
    codewords; ``choose_codewords`` returns a copy with codewords.
    """

    def __init__(self, model: Autoencoder, tokenizer: Tokenizer, public: WeightedTexts) -> None:
        self._tokenizer, self._model = tokenizer, model
        self.public, self.texts = public, public.texts
        self.features = np.concatenate([self.of(part) for part in _batches(self.texts)])
        self.codewords, self.places = self.features[:0], np.empty(0, np.int64)

    def choose_codewords(self, size: int) -> "PublicCells":
        """Return a copy of this object that has ``size`` codewords, the same in every call."""
        chosen = copy(self)
        chosen.codewords = _centres(self.features, self.public.shares, size)
        chosen.places = chosen.nearest(self.features)
        return chosen

    @property
    def size(self) -> int:
        return len(self.codewords)

    def vote(self, texts: Sequence[str]) -> Places:
        """Return the index (N,) of the codeword nearest to each text, from this text alone."""
        return np.concatenate([np.empty(0, np.int64), *(self.nearest(self.of(part)) for part in _batches(texts))])

    def of(self, texts: Sequence[str]) -> Features:
        """Return the features (N, d) of N texts as whole numbers, in units of 1 / GRID."""
        rows = self._tokenizer.encode(texts, max_length=self._model.config.max_length)
        latents = self._model.encode_records(rows).cpu().to(torch.float64).numpy()
        both = np.hstack([_unit(latents), _unit(meanings_of(texts).astype(np.float64))])
        return np.rint(GRID * _unit(both))

    def nearest(self, features: Features) -> Places:
        """Return the index (N,) of the codeword nearest to each row of features (N, d)."""
        step = max(1, min(BATCH_TEXTS, (1 << 24) // self.size))
        parts = (features[start : start + step] for start in range(0, len(features), step))
        return np.concatenate([np.empty(0, np.int64), *((part @ self.codewords.T).argmax(axis=1) for part in parts)])


def _batches(texts: Sequence[str]) -> list[Sequence[str]]:
    return [texts[start : start + BATCH_TEXTS] for start in range(0, len(texts), BATCH_TEXTS)]


def largest_size(*, labels: int, texts: int, named: bool) -> int:
    """Return the largest number of codewords that the first round of votes can choose."""
    return max(
        1, min(texts if named else min(policy.MAX_CODEWORDS, texts // policy.TEXTS_PER_CODEWORD), MAX_CELLS // labels)
    )


def choose_size(number: int, votes: Votes, *, labels: int, most: int, named: bool) -> int:
    """Return the number of codewords, at most ``most``, for ``number`` votes (exact or noisy)."""
    # Standard deviation over the square root of 2: near the scale if that is large
    noise = math.sqrt(votes.decay) / (1 - votes.decay)
    votes_heard = max(number, 0) / math.pow(labels, policy.LABEL_POWER) / noise
    wanted = max(
        round(policy.CODEWORDS_PER_VOTE * (policy.NAMED_FACTOR if named else 1) * votes_heard), policy.MIN_CODEWORDS
    )
    return min(wanted, most, max(policy.MANY_CODEWORDS, MAX_COMPARISONS // max(number, 1)))


def _centres(features: Features, weights: NDArray[np.float64], size: int) -> Features:
    """Return ``size`` centres of weighted rows, from k-means of all rows or of groups of them."""
    rows, weights = (features / GRID).astype(np.float32), weights / weights.mean()
    fit = partial(k_means, n_init=1, max_iter=30, random_state=0)
    if size <= KMEANS_GROUPS or len(rows) * size <= MAX_KMEANS_PRODUCTS:
        centres = fit(rows, size, weights=weights).cluster_centers_
    else:
        groups = fit(rows, KMEANS_GROUPS, weights=weights).labels_
        seats = _seats(groups, weights, size)
        parts = ((rows[groups == group], weights[groups == group], seat) for group, seat in enumerate(seats) if seat)
        centres = np.concatenate(
            [own if seat == len(own) else fit(own, seat, weights=heavy).cluster_centers_ for own, heavy, seat in parts]
        )
    return np.rint(GRID * _unit(centres.astype(np.float64)))


def _seats(groups: NDArray[np.int32], weights: NDArray[np.float64], size: int) -> list[int]:
    """Divide ``size`` centres among groups of rows, by weight; no group has more centres than rows.

    By D'Hondt's rule, a group of weight w has the quotients w / 1, w / 2, ... for its rows, and each of the
    ``size`` largest quotients of all groups wins a centre.
    """
    order = np.argsort(groups, kind="stable")
    counts = np.bincount(groups)
    ranks = np.concatenate([np.arange(1, count + 1) for count in counts])
    quotients = np.bincount(groups, weights=weights)[groups[order]] / ranks
    chosen = order[np.argsort(-quotients, kind="stable")[:size]]
    seats: list[int] = np.bincount(groups[chosen], minlength=len(counts)).tolist()
    return seats


def _unit(rows: Features) -> Features:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9))


# --- The count


class Tally:
    """Counts (M,) of votes for M cells, at most m votes per person, and notes for the curator, which are no release."""

    def __init__(self, cells: int, *, votes_per_person: int = 1) -> None:
        self.counts: Counts = np.zeros(cells, dtype=np.int64)
        self.rows, self.uncounted, self.warnings = 0, Counter[int](), list[str]()
        self._most, self._had = votes_per_person, Counter[bytes]()

    def add(self, votes: Sequence[int], persons: Sequence[object] | None = None) -> None:
        """Add the votes of rows: cells, or reasons of UNCOUNTED. Without ``persons``, all votes are counted."""
        self.rows += len(votes)
        if persons is not None:
            votes = [self._vote_of(person, vote) for person, vote in zip(persons, votes, strict=True)]
        self.uncounted.update(vote for vote in votes if vote < 0)
        np.add.at(self.counts, np.array([vote for vote in votes if vote >= 0], dtype=np.int64), 1)

    @property
    def lines(self) -> list[str]:
        """Lines for the curator alone, first of all how many rows are counted, and why the others are not."""
        missing = "; ".join(f"{self.uncounted[why]} {what}" for why, what in UNCOUNTED.items() if self.uncounted[why])
        return [f"{self.rows} rows read, {int(self.counts.sum())} counted{missing and ': '}{missing}", *self.warnings]

    def _vote_of(self, person: object, vote: int) -> int:
        """Return a vote, or the reason why it is not counted; remember the votes of persons."""
        if vote < 0 or (name := person_name(person)) is None:
            return vote if vote < 0 else NOBODY
        digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).digest()
        if self._had[digest] >= self._most:
            return EXCESS
        self._had[digest] += 1
        return vote


def person_name(person: object) -> str | None:
    """Return a person's normalised name; None if ``person`` is neither text nor a whole number."""
    name = None if isinstance(person, bool | np.bool_) else plain_text(person)
    # Compatible letters can spell "1.0" too, so the rule is applied after they are normalised.
    return plain_text(UNSEEN_LETTERS.sub("", unicodedata.normalize("NFKC", name))) if name else None
