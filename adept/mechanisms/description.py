r"""Randomised response over descriptions: numbers that a public codec gives to texts.

The claim: let a public codec map every record x to a set S(x) of exactly t *descriptions*, which
are numbers of {0, .., K-1}; mostly t = 1. One number is released: each number in S(x) with
probability A / W and each other number with probability B / W, where A >= B are integers with A <=
e^eps B, and W = t A + (K - t) B. This is eps-LDP (pure) for any two records, and so is every text
written from the released number.

The proof: that S(x) has exactly t different members is verified in integers for every record, so W
is the same for all records. Under any record, a number has probability A / W or B / W, so two
records' probabilities of it differ by a factor of at most A / B <= e^eps. (Subset selection: Ye and
Barg 2018, "Optimal schemes for discrete distribution estimation under locally differential
privacy"; t = 1 is K-ary randomised response.) A draw from the other numbers never gives a member of
S(x); if it could, the true eps would be larger.

The codec needs only four properties. It describes every text, if need be with a constant. It reads
one record at a time. K, t and the codec are fixed without private data. The codec's randomness is
independent of that of the release. The codec may be a network or a search, and it may err: an error
makes the release less useful, never less private.

The rule for K, if t = 1: the K at which a release transmits the most information if descriptions
are equally common (``best_size``). It reaches at least 99.7 % of the capacity of eps-LDP, u - 1 -
ln u nats with u = eps e^eps / (e^eps - 1), at every eps >= 2.

A codec of *broad* text describes a record by whole sentences. All of them are candidates
(``Codec.choose_size``), and the t nearest to the record are heavy. t is chosen so that the odds of
releasing a heavy sentence are about s = eps - ODDS_BELOW_EPSILON to one: t = K s / (e^eps + s),
rounded, at least 1 (``docs/decisions.md``, "Heavy sentences").

*Descriptions by label.* If labels are copied, the K descriptions may be a *cell* of the record's
label c: K public sentences that depend only on c, the budget and public text (``by_label``;
``adept.models.label_sentences``). Let M_c be the release above over the cell of c.

*Claim*: x -> (c, M_c(x)) is eps-LDP (pure) for any two records x, x' with the same label c.
*Proof*: both records have the label c, so they have the same cell and the same K, t, A and B, and
the claim of M_c applies. QED. K, t and the weights are the same for every label, so one certificate
covers all labels. Nothing is claimed for records with two different labels: their cells differ, so
a text can reveal its label with certainty. So leaving the label column out later does not hide the
labels.

The rule for cells: K = LABEL_CELL for an epsilon between the two CELL_EPSILONS. Every two nats
below them halve K, and every two nats above them double K, until every cell holds all sentences. t
follows from the odds s as above. s is eps - 2, but at least 4/3, and changes to eps - 4 above an
epsilon of 8. Some sentences of a cell are the codec's first ones, which all cells have. Their share
is FIRST_SHARE from FIRST_EPSILON on, and in proportion less below it.

Checked proof: ``proofs/Symbols.v``, ``descriptions_are_private``, and for labels
``same_label_is_private``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self

from scipy.special import lambertw

from adept.errors import ConfigurationError
from adept.mechanisms.base import SymbolRandomizer, Symbols
from adept.mechanisms.guarantee import TEXT, TEXT_BY_LABEL, Guarantee, Part, often, symbols_part, words
from adept.mechanisms.random_draws import exact_odds, exact_ranks
from adept.ranges import BUDGETS, check_between, check_integer

MAX_SIZE = 2**120
# By how much the odds of a heavy sentence of broad text are below epsilon; never below one
ODDS_BELOW_EPSILON = 4.0

FIRST_SHARE, FIRST_EPSILON = 0.5, 4.0  # largest share of a cell that all cells have, from which epsilon on
LABEL_CELL, CELL_EPSILONS = 1 << 13, (4.0, 8.0)  # sentences of a label's cell, from one epsilon to another
CELL_ODDS = 4 / 3  # the least odds of a heavy sentence of a cell

Described = int | Sequence[int]  # of one record: its description, or its t descriptions


@dataclass(frozen=True, kw_only=True)
class Description(SymbolRandomizer):
    """Pure eps-LDP release of one integer in {0, .., K-1}, in exact arithmetic.

    Claim and proof: this module's docstring.

    Attributes:
        epsilon: budget in nats, from 1e-3 to 600.
        size: K, from 2 to 2^120; by default ``best_size``, which reads the budget alone.
        top: t, the descriptions that a record has, from 1 to K - 1; by default 1.
        by_label: True for the descriptions of the cell of the record's label, which is copied.
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
        if self.size is not None:
            check_integer(2, MAX_SIZE, size=self.size)
        if self.top is not None:
            check_integer(1, self.count - 1, top=self.top)

    @property
    def count(self) -> int:
        """The number of descriptions K."""
        return self.size or (cell_size if self.by_label else best_size)(self.epsilon)

    @property
    def heavy(self) -> int:
        """The number t of descriptions that a record has."""
        return self.top or 1

    @property
    def odds(self) -> tuple[int, int]:
        """The integer weights: A of a record's own descriptions, B of each other one."""
        return exact_odds(Fraction(self.epsilon))

    @property
    def keep_probability(self) -> Fraction:
        """P(one of the record's own descriptions is released) = t A / W, exactly."""
        heavy, light = self.odds
        return Fraction(self.heavy * heavy, self.heavy * heavy + (self.count - self.heavy) * light)

    def certificate(self, dim: int | None = None) -> list[Part]:
        of = TEXT_BY_LABEL if self.by_label else TEXT
        return [symbols_part(of, epsilon=Fraction(self.epsilon), size=self.count, top=self.heavy, odds=self.odds)]

    def symbols(self, dim: int | None = None) -> tuple[Symbols, ...]:
        """Return the one draw: K descriptions, t of them heavy."""
        return (Symbols(self.count, self.heavy),)

    def privatize(self, descriptions: Sequence[Described]) -> list[int]:
        """Release one number for each record: exact, from the operating system's entropy.

        Args:
            descriptions: each record's description, or its t different descriptions in any order;
                integers in {0, .., K-1}.
        """
        ranks = exact_ranks(len(descriptions), near=self.heavy, far=self.count - self.heavy, odds=self.odds)
        return self.choose(descriptions, ranks)

    @property
    def own_symbol(self) -> str:
        """The heavy symbols, in words."""
        return f"{self._own} description{'s' * (self.heavy > 1)}"

    def beside(self, labels: int) -> "Description":
        """Return a copy with ``joint_size`` descriptions, unless a size was set."""
        return replace(self, size=self.size or joint_size(self.epsilon, labels))

    def over_broad_text(self, sentences: int) -> Self:
        """Return a copy with ``sentences`` descriptions; this module's rule sets t."""
        odds = max(1.0, self.epsilon - ODDS_BELOW_EPSILON)
        top = self.top or max(1, round(sentences * odds / (math.exp(self.epsilon) + odds)))
        return replace(self, size=sentences, top=top)

    def over_label_cells(self) -> Self:
        """Return a copy for the cells of labels; this module's rule sets K and t."""
        odds = max(CELL_ODDS, min(self.epsilon - 2, self.epsilon / 2 + 2), self.epsilon - ODDS_BELOW_EPSILON)
        top = self.top or max(1, round(self.count * odds / (math.exp(self.epsilon) + odds)))
        return replace(self, size=self.count, top=top, by_label=True)

    def choose(self, descriptions: Sequence[Described], ranks: Sequence[int]) -> list[int]:
        """Return the number at each record's rank; the record's own descriptions rank first."""
        meant = []
        for own, rank in zip(self._checked(descriptions), ranks, strict=True):
            other = _other(own, rank - self.heavy)  # always, so that time does not tell which it is
            meant.append(own[rank] if rank < self.heavy else other)
        return meant

    def choose_symbols(self, numbers: Sequence[int], ranks: Sequence[int]) -> list[int]:
        """Return the number at each record's rank; each record is itself a number."""
        return self.choose([sorted(self.heavy_symbols(number)) for number in numbers], ranks)

    def heavy_symbols(self, number: int) -> set[int]:
        """Return the t descriptions that begin with ``number``; after the last, count on from 0."""
        return {(number + place) % self.count for place in range(self.heavy)}

    def guarantee(self, dim: int | None = None) -> Guarantee:
        """Return the guarantee of one release; ``dim`` is ignored."""
        return Guarantee.pure(
            epsilon=self.epsilon,
            exact=True,
            text=f"The released description is {words(self.epsilon)}-LDP (pure) for any two records"
            f"{' with the same label' * self.by_label}. It is a number "
            f"below {_size_in_words(self.count)}: in {often(self.keep_probability)} {self._own}, and otherwise one of the others.",
        )

    @property
    def _own(self) -> str:
        return "the record's own" if self.heavy == 1 else f"one of the record's own {self.heavy:,}"

    def _checked(self, descriptions: Sequence[Described]) -> list[Sequence[int]]:
        """Return each record's descriptions; check that there are t, as the proof requires."""
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
    """Return the number at a place in the ordered list of numbers that are not a record's own."""
    for number in sorted(own):
        place += number <= place
    return place


def cell_size(epsilon: float) -> int:
    """Return the number K of sentences in the cell of a label."""
    least, largest = CELL_EPSILONS
    more: float = 2.0 ** ((min(0.0, epsilon - least) + max(0.0, epsilon - largest)) / 2)
    return min(MAX_SIZE, round(LABEL_CELL * more))


def first_share(epsilon: float) -> float:
    """Return the share of first sentences, which all labels have, in the cell of a label."""
    return FIRST_SHARE * min(1.0, epsilon / FIRST_EPSILON)


def best_size(epsilon: float) -> int:
    """Return the K, 2 to 2^120, at which K-ary randomised response transmits most information.

    The K descriptions are equally common. The information is largest near (e^eps - 1) / (u - 1),
    u = eps e^eps / (e^eps - 1) (capacity: Ye and Barg 2018).
    """
    u = epsilon / -math.expm1(-epsilon)
    bits = (epsilon + math.log(-math.expm1(-epsilon)) - math.log(u - 1)) / math.log(2)
    if bits >= math.log2(MAX_SIZE):
        return MAX_SIZE
    return max(2, round(2**bits))


def joint_size(epsilon: float, labels: int) -> int:
    """Return the K at which a joint symbol with L labels tells most; all K are equally common.

    A description almost determines its label, so only K of the K L symbols ever are a record's own.
    With A = e^eps a symbol tells I(K) = (A ln A - (A + K - 1) ln((A + K - 1) / K)) / (A + K L - 1)
    nats: entropy of the symbol less that given the record. For K well below A this is ln K / (1 + K
    L / A), which is largest where K (ln K - 1) = A / L: K = A / (L w), w e^w = A / (e L).
    """
    odds = math.exp(min(epsilon, 600.0)) / labels
    size = odds / float(lambertw(odds / math.e).real)
    return min(MAX_SIZE, max(2, round(size)))


def _size_in_words(size: int) -> str:
    """Return a number as words of a sentence; a long number is written as a power of two."""
    return f"{size:,}" if size < 10**6 else f"2^{math.log2(size):.1f}"
