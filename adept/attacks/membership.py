r"""Membership: was a person's record among those whose rewrites trained a classifier?

The game: private records are paired, both of a pair having the same label. For each pair a coin decides which of the two is
released; a classifier is trained on all rewrites with their labels. The attacker sees the classifier, knows both texts of a
pair, and says which one was released. The other pairs' coins are independent, so the classifier is post-processing of one
release of this pair and of others that do not depend on it: the bounds on membership hold at the epsilon of one release, labels
being the same on both sides.

The attack is LiRA's (Carlini et al. 2022), offline: shadow classifiers are trained on rewrites of *public* text alone, with the
same labels, and say how sure a classifier is of a text that it did not see. The score is the difference of the two texts'
confidences, each in standard deviations of the shadows'. Scores of one classifier depend on each other; classifiers do not, so
intervals are Student's over them.
"""

import random
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from adept.attacks.bounds import Rate, membership_auc, membership_power
from adept.attacks.reader import Reader
from adept.attacks.result import AttackRow, Game
from adept.data.corpus import Corpus
from adept.errors import DataError
from adept.rewriting.rewriter import Rewriter

FALSE_POSITIVES = 0.01
Pairs = list[tuple[int, int]]
Floats = NDArray[np.float64]


def pairs_of(labels: Sequence[str], draw: random.Random) -> Pairs:
    """Pair up records with the same label, at random; one record of a label may stay alone."""
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for place, label in enumerate(labels):
        groups[label].append(place)
    pairs: Pairs = []
    for members in groups.values():
        draw.shuffle(members)
        pairs += list(zip(members[::2], members[1::2], strict=False))
    draw.shuffle(pairs)
    return pairs


def play(
    rewriter: Rewriter,
    private: Corpus,
    public: Corpus,
    game: Game,
    *,
    models: int,
) -> list[AttackRow]:
    """Train ``models`` classifiers on rewrites of private records and as many shadows on public ones, and attack the former.

    Args:
        rewriter: what is attacked; made for measurement.
        private: records with labels, which are paired.
        public: what the shadows are trained on, with labels.
        game: of at most so many private records half are released for each classifier.
        models: classifiers that are attacked.
    """
    if private.labels is None or public.labels is None:
        raise DataError("attack=membership needs labels: name their column with label_column=")
    draw = random.Random(game.seed)
    pairs = pairs_of(private.labels, draw)[: max(1, game.records // 2)]
    if not pairs:
        raise DataError("the private split must have two records of one label: it has none")
    labels = [private.labels[first] for first, _ in pairs]
    texts = ([private.texts[first] for first, _ in pairs], [private.texts[second] for _, second in pairs])
    centres, spreads = _shadowed(rewriter, public, texts, labels, models, draw)
    scores, coins = np.zeros((models, len(pairs))), np.zeros((models, len(pairs)), dtype=bool)
    for number in range(models):
        coins[number] = [draw.random() < 0.5 for _ in pairs]
        chosen = [texts[0 if coin else 1][place] for place, coin in enumerate(coins[number])]
        target = Reader(rewriter.rewrite(chosen), labels, seed=game.seed)
        sure = [target.confidence(some, labels) for some in texts]
        scores[number] = (sure[0] - centres[0]) / spreads[0] - (sure[1] - centres[1]) / spreads[1]
    return _rows(rewriter, scores, coins, game.confidence)


def _shadowed(
    rewriter: Rewriter,
    public: Corpus,
    texts: tuple[list[str], list[str]],
    labels: list[str],
    models: int,
    draw: random.Random,
) -> tuple[list[Floats], list[Floats]]:
    """Means and standard deviations of the shadows' confidence in either text of each pair."""
    by_label: defaultdict[str, list[str]] = defaultdict(list)
    for text, label in zip(public.texts, public.labels or [], strict=True):
        by_label[label].append(text)
    kept = [label for label in labels if by_label[label]]
    found: tuple[list[Floats], list[Floats]] = ([], [])
    for number in range(models):
        shadow = Reader(rewriter.rewrite([draw.choice(by_label[label]) for label in kept]), kept, seed=number)
        for side, some in zip(found, texts, strict=True):
            side.append(shadow.confidence(some, labels))
    spreads = [np.maximum(np.std(side, axis=0).mean(), 1e-9) * np.ones(len(labels)) for side in found]
    return [np.mean(side, axis=0) for side in found], spreads


def _rows(rewriter: Rewriter, scores: Floats, coins: NDArray[np.bool_], confidence: float) -> list[AttackRow]:
    promise = rewriter.guarantee
    half = len(scores) // 2
    threshold = float(
        np.quantile(scores[:half][~coins[:half]], 1 - FALSE_POSITIVES)
    )  # fixed on half of the classifiers
    said = scores[half:] > threshold
    power = [float(row[coin].mean()) for row, coin in zip(said, coins[half:], strict=True)]
    false = float(said[~coins[half:]].mean())
    areas = [area(row[coin], row[~coin]) for row, coin in zip(scores, coins, strict=True)]

    def row(success: str, rate: Rate, without: float, bounds: tuple[float, float]) -> AttackRow:
        return AttackRow(
            attack="membership",
            knows="shadows",
            success=success,
            rate=rate,
            without_release=without,
            bound=bounds[0],
            claimed_bound=bounds[1],
            optimum=None,
            detail={"classifiers": len(scores), "pairs": scores.shape[1], "false_positives": false},
        )

    epsilons, delta = (promise.epsilon, promise.claimed_epsilon), promise.delta
    auc_bounds = tuple(membership_auc(epsilon=epsilon, delta=delta) for epsilon in epsilons)
    power_bounds = tuple(membership_power(false, epsilon=epsilon, delta=delta) for epsilon in epsilons)
    return [
        row("area under the curve", mean_rate(areas, confidence=confidence), 0.5, (auc_bounds[0], auc_bounds[1])),
        row(
            "true positives at 1 % false ones",
            mean_rate(power, confidence=confidence),
            false,
            (power_bounds[0], power_bounds[1]),
        ),
    ]


def area(inside: Floats, outside: Floats) -> float:
    """The area under the ROC curve: how often a member scores above a non-member, ties counting half."""
    if not len(inside) or not len(outside):
        return 0.5
    order = np.sort(outside)
    below = np.searchsorted(order, inside, side="left") + np.searchsorted(order, inside, side="right")
    return float(below.mean() / (2 * len(outside)))


def mean_rate(values: Sequence[float], *, confidence: float) -> Rate:
    """Return the mean of independent shares with Student's interval."""
    mean, count = float(np.mean(values)), len(values)
    if count < 2:
        return Rate(mean, 0.0, 1.0, count, confidence)
    reach = float(student.ppf((1 + confidence) / 2, count - 1)) * float(np.std(values, ddof=1)) / count**0.5
    return Rate(mean, max(0.0, mean - reach), min(1.0, mean + reach), count, confidence)
