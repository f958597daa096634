r"""Randomised response over descriptions, which are numbers that a public codec gives to texts.

A *codec* turns a text into a number, called the *description* of the text, and turns a number back
into a text. Some codecs give each text a set of t descriptions instead of one.

*Claim*. Let a public codec map every record x to a set S(x) of exactly t numbers of {0, .., K-1},
the record's *own* descriptions. The mechanism releases one number for the record: each number in
S(x) with probability A / W, and each other number with probability B / W. Here A >= B are integers
with A <= e^eps B, and W = t A + (K - t) B. The release is eps-LDP (pure) for any two records, and
so is every text that is written from the released number.

*Proof*. The program verifies in integers, for every record, that S(x) has exactly t different
members, so W is the same for all records. Any number has probability A / W or B / W under any
record. So the probabilities of a number under two records differ by a factor of at most A / B <=
e^eps. Writing a text from the number is post-processing. QED. (Subset selection: Ye and Barg 2018,
"Optimal schemes for discrete distribution estimation under locally differential privacy"; t = 1 is
K-ary randomised response.)

The proof needs four properties of the codec. First, the codec gives every text a description; for
some texts, the description may be a constant. Second, the codec reads one record at a time. Third,
K, t and the codec are fixed without private data. Fourth, the random bits of the codec are
independent of the random bits of the release. An error of the codec makes the release less useful,
never less private.

If t = 1, K is by default the number for which a release transmits the most information about its
record (``best_size``). This rule for K assumes that all descriptions are equally common. A codec of
*broad* text, which covers many subjects instead of one domain, describes a record by a whole public
sentence. S(x) holds the t sentences nearest to the record, among all K sentences of the codec. For
broad text, t is K s / (e^eps + s), rounded to a whole number, but at least 1. Then the odds of
releasing a sentence of S(x) are about s to one. Here s is eps - ODDS_BELOW_EPSILON, but at least 1
(``docs/decisions.md``, "Heavy sentences").

*Descriptions by label.* If the output copies the labels of records unchanged, the K descriptions
may be the sentences in the *cell* of the record's label c. The cell of c consists of K public
sentences that depend only on c, the budget and public text
(``adept.models.label_names_and_sentences``). Let M_c be the release of the claim above, with the
sentences in the cell of c as descriptions.

*Claim*: the release of the pair (c, M_c(x)) is eps-LDP (pure) for any two records x, x' with the
same label c. *Proof*: both records have the label c, so they have the same cell and the same K, t,
A and B, and the claim of M_c applies. QED. K, t and the weights are the same for every label, so
one certificate covers all labels. Nothing is claimed for two records with different labels: their
cells differ, so a released text can reveal its label with certainty.

The first sentences of the codec are in every cell, so that a misleading name of a label cannot
decide alone what is released. K and the share of these common sentences in a cell depend on epsilon
alone (``cell_size``, ``first_share``). At epsilon 8, a cell has 8,192 common sentences, which is
also the number of codewords of the packaged model. For cells, t is K s / (e^eps + s) with s =
max(4/3, min(eps - 2, 2), eps - 4).

Checked proof: ``proofs/Symbols.v``, ``descriptions_are_private``, and for labels
``same_label_is_private``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from scipy.special import lambertw

from adept.errors import ConfigurationError, printable
from adept.mechanisms.base import SymbolRandomizer, Symbols
from adept.mechanisms.guarantee import (
    ANY_TWO_RECORDS,
    TEXT,
    TEXT_BY_LABEL,
    Guarantee,
    Part,
    often,
    symbols_part,
    words,
)
from adept.mechanisms.random_draws import exact_odds, exact_ranks
from adept.ranges import BUDGETS, check_between, check_integer

MAX_SIZE = 2**120
# By how much the odds of a heavy sentence of broad text are below epsilon; never below one
ODDS_BELOW_EPSILON = 4.0

LABEL_CELL = 1 << 13  # sentences of a label's cell at epsilon 4
CELL_EPSILONS = 0.0, 4.0, 7.0, 8.0, 12.0  # for which the next two lines hold numbers
CELL_RATIOS = 1 / 4, 1.0, 1.0, 3 / 2, 4.0  # sentences of a cell, divided by LABEL_CELL
FIRST_SHARES = 0.0, 5 / 8, 5 / 8, 2 / 3, 1 / 2  # of a cell's sentences that all cells have
CELL_ODDS = 4 / 3, 2.0  # the least odds of a heavy sentence of a cell: below epsilon 10/3, and from epsilon 4 on

Described = int | Sequence[int]  # of one record: its description, or its t descriptions


@dataclass(frozen=True, kw_only=True)
class Description(SymbolRandomizer):
    """A pure eps-LDP release of one integer in {0, .., K-1}, in exact arithmetic.

    Attributes:
        epsilon: the budget in nats, from 1e-3 to 600.
        size: the number K of possible descriptions, from 2 to 2^120; by default, it follows from
            the budget.
        top: the number t of descriptions that each record has, from 1 to K - 1; by default 1.
        by_label: if True, the descriptions are the sentences in the cell of the record's label, and
            the output copies this label.
    """

    size: int | None = None
    top: int | None = None
    by_label: bool = False
    name: ClassVar[str] = "description"
    clip: ClassVar[str] = "sphere"  # of the latents of the model that is trained beside the codec
    serves: ClassVar[frozenset[str]] = frozenset({"l1", "l2", "sphere"})  # a codec comes with any model
    randomises: ClassVar[str] = "description"
    symbol: ClassVar[str] = "description"

    def __post_init__(self) -> None:
        check_between(*BUDGETS, epsilon=self.epsilon)
        if self.by_label not in (False, True):
            raise ConfigurationError(f"by_label must be true or false, got {printable(self.by_label)}")
        if self.size is not None:
            check_integer(2, MAX_SIZE, size=self.size)
        if self.top is not None:
            check_integer(1, self.count - 1, top=self.top)

    @property
    def count(self) -> int:
        """The number K of possible descriptions."""
        return self.size or (cell_size if self.by_label else best_size)(self.epsilon)

    @property
    def heavy(self) -> int:
        """The number t of descriptions that each record has."""
        return self.top or 1

    @property
    def odds(self) -> tuple[int, int]:
        """The integer weights (A, B) of a record's own description and of any other description."""
        return exact_odds(Fraction(self.epsilon))

    @property
    def keep_probability(self) -> Fraction:
        """The exact probability t A / W that one of the record's own descriptions is released."""
        heavy, light = self.odds
        return Fraction(self.heavy * heavy, self.heavy * heavy + (self.count - self.heavy) * light)

    def certificate(self, dim: int | None = None) -> list[Part]:
        of = TEXT_BY_LABEL if self.by_label else TEXT
        return [symbols_part(of, epsilon=Fraction(self.epsilon), size=self.count, top=self.heavy, odds=self.odds)]

    def symbols(self, dim: int | None = None) -> tuple[Symbols, ...]:
        return (Symbols(self.count, self.heavy),)

    def privatize(self, descriptions: Sequence[Described]) -> list[int]:
        """Release one number for each record, drawn exactly from the operating system's entropy.

        ``descriptions`` holds each record's description, or its t different descriptions in any
        order.
        """
        ranks = exact_ranks(len(descriptions), near=self.heavy, far=self.count - self.heavy, odds=self.odds)
        return self.choose(descriptions, ranks)

    @property
    def own_symbol(self) -> str:
        return f"{self._own} description{'s' * (self.heavy > 1)}"

    def beside(self, labels: int) -> "Description":
        """Return a copy for joint releases of text and label; by default, K is ``joint_size``."""
        return replace(self, size=self.size or joint_size(self.epsilon, labels))

    def over_broad_text(self, sentences: int) -> Self:
        """Return a copy for a codec that stores ``sentences`` public sentences.

        The copy has K = ``sentences``. The module's rule for broad text sets t unless ``top`` does.
        """
        odds = max(1.0, self.epsilon - ODDS_BELOW_EPSILON)
        top = self.top or max(1, round(sentences * odds / (math.exp(self.epsilon) + odds)))
        return replace(self, size=sentences, top=top)

    def over_label_cells(self) -> Self:
        """Return a copy whose descriptions are the sentences in the cell of the record's label."""
        odds = max(CELL_ODDS[0], min(self.epsilon - 2, CELL_ODDS[1]), self.epsilon - ODDS_BELOW_EPSILON)
        top = self.top or max(1, round(self.count * odds / (math.exp(self.epsilon) + odds)))
        return replace(self, size=self.count, top=top, by_label=True)

    def choose(self, descriptions: Sequence[Described], ranks: Sequence[int]) -> list[int]:
        """Return the number at the given rank for each record.

        The record's own descriptions have the ranks below t. The other numbers have the ranks from
        t on, in ascending order.
        """
        meant = []
        for own, rank in zip(self._checked(descriptions), ranks, strict=True):
            other = _other(own, rank - self.heavy)  # always, so that time does not tell which it is
            meant.append(own[rank] if rank < self.heavy else other)
        return meant

    def choose_symbols(self, numbers: Sequence[int], ranks: Sequence[int]) -> list[int]:
        return self.choose([sorted(self.heavy_symbols(number)) for number in numbers], ranks)

    def heavy_symbols(self, number: int) -> set[int]:
        """Return ``number`` and the t - 1 numbers that follow it; the number 0 follows K - 1.

        An audit uses these t numbers as the own descriptions of a record.
        """
        return {(number + place) % self.count for place in range(self.heavy)}

    def guarantee(self, dim: int | None = None) -> Guarantee:
        """Return the guarantee of one release; ``dim`` is ignored."""
        neighbours = f"{ANY_TWO_RECORDS}{' with the same label' * self.by_label}"
        return Guarantee.pure(
            epsilon=self.epsilon,
            exact=True,
            neighbours=neighbours,
            text=f"The released description is {words(self.epsilon)}-LDP (pure) for {neighbours}. It is a number "
            f"below {_size_in_words(self.count)}: in {often(self.keep_probability)} {self._own}, and otherwise one of the others.",
        )

    @property
    def _own(self) -> str:
        return "the record's own" if self.heavy == 1 else f"one of the record's own {self.heavy:,}"

    def _checked(self, descriptions: Sequence[Described]) -> list[Sequence[int]]:
        """Return the descriptions of each record.

        Raise ConfigurationError unless each record has t different numbers from 0 to K - 1.
        """
        rows: list[Sequence[int]] = [[row] if isinstance(row, int) else row for row in descriptions]
        count = self.count
        for record, own in enumerate(rows, start=1):
            numbers = isinstance(own, list | tuple) and set(map(type, own)) == {int}
            if (
                not numbers
                or not 0 <= min(own) <= max(own) < count
                or len(own) != self.heavy
                or len(set(own)) != self.heavy
            ):
                what = "integers" if self.heavy == 1 else f"{self.heavy} different integers for each record,"
                raise ConfigurationError(
                    f"descriptions must be {what} from 0 to {self.count - 1}, got another value in record {record}"
                )
        return rows


def _other(own: Sequence[int], place: int) -> int:
    """Return the number at ``place`` in the ascending list of all numbers outside ``own``."""
    for number in sorted(own):
        place += number <= place
    return place


def cell_size(epsilon: float) -> int:
    """Return the number K of sentences in the cell of each label.

    For each epsilon in CELL_EPSILONS, CELL_RATIOS fixes K. Between two of these epsilons, the
    logarithm of K is linear in epsilon. Above the largest of them, K doubles every two nats.
    """
    bits = float(np.interp(epsilon, CELL_EPSILONS, np.log2(CELL_RATIOS))) + max(0.0, epsilon - CELL_EPSILONS[-1]) / 2
    return min(MAX_SIZE, round(LABEL_CELL * math.pow(2.0, bits)))


def first_share(epsilon: float) -> float:
    """Return the share of each label's cell that consists of the codec's first sentences."""
    return float(np.interp(epsilon, CELL_EPSILONS, FIRST_SHARES))


def best_size(epsilon: float) -> int:
    """Return the K up to 2^120 for which K-ary randomised response transmits the most information.

    All K descriptions are assumed to be equally common. The information is largest for K near
    (e^eps - 1) / (u - 1), with u = eps e^eps / (e^eps - 1) (capacity: Ye and Barg 2018).
    """
    u = epsilon / -math.expm1(-epsilon)
    bits = (epsilon + math.log(-math.expm1(-epsilon)) - math.log(u - 1)) / math.log(2)
    if bits >= math.log2(MAX_SIZE):
        return MAX_SIZE
    return max(2, round(2**bits))


def joint_size(epsilon: float, labels: int) -> int:
    """Return the best number K of descriptions for a joint release of a text and one of L labels.

    The text's description and the label are released together as one symbol. With this K, the
    symbol transmits the most information about its record, under two assumptions. First, all K
    descriptions are equally common. Second, a record's description determines its label, so only K
    of the K L pairs of a description and a label occur; this holds for most records. With A =
    e^eps, the symbol transmits I(K) = (A ln A - (A + K - 1) ln((A + K - 1) / K)) / (A + K L - 1)
    nats. For K well below A, I(K) is about ln K / (1 + K L / A), which is largest where K (ln K -
    1) = A / L. The solution is K = A / (L w), where w e^w = A / (e L).
    """
    odds = math.exp(min(epsilon, 600.0)) / labels
    size = odds / float(lambertw(odds / math.e).real)
    return min(MAX_SIZE, max(2, round(size)))


def _size_in_words(size: int) -> str:
    return f"{size:,}" if size < 10**6 else f"2^{math.log2(size):.1f}"
