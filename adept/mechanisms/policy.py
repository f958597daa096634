"""The tuned rules and numbers: sizes of public lists, heavy entries, weights, shares and odds, in one table.

A release is an index into a public list (``adept.mechanisms.selection``). Its privacy holds for any K
and t that are fixed without private data; K and t decide how useful it is. ``choose`` applies the rules to a
model and an epsilon. They read public numbers of the model and the number of public labels, never a record,
and were chosen on validation splits, as all numbers. The last column, and the comment above each group of
numbers, is the title of their entry in ``docs/decisions.md`` or of their page.

| list | K | t (never below 1) | decision |
|---|---|---|---|
| codewords | 2^round(4 + eps), 32 to 1,024 | .8 K / (e^eps + 1); K / 512 unless sure | Sizes of codebooks |
| broad codewords | 4 times as many, no gap | K s / (e^eps + s), s = max(4/3, eps - 2) | Heavy codewords of broad text |
| codewords and labels | e^eps / (2 L), 128 to 1,024 | .8 K L / (e^eps + 1), at most K / 2 | Codewords beside labels |
| sentences | all that the model lists | K s / (e^eps + s), s = max(1, eps - 4) | Heavy sentences |
| a label's cell | 2^(13 + max(0, eps/2 - 4)) | K s / (e^eps + s), s = max(4/3, min(eps - 2, 2), eps - 4) | Names of copied labels |
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import scipy

from adept.errors import BUDGETS

MAX_EXPONENT = 700.0  # of e, in floats
MAX_LIST = 1 << 20  # entries, more than a model lists

# Sizes of codebooks
CODEWORD_POWERS = 5, 10  # powers of two of the number of codewords
HEAVY_SHARE = 0.8  # of the K / (e^eps + 1) heavy codewords that keep the most information
SURE_PROBABILITY = 0.9  # with which the nearest codeword is released if t may be 1 of more than 512
CODEWORDS_PER_HEAVY = 512
# Codewords beside labels
PAIR_CODEWORD_POWERS = 7, 10  # powers of two of the number of codewords
# Heavy codewords of broad text
BROAD_FACTOR = 4  # by which broad text may have more codewords
DOMAIN_CODEWORDS = 1024  # codewords of a model of one domain; a model with more knows many domains
# Texts of a codeword
POOL_TEXTS = 10_240  # texts of all pools together; more if there are many codewords
POOL_SIZES = 10, 40  # least and largest number of texts of the pool of one codeword
# What words mean
TOPIC_COSINE = 0.25  # of two texts' vectors, from which they have the same topic
# How words are compared
SPELLING, COOCCURRENCE, MEANING = 0.8, 1.5, 3.0  # weights of features beside the word itself
# Two defaults
MIN_DESCRIPTION_EPSILON = 10.0  # from which a sentence is the default
MIN_SENTENCE_EPSILON = 9.0  # the same for broad text
# Adapting a model
ALL_SENTENCES_EPSILONS = 12.5, 14.0  # least epsilon at which all sentences are written: few examples, and many
MANY_EXAMPLES = 256  # from which examples are many
MIN_KNOWN_WORD_SHARE = 0.85  # share of known words below which fewer examples show a domain too
ADAPTED_CODEWORDS = 1024, 4096  # largest number of codewords at many examples: a model of one domain, and of many
# Narrow domains
MANY_PLACING, FEW_PLACING = (3, 4000, 0.0), (1, 16000, 0.5)  # weight of an example; own texts; random ones' share
REDUNDANT_COSINE = 0.8  # cosine from which on one public text says what another does
TEXT_CODEWORDS = (256, 512, 1024, 2048, 4096, 8192)  # sizes of the codebooks of texts
# Heavy sentences
MAX_PART_SIZE = 1 << 9  # largest K at which broad text uses a part of its sentences
# Public sentences and nothing else
SURE_SHARE = 0.95  # of releases that are the record's own sentence, above which a larger epsilon changes little
# Sentences by meaning
ADDED_COST, MISSING_COST = 4, 10  # factors of the weights of words that a text adds to a record or lacks
SCRAP_WORDS = 3  # fewer different words than this, and than half of its record, make no sentence
# Meaning beside words
MANY_TEXTS = 1 << 15
MEANING_HALVES = 4, 1  # of the record's weight, that a cosine of 0 adds: among fewer texts than MANY_TEXTS, and more
# Words that negate
NEGATION_FACTOR = 3  # times as heavy as by rarity: words that negate
# Search in groups of sentences
MAX_GROUPS, TEXTS_PER_GROUP = 512, 64  # centres at most, and texts for each of them at least, about
PROBED_GROUPS = 40  # groups whose texts are compared
SHORTLIST_TEXTS, SHORTLIST_FACTOR = 128, 4  # texts compared by their words: at least, and for each one asked for
SHORTLIST_SHARE = 8  # a shortlist serves a cell where at most an eighth of it is asked for
MANY_SHORTLIST_TEXTS = 1024  # sentences that are compared by their words for cells of many sentences
# Names of copied labels
CELL_SENTENCES = 1 << 13  # sentences of a label's cell
COMMON_SHARES = 1 / 8, 1 / 4  # of a cell, which all cells have: the first of the list, and as many of each group
GROWTH_EPSILON, DOUBLING_NATS = 8.0, 2  # from which a cell grows, and nats in which it then doubles
CELL_HALVES = 8  # of the record's weight, that a cosine of 0 adds in a cell
# Choices behind synthetic records
TILT = 10.0  # nats of prior probability for a cosine of one
EVEN_SHARE = 0.2  # of the density, the same for each group of similar sentences
MAX_ADDED_TEXTS = 16_000  # sentences that are added to a model's utterances
NAMED_SENTENCES = 300  # sentences nearest to a name, from which the row ``names`` draws
# Labels from noisy counts
STRENGTH = 4.0  # C of logistic regression; a smaller C regularises more
FULL_RECORDS = 64.0  # records per label, in units of the noise's scale, from which on C is STRENGTH; fewer reduce C
EM_STEPS, REGRESSION_STEPS = 12, 8  # of expectation maximisation, and of the regression within each
DISCOUNT = 0.25  # share of log p(c) that is taken from a label's score
# Where records are counted
NUMBER_SHARE = 2.0**-5  # share of epsilon for the number of votes; a power of two, so that the product is exact
MIN_CODEWORDS, MAX_CODEWORDS, MANY_CODEWORDS = 4, 512, 2048  # of counts: least, most without names, and of large files
CODEWORDS_PER_VOTE, LABEL_POWER = 0.7, 0.75  # codewords for each L^0.75 votes, with L labels and noise of scale 1
NAMED_FACTOR = 2  # times as many codewords if label names place them, because some lie where no record is
TEXTS_PER_CODEWORD = 4  # smallest mean number of public texts for a codeword, if no names place codewords
# More rows than records
ROWS_PER_RECORD, MANY_ROWS = 4, 16_000  # that are written by default: rows for each record, up to MANY_ROWS
# Rows that teach more than names
NAMES_ALONE = 0.96, -0.26  # log odds of the nearest name: start, and slope by the logarithm of the number of labels
RANGE_ERRORS = 1.28  # standard deviations on either side of an expected accuracy: between them are eight of ten
UNMEASURED_ERROR = 0.2  # standard deviation of the mean accuracy of releases about a curve without a rehearsal
CURVE_ERROR, TEXTS_ERROR, MORE_ROWS_ERROR = {"rewrite": 0.002, "synthesize": 0.04}, 1.1, 0.005  # curves.expect_error
PLAN_CURVES = {  # by command, and True after a rehearsal: the weights of curves.read_features
    ("rewrite", False): (-0.304, 0.438, 0.397),
    ("rewrite", True): (0.477, 0.256, 0.168),
    ("synthesize", False): (-0.005, 0.523, 0.508),
    ("synthesize", True): (-0.111, 0.35, 0.362),
}
# One classifier for every row
ENCODER_LENGTHS = 1.0, 2.0  # least and largest length of the encoder's vector; the TF-IDF vector has length 1
FEW_ROWS, CLEAR_NATS = 15.0, 8.0  # rows for each label up to which it is the largest; times CLEAR_NATS / epsilon below
TEXT_STRENGTH, MAX_TEXT_STRENGTH = 4.0, 0.3  # TEXT_STRENGTH / sqrt(rows a label), at most MAX_TEXT_STRENGTH, times
STRENGTH_NATS, STRENGTH_FACTORS = 4.0, (1 / 3, 3.0)  # epsilon / STRENGTH_NATS, within STRENGTH_FACTORS
MANY_RECORDS = 1000  # of fewer rewrites the strength is this part, at least half: little noisy text misleads
NGRAM_FACTOR, NOISY_FACTOR = 5.0, 1 / 3  # times as strong: if n-grams are read alone, and if labels are randomised
KNOWN_TEXTS, MIN_KNOWN_SHARE = 1000, 0.75  # texts whose words are looked up; share of words that the encoder must know
MANY_NGRAM_TEXTS, MIN_NGRAM_HOLDERS = 2000, 2  # among so many texts, this many must hold an n-gram
NAME_NATS, NAME_WEIGHTS = 40.0, (3.0, 10.0, 20.0)  # a name counts as NAME_NATS / epsilon records: at most the last,
NAMED_ROWS = 120.0  # at least the first and, up to the second, NAMED_ROWS / rows a label
REWRITE_NATS = 48.0  # beside examples, a rewrite counts as epsilon / REWRITE_NATS examples, at most 1
REWRITES_PER_EXAMPLE = 0.25  # beside an example, rewrites count together as this times epsilon^2 examples at most
# Strength
STRENGTHS = 0.25, 0.5, 1.0, 2.0, 4.0, 16.0, 64.0  # to try (scikit-learn's C): a smaller one gives a simpler classifier
STANDARD_STRENGTH = 4.0  # a larger strength must give more correct labels
# Common labels
COMMONNESS = 0.5, 0.55, 0.6, 0.65, 0.7, 0.75  # factors of the logarithm of a label's frequency to try
NOISY_COMMONNESS = 0.4  # the factor for randomised labels
# Rows that teach more than names
WORTH_MARGIN = 0.03  # least difference to the best record-free row that is worth a release


class Lists(NamedTuple):
    """Public facts of a model: its lists, and the examples to which it was adapted."""

    clip: str
    codebooks: tuple[int, ...]  # numbers of codewords
    sentences: int  # that it lists
    near: int  # of these, the examples of an adaptation and the sentences like them
    is_broad: bool  # True if the sentences are about many subjects
    examples: int
    foreign_examples: bool  # True if the examples are not English
    writes_labels: bool


class Sizes(NamedTuple):
    """The numbers K and t of a list."""

    size: int
    heavy: int


class Choice(NamedTuple):
    """The mechanism for a model at an epsilon, and the sizes of each list; None for a list that is not used."""

    mechanism: str  # the exact one with the best measured utility
    codewords: Sizes | None = None  # of broad text; None: the mechanism's own
    sentences: Sizes | None = None
    cell: Sizes | None = None  # of each label, if copied labels choose sentences


def choose(lists: Lists, *, epsilon: float | None) -> Choice:
    """Return the choice for a model at an epsilon; the mechanism alone, if epsilon is None or outside of BUDGETS."""
    mechanism = default_mechanism(lists, epsilon=epsilon)
    if epsilon is None or not BUDGETS[0] <= epsilon <= BUDGETS[1]:
        return Choice(mechanism)
    codewords, cell = codeword_count(epsilon), cell_size(epsilon)
    return Choice(
        mechanism,
        broad_codewords(epsilon, lists.codebooks, asked=codewords)
        if max(lists.codebooks, default=0) > DOMAIN_CODEWORDS
        else None,
        listed_sentences(lists, epsilon=epsilon, asked=best_size(epsilon)) if lists.sentences else None,
        Sizes(cell, heavy_of_cell(epsilon, cell)) if has_cells(lists, epsilon=epsilon) else None,
    )


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

    The epsilon must be finite, and the model must have more sentences than a cell. English names of labels say nothing
    about examples in another language, to which a model was adapted.
    """
    if not lists.is_broad or not math.isfinite(epsilon) or lists.foreign_examples:
        return False
    return lists.sentences > cell_size(epsilon)


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
    doublings = max(0.0, epsilon - GROWTH_EPSILON) / DOUBLING_NATS
    return min(MAX_LIST, round(CELL_SENTENCES * math.pow(2.0, doublings)))


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

    The pair then transmits the most information if all K entries are equally common and determine their label.
    With A = e^eps, it transmits I(K) = (A ln A - (A + K - 1) ln((A + K - 1) / K)) / (A + K L - 1) nats. For K
    well below A, this is largest where K (ln K - 1) = A / L: K = A / (L w), where w e^w = A / (e L).
    """
    odds = math.exp(min(epsilon, 600.0)) / labels
    return min(MAX_LIST, max(2, round(odds / float(scipy.special.lambertw(odds / math.e).real))))


def _odds(epsilon: float) -> float:
    return math.exp(min(epsilon, MAX_EXPONENT))


def _heavy(epsilon: float, size: int, *, odds: float) -> int:
    """Return the t for which the odds of releasing a heavy entry are ``odds`` to one."""
    return max(1, round(size * odds / (_odds(epsilon) + odds)))
