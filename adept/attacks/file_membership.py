"""Was a person in the file: the best attack on released counts, beside what the claim allows.

The attacker knows all other rows of the file, and the person's own, and sees the released counts: everything but whether the person
took part. The score is the likelihood ratio of both files, which no other attack beats (Neyman and Pearson 1933).
"""

import numpy as np

from adept.attacks.bounds import Rate, membership_auc, membership_power
from adept.attacks.membership import FALSE_POSITIVES, area, mean_rate
from adept.attacks.result import AttackRow
from adept.synthesis.neighbouring_files import NeighbouringFiles

CELLS = 4  # few: others say nothing of the person


def attack(files: NeighbouringFiles, *, rounds: int, confidence: float = 0.999) -> list[AttackRow]:
    """Attack the first pair of files: without a person, and with one.

    Args:
        files: with ``neighbours=add_or_remove``.
        rounds: releases of either file; the threshold is chosen on one half of those without the person, and measured on the other.
        confidence: of each interval.
    """
    without, among = files.pairs[0]
    scores = [
        np.array(
            [files.supports(row, among) - files.supports(row, without) for row in files.privatize([name] * rounds)]
        )
        for name in (without, among)
    ]
    threshold = float(np.quantile(scores[0][: rounds // 2], 1 - FALSE_POSITIVES))
    false = Rate.of(int((scores[0][rounds // 2 :] > threshold).sum()), rounds - rounds // 2, confidence=confidence)
    power = Rate.of(int((scores[1] > threshold).sum()), rounds, confidence=confidence)
    curve = mean_rate([area(scores[1], scores[0])], trials=rounds, confidence=confidence)
    named = [
        ("area under the curve", curve, 0.5, membership_auc(epsilon=files.epsilon)),
        ("true positives at 1 % false ones", power, false.value, membership_power(false.high, epsilon=files.epsilon)),
    ]
    return [
        AttackRow(
            attack="membership",
            knows="all other rows",
            success=success,
            rate=rate,
            without_release=chance,
            bound=bound,
            claimed_bound=bound,
            optimum=None,
            detail={"rounds": rounds, "false_positives": false.value},
        )
        for success, rate, chance, bound in named
    ]
