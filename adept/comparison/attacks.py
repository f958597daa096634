"""Reconstruction of records from releases of every mechanism in a comparison: rates beside their bounds.

The attacker knows the first seed's model and the mechanism, and has the private utterances, not knowing whose release it sees, or
everything that could have been said (``adept.attacks.reconstruction_game``). It computes the exact posterior, so that no attack
on one release names more. Secrets are released for it again, with noise of their own; what releases text at once has no latent to
attack.
"""

from adept.attacks.reconstruction_game import by_posterior
from adept.attacks.result import AttackRow, Game
from adept.comparison.plan import Cell, Family
from adept.comparison.results import Attacked, AttackLine
from adept.comparison.trial import Trial
from adept.mechanisms.guarantee import Guarantee

RECORDS, CANDIDATES = 1000, 10_000  # secrets, and what they may be, as in ``adept attack``
CONFIDENCE = 0.9999  # of each interval: a page has dozens


def attack_on(trial: Trial, cell: Cell) -> Attacked:
    """Return what attacks on a cell's mechanism came to: in an earlier run, or now."""
    if (kept := trial.store.find(Attacked, trial.seed, cell)) is not None:
        return kept
    rewriter = trial.rewriter(cell)
    game = Game(records=RECORDS, confidence=CONFIDENCE, seed=trial.seed)
    found = by_posterior(rewriter, trial.private, trial.public, game, candidates=CANDIDATES)
    lines = [_line(cell, rewriter.guarantee, row) for row in found.rows]
    given_away = found.given_away if trial.config.data.public else []
    return trial.store.keep(Attacked(lines, given_away), trial.seed, cell)


def _line(cell: Cell, promise: Guarantee, row: AttackRow) -> AttackLine:
    """An attack's row, flat, with what was attacked."""
    rate, family = row.rate, cell.family or Family("", "")
    return AttackLine(
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
