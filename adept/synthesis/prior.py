r"""Use the public names of labels to choose public sentences, and to find the sentences' labels.

The names of labels, such as "card_payment_failed" or "PlayMusic", say in words what the records with
these labels are about. So each public sentence s gets a prior probability of being the text of a record
with label c, proportional to ``exp(TILT * cos(c, s))``, where ``cos(c, s)`` is a cosine of name and
sentence. If the name has no word with a meaning, all sentences have the same probability.

*Texts and codewords*: the *density* of a sentence says how common it is expected to be in the file. It is
the mean of the prior probabilities for all labels, mixed with a uniform distribution. Sentences chosen by
their density are added to the model's utterances, and codewords are placed where the density is high
(``adept.synthesis.vote_cells``). The cosine is that of *meanings*.

*Labels*: ``score_labels`` computes log odds of the labels of each text from the labels' names, with the
cosine of features (``adept.synthesis.vote_cells``), and ``adept.synthesis.labels`` corrects them with the
help of the noisy counts.

*Claim*: the use of names costs no privacy budget. *Reason*: label set and model are fixed before any
record is read, and so are the density, the codewords for each number of codewords, and the rule that
sends a record to a cell (``docs/proofs.md``, "Names of labels in synthetic text"). The claim does not
cover a label set that was collected from private records.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from adept.mechanisms.policy import EVEN_SHARE, MAX_ADDED_TEXTS, NAMED_SENTENCES, TILT
from adept.models.names import compare_names, words_of_name
from adept.models.sentences.meanings import MEANING_LENGTH
from adept.models.sentences.sentence_list import SentenceList
from adept.models.tokenizer import join_words
from adept.synthesis.vote_cells import GRID, PublicCells, PublicTexts

MAX_NAMED_LABELS = 512  # with more labels, names are not read, because the regression has a column for each label

Floats = NDArray[np.float64]
Scores = NDArray[np.float32]


def spell_label_set(sentences: SentenceList | None, labels: Sequence[str | None]) -> list[tuple[str, ...]]:
    """Return the words of each label's name; none without broad text, or with more than MAX_NAMED_LABELS labels."""
    if sentences is None or not sentences.is_broad or len(labels) > MAX_NAMED_LABELS:
        return [()] * len(labels)
    return [words_of_name(label or "") for label in labels]


def choose_texts(sentences: SentenceList, spelled: Sequence[tuple[str, ...]]) -> PublicTexts:
    """Return all utterances of a list, and others, the likelier the commoner they are expected to be in the file."""
    density, own = _read_density(sentences, spelled), len(sentences.utterances)
    drawn = _spread(density, MAX_ADDED_TEXTS)
    taken = np.diff(np.floor(np.cumsum(drawn) + 0.5), prepend=0.0) > 0
    taken[:own] = True
    first: dict[str, int] = {}
    for place in np.flatnonzero(taken).tolist():
        first.setdefault(join_words(sentences[place]), place)
    places = np.array([*first.values()], dtype=np.int64)
    chances = 1 - (1 - drawn[places]) * (1 - own / len(density))
    return PublicTexts([*first], density[places] * len(density), chances)


def _read_density(sentences: SentenceList, spelled: Sequence[tuple[str, ...]]) -> Floats:
    size, named = len(sentences), 0
    total = np.zeros(size)
    for _, products in compare_names(sentences, spelled):
        law = np.exp(TILT * (products.astype(np.float64) / MEANING_LENGTH**2 - 1))
        total, named = total + law / law.sum(), named + 1
    nameless = (len(spelled) - named) / size
    return np.asarray((1 - EVEN_SHARE) * (total + nameless) / len(spelled) + EVEN_SHARE / size)


def _spread(density: Floats, count: int) -> Floats:
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
    names = cells.of([" ".join(words) for words in spelled])
    scores = TILT * (cells.features @ names.T / GRID**2 - 1)
    stands_for = 1 / cells.public.chances
    scores -= np.log(stands_for @ np.exp(scores) / stands_for.sum())
    scores[:, [not words for words in spelled]] = 0.0
    return np.asarray(scores, dtype=np.float32)


def draw_by_names(sentences: SentenceList, labels: Sequence[str], *, seed: int) -> list[str]:
    """Draw a sentence for each label, of the NAMED_SENTENCES nearest to its name, or of all without a known word."""
    generator, names = np.random.default_rng(seed), list(dict.fromkeys(labels))
    wanted = np.array([names.index(label) for label in labels])
    places = generator.integers(len(sentences), size=len(labels))
    for label, products in compare_names(sentences, [*map(words_of_name, names)]):
        own = np.flatnonzero(wanted == label)
        places[own] = generator.choice(np.argsort(-products, kind="stable")[:NAMED_SENTENCES], size=len(own))
    return [join_words(sentences[place]) for place in places.tolist()]
