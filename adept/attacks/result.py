"""What an attack came to: its rate beside what is possible, and the odds in words."""

from dataclasses import asdict, dataclass
from typing import Any

from adept.attacks.bounds import Rate
from adept.mechanisms.guarantee import json_number


@dataclass(frozen=True, kw_only=True)
class Game:
    """How an attack is played.

    Attributes:
        records: secrets that are released and attacked.
        confidence: of every interval.
        seed: of the draws of secrets and texts; releases have fresh noise.
    """

    records: int = 1000
    confidence: float = 0.999
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class AttackRow:
    """One attack on one property of the records.

    Attributes:
        attack: reconstruction | attribute | membership.
        knows: what the attacker has: pool | crowd | search | text, static | adaptive | release, or shadows.
        success: what counts: exact | good enough | the attribute's name | true positives.
        rate: how often it succeeded.
        without_release: what the best guess without any release reaches.
        bound: what no attack on one release exceeds, at the true epsilon.
        claimed_bound: the same at the claimed epsilon.
        optimum: what the best attack on this mechanism reaches exactly, where its distribution is finite.
        detail: further figures, by name.
    """

    attack: str
    knows: str
    success: str
    rate: Rate
    without_release: float
    bound: float
    claimed_bound: float
    optimum: float | None
    detail: dict[str, Any]

    @property
    def refutes_claim(self) -> bool:
        """Is the whole interval above what the claim allows."""
        return self.rate.exceeds(self.claimed_bound)

    @property
    def beyond_bound(self) -> bool:
        """Is the whole interval above what the true epsilon allows: a bug of ours, or a violation."""
        return self.rate.exceeds(self.bound)

    @property
    def words(self) -> str:
        """The odds in a sentence."""
        of_100 = f"Of 100 guesses {per_hundred(self.rate.value)} are right"
        without = f"{per_hundred(self.without_release)} without any release"
        allowed = f"at most {per_hundred(self.bound)} are possible at the true epsilon"
        claimed = (
            ""
            if self.bound == self.claimed_bound
            else f", at most {per_hundred(self.claimed_bound)} at the claimed one"
        )
        verdict = ": the claim is refuted" if self.refutes_claim else ""
        beyond = self.detail.get("beyond_claim", 0.0)
        odds = f" In {per_hundred(beyond)} of 100 releases odds move further than the claim allows." if beyond else ""
        return f"{of_100}; {without}, {allowed}{claimed}{verdict}.{odds}"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and verdicts as JSON values."""
        described = asdict(self)
        return {
            **described,
            "detail": {name: json_number(v) if isinstance(v, float) else v for name, v in self.detail.items()},
            "refutes_claim": self.refutes_claim,
            "beyond_bound": self.beyond_bound,
            "words": self.words,
        }


def per_hundred(share: float) -> str:
    """Return a share as a count of a hundred: to the tenth near either end, and never as none or all if it is neither."""
    hundred = 100 * share
    if 0 < hundred < 0.05:
        return "fewer than 0.1"
    if hundred >= 99.95:
        return "99.9" if share < 1 else "100"
    return f"{hundred:.0f}" if 9.5 <= hundred < 99.5 else f"{hundred:.1f}"
