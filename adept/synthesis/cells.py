r"""Public cells: pairs of codeword and label, and the function that sends a record to one of them.

A text's *features* are its latent and the mean of its words' vectors in the public lexicon, each of
length 1, side by side. Codewords are k-means centres of the features of public texts; a record
votes for the nearest one, with its label.

*A vote is a function of its own record*, which the proof of ``adept.mechanisms.votes`` needs. A
latent depends on its own text, to the last bit (``adept.models.adept``), and so does a sum of its
words' vectors. How products of matrices round depends on the number of rows. So features and
codewords are whole numbers in floats, with GRID steps per unit: every partial sum of a product
stays below GRID^2 * 2 < 2^53, where floats are exact, whatever the order of additions.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from adept.models.autoencoder import Autoencoder
from adept.models.lexicon import TextVectors
from adept.models.tokenizer import Tokenizer

GRID = 4096  # whole numbers to a unit of features
CODEWORDS_PER_NAT = 128  # at a budget of 1 for one vote
MIN_CODEWORDS, MAX_CODEWORDS = 16, 512
TEXTS_PER_CODEWORD = 4  # public texts, on average, at least
MAX_CELLS = 1 << 24
MAX_KMEANS_TEXTS = 20_000  # above, k-means reads texts in batches
KMEANS_STEPS = 30
BATCH_TEXTS = 4096

Features = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True)
class WritableTexts:
    """Public texts that can be written, with public knowledge about them."""

    texts: list[str]  # all different (n,)
    features: Features  # (n, d)
    places: Places  # codeword of each (n,)
    shares: NDArray[np.float64]  # commonness of each, up to a factor (n,)
    examples: Features  # of texts whose labels are known (m, d)
    pseudo_votes: NDArray[np.float64]  # of examples, by label (m, L)


class PublicCells:
    """Codewords (K, d) of public texts of features (n, d), and each text's: ``places`` (n,)."""

    def __init__(self, model: Autoencoder, tokenizer: Tokenizer, texts: Sequence[str], *, size: int) -> None:
        self._tokenizer, self._model = tokenizer, model
        self.texts = list(texts)
        self._meaning = TextVectors(_rarity(self.texts))
        self.features = self.of(self.texts)
        self.codewords = _centres(self.features, size)
        self.places = self.nearest(self.features)

    @property
    def size(self) -> int:
        return len(self.codewords)

    def writable(self, *, labels: int) -> WritableTexts:
        """Return the texts with equal shares, for L labels of which nothing is known."""
        examples, votes = np.empty((0, self.features.shape[1])), np.empty((0, labels))
        return WritableTexts(self.texts, self.features, self.places, np.ones(len(self.texts)), examples, votes)

    def vote(self, texts: Sequence[str]) -> Places:
        """Return the codeword (N,) nearest to each text: a function of that text alone."""
        parts = [texts[start : start + BATCH_TEXTS] for start in range(0, len(texts), BATCH_TEXTS)]
        return np.concatenate([np.empty(0, np.int64), *(self.nearest(self.of(part)) for part in parts)])

    def of(self, texts: Sequence[str]) -> Features:
        """Return features (N, d) as whole numbers."""
        rows = self._tokenizer.encode(texts, max_length=self._model.config.max_length)
        latents = self._model.encode_records(rows).cpu().to(torch.float64).numpy()
        both = np.hstack([_unit(latents), _unit(self._meaning.of(texts).astype(np.float64))])
        return np.rint(GRID * _unit(both))

    def nearest(self, features: Features) -> Places:
        return np.asarray((features @ self.codewords.T).argmax(axis=1))


def default_size(*, epsilon: float, sensitivity: int, labels: int, texts: int) -> int:
    """Return the number K of codewords, from public numbers alone; it grows with the budget."""
    carried = max(round(epsilon / sensitivity * CODEWORDS_PER_NAT), MIN_CODEWORDS)
    return max(1, min(carried, MAX_CODEWORDS, texts // TEXTS_PER_CODEWORD, MAX_CELLS // labels))


def _centres(features: Features, size: int) -> Features:
    from sklearn.cluster import KMeans, MiniBatchKMeans  # slow to import

    kind = KMeans if len(features) <= MAX_KMEANS_TEXTS else MiniBatchKMeans
    found = kind(size, n_init=1, max_iter=KMEANS_STEPS, random_state=0).fit((features / GRID).astype(np.float32))
    return np.rint(GRID * _unit(found.cluster_centers_.astype(np.float64)))


def _rarity(texts: Sequence[str]) -> dict[str, float]:
    counts = Counter(word for text in texts for word in set(text.lower().split()))
    return {word: float(np.log((1 + len(texts)) / (1 + count))) + 1 for word, count in counts.items()}


def _unit(rows: Features) -> Features:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9))
