r"""Subset selection: a release is an index into a public list, and a few indices are likelier.

A public list has K entries: codewords, sentences, the sentences about one label, labels, or pairs of
these. Every record x has a set S_x of exactly t indices, its *heavy* indices. Integers A >= B are the
*weights*, with A <= e^eps B. The mechanism releases one index for each record: each index in S_x with
probability A / W, and each other index with probability B / W, where W = t A + (K - t) B.

*Claim*: the release is pure eps-LDP, exactly, for any two records, and so is everything that is
written from the released index.

*Proof*: the program verifies in integers that S_x holds exactly t different indices below K, so W is the same for every
x. So any index has probability A / W or B / W under any record, and these probabilities differ by a factor of at most A
/ B <= e^eps. What is written from the index is post-processing. QED. The proof uses no norm and no sensitivity. The
bound is attained if an index is heavy for one record and not for another.

*What the proof needs.* The list, K, t and the weights are fixed without private data. S_x depends on x alone; an error
of the search for S_x makes the release less useful, never less private. The random bits are independent of S_x.

*Labels that are copied.* If the output copies the label c of a record, the list may depend on c. For
two records with the same label the list is the same, and so are K, t, A and B, so the claim holds for
these two. Nothing is claimed for records with different labels.

*Pairs.* If the list holds K' L pairs of an entry and one of L labels, and the heavy pairs of a record are its t heavy
entries with its own label, the claim covers text and label together. The total weight of the L pairs with one entry is
A + (L - 1) B or L B, and the total weight of the K' pairs with one label is t A + (K' - t) B or K' B. So the epsilon of
the entry alone is ln((A + (L - 1) B) / (L B)), and the epsilon of the label alone is ln((t A + (K' - t) B) / (K' B)).

*Names.* t = 1 is k-ary randomised response (Warner 1965; Kairouz et al. 2016). The general case is
subset selection (Ye and Barg 2018, "Optimal schemes for discrete distribution estimation under locally
differential privacy"). For K -> infinity and t / K = q over random unit vectors, it becomes PrivUnit
with a cap of probability q (``adept.mechanisms.privunit``).

Checked proof: ``proofs/Symbols.v``, ``descriptions_are_private``, ``same_label_is_private``,
``joint_response_is_private``, ``text_alone_is_private``, ``label_alone_is_private``;
``proofs/DrawProofs.v``, ``symbols_have_their_weights``, ``pairs_have_their_weights``.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from adept.errors import BUDGETS, ConfigurationError, check_between, check_integer, printable, refuse
from adept.mechanisms import policy
from adept.mechanisms.base import LocalRandomizer
from adept.mechanisms.guarantee import ANY_TWO_RECORDS, TEXT, TEXT_BY_LABEL, Guarantee, Part, often, symbols_part, words
from adept.mechanisms.random_draws import exact_odds, exact_ranks, fresh_index

MAX_SIZE = 2**62  # indices are int64
MAX_WEIGHTS = 2**22  # weights of choices that are in memory at once


@dataclass(frozen=True, kw_only=True)
class Selection:
    """A pure eps-LDP release of one index of a public list, in exact arithmetic.

    Attributes:
        epsilon: the budget in nats, at most 600; a Fraction where several draws share a budget exactly.
        size: the number K of indices, from 2 to 2^62.
        heavy_count: the number t of heavy indices of every record, from 1 to K - 1.
        weights: the integer weights (A, B), if they are not the largest that epsilon allows.
    """

    epsilon: float | Fraction
    size: int
    heavy_count: int = 1
    weights: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        check_between(
            0, BUDGETS[1], epsilon=float(self.epsilon) if isinstance(self.epsilon, Fraction) else self.epsilon
        )
        check_integer(2, MAX_SIZE, size=self.size)
        check_integer(1, self.size - 1, heavy_count=self.heavy_count)
        refuse(
            (
                self.weights and not self._within_budget(*self.weights),
                f"weights must be integers A >= B > 0 with A <= e^epsilon B, got {self.weights}",
            )
        )

    def _within_budget(self, heavy: int, light: int) -> bool:
        most, unit = exact_odds(Fraction(self.epsilon))
        return 0 < light <= heavy and heavy * unit <= most * light

    @property
    def odds(self) -> tuple[int, int]:
        """The integer weights (A, B) of a heavy index and of any other index."""
        return self.weights or exact_odds(Fraction(self.epsilon))

    @property
    def total(self) -> int:
        """The sum W of the weights of all indices."""
        heavy, light = self.odds
        return self.heavy_count * heavy + (self.size - self.heavy_count) * light

    @property
    def heavy_probability(self) -> Fraction:
        """The exact probability t A / W that one of the record's heavy indices is released."""
        return Fraction(self.heavy_count * self.odds[0], self.total)

    @property
    def enough_epsilon(self) -> int:
        """The whole epsilon above which a larger one hardly changes what is released, if one index is heavy.

        It is released with probability e^eps / (e^eps + K - 1), which is p = ``policy.SURE_SHARE`` or more if and only
        if eps is at least ln(p (K - 1) / (1 - p)).
        """
        return math.ceil(math.log(policy.SURE_SHARE * (self.size - 1) / (1 - policy.SURE_SHARE)))

    def draw(self, heavy: Any) -> Tensor:
        """Release one index (B,) for each record, drawn exactly from the operating system's entropy.

        ``heavy`` (B, t) holds the t different heavy indices of each record, in any order, as an int64 tensor or a list.
        Raise ConfigurationError if it holds anything else; the message tells the number of the record, not its indices.
        """
        near = self.check(heavy)
        ranks = exact_ranks(len(near), near=self.heavy_count, far=self.size - self.heavy_count, odds=self.odds)
        return self.place(near, torch.tensor(ranks, dtype=torch.int64, device=near.device))

    def simulate(self, heavy: Any, generator: torch.Generator | None) -> Tensor:
        """Simulate ``draw`` with a seeded generator, without privacy."""
        near = self.check(heavy)
        draws = torch.rand(2, len(near), dtype=torch.float64, device=near.device, generator=generator)
        inside = (draws[1] * self.heavy_count).long()
        outside = self.heavy_count + (draws[1] * (self.size - self.heavy_count)).long()
        return self.place(near, torch.where(draws[0] < float(self.heavy_probability), inside, outside))

    def check(self, heavy: Any) -> Tensor:
        """Return heavy indices (B, t) in ascending order; refuse anything but t different indices."""
        near = _integers(heavy, self).sort(dim=1).values
        wrong = (near[:, 0] < 0) | (near[:, -1] >= self.size) | (near.diff(dim=1) <= 0).any(dim=1)
        if bool(wrong.any()):
            raise _refusal(int(wrong.nonzero()[0]) + 1, self)
        return near

    def place(self, near: Tensor, ranks: Tensor) -> Tensor:
        """Return the index (B,) at the given rank for each record.

        ``near`` (B, t) holds ascending heavy indices, which have the ranks 0 to t - 1. The other
        indices have the ranks t to K - 1, in ascending order. So for every record each of the K
        indices has exactly one rank. Both are computed for every record, so that time does not tell
        which of them is released.
        """
        inside = near.gather(1, ranks.clamp(max=self.heavy_count - 1)[:, None])[:, 0]
        # The j-th index outside S_x is j plus the number of members of S_x that precede it.
        before = near - torch.arange(self.heavy_count, device=near.device)
        places = ranks - self.heavy_count
        outside = places + torch.searchsorted(before, places[:, None], right=True)[:, 0]
        return torch.where(ranks < self.heavy_count, inside, outside)

    def distribution(self, heavy: Iterable[int]) -> dict[int, Fraction]:
        """Return the probability of every index for a record with these heavy indices."""
        (large, small), total = self.odds, self.total
        return dict.fromkeys(range(self.size), Fraction(small, total)) | dict.fromkeys(heavy, Fraction(large, total))

    def certificate(self, of: str, *, labels: int | None = None) -> list[Part]:
        """Return the certificate: one part, for the only draw (``guarantee.symbols_part``)."""
        spent = Fraction(self.epsilon)
        return [symbols_part(of, epsilon=spent, size=self.size, top=self.heavy_count, odds=self.odds, labels=labels)]

    def guarantee(self, text: str | None = None, *, neighbours: str = ANY_TWO_RECORDS) -> Guarantee:
        """Return the guarantee of one release; ``text`` states it in the words of a preset."""
        said = f"The released index is {words(float(self.epsilon))}-LDP (pure) for {neighbours}."
        return Guarantee.pure(epsilon=self.epsilon, exact=True, neighbours=neighbours, text=text or said)


def _integers(heavy: Any, selection: Selection) -> Tensor:
    """Return indices as an int64 tensor (B, t); refuse what is no list of t integers a record."""
    count = selection.heavy_count
    if isinstance(heavy, Tensor):
        if heavy.dtype != torch.int64 or heavy.ndim != 2 or heavy.shape[1] != count:
            raise _refusal(1, selection)
        return heavy
    listed = [[row] if type(row) is int else row for row in heavy]
    for number, row in enumerate(listed, start=1):
        several = isinstance(row, list | tuple) and len(row) == count
        if not several or {*map(type, row)} != {int} or min(row) < 0 or max(row) >= selection.size:
            raise _refusal(number, selection)
    return torch.from_numpy(np.array(listed, dtype=np.int64)).reshape(len(listed), count)


def _refusal(record: int, selection: Selection) -> ConfigurationError:
    what = "an integer" if selection.heavy_count == 1 else f"{selection.heavy_count} different integers"
    return ConfigurationError(
        f"heavy must hold {what} from 0 to {selection.size - 1} for each record, got other values in record {record}"
    )


@dataclass(frozen=True, kw_only=True)
class Description(LocalRandomizer):
    """A pure eps-LDP release of the number of a public sentence near to the record, in exact arithmetic.

    A model lists public sentences. The *descriptions* of a record are the numbers of its t nearest sentences.
    Claim and proof are the module's. If the output copies labels, the list may be the *cell* of the record's
    label: K public sentences that depend on the label, the budget and public text alone
    (``adept.models.label_names``). Then the claim holds for any two records with the same label. The first sentences
    of the list are in every cell, so that a misleading name of a label cannot decide alone what is released.
    The rules of ``adept.mechanisms.policy`` set K and t.

    Attributes:
        epsilon: the budget in nats, from 1e-3 to 600.
        size: the number K of sentences, at least 2; by default, it follows from the budget.
        top: the number t of descriptions that each record has, from 1 to K - 1; by default 1.
        by_label: if True, the sentences are those of the cell of the record's label, and the output copies this label.
    """

    size: int | None = None
    top: int | None = None
    by_label: bool = False
    name: ClassVar[str] = "description"
    clip: ClassVar[str] = "sphere"  # of the latents of the model beside the list of sentences
    serves: ClassVar[frozenset[str]] = frozenset({"l1", "l2", "sphere"})  # a list comes with any model
    randomises: ClassVar[str] = "description"

    def __post_init__(self) -> None:
        check_between(*BUDGETS, epsilon=self.epsilon)
        refuse((self.by_label not in (False, True), f"by_label must be true or false, got {printable(self.by_label)}"))
        if self.size is not None:
            check_integer(2, MAX_SIZE, size=self.size)
        if self.top is not None:
            check_integer(1, self.count - 1, top=self.top)

    @property
    def count(self) -> int:
        """The number K of sentences."""
        return self.size or (policy.cell_size if self.by_label else policy.best_size)(self.epsilon)

    @property
    def selection(self) -> Selection:
        """The draw of a sentence's number."""
        return Selection(epsilon=self.epsilon, size=self.count, heavy_count=self.top or 1)

    @property
    def odds(self) -> tuple[int, int]:
        """The integer weights (A, B) of a record's own description and of any other description."""
        return self.selection.odds

    @property
    def heavy(self) -> int:
        """The number t of descriptions that each record has, as an audit reads it."""
        return self.selection.heavy_count

    def certificate(self, dim: int | None = None) -> list[Part]:
        return self.selection.certificate(TEXT_BY_LABEL if self.by_label else TEXT)

    def selections(self, dim: int | None = None) -> tuple[Selection, ...]:
        return (self.selection,)

    def privatize(self, descriptions: Sequence[int | Sequence[int]]) -> list[int]:
        """Release one number for each record, given its description or its t descriptions."""
        return list(self.selection.draw(descriptions).tolist())

    def heavy_symbols(self, number: int) -> set[int]:
        """Return ``number`` and the t - 1 numbers after it (0 follows K - 1), for an audit's record."""
        return {(number + place) % self.count for place in range(self.heavy)}

    def guarantee(self, dim: int | None = None) -> Guarantee:
        """Return the guarantee of one release; ``dim`` is ignored."""
        own = "the record's own" if self.heavy == 1 else f"one of the record's own {self.heavy:,}"
        neighbours = f"{ANY_TWO_RECORDS}{' with the same label' * self.by_label}"
        return self.selection.guarantee(
            f"The released description is {words(self.epsilon)}-LDP (pure) for {neighbours}. It is a number below "
            f"{self.count:,}: in {often(self.selection.heavy_probability)} {own}, and otherwise one of the others.",
            neighbours=neighbours,
        )


def exponential_choice(scores: Tensor, *, epsilon: float) -> Tensor:
    """Choose one of K public items for each record by the exponential mechanism in floating point.

    A score u(x, y) in [0, 1] says how well the item y fits the record x; P(y | x) is proportional to
    exp(eps u(x, y) / 2). ``scores`` (B, K) are clamped to [0, 1], and NaN becomes 0.

    Claim: without rounding, the choice is eps-LDP for any two records; rounding loses items with less than 2^-53
    of all weight, which large eps gives. Proof: another record changes exp(eps u / 2), and the sum
    by which it is divided, by factors of at most exp(eps / 2) each (McSherry and Talwar 2007). Sampling at
    temperature T = 2 (b2 - b1) / eps from a language model with logits clipped to [b1, b2] is such a choice,
    with u = (logit - b1) / (b2 - b1) (Utpala, Hooker and Chen 2023, Theorem 1).
    """
    rows = max(1, MAX_WEIGHTS // max(1, scores.shape[1]))
    chosen = [torch.empty(0, dtype=torch.int64)]
    for part in torch.split(scores.detach(), rows):
        bounded = part.to("cpu", torch.float64).nan_to_num(0.0).clamp(0.0, 1.0)
        chosen.append(fresh_index(torch.exp(epsilon / 2 * (bounded - 1.0))))  # 1 at most: nothing overflows
    return torch.cat(chosen)
