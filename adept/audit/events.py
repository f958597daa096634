r"""From releases to a certified epsilon: a guessing rule is chosen on some releases and scored on others.

Epsilon-delta privacy bounds every event by every other input's: P <= exp(eps) Q + delta. So each event, and each rule that
guesses the input from a release or abstains, certifies a lower bound on epsilon (`GameCounts`). Any function of a release may
define the rule (post-processing). What is left is to find a good one.

- Choosing: for each pair of inputs and each *statistic* (a real function of a release), thresholds define rules: high values
  say one input, low values the other, those between say nothing. A quarter of the releases screens pairs and statistics,
  the next quarter finds the thresholds for the winner. Nothing here needs to be right, only good.
- Certifying: that one rule is scored on fresh releases. Because it was fixed beforehand, confidence is spent on two
  Clopper-Pearson bounds and nothing else: pairs, statistics, thresholds and directions cost nothing.

Statistics are rounded to a billionth of ``clip_norm``, and thresholds lie in gaps wider than that. Otherwise rounding in
the statistic itself would tell x from x' at an atom of its law, and "certify" a leak that the mechanism does not have.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adept.audit.bounds import GameCounts, epsilon_lower_bound
from adept.audit.pairs import Pair, PairSample
from adept.audit.subject import Subject

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]

RESOLUTION = 1e-9  # in units of clip_norm
THRESHOLDS = 400
CHOOSING_ELEMENTS = 2**23  # numbers held for screening, over all pairs: 64 MiB
CHOOSING_ROWS = 2**20  # values of the chosen statistic held for its threshold: 8 MiB an input
# Bounds are compared at strict alphas: of many rules, the best at a lax one would be one that speaks seldom, with lucky counts.
SCREENING_ALPHA = 1e-6  # some ten thousand rules, few releases
SMOOTHING = 15  # thresholds on either side over which a score is averaged
LOWEST_SCORE = -50.0  # stands for "certifies nothing" in an average
THRESHOLD_ALPHA = 1e-3  # some thousand rules, most of them much alike


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Guesses an input from a statistic: one from ``high`` on, the other below ``low``, neither in between."""

    high: float  # infinite: never said
    low: float  # minus infinity: never said
    flipped: bool  # high values speak for the second input

    @property
    def answers(self) -> int:
        return int(np.isfinite(self.high)) + int(np.isfinite(self.low))

    def says(self, values: Floats, side: int) -> int:
        """Return how often the rule says input ``side``, 0 or 1."""
        high = (side == 0) != self.flipped
        return int((values >= self.high if high else values < self.low).sum())

    def play(self, first: Floats, second: Floats) -> GameCounts:
        """Return the score on the statistic's values under both inputs: each value is a round."""
        return GameCounts(
            right=self.says(first, 0) + self.says(second, 1),
            wrong=self.says(first, 1) + self.says(second, 0),
            rounds=len(first) + len(second),
            answers=self.answers,
        )


@dataclass(frozen=True, kw_only=True)
class Game:
    """Everything that is fixed before a rule is scored."""

    pair: Pair
    name: str
    statistic: Statistic
    rule: Rule


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
    """Return the releases per input that find the thresholds: a quarter of the trials, and bounded in memory."""
    return min(trials // 4, CHOOSING_ROWS)


def choose(subject: Subject, samples: list[PairSample], *, trials: int) -> Game:
    """Return the game to certify, from the screening releases and a quarter of the trials, drawn here."""
    game = screen(samples, clip_norm=subject.clip_norm, delta=subject.delta)
    rows = threshold_rows(trials)
    first, second = (
        np.concatenate([game.statistic(releases) for releases in subject.draw(latent, rows)])
        for latent in (game.pair.first, game.pair.second)
    )
    gap = 1.5 * RESOLUTION * subject.clip_norm
    return replace(game, rule=best_rule(first, second, gap=gap, delta=subject.delta, alpha=THRESHOLD_ALPHA)[1])


def screen(samples: list[PairSample], *, clip_norm: float, delta: float) -> Game:
    """Return the game with the best bound on the screening releases: learned on their first quarter, scored on the rest."""
    games: list[tuple[float, Game]] = []
    for sample in samples:
        first, second = sample.releases
        quarter = len(first) // 4
        learn = replace(sample, releases=(first[:quarter], second[:quarter]))
        for name, statistic in statistics(learn, clip_norm=clip_norm):
            values = statistic(first[quarter:]), statistic(second[quarter:])
            gap = 1.5 * RESOLUTION * clip_norm
            score, rule = best_rule(*values, gap=gap, delta=delta, alpha=SCREENING_ALPHA)
            games.append((score, Game(pair=sample.pair, name=name, statistic=statistic, rule=rule)))
    return max(games, key=lambda scored: scored[0])[1]


def certify(
    subject: Subject, game: Game, *, trials: int, advance: Callable[[int], None] = lambda rows: None
) -> GameCounts:
    """Play one game on 2 * ``trials`` fresh releases, in constant memory; each round's input is a fair coin's choice."""
    rounds = 2 * trials
    heads = int(np.random.default_rng().binomial(rounds, 0.5))
    right = wrong = 0
    for side, (latent, rows) in enumerate(((game.pair.first, heads), (game.pair.second, rounds - heads))):
        for releases in subject.draw(latent, rows):
            values = game.statistic(releases)
            right += game.rule.says(values, side)
            wrong += game.rule.says(values, 1 - side)
            advance(len(releases))
    return GameCounts(right=right, wrong=wrong, rounds=rounds, answers=game.rule.answers)


def best_rule(first: Floats, second: Floats, *, gap: float, delta: float, alpha: float) -> tuple[float, Rule]:
    """Return the rule with the largest certified epsilon on a statistic's values under two inputs, and that bound.

    Thresholds are tried by their rank from either end: one end alone, the other alone, and both ends at the same rank.
    """
    highs, lows = _thresholds(np.concatenate([first, second]), gap)
    ends = [(highs, np.full_like(lows, -np.inf)), (np.full_like(highs, np.inf), lows), (highs, lows)]
    up, down = (
        [len(values) - np.searchsorted(values, highs) for values in (np.sort(first), np.sort(second))],
        [np.searchsorted(values, lows) for values in (np.sort(first), np.sort(second))],
    )
    rounds, none = len(first) + len(second), np.zeros_like(up[0])
    best = (-np.inf, Rule(high=np.inf, low=-np.inf, flipped=False))
    for (high, low), above, below in zip(ends, (up, [none, none], up), ([none, none], down, down), strict=True):
        answers = 2 if above is up and below is down else 1
        for flipped in (False, True):
            right, wrong = above[flipped] + below[not flipped], above[not flipped] + below[flipped]
            scores = epsilon_lower_bound(right, wrong, rounds, rounds, delta=delta * answers / 2, alpha=alpha)
            i = _best_on_average(scores)
            if scores[i] > best[0]:
                best = float(scores[i]), Rule(high=float(high[i]), low=float(low[i]), flipped=flipped)
    return best


def _best_on_average(scores: Floats) -> int:
    """Return the index of the best score, averaged over its neighbours: one lucky count in a tail is no better rule.

    The scores of few thresholds (a discrete statistic) differ for good reasons and are taken as they are.
    """
    if len(scores) < 8 * SMOOTHING:
        return int(np.argmax(scores))
    padded = np.pad(np.maximum(scores, LOWEST_SCORE), SMOOTHING, mode="edge")
    return int(np.argmax(np.convolve(padded, np.ones(2 * SMOOTHING + 1), "valid")))


def _thresholds(values: Floats, gap: float) -> tuple[Floats, Floats]:
    """Return midpoints of gaps between values, by rank from the top and from the bottom: dense in both tails."""
    distinct = np.unique(values)
    middles = ((distinct[:-1] + distinct[1:]) / 2)[np.diff(distinct) > gap]
    if not len(middles):
        return distinct[:1], distinct[:1]
    ranks = np.unique(np.geomspace(1, len(middles), THRESHOLDS).astype(int)) - 1
    return middles[::-1][ranks], middles[ranks]


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
