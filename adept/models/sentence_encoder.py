"""A static sentence encoder: the vector of a text is the sum of its tokens' vectors, scaled and rounded.

A text is split into WordPiece tokens (Schuster and Nakajima 2012; Devlin et al. 2019). Each token has a
vector of whole numbers from -127 to 127, whose length says how much the token matters
(``pretrained/encoder/README.md``). The sum is scaled to the Euclidean norm LENGTH and rounded. The inner
product of two texts' vectors is about ``LENGTH^2`` times their cosine.

*Claim*: each number of a text's vector depends on this text and the table alone, bit for bit: not on other
texts, their order, or the number of threads. *Proof*: the tokens depend on the text alone. PyTorch adds the
vectors of the tokens of a piece, of numbers of at most 127, in 32-bit floats. A piece has at most
PIECE_LETTERS letters, each of which the tokenizer may split into MAX_PARTS. So every partial sum is a whole
number of at most ``PIECE_LETTERS * MAX_PARTS * 127 < 2^24``, which floats hold exactly in any order. Sums of
the pieces of a text are added as 64-bit integers. Halved until they are below ``2^20``, their squares add up
to at most ``2^48`` for at most 256 numbers, which 64-bit floats hold exactly. Root, quotient, product and rounding
are single operations, which IEEE 754 defines bit for bit. QED. Inner products are whole numbers below
``2^24`` (by Cauchy and Schwarz, about ``LENGTH^2``), so that 32-bit floats hold them exactly, too.
"""

import hashlib
import re
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
import torch
from numpy.typing import NDArray
from safetensors.numpy import load_file

from adept.data.texts import text_list
from adept.errors import ModelError
from adept.mechanisms.policy import MIN_KNOWN_SHARE, TOPIC_COSINE

PACKAGED_ENCODER = Path(__file__).parents[1] / "pretrained" / "encoder"
VECTORS, TOKENIZER = "vectors.safetensors", "tokenizer.json"
ENGLISH = re.compile("[a-z]+")  # the letters of a word
WORD = re.compile(r"[^\W\d_]+")  # of any language
LENGTH = 127  # Euclidean norm of a text's vector
MAX_DIMENSIONS = 256
PIECE_LETTERS, MAX_PARTS = 1 << 14, 4  # letters of a text that are read at once; most letters and marks of a letter
BATCH_TEXTS = 1 << 11  # texts whose tokens are in memory together
SUM_BITS = 20  # of numbers whose squares are added
MIN_COSINE = 0.5  # least cosine at which a word is read as another word
MIN_ENGLISH_SHARE = 0.5  # share of a vocabulary that the encoder must know, or it is another language
BATCH_WORDS = 1024

Codes = NDArray[np.int8]
Floats = NDArray[np.float64]


class SentenceEncoder:
    """An encoder of texts into whole numbers; ``load`` returns the one that comes with adept.

    Args:
        tokenizer: a tokenizer with a token for each row of the table.
        vectors: int8 (V, d), with d at most MAX_DIMENSIONS; zeros for a token without a meaning.

    Raises:
        ModelError: tokenizer and table do not fit.
    """

    def __init__(self, tokenizer: tokenizers.Tokenizer, vectors: Codes) -> None:
        fits = vectors.dtype == np.int8 and vectors.ndim == 2 and 1 <= vectors.shape[1] <= MAX_DIMENSIONS
        if not fits or len(vectors) < tokenizer.get_vocab_size() or vectors.min() < -LENGTH:
            raise ModelError("the vectors of the sentence encoder do not fit its tokenizer: install adept again")
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self._tokenizer, self.vectors = tokenizer, vectors

    @classmethod
    @cache
    def load(cls, directory: Path = PACKAGED_ENCODER) -> "SentenceEncoder":
        """Load the encoder in a directory; by default, the encoder that this package contains."""
        try:
            tokenizer = tokenizers.Tokenizer.from_file(str(directory / TOKENIZER))
            return cls(tokenizer, load_file(directory / VECTORS)["vectors"])
        except Exception:  # noqa: BLE001 - the Rust side raises bare Exception
            raise ModelError(f"the sentence encoder in {directory} is damaged: install adept again") from None

    @property
    def dim(self) -> int:
        """The number d of numbers in a text's vector."""
        return int(self.vectors.shape[1])

    @cached_property
    def sha256(self) -> str:
        digest = hashlib.sha256(self._tokenizer.to_str().encode())
        digest.update(np.ascontiguousarray(self.vectors).data)
        return digest.hexdigest()

    def knows(self, word: str) -> bool:
        """Return True if a word of English letters is a token as a whole."""
        return word.lower() in self.words

    @cached_property
    def words(self) -> dict[str, int]:
        """The words of letters that are tokens as a whole, in the order of the alphabet, and their ids."""
        return {word: token for word, token in sorted(self._tokenizer.get_vocab().items()) if ENGLISH.fullmatch(word)}

    def encode(self, texts: Sequence[str]) -> Codes:
        """Return the vectors (N, d) of N texts, read to their ends; zeros for a text without a known token."""
        given, found = text_list(texts), np.zeros((len(texts), self.dim), dtype=np.int8)
        for start in range(0, len(given), BATCH_TEXTS):
            found[start : start + BATCH_TEXTS] = at_length(self.sums(given[start : start + BATCH_TEXTS]))
        return found

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a text that have a meaning."""
        [tokens] = self._tokens([text])
        return int(self.vectors[tokens].any(axis=1).sum())

    def sums(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return the sums (N, d) of the vectors of all tokens of N texts."""
        total = self._sum_pieces([text[:PIECE_LETTERS] for text in texts])
        for row, text in enumerate(texts):
            for start in range(PIECE_LETTERS, len(text), PIECE_LETTERS):
                total[row] += self._sum_pieces([text[start : start + PIECE_LETTERS]])[0]
        return total

    def _sum_pieces(self, pieces: Sequence[str]) -> NDArray[np.int64]:
        rows = self._tokens([piece.encode("utf-8", "replace").decode("utf-8") for piece in pieces])  # no surrogates
        ends = torch.tensor([0, *map(len, rows)]).cumsum(0)
        tokens = torch.tensor([token for row in rows for token in row], dtype=torch.int64)
        different, tokens = torch.unique(tokens, return_inverse=True)  # a table of all tokens in floats takes 30 MB
        table = torch.from_numpy(self.vectors[different.numpy()]).float()
        sums = torch.nn.functional.embedding_bag(tokens, table, ends[:-1], mode="sum")
        return np.asarray(sums.numpy().astype(np.int64))

    def _tokens(self, pieces: Sequence[str]) -> list[list[int]]:
        try:
            return [coding.ids for coding in self._tokenizer.encode_batch_fast(pieces, add_special_tokens=False)]
        except Exception:  # noqa: BLE001 - the Rust side raises bare Exception; a text at which it fails has no tokens
            return [[]] if len(pieces) == 1 else [ids for piece in pieces for ids in self._tokens([piece])]


def at_length(sums: NDArray[np.integer[Any] | np.float32]) -> Codes:
    """Return rows (N, d) of whole numbers at the norm LENGTH, rounded; rows of zeros stay as they are."""
    largest = np.maximum(sums.max(axis=1, initial=0), -sums.min(axis=1, initial=0)).astype(np.float64)
    halvings = np.maximum(0, np.frexp(largest)[1] - SUM_BITS).astype(np.int64)[:, None]
    small = (sums.astype(np.int64) >> halvings if halvings.any() else sums).astype(np.float64)
    norms = np.sqrt(np.einsum("nd,nd->n", small, small))[:, None]
    small *= LENGTH  # in place: new arrays for product and quotient take five times as long
    small /= np.maximum(norms, 1)
    return np.asarray(np.rint(small, out=small).astype(np.int8))


def reads_as_english(texts: Sequence[str]) -> bool:
    """Return True if the packaged encoder knows most words of the texts."""
    encoder, words = SentenceEncoder.load(), WORD.findall(" ".join(texts))
    return sum(map(encoder.knows, words)) >= MIN_KNOWN_SHARE * len(words)


def share_alike(texts: Sequence[str], others: Sequence[str]) -> float:
    """Return the share of pairs of texts that have the same topic: a cosine of at least TOPIC_COSINE."""
    one, other = (SentenceEncoder.load().encode(part).astype(np.float64) for part in (texts, others))
    return float((np.einsum("nd,nd->n", one, other) >= TOPIC_COSINE * LENGTH**2).mean())


def english_vectors(words: Sequence[str]) -> Floats:
    """Return unit vectors (V, d) of a vocabulary; all are zero if most words are not English."""
    encoder = SentenceEncoder.load()
    sums = encoder.sums(words).astype(np.float64)
    known = sum(map(encoder.knows, words)) >= MIN_ENGLISH_SHARE * len(words)
    return np.asarray(known * sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1.0))


def synonyms_of(words: Sequence[str]) -> dict[str, str]:
    """Map English words that a vocabulary lacks to its nearest word, if their cosine is at least MIN_COSINE.

    Only words count that the sentence encoder knows as a whole: parts of a word say little of its meaning.
    """
    encoder, taken = SentenceEncoder.load(), {word.lower() for word in words}
    vectors, whole = english_vectors(words), np.array([encoder.knows(word) for word in words], dtype=np.float64)
    asked = [word for word in encoder.words if word not in taken] if vectors.any() else []
    found: dict[str, str] = {}
    for start in range(0, len(asked), BATCH_WORDS):
        part = asked[start : start + BATCH_WORDS]
        like = english_vectors(part) @ (vectors * whole[:, None]).T
        near = like.max(axis=1) >= MIN_COSINE
        found |= {part[row]: words[like[row].argmax()] for row in np.flatnonzero(near).tolist()}
    return found
