r"""Names of labels as public knowledge: public sentences that are likely to be records of a label.

The names of a label set say in words what the labels are about ("card_payment_failed",
"PlayMusic"). So a label's records lie near its name: a public sentence s is a record of label c
with a prior probability proportional to exp(TILT cos(name of c, s)). The cosine is that of meanings
by the lexicon (``adept.models.codec.meaning``). A name that is near to no sentence changes little,
and a label without any known word changes nothing. The mean of the distributions of all labels,
mixed with a uniform share, is a *density* of the file. Sentences drawn by it join the model's own
texts, so that more can be written. ``label_estimate`` gets *pseudo-votes* for each label, at
sentences near its name.

*Claim*: names cost no budget, and change no vote, count, noise or certificate. *Proof*: codewords
are chosen, and records counted, by functions that get no name (``adept.synthesis.cells``,
``tally``, ``adept.mechanisms.votes``), so counts are released as without names. A written file is a
function of the released counts, the label set and the public model: names come from the label set,
which is public, and sentences from the model. Such a function of an epsilon-DP release is
epsilon-DP. QED. A label set that was collected from private records is not public, with or without
names.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from adept.models.adapt import read_meanings, sentence_at
from adept.models.codec.codec import Codec, text_of, words_of
from adept.models.codec.meaning import MEANING_LENGTH, multiply_all
from adept.models.label_names import compare_names, spell_names
from adept.synthesis.cells import BATCH_TEXTS, PublicCells, WritableTexts

MAX_NAMED_LABELS = 512  # above, names are not read: regression has a column for each label
TILT = 10.0  # nats of prior probability for a cosine of one
EVEN_SHARE = 0.2  # of the density, on all sentences alike
MAX_ADDED_TEXTS = 8000  # that join a model's own texts
PSEUDO_VOTES = 30.0  # of each label
MAX_NAME_RANK, NAME_RANKS = 1000, 30  # of the sentences that get them, in geometric steps
NAMED_SENTENCES = 300  # nearest to a name, from which the reference row draws its texts

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


def add_names(cells: PublicCells, codec: Codec | None, names: Sequence[str | None]) -> WritableTexts:
    """Return the texts of cells, sentences near to the names (L,) of labels, and pseudo-votes.

    Without a broad model or a known word, or with more than MAX_NAMED_LABELS labels, they are the
    texts of the cells alone. These must be the codec's utterances.
    """
    own = cells.writable(labels=len(names))
    if codec is None or codec.lexicon is None or len(names) > MAX_NAMED_LABELS:
        return own
    spelled = spell_names(codec, [name or "" for name in names])
    if not any(spelled):
        return own
    density, near = _read_density(codec, spelled)
    return _add_examples(_add_sentences(own, cells, codec, density), cells, codec, near)


def _read_density(codec: Codec, spelled: Sequence[tuple[str, ...]]) -> tuple[Floats, dict[int, Places]]:
    """Return the density (N,) of sentences, and places near to each label's name."""
    size = _count_sentences(codec)
    ranks = np.unique(np.geomspace(1, min(MAX_NAME_RANK, size), NAME_RANKS).astype(np.int64) - 1)
    total, near = np.zeros(size), {}
    for label, products in compare_names(codec, spelled):
        total += _tilt(products)
        near[label] = np.argsort(-products, kind="stable")[ranks]
    nameless = (len(spelled) - len(near)) / size
    return (1 - EVEN_SHARE) * (total + nameless) / len(spelled) + EVEN_SHARE / size, near


def _count_sentences(codec: Codec) -> int:
    return len(codec.utterances) + len(codec.listed)


def _tilt(products: NDArray[np.float32]) -> Floats:
    law = np.exp(TILT * (products.astype(np.float64) / MEANING_LENGTH**2 - 1))
    return np.asarray(law / law.sum())


def _add_sentences(own: WritableTexts, cells: PublicCells, codec: Codec, density: Floats) -> WritableTexts:
    """Add sentences by their density; a text's share is its density over its chance to be there."""
    chances = _spread(density, MAX_ADDED_TEXTS)
    drawn = np.flatnonzero(np.diff(np.floor(np.cumsum(chances) + 0.5), prepend=0.0))
    first = {text: place for place, text in reversed([*enumerate(map(text_of, codec.utterances))])}
    here = np.array([first[text] for text in own.texts], dtype=np.int64)
    texts = {text_of(sentence_at(codec, place)): place for place in drawn.tolist()}
    added = {text: place for text, place in texts.items() if text not in first}
    places = np.concatenate([here, np.array([*added.values()], dtype=np.int64)])
    missed = (1 - chances[places]) * (1 - len(here) / len(density))
    features = np.concatenate([own.features, _features(cells, [*added])])
    return replace(
        own,
        texts=[*own.texts, *added],
        features=features,
        places=np.concatenate([own.places, cells.nearest(features[len(here) :])]),
        shares=density[places] / (1 - missed),
    )


def _spread(density: Floats, count: int) -> Floats:
    """Return chances (N,), proportional to a density below one, that sum to ``count`` or to N."""
    factor, chances = float(count), np.minimum(1.0, count * density)
    while count < len(density) and chances.sum() < count - 0.5:
        factor *= count / chances.sum()
        chances = np.minimum(1.0, factor * density)
    return chances if count < len(density) else np.ones(len(density))


def _add_examples(writable: WritableTexts, cells: PublicCells, codec: Codec, near: dict[int, Places]) -> WritableTexts:
    """Add sentences near to names, with pseudo-votes."""
    places = [place for found in near.values() for place in found.tolist()]
    labels = [label for label, found in near.items() for _ in found]
    votes = np.zeros((len(places), writable.pseudo_votes.shape[1]))
    votes[np.arange(len(places)), labels] = [PSEUDO_VOTES / len(near[label]) for label in labels]
    examples = _features(cells, [text_of(sentence_at(codec, place)) for place in places])
    return replace(writable, examples=examples, pseudo_votes=votes)


def _features(cells: PublicCells, texts: Sequence[str]) -> Floats:
    parts = [cells.of(texts[start : start + BATCH_TEXTS]) for start in range(0, len(texts), BATCH_TEXTS)]
    return np.concatenate([np.empty((0, cells.codewords.shape[1])), *parts])


def draw_by_names(codec: Codec, labels: Sequence[str], *, seed: int) -> list[str]:
    """Return a sentence of a broad codec for each label (n,), drawn by the label's name alone.

    It is one of the NAMED_SENTENCES nearest to the name, or any sentence without a known word.
    """
    generator, names = np.random.default_rng(seed), list(dict.fromkeys(labels))
    wanted = np.array([names.index(label) for label in labels])
    places = generator.integers(_count_sentences(codec), size=len(labels))
    for label, products in compare_names(codec, spell_names(codec, names)):
        own = np.flatnonzero(wanted == label)
        places[own] = generator.choice(np.argsort(-products, kind="stable")[:NAMED_SENTENCES], size=len(own))
    return [text_of(sentence_at(codec, place)) for place in places.tolist()]


def label_by_names(codec: Codec, names: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Return for each text the nearest name in meaning; the first one if no name has a known word."""
    spelled = spell_names(codec, names)
    meanings, _ = read_meanings(codec)
    products = multiply_all(meanings.of(map(words_of, texts)), meanings.of(spelled))
    products[:, [not words for words in spelled]] = -np.inf
    return [names[place] for place in products.argmax(axis=1).tolist()]
