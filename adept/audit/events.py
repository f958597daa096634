r"""From releases to a certified epsilon: a guessing rule is chosen on some releases and scored on others.

Epsilon-delta privacy bounds every event by every other input's: P <= exp(eps) Q + delta. So each event, and each rule that
guesses the input from a release or abstains, certifies a lower bound on epsilon (`GameCounts`). Any function of a release may
define the rule (post-processing). What is left is to find a good one.

- Choosing: for each pair of inputs and each *statistic* (a real function of a release), thresholds define rules: high values
  say one input, low values the other, those between say nothing. A part of the releases, a quarter at most, screens pairs
  and statistics; another, a quarter at most, finds two rules for the winner, as `adept.audit.rules` explains. Nothing here
  needs to be right, only good.
- Certifying: those two rules are scored on fresh releases, and each bound may err with half of alpha.

Claim: the larger of the two bounds exceeds the true epsilon with probability at most alpha. Proof: fix all choosing releases,
and with them both rules; the certifying releases are independent of them, so right and wrong rounds of either rule are
counts of fixed events, whose bound errs with probability at most alpha / 2 (`game_lower_bound`), and both together with at most
alpha (union bound). That holds for every outcome of the choosing releases, hence on average. Pairs, statistics, thresholds and
directions cost nothing, however many were tried. It would be false if a certifying release had been looked at before.

Statistics are rounded to a billionth of ``clip_norm``, and thresholds lie in gaps wider than that. Otherwise rounding in
the statistic itself would tell x from x' at an atom of its law, and "certify" a leak that the mechanism does not have.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adept.audit.bounds import GameCounts
from adept.audit.pairs import Pair, PairSample
from adept.audit.rules import THRESHOLD_ALPHA, Rule, counted_rule, fitted_rule
from adept.audit.subject import Subject

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]

RESOLUTION = 1e-9  # in units of clip_norm
CHOOSING_ELEMENTS = 2**23  # numbers held for screening, over all pairs: 64 MiB
CHOOSING_ROWS = 2**17  # releases of an input that find the thresholds: more would find hardly better ones
SCREENING_ALPHA = 1e-6  # some ten thousand rules, few releases: a lax one would favour rules with lucky counts
FEWEST_WRONG = 36  # added to the wrong guesses: no game wins by the curve that is worse than the best by more than 0.5


@dataclass(frozen=True, kw_only=True)
class Game:
    """Everything that is fixed before a rule is scored."""

    pair: Pair
    name: str
    statistic: Statistic
    rules: tuple[Rule, ...]


def statistics(sample: PairSample, *, clip_norm: float) -> Iterator[tuple[str, Statistic]]:
    """Yield the statistics that separate one pair, each with a name.

    Args:
        sample: releases from which the last two learn; they may not be counted again when the rule is certified.
        clip_norm: the unit of the rounding.
    """
    first, second = sample.centres
    unit = RESOLUTION * clip_norm
    direction = _unit((sample.pair.first - sample.pair.second).numpy())
    if np.isfinite(direction).all():
        yield "projection", lambda z: _rounded(z @ direction, unit)
    yield "Laplace privacy loss", lambda z: _rounded(l1_loss(z, first, second), unit)
    yield "l2 privacy loss", lambda z: _rounded(_l2(z - second) - _l2(z - first), unit)
    learned = _discriminant(*sample.releases)
    yield "learned direction", lambda z: _rounded(z @ learned, unit)
    table = _atoms(*sample.releases)
    if table is not None:
        yield "output value", lambda z: np.array([table.get(row.tobytes(), 0.0) for row in z + 0.0])


def l1_loss(z: Floats, first: Floats, second: Floats) -> Floats:
    """Return sum_i |z_i - x'_i| - |z_i - x_i|, b times the privacy loss of Laplace noise (Habernal 2021, Eq. 28).

    Each term is constant outside [x_i, x'_i] and linear inside, so z is cut off there: no cancellation, whatever z is.
    """
    inside = np.clip(z, np.minimum(first, second), np.maximum(first, second))
    loss: Floats = (2 * inside - first - second) @ np.sign(first - second)
    return loss


def screening_rows(trials: int, *, pairs: int, dim: int) -> int:
    """Return the releases per input and pair that screen: a quarter of the trials in all, and bounded in memory."""
    return min(trials // 4, CHOOSING_ELEMENTS // (2 * dim)) // pairs


def threshold_rows(trials: int) -> int:
    """Return the releases per input that find the thresholds: a quarter of the trials, and not more than are of use."""
    return min(trials // 4, CHOOSING_ROWS)


def choose(subject: Subject, samples: list[PairSample], *, trials: int, certifying: int) -> Game:
    """Return the game to certify on ``certifying`` releases per input, from the screening releases and others, drawn here."""
    game = screen(samples, clip_norm=subject.clip_norm, delta=subject.delta)
    rows = threshold_rows(trials)
    first, second = (
        np.concatenate([game.statistic(releases) for releases in subject.draw(latent, rows)])
        for latent in (game.pair.first, game.pair.second)
    )
    options = {"gap": 1.5 * RESOLUTION * subject.clip_norm, "delta": subject.delta, "alpha": THRESHOLD_ALPHA}
    counted = counted_rule(first, second, **options)[1]
    fitted = fitted_rule(first, second, rounds=2 * certifying, **options)[1]
    return replace(game, rules=(counted, fitted))


def screen(samples: list[PairSample], *, clip_norm: float, delta: float) -> Game:
    """Return the game with the best bound on the screening releases: learned on their first quarter, scored on the rest.

    Bounds on few counts scatter, by about 1 / sqrt(wrong). Games that are as good up to three times that are told apart by what the
    fitted curve promises, so that a lucky pair of inputs does not win over the one that leaks most.
    """
    screened = [_screened(*trial, clip_norm=clip_norm, delta=delta) for trial in _trials(samples, clip_norm)]
    best = max(screened, key=lambda candidate: candidate.score)
    scatter = 3 / math.sqrt(best.wrong + FEWEST_WRONG)
    near = [candidate for candidate in screened if candidate.score >= best.score - scatter]
    return max(near, key=lambda candidate: candidate.promise).game


@dataclass(frozen=True, kw_only=True)
class _Screened:
    game: Game
    score: float
    wrong: int
    promise: float  # the score by the fitted curve


def _trials(samples: list[PairSample], clip_norm: float) -> Iterator[tuple[Pair, str, Statistic, Floats, Floats]]:
    """Yield each pair with each statistic and its values under both inputs."""
    for sample in samples:
        first, second = sample.releases
        quarter = len(first) // 4
        learn = replace(sample, releases=(first[:quarter], second[:quarter]))
        for name, statistic in statistics(learn, clip_norm=clip_norm):
            yield sample.pair, name, statistic, statistic(first[quarter:]), statistic(second[quarter:])


def _screened(
    pair: Pair, name: str, statistic: Statistic, first: Floats, second: Floats, *, clip_norm: float, delta: float
) -> _Screened:
    options = {"gap": 1.5 * RESOLUTION * clip_norm, "delta": delta, "alpha": SCREENING_ALPHA}
    score, rule = counted_rule(first, second, **options)
    promise, _ = fitted_rule(first, second, rounds=len(first) + len(second), **options)
    game = Game(pair=pair, name=name, statistic=statistic, rules=(rule,))
    return _Screened(game=game, score=score, wrong=rule.play(first, second).wrong, promise=promise)


def certify(
    subject: Subject, game: Game, *, trials: int, advance: Callable[[int], None] = lambda rows: None
) -> list[GameCounts]:
    """Play each rule of a game on the same 2 * ``trials`` fresh releases, in constant memory; a fair coin chooses each input."""
    rounds = 2 * trials
    heads = int(np.random.default_rng().binomial(rounds, 0.5))
    right, wrong = np.zeros(len(game.rules), int), np.zeros(len(game.rules), int)
    for side, (latent, rows) in enumerate(((game.pair.first, heads), (game.pair.second, rounds - heads))):
        for releases in subject.draw(latent, rows):
            values = game.statistic(releases)
            right += [rule.says(values, side) for rule in game.rules]
            wrong += [rule.says(values, 1 - side) for rule in game.rules]
            advance(len(releases))
    scores = zip(right.tolist(), wrong.tolist(), game.rules, strict=True)
    return [GameCounts(right=r, wrong=w, rounds=rounds, answers=rule.answers) for r, w, rule in scores]


def _discriminant(first: Floats, second: Floats) -> Floats:
    """Return Fisher's linear discriminant (n,): it finds the directions that carry little or no noise."""
    centred = np.concatenate([first - first.mean(axis=0), second - second.mean(axis=0)])
    covariance = centred.T @ centred / len(centred)
    difference = first.mean(axis=0) - second.mean(axis=0)
    ridge = 1e-6 * np.trace(covariance) / len(covariance) + 1e-12 * (difference @ difference) + 1e-100
    return _unit(np.linalg.solve(covariance + ridge * np.eye(len(covariance)), difference))


def _atoms(first: Floats, second: Floats) -> dict[bytes, float] | None:
    """Return the log ratio of counts for every output seen, or None if hardly any output is seen twice."""
    counts: dict[bytes, list[int]] = {}
    for side, releases in enumerate((first, second)):
        for row in releases + 0.0:
            counts.setdefault(row.tobytes(), [0, 0])[side] += 1
    if len(counts) > 0.9 * (len(first) + len(second)):
        return None
    return {row: float(np.log((ours + 0.5) / (theirs + 0.5))) for row, (ours, theirs) in counts.items()}


def _unit(vector: Floats) -> Floats:
    norm = np.linalg.norm(vector)
    result: Floats = vector / norm if norm > 0 else vector
    return result


def _l2(vectors: Floats) -> Floats:
    norms: Floats = np.linalg.norm(vectors, axis=1)
    return norms


def _rounded(values: Floats, unit: float) -> Floats:
    result: Floats = np.round(values / unit) * unit
    return result
