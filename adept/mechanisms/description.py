r"""Randomised response over descriptions: the mechanism for text that was put into a number by a public codec.

The claim: let a public codec map every record to a *description* d in {0, .., K-1}. The true d is released with probability
e^eps / (e^eps + K - 1), otherwise one of the others, all equally likely. This is eps-LDP (pure) for any two records,
and so is every text that is written from the released number.

The proof: let W = A + (K - 1) B with integers A <= e^eps B. Every output has probability A / W if it is the record's description,
and B / W if it is not, whatever the record is; W is the same for all. So two records' probabilities of one output differ by a
factor of at most A / B <= e^eps. The fallback leaves the true description out; with it, eps would be ln(1 + e^eps).

Nothing is asked of the codec but four things: describing is total (what it cannot describe gets a constant), it looks at one
record at a time, K and codec are fixed without private data, and what randomness it has is its own. It may be a network, a
search, or wrong: that costs use, never privacy.

The rule for K: the K that transmits most where descriptions are equally common, about (e^eps - 1) / (u - 1) with
u = eps e^eps / (e^eps - 1). It reaches at least 99.7 % of the capacity of eps-LDP, u - 1 - ln u nats, at every eps >= 2.
A public model takes fewer where its codec describes no record by the others (``Codec.used``).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

from scipy.special import lambertw

from adept.errors import ConfigurationError
from adept.mechanisms.base import BUDGETS, SymbolRandomizer, Symbols, check_between, check_integer
from adept.mechanisms.certificate import Part, symbols_part
from adept.mechanisms.guarantee import Guarantee, words
from adept.mechanisms.noise import exact_odds, exact_ranks

LARGEST_SIZE = 2**120


@dataclass(frozen=True, kw_only=True)
class Description(SymbolRandomizer):
    """Pure eps-LDP release of one integer in {0, .., K-1}, for any two records, in exact arithmetic.

    A sibling of ``Mechanism`` for finite alphabets: the same contract, with lists of integers for
    tensors of latents. No table is kept, so that K = 2^100 costs what K = 2 costs.

    Attributes:
        epsilon: budget in nats, from 1e-3 to 600.
        size: K, from 2 to 2^120; by default ``best_size``, which reads the budget alone.

    Raises:
        ConfigurationError: a field is out of range.
    """

    size: int | None = None
    name: ClassVar[str] = "description"
    clip: ClassVar[str] = "sphere"  # of the latents of the model that is trained beside the codec
    serves: ClassVar[frozenset[str]] = frozenset({"l1", "l2", "sphere"})  # a codec comes with any model
    randomises: ClassVar[str] = "description"
    symbol: ClassVar[str] = "description"

    def __post_init__(self) -> None:
        check_between(*BUDGETS, epsilon=self.epsilon)
        check_integer(2, LARGEST_SIZE, size=self.size)

    @property
    def count(self) -> int:
        """The number of descriptions K."""
        return self.size or best_size(self.epsilon)

    @property
    def odds(self) -> tuple[int, int]:
        """The integer weights (A, B) of the true description and of each other one."""
        return exact_odds(Fraction(self.epsilon))

    @property
    def keep_probability(self) -> Fraction:
        """P(the true description is released) = A / W, exactly."""
        heavy, light = self.odds
        return Fraction(heavy, heavy + (self.count - 1) * light)

    def certificate(self, dim: int | None = None) -> list[Part]:
        return [symbols_part("text", epsilon=Fraction(self.epsilon), size=self.count, top=1, odds=self.odds)]

    def symbols(self, dim: int | None = None) -> tuple[Symbols, ...]:
        """Return the one draw: K descriptions, one of them heavy."""
        return (Symbols(self.count, 1),)

    def privatize(self, descriptions: Sequence[int]) -> list[int]:
        """Release each description: exact integers from the operating system's entropy, never seedable.

        Raises:
            ConfigurationError: a description is no integer in {0, .., K-1} (it is not repeated in the message).
        """
        return self.choose(descriptions, exact_ranks(len(descriptions), near=1, far=self.count - 1, odds=self.odds))

    @property
    def own_symbol(self) -> str:
        """The heavy symbol, in words."""
        return "the record's own description"

    def beside(self, labels: int) -> "Description":
        """Return this mechanism with ``joint_size`` descriptions, unless their number was set."""
        return replace(self, size=self.size or joint_size(self.epsilon, labels))

    def choose(self, descriptions: Sequence[int], ranks: Sequence[int]) -> list[int]:
        """Return the description that each rank means for each true one: rank 0 keeps it, the others reach every other one."""
        self._check(descriptions)
        return [(true + rank) % self.count for true, rank in zip(descriptions, ranks, strict=True)]

    def choose_symbols(self, numbers: Sequence[int], ranks: Sequence[int]) -> list[int]:
        """Return the same: descriptions are numbers."""
        return self.choose(numbers, ranks)

    def heavy_symbols(self, number: int) -> set[int]:
        """Return the description itself."""
        return {number}

    def guarantee(self, dim: int | None = None) -> Guarantee:
        """Return what one release guarantees; ``dim`` is there for the contract's sake and plays no part."""
        return Guarantee.pure(
            epsilon=self.epsilon,
            exact=True,
            text=f"The released description is {words(self.epsilon)}-LDP (pure) for any two records: one number below "
            f"{_size_in_words(self.count)}, which is the record's own {_often(self.keep_probability)} and any other one "
            "otherwise.",
        )

    def _check(self, descriptions: Sequence[int]) -> None:
        for row, value in enumerate(descriptions, start=1):
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < self.count:
                raise ConfigurationError(
                    f"descriptions must be integers from 0 to {self.count - 1}, got another value in record {row}"
                )


def best_size(epsilon: float) -> int:
    """Return the number K of equally common descriptions from which K-ary randomised response transmits most, at most 2^120.

    With u = eps e^eps / (e^eps - 1) the information has its largest value near (e^eps - 1) / (u - 1) (Ye and Barg 2018 give the
    capacity; the place is found by setting the derivative to zero); at least 2.
    """
    u = epsilon / -math.expm1(-epsilon)
    bits = (epsilon + math.log(-math.expm1(-epsilon)) - math.log(u - 1)) / math.log(2)
    if bits >= math.log2(LARGEST_SIZE):
        return LARGEST_SIZE
    return max(2, round(2**bits))


def joint_size(epsilon: float, labels: int) -> int:
    """Return the number K of equally common descriptions beside L labels from which a symbol tells most.

    A description all but determines its label, so that of K L symbols only K are ever true. With A = e^eps, a symbol then tells
    I(K) = (A ln A - (A + K - 1) ln((A + K - 1) / K)) / (A + K L - 1) nats: entropy of the symbol less that given the record. For K
    well below A this is ln K / (1 + K L / A), which is largest where K (ln K - 1) = A / L: K = A / (L w), w e^w = A / (e L).
    """
    odds = math.exp(min(epsilon, 600.0)) / labels
    size = odds / float(lambertw(odds / math.e).real)
    return min(LARGEST_SIZE, max(2, round(size)))


def _often(keep: Fraction) -> str:
    """A probability as a count of times, never rounded to always."""
    for times in (100, 1_000, 10_000, 1_000_000):
        kept = math.floor(keep * times)
        if times - kept >= 2:
            return f"{kept:,} of {times:,} times"
    return "all but 1 in a million times or fewer"


def _size_in_words(size: int) -> str:
    """A number for a sentence: as it is, or as a power of two where it is long."""
    return f"{size:,}" if size < 10**6 else f"2^{math.log2(size):.1f}"
