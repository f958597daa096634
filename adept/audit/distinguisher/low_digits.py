"""Where the numbers of a release end: their last bit, and the coarsest place below which none has digits, decimal or binary."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FINEST_PLACE = 6
FINEST_BIT = 20  # about a millionth of the unit; sums in float32 end below it
FEW = 4  # numbers of a release that are looked at first


def lowest_bits(z: Floats) -> Floats:
    """Return how many numbers of each release have their last bit set.

    For opposite inputs alone: noise that is as likely as its negative gives this count the same law under x and -x, whatever
    floats round, since z and -z have the same last bit. So only a bit that was put there tells them apart.
    """
    bits = np.ascontiguousarray(z).view(np.int64) & 1
    count: Floats = bits.sum(axis=1).astype(np.float64)
    return count


def trailing(z: Floats, unit: float) -> Floats:
    """Return the coarsest decimal place, from 0 to 6, below which no number of a release has digits."""
    places, rows = np.full(len(z), FINEST_PLACE + 1.0), np.flatnonzero(_whole(z[:, 0] / (unit * 10.0**-FINEST_PLACE)))
    for place in range(FINEST_PLACE, -1, -1):  # hardly any row, of most laws: the others need no second look
        rows = rows[_whole(z[rows] / (unit * 10.0**-place)).all(axis=1)]
        if not len(rows):
            break
        places[rows] = place
    return places


def trailing_bits(z: Floats, unit: float) -> Floats:
    """Return the coarsest binary place, from 0 to `FINEST_BIT`, below which no number of a release has bits.

    Sums in half precision have their last bit where the record has it: a record of zero shows finer ones. A release of which one
    number in a few is finer than all places looks like that of any float64, and is not looked at further.
    """
    places = np.full(len(z), FINEST_BIT + 1.0)
    scaled = z[:, :FEW] * (2.0**FINEST_BIT / unit)
    rows = np.flatnonzero((scaled == np.rint(scaled)).any(axis=1))
    scaled = z[rows] * (2.0**FINEST_BIT / unit)
    whole = (scaled == np.rint(scaled)).all(axis=1)
    looked_at = whole[:, None] & (np.abs(scaled) < 2.0**62)  # beyond, a float has no bits below
    bits = np.bitwise_or.reduce(np.where(looked_at, scaled, 0.0).astype(np.int64), axis=1)
    lowest = np.where(bits == 0, 2.0**FINEST_BIT, (bits & -bits).astype(np.float64))
    places[rows[whole]] = np.maximum(FINEST_BIT - np.log2(lowest[whole]), 0.0)
    return places


def _whole(multiples: Floats) -> NDArray[np.bool_]:
    result: NDArray[np.bool_] = np.abs(multiples - np.round(multiples)) < 1e-6
    return result
