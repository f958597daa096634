"""Reconstruction of records from releases of every mechanism in a comparison: rates beside their bounds.

The attacker knows the first seed's model and the mechanism, and has the private utterances, not knowing whose release it sees, or
everything that could have been said (``adept.attacks.reconstruct``). It computes the exact posterior, so that no attack on one
release names more. Secrets are released for it again, with noise of their own; what releases text at once has no latent to attack.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adept.attacks.reconstruct import GivenAway, Reconstruction, by_posterior
from adept.attacks.result import AttackRow, Game
from adept.comparison.cells import Cell, cells
from adept.comparison.config import CompareConfig
from adept.comparison.results import ALTERNATIVES
from adept.comparison.trial import Trial, family_in
from adept.data.corpus import load
from adept.data.tables import write_csv
from adept.mechanisms.guarantee import Guarantee, json_number

RECORDS, CANDIDATES = 1000, 10_000  # secrets, and what they may be, as in ``adept attack``
CONFIDENCE = 0.9999  # of each interval: a page has dozens
TABLE = "attacks.csv"
NUMBERS = ("epsilon", "largest_odds")  # that may be infinite


@dataclass(frozen=True, kw_only=True)
class AttackLine:
    """One line of ``attacks.csv``: what one attack on one mechanism at one budget came to.

    Attributes:
        claimed_epsilon, epsilon, delta: of the text alone, where labels have a share of the budget.
        clip, content: of the model.
        knows: pool, the private utterances by their frequency, or crowd, all that could have been said, equally likely.
        success: exact, or good enough: the same slot values.
        candidates: different utterances among which a secret stands.
        rate, low, high: the share of right guesses, and its interval.
        without_release: what the best guess without a release reaches.
        claimed_bound, bound: what no attack exceeds if the claim holds, and in truth.
        optimum: what the best attack reaches exactly; None where the law is not finite.
        beyond_claim: share of the releases that moved odds further than the claim allows; None with a delta, which allows some.
        largest_odds: how far odds moved at most, in nats; None where nobody looked.
        refutes_claim, beyond_bound: is the whole interval above the bound.
        words: the same in a sentence.
    """

    mechanism: str
    claimed_epsilon: float
    epsilon: float
    delta: float
    clip: str
    content: str
    knows: str
    success: str
    candidates: int
    records: int
    confidence: float
    rate: float
    low: float
    high: float
    without_release: float
    claimed_bound: float
    bound: float
    optimum: float | None
    beyond_claim: float | None
    largest_odds: float | None
    refutes_claim: bool
    beyond_bound: bool
    words: str

    @classmethod
    def of(cls, cell: Cell, promise: Guarantee, row: AttackRow) -> "AttackLine":
        """Return an attack's row, flat, with what was attacked."""
        family, rate = family_in(cell), row.rate
        return cls(
            mechanism=cell.mechanism,
            claimed_epsilon=promise.claimed_epsilon,
            epsilon=promise.epsilon,
            delta=promise.delta,
            clip=family.clip,
            content=family.content,
            knows=row.knows,
            success=row.success,
            candidates=row.detail["candidates"],
            records=rate.trials,
            confidence=rate.confidence,
            rate=rate.value,
            low=rate.low,
            high=rate.high,
            without_release=row.without_release,
            claimed_bound=row.claimed_bound,
            bound=row.bound,
            optimum=row.optimum,
            beyond_claim=row.detail.get("beyond_claim"),
            largest_odds=row.detail.get("largest_odds"),
            refutes_claim=row.refutes_claim,
            beyond_bound=row.beyond_bound,
            words=row.words,
        )


@dataclass(frozen=True)
class Attacked:
    """What was found out about records from releases of one mechanism at one budget.

    Attributes:
        lines: one attack on one success each.
        given_away: records that were named right, the surest first; none of data that are not public.
    """

    lines: list[AttackLine]
    given_away: list[GivenAway]

    def plain(self) -> dict[str, Any]:
        """Return the fields as JSON can hold them."""
        lines = [vars(line) | {name: json_number(getattr(line, name)) for name in NUMBERS} for line in self.lines]
        return {"lines": lines, "given_away": [vars(away) for away in self.given_away]}

    @classmethod
    def from_plain(cls, values: dict[str, Any]) -> "Attacked":
        """Return what ``plain`` came from."""
        lines = [
            AttackLine(**line | {name: None if line[name] is None else float(line[name]) for name in NUMBERS})
            for line in values["lines"]
        ]
        return cls(lines, [GivenAway(**away) for away in values["given_away"]])


def attacks(config: CompareConfig) -> list[Attacked]:
    """Attack each mechanism at each budget with the first seed's models, or find what an earlier run found; none unless asked for.

    ``attacks.csv`` is in the output directory then.
    """
    if not config.attacks:
        return []
    trial = Trial(config, load(config.data), config.seeds[0])
    asked = sorted(attackable(cells(config)), key=lambda cell: config.mechanisms.index(cell.mechanism))
    found = [attacked(trial, cell) for cell in asked]
    if found:
        write_csv([line for one in found for line in one.lines], Path(config.output_dir) / TABLE)
    return found


def attackable(asked: Sequence[Cell]) -> list[Cell]:
    """Return of all cells one for each release of a model with a budget, whatever reads it."""
    releases = {
        (cell.family, cell.mechanism, cell.budget): cell
        for cell in reversed(asked)
        if cell.family is not None and cell.budget is not None and cell.mechanism not in ALTERNATIVES
    }
    return list(reversed(releases.values()))


def attacked(trial: Trial, cell: Cell) -> Attacked:
    """Attack a cell's mechanism, or find what an earlier run found."""
    return trial.store.attack(cell, lambda: _attacked(trial, cell).plain(), Attacked.from_plain)


def _attacked(trial: Trial, cell: Cell) -> Attacked:
    rewriter = trial.rewriter(cell)
    game = Game(records=RECORDS, confidence=CONFIDENCE, seed=trial.seed)
    found: Reconstruction = by_posterior(rewriter, trial.private, trial.public, game, candidates=CANDIDATES)
    lines = [AttackLine.of(cell, rewriter.guarantee, row) for row in found.rows]
    return Attacked(lines, found.given_away if trial.config.data.public else [])
