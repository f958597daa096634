"""What a claim is made of: how it can be read, for what unit, and what it is worth per record.

A *reading* is one way to read a claim: the paper's own, or the one that a user makes who takes the number as "epsilon per record".
Each has an epsilon for one pair of records, so that it can be audited, and says whether it is the paper's. What is expected is
stated beforehand, with the reason; the audit does not see it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

BUDGET = 4.0  # what most readings claim of their pair
SHORT, LONG = "show me flights", "i need a flight from boston to denver on monday morning please"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One claim about one pair of records.

    Attributes:
        unit: what the claim protects: a word, a record.
        epsilon: what it says of this pair.
        holds: what is expected.
        why: the reason, in one sentence.
        true_epsilon: of this pair, as far as it is known.
        pair: two records.
        claimed: is it the paper's claim; if not, it is what the number would mean to a user, and no claim of anybody's.
    """

    unit: str
    epsilon: float
    holds: bool
    why: str
    true_epsilon: str
    pair: tuple[str, str]
    claimed: bool = True


@dataclass(frozen=True, kw_only=True)
class Exhibit:
    """A published mechanism.

    Attributes:
        make: builds it.
        source: paper, and the public code that was read for details.
        claim: what the paper says, in words.
        per_record: what that is worth for a whole record.
    """

    name: str
    make: Callable[[], Any]
    source: str
    claim: str
    per_record: str
    readings: tuple[Reading, ...]
