r"""Names of labels as public knowledge: public sentences that are likely to be records of a label.

The names of a label set say in words what its labels are about ("card_payment_failed",
"PlayMusic"). So a label's records lie near its name. This module gives each public sentence s a
prior probability of being a record of label c, in proportion to ``exp(TILT * cos(name of c, s))``.
If a name is near to no sentence, all sentences have similar probabilities; if it has no known word,
they are equal. The prior probabilities have two uses.

*Texts and codewords*: the *density* says how common each public sentence should be in the file. It
is the mean of the distributions of all labels, mixed with a uniform distribution. Sentences chosen
by this density join the model's own texts. Codewords, the centres of groups of texts, are placed
where the density is high (``adept.synthesis.vote_cells``). Here the cosine compares meanings, which
are computed from the lexicon's vectors of words.

*Labels*: the names give log odds of the labels of each text, which ``label_estimate`` corrects by
the noisy counts. Here the cosine compares features (``adept.synthesis.vote_cells``).

*Claim*: the use of names costs no budget, and a released file is as private with names as without.
*Proof*: the names come from the label set, and the sentences from the model. Both are fixed before
any record is read. So the density is fixed, and so are, for each number of codewords, the codewords
and the rule that sends a record to a cell (a pair of codeword and label). The proof of
``adept.mechanisms.central_counts`` needs no more than this, and its sensitivity and noise are the
same for any cells. The output is a function of the released numbers and of these public things.
QED. A label set that was collected from private records is not public, with or without names.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from adept.models.adapt import read_meanings, sentence_at
from adept.models.codec.codec import Codec, words_of
from adept.models.codec.meaning import MEANING_LENGTH, multiply_all
from adept.models.label_sentences import compare_names, spell_names
from adept.models.tokenizer import join_words
from adept.synthesis.vote_cells import GRID, PublicCells, PublicTexts

MAX_NAMED_LABELS = 512  # above, names are not read: regression has a column for each label
TILT = 10.0  # nats of prior probability for a cosine of one
EVEN_SHARE = 0.2  # of the density, on all sentences alike
MAX_ADDED_TEXTS = 16_000  # that join a model's own texts
NAMED_SENTENCES = 300  # nearest to a name, from which the reference row draws its texts

Floats = NDArray[np.float64]
Scores = NDArray[np.float32]


def spell_label_set(codec: Codec | None, labels: Sequence[str | None]) -> list[tuple[str, ...]]:
    """Return the words of each label's name; () for all labels without a lexicon, or if there are many."""
    if codec is None or codec.lexicon is None or len(labels) > MAX_NAMED_LABELS:
        return [()] * len(labels)
    return spell_names(codec, [label or "" for label in labels])


def choose_texts(codec: Codec, spelled: Sequence[tuple[str, ...]]) -> PublicTexts:
    """Return a codec's utterances, and sentences chosen by their density, without random numbers.

    ``spelled`` holds the words of each label's name.
    """
    density, own = _read_density(codec, spelled), len(codec.utterances)
    drawn = _spread(density, MAX_ADDED_TEXTS)
    taken = np.diff(np.floor(np.cumsum(drawn) + 0.5), prepend=0.0) > 0
    taken[:own] = True
    first: dict[str, int] = {}
    for place in np.flatnonzero(taken).tolist():
        first.setdefault(join_words(sentence_at(codec, place)), place)
    places = np.array([*first.values()], dtype=np.int64)
    chances = 1 - (1 - drawn[places]) * (1 - own / len(density))
    return PublicTexts([*first], density[places] * len(density), chances)


def _read_density(codec: Codec, spelled: Sequence[tuple[str, ...]]) -> Floats:
    size, named = _count_sentences(codec), 0
    total = np.zeros(size)
    for _, products in compare_names(codec, spelled):
        law = np.exp(TILT * (products.astype(np.float64) / MEANING_LENGTH**2 - 1))
        total, named = total + law / law.sum(), named + 1
    nameless = (len(spelled) - named) / size
    return np.asarray((1 - EVEN_SHARE) * (total + nameless) / len(spelled) + EVEN_SHARE / size)


def _count_sentences(codec: Codec) -> int:
    return len(codec.utterances) + len(codec.listed)


def _spread(density: Floats, count: int) -> Floats:
    """Return the chance of each of N sentences to be among ``count`` chosen ones on average.

    Chances below one are proportional to the density.
    """
    factor, chances = float(count), np.minimum(1.0, count * density)
    while count < len(density) and chances.sum() < count - 0.5:
        factor *= count / chances.sum()
        chances = np.minimum(1.0, factor * density)
    return chances if count < len(density) else np.ones(len(density))


def score_labels(cells: PublicCells, spelled: Sequence[tuple[str, ...]]) -> Scores:
    """Return the log odds (n, L) of the labels of each text, according to the labels' names.

    All L labels count as equally common. A label whose name has no known word gets zeros. Each
    label's distribution is normalised over all sentences: a text that was chosen with chance p
    stands for 1 / p sentences.
    """
    if not any(spelled):
        return np.zeros((1, len(spelled)), dtype=np.float32)
    names = cells.of([" ".join(words) for words in spelled])
    scores = TILT * (cells.features @ names.T / GRID**2 - 1)
    stands_for = 1 / cells.public.chances
    scores -= np.log(stands_for @ np.exp(scores) / stands_for.sum())
    scores[:, [not words for words in spelled]] = 0.0
    return np.asarray(scores, dtype=np.float32)


def draw_by_names(codec: Codec, labels: Sequence[str], *, seed: int) -> list[str]:
    """Return for each label (n,) one of the codec's NAMED_SENTENCES sentences nearest to its name.

    If a name has no known word, the sentence is drawn from all sentences of the codec.
    """
    generator, names = np.random.default_rng(seed), list(dict.fromkeys(labels))
    wanted = np.array([names.index(label) for label in labels])
    places = generator.integers(_count_sentences(codec), size=len(labels))
    for label, products in compare_names(codec, spell_names(codec, names)):
        own = np.flatnonzero(wanted == label)
        places[own] = generator.choice(np.argsort(-products, kind="stable")[:NAMED_SENTENCES], size=len(own))
    return [join_words(sentence_at(codec, place)) for place in places.tolist()]


def label_by_names(codec: Codec, names: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Return for each text the name nearest in meaning; the first name if none has a known word."""
    spelled = spell_names(codec, names)
    meanings, _ = read_meanings(codec)
    products = multiply_all(meanings.of(map(words_of, texts)), meanings.of(spelled))
    products[:, [not words for words in spelled]] = -np.inf
    return [names[place] for place in products.argmax(axis=1).tolist()]
