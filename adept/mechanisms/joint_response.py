r"""Private labels: a record's text and label are released as one symbol, by subset selection.

A record has a text and one of L public labels. A codebook or a list of sentences maps the text to one of k
*outcomes* v: a codeword, or a description (a number). So there are k L symbols (v, c), each of
which consists of an outcome v and a label c. The *heavy set* of a record holds t symbols: the
record's t nearest outcomes, each with the record's own label. The mechanism releases one symbol:
each heavy symbol with probability A / W, and each other symbol with probability B / W. Here W = t
A + (k L - t) B, and A >= B are integers with A <= e^eps B.

Claim: the release is pure eps-LDP, exactly, for any two *pairs* of text and label. Proof: every
record's heavy set has exactly t symbols, whatever its label is. So W is the same for all records,
and each symbol's probability is A / W or B / W under any record. The program draws a *rank* r in
{0, .., k L - 1}. A rank below t has the weight A, and any other rank has the weight B
(``random_draws.exact_ranks``). The symbol of rank r has the outcome of rank r mod k and the label
of rank r div k. For every record, the outcomes in the order of their ranks are a permutation of all
outcomes that begins with the t nearest outcomes (``Block.place``). The labels in the order of their
ranks are a permutation of all labels that begins with the record's label
(``RandomizedResponse.choose``). So each rank belongs to exactly one symbol, and the ranks below t
are the heavy set. QED.

The epsilon of the text alone and the epsilon of the label alone are known exactly, and both are
below eps. The L symbols with the same outcome have the total weight A + (L - 1) B if this is one of
the record's t nearest outcomes, and L B otherwise. The k symbols with the same label have the total
weight t A + (k - t) B if this is the record's label, and k B otherwise. So the epsilon of the text
alone is ln((A + (L - 1) B) / (L B)), and the epsilon of the label alone is ln((t A + (k - t) B) /
(k B)).

For codebooks, the rules for k and t read only the budget and L. By default, t is .8 k L / (e^eps +
1), but at least 1 and at most k / 2. By default, k is the largest power of two from 128 to 1024
that is at most e^eps / (2 L), or 128 if all these powers are larger. If e^eps / (2 L) is at least
128, then t = 1 and the probability of a record's own symbol is at least 2/3 (``docs/decisions.md``,
"Codewords beside labels").

Checked proof: ``proofs/Symbols.v``, ``joint_response_is_private``, ``text_alone_is_private``,
``label_alone_is_private``.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

from adept.errors import ConfigurationError
from adept.mechanisms.base import LocalRandomizer, SymbolRandomizer
from adept.mechanisms.guarantee import Guarantee, Part, often, symbols_part, words
from adept.mechanisms.random_draws import exact_odds, exact_ranks
from adept.mechanisms.randomized_response import RandomizedResponse

MAX_AUDITED_SYMBOLS = 2**12  # symbols of the largest distribution that is written down for an audit

Symbol = tuple[int, str]


@dataclass(frozen=True, kw_only=True, eq=False)
class JointResponse:
    """A pure eps-LDP release of a text and a label as one symbol, in exact arithmetic.

    Attributes:
        mechanism: a learned codebook or a description, whose epsilon is the budget of the *pair* of
            text and label.
        labels: the public label set, two or more labels, all different.
    """

    mechanism: SymbolRandomizer
    labels: tuple[str, ...]
    name: ClassVar[str] = "joint_response"

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", self._response.labels)

    @classmethod
    def of(cls, mechanism: LocalRandomizer, labels: Sequence[str]) -> "JointResponse":
        """Return the mechanism that releases a label together with a symbol of ``mechanism``."""
        if not isinstance(mechanism, SymbolRandomizer):
            raise ConfigurationError(
                "mechanism must be learned_codebook or description for labels=joint_response, "
                f"got {mechanism.name}: its releases are no symbols of one finite alphabet"
            )
        return cls(mechanism=mechanism, labels=tuple(labels))

    @cached_property
    def text(self) -> SymbolRandomizer:
        """A copy of ``mechanism`` with the k and t for releasing text and label as one symbol."""
        return self.mechanism.beside(len(self.labels))

    @cached_property
    def _response(self) -> RandomizedResponse:
        return RandomizedResponse(epsilon=self.mechanism.epsilon, labels=self.labels)

    @property
    def epsilon(self) -> float:
        """The total privacy budget for a text together with its label, in nats."""
        return self.mechanism.epsilon

    @property
    def top(self) -> int:
        """The number t of heavy symbols of each record."""
        return self.text.heavy

    @property
    def size(self) -> int:
        """The number of symbols: k outcomes times L labels."""
        return self.text.count * len(self.labels)

    @property
    def odds(self) -> tuple[int, int]:
        """The integer weights (A, B) of a heavy symbol and of any other symbol."""
        return exact_odds(Fraction(self.epsilon))

    @property
    def total(self) -> int:
        """The sum W of the weights of all symbols."""
        heavy, light = self.odds
        return self.top * heavy + (self.size - self.top) * light

    @property
    def keep_probability(self) -> Fraction:
        """The exact probability that a record's own label is released."""
        heavy, light = self.odds
        return Fraction(self.top * heavy + (self.text.count - self.top) * light, self.total)

    @property
    def both_probability(self) -> Fraction:
        """The exact probability that one of the record's heavy symbols is released."""
        return Fraction(self.top * self.odds[0], self.total)

    def release(self, inputs: Any, labels: Sequence[str]) -> tuple[Any, list[str]]:
        """Release each record's text and label as one symbol, drawn in exact arithmetic.

        ``inputs`` are latents (B, n) for a codebook, and the records' descriptions for a
        ``Description``.
        """
        if len(inputs) != len(labels):
            raise ConfigurationError(f"labels must be as many as records, {len(inputs)}, got {len(labels)}")
        ranks, beside = self._drawn(labels)
        return self.text.choose(inputs, ranks), beside

    def _drawn(self, labels: Sequence[str]) -> tuple[list[int], list[str]]:
        """Draw a symbol for each record; return the rank of its outcome, and its label."""
        ranks = exact_ranks(len(labels), near=self.top, far=self.size - self.top, odds=self.odds)
        beside = self._response.choose(labels, [rank // self.text.count for rank in ranks])
        return [rank % self.text.count for rank in ranks], beside

    def certificate(self) -> list[Part]:
        """Return the certificate, with one part for the only random draw of a release."""
        epsilon, labels = Fraction(self.epsilon), len(self.labels)
        return [
            symbols_part("text and label", epsilon=epsilon, size=self.size, top=self.top, odds=self.odds, labels=labels)
        ]

    def guarantee(self, dim: int | None = None) -> Guarantee:
        """Return the guarantee of one release; ``dim`` is ignored."""
        return Guarantee.pure(
            epsilon=self.epsilon,
            exact=True,
            text=f"The released {self.text.symbol} and the released label are one symbol. As a pair they are "
            f"{words(self.epsilon)}-LDP (pure) for any two records. In {often(self.both_probability)} the pair is the record's own "
            f"label with {self.text.own_symbol}. The same holds for every text written from them{self.text.proviso}.",
        )

    @property
    def text_epsilon(self) -> float:
        """The epsilon, rounded up, of the released text if the label is not published."""
        heavy, light = self.odds
        count = len(self.labels)
        return self._log(Fraction(heavy + (count - 1) * light, count * light))

    @property
    def label_epsilon(self) -> float:
        """The epsilon of the released label alone, rounded up."""
        heavy, light = self.odds
        count = self.text.count
        return self._log(Fraction(self.top * heavy + (count - self.top) * light, count * light))

    def _log(self, ratio: Fraction) -> float:
        """Return the logarithm of a ratio, rounded up, but at most the epsilon of text and label."""
        found = math.log(ratio.numerator) - math.log(ratio.denominator)
        return min(self.epsilon, found * (1 + 1e-12) + 1e-12)

    @property
    def alphabet(self) -> list[Symbol]:
        """A sample of the symbols, which an audit uses as records."""
        last = self.text.count - 1
        return list(product(sorted({0, last // 2, last}), (self.labels[0], self.labels[-1])))

    def privatize(self, symbols: Sequence[Symbol]) -> list[Symbol]:
        """Release records that an audit gives as pairs (number of the outcome, label)."""
        numbers = [number for number, _ in symbols]
        ranks, labels = self._drawn([label for _, label in symbols])
        return list(zip(self.text.choose_symbols(numbers, ranks), labels, strict=True))

    @property
    def distribution(self) -> Callable[[Symbol], dict[Symbol, Fraction]] | None:
        """A function that maps a symbol, used as the record, to the distribution of its release.

        It is None if there are more than MAX_AUDITED_SYMBOLS symbols.
        """
        return self._distribution if self.size <= MAX_AUDITED_SYMBOLS else None

    def _distribution(self, symbol: Symbol) -> dict[Symbol, Fraction]:
        number, label = symbol
        heavy, light = self.odds
        distribution = dict.fromkeys(product(range(self.text.count), self.labels), Fraction(light, self.total))
        return distribution | {(place, label): Fraction(heavy, self.total) for place in self.text.heavy_symbols(number)}
