r"""Private labels: a label alone by randomised response, or a text and its label as one pair.

Randomised response (Warner 1965; Habernal 2025, lecture 5) reports the true label with probability P(keep), and
otherwise one of the other labels at random. With k labels and P(keep) = e^eps / (e^eps + k - 1), randomised response is
eps-LDP. No eps-LDP mechanism reports every true label with a larger probability, because each of the k - 1 wrong labels
has a probability of at least e^-eps P(keep), and all probabilities sum to 1.

*Pairs*: a record has a text and one of L public labels. The public list holds the k L pairs of an *outcome* (a
codeword, or a sentence's number) and a label. The heavy pairs of a record are its t nearest outcomes, each with the
record's own label. Claim and proof, also of what each half tells alone, are those of ``adept.mechanisms.selection``:
the set of heavy pairs has t members, whatever the label is. The rules of ``adept.mechanisms.policy`` set k and t.

Checked proof: ``proofs/Symbols.v``, ``randomized_response_is_private``, ``lecture_theta_is_private``,
``joint_response_is_private``, ``text_alone_is_private``, ``label_alone_is_private``.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import ClassVar

import torch

from adept.errors import BUDGETS, ConfigurationError, check_between, check_choice, refuse
from adept.mechanisms import policy
from adept.mechanisms.base import LocalRandomizer, check_listed
from adept.mechanisms.codebook import LearnedCodebook
from adept.mechanisms.guarantee import Guarantee, Part, often, words
from adept.mechanisms.selection import Description, Selection

MAX_AUDITED_PAIRS = 2**12  # pairs of the largest distribution that is written down for an audit

Pair = tuple[int, str]


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse:
    """A pure eps-LDP release of one of k public labels, for any two records, in exact arithmetic.

    The list is the label set, and a record has one heavy entry: its own label (``adept.mechanisms.selection``).

    Attributes:
        epsilon: the budget in nats, from 1e-3 to 600.
        labels: the public label set, two or more labels, all different.
        theta: the rule for P(keep), the probability that the true label is released. The rule
            "tight" spends the whole budget. The rule "lecture", for two labels only, sets P(keep) =
            (eps + 1) / (eps + 2), which spends only ln(1 + eps).
    """

    epsilon: float
    labels: tuple[str, ...]
    theta: str = "tight"

    def __post_init__(self) -> None:
        check_between(*BUDGETS, epsilon=self.epsilon)
        object.__setattr__(self, "labels", label_tuple(self.labels))
        check_choice(("tight", "lecture"), theta=self.theta)
        refuse(
            (
                self.theta != "tight" and len(self.labels) != 2,
                f"theta must be tight for more than two labels, got {self.theta!r}",
            )
        )

    @property
    def spent(self) -> float:
        """The epsilon that the odds spend: at most the budget, and ln(1 + eps) for the lecture."""
        # ln(1 + eps), moved up past the rounding of log1p
        lecture = self.theta == "lecture"
        return min(self.epsilon, math.log1p(self.epsilon) * (1 + 1e-15)) if lecture else self.epsilon

    @property
    def selection(self) -> Selection:
        """The draw of a label's place in the label set."""
        weights = (1 + Fraction(self.epsilon)).as_integer_ratio() if self.theta == "lecture" else None
        return Selection(epsilon=self.spent, size=len(self.labels), weights=weights)

    @property
    def odds(self) -> tuple[int, int]:
        """The integer weights (A, B) of the true label and of any other label."""
        return self.selection.odds

    @property
    def keep_probability(self) -> Fraction:
        """The exact probability A / W that the true label is released."""
        return self.selection.heavy_probability

    def privatize(self, labels: Sequence[str]) -> list[str]:
        """Release each label in exact arithmetic, with random bits from the operating system."""
        return [self.labels[place] for place in self.selection.draw(label_places(self.labels, labels)).tolist()]

    def simulate(self, labels: Sequence[str], generator: torch.Generator | None) -> list[str]:
        """Simulate a release of each label with a seeded generator, without privacy."""
        places = self.selection.simulate(label_places(self.labels, labels), generator)
        return [self.labels[place] for place in places.tolist()]

    def certificate(self) -> list[Part]:
        """Return the certificate, with one part for the only random draw of a release."""
        return self.selection.certificate("label")

    def guarantee(self) -> Guarantee:
        slack = f" This spends only ln(1 + {words(self.epsilon)})." if self.theta == "lecture" else ""
        kept = f"It is one of {len(self.labels)} public labels, and in {often(self.keep_probability)} the record's own.{slack}"
        text = f"The released label is {words(self.spent)}-LDP (pure) for any two records. {kept}"
        return replace(self.selection.guarantee(text), claimed_epsilon=self.epsilon)

    def estimate_frequencies(self, released: Sequence[str]) -> tuple[dict[str, float], dict[str, float]]:
        """Return unbiased estimates of the true frequency of each label, and their standard errors.

        A label of true frequency f is released with probability Q + (P - Q) f, where P = A / W and Q = B / W. So from
        its share r among the N released labels, (r - Q) / (P - Q) estimates f, with the standard error sqrt(r (1 - r)
        / N) / (P - Q), which covers noise and sampling (Warner 1965). The estimates sum to one and may be negative.
        """
        refuse((not list(released), "released must hold at least one label, got none"))
        (heavy, light), total = self.odds, self.selection.total
        floor, gain = light / total, (heavy - light) / total
        counts = Counter(label_places(self.labels, released))
        shares = {label: counts[place] / len(released) for place, label in enumerate(self.labels)}
        estimates = {label: (share - floor) / gain for label, share in shares.items()}
        errors = {label: math.sqrt(share * (1 - share) / len(released)) / gain for label, share in shares.items()}
        return estimates, errors


@dataclass(frozen=True, kw_only=True, eq=False)
class JointResponse:
    """A pure eps-LDP release of a text and a label as one pair, in exact arithmetic.

    Attributes:
        mechanism: a learned codebook or a description, whose epsilon is the budget of the *pair* of text and label.
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
        return Fraction(self._label_weight, self.selection.total)

    @property
    def _label_weight(self) -> int:
        """The total weight t A + (K' - t) B of the pairs with the record's own label."""
        own, (heavy, light) = self.text.selection, self.selection.odds
        return own.heavy_count * heavy + (own.size - own.heavy_count) * light

    @property
    def text_epsilon(self) -> float:
        """The epsilon, rounded up, of the released text if the label is not published."""
        (heavy, light), labels = self.selection.odds, len(self.labels)
        return self._log(Fraction(heavy + (labels - 1) * light, labels * light))

    @property
    def label_epsilon(self) -> float:
        """The epsilon, rounded up, of the released label alone."""
        return self._log(Fraction(self._label_weight, self.text.selection.size * self.selection.odds[1]))

    def _log(self, ratio: Fraction) -> float:
        """Return the logarithm of a ratio, rounded up, but at most epsilon."""
        return min(self.epsilon, (math.log(ratio.numerator) - math.log(ratio.denominator)) * (1 + 1e-12) + 1e-12)

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


def label_tuple(labels: object) -> tuple[str, ...]:
    """Return a public label set as a tuple; refuse it unless it holds two labels, all different."""
    if not isinstance(labels, list | tuple) or not all(isinstance(label, str) for label in labels):
        raise ConfigurationError(f"labels must be a list of strings alone, got a {type(labels).__name__}")
    if len(labels) < 2 or len(set(labels)) != len(labels):
        raise ConfigurationError(
            f"labels must be at least two, all different, got {len(labels)} ({len(set(labels))} different)"
        )
    return tuple(labels)


def label_places(known: Sequence[str], labels: Sequence[str]) -> list[int]:
    """Return the place of each label in a public set; refuse an unknown one without repeating it."""
    check_listed("labels", labels)
    places = {label: place for place, label in enumerate(known)}
    unknown = next((row for row, label in enumerate(labels, start=1) if label not in places), None)
    if unknown is not None:
        raise ConfigurationError(
            f"labels must hold every label that occurs, got an unknown one in record {unknown}: add it to the public set"
        )
    return [places[label] for label in labels]
