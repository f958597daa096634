r"""Names and labels of public texts: what label names say beforehand, and what noisy counts say afterwards.

The names of labels, such as "card_payment_failed" or "PlayMusic", say in words what the records with
these labels are about. So each public sentence s gets a prior probability of being the text of a record
with label c, proportional to ``exp(TILT * cos(c, s))``, where ``cos(c, s)`` is a cosine of name and
sentence. If the name has no word with a meaning, all sentences have the same probability.

*Texts and codewords*: the *density* of a sentence says how common it is expected to be in the file. It is
the mean of the prior probabilities for all labels, mixed with a distribution that is the same for each of the list's
groups of similar sentences, so that rare subjects count as much as common ones. Sentences chosen by their density are
added to the model's utterances, and *codewords*, the centres of groups of similar public texts, are placed where the
density is high (``adept.synthesis.votes``). The cosine is that of *meanings*.
``score_labels`` computes log odds of the labels of each text, with the cosine of features.

*Claim*: the use of names costs no privacy budget. *Reason*: label set and model are fixed before any
record is read, and so are the density, the codewords for each number of codewords, and the rule that
sends a record to a cell (``docs/proofs.md``, "Names of labels in synthetic text"). The claim does not
cover a label set that was collected from private records.

*Estimates*: one model of the public texts, fitted by expectation maximisation, explains the noisy counts of all cells,
which are pairs of a codeword and a label. The *weight* of a text is the estimated number of records that resemble it
(``docs/design/synthesis.md``, "From counts to labels"). With more than MAX_SCORES pairs of a text and a label, a text
gets the label with the largest noisy count for its codeword.

*Claim*: these estimates cost no privacy budget. *Proof*: they are computed from the released counts, from
public texts and from public knowledge about these texts, without random numbers. QED.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from adept.evaluation.softmax_regression import Features, softmax_regression
from adept.mechanisms import policy
from adept.models.label_names import compare_names, largest_first, words_of_name
from adept.models.sentence_encoder import LENGTH
from adept.models.sentences.nearest_text import join_groups
from adept.models.sentences.sentence_list import SentenceList
from adept.models.tokenizer import join_words
from adept.synthesis.votes import GRID, PublicCells, WeightedTexts

MAX_NAMED_LABELS = 512  # with more labels, names are not read, because the regression has a column for each label
MAX_SCORES = 1 << 26  # largest number of texts times labels for a model of texts, which takes 3 GB and minutes
MIN_GAP = 1e-6  # a ratio that is nearer to 1 than this counts as 1

Numbers = NDArray[np.float64]
Scores = NDArray[np.float32]


# --- Names of labels, before any record is read


def spell_label_set(sentences: SentenceList | None, labels: Sequence[str | None]) -> list[tuple[str, ...]]:
    """Return the words of each label's name; none without broad text, or with more than MAX_NAMED_LABELS labels."""
    if sentences is None or not sentences.is_broad or len(labels) > MAX_NAMED_LABELS:
        return [()] * len(labels)
    return [words_of_name(label or "") for label in labels]


def choose_texts(sentences: SentenceList, spelled: Sequence[tuple[str, ...]]) -> WeightedTexts:
    """Return all utterances of a list, and others, the likelier the commoner they are expected to be in the file."""
    density, own = _read_density(sentences, spelled), len(sentences.utterances)
    drawn = _spread(density, policy.MAX_ADDED_TEXTS)
    taken = np.diff(np.floor(np.cumsum(drawn) + 0.5), prepend=0.0) > 0
    taken[:own] = True
    first: dict[str, int] = {}
    for place in np.flatnonzero(taken).tolist():
        first.setdefault(join_words(sentences[place]), place)
    places = np.array([*first.values()], dtype=np.int64)
    chances = 1 - (1 - drawn[places]) * (1 - own / len(density))
    return WeightedTexts([*first], density[places] * len(density), chances)


def _read_density(sentences: SentenceList, spelled: Sequence[tuple[str, ...]]) -> Numbers:
    table = sentences.table()
    size, named, total = len(table), 0, np.zeros(len(table))
    for _, products in compare_names(sentences, spelled, table):
        law = np.exp(policy.TILT * (products.astype(np.float64) / LENGTH**2 - 1))
        total, named = total + law / law.sum(), named + 1
    nameless = (len(spelled) - named) / size
    groups = join_groups(table, sentences.listed.groups)
    sizes = np.bincount(groups)
    even = policy.EVEN_SHARE / (np.count_nonzero(sizes) * sizes[groups])
    return np.asarray((1 - policy.EVEN_SHARE) * (total + nameless) / len(spelled) + even)


def _spread(density: Numbers, count: int) -> Numbers:
    """Return the probability (N,) of choosing each sentence: proportional to density, at most 1."""
    factor, chances = float(count), np.minimum(1.0, count * density)
    while count < len(density) and chances.sum() < count - 0.5:
        factor *= count / chances.sum()
        chances = np.minimum(1.0, factor * density)
    return chances if count < len(density) else np.ones(len(density))


def score_labels(cells: PublicCells, spelled: Sequence[tuple[str, ...]]) -> Scores:
    """Return the log odds (n, L) of L labels for each of n texts, computed from the labels' names.

    Labels count as equally common. A name without a known word has log odds of zero; without any such name,
    the result is (1, L). Probabilities are normalised over all sentences for each label: a text that was
    chosen with probability p stands for 1 / p sentences.
    """
    if not any(spelled):
        return np.zeros((1, len(spelled)), dtype=np.float32)
    scores = policy.TILT * (cells.features @ cells.of([" ".join(words) for words in spelled]).T / GRID**2 - 1)
    stands_for = 1 / cells.public.chances
    scores -= np.log(stands_for @ np.exp(scores) / stands_for.sum())
    scores[:, [not words for words in spelled]] = 0.0
    return np.asarray(scores, dtype=np.float32)


def draw_by_names(sentences: SentenceList, labels: Sequence[str], *, seed: int) -> list[str]:
    """Draw a sentence for each label, of the ``NAMED_SENTENCES`` nearest to its name, or of all without a known word."""
    generator, names = np.random.default_rng(seed), list(dict.fromkeys(labels))
    wanted = np.array([names.index(label) for label in labels])
    places = generator.integers(len(sentences), size=len(labels))
    for label, products in compare_names(sentences, [*map(words_of_name, names)]):
        own = np.flatnonzero(wanted == label)
        places[own] = generator.choice(largest_first(products, policy.NAMED_SENTENCES), size=len(own))
    return [join_words(sentences[place]) for place in places.tolist()]


# --- Noisy counts, after all records were counted


@dataclass(frozen=True)
class Estimate:
    """Estimates for n public texts: a label, and the number of records that resemble each text."""

    weights: Numbers  # number of records that resemble each text and have its label (n,)
    labels: NDArray[np.int64]  # index of each text's label in the label set (n,)
    total: float  # the noisy number of all votes, but at least 0


def estimate(released: NDArray[np.int64], cells: PublicCells, scores: Scores, *, decay: float) -> Estimate:
    """Estimate each text's label and number of records from noisy counts (K, L); noise x has odds ``decay^|x|``.

    ``scores`` are those of ``score_labels``.
    """
    counts, places, share = released.astype(np.float64), cells.places, cells.public.shares
    shares = np.bincount(places, weights=share, minlength=len(counts))
    total = max(counts.sum(), 0.0)
    weights = _weights(counts, shares / shares.sum(), total=max(total, 1.0), variance=2 * decay / (1 - decay) ** 2)
    each = weights[places] * share / shares[places]
    if not 1 < counts.shape[1] <= MAX_SCORES // len(each):
        return Estimate(each, counts.argmax(axis=1)[places], total)
    labels, votes = _labels(counts, each, cells, scores, decay)
    return Estimate(votes[np.arange(len(each)), labels], labels, total)


def _weights(counts: Numbers, shares: Numbers, *, total: float, variance: float) -> Numbers:
    found, expected, noise = counts.sum(axis=1), total * shares, variance * counts.shape[1]
    apart = max(float(np.mean((found - expected) ** 2 - expected)) - noise, 0.0)
    both = (apart * found + noise * expected) / (apart + noise)
    least = 1e-3 * total / len(shares)  # a weight of 0 would never be corrected
    weights = np.where(shares > 0, np.maximum(both, least), 0.0)
    return np.asarray(weights * total / weights.sum())


def _labels(
    counts: Numbers, weights: Numbers, cells: PublicCells, scores: Scores, decay: float
) -> tuple[NDArray[np.int64], Numbers]:
    """Return the label (n,) of each text, and each text's expected votes (n, L) for all labels."""
    features = Features.of(torch.from_numpy(cells.features / GRID), known=torch.from_numpy(scores))
    slopes = torch.zeros(features.width + 1, counts.shape[1])
    slopes[-1] = torch.from_numpy(np.maximum(counts.sum(axis=0), 0.0) + 0.5).log()
    strength = _strength(counts, decay)
    for _ in range(policy.EM_STEPS):
        probabilities = features.scores(slopes).softmax(dim=1).double().numpy()
        votes = _share_out(counts, weights[:, None] * probabilities, cells.places, decay)
        slopes = softmax_regression(
            features, torch.from_numpy(votes).float(), strength=strength, start=slopes, steps=policy.REGRESSION_STEPS
        )
    logs = features.scores(slopes).log_softmax(dim=1)
    common = (torch.from_numpy(weights / weights.sum()) @ logs.exp().double()).log()
    return np.asarray((logs - policy.DISCOUNT * common).argmax(dim=1).numpy()), votes


def _strength(counts: Numbers, decay: float) -> float:
    records = max(float(counts.sum()), 1.0) / int(counts.shape[1])
    return policy.STRENGTH * min(1.0, -math.log(decay) * records / policy.FULL_RECORDS)


def _share_out(counts: Numbers, means: Numbers, places: NDArray[np.int64], decay: float) -> Numbers:
    """Divide each cell's expected true count among its texts, in proportion to ``means`` (n, L)."""
    sums = np.zeros_like(counts)
    np.add.at(sums, places, means)
    sums = np.maximum(sums, 1e-9)
    return np.asarray(means * (expected_counts(counts, sums, decay=decay) / sums)[places])


def expected_counts(released: Numbers, means: Numbers, *, decay: float) -> Numbers:
    r"""Return the mean E[h | y] of each true count h, given its released count y.

    A cell's true count h is assumed to be geometric: P(h) = (1 - r) r^h with r = g / (1 + g) and the mean g in
    ``means``. Noise has P(X = k) proportional to a^|k|, with a = ``decay``. So P(h | y) is proportional to
    r^h a^|y - h|. With u = r / a and x = r a, the sum over all h is two geometric series for y >= 0:

        a^y sum_{h <= y} u^h  +  r^y x / (1 - x),

    and only the second one, from h = 0 on, for y < 0. The mean is the sum of h r^h a^|y - h| divided by it.
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
    return np.where(released < 0, tail, (left + right * (place + 1 / (1 - step))) / (mass + right))


def _series(ratio: Numbers, last: Numbers) -> tuple[Numbers, Numbers]:
    """Return the sums of s^j and j s^j over j from 0 to ``last``, for each ratio s in (0, 1]."""
    gap = np.maximum(1 - ratio, MIN_GAP)
    whole = -np.expm1((last + 1) * np.log1p(-gap)) / gap
    moment = (whole - 1 - last * (1 - gap) ** (last + 1)) / gap
    flat = 1 - ratio < MIN_GAP
    return np.where(flat, last + 1, whole), np.where(flat, last * (last + 1) / 2, moment)
