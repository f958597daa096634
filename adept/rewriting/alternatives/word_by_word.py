"""Texts replaced word by word, with one budget for the record.

A record is read as exactly T symbols: its first T words, each a public word or the symbol for all others, and padding behind them.
Padding is a symbol like any other, so the number of words is not released as it is.

Claim: if each position is released by an (eps / T)-LDP mechanism on the common set of symbols, with fresh coins, the T symbols
are eps-LDP for any two records. Proof: two records differ in at most T positions, and the probabilities of independent releases
multiply; T times the share of a position, rounded down, is at most eps (`adept.mechanisms.guarantee.share`). What is written from
the symbols is post-processing. T and the words come from public text.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import torch

from adept.data.texts import text_list
from adept.mechanisms.exponential import exponential_choice
from adept.mechanisms.guarantee import Guarantee, share, words
from adept.mechanisms.randomized_response import RandomizedResponse
from adept.models.word_vectors import Floats, Indices, Words
from adept.ranges import BUDGETS, check_between, check_integer

LONGEST = 1000
MOST_LENGTHS = 0.9  # of public texts have no more words than are released


def common_length(lengths: Iterable[int]) -> int:
    """Return T: a length that nine in ten public texts do not exceed, at least 1."""
    return max(1, int(np.quantile(np.array(list(lengths) or [1]), MOST_LENGTHS, method="lower")))


@dataclass(frozen=True, kw_only=True)
class WordByWord:
    """A mechanism on T symbols; ``_released`` (N T,) -> (N T,) is the child's.

    Attributes:
        epsilon: of a whole record, in nats.
        public: the public words, whose places are symbols; behind them come the symbol of all other words, and padding.
        length: T.
    """

    epsilon: float
    public: Words
    length: int
    name: ClassVar[str]
    exact: ClassVar[bool]

    def __post_init__(self) -> None:
        check_integer(1, LONGEST, length=self.length)
        check_between(*BUDGETS, epsilon=self.epsilon)
        check_between(*BUDGETS, **{"epsilon / length": self.share})

    @property
    def delta(self) -> float:
        """Probability mass outside the epsilon bound: none."""
        return 0.0

    @property
    def share(self) -> float:
        """The budget of a position."""
        return share(self.epsilon, self.length)

    @property
    def symbols(self) -> int:
        """How many symbols there are."""
        return len(self.public.names) + 2

    def privatize(self, texts: Sequence[str]) -> list[str]:
        """Release every text: positions one by one, fresh coins from the operating system."""
        texts = text_list(texts)
        if not texts:
            return []
        released = self._released(np.concatenate([self._symbols(text) for text in texts]))
        return [self._text(row) for row in released.reshape(len(texts), self.length)]

    def guarantee(self) -> Guarantee:
        """Return what the release of one text guarantees."""
        return Guarantee.pure(
            epsilon=self.epsilon,
            exact=self.exact,
            text=f"The released text is {words(self.epsilon)}-LDP (pure) for any two records: {self.length} positions, padding "
            f"included, with an epsilon of {words(self.share)} each.",
        )

    def _released(self, symbols: Indices) -> Indices:
        raise NotImplementedError

    def _symbols(self, text: str) -> Indices:
        """Return a text as T symbols."""
        unknown = len(self.public.names)
        row = np.full(self.length, unknown + 1)
        found = self.public.indices(text, unknown=unknown)[: self.length]
        row[: len(found)] = found
        return row

    def _text(self, symbols: Indices) -> str:
        """Write the public words among the symbols."""
        return self.public.text(symbols[symbols < len(self.public.names)])


@dataclass(frozen=True, kw_only=True)
class TokenResponse(WordByWord):
    """K-ary randomised response at every position (Warner 1965; Kairouz, Oh and Viswanath 2014), in exact arithmetic.

    (eps / T)-LDP at each position by the proof of `RandomizedResponse`, hence eps-LDP by this module's.
    """

    name: ClassVar[str] = "token_response"
    exact: ClassVar[bool] = True

    @cached_property
    def response(self) -> RandomizedResponse:
        """The mechanism of one position."""
        return RandomizedResponse(epsilon=self.share, labels=tuple(map(str, range(self.symbols))))

    def _released(self, symbols: Indices) -> Indices:
        return np.array(list(map(int, self.response.privatize(list(map(str, symbols.tolist()))))), dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class TokenExponential(WordByWord):
    """The exponential mechanism at every position: near words are likelier (as CusText with one output set, Chen et al. 2023).

    The score of word y for word x is 1 - |x - y| / D, D the largest distance of public vectors, within [0, 1]; that of padding is
    1 for padding and 0 for words. So it is (eps / T)-LDP at each position (`adept.mechanisms.exponential`), hence eps-LDP.
    """

    name: ClassVar[str] = "token_exponential"
    exact: ClassVar[bool] = False

    @cached_property
    def scores(self) -> Floats:
        """Scores (K, K) of each symbol for each; the symbol of all other words lies at the origin."""
        vectors = np.concatenate([self.public.vectors, np.zeros((1, self.public.vectors.shape[1]))])
        distances = Words((*self.public.names, ""), vectors).distances()
        scores = np.eye(self.symbols)
        scores[:-1, :-1] = 1 - distances / max(float(distances.max()), 1e-12)
        return scores

    def _released(self, symbols: Indices) -> Indices:
        rows = np.array_split(symbols, max(1, len(symbols) // 2048))
        drawn = [exponential_choice(torch.from_numpy(self.scores[row]), epsilon=self.share) for row in rows]
        result: Indices = torch.cat(drawn).numpy()
        return result
