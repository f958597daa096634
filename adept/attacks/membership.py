r"""Membership: was a record among those whose rewrites trained a classifier, or in the file behind synthetic records?

*Among rewrites.* Private records of one label are paired. For each pair a coin decides which of the two is released; a
classifier is trained on all rewrites with their labels. The attacker sees the classifier, knows both texts of a pair,
and says which one was released. The attack is LiRA's (Carlini et al. 2022), offline: shadow classifiers are trained on
rewrites of *public* text. The score is the difference of the two texts' confidences, each in standard deviations of the
shadows'.

*Claim*: under a true pure epsilon the number of right answers to "which of the two", over all pairs of all classifiers,
is stochastically at most Binomial(N, e^eps / (1 + e^eps)), so that Clopper and Pearson's interval judges it although
answers about one classifier depend on each other. *Proof* (Steinke, Nasr and Jagielski 2023, Theorem 5.2): given the
classifier and the coins of the pairs before, a pair's coin has odds between e^-eps and e^eps, as its two texts' releases
have; so whatever is answered is right with probability at most e^eps / (1 + e^eps), whatever came before. QED. The other
two rows are means over classifiers; their intervals are the wider of Student's over classifiers and the exact one.

*In a file* whose counts are released. The attacker knows all other rows of the file, and the person's own, and sees the
released counts. The score is the likelihood ratio of both files, which no other attack beats (Neyman and Pearson 1933).
"""

import random
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from adept.attacks.attribute import TextReader
from adept.attacks.bounds import Rate, good_enough, membership_auc, membership_power
from adept.attacks.game import AttackGame, AttackRow
from adept.errors import DataError
from adept.synthesis.neighbouring_files import NeighbouringFiles

FALSE_POSITIVES = 0.01
WHICH_OF_TWO, AREA, POWER = "which of the two", "area under the curve", "true positives at 1 % false ones"
Pairs = list[tuple[int, int]]
Floats = NDArray[np.float64]
Coins = NDArray[np.bool_]


def pair_records(labels: Sequence[str], draw: random.Random) -> Pairs:
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


def play(game: AttackGame, *, models: int) -> list[AttackRow]:
    """Attack ``models`` classifiers of rewritten private records, half of at most ``game.records``, by as many shadows."""
    private, draw = game.private, random.Random(game.seed)
    if private.labels is None or game.public.labels is None:
        raise DataError("attack=membership needs labels: name their column with label_column=")
    pairs = pair_records(private.labels, draw)[: max(1, game.records // 2)]
    if not pairs:
        raise DataError("the private split must have two records of one label: it has none")
    labels = [private.labels[first] for first, _ in pairs]
    texts = ([private.texts[first] for first, _ in pairs], [private.texts[second] for _, second in pairs])
    shadows = _train_shadows(game, texts, labels, models, draw)
    scores, coins = np.zeros((models, len(pairs))), np.zeros((models, len(pairs)), dtype=bool)
    for number in range(models):
        coins[number] = [draw.random() < 0.5 for _ in pairs]
        chosen = [texts[0 if coin else 1][place] for place, coin in enumerate(coins[number])]
        target = TextReader(game.rewriter.rewrite(chosen), labels, seed=game.seed)
        standard = [
            (target.confidence(some, labels) - side.mean(axis=0)) / max(side.std(axis=0).mean(), 1e-9)
            for some, side in zip(texts, shadows, strict=True)
        ]
        scores[number] = standard[0] - standard[1]
    return _rows(game, scores, coins)


def _train_shadows(
    game: AttackGame, texts: tuple[list[str], list[str]], labels: list[str], models: int, draw: random.Random
) -> tuple[Floats, Floats]:
    """The confidence (models, pairs) of shadows in either text of each pair."""
    by_label: defaultdict[str, list[str]] = defaultdict(list)
    for text, label in zip(game.public.texts, game.public.labels or [], strict=True):
        by_label[label].append(text)
    known = [label for label in labels if by_label[label]]
    shadows = [
        TextReader(game.rewriter.rewrite([draw.choice(by_label[label]) for label in known]), known, seed=number)
        for number in range(models)
    ]
    first, second = (np.array([shadow.confidence(side, labels) for shadow in shadows]) for side in texts)
    return first, second


def _rows(game: AttackGame, scores: Floats, coins: Coins) -> list[AttackRow]:
    promise, right = game.rewriter.guarantee, (scores > 0) == coins
    epsilons = promise.epsilon, promise.claimed_epsilon
    areas = [area(row[coin], row[~coin]) for row, coin in zip(scores, coins, strict=True)]
    curve = mean_rate(areas, trials=right.size, confidence=game.confidence)
    power, false = _at_few_false_positives(scores, coins, game.confidence)
    detail = {"classifiers": len(scores), "pairs": scores.shape[1], "false_positives": false.value}
    bounds = [good_enough(0.5, epsilon=epsilon, delta=promise.delta) for epsilon in epsilons]
    rate = Rate.of(int(right.sum()), right.size, confidence=game.confidence)
    first = _row("shadows", WHICH_OF_TWO, rate, 0.5, bounds, detail)
    return [first, *_curve_rows("shadows", epsilons, promise.delta, (curve, power, false), detail)]


def _curve_rows(
    knows: str, epsilons: tuple[float, float], delta: float, rates: tuple[Rate, Rate, Rate], detail: dict[str, float]
) -> list[AttackRow]:
    """The rows of the ROC curve: its area, and its true positive rate at few false positives."""
    curve, power, false = rates
    areas = [membership_auc(epsilon=epsilon, delta=delta) for epsilon in epsilons]
    powers = [membership_power(false.high, epsilon=epsilon, delta=delta) for epsilon in epsilons]
    return [_row(knows, AREA, curve, 0.5, areas, detail), _row(knows, POWER, power, false.value, powers, detail)]


def _row(
    knows: str, success: str, rate: Rate, chance: float, bounds: list[float], detail: dict[str, float]
) -> AttackRow:
    return AttackRow(
        attack="membership",
        knows=knows,
        success=success,
        rate=rate,
        without_release=chance,
        bound=bounds[0],
        claimed_bound=bounds[1],
        optimum=None,
        detail=detail,
    )


def play_file(files: NeighbouringFiles, *, rounds: int, confidence: float = 0.999) -> list[AttackRow]:
    """Attack the first pair of files, without a person and with one, by ``rounds`` releases of either."""
    without, among = files.pairs[0]
    outside, inside = (
        np.array(
            [files.supports(row, among) - files.supports(row, without) for row in files.privatize([name] * rounds)]
        )
        for name in (without, among)
    )
    half = rounds // 2
    threshold = float(np.quantile(outside[:half], 1 - FALSE_POSITIVES))
    false = Rate.of(int((outside[half:] > threshold).sum()), rounds - half, confidence=confidence)
    power = Rate.of(int((inside > threshold).sum()), rounds, confidence=confidence)
    curve = mean_rate([area(inside, outside)], trials=rounds, confidence=confidence)
    detail = {"rounds": rounds, "false_positives": false.value}
    return _curve_rows("all other rows", (files.epsilon, files.epsilon), 0.0, (curve, power, false), detail)


def _at_few_false_positives(scores: Floats, coins: Coins, confidence: float) -> tuple[Rate, Rate]:
    """Return true and false positive rates on half of the classifiers, at the others' threshold for 1 % false ones."""
    half = len(scores) // 2
    threshold = float(np.quantile(scores[:half][~coins[:half]], 1 - FALSE_POSITIVES))
    said, truth = scores[half:] > threshold, coins[half:]

    def rate(members: Coins) -> Rate:
        shares = [float(row[member].mean()) for row, member in zip(said, members, strict=True) if member.any()]
        return mean_rate(shares, trials=int(members.sum()), confidence=confidence)

    return rate(truth), rate(~truth)


def area(inside: Floats, outside: Floats) -> float:
    """Return the area under the ROC curve; ties count half."""
    if not len(inside) or not len(outside):
        return 0.5
    order = np.sort(outside)
    below = np.searchsorted(order, inside, side="left") + np.searchsorted(order, inside, side="right")
    return float(below.mean() / (2 * len(outside)))


def mean_rate(values: Sequence[float], *, trials: int, confidence: float) -> Rate:
    """Return the mean of shares, with the wider of Student's interval and Clopper and Pearson's over ``trials``."""
    mean, count = float(np.mean(values)), len(values)
    if count < 2:
        return Rate(mean, 0.0, 1.0, trials, confidence)
    reach = float(student.ppf((1 + confidence) / 2, count - 1)) * float(np.std(values, ddof=1)) / count**0.5
    exact = Rate.of(round(mean * trials), trials, confidence=confidence)
    low, high = max(0.0, min(mean - reach, exact.low)), min(1.0, max(mean + reach, exact.high))
    return Rate(mean, low, high, trials, confidence)
