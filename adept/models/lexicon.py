"""What English as a whole knows of a word: a vector for each of its 60,000 commonest, so that few public texts need not tell it.

Public text of a domain is short of words: five hundred utterances hold a third of those that the next ten thousand use. A word that
they lack used to be no word at all. Word vectors that were learned from billions of words of newspaper and encyclopedia (GloVe:
Pennington, Socher and Manning 2014, "GloVe: Global vectors for word representation") say which word it resembles, so

- a word outside a vocabulary is read as the *nearest known* one ("bike" as "ride"), where one is near: ``Lexicon.nearest``;
- the *topics* of a model of many domains know words by their vectors too (``adept.models.topic_encoder``).

Both are functions of public words alone, and each word is looked up by itself: what a record's other words are, or other records,
changes nothing. The first is done wherever a model is to serve many domains, the second where nothing of the domain is at hand, and
classifiers read words that no rewrite holds in the first way and texts in the second (``adept.evaluation.tfidf``). (The packaged
model, HWU64's validation split, eps = 4 and 8, two seeds, one text a record: .21, .34 without a lexicon; .21, .37 where only the
classifier reads unknown words by it; .26, .43 with all three; one seed, .35, .56 where the classifier has texts' vectors, too.
Vectors of the 116,000 public utterances' own company, in GloVe's place, gave nothing, nor did another weight between 1 and 2.5, or
LIKE between .4 and .6.)

The mean vector and the first two principal directions, which say how common a word is and not what it means, are taken away (Mu
and Viswanath 2018, "All-but-the-top"); what is left has length 1, in steps of 1/127.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

PACKAGED = Path(__file__).parents[1] / "pretrained" / "lexicon"
WORDS, VECTORS = "words.txt", "vectors.safetensors"
COMMONEST, SEEN = 60_000, 150_000  # words of a lexicon; lines that they are looked for in
LIKE = 0.5  # cosine from which a word is read as another one
KNOWN_SHARE = 0.5  # of a vocabulary that a lexicon must know, or it is one of another language
CHUNK = 1024


@dataclass(frozen=True)
class Lexicon:
    """Words and their vectors.

    Attributes:
        words: W words in lower case, the commonest first.
        vectors: (W, n) of whole numbers, 127 times a unit vector.
    """

    words: tuple[str, ...]
    vectors: NDArray[np.int8]

    @classmethod
    def from_glove(cls, path: Path, *, words: int = COMMONEST) -> "Lexicon":
        """Read the first words without digits and signs of a file of GloVe's: a word and its numbers in each line."""
        with path.open(encoding="utf-8") as file:
            lines = (line.rstrip().split(" ") for line in islice(file, SEEN))
            chosen = list(islice((line for line in lines if line[0].isalpha()), words))
        vectors = np.array([line[1:] for line in chosen], dtype=np.float64)
        vectors -= vectors.mean(axis=0)
        first = np.linalg.svd(vectors, full_matrices=False)[2][:2]
        vectors -= vectors @ first.T @ first
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return cls(tuple(line[0] for line in chosen), np.rint(127 * vectors).astype(np.int8))

    @classmethod
    @cache
    def load(cls, directory: Path = PACKAGED) -> "Lexicon":
        """Read a lexicon, by default the one that comes with the package."""
        words = (directory / WORDS).read_text("utf-8").splitlines()
        return cls(tuple(words), load_file(directory / VECTORS)["vectors"])

    def save(self, directory: Path) -> None:
        (directory / WORDS).write_text("\n".join(self.words) + "\n", "utf-8")
        save_file({"vectors": self.vectors}, directory / VECTORS)

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each word."""
        return {word: place for place, word in enumerate(self.words)}

    def look_up(self, words: Sequence[str]) -> NDArray[np.float64]:
        """Return unit vectors (V, n) of words, of "what's" that of "what"; zero rows for those that are not in the lexicon."""
        found = [self.places.get(word.lower(), self.places.get(word.lower().split("'")[0], -1)) for word in words]
        places = np.array(found, dtype=np.int64)
        vectors = self.vectors[places].astype(np.float64) * (places >= 0)[:, None]
        return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9))

    def of(self, words: Sequence[str]) -> NDArray[np.float64]:
        """Return the vectors (V, n) of a vocabulary: those of ``look_up``, or nothing but zeros.

        All are zero where the lexicon holds less than half of the words: they are another language's, and what looks the same
        means something else.
        """
        vectors = self.look_up(words)
        return vectors * bool(vectors.any(axis=1).sum() >= KNOWN_SHARE * len(words))

    def nearest(self, known: Sequence[str], others: Iterable[str] | None = None) -> dict[str, str]:
        """Return for other words the known one that is most like each, where one has a cosine of at least LIKE.

        Args:
            known: what words are read as.
            others: which words, in lower case; None stands for all of the lexicon.
        """
        vectors, taken = self.of(known), {word.lower() for word in known}
        asked = [
            word for word in (self.words if others is None else others) if word in self.places and word not in taken
        ]
        found: dict[str, str] = {}
        for start in range(0, len(asked) if vectors.any() else 0, CHUNK):
            part = asked[start : start + CHUNK]
            like = self.vectors[[self.places[word] for word in part]] / 127.0 @ vectors.T
            places, cosines = like.argmax(axis=1).tolist(), like.max(axis=1).tolist()
            found |= {
                word: known[place] for word, place, cosine in zip(part, places, cosines, strict=True) if cosine >= LIKE
            }
        return found
