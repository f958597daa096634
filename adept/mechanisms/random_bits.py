r"""Random bits from the operating system, and random integers and orders computed from these bits.

Every exact sampler reads its bits from `source`, which has no seed. Tests replace `source` by a finite
tape of bits.

*Counting lemma.* Each word consists of b random bits, so all 2^b words are equally likely.

1. `below` draws words of b bits, with the smallest b for which m <= 2^b, and returns the first that is
   less than m. So each number below m has probability 1/m. More than d words are drawn with probability
   (1 - m/2^b)^d < 2^-d.
2. `below_each` draws words until one is at least r = 2^b mod m, and returns it modulo m. The accepted
   words are consecutive, and their number is a multiple of m, so all remainders are equally likely.
3. *Weights*: {0, .., W-1} with W = t A + (k - t) B is divided into t intervals of length A and k - t of
   length B. A uniform number below W lies in each with a probability proportional to its length
   (`adept.mechanisms.random_draws.exact_ranks`).
4. `shuffle` gives the last place to each of the n items with probability 1/n, the last place but one to
   each remaining item with probability 1/(n-1), and so on: n! equally likely orders.

Checked proof of 1 to 3: ``proofs/Sampler.v``, ``ranks_have_their_weights``,
``remainders_are_uniform``.
"""

import os
import secrets
from typing import Any

import numpy as np
from numpy.typing import NDArray


class OperatingSystem:
    """A source of random bits from the operating system, which no seed, fork or generator state repeats."""

    width = 64  # bits of a word

    def bits(self, count: int) -> int:
        """Return an integer that consists of ``count`` fresh random bits."""
        return secrets.randbits(count)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` words of 64 fresh random bits each."""
        return np.frombuffer(bytearray(os.urandom(8 * count)), dtype=np.uint64)


source = OperatingSystem()


def below(bound: int) -> int:
    """Draw one integer uniformly from {0, .., bound-1}."""
    bits = (bound - 1).bit_length()
    while (draw := source.bits(bits)) >= bound:
        pass
    return draw


def below_each(bound: int, count: int) -> NDArray[np.int64]:
    """Draw ``count`` integers uniformly and independently from {0, .., bound-1}, bound <= 2^63."""
    if bound == 1:
        return np.zeros(count, dtype=np.int64)
    words, least = source.words(count), np.uint64((1 << source.width) % bound)
    while len(again := np.flatnonzero(words < least)):
        words[again] = source.words(len(again))
    return (words % np.uint64(bound)).astype(np.int64)


def shuffle(items: list[Any]) -> None:
    """Put a list into a uniformly random order, in place (Fisher and Yates 1938)."""
    for last in range(len(items) - 1, 0, -1):
        place = below(last + 1)
        items[last], items[place] = items[place], items[last]
