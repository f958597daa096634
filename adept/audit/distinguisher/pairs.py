"""Pairs of records on which a claim is tried, and samples of their releases.

A claim of local differential privacy speaks of any two records, in any company. So the pairs are chosen where mechanisms break: at
opposite ends of the set, at two *norms*, outside the set, at zero, where latents are not finite, in another dtype; and each record
is released among copies of itself (many releases in a call, which is fast), alone, and between others.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Floats = NDArray[np.float64]
Statistic = Callable[[Any], Floats]

FAR = 1000.0  # how far outside the ball the far pair lies, in units of clip_norm
COMPANY = 3  # records of a batch in which one changes


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two records: latents, raw, as an encoder might return them, before any clip; or values.

    Attributes:
        first: (n,); or a batch (B, n), of which ``second`` differs in one row; or a value.
        alone: whether a record (n,) is released in calls of one row.
        hard: worth a try where there is time for few pairs only.
    """

    name: str
    first: Any
    second: Any
    alone: bool = False
    hard: bool = False

    @property
    def finite(self) -> bool:
        """Records of finite numbers: all that a simulation, which is a formula and no program, speaks of."""
        return all(bool(x.isfinite().all()) for x in (self.first, self.second))

    @property
    def plain(self) -> bool:
        """Finite float64 records among copies of themselves: what a declared law of noise speaks of."""
        return (
            not self.alone
            and self.finite
            and all(x.ndim == 1 and x.dtype == torch.float64 for x in (self.first, self.second))
        )

    @property
    def antipodal(self) -> bool:
        return isinstance(self.first, Tensor) and bool(torch.equal(self.first, -self.second))


def adversarial_pairs(dim: int, *, clip_norm: float) -> list[Pair]:
    """Return the pairs of single records, the hard ones first.

    The diagonal has the largest l1 distance in the l2 ball (Habernal 2021, Theorem 5.1); the axis has the largest distance in the
    l1 ball; a random direction is neither; the far pair lies outside and shows whether the mechanism clips at all. Two norms in one
    direction show a leak of the norm, multiples just outside the ball a clip with a tolerance.
    """
    pairs = [
        *_opposite(dim, clip_norm),
        *_two_norms(dim, clip_norm),
        *_not_finite(dim, clip_norm),
        *_odd(dim, clip_norm),
    ]
    different: dict[Any, Pair] = {}  # at small dimensions several are the same
    for pair in pairs:
        different.setdefault(frozenset((_key(pair.first, False), _key(pair.second, False))), pair)
    return list(different.values())


def _directions(dim: int, clip_norm: float) -> tuple[Tensor, Tensor, Tensor]:
    diagonal = torch.full((dim,), clip_norm / dim**0.5, dtype=torch.float64)
    axis = torch.zeros(dim, dtype=torch.float64)
    axis[0] = clip_norm
    random = torch.randn(dim, dtype=torch.float64, generator=torch.Generator().manual_seed(2021))
    return diagonal, axis, random * (clip_norm / torch.linalg.vector_norm(random))


def _opposite(dim: int, clip_norm: float) -> Iterator[Pair]:
    diagonal, axis, random = _directions(dim, clip_norm)
    directions = {"diagonal": diagonal, "axis": axis, "random": random, "far": FAR * diagonal}
    directions |= {"random just outside": 1.05 * random, "random a tenth outside": 1.095 * random}
    directions |= {"axis outside": 1.4 * axis, "random outside": 9.0 * random}
    for name, x in directions.items():
        yield Pair(name=name, first=-x, second=x, hard=name in ("diagonal", "axis", "random", "random just outside"))
    yield Pair(name="diagonal, float32", first=-diagonal.float(), second=diagonal.float())


def _two_norms(dim: int, clip_norm: float) -> Iterator[Pair]:
    diagonal, axis, random = _directions(dim, clip_norm)
    zero = torch.zeros(dim, dtype=torch.float64)
    yield Pair(name="zero and axis", first=zero, second=axis, hard=True)
    yield Pair(name="zero and random", first=zero, second=random, hard=True)
    yield Pair(name="zero and far", first=zero, second=FAR * diagonal)
    yield Pair(name="small and random", first=0.01 * random, second=random, hard=True)
    yield Pair(name="half and whole axis", first=0.5 * axis, second=axis)
    yield Pair(name="inside and far outside", first=0.3 * random, second=FAR * random)
    yield Pair(name="axis and diagonal", first=axis, second=diagonal)


def _not_finite(dim: int, clip_norm: float) -> Iterator[Pair]:
    _, _, random = _directions(dim, clip_norm)
    first, last, infinite, every = (random.clone() for _ in range(4))
    first[0], last[-1], infinite[0], every[:] = torch.nan, torch.nan, torch.inf, torch.nan
    yield Pair(name="NaN and a number", first=first, second=random)
    yield Pair(name="NaN and zero", first=first, second=torch.zeros_like(random))
    if dim > 1:
        yield Pair(name="NaN first and NaN last", first=first, second=last)
    yield Pair(name="NaN and infinity", first=first, second=infinite)
    yield Pair(name="infinity and minus infinity", first=infinite, second=-infinite)
    yield Pair(name="NaN everywhere and zero", first=every, second=torch.zeros_like(random))


def _odd(dim: int, clip_norm: float) -> Iterator[Pair]:
    _, axis, random = _directions(dim, clip_norm)
    ones = torch.ones(dim, dtype=torch.float64)
    yield Pair(name="overflowing", first=-1e300 * ones, second=1e300 * ones)
    yield Pair(name="zero and minus zero", first=0 * ones, second=-0.0 * ones)
    yield Pair(name="zero and subnormal", first=0 * ones, second=1e-310 * ones)
    if dim > 1:
        yield Pair(name="first and last axis", first=axis, second=axis.roll(1))
        signs = torch.where(torch.arange(dim) % 2 == 0, 1.0, -1.0).to(torch.float64)
        yield Pair(name="equal and alternating", first=0.5 * ones, second=0.5 * signs)
        yield Pair(name="sorted and reversed", first=random.sort().values, second=random.sort(descending=True).values)


def lonely_pairs(given: list[Pair], *, dim: int, clip_norm: float) -> list[Pair]:
    """Return the pairs whose records are released in calls of their own: the caller's, and the hard ones."""
    return [
        replace(pair, name=f"{pair.name}, alone", alone=True)
        for pair in [*given, *adversarial_pairs(dim, clip_norm=clip_norm)]
        if pair.hard
    ]


def company_pairs(given: list[Pair], *, dim: int, clip_norm: float) -> list[Pair]:
    """Return pairs of batches that differ in one record: first, in the middle and last, small and as large as can be."""
    _, axis, random = _directions(dim, clip_norm)
    others = torch.stack([0.2 * random.roll(1), -0.3 * random, 0.25 * axis])
    records = {"opposite": (-random, random), "zero and far": (torch.zeros_like(random), FAR * random)}
    records |= {pair.name: (pair.first, pair.second) for pair in given[:1]}
    pairs = []
    for place in range(COMPANY):
        for name, (first, second) in records.items():
            batches = [others.clone(), others.clone()]
            batches[0][place], batches[1][place] = first, second
            pairs.append(Pair(name=f"{name}, row {place + 1} of {COMPANY}", first=batches[0], second=batches[1]))
    return pairs


@dataclass(frozen=True, kw_only=True)
class PairSample:
    """Releases of both inputs of a pair, for choosing and for the tests of the noise; and the projected inputs."""

    pair: Pair
    centres: tuple[Floats, Floats]  # (B * n,) each; empty for values
    releases: tuple[Any, Any]  # (rows, m) each; for values perhaps (rows,) of objects

    @property
    def additive(self) -> bool:
        """Can a release be read as its input plus noise: it has as many numbers."""
        return bool(self.releases[0].shape[1] == len(self.centres[0]))


class Source(Protocol):
    """What releases records: a mechanism on latents or on values, as an audit sees it."""

    @property
    def epsilon(self) -> float: ...

    @property
    def delta(self) -> float: ...

    @property
    def clip_norm(self) -> float: ...

    def draw(self, record: Any, rows: int, *, alone: bool = False) -> Iterator[Any]:
        """Yield so many releases of one record, in chunks."""

    def sample(self, record: Any, rows: int, *, alone: bool = False) -> Any:
        """Return so many releases of one record."""

    def centres(self, pair: Pair) -> tuple[Floats, Floats]:
        """Return the inputs of a pair as the claim sees them."""

    def statistics(self, sample: PairSample) -> Iterator[tuple[str, Statistic]]:
        """Yield the statistics that separate one pair, each with a name."""

    def numbers(self, record: Any) -> int:
        """Return how many numbers a release of a record holds, about."""

    def affordable(self, rows: int, *, seconds: float, alone: bool = False) -> int:
        """Return ``rows``, or as many as are released in so many seconds."""


@dataclass
class Sampler:
    """Draws releases for pairs, each input once: pairs that share an input share its sample."""

    source: Source
    rows: int
    _drawn: dict[Any, Any] = field(default_factory=dict)

    def __call__(self, pair: Pair) -> PairSample:
        first, second = (self._sample(record, pair.alone) for record in (pair.first, pair.second))
        return PairSample(pair=pair, centres=self.source.centres(pair), releases=(first, second))

    def remember(self, sample: PairSample) -> None:
        """Take what was drawn elsewhere for the inputs of a pair."""
        for record, releases in zip((sample.pair.first, sample.pair.second), sample.releases, strict=True):
            self._drawn[_key(record, sample.pair.alone)] = releases

    def _sample(self, record: Any, alone: bool) -> Any:
        if (key := _key(record, alone)) not in self._drawn:
            self._drawn[key] = self.source.sample(record, self.rows, alone=alone)
        return self._drawn[key]


def _key(record: Any, alone: bool) -> Any:
    latents = isinstance(record, Tensor)
    return (record.numpy().tobytes(), record.dtype, tuple(record.shape), alone) if latents else (record, alone)
