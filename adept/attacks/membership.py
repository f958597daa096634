r"""Membership: was a person's record among those whose rewrites trained a classifier?

The game: private records are paired, both of a pair having the same label. For each pair a coin decides which of the two is
released; a classifier is trained on all rewrites with their labels. The attacker sees the classifier, knows both texts of a
pair, and says which one was released. The other pairs' coins are independent, so the classifier is post-processing of one
release of this pair and of others that do not depend on it: the bounds on membership hold at the epsilon of one release, labels
being the same on both sides.

The attack is LiRA's (Carlini et al. 2022), offline: shadow classifiers are trained on rewrites of *public* text alone, with the
same labels, and say how sure a classifier is of a text that it did not see. The score is the difference of the two texts'
confidences, each in standard deviations of the shadows'.

*Claim*: under a true pure epsilon the number of right answers to "which of the two", over all pairs of all classifiers, is
stochastically at most Binomial(N, e^eps / (1 + e^eps)), so that Clopper and Pearson's interval judges it although answers about
one classifier depend on each other. *Proof* (Steinke, Nasr and Jagielski 2023, Theorem 5.2): given the classifier and the coins
of the pairs before, a pair's coin has odds between e^-eps and e^eps, as its two texts' releases have; so whatever is answered
is right with probability at most e^eps / (1 + e^eps), whatever came before. QED. The other two rows are means over classifiers;
their intervals are the wider of Student's over classifiers and of the exact one over answers.
"""

import random
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from adept.attacks.bounds import Rate, good_enough, membership_auc, membership_power
from adept.attacks.reader import Reader
from adept.attacks.result import AttackRow, Game
from adept.data.corpus import Corpus
from adept.errors import DataError
from adept.rewriting.rewriter import Rewriter

FALSE_POSITIVES = 0.01
Pairs = list[tuple[int, int]]
Floats = NDArray[np.float64]
Coins = NDArray[np.bool_]


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


def _rows(rewriter: Rewriter, scores: Floats, coins: Coins, confidence: float) -> list[AttackRow]:
    right = (scores > 0) == coins
    areas = [area(row[coin], row[~coin]) for row, coin in zip(scores, coins, strict=True)]
    power, false = _at_few_false_positives(scores, coins, confidence)
    promise = rewriter.guarantee
    epsilons = (promise.epsilon, promise.claimed_epsilon)
    chosen = Rate.of(int(right.sum()), right.size, confidence=confidence)
    named = [
        ("which of the two", chosen, 0.5, [good_enough(0.5, epsilon=e, delta=promise.delta) for e in epsilons]),
        (
            "area under the curve",
            mean_rate(areas, trials=right.size, confidence=confidence),
            0.5,
            [membership_auc(epsilon=e, delta=promise.delta) for e in epsilons],
        ),
        (
            "true positives at 1 % false ones",
            power,
            false.value,
            [membership_power(false.high, epsilon=e, delta=promise.delta) for e in epsilons],
        ),
    ]
    return [
        AttackRow(
            attack="membership",
            knows="shadows",
            success=success,
            rate=rate,
            without_release=without,
            bound=bounds[0],
            claimed_bound=bounds[1],
            optimum=None,
            detail={"classifiers": len(scores), "pairs": scores.shape[1], "false_positives": false.value},
        )
        for success, rate, without, bounds in named
    ]


def _at_few_false_positives(scores: Floats, coins: Coins, confidence: float) -> tuple[Rate, Rate]:
    """True and false positive rates on one half of the classifiers, at the threshold that the other half has for 1 % false ones."""
    half = len(scores) // 2
    threshold = float(np.quantile(scores[:half][~coins[:half]], 1 - FALSE_POSITIVES))
    said, truth = scores[half:] > threshold, coins[half:]

    def rate(members: Coins) -> Rate:
        shares = [float(row[member].mean()) for row, member in zip(said, members, strict=True) if member.any()]
        return mean_rate(shares, trials=int(members.sum()), confidence=confidence)

    return rate(truth), rate(~truth)


def area(inside: Floats, outside: Floats) -> float:
    """The area under the ROC curve: how often a member scores above a non-member, ties counting half."""
    if not len(inside) or not len(outside):
        return 0.5
    order = np.sort(outside)
    below = np.searchsorted(order, inside, side="left") + np.searchsorted(order, inside, side="right")
    return float(below.mean() / (2 * len(outside)))


def mean_rate(values: Sequence[float], *, trials: int, confidence: float) -> Rate:
    """Return the mean of shares, with the wider of Student's interval over them and Clopper and Pearson's over ``trials``."""
    mean, count = float(np.mean(values)), len(values)
    if count < 2:
        return Rate(mean, 0.0, 1.0, trials, confidence)
    reach = float(student.ppf((1 + confidence) / 2, count - 1)) * float(np.std(values, ddof=1)) / count**0.5
    exact = Rate.of(round(mean * trials), trials, confidence=confidence)
    return Rate(
        mean, max(0.0, min(mean - reach, exact.low)), min(1.0, max(mean + reach, exact.high)), trials, confidence
    )
