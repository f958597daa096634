r"""Random bits from the operating system, and integers and orders drawn from these bits.

Every exact sampler reads its bits from `source`, which has no seed. Tests replace `source` by a
finite tape of bits.

*Counting lemma.* Let each word of b bits be equally likely.

1. `below`: a word is drawn until it is less than m <= 2^b. Of the 2^b words, m end the drawing, one
   for each number. So each of {0, .., m-1} has probability 1/m given that the drawing ends. The
   drawing goes on after d words with probability (1 - m/2^b)^d < 2^-d.
2. `below_each`: a word is drawn until it is at least r = 2^b mod m. These words are consecutive,
   and there are a multiple of m of them, so every remainder modulo m occurs equally often.
3. *Weights*: a number below W = t A + (k - t) B belongs to one of t intervals of length A and k - t
   of length B that fill {0, .., W-1} without overlap, so an outcome is as likely as its interval is
   long (`adept.mechanisms.random_draws.exact_ranks`).
4. `shuffle`: the last place gets each item with probability 1/n, the place before it each remaining
   one with 1/(n-1), and so on: n! equally likely sequences of draws, one for each order.

Tests enumerate all tapes for small m and confirm that the program draws as the lemma says.

Checked proof of 1 to 3: ``proofs/Sampler.v``, ``ranks_have_their_weights``,
``remainders_are_uniform``.
"""

import os
import secrets
from typing import Any

import numpy as np
from numpy.typing import NDArray


class OperatingSystem:
    """Bits that no seed, no fork and no generator state can repeat or reveal."""

    width = 64  # bits of a word

    def bits(self, count: int) -> int:
        """Return a number of ``count`` fresh bits."""
        return secrets.randbits(count)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` words of 64 fresh bits."""
        return np.frombuffer(bytearray(os.urandom(8 * count)), dtype=np.uint64)


source = OperatingSystem()


def below(bound: int) -> int:
    """Draw an integer, uniform on {0, .., bound-1}."""
    bits = (bound - 1).bit_length()
    while (draw := source.bits(bits)) >= bound:
        pass
    return draw


def below_each(bound: int, count: int) -> NDArray[np.int64]:
    """Draw ``count`` independent uniform integers in {0, .., bound-1}, for bound <= 2^63."""
    if bound == 1:
        return np.zeros(count, dtype=np.int64)
    words, least = source.words(count), np.uint64((1 << source.width) % bound)
    while len(again := np.flatnonzero(words < least)):
        words[again] = source.words(len(again))
    return (words % np.uint64(bound)).astype(np.int64)


def shuffle(items: list[Any]) -> None:
    """Put a list into a uniformly drawn order (Fisher and Yates 1938)."""
    for last in range(len(items) - 1, 0, -1):
        place = below(last + 1)
        items[last], items[place] = items[place], items[last]
