r"""What the noisy counts say about the public texts: how common each is, and which label it has.

A cell is a codeword and a label, but a text is more than its codeword: texts of one codeword lie on its different sides, where
other codewords with other labels are. So the counts are explained by a model of *texts*, in few numbers that all cells share. The
label of a text with features z is c with probability p(c|z) = softmax(W z)_c; a codeword v of weight w_v, with n_v texts, has
w_v / n_v * sum_t p(c|z_t) votes for label c on average. This is learning from proportions (Quadrianto, Smola, Caetano and Le 2009,
"Estimating labels from label proportions"): those of 128 codewords label the texts within them. (HWU64, eps = 1: of the public
texts .65 have the label that their codeword has most noisy votes for, and .76 the one that is found so.)

*Weights*: a codeword's noisy total is its votes and noise of variance s^2; how common it is among public texts is another guess,
off by t^2, say. Both together are best weighted t^2 : s^2, and t^2 is read off how far they are apart in all codewords (empirical
Bayes): where public texts are like the records their shares count, where they are of other domains the totals.

*Labels*: expectation maximisation. Each count has its mean given what was released and what W expects of it
(``adept.synthesis.posterior``); it is shared out among the codeword's texts in proportion to p(c|z_t); W is fitted to that by
regularised logistic regression, a few steps from where it was. A text's label is the likeliest one, a quarter of log p(c) aside:
without that a rare label is never the likeliest (ATIS, validation split, accuracy and macro-F1 without and with it: .856 / .33 and
.858 / .39 at eps = .5, .898 / .37 and .906 / .46 at 2, .904 / .46 and .896 / .48 at 4; with half of it .81 / .38, .87 / .45, .88 /
.56; SNIPS and HWU64 the same to .002).

*Claim*: all of this costs no budget. *Proof*: it reads released counts and public texts, and draws nothing. QED.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from adept.evaluation.softmax import Features, softmax_regression
from adept.synthesis.cells import GRID, PublicCells
from adept.synthesis.posterior import Numbers, expected_counts

# Constants of all corpora and budgets. (HWU64, eps = 1, validation split: STRENGTH 2, 4, 10 .774, .767, .75; steps are enough.)
STRENGTH = 4.0  # C of logistic regression: the smaller, the simpler
STEPS, MOVES = 12, 8  # of expectation maximisation, and of the regression within each
COMMONNESS = 0.25  # the share of log p(c) that labels are chosen without
LEAST_WEIGHT = 1e-3  # of a codeword, in shares of the mean one: an estimate of nothing would never be corrected


@dataclass(frozen=True)
class Estimate:
    """What is known about each public text.

    Attributes:
        weights: how many records are like it (n,); they sum to ``total``.
        labels: the place of its label in the label set (n,).
        total: the noisy number of votes, at least 0.
    """

    weights: Numbers
    labels: NDArray[np.int64]
    total: float


def estimate(released: NDArray[np.int64], cells: PublicCells, *, decay: float) -> Estimate:
    """Estimate from noisy counts (K, L) of the cells of codewords and labels.

    Args:
        released: the counts.
        cells: the codewords, with the public texts.
        decay: a of the noise, P(x) proportional to a^|x|.
    """
    counts = released.astype(np.float64)
    sizes = np.bincount(cells.places, minlength=cells.size)
    total = max(counts.sum(), 0.0)
    weights = _weights(counts, sizes / sizes.sum(), total=max(total, 1.0), variance=2 * decay / (1 - decay) ** 2)
    each = (weights / np.maximum(sizes, 1))[cells.places]
    labels = _labels(counts, weights, cells, sizes, decay) if counts.shape[1] > 1 else np.zeros(len(each), np.int64)
    return Estimate(each * total / each.sum(), labels, total)


def _weights(counts: Numbers, shares: Numbers, *, total: float, variance: float) -> Numbers:
    """Return how many votes each codeword (K,) has: its noisy total and its public share, by what each of them is worth."""
    found, expected, noise = counts.sum(axis=1), total * shares, variance * counts.shape[1]
    apart = max(float(np.mean((found - expected) ** 2 - expected)) - noise, 0.0)
    both = (apart * found + noise * expected) / (apart + noise)
    weights = np.where(shares > 0, np.maximum(both, LEAST_WEIGHT * total / len(shares)), 0.0)
    return np.asarray(weights * total / weights.sum())


def _labels(
    counts: Numbers, weights: Numbers, cells: PublicCells, sizes: NDArray[np.int64], decay: float
) -> NDArray[np.int64]:
    """Return the likeliest label of each text (n,)."""
    features = Features.dense(torch.from_numpy(cells.features / GRID))
    slopes = torch.zeros(features.width + 1, counts.shape[1])
    slopes[-1] = torch.from_numpy(np.maximum(counts.sum(axis=0), 0.0) + 0.5).log()
    for _ in range(STEPS):
        votes = _shared_out(counts, weights, _probabilities(features, slopes), cells.places, sizes, decay)
        slopes = softmax_regression(
            features, torch.from_numpy(votes.astype(np.float32)), strength=STRENGTH, start=slopes, steps=MOVES
        )
    logs = features.scores(slopes).log_softmax(dim=1)
    common = logs.exp().mean(dim=0).log()
    return np.asarray((logs - COMMONNESS * common).argmax(dim=1).numpy())


def _shared_out(
    counts: Numbers,
    weights: Numbers,
    labels: Numbers,
    places: NDArray[np.int64],
    sizes: NDArray[np.int64],
    decay: float,
) -> Numbers:
    """Return how many votes of each label (n, L) each text is expected to stand for, given p(c|z_t) (n, L)."""
    sums = np.zeros_like(counts)
    np.add.at(sums, places, labels)
    means = np.maximum((weights / np.maximum(sizes, 1))[:, None] * sums, 1e-9)
    votes = expected_counts(counts, means, decay=decay)
    return np.asarray(labels * (votes / np.maximum(sums, 1e-9))[places])


def _probabilities(features: Features, slopes: torch.Tensor) -> Numbers:
    return features.scores(slopes).softmax(dim=1).double().numpy()
