r"""Bounds on information, guesses and distinguishers that hold for every eps-LDP mechanism.

A mechanism is eps-LDP (local differential privacy) when P[M(x) in S] <= e^eps P[M(x') in S] for all records and all
sets of outputs (Habernal 2021, Definition 2.3). Every bound follows from this inequality alone, and for every bound
there is a mechanism that attains it.

A result significantly above a bound proves that the mechanism is not eps-LDP, under two conditions. First, the
guessing rule was fixed before anybody looked at the releases on which the rule is judged. Second, eps covers
everything that the guesser sees. For example, `best_guess` does not bound the accuracy of a classifier that was
trained on many rewrites but labels original texts, which no mechanism protects.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from adept.errors import ConfigurationError
from adept.mechanisms.guarantee import check_bound, words
from adept.plotting import Figure, Table, colours, columns, drawing, group_rows, log_axis

EPSILONS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
DELTA = 1e-6
CONFIDENCE = 0.999  # of the intervals of all studies
# How often each intent occurs in the public test splits, the most frequent first. The guesser knows this.
LABEL_COUNTS = {
    "SNIPS test": (124, 107, 107, 104, 92, 86, 80),
    "ATIS test": (632, 48, 38, 36, 33, 21, 18, 12, 10, 9, 8, 7, 6, 6, 3, 2, 1, 1, 1, 1),
}


def capacity(*, epsilon: float) -> float:
    r"""Return the largest information, in bits, that one eps-LDP release gives about a record.

    Claim: for a random record X and its release V, I(X; V) <= u - 1 - ln u nats with u = eps e^eps
    / (e^eps - 1), under pure eps-LDP and for any set of records.

    Proof: let P_x be the distribution of the release V of record x. Let Q be the distribution of V for a random
    record. With r_x = dP_x / dQ, the information is I = E_Q E_x[r_x ln r_x]. At an output v, put l = min_x r_x(v).
    Then r_x(v) lies in [l, e^eps l], and its mean over x is 1. The function r ln r is convex, so it is at most its
    chord over this interval. So E_x[r_x ln r_x] <= ln l + w l e^eps eps, where w is the solution of w l e^eps + (1 -
    w) l = 1. The right side is ln l + u (1 - l), which is largest at l = 1 / u, with the value u - 1 - ln u. The
    claim follows by averaging over v. Equality holds if r takes only two values, as in PrivUnit's distribution with a
    cap of probability w = (u - 1) / (e^eps - 1). (Kairouz, Oh and Viswanath 2016 use the chord in the same way.)
    """
    check_bound(epsilon)
    if math.isinf(epsilon):
        return math.inf
    if epsilon < 1e-3:
        return epsilon**2 / 8 / math.log(2)  # the leading term: the exact difference would lose its digits
    u = -epsilon / math.expm1(-epsilon)
    return (u - 1 - math.log(u)) / math.log(2)


def best_guess(prior: Sequence[float], *, epsilon: float) -> float:
    r"""Return the largest probability of guessing a record's label from one release.

    Claim: P[guess = label] <= max_j (pi_1 + ... + pi_j) e^eps / (e^eps + j - 1). Here pi_1, pi_2,
    ... are the prior probabilities of the labels, the largest first.

    Proof: let p_y be the probability that label y is guessed if y is the true label. The guess is post-processing,
    and the records with the same label form a mixture, so the guess is eps-LDP as a function of the label. Hence if y
    is the true label, the guess is z with probability at least e^-eps p_z. These probabilities sum to one over z, so
    p_y + e^-eps sum_{z != y} p_z <= 1 for all y. With T = sum_z p_z, these inequalities say p_y <= c = (1 - e^-eps T)
    / (1 - e^-eps). For a given T, sum_y pi_y p_y is largest when the most likely labels have p = c, the next label
    has the rest of T, and the other labels have p = 0. This largest sum is linear in T while the number of labels
    with p = c stays the same, so the maximum is at T = j c for some j. For this T, c is e^eps / (e^eps + j - 1).
    Randomised response on the j most likely labels attains the bound. If the guess is one of k equally likely
    records, the maximum is at j = k.

    Args:
        prior: the labels' probabilities or frequencies, in any order.
        epsilon: the true epsilon, which covers everything that the guesser sees of this record.
    """
    check_bound(epsilon)
    weights = sorted(prior, reverse=True)
    if not weights or not 0 < sum(weights) < math.inf or not min(weights) >= 0:
        raise ConfigurationError(f"prior must be non-negative, finite and not all zero, got {list(prior)}")
    sums = (part / (1 + (j - 1) * math.exp(-epsilon)) for j, part in enumerate(accumulate(weights), 1))
    return min(1.0, max(sums) / sum(weights))


def advantage(*, epsilon: float, delta: float = 0.0) -> float:
    """Return the largest P[event | x] - P[event | x'] that (epsilon, delta)-LDP allows.

    Claim: this difference, a total variation distance, is at most (e^eps - 1 + 2 delta) / (e^eps +
    1), which is tanh(eps / 2) for delta = 0.

    Proof: let a and b be the event's probabilities under x and x'. Then a <= e^eps b + delta, and
    for the complement of the event, 1 - b <= e^eps (1 - a) + delta. The sum of these inequalities
    is 1 + (a - b) <= e^eps (1 - (a - b)) + 2 delta. The bound is attained by randomised response of
    one bit that reveals the bit with probability delta (Kairouz, Oh and Viswanath 2015).
    """
    check_bound(epsilon, delta=delta)
    shrunk = math.exp(-epsilon)
    return (1 - shrunk + 2 * delta * shrunk) / (1 + shrunk)


def membership_power(false_positives: float, *, epsilon: float, delta: float = 0.0) -> float:
    """Return the largest true positive rate of a membership test at a given false positive rate.

    Claim: TPR <= min(1, e^eps FPR + delta, 1 - e^-eps (1 - delta - FPR)), where TPR and FPR are the
    true and the false positive rate.

    Proof: let x be an input with the record, and x' an input without it. By the definition of (epsilon, delta)-LDP,
    TPR <= e^eps FPR + delta, because the test says yes with probability TPR under x and FPR under x'. For the event
    that the test says no, 1 - FPR <= e^eps (1 - TPR) + delta (Kairouz, Oh and Viswanath 2015, Theorem 2.1).
    """
    check_bound(epsilon, false_positives=false_positives, delta=delta)
    # e^eps would overflow if it were computed alone
    high = math.exp(min(0.0, epsilon + math.log(false_positives))) if false_positives else 0.0
    return min(1.0, high + delta, -math.expm1(-epsilon) + math.exp(-epsilon) * (delta + false_positives))


def membership_auc(*, epsilon: float, delta: float = 0.0) -> float:
    """Return the largest area under the ROC curve that a membership test can have.

    Claim: AUC <= 1 - (1 - delta)^2 / (1 + e^eps). Proof: integrate the bound of `membership_power` over the false
    positive rate. The bound consists of a line through (0, delta) with slope e^eps, and a line through (1 - delta, 1)
    with slope e^-eps. The two lines meet on the falling diagonal of the unit square. The area above both lines
    consists of two triangles, each with base 1 - delta and height (1 - delta) / (1 + e^eps).
    """
    check_bound(epsilon, delta=delta)
    return 1 - (1 - delta) ** 2 / (1 + math.exp(min(epsilon, 700.0)))


@dataclass(frozen=True)
class LimitRow:
    """One bound at one true epsilon.

    This epsilon covers everything that an attacker sees of a record.
    """

    limit: str  # capacity | label | reconstruction | advantage
    setting: str  # the prior, the number of candidates, or delta
    epsilon: float
    value: float
    without_release: float  # the value for an attacker who sees no release
    unit: str = "probability"  # or bits


def run(*, epsilons: Sequence[float] = EPSILONS) -> list[LimitRow]:
    return [row for epsilon in epsilons for row in _rows(epsilon)]


def _rows(epsilon: float) -> list[LimitRow]:
    priors = [
        *(("label", name, counts) for name, counts in LABEL_COUNTS.items()),
        *(("reconstruction", f"1 of {size}", (1,) * size) for size in (2, 10, 100, 1000)),
    ]
    return [
        LimitRow("capacity", "one record", epsilon, capacity(epsilon=epsilon), 0.0, "bits"),
        *(
            LimitRow(limit, setting, epsilon, best_guess(prior, epsilon=epsilon), max(prior) / sum(prior))
            for limit, setting, prior in priors
        ),
        *(
            LimitRow("advantage", f"delta {delta:g}", epsilon, advantage(epsilon=epsilon, delta=delta), 0.0)
            for delta in (0.0, DELTA)
        ),
    ]


def tables(rows: Sequence[LimitRow]) -> list[Table]:
    lines = [
        [f"{limit}, {setting}", *(words(row.value) for row in curve)]
        for (limit, setting), curve in group_rows(rows, lambda row: (row.limit, row.setting)).items()
    ]
    epsilons = dict.fromkeys(f"{row.epsilon:g}" for row in rows)
    return [("What no mechanism can exceed", ["true epsilon", *epsilons], lines)]


def draw(rows: Sequence[LimitRow]) -> Figure:
    panels = (
        ("most information per record, bits", ("capacity",)),
        ("best guess of a label from one release", ("label",)),
        ("naming the record among candidates", ("reconstruction", "advantage")),
    )
    with drawing(1, len(panels), size=(13, 4.4)) as opened:
        for axis, (title, limits) in zip(opened.axes[0], panels, strict=True):
            _draw_limit(axis, [row for row in rows if row.limit in limits and row.setting != f"delta {DELTA:g}"])
            axis.set_title(title, fontsize=10)
    return opened.svg


def _draw_limit(axis: Any, rows: list[LimitRow]) -> None:
    curves = group_rows(rows, lambda row: (row.limit, row.setting))
    for colour, ((limit, setting), curve) in zip(colours(len(curves)), curves.items(), strict=True):
        points = sorted((row.epsilon, row.value) for row in curve)
        name, style = ("advantage, 1 of 2", "--") if limit == "advantage" else (setting, "-")
        axis.plot(*columns(points), color=colour, label=name, ls=style, marker="o", ms=3)
        if limit == "label":
            axis.axhline(curve[0].without_release, color=colour, ls=":", lw=1, label=f"{setting}, without a release")
    log_axis(axis, sorted({row.epsilon for row in rows}), "true epsilon")
    if rows[0].unit == "bits":
        axis.set_yscale("log")
    else:
        axis.set_ylim(0, 1.03)
        axis.legend(frameon=False, fontsize=9, loc="center right" if rows[0].limit == "label" else "lower right")
