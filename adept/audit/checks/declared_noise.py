"""Checks of what a mechanism declares: its set, its noise, and that the two together give the claim.

The proof of a claim reads: "inputs are in this set, noise of this law and scale is added, therefore (epsilon, delta)".
`norm` tests the first part, `scale`, `shape` and `coordinates` the second, `sensitivity` the third. Each p-value holds for
any sample size, so each test errs with probability at most its share. Noise is the release minus the projected input,
and each input of each pair is tested apart (with Bonferroni's factor), so noise that depends on the input is seen.
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc
from torch import Tensor

from adept.audit.distinguisher.pairs import PairSample
from adept.audit.result import Finding, MechanismFailure
from adept.audit.stats.noise import Law, cap_p_value, chi_square_lower, smallest_ratio
from adept.audit.target.vector import Subject

Floats = NDArray[np.float64]

SHAPE_VALUES = 200_000  # numbers in one Kolmogorov-Smirnov test


def sensitivity(subject: Subject, samples: list[PairSample]) -> Finding:
    """Do the declared noise and the distance of projected inputs give the claim.

    Claim: two inputs at distance d need epsilon (or delta) at least f(d), f exact for the declared law. The distances
    are measured through the mechanism's own projection, so one pair beyond the claim refutes it: arithmetic, no
    statistics (Habernal 2021, Section 4, is this check on one pair). That no pair is beyond proves nothing.
    """
    law, scale = subject.law()
    distances = {sample.pair.name: _distance(*sample.centres, law) for sample in _plain(samples)}
    distances["random latents"] = _random_distance(subject, law)
    worst = max(distances, key=lambda name: distances[name])
    distance = distances[worst]
    holds, needed = law.holds(distance, scale=scale, epsilon=subject.epsilon, delta=subject.delta)
    evidence = f"pair {worst}: l{law.order} distance {distance:.6g} over scale {scale:.6g} needs {needed}"
    return Finding(failed=not holds, evidence=evidence, statistic=distance / scale)


def norm(subject: Subject) -> Finding:
    """Does every projected latent meet the declared norm bound: sums of the floats as exact rational numbers.

    Claim: a float is a rational number, so its norm is computed here without rounding; one row above C refutes that the
    proof's premise covers the program. Mechanisms that say ``exact`` have to meet C itself, others C (1 + 1e-6); on the
    sphere only the direction counts, so 1e-6 is allowed there always.
    """
    if not hasattr(subject.mechanism, "project"):
        raise MechanismFailure("the mechanism has no method project")
    order = 1 if subject.clip == "l1" else 2
    exact = subject.says_exact and subject.clip != "sphere"
    limit = (Fraction(subject.clip_norm) * (1 if exact else Fraction("1.000001"))) ** order
    norms = [
        _exact_norm(row, order)
        for row in subject.project(extreme_latents(subject.dim, order=order, clip_norm=subject.clip_norm))
    ]
    largest = float(max(norms) ** (1 / order)) if max(norms) else 0.0
    outside = sum(norm > limit for norm in norms)
    evidence = (
        f"{outside} of {len(norms)} projected latents above clip_norm {subject.clip_norm:g}, the largest {largest:.17g}"
    )
    return Finding(failed=outside > 0, evidence=evidence, statistic=largest)


def scale(subject: Subject, samples: list[PairSample], *, share: float) -> Finding:
    """Is the noise at least as large as declared: the lower tail of an exact chi-square pivot.

    Claim: under the declared law the pivot is chi-square distributed (`Law.size`), so its lower tail is a p-value. More noise
    than declared takes no privacy and is not an offence here.
    """
    law, declared = subject.law()
    sizes = [law.size(noise, declared) for noise in _noises(samples)]
    ratio = min(smallest_ratio(*size) for size in sizes)
    p = min(chi_square_lower(*size) for size in sizes)
    return _test(
        p, len(sizes), share, statistic=ratio, what=f"noise {ratio:.4g} times the declared size at the smallest"
    )


def shape(subject: Subject, samples: list[PairSample], *, share: float) -> Finding:
    """Does the noise have the declared law: Kolmogorov-Smirnov with Massart's bound, valid for every sample size."""
    if subject.law_name() == "cap":
        sides = [side for side in _sides(samples) if side[1].any()]
        claim = {"epsilon": subject.epsilon, "clip_norm": subject.clip_norm}
        values = [cap_p_value(releases, centre, **claim) for releases, centre in sides]
    else:
        law, declared = subject.law()
        rows = max(1, SHAPE_VALUES // subject.dim)
        values = [p for noise in _noises(samples) for p in law.shape(noise[:rows], declared)]
    return _test(min(values), len(values), share, what=f"{len(values)} tests against the declared law")


def coordinates(subject: Subject, samples: list[PairSample], *, share: float) -> Finding:
    """Is the noise independent between coordinates and between the rows of a batch, adjacent and at a distance.

    Claim: under the declared law the signs of the noise are independent fair coins, and so are the bits "|noise| is above
    its median" where coordinates are independent. Whether two coins at a distance agree is then a sequence of independent
    fair coins again (a chain of sums modulo 2), so the number of agreements is Binomial(m, 1/2), exactly.
    """
    law, declared = subject.law()
    median = law.magnitude_median(declared)
    values, shares = [], []
    for noise in _noises(samples):
        coins = [noise > 0] if median is None else [noise > 0, np.abs(noise) > median]
        for coin in coins:
            for agree in _agreements(coin):
                values.append(_fair(int(agree.sum()), agree.size))
                shares.append(float(agree.mean()))
    if not values:
        raise MechanismFailure("there are too few numbers to compare")
    far = max(shares, key=lambda value: abs(value - 0.5))
    return _test(min(values), len(values), share, statistic=far, what=f"coins agree in {far:.2%} of cases at the worst")


def extreme_latents(dim: int, *, order: int = 2, clip_norm: float = 1.0) -> Tensor:
    """Return finite latents (34, dim) of every size that a float64 can have: zeros, ties, subnormal and near overflow.

    Ten of them lie just outside the ball, by a ten-thousandth to a factor of three: where a clip with a tolerance lets them be.
    """
    generator = torch.Generator().manual_seed(7)
    random = torch.randn(26, dim, dtype=torch.float64, generator=generator)
    sizes = torch.logspace(-3, 3, 16, dtype=torch.float64)[:, None]
    random[:16] *= sizes
    outside = clip_norm * (1 + torch.logspace(-4, 0.3, 10, dtype=torch.float64))[:, None]
    random[16:] *= outside / torch.linalg.vector_norm(random[16:], ord=order, dim=1, keepdim=True)
    constants = torch.tensor([0.0, 1.0, -1.0, 1 / 3, 1e-310, 1e300, 1.7e308, -1e-5], dtype=torch.float64)[:, None]
    return torch.cat([random, constants.expand(-1, dim)])


def _agreements(coin: NDArray[np.bool_]) -> Iterator[NDArray[np.bool_]]:
    """Yield where coins agree: in a row and between rows, at several distances."""
    rows, dim = coin.shape
    for lag in sorted({1, 2, 3, dim // 4, dim // 2, dim - 1} & set(range(1, dim))):
        yield coin[:, lag:] == coin[:, :-lag]
    for lag in sorted({1, 2, 8, 32, rows // 2} & set(range(1, rows))):
        yield coin[lag:] == coin[:-lag]


def _distance(first: Floats, second: Floats, law: Law) -> float:
    return float(np.linalg.norm(first - second, ord=law.order))


def _random_distance(subject: Subject, law: Law) -> float:
    latents = torch.randn(512, subject.dim, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    centres = subject.project(10 * subject.clip_norm * latents)
    return max(_distance(first, second, law) for first, second in zip(centres[:256], centres[256:], strict=True))


def _plain(samples: list[PairSample]) -> list[PairSample]:
    plain = [sample for sample in samples if sample.pair.plain and sample.additive]
    if not plain:
        raise MechanismFailure("releases have another dimension than latents")
    return plain


def _sides(samples: list[PairSample]) -> Iterator[tuple[Floats, Floats]]:
    """Yield the releases of each input, once, with the projected input."""
    seen = set()
    for sample in _plain(samples):
        for releases, centre in zip(sample.releases, sample.centres, strict=True):
            if id(releases) not in seen:
                seen.add(id(releases))
                yield releases, centre


def _noises(samples: list[PairSample]) -> Iterator[Floats]:
    for releases, centre in _sides(samples):
        yield releases - centre


def _exact_norm(row: Floats, order: int) -> Fraction:
    if not np.isfinite(row).all():
        raise MechanismFailure("project returned a number that is not finite for a finite latent")
    return sum((abs(Fraction(value)) ** order for value in row.tolist()), Fraction(0))


def _fair(agreements: int, coins: int) -> float:
    """Return the two-sided p-value of ``agreements`` ~ Binomial(coins, 1/2)."""
    tails = float(bdtr(agreements, coins, 0.5)), float(bdtrc(agreements - 1, coins, 0.5)) if agreements else 1.0
    return min(1.0, 2 * min(tails))


def _test(p_value: float, tests: int, share: float, *, what: str, statistic: float | None = None) -> Finding:
    """Return the finding of the smallest of several p-values (Bonferroni)."""
    p = min(1.0, p_value * tests)
    return Finding(failed=p < share, evidence=what, statistic=statistic, p_value=p, threshold=share)
