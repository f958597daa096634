"""The tuned rules: how many entries a public list has at an epsilon, and how many are heavy.

A release is an index into a public list (``adept.mechanisms.selection``). Its privacy holds for any K
and t that are fixed without private data; K and t decide how useful it is. Every rule reads epsilon,
public numbers of the model and the number of public labels, never a record. All rules were chosen on
validation splits; ``docs/decisions.md`` says how, under a title that begins as the last column says.

| list | K | t (never below 1) | decision |
|---|---|---|---|
| codewords | 2^round(4 + eps), 32 to 1,024 | .8 K / (e^eps + 1); K / 512 unless sure | Sizes of codebooks |
| broad codewords | 4 times as many, and on without a gap | K s / (e^eps + s), s = max(4/3, eps - 2) | Heavy codewords |
| codewords and labels | e^eps / (2 L), 128 to 1,024 | .8 K L / (e^eps + 1), at most K / 2 | Codewords beside labels |
| sentences | all that the model lists | K s / (e^eps + s), s = max(1, eps - 4) | Heavy sentences |
| a label's cell | 8,192 times CELLS[eps].ratio | K s / (e^eps + s), s = max(4/3, min(eps - 2, 2), eps - 4) | Cells |
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.special import lambertw

MAX_EXPONENT = 700.0  # of e, in floats
CODEWORD_POWERS = 5, 10  # powers of two of the number of codewords
PAIR_CODEWORD_POWERS = 7, 10  # the same beside labels
HEAVY_SHARE = 0.8  # of the K / (e^eps + 1) heavy codewords that keep the most information
SURE_PROBABILITY = 0.9  # with which the nearest codeword is released if t may be 1 of more than 512
CODEWORDS_PER_HEAVY = 512
BROAD_FACTOR = 4  # by which broad text may have more codewords
CELL_SENTENCES = 1 << 13  # sentences of a label's cell at epsilon 4
DOUBLING_NATS = 2  # in which a cell doubles above the last row of CELLS
MAX_LIST = 1 << 20  # entries, more than a model lists


class Cell(NamedTuple):
    """A row of the rule for cells, between whose epsilons log K and the share are linear."""

    epsilon: float
    ratio: float  # sentences of a cell, divided by CELL_SENTENCES
    common: float  # share of a cell's sentences that all cells have


CELLS = (
    Cell(0.0, 1 / 4, 0.0),
    Cell(4.0, 1.0, 5 / 8),
    Cell(7.0, 1.0, 5 / 8),
    Cell(8.0, 3 / 2, 2 / 3),
    Cell(12.0, 4.0, 1 / 2),
)


MAX_EXAMPLES_EPSILON = 6.0  # below which many labelled examples choose the codewords by label
# Least epsilon at which an adapted model writes all its sentences: with few examples, and with many
ALL_SENTENCES_EPSILONS = 12.5, 14.0
MANY_EXAMPLES = 256  # from which examples are many
MIN_DESCRIPTION_EPSILON = 10.0  # from which a sentence is the default
MIN_SENTENCE_EPSILON = 9.0  # the same for broad text
MAX_PART_SIZE = 1 << 9  # largest K at which broad text uses a part of its sentences
SURE_SHARE = 0.95  # of releases that are the record's own sentence, above which a larger epsilon changes little
DOMAIN_CODEWORDS = 1024  # codewords of a model of one domain; a model with more knows many domains


class Lists(NamedTuple):
    """What is public of a model: its lists, and the examples to which it was adapted."""

    clip: str
    codebooks: tuple[int, ...]  # numbers of codewords
    sentences: int  # that it lists
    near: int  # of these, the examples of an adaptation and the sentences like them
    is_broad: bool  # True if the sentences are about many subjects
    examples: int
    label_examples: bool  # True if examples have labels
    writes_labels: bool

    @property
    def has_broad_codebooks(self) -> bool:
        """True if the codebooks are those of text about many subjects."""
        return max(self.codebooks, default=0) > DOMAIN_CODEWORDS


def default_mechanism(lists: Lists, *, epsilon: float | None = None) -> str:
    """Return the name of the exact mechanism with the best measured utility at this epsilon."""
    if lists.clip == "l1":
        return "l1"
    least = MIN_SENTENCE_EPSILON if lists.is_broad else MIN_DESCRIPTION_EPSILON
    if lists.sentences and not lists.writes_labels and epsilon is not None and epsilon >= least:
        return "description"
    return "learned_codebook" if lists.codebooks else "codebook"


def has_cells(lists: Lists, *, epsilon: float) -> bool:
    """Return True if copied labels choose the sentences that replace a record.

    The model must have more sentences than a cell. An adapted model needs labelled examples and, if
    there are MANY_EXAMPLES, an epsilon below MAX_EXAMPLES_EPSILON: otherwise codewords near the
    examples are nearer to the records.
    """
    many = lists.examples >= MANY_EXAMPLES and epsilon >= MAX_EXAMPLES_EPSILON
    unlabelled = bool(lists.examples) and not lists.label_examples
    return lists.is_broad and lists.sentences > cell_size(epsilon) and not many and not unlabelled


class Sizes(NamedTuple):
    """The numbers K and t of a list."""

    size: int
    heavy: int


def listed_sentences(lists: Lists, *, epsilon: float, asked: int) -> Sizes:
    """Return K and t for the sentences of a model, where a budget pays for ``asked`` of them.

    K is the number of all sentences, except that broad text uses only its first ones if the budget
    pays for few. At a small epsilon, an adapted model writes only its examples and the sentences like
    them. If there are few examples, half of these sentences are chosen without regard to them.
    """
    if lists.is_broad and asked <= MAX_PART_SIZE:
        return Sizes(min(asked, lists.sentences), 1)
    least = ALL_SENTENCES_EPSILONS[lists.examples >= MANY_EXAMPLES]
    size = lists.near if lists.examples and epsilon < least else lists.sentences
    return Sizes(size, heavy_sentences(epsilon, size))


def enough(size: int) -> int:
    """Return the whole epsilon above which a larger one hardly changes what is released.

    Each record has one heavy index of ``size``. It is released with probability e^eps / (e^eps + K -
    1), which is p = SURE_SHARE or more if and only if eps is at least ln(p (K - 1) / (1 - p)).
    """
    return math.ceil(math.log(SURE_SHARE * (size - 1) / (1 - SURE_SHARE)))


def codeword_count(epsilon: float) -> int:
    """Return the number K of codewords of a model of one domain."""
    low, high = CODEWORD_POWERS
    return 1 << min(max(round(4 + epsilon), low), high)


def heavy_codewords(epsilon: float, size: int) -> int:
    """Return t for K = ``size`` codewords of one domain."""
    odds = _odds(epsilon)
    sure = odds >= SURE_PROBABILITY * (odds + size - 1)
    return max(1 if sure else max(1, size // CODEWORDS_PER_HEAVY), round(HEAVY_SHARE * size / (odds + 1)))


def broad_codewords(epsilon: float, sizes: Iterable[int], *, asked: int) -> Sizes:
    """Choose one of the ``sizes`` of codebooks of a model of broad text.

    Start at the largest size of at most BROAD_FACTOR * ``asked``, or at the smallest size if all are
    larger. Go on to the next larger size as long as it is at most twice as large: a larger step means
    that the smaller codebooks were made for the domain to which the model was adapted.
    """
    ordered = sorted(sizes)
    found = max((size for size in ordered if size <= BROAD_FACTOR * asked), default=ordered[0])
    for size in ordered:
        if found < size <= 2 * found:
            found = size
    return Sizes(found, _heavy(epsilon, found, odds=max(4 / 3, epsilon - 2)))


def codewords_beside_labels(epsilon: float, labels: int, *, size: int | None = None) -> Sizes:
    """Return K and t for releasing a codeword and one of L labels as one pair."""
    low, high = PAIR_CODEWORD_POWERS
    odds = _odds(epsilon)
    size = size or 1 << max(low, min(high, math.floor(math.log2(odds / (2 * labels)))))
    return Sizes(size, max(1, min(round(HEAVY_SHARE * size * labels / (odds + 1)), size // 2)))


def heavy_sentences(epsilon: float, size: int) -> int:
    """Return t for K = ``size`` public sentences."""
    return _heavy(epsilon, size, odds=max(1.0, epsilon - 4))


def cell_size(epsilon: float) -> int:
    """Return the number K of sentences in the cell of each label."""
    bits = np.interp(epsilon, [cell.epsilon for cell in CELLS], [math.log2(cell.ratio) for cell in CELLS])
    bits += max(0.0, epsilon - CELLS[-1].epsilon) / DOUBLING_NATS
    return min(MAX_LIST, round(CELL_SENTENCES * math.pow(2.0, float(bits))))


def common_share(epsilon: float) -> float:
    """Return the share of each label's cell that consists of the list's first sentences."""
    return float(np.interp(epsilon, [cell.epsilon for cell in CELLS], [cell.common for cell in CELLS]))


def heavy_of_cell(epsilon: float, size: int) -> int:
    """Return t for a cell of K = ``size`` sentences."""
    return _heavy(epsilon, size, odds=max(4 / 3, min(epsilon - 2, 2.0), epsilon - 4))


def best_size(epsilon: float) -> int:
    """Return the K for which K-ary randomised response transmits the most information.

    All K entries are assumed to be equally common. The information is largest for K near (e^eps - 1)
    / (u - 1), with u = eps e^eps / (e^eps - 1) (capacity: Ye and Barg 2018).
    """
    u = epsilon / -math.expm1(-epsilon)
    bits = (epsilon + math.log(-math.expm1(-epsilon)) - math.log(u - 1)) / math.log(2)
    return MAX_LIST if bits >= math.log2(MAX_LIST) else max(2, round(2**bits))


def best_size_beside_labels(epsilon: float, labels: int) -> int:
    """Return the best number K of entries for a release of an entry and one of L labels as one pair.

    With this K, the pair transmits the most information about its record, under two assumptions.
    First, all K entries are equally common. Second, a record's entry determines its label, so only K
    of the K L pairs occur; this holds for most records. With A = e^eps, the pair transmits I(K) = (A
    ln A - (A + K - 1) ln((A + K - 1) / K)) / (A + K L - 1) nats. For K well below A, I(K) is about ln
    K / (1 + K L / A), which is largest where K (ln K - 1) = A / L. The solution is K = A / (L w),
    where w e^w = A / (e L).
    """
    odds = math.exp(min(epsilon, 600.0)) / labels
    return min(MAX_LIST, max(2, round(odds / float(lambertw(odds / math.e).real))))


def _odds(epsilon: float) -> float:
    return math.exp(min(epsilon, MAX_EXPONENT))


def _heavy(epsilon: float, size: int, *, odds: float) -> int:
    """Return the t for which the odds of releasing a heavy entry are ``odds`` to one."""
    return max(1, round(size * odds / (_odds(epsilon) + odds)))
