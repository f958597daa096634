"""Mechanisms for single values: a public label, a bounded integer, or one of K scored items.

Randomised response (Warner 1965; Habernal 2025, lecture 5) reports the true label with probability
P(keep), and otherwise one of the other labels at random. With k labels and P(keep) = e^eps /
(e^eps + k - 1), randomised response is eps-LDP. No eps-LDP mechanism reports every true label with
a larger probability, because each of the k - 1 wrong labels has a probability of at least e^-eps
P(keep), and all probabilities sum to 1.

``ScalarLaplace`` answers the numeric query of the same lecture, "how many classes did you skip?",
whose answer is a number from 0 to 15.

Checked proof: ``proofs/Symbols.v``, ``randomized_response_is_private``,
``lecture_theta_is_private``.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import torch
from torch import Tensor

from adept.errors import ConfigurationError
from adept.mechanisms.discrete_laplace import exact_laplace, smallest_scale
from adept.mechanisms.guarantee import Guarantee, Part, often, words
from adept.mechanisms.random_draws import fresh_index
from adept.mechanisms.selection import Selection
from adept.ranges import BUDGETS, check_between, check_positive

THETAS = ("tight", "lecture")
MAX_RANGE = 2**31
MAX_WEIGHTS = 2**22  # weights of choices that are in memory at once


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse:
    """A pure eps-LDP release of one of k public labels, for any two records, in exact arithmetic.

    The list is the label set, and a record has one heavy entry: its own label
    (``adept.mechanisms.selection``).

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
        if self.theta not in THETAS:
            raise ConfigurationError(f"theta must be one of {', '.join(THETAS)}, got {self.theta!r}")
        if self.theta == "lecture" and len(self.labels) != 2:
            raise ConfigurationError(f"theta must be tight for more than two labels, got {self.theta!r}")

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

        A label of true frequency f is released with probability Q + (P - Q) f, where P = A / W and Q = B / W. So
        from its share r among the N released labels, (r - Q) / (P - Q) estimates f, with the standard error
        sqrt(r (1 - r) / N) / (P - Q), which covers noise and sampling (Warner 1965). The estimates sum to one and
        may be negative.
        """
        if not released:
            raise ConfigurationError("released must hold at least one label, got none")
        (heavy, light), total = self.odds, self.selection.total
        floor, gain = light / total, (heavy - light) / total
        counts = Counter(label_places(self.labels, released))
        shares = {label: counts[place] / len(released) for place, label in enumerate(self.labels)}
        estimates = {label: (share - floor) / gain for label, share in shares.items()}
        errors = {label: math.sqrt(share * (1 - share) / len(released)) / gain for label, share in shares.items()}
        return estimates, errors


@dataclass(frozen=True, kw_only=True)
class ScalarLaplace:
    """A pure eps-LDP release of one integer in [lower, upper], computed in exact arithmetic.

    Proof: values are clamped to the public range, so the l1 sensitivity is upper - lower. The discrete Laplace
    noise has a scale b with (upper - lower) / b <= eps. A released value may lie outside the range, because
    clamping it would bias the mean.
    """

    epsilon: float
    lower: int = 0
    upper: int = 15

    def __post_init__(self) -> None:
        check_positive(epsilon=self.epsilon)
        check_integers([self.lower, self.upper])
        if not 1 <= self.upper - self.lower <= MAX_RANGE or max(abs(self.lower), abs(self.upper)) > MAX_RANGE:
            raise ConfigurationError(
                f"lower and upper must be within 2^31 of zero and of each other, lower < upper, got {self.lower} and {self.upper}"
            )

    @property
    def scale(self) -> float:
        """The scale b of the noise."""
        return smallest_scale(self.upper - self.lower, epsilon=self.epsilon)

    def privatize(self, values: Sequence[int]) -> list[int]:
        """Clamp each integer and release it, with noise from the operating system's entropy."""
        check_integers(values)
        clamped = [min(max(value, self.lower), self.upper) - self.lower for value in values]
        noisy = exact_laplace(torch.tensor(clamped, dtype=torch.int64), scale=self.scale)
        return [int(value) + self.lower for value in noisy.tolist()]

    def simulate(self, values: Sequence[int], generator: torch.Generator | None) -> list[int]:
        """Simulate a release of each integer with a seeded generator, without privacy."""
        check_integers(values)
        clamped = torch.tensor(list(values), dtype=torch.int64).clamp(self.lower, self.upper)
        first, second = torch.empty(2, len(clamped), dtype=torch.float64).exponential_(generator=generator)
        noise = (self.scale * first).floor() - (self.scale * second).floor()
        return [int(value) for value in (clamped + noise.to(torch.int64)).tolist()]

    def guarantee(self) -> Guarantee:
        return Guarantee.pure(
            epsilon=self.epsilon,
            exact=True,
            sensitivity=float(self.upper - self.lower),
            scale=self.scale,
            text=f"The released number is {words(self.epsilon)}-LDP (pure) for any two records with values from {self.lower} "
            f"to {self.upper}; values outside are clamped first.",
        )

    def expected_squared_error(self) -> float:
        """Return the variance of the noise, 2p / (1 - p)^2 with p = exp(-1 / b)."""
        return 2 * math.exp(-1 / self.scale) / math.expm1(-1 / self.scale) ** 2


def label_tuple(labels: object) -> tuple[str, ...]:
    """Return a public label set as a tuple; refuse it unless it holds two labels, all different."""
    if not isinstance(labels, list | tuple) or not all(isinstance(label, str) for label in labels):
        raise ConfigurationError(f"labels must be a list of strings, got a {type(labels).__name__}")
    if len(labels) < 2 or len(set(labels)) != len(labels):
        raise ConfigurationError(
            f"labels must be at least two, all different, got {len(labels)} ({len(set(labels))} different)"
        )
    return tuple(labels)


def label_places(known: Sequence[str], labels: Sequence[str]) -> list[int]:
    """Return the place of each label in a public set; refuse an unknown one without repeating it."""
    places = {label: place for place, label in enumerate(known)}
    unknown = next((row for row, label in enumerate(labels, start=1) if label not in places), None)
    if unknown is not None:
        raise ConfigurationError(
            f"labels must hold every label that occurs, got an unknown one in record {unknown}: add it to the public set"
        )
    return [places[label] for label in labels]


def check_integers(values: Sequence[int]) -> None:
    for row, value in enumerate(values, start=1):
        if isinstance(value, bool) or not isinstance(value, int):
            raise ConfigurationError(f"values must be integers, got {type(value).__name__} in record {row}")


def exponential_choice(scores: Tensor, *, epsilon: float) -> Tensor:
    """Choose one of K public items for each record by the exponential mechanism in floating point.

    A score u(x, y) in [0, 1] says how well the item y fits the record x; P(y | x) is proportional to
    exp(eps u(x, y) / 2). ``scores`` (B, K) are clamped to [0, 1], and NaN becomes 0.

    Claim: the choice is eps-LDP for any two records. Proof: another record changes exp(eps u / 2), and the sum
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
