"""Checks of floating-point defects: low bits, sums in float32, NaN and infinity.

Noise is *exact* if a mechanism draws it as a whole multiple of a public step. Then all releases lie
on the *grid* of the multiples of this step, and the sum of an input and its noise is not rounded.
"""

import math

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import bdtr

from adept.audit.distinguisher.guessing_game import MIN_TRIALS, Experiment, play_rule
from adept.audit.distinguisher.input_pairs import InputPair, additive_sides
from adept.audit.distinguisher.statistics import Rule
from adept.audit.result import Check, MechanismFailure
from adept.audit.stats import Floats, certified, combined
from adept.audit.subject.kinds import VectorTarget
from adept.mechanisms.clip_to_grid import NORM_ORDER

MANTISSA_BITS = 53
MIN_SCALE_STEPS = 4.0  # least scale of exact noise, in steps, of which 0.4 to 0.6 of all multiples are odd


def finiteness(experiment: Experiment[VectorTarget], alpha: float) -> Check:
    """Detect NaN or infinity in releases. The check is blind to mechanisms that replace NaN and
    infinity by a constant, even if this constant reveals that the input was not finite.

    Claim: assume that a latent with NaN or infinity gives a release with NaN or infinity, and that no finite latent
    does. Then this release distinguishes the latent from every finite latent with certainty.
    """
    rows = torch.full((6, experiment.target.dim), 0.1, dtype=torch.float64)
    rows[0, 0], rows[1], rows[2, -1], rows[3, 0] = torch.nan, torch.nan, torch.inf, -torch.inf
    rows[4], rows[5] = 1e300, -1.7e308
    released = experiment.target.release(rows)
    bad = ~np.isfinite(released).all(axis=1)
    passed_on = [
        f"outputs {name} for {name}"
        for name, is_so in (("NaN", np.isnan), ("infinity", np.isinf))
        if (is_so(rows.numpy()).any(axis=1) & is_so(released).any(axis=1)).any()
    ]
    evidence = ", ".join([*passed_on, f"{int(bad.sum())} of {len(rows)} releases are not finite"])
    return Check.of(failed=bool(bad.any()), evidence=evidence, statistic=float(bad.sum()))


def grid(experiment: Experiment[VectorTarget], alpha: float) -> Check:
    """Detect floating-point noise in a mechanism that declares exact noise, which is a whole
    multiple of a public step. The check is blind to floating-point noise that is rounded to multiples of a step.

    Claim: with exact additive noise, all releases lie on a grid ``z = k * step``, with every ``|k| <= 2^53``, because
    a float cannot hold every integer above 2^53. A float has 53 significant bits whatever its magnitude. So with
    floating-point noise, the largest output is more than 2^53 times as large as the smallest bit that occurs in any
    output. If the step is not a power of two (for example 0.01), the bits of the outputs do not show the grid. In
    this case, the check tests that all outputs are whole multiples of one number.
    """
    values = _exact_values(experiment)
    largest, finest = _bit_span(values)
    bits = largest - finest
    if bits > MANTISSA_BITS and (step := coarse_step(values)) is not None:
        return Check.of(failed=False, evidence=f"releases are multiples of {step:.6g}", statistic=step)
    evidence = f"releases use {bits} bits from the largest to the finest, a public grid has at most {MANTISSA_BITS}"
    return Check.of(failed=bits > MANTISSA_BITS, evidence=evidence, statistic=float(bits))


def float32_sums(experiment: Experiment[VectorTarget], alpha: float) -> Check:
    """Detect noise that was added in float32. The check is blind to sums that are rounded again
    afterwards, and to sums in float64.

    Claim: the sum z of two float32 numbers x and y is rounded to a float32, and the low bits of x decide which z are
    possible (Mironov 2012). For each of two inputs, a rule counts the coordinates of a release that are possible sums
    of the input and noise, and guesses the input with the larger count. The rule is fixed before any release is
    drawn. So the rule's right and wrong guesses certify a lower bound on epsilon (`stats.GameCounts`).
    """
    target = experiment.target
    # Two latents of float32 numbers, with norms so small that none is clipped
    records = torch.randn(2, target.dim, dtype=torch.float64, generator=torch.Generator().manual_seed(32))
    norms = torch.linalg.vector_norm(records, ord=NORM_ORDER[target.clip], dim=1, keepdim=True)
    first, second = (0.5 * target.clip_norm * records / norms).float().double()
    trials = target.affordable(2 * experiment.trials, share=0.5) // 2
    if trials < MIN_TRIALS:
        raise MechanismFailure(f"the mechanism is too slow for {MIN_TRIALS} releases of each input")

    def lead(releases: Floats) -> Floats:
        sums = releases.astype(np.float32)
        if releases.shape[1] != target.dim or (sums != releases).any():
            raise MechanismFailure("the releases are not sums of float32 numbers")
        return np.asarray(_reached(sums, first).sum(axis=1) * 1.0 - _reached(sums, second).sum(axis=1))

    pair = InputPair(name="float32", first=first, second=second)
    counts = play_rule(target, pair, lead, Rule(high=0.5, low=-0.5), rounds=2 * trials)
    evidence = f"guessed the input by which float32 sums can be reached from it, {counts}"
    return certified(counts, evidence, epsilon=target.epsilon, delta=target.delta, alpha=alpha)


def _reached(sums: NDArray[np.float32], record: torch.Tensor) -> NDArray[np.bool_]:
    """Return True for each number in ``sums`` that may be a float32 sum of the record and noise."""
    x = record.float().numpy()
    difference = sums - x
    beside = (np.nextafter(difference, np.float32(side)) for side in (-np.inf, np.inf))
    return np.asarray(np.any([x + y == sums for y in (difference, *beside)], axis=0))


def lowest_bit(experiment: Experiment[VectorTarget], alpha: float) -> Check:
    """Detect floating-point noise of any precision in a mechanism that declares exact noise. The
    check is blind to floating-point noise that is rounded to multiples of a step.

    Claim: let k be integer noise with P(k) proportional to ``exp(-|k - c| / t)`` or to ``exp(-(k - c)^2 / (2 *
    t^2))``, with t >= 4. Then k is odd with probability 0.4 to 0.6, for any c. Let s be the finest step seen in the m
    numbers of the first half of the releases. If the noise lies on a grid, the true step of this grid is at most s.
    The true step equals s unless all m numbers are even multiples of the true step, which has probability at most
    0.6^m. The second half of the releases is independent of s. So the count of odd multiples of s in the second half
    is, in distribution, at least as large as a Binomial(m, 0.4) count, and the lower tail of Binomial(m, 0.4) is a
    p-value. In floating-point noise, few numbers use the finest bit, so few are odd multiples of s.
    """
    values = _exact_values(experiment)
    values = values[np.random.default_rng().permutation(len(values))]
    learn, count = np.array_split(values, 2)
    step = grid_step(learn)
    if experiment.target.noise()[1] < MIN_SCALE_STEPS * step:
        raise MechanismFailure(f"the declared noise is not wider than {MIN_SCALE_STEPS:g} steps of the grid it shows")
    odd = int((np.fmod(np.round(count / step), 2) != 0).sum())
    evidence = f"{odd} of {len(count)} numbers are odd multiples of the finest step, {step:.3g}; exact noise has half"
    return combined([float(bdtr(odd, len(count), 0.4))], evidence, alpha=alpha, statistic=odd / len(count))


def grid_step(values: Floats) -> float:
    """Return the largest step of which all values are multiples: a power of two, or `coarse_step`."""
    return coarse_step(values) or 2.0 ** _bit_span(values)[1]


def _exact_values(experiment: Experiment[VectorTarget]) -> Floats:
    """Return all released numbers; raise MechanismFailure unless exact noise is declared."""
    if experiment.target.noise()[1] > 1e8 * experiment.target.clip_norm:  # a step of 2^-20 has too few floats beyond
        raise MechanismFailure("the declared noise is so large that floats do not hold all multiples of a fine step")
    if not experiment.target.says_exact:
        raise MechanismFailure("the mechanism does not say that its releases are exact")
    values = np.concatenate([releases.ravel() for releases, _ in additive_sides(experiment.samples)])
    if not values.any():
        raise MechanismFailure("all releases are zero")
    return values


def coarse_step(values: Floats) -> float | None:
    """Return a step of which all values are multiples, up to rounding; None if there is none, or if
    it is a power of two.
    """
    distinct = np.unique(values)
    largest = float(np.abs(distinct).max(initial=0.0))
    finest, step = 1e-6 * largest, 0.0  # finer steps are not found
    for value in np.abs(distinct[:: max(1, len(distinct) // 64)]).tolist():
        a, step = max(value, step), min(value, step)
        while step > finest:
            a, step = step, abs(math.remainder(a, step))
        step = a
    if step <= finest:
        return None
    multiples = np.round(distinct / step)  # least squares refine Euclid's step
    step = float(multiples @ distinct / (multiples @ multiples))
    near = np.abs(distinct - np.round(distinct / step) * step) <= 4 * np.spacing(largest)
    one = len(np.unique(np.round(distinct / step))) == len(distinct)
    return step if near.all() and one and math.frexp(step)[0] != 0.5 else None


def _bit_span(values: Floats) -> tuple[int, int]:
    """Return exponents e and f: all absolute values are below 2^e, and multiples of 2^f."""
    mantissa, exponent = np.frexp(values[values != 0])
    integers = (mantissa * 2.0**MANTISSA_BITS).astype(np.int64)
    return int(exponent.max()), int((exponent - MANTISSA_BITS + np.log2(integers & -integers).astype(int)).min())
