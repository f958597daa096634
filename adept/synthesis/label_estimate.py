r"""Estimates of each public text's commonness and label from noisy counts.

A *cell* is a pair of a codeword and a label; a *codeword* is the centre of a group of public texts
(``adept.synthesis.vote_cells``). Each record votes for one cell, and only the noisy numbers of
votes are known.

One model of *texts*, which all cells share, explains these counts. A text with features z has the
label c with probability ``p(c|z) = softmax(W z + s)_c``. The scores s follow from the public names
of labels (``adept.synthesis.draw_by_label_names``) or are zero. The weight ``w_t`` of a text t is
the estimated number of records like it, so it has ``w_t * p(c|z_t)`` votes for label c on average.
The expected count of a cell is the sum of these numbers over the texts of its codeword. This method
is called learning from proportions (Quadrianto, Smola, Caetano and Le 2009, "Estimating labels from
label proportions").

*Weights*: there are two estimates of the number of votes for a codeword. One is its noisy total,
whose noise has variance ``v``. The other is its expected share of all votes, by the public texts,
with mean squared error ``m``. The best average of the two gives the first one the weight ``m / (m +
v)``. The error ``m`` is estimated from the differences between the two estimates over all codewords
(empirical Bayes). The votes for a codeword are divided among its texts by their expected shares.

*Labels*: W is fitted by expectation maximisation, which alternates two steps. The first step
computes the mean of each true count, given the noisy counts (``expected_counts``), and divides it
among the codeword's texts in proportion to ``w_t * p(c|z_t)``. The second step fits W to these
numbers of votes by regularised logistic regression. With few votes, the scores s decide; with many
votes, the votes decide. The fewer records there are per label, the stronger is the regularisation.
The label of a text is the one with the largest ``log p(c|z) - log(p(c)) / 4``, where ``p(c)`` is
the mean of ``p(c|z)`` over all texts. Without the second term, a rare label would never have the
largest value. With more than MAX_SCORES pairs of text and label, a text has the label of its
codeword's largest count instead.

*Claim*: all of this costs no budget. *Proof*: it reads released counts, public texts and public
knowledge about these texts, and draws no random numbers. QED.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from adept.evaluation.softmax_regression import Features, softmax_regression
from adept.synthesis.vote_cells import GRID, WritableTexts

STRENGTH = 4.0  # C of logistic regression: the smaller, the simpler
FULL_RECORDS = 64.0  # records of a label, in scales of the noise, from which it is so; fewer teach in proportion
EM_STEPS, REGRESSION_STEPS = 12, 8  # of expectation maximisation, and of the regression within each
DISCOUNT = 0.25  # share of log p(c) that is taken from a label's score
MAX_SCORES = 1 << 26  # texts times labels, up to which there is a model of texts: 3 GB, and minutes
MIN_WEIGHT = 1e-3  # of a codeword, in shares of the mean one: an estimate of nothing would never be corrected
MIN_GAP = 1e-6  # a ratio that is nearer to one counts as one

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """Estimated commonness and label of each of n public texts."""

    weights: Numbers  # number of records like it (n,)
    labels: NDArray[np.int64]  # place in the label set (n,)
    total: float  # of the weights: the noisy number of votes, at least 0


def estimate(released: NDArray[np.int64], writable: WritableTexts, *, decay: float) -> Estimate:
    """Estimate the weight and the label of each public text from noisy counts (K, L) of cells.

    There are K codewords and L labels. ``decay`` is the number a in the distribution of the noise,
    where P(x) is proportional to ``a^|x|``.
    """
    counts, places = released.astype(np.float64), writable.places
    shares = np.bincount(places, weights=writable.shares, minlength=len(counts))
    total = max(counts.sum(), 0.0)
    weights = _weights(counts, shares / shares.sum(), total=max(total, 1.0), variance=2 * decay / (1 - decay) ** 2)
    each = weights[places] * writable.shares / shares[places]
    explained = 1 < counts.shape[1] <= MAX_SCORES // len(each)
    labels = _labels(counts, each, writable, decay) if explained else counts.argmax(axis=1)[places]
    return Estimate(each * total / each.sum(), labels, total)


def _weights(counts: Numbers, shares: Numbers, *, total: float, variance: float) -> Numbers:
    found, expected, noise = counts.sum(axis=1), total * shares, variance * counts.shape[1]
    apart = max(float(np.mean((found - expected) ** 2 - expected)) - noise, 0.0)
    both = (apart * found + noise * expected) / (apart + noise)
    weights = np.where(shares > 0, np.maximum(both, MIN_WEIGHT * total / len(shares)), 0.0)
    return np.asarray(weights * total / weights.sum())


def _labels(counts: Numbers, weights: Numbers, writable: WritableTexts, decay: float) -> NDArray[np.int64]:
    features = Features.of(torch.from_numpy(writable.features / GRID), known=torch.from_numpy(writable.scores))
    slopes = torch.zeros(features.width + 1, counts.shape[1])
    slopes[-1] = torch.from_numpy(np.maximum(counts.sum(axis=0), 0.0) + 0.5).log()
    strength = _strength(counts, decay)
    for _ in range(EM_STEPS):
        probabilities = features.scores(slopes).softmax(dim=1).double().numpy()
        votes = _share_out(counts, weights[:, None] * probabilities, writable.places, decay)
        slopes = softmax_regression(
            features, torch.from_numpy(votes).float(), strength=strength, start=slopes, steps=REGRESSION_STEPS
        )
    logs = features.scores(slopes).log_softmax(dim=1)
    common = (torch.from_numpy(weights / weights.sum()) @ logs.exp().double()).log()
    return np.asarray((logs - DISCOUNT * common).argmax(dim=1).numpy())


def _strength(counts: Numbers, decay: float) -> float:
    records = max(float(counts.sum()), 1.0) / int(counts.shape[1])
    return STRENGTH * min(1.0, -math.log(decay) * records / FULL_RECORDS)


def _share_out(counts: Numbers, means: Numbers, places: NDArray[np.int64], decay: float) -> Numbers:
    """Divide the expected count of each cell among its texts, in proportion to ``means`` (n, L)."""
    sums = np.zeros_like(counts)
    np.add.at(sums, places, means)
    sums = np.maximum(sums, 1e-9)
    return np.asarray(means * (expected_counts(counts, sums, decay=decay) / sums)[places])


def expected_counts(released: Numbers, means: Numbers, *, decay: float) -> Numbers:
    r"""Return the mean E[h | y] of each true count h, given its released count y.

    Before the release, the count h of a cell is assumed to be geometric with one of the given
    ``means``, g: P(h) = (1 - r) r^h with r = g / (1 + g). This is the distribution of largest
    entropy. The released count is y = h + X with P(X = x) proportional to a^|x|, where a is
    ``decay``. Then P(h | y) is proportional to r^h a^|y - h|. This consists of two geometric
    series, and the mean is a quotient of their sums. With u = r / a, x = r a and y >= 0,

        sum_{h <= y} r^h a^(y-h) = a^y sum_{h <= y} u^h,        sum_{h > y} r^h a^(h-y) = r^y x / (1 - x),

    and the numerator has the same sums with each term multiplied by h. For y < 0 there is only the
    series of x, from h = 0 on. The code divides numerator and denominator by the larger of a^y and
    r^y.
    """
    ratio = means / (1 + means)  # r
    step = ratio * decay  # x
    tail = step / (1 - step)  # sum of x^j from j = 1 on
    place = np.maximum(released, 0.0)
    quotient = ratio / decay  # u
    rising = quotient > 1  # the largest term of the left piece is its last one
    mass, moment = _series(np.where(rising, 1 / quotient, quotient), place)
    left = np.where(rising, place * mass - moment, moment)
    right = np.exp(np.minimum(place * np.log(quotient), 0.0)) * tail  # both pieces divided by the larger of a^y and r^y
    mean = (left + right * (place + 1 / (1 - step))) / (mass + right)
    return np.where(released < 0, tail, mean)


def _series(ratio: Numbers, last: Numbers) -> tuple[Numbers, Numbers]:
    """Return the sums of s^j and of j s^j over j from 0 to ``last``, for ratios 0 < s <= 1."""
    gap = np.maximum(1 - ratio, MIN_GAP)
    whole = -np.expm1((last + 1) * np.log1p(-gap)) / gap
    moment = (whole - 1 - last * (1 - gap) ** (last + 1)) / gap
    flat = 1 - ratio < MIN_GAP
    return np.where(flat, last + 1, whole), np.where(flat, last * (last + 1) / 2, moment)
