"""Checks of floating-point safety, for additive noise that says it is exact.

A mechanism can be private on paper and leak through the low bits of its floats: which numbers x + noise can reach depends
on x (Mironov 2012). These checks look at nothing else, and are kept apart from the event, which rounds such traces away.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr
from scipy.stats import fisher_exact

from adept.audit.distinguisher.pairs import PairSample
from adept.audit.result import Finding, MechanismFailure
from adept.audit.target.vector import Subject

Floats = NDArray[np.float64]

MANTISSA_BITS = 53
ODD_SHARE = 0.4  # of exact noise whose scale is at least STEPS steps of its grid
STEPS = 4.0
COARSE = 1e-6  # of the largest value: the finest step that is no power of two which can be told from none
EUCLID_VALUES = 64


def grid(subject: Subject, samples: list[PairSample]) -> Finding:
    """Are all releases multiples of one step, small enough integers for a float64 to hold exactly.

    Claim: exact additive noise lives on a grid z = k * step, with every |k| <= 2^53 (else the floats could not hold the
    integers). Floating-point noise keeps 53 bits at every magnitude, so its small outputs have bits below any such grid:
    largest output over finest bit exceeds 2^53. That refutes the word ``exact``, and needs no statistics. A step that is no power
    of two, such as .01, shows in no bit: there all outputs have to be whole multiples of one number, each integer one float.
    """
    _require_exact_law(subject)
    values = _values(samples)
    largest, finest = _bit_span(values)
    bits = largest - finest
    if bits > MANTISSA_BITS and (step := coarse_step(values)) is not None:
        return Finding(failed=False, evidence=f"releases are multiples of {step:.6g}", statistic=step)
    evidence = f"releases use {bits} bits from the largest to the finest, a public grid has at most {MANTISSA_BITS}"
    return Finding(failed=bits > MANTISSA_BITS, evidence=evidence, statistic=float(bits))


def representability(subject: Subject, samples: list[PairSample], *, share: float) -> Finding:
    """Can every release of x also be reached from x': does x' + (z - x') give z back, to the last bit.

    Claim: on a public grid that holds both inputs the sum is exact, always. So how often it gives z back must not depend on
    the input that z was released from; Fisher's exact test compares the two, with Bonferroni's factor over the pairs.
    An input that is no multiple of the finest bit seen is not on the grid, and proves nothing: it is left out.
    """
    _require_exact_law(subject)
    values = _values(samples)
    if coarse_step(values) is not None:
        raise MechanismFailure("the step of the releases' grid is no power of two, so sums on it are rounded")
    step = 2.0 ** _bit_span(values)[1]
    tests = [
        _reachable(sample, candidate)
        for sample in _plain(samples)
        for candidate in sample.centres
        if not np.fmod(candidate, step).any()
    ]
    if not tests:
        raise MechanismFailure("no input lies on the grid of the releases")
    chances = [float(fisher_exact(np.array([[k, m - k] for k, m in counts])).pvalue) for counts in tests]
    (first, rows), (second, _) = tests[int(np.argmin(chances))]
    p = min(1.0, min(chances) * len(chances))
    evidence = f"{first} of {rows} releases of x and {second} of x' can be reached from the same input"
    return Finding(
        failed=p < share, evidence=evidence, statistic=abs(first - second) / rows, p_value=p, threshold=share
    )


def lowest_bit(subject: Subject, samples: list[PairSample], *, share: float) -> Finding:
    """Are releases odd multiples of their grid's step as often as exact noise is.

    Claim: integer noise with P(k) proportional to exp(-|k - c| / t) or exp(-(k - c)^2 / 2 t^2), t >= 4, is odd with probability
    .4 to .6, whatever c. Let s be the finest step seen in the first half of the releases. If the noise lives on a grid, its true
    step is at most s, and is s unless all of the first half are even multiples of it, which has probability at most .6^m.
    So in the second half, fresh, the odd multiples of s count at least as a Binomial(m, .4) does: its lower tail is a p-value.
    Floats have their finest bit in few numbers only: hardly any is odd, whatever their precision. Rounded floats pass.
    """
    _require_exact_law(subject)
    values = _values(samples)
    values = values[np.random.default_rng().permutation(len(values))]
    learn, count = np.array_split(values, 2)
    step = coarse_step(learn) or 2.0 ** _bit_span(learn)[1]
    if subject.law()[1] < STEPS * step:
        raise MechanismFailure(f"the declared noise is not wider than {STEPS:g} steps of the grid that it shows")
    odd = int((np.fmod(np.round(count / step), 2) != 0).sum())
    p = float(bdtr(odd, len(count), ODD_SHARE))
    evidence = (
        f"{odd} of {len(count)} numbers are odd multiples of the finest step seen, {step:.3g}; exact noise has half"
    )
    return Finding(failed=p < share, evidence=evidence, statistic=odd / len(count), p_value=p, threshold=share)


def _plain(samples: list[PairSample]) -> list[PairSample]:
    return [sample for sample in samples if sample.pair.plain and sample.additive]


def _releases(samples: list[PairSample]) -> list[Floats]:
    """Return each sample of releases once."""
    return list({id(side): side for sample in _plain(samples) for side in sample.releases}.values())


def _values(samples: list[PairSample]) -> Floats:
    """Return all numbers of all releases, each once.

    Raises:
        MechanismFailure: all are zero.
    """
    values = np.concatenate([releases.ravel() for releases in _releases(samples)])
    if not values.any():
        raise MechanismFailure("all releases are zero")
    return values


def coarse_step(values: Floats) -> float | None:
    """Return the step of which all values are multiples up to rounding, where it is no power of two; None if there is none.

    Euclid's algorithm on a few values gives the step about, least squares sharpen it, and all values are held to it. It has to
    be coarse, a millionth of the values at least: to finer ones floats of any law come near. And each multiple has to be one
    float, or its rounding would tell more than the integer.
    """
    distinct = np.unique(values)
    largest = float(np.abs(distinct).max(initial=0.0))
    finest, step = COARSE * largest, 0.0
    for value in np.abs(distinct[:: max(1, len(distinct) // EUCLID_VALUES)]).tolist():
        a, step = max(value, step), min(value, step)
        while step > finest:
            a, step = step, abs(math.remainder(a, step))
        step = a
    if step <= finest:
        return None
    multiples = np.round(distinct / step)
    step = float(multiples @ distinct / (multiples @ multiples))
    near = np.abs(distinct - np.round(distinct / step) * step) <= 4 * np.spacing(largest)
    one = len(np.unique(np.round(distinct / step))) == len(distinct)
    return step if near.all() and one and math.frexp(step)[0] != 0.5 else None


def _bit_span(values: Floats) -> tuple[int, int]:
    """Return e and f: every nonzero value is below 2^e in magnitude, and all are multiples of 2^f, e and f being tight."""
    mantissa, exponent = np.frexp(values[values != 0])
    integers = (mantissa * 2.0**MANTISSA_BITS).astype(np.int64)
    finest = exponent - MANTISSA_BITS + np.log2(integers & -integers).astype(int)
    return int(exponent.max()), int(finest.min())


def _require_exact_law(subject: Subject) -> None:
    if subject.source != "release":
        raise MechanismFailure("a simulation says nothing about the floats of a release")
    subject.law()
    if not subject.says_exact:
        raise MechanismFailure("the mechanism does not say that its releases are exact")


def _reachable(sample: PairSample, candidate: Floats) -> tuple[tuple[int, int], tuple[int, int]]:
    first, second = (
        (int((candidate + (releases - candidate) == releases).all(axis=1).sum()), len(releases))
        for releases in sample.releases
    )
    return first, second
