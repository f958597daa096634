"""The game that all attacks play: secrets are drawn at random, released once, and guessed.

The secrets are drawn independently of each other, so the bounds in ``adept.studies.limits`` hold for the share of
right guesses.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from torch import Tensor

from adept.audit.stats import clopper_pearson
from adept.data.corpus import Corpus
from adept.errors import refuse
from adept.mechanisms.guarantee import Guarantee, format_bound, good_enough, json_number, words
from adept.plotting import INK, PALETTE, Figure, drawing, legend
from adept.rewriting.rewriter import Rewriter
from adept.studies.limits import best_guess


@dataclass(frozen=True)
class Rate:
    """The success rate of an attack in independent rounds, with a Clopper-Pearson interval."""

    value: float
    low: float
    high: float
    trials: int
    confidence: float  # the interval holds the true rate with at least this probability

    @classmethod
    def of(cls, successes: int, trials: int, *, confidence: float) -> "Rate":
        """Return the rate of ``successes`` right guesses in ``trials`` independent rounds."""
        counts = f"successes must be from 0 to the trials, at least one, got {successes} of {trials}"
        refuse(
            (not 0 < confidence < 1, f"confidence must be between 0 and 1, got {confidence}"),
            (not 0 <= successes <= trials or trials < 1, counts),
        )
        low, high = clopper_pearson(successes, trials, alpha=(1 - confidence) / 2)
        return cls(successes / trials, float(low), float(high), trials, confidence)


@dataclass(frozen=True, kw_only=True)
class AttackRow:
    """The success rate of one attack, with the bounds on this rate and further results."""

    attack: str  # reconstruction | attribute | membership
    knows: str  # pool | crowd | text, static | adaptive | release, or shadows
    success: str  # exact | good enough | the attribute's name | true positives
    rate: Rate
    without_release: float  # success rate of the best guess without any release
    bound: float  # largest success rate that the true epsilon allows
    claimed_bound: float  # largest success rate that the claimed epsilon allows
    optimum: float | None = None  # exact success rate of the best attack; None if unknown
    detail: dict[str, Any]  # further results, by name

    @property
    def refutes_claim(self) -> bool:
        """True if the rate's confidence interval lies wholly above the claimed epsilon's bound."""
        return self.rate.low > self.claimed_bound

    @property
    def beyond_bound(self) -> bool:
        """True if the rate's confidence interval lies wholly above the true epsilon's bound."""
        return self.rate.low > self.bound

    @property
    def refutes_any(self) -> bool:
        """True if the success rate is above a bound, or if some releases changed the odds of two
        candidates by more than the claimed epsilon allows.
        """
        return self.refutes_claim or self.beyond_bound or bool(self.detail.get("beyond_claim"))

    @property
    def words(self) -> str:
        """Sentences that state the success rate, its bounds, and any refutation of the claim."""
        without, beyond = per_hundred(self.without_release), float(self.detail.get("beyond_claim", 0.0))
        bound, claimed = (per_hundred(each, lower=False) for each in (self.bound, self.claimed_bound))
        return (
            f"Of 100 guesses {per_hundred(self.rate.value)} are right; {without} without any release, "
            f"at most {bound} are possible at the true epsilon"
            + f", at most {claimed} at the claimed one" * (self.bound != self.claimed_bound)
            + f"{': the claim is refuted' * self.refutes_claim}."
            + f" In {per_hundred(beyond)} of 100 releases the odds change more than the claim allows." * (beyond > 0)
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            **asdict(self),
            "detail": {name: json_number(v) if isinstance(v, float) else v for name, v in self.detail.items()},
            "refutes_claim": self.refutes_claim,
            "beyond_bound": self.beyond_bound,
            "words": self.words,
        }


@dataclass(frozen=True)
class GivenAway:
    """A secret text that the attacker named correctly."""

    text: str
    certainty: float  # the attacker's posterior probability
    allowed: float  # the largest posterior probability that the claimed epsilon allows

    @property
    def beyond_claim(self) -> bool:
        """True if the attacker's posterior probability is above what the claimed epsilon allows."""
        return self.certainty > self.allowed * (1 + 1e-6)  # probabilities were summed in another order


@dataclass(frozen=True, kw_only=True)
class AttackGame:
    """The game against one rewriter, with the private records and the attacker's public text."""

    rewriter: Rewriter  # from `Rewriter.for_measurement`
    private: Corpus  # the secrets are drawn from these records
    public: Corpus  # text that the attacker knows
    records: int = 1000  # number of secrets that are released and attacked
    confidence: float = 0.999  # confidence level of every interval
    seed: int = 0  # for drawing secrets and texts; the noise of releases is always new

    def draw(self, count: int, weights: Sequence[float] | None = None) -> list[int]:
        """Draw each secret from ``count`` candidates, with replacement; return the indices."""
        return random.Random(self.seed).choices(range(count), weights=weights, k=self.records)

    def release(self, secrets: Sequence[str]) -> Tensor:
        return self.rewriter.release(secrets).cpu()

    def row(
        self,
        attack: str,
        knows: str,
        success: str,
        right: Tensor,
        prior: Tensor,
        *,
        optimum: float | None = None,
        detail: Mapping[str, float] | None = None,
    ) -> AttackRow:
        """Return the row of an attack: its success rate, and the bounds on this rate.

        ``right`` (m,) is True for each right guess. ``prior`` holds the prior probability of each value that the
        attacker may name.
        """
        promise = self.rewriter.guarantee
        epsilons = promise.epsilon, promise.claimed_epsilon
        if promise.delta:
            bounds = [good_enough(float(prior.max()), epsilon=each, delta=promise.delta) for each in epsilons]
        else:  # the secret has one of several values
            bounds = [best_guess(prior.tolist(), epsilon=each) for each in epsilons]
        return AttackRow(
            attack=attack,
            knows=knows,
            success=success,
            rate=Rate.of(int(right.sum()), len(right), confidence=self.confidence),
            without_release=float(prior.max()),
            bound=bounds[0],
            claimed_bound=bounds[1],
            optimum=optimum,
            detail=dict(detail or {}),
        )


def per_hundred(share: float, *, lower: bool | None = None) -> str:
    """Return a share in percent as text, "100" only if it is exactly 1; with ``lower``, as ``format_bound`` rounds."""
    hundred = 100 * share
    if lower is not None:
        return format_bound(100 * Decimal(str(share)), digits=int(hundred < 9.5), lower=lower)
    if 0 < hundred < 0.05:
        return "fewer than 0.1"
    if hundred >= 99.95:
        return "99.9" if share < 1 else "100"
    return f"{hundred:.0f}" if 9.5 <= hundred < 99.5 else f"{hundred:.1f}"


def draw_rates(rows: Sequence[AttackRow], promise: Guarantee) -> Figure:
    with drawing(1, 1, size=(7.5, 1.6 + 0.5 * len(rows))) as opened:
        axis = opened.axes[0, 0]
        for place, row in enumerate(rows):
            _draw_row(axis, place, row, promise)
        axis.set_yticks(range(len(rows)), [f"{row.knows}: {row.success}" for row in rows])
        axis.invert_yaxis()
        shares = [share for row in rows for share in (row.without_release, row.claimed_bound)]
        lowest = min((share for share in shares if share > 0), default=1.0)
        if is_small := lowest < 0.05:
            axis.set_xscale("log")
        axis.set_xlim(lowest / 2 if is_small else 0, 1.05)
        axis.set_xlabel("share of right guesses")
        legend(opened.figure, axis, columns=3)
    return opened.svg


def _draw_row(axis: Any, place: int, row: AttackRow, promise: Guarantee) -> None:
    blue, orange, green, red = PALETTE[:4]
    axis.barh(place, row.rate.value, height=0.5, color=blue, alpha=0.35)
    axis.plot([row.rate.low, row.rate.high], [place, place], color=blue, linewidth=2.5, label="attack, interval")
    marks = [
        (row.without_release, INK, ":", "without the release"),
        (row.bound, green, "-", f"bound, epsilon {words(promise.epsilon)}"),
    ]
    if row.claimed_bound != row.bound:
        marks.append((row.claimed_bound, red, "--", f"bound as claimed, epsilon {words(promise.claimed_epsilon)}"))
    if row.optimum is not None:
        marks.append((row.optimum, orange, "-", "best possible attack"))
    for value, color, style, label in marks:
        axis.vlines(value, place - 0.35, place + 0.35, color=color, linestyle=style, linewidth=1.8, label=label)
