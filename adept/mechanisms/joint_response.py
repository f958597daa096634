r"""Private labels: a record's text and label are released as one pair, by subset selection.

A record has a text and one of L public labels. The public list holds the k L pairs of an *outcome* (a
codeword, or a sentence's number) and a label. The heavy pairs of a record are its t nearest outcomes,
each with the record's own label. Claim and proof, also of what each half tells alone, are those of
``adept.mechanisms.selection``: the set of heavy pairs has t members, whatever the label is.

The rules of ``adept.mechanisms.policy`` set k and t.

Checked proof: ``proofs/Symbols.v``, ``joint_response_is_private``, ``text_alone_is_private``,
``label_alone_is_private``.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import ClassVar

from adept.errors import ConfigurationError
from adept.mechanisms import policy
from adept.mechanisms.base import LocalRandomizer
from adept.mechanisms.description import Description
from adept.mechanisms.guarantee import Guarantee, Part, often, words
from adept.mechanisms.learned_codebook import LearnedCodebook
from adept.mechanisms.randomized_response import label_places, label_tuple
from adept.mechanisms.selection import Selection

MAX_AUDITED_PAIRS = 2**12  # pairs of the largest distribution that is written down for an audit

Pair = tuple[int, str]


@dataclass(frozen=True, kw_only=True, eq=False)
class JointResponse:
    """A pure eps-LDP release of a text and a label as one pair, in exact arithmetic.

    Attributes:
        mechanism: a learned codebook or a description, whose epsilon is the budget of the *pair* of
            text and label.
        labels: the public label set, two or more labels, all different.
    """

    mechanism: LearnedCodebook | Description
    labels: tuple[str, ...]
    name: ClassVar[str] = "joint_response"

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", label_tuple(self.labels))

    @classmethod
    def of(cls, mechanism: LocalRandomizer, labels: Sequence[str]) -> "JointResponse":
        """Return the mechanism that releases a label together with a text of ``mechanism``."""
        if not isinstance(mechanism, LearnedCodebook | Description):
            raise ConfigurationError(
                "mechanism must be learned_codebook or description for labels=joint_response, "
                f"got {mechanism.name}: its releases are no entries of one public list"
            )
        return cls(mechanism=mechanism, labels=tuple(labels))

    @cached_property
    def text(self) -> LearnedCodebook | Description:
        """A copy of ``mechanism`` with the k and t for releasing text and label as one pair."""
        own, labels = self.mechanism, len(self.labels)
        if isinstance(own, Description):
            return replace(own, size=own.size or policy.best_size_beside_labels(own.epsilon, labels))
        given = own.count if own.size or own.codewords is not None else None
        size, top = policy.codewords_beside_labels(own.epsilon, labels, size=given)
        return replace(own, size=size, top=own.top or top)

    @property
    def epsilon(self) -> float:
        """The total privacy budget for a text together with its label, in nats."""
        return self.mechanism.epsilon

    @property
    def selection(self) -> Selection:
        """The draw of a pair's index: the label's place times k, plus the outcome's number."""
        own = self.text.selection
        return Selection(epsilon=self.epsilon, size=own.size * len(self.labels), heavy_count=own.heavy_count)

    @property
    def keep_probability(self) -> Fraction:
        """The exact probability that a record's own label is released."""
        return Fraction(self.selection.label_weight(len(self.labels)), self.selection.total)

    @property
    def text_epsilon(self) -> float:
        """The epsilon, rounded up, of the released text if the label is not published."""
        return self.selection.entry_epsilon(len(self.labels))

    @property
    def label_epsilon(self) -> float:
        """The epsilon, rounded up, of the released label alone."""
        return self.selection.label_epsilon(len(self.labels))

    def certificate(self) -> list[Part]:
        """Return the certificate, with one part for the only random draw of a release."""
        return self.selection.certificate("text and label", labels=len(self.labels))

    def guarantee(self, dim: int | None = None) -> Guarantee:
        """Return the guarantee of one release; ``dim`` is ignored."""
        described, top = isinstance(self.text, Description), self.selection.heavy_count
        if described:
            symbol, proviso = "description", ""
            own = "the record's own description" if top == 1 else f"one of the record's own {top:,} descriptions"
        else:
            symbol, proviso = "codeword", ", provided that the codebook was not made from private data"
            own = "its nearest codeword" if top == 1 else f"one of its {top} nearest codewords"
        return self.selection.guarantee(
            f"The released {symbol} and the released label are one symbol. As a pair they are "
            f"{words(self.epsilon)}-LDP (pure) for any two records. In {often(self.selection.heavy_probability)} the pair is the "
            f"record's own label with {own}. The same holds for every text written from them{proviso}."
        )

    @property
    def alphabet(self) -> list[Pair]:
        """A sample of the pairs, which an audit uses as records."""
        last = self.text.count - 1
        return list(product(sorted({0, last // 2, last}), (self.labels[0], self.labels[-1])))

    def privatize(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Release records that an audit gives as pairs (number of the outcome, label)."""
        return list(self._pairs(self.selection.draw([[*self._heavy(pair)] for pair in pairs]).tolist()))

    @property
    def distribution(self) -> Callable[[Pair], dict[Pair, Fraction]] | None:
        """A function that maps a pair, used as the record, to the distribution of its release.

        It is None if there are more than MAX_AUDITED_PAIRS pairs.
        """
        return self._distribution if self.selection.size <= MAX_AUDITED_PAIRS else None

    def _distribution(self, pair: Pair) -> dict[Pair, Fraction]:
        found = self.selection.distribution(self._heavy(pair))
        return dict(zip(self._pairs(found), found.values(), strict=True))

    def _heavy(self, pair: Pair) -> set[int]:
        number, label = pair
        first = label_places(self.labels, [label])[0] * self.text.count
        return {first + outcome for outcome in self.text.heavy_symbols(number)}

    def _pairs(self, indices: Iterable[int]) -> Iterator[Pair]:
        for index in indices:
            label, outcome = divmod(index, self.text.count)
            yield outcome, self.labels[label]
