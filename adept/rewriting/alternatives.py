"""Other methods of rewriting, for comparisons; all but redaction are differentially private."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy
import torch
from numpy.typing import NDArray

from adept.data.texts import text_list
from adept.errors import BUDGETS, check_between, check_integer
from adept.mechanisms.guarantee import Guarantee, share, words
from adept.mechanisms.selection import Selection, exponential_choice
from adept.models.decoding import writable
from adept.models.lstm_autoencoder import pad
from adept.models.saved_model import Autoencoder
from adept.models.sentence_encoder import Floats
from adept.models.tokenizer import END, PAD, START, Tokenizer

PROMPT_BATCH_TEXTS, RELEASE_BATCH_SYMBOLS = 256, 2048  # texts written, and symbols released, at once
LOGIT_TEXTS = 200  # public texts from which the interval of logits is taken
MAX_POSITIONS = 1000  # largest number of symbols of a record
COMMON_SHARE = 0.9  # share of public texts that have no more words than are released
WINDOW_WORDS = 2  # words on either side of a word that count for its vector
MIN_COMMON_TEXTS = 5  # a word that fewer public texts hold is rare
NUMBER_WORDS = frozenset([
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty", "thirty", "forty", "fifty", "sixty",
    "seventy", "eighty", "ninety", "hundred", "thousand", "million",
])  # fmt: skip


Indices = NDArray[np.int64]


@dataclass(frozen=True)
class WordVectors:
    """The words of public text and their vectors, for mechanisms that replace words."""

    names: tuple[str, ...]  # the commonest first
    vectors: Floats  # (V, n), of mean length 1

    @cached_property
    def places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    def indices(self, text: str, *, unknown: int = 0) -> Indices:
        """Return the index of each word of a text; the index of an unknown word is ``unknown``."""
        return np.array([self.places.get(word, unknown) for word in text.lower().split()], dtype=np.int64)

    def text(self, indices: Indices) -> str:
        return " ".join(self.names[i] for i in indices)

    def distances(self) -> Floats:
        return np.asarray(scipy.spatial.distance.cdist(self.vectors, self.vectors))


def learn_word_vectors(texts: Iterable[str], *, size: int, dim: int) -> WordVectors:
    """Return the ``size`` commonest words of texts, with vectors of at most ``dim`` numbers.

    The vectors come from the singular vectors of the matrix of positive pointwise mutual information between words that
    stand at most WINDOW_WORDS places apart in a text (Levy and Goldberg 2014).
    """
    split = [text.lower().split() for text in texts]
    names = tuple(word for word, _ in Counter(word for row in split for word in row).most_common(size))
    places = {name: place for place, name in enumerate(names)}
    together = np.zeros((len(names), len(names)))
    for row in split:
        known = [places[word] for word in row if word in places]
        for lag in range(1, WINDOW_WORDS + 1):
            np.add.at(together, (known[lag:], known[:-lag]), 1.0)
    together += together.T + 1e-3
    total = together.sum()
    ppmi = np.maximum(np.log(together * total / np.outer(together.sum(axis=0), together.sum(axis=1))), 0.0)
    left, values, _ = np.linalg.svd(ppmi)
    vectors = left[:, :dim] * np.sqrt(values[:dim])
    return WordVectors(names, vectors / np.linalg.norm(vectors, axis=1).mean())


def common_length(lengths: Iterable[int]) -> int:
    """Return the length T, at least 1, that nine in ten of the given lengths do not exceed."""
    return max(1, int(np.quantile(np.array(list(lengths) or [1]), COMMON_SHARE, method="lower")))


@dataclass(frozen=True, kw_only=True)
class InPositions:
    """A mechanism that fills T positions of a text and spends epsilon / T on each position."""

    epsilon: float  # of a whole record, in nats
    length: int  # T
    name: ClassVar[str]
    delta: ClassVar[float] = 0.0
    exact: ClassVar[bool] = False

    @property
    def share(self) -> float:
        return share(self.epsilon, self.length)

    def guarantee(self) -> Guarantee:
        proven = "" if self.exact else "; the sampling is in floating point"
        return Guarantee.pure(
            epsilon=self.epsilon,
            exact=self.exact,
            text=f"The released text is {words(self.epsilon)}-LDP (pure) for any two records: {self.length} positions, padding "
            f"included, with an epsilon of {words(self.share)} each{proven}.",
        )


@dataclass(frozen=True, kw_only=True)
class WordByWord(InPositions):
    """A mechanism that releases a random symbol for each of the T symbols of a record.

    The symbols stand for the first T words of a record, for padding, and one for all words outside the public
    vocabulary. A subclass defines ``_release_symbols``, from N * T symbols to N * T released symbols.

    Claim: if each position is released by an (eps / T)-LDP mechanism with fresh random numbers, the T symbols
    are eps-LDP for any two records. Proof: records differ in at most T positions, and probabilities of
    independent releases multiply. eps / T is rounded down (`adept.mechanisms.guarantee.share`). The text is
    post-processing, and T and the vocabulary come from public text.
    """

    public: WordVectors

    def __post_init__(self) -> None:
        check_integer(1, MAX_POSITIONS, length=self.length)
        check_between(*BUDGETS, epsilon=self.epsilon)
        check_between(*BUDGETS, **{"epsilon / length": self.share})

    @property
    def symbols(self) -> int:
        return len(self.public.names) + 2

    def privatize(self, texts: Sequence[str]) -> list[str]:
        if not (texts := text_list(texts)):
            return []
        known = len(self.public.names)
        symbols = np.full((len(texts), self.length), known + 1)
        for row, text in zip(symbols, texts, strict=True):
            found = self.public.indices(text, unknown=known)[: self.length]
            row[: len(found)] = found
        released = self._release_symbols(symbols.ravel()).reshape(symbols.shape)
        return [self.public.text(row[row < known]) for row in released]

    def _release_symbols(self, symbols: Indices) -> Indices:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class TokenResponse(WordByWord):
    """A mechanism that releases each symbol by K-ary randomised response (Warner 1965), in exact arithmetic."""

    name: ClassVar[str] = "token_response"
    exact: ClassVar[bool] = True

    @property
    def response(self) -> Selection:
        return Selection(epsilon=self.share, size=self.symbols)

    def _release_symbols(self, symbols: Indices) -> Indices:
        return np.asarray(self.response.draw(torch.from_numpy(symbols)[:, None]).numpy())


@dataclass(frozen=True, kw_only=True)
class TokenExponential(WordByWord):
    """A mechanism that draws each word; words near to the record's word are more likely.

    This is CusText (Chen et al. 2023) with one output set for all words. The score of a word y for a record's
    word x is ``1 - |x - y| / D``, with the distance of their vectors and the largest distance D of all words.
    The score is 1 between padding and padding, and 0 between padding and a word. Each symbol is released by
    the exponential mechanism, which is (eps / T)-LDP (`exponential_choice`).
    """

    name: ClassVar[str] = "token_exponential"

    @cached_property
    def scores(self) -> Floats:
        """Scores (K, K) of all pairs of symbols; the vector of the symbol for unknown words is 0."""
        vectors = np.concatenate([self.public.vectors, np.zeros((1, self.public.vectors.shape[1]))])
        distances = WordVectors((*self.public.names, ""), vectors).distances()
        scores = np.eye(self.symbols)
        scores[:-1, :-1] = 1 - distances / max(float(distances.max()), 1e-12)
        return scores

    def _release_symbols(self, symbols: Indices) -> Indices:
        rows = np.array_split(symbols, max(1, len(symbols) // RELEASE_BATCH_SYMBOLS))
        chosen = [exponential_choice(torch.from_numpy(self.scores[row]), epsilon=self.share) for row in rows]
        return np.asarray(torch.cat(chosen).numpy())


@dataclass(frozen=True, kw_only=True)
class PromptSampling(InPositions):
    """An autoencoder without noise in its latent, whose decoder draws each token at random.

    This is DP-Prompt (Utpala, Hooker and Chen, Findings of EMNLP 2023). The decoder reads the latent *without*
    noise and draws at most T tokens, by their logits, which are clipped to [b1, b2].

    Claim: the text is eps-LDP for any two records, with eps / T for each token. Proof: given the earlier
    tokens, the next one is drawn by the exponential mechanism over a public set (`exponential_choice`), with
    the score ``(l - b1) / (b2 - b1)`` of the clipped logit l. The budgets of T such draws add up (adaptive
    composition, Dwork and Roth 2013, Theorem 3.16). Cutting a text after its end mark is post-processing.
    """

    model: Autoencoder = field(repr=False)  # not trained on the records
    tokenizer: Tokenizer = field(repr=False)
    logits: tuple[float, float]  # b1 and b2, from public text (`public_logits`)
    name: ClassVar[str] = "prompt_sampling"

    def __post_init__(self) -> None:
        check_integer(1, self.model.config.max_length, length=self.length)
        check_between(*BUDGETS, epsilon=self.epsilon)

    def privatize(self, texts: Sequence[str]) -> list[str]:
        texts = text_list(texts)
        parts = [texts[start : start + PROMPT_BATCH_TEXTS] for start in range(0, len(texts), PROMPT_BATCH_TEXTS)]
        return [text for part in parts for text in self._write(part)]

    @torch.inference_mode()
    def _write(self, texts: list[str]) -> list[str]:
        latents = self.model.encode_records(self.tokenizer.encode(texts, max_length=self.model.config.max_length))
        places, (low, high) = writable(self.model).nonzero()[:, 0], self.logits
        state = self.model.initial_state(latents)
        last, tokens = torch.full((len(texts),), START), torch.empty(len(texts), 0, dtype=torch.int64)
        while tokens.shape[1] < self.length and not (tokens == END).any(dim=1).all():
            logits, state = self.model.next_word(last, latents, state)
            last = places[exponential_choice((logits[:, places] - low) / (high - low), epsilon=self.share)]
            tokens = torch.cat([tokens, last[:, None]], dim=1)
        return self.tokenizer.decode(tokens.tolist())


@torch.inference_mode()
def public_logits(model: Autoencoder, tokenizer: Tokenizer, texts: Sequence[str]) -> tuple[float, float]:
    """Return b1 and b2 of ``PromptSampling``: mean and maximum of the logits on public texts."""
    rows = tokenizer.encode(text_list(texts)[:LOGIT_TEXTS], max_length=model.config.max_length)
    tokens = pad(rows)
    logits = model(model.encode_records(rows), tokens)[:, :, writable(model)][tokens != PAD]
    return float(logits.mean()), float(logits.max())


@dataclass(frozen=True, kw_only=True)
class Redaction:
    """A redaction without any guarantee; tags replace numbers, addresses, names and rare words."""

    common: frozenset[str]  # public words, in lower case, which are kept
    name: ClassVar[str] = "redaction"
    epsilon: ClassVar[float] = math.inf
    delta: ClassVar[float] = 0.0

    @classmethod
    def from_public(cls, texts: Iterable[str]) -> "Redaction":
        """Build a redaction that keeps the words found in at least MIN_COMMON_TEXTS texts."""
        counts = Counter(word for text in text_list(texts) for word in {_bare(word) for word in text.split()})
        return cls(common=frozenset(word for word, count in counts.items() if count >= MIN_COMMON_TEXTS))

    def privatize(self, texts: Sequence[str]) -> list[str]:
        words = [enumerate(text.split()) for text in text_list(texts)]
        return [" ".join(self._tag(word, first=not place) for place, word in row) for row in words]

    def _tag(self, word: str, *, first: bool) -> str:
        bare = _bare(word)
        if "@" in word or "://" in word or bare.startswith("www."):
            return "[ADDRESS]"
        if any(character.isdigit() for character in bare) or bare in NUMBER_WORDS:
            return "[NUMBER]"
        if word[:1].isupper() and not first and len(bare) > 1:
            return "[NAME]"
        return word if bare in self.common or not bare else "[RARE]"

    def guarantee(self) -> Guarantee:
        return Guarantee.pure(
            epsilon=math.inf, exact=True, text="No privacy: words that no rule knows are released as they are."
        )


def _bare(word: str) -> str:
    return re.sub(r"^\W+|\W+$", "", word.lower())
