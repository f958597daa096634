"""Checks that declared noise, or a stated distribution, meets the claim and is what is drawn from.

The noise is the release minus the projected input. Statistical checks test the noise of several
inputs, and multiply the smallest p-value by the number of tests (Bonferroni).

K-ary response releases one of K numbers. Each of the record's t *own* numbers has probability A / W, and each of the
K - t other numbers has probability B / W. W is the number for which all probabilities add up to 1. Claim: k-ary
response is eps-LDP (local differential privacy) if and only if ``A <= e^eps * B``.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import bdtr, chdtr, chdtri, ndtr
from torch import Tensor

from adept.audit import stats
from adept.audit.checks.floating_point import grid_step
from adept.audit.distinguisher.guessing_game import Experiment, play_rule
from adept.audit.distinguisher.input_pairs import PairSample, additive_samples, additive_sides
from adept.audit.distinguisher.statistics import Rule
from adept.audit.result import Check, MechanismFailure, Verdict
from adept.audit.stats import Floats, Noise
from adept.audit.subject.kinds import ValueTarget, VectorTarget, outcome_key, response_of
from adept.mechanisms.guarantee import words
from adept.mechanisms.random_draws import exact_odds

REACH_NUMBERS = 2**19  # of noise, of which 32 lie above nine scales of Laplace noise


def sensitivity(experiment: Experiment[VectorTarget], alpha: float) -> Check:
    """Detect two inputs that lie too far apart for the claim to hold with the declared noise. The
    check is blind to noise that the mechanism does not declare.

    Claim: for two inputs at distance d after the mechanism's projection, the smallest epsilon (or
    delta) that holds with the declared noise is a value f(d). So one pair of inputs refutes the
    mechanism's claim if f(d) exceeds the claimed epsilon (or delta) (Habernal 2021, Section 4).
    """
    target = experiment.target
    noise, scale = target.noise()
    latents = torch.randn(512, target.dim, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    apart = {sample.pair.name: np.subtract(*sample.centres)[None] for sample in additive_samples(experiment.samples)}
    apart["random latents"] = np.subtract(*np.split(target.project(10 * target.clip_norm * latents), 2))
    distances = {name: float(np.linalg.norm(each, ord=noise.order, axis=1).max()) for name, each in apart.items()}
    worst = max(distances, key=lambda name: distances[name])
    distance = distances[worst]
    holds, needed = noise.holds(distance, scale=scale, epsilon=target.epsilon, delta=target.delta)
    evidence = f"pair {worst}: l{noise.order} distance {distance:.6g} over scale {scale:.6g} needs {needed}"
    return Check.of(failed=not holds, evidence=evidence, statistic=distance / scale)


def norm(experiment: Experiment[VectorTarget], alpha: float) -> Check:
    """Detect latents that the mechanism's projection leaves outside the declared set, even if only
    by the last bit of a number. The check tries 34 latents.

    Claim: a float is a rational number, so the check computes the norm of a projected latent without rounding. A norm
    above the limit violates a premise of the privacy proof. The limit is ``clip_norm`` for mechanisms that declare
    ``exact``, and ``clip_norm * (1 + 1e-6)`` otherwise. For a mechanism on the sphere, the limit is always the larger
    one, because only the direction of a latent matters.
    """
    target = experiment.target
    if not hasattr(target.mechanism, "project"):
        raise MechanismFailure("the mechanism has no method project")
    order = 1 if target.clip == "l1" else 2
    exact = target.says_exact and target.clip != "sphere"
    limit = (Fraction(target.clip_norm) * (1 if exact else Fraction("1.000001"))) ** order
    rows = target.project(extreme_latents(target.dim, order=order, clip_norm=target.clip_norm))
    if not np.isfinite(rows).all():
        raise MechanismFailure("project returned a number that is not finite for a finite latent")
    norms = [sum((abs(Fraction(value)) ** order for value in row), Fraction(0)) for row in rows.tolist()]
    largest = float(max(norms) ** (1 / order)) if max(norms) else 0.0
    outside = sum(norm > limit for norm in norms)
    evidence = f"{outside} of {len(norms)} projected latents above {target.clip_norm:g}, the largest {largest:.17g}"
    return Check.of(failed=outside > 0, evidence=evidence, statistic=largest)


def scale(experiment: Experiment[VectorTarget], alpha: float) -> Check:
    """Detect noise that is smaller than declared, even if only slightly. The check is blind to
    noise that is not added to the input.

    Claim: under the declared distribution, the size of the noise (`Noise.size`) has a chi-square
    distribution, whose lower tail is a p-value. Noise that is larger than declared is no violation.
    """
    declared, scale = _smooth_noise(experiment)
    sizes = [declared.size(noise, scale) for noise in _noises(experiment.samples)]
    ratio = min(size / float(chdtri(freedom, 0.5)) for size, freedom in sizes)  # each ratio has the median 1
    evidence = f"noise {ratio:.4g} times the declared size at the smallest"
    values = [float(chdtr(freedom, size)) for size, freedom in sizes]
    return stats.combined(values, evidence, alpha=alpha, statistic=ratio)


def shape(experiment: Experiment[VectorTarget], alpha: float) -> Check:
    """Detect noise that does not follow the declared distribution at some input. The check is blind
    to dependence between the coordinates of the noise.
    """
    target, samples = experiment.target, experiment.samples
    if getattr(target.mechanism, "noise", None) == "cap":
        sides = [side for side in additive_sides(samples) if side[1].any()]
        claim = {"epsilon": target.epsilon, "clip_norm": target.clip_norm}
        values = [stats.cap_p_value(releases, centre, **claim) for releases, centre in sides]
    else:
        declared, scale = _smooth_noise(experiment)
        rows = max(1, 200_000 // target.dim)
        values = [p for noise in _noises(samples) for p in declared.shape(noise[:rows], scale)]
    return stats.combined(values, f"{len(values)} tests against the declared distribution", alpha=alpha)


def coordinates(experiment: Experiment[VectorTarget], alpha: float) -> Check:
    """Detect that the noise of two coordinates, or of two releases, is dependent. The check tests
    how often two numbers have the same sign, and how often both are large or both are small. It compares coordinates,
    or releases, at a few fixed distances in their order, and is blind to dependence at all other distances.

    Claim: under the declared distribution, the signs of the noise are independent fair coins. If
    the coordinates are independent, the bits "the absolute value of the noise is above its median"
    are also independent fair coins. For pairs of coins at a fixed distance in the order of the
    coins, the bits "the two coins agree" are again independent fair coins (sums modulo 2 along a
    chain of coins). So the number of agreements among m pairs of coins is exactly Binomial(m, 1/2).
    """
    declared, scale = _smooth_noise(experiment)
    values, shares = [], []
    for noise in _noises(experiment.samples):
        coins = [noise > 0]
        if declared.coordinate is not None:
            coins.append(np.abs(noise) > scale * declared.coordinate.ppf(0.75))
        for agree in (each for coin in coins for each in _agreements(coin)):
            values.append(float(stats.binomial_p_value(int(agree.sum()), agree.size, 0.5)))
            shares.append(float(agree.mean()))
    if not values:
        raise MechanismFailure("there are too few numbers to compare")
    far = max(shares, key=lambda value: abs(value - 0.5))
    return stats.combined(values, f"coins agree in {far:.2%} of cases at the worst", alpha=alpha, statistic=far)


def reach(experiment: Experiment[VectorTarget], alpha: float) -> Check:
    """Detect that declared noise has an end: beyond some distance of its record, no release is ever
    seen. Such a release excludes the record, so no finite epsilon holds. The check is blind to ends
    beyond which fewer than about ten of its half a million numbers would lie.

    Claim: the noise of different releases is independent, so the largest of m numbers is as small as the one seen
    with the probability that `end_p_value` returns. This p-value is for all tried inputs together.
    """
    target = experiment.target
    declared, scale = _smooth_noise(experiment)
    released = np.concatenate([releases for releases, _ in additive_sides(experiment.samples)])
    # Clamping, a post-processing, makes equal releases of the noise beyond either end
    if min(int((released == end).sum()) for end in (released.min(), released.max())) >= 10:
        raise MechanismFailure("releases are clamped, so the ends of the noise do not show")
    noise = np.concatenate(_noises(experiment.samples))
    more = target.affordable(REACH_NUMBERS // target.dim - len(noise), share=0.3)
    if more > 0:
        sample = additive_samples(experiment.samples)[0]
        noise = np.concatenate([noise, target.sample(sample.pair.first, more) - sample.centres[0]])
    ends = noise.min() / scale, noise.max() / scale
    evidence = f"{noise.size} numbers of noise reach from {ends[0]:.3g} to {ends[1]:.3g} times the declared scale"
    return stats.combined(declared.reach(noise, scale), evidence, alpha=alpha, statistic=min(-ends[0], ends[1]))


def undeclared_gaussian(experiment: Experiment[Any], alpha: float) -> Check:
    """Detect releases of one record that have the shape of a Gaussian although the claim has no
    delta. If time allows, a guessing game in the tails of the noise tries to refute the claim.

    Claim: for inputs at distance d, Gaussian noise of standard deviation s is (epsilon, delta)-LDP (local
    differential privacy) if and only if ``delta >= f(d / s, epsilon)``. The function f is positive (Balle and Wang
    2018). So noise that meets a claim without delta is not Gaussian. But this noise can be so close to Gaussian noise
    that both differ only in outputs with the total probability f(d / s, epsilon). A test needs about 1 / f(d / s,
    epsilon) releases to detect this difference. If tests do not reject Gaussian noise (`looks_gaussian`), and there
    is no time for the game, the check cannot judge the claim, and the audit could not tell.
    """
    target = experiment.target
    if target.delta > 0 or getattr(target.mechanism, "noise", None) is not None:
        return Check.of(failed=False, evidence="the claim has a delta, or the mechanism names its noise")
    pair, dim = experiment.samples[0].pair, experiment.samples[0].releases[0].shape[-1]
    # 4,000 tell a Laplace distribution from a Gaussian
    releases = target.sample(pair.first, target.affordable(min(max(4_000, 40 * dim), REACH_NUMBERS // dim)))
    if releases.dtype == object or not stats.looks_gaussian(releases):
        return Check.of(failed=False, evidence=f"{len(releases)} releases of one record do not look Gaussian")
    looks = "repeated releases of one record have the shape of a Gaussian, which has no finite pure epsilon"
    if not isinstance(target, VectorTarget) or releases.shape[1] != target.dim:
        return Check(verdict=Verdict.UNJUDGED, evidence=f"{looks}: declare a delta", caveat=looks)
    sample = max(additive_samples(experiment.samples), key=lambda each: np.linalg.norm(np.subtract(*each.centres)))
    sigma, distance = float(releases.std(axis=0).mean()), float(np.linalg.norm(np.subtract(*sample.centres)))
    needed = stats.gaussian_delta(distance, sigma=sigma, epsilon=target.epsilon)
    threshold, rounds = find_tails(distance / sigma, epsilon=target.epsilon, alpha=alpha)
    if rounds <= target.affordable(20 * experiment.trials, share=0.5):
        middle, along = np.add(*sample.centres) / 2, np.subtract(*sample.centres) / distance
        rule = Rule(high=threshold, low=-threshold)
        counts = play_rule(target, sample.pair, lambda z: (z - middle) @ along / sigma, rule, rounds=int(rounds))
        evidence = f"{looks}: guessed the input in the tails, pair {sample.pair.name}: {counts}"
        return stats.certified(counts, evidence, epsilon=target.epsilon, delta=0.0, alpha=alpha)
    evidence = f"{looks}: epsilon {target.epsilon:g} needs delta {words(needed)}, so declare a delta, or `noise` and `guarantee`"
    caveat = f"{looks}: it needs delta {words(needed)}, which {stats.say_trials(rounds / 2)} would certify"
    return Check(verdict=Verdict.UNJUDGED, evidence=evidence, caveat=caveat)


def find_tails(ratio: float, *, epsilon: float, alpha: float) -> tuple[float, float]:
    """Find the tail rule that is likely to refute a claim with delta = 0 in the fewest rounds.

    The rule guesses only from releases in the tails of the noise. Return where the tails begin, in standard
    deviations from the middle between the two inputs, and the number of rounds, which is infinite if 1e14 are not
    enough. The noise is Gaussian; ``ratio`` is the distance of the two inputs divided by the standard deviation of
    the noise. A release lies more than s standard deviations from the middle between the inputs, on the side of one
    input, with probability ndtr(ratio / 2 - s) under this input and ndtr(-ratio / 2 - s) under the other input. Here
    ndtr is the standard normal distribution function.
    """
    thresholds = np.linspace(0.0, 12.0, 241)
    right, wrong = ndtr(ratio / 2 - thresholds), ndtr(-ratio / 2 - thresholds)
    rounds = 200.0
    while rounds < 1e14:
        ours, theirs = rounds * right, rounds * wrong  # with bad luck of two standard deviations below
        unlucky = np.maximum(ours - 2 * np.sqrt(ours), 0), theirs + 2 * np.sqrt(theirs)
        bounds = stats.game_lower_bound(*unlucky, 0, delta=0, alpha=alpha)
        if bounds.max() > epsilon:
            return float(thresholds[int(bounds.argmax())]), rounds
        rounds *= 1.2
    return math.inf, math.inf


def extreme_latents(dim: int, *, order: int = 2, clip_norm: float = 1.0) -> Tensor:
    """Return finite latents (34, dim) with tiny to huge norms.

    Ten of these latents lie outside the lp ball of radius ``clip_norm``, where p is ``order``.
    """
    random = torch.randn(26, dim, dtype=torch.float64, generator=torch.Generator().manual_seed(7))
    random[:16] *= torch.logspace(-3, 3, 16, dtype=torch.float64)[:, None]
    outside = clip_norm * (1 + torch.logspace(-4, 0.3, 10, dtype=torch.float64))[:, None]
    random[16:] *= outside / torch.linalg.vector_norm(random[16:], ord=order, dim=1, keepdim=True)
    constants = torch.tensor([0.0, 1.0, -1.0, 1 / 3, 1e-310, 1e300, 1.7e308, -1e-5], dtype=torch.float64)[:, None]
    return torch.cat([random, constants.expand(-1, dim)])


def _agreements(coin: NDArray[np.bool_]) -> Iterator[NDArray[np.bool_]]:
    rows, dim = coin.shape
    across, along = {1, 2, 3, dim // 4, dim // 2, dim - 1}, {1, 2, 8, 32, rows // 2}
    yield from (coin[:, lag:] == coin[:, :-lag] for lag in sorted(across & set(range(1, dim))))
    yield from (coin[lag:] == coin[:-lag] for lag in sorted(along & set(range(1, rows))))


def _smooth_noise(experiment: Experiment[VectorTarget]) -> tuple[Noise, float]:
    """Return the declared distribution and scale; raise MechanismFailure if exact noise has a scale below 100 steps."""
    target = experiment.target
    declared, scale = target.noise()
    values = additive_samples(experiment.samples)[0].releases[0]
    if target.says_exact and values.any() and scale < 100 * (step := grid_step(values)):
        raise MechanismFailure(f"the declared scale is {scale / step:.3g} steps of a grid, so the noise is not smooth")
    return declared, scale


def _noises(samples: list[PairSample]) -> list[Floats]:
    return [releases - centre for releases, centre in additive_sides(samples)]


RARE_COUNTS = 8.0, 4.0, 2.0, 1.0, 0.5  # outcomes that are expected less often are counted together


def stated(experiment: Experiment[ValueTarget], alpha: float) -> Check:
    """Detect a stated distribution that violates the claim. This check cannot err by chance. The
    check is blind to a program that does not draw from the distribution that it states.

    Claim: a mechanism with finitely many outcomes is (epsilon, delta)-LDP (local differential privacy) for two values
    if and only if the sum of ``max(0, P - e^epsilon * P')`` over all outcomes is at most delta. Here P and P' are the
    probabilities of an outcome for the two values, and the condition must hold for both orders of the values. If
    delta is 0, the sum must be 0, so no ratio P / P' may exceed e^epsilon.
    """
    target = experiment.target
    distributions = [_distribution(target, value) for value in target.values]
    worst, mass = 0.0, 0.0
    limit = math.exp(target.epsilon) if target.epsilon < 700 else math.inf
    for ours in distributions:
        for theirs in distributions:
            worst = max([worst, *(_log_ratio(p, theirs.get(outcome, 0)) for outcome, p in ours.items())])
            beyond = (float(p) - limit * float(theirs.get(o, 0)) * (1 + 1e-12) for o, p in ours.items())
            mass = max(mass, sum(max(0.0, each) for each in beyond))
    failed = worst > target.epsilon * (1 + 1e-9) if target.delta == 0 else mass > target.delta * (1 + 1e-9) + 1e-15
    needed = f", and delta {words(mass)} at the claimed epsilon" if target.delta else ""
    evidence = f"over {len(distributions)} values the largest log ratio is {worst:.6g}{needed}"
    exact = None if target.delta else worst
    return Check.of(failed=failed, evidence=evidence, statistic=worst, certified_epsilon=exact)


def frequencies(experiment: Experiment[ValueTarget], alpha: float) -> Check:
    """Detect outcomes whose frequencies differ from their stated probabilities, and stated outcomes
    that never come. The check is blind to differences of only a few standard deviations.

    Claim: the count of all outcomes that are rare in their value's distribution is a sum of
    independent trials of different probabilities. Its lower tail at most one below its mean is at
    most that of the binomial distribution of the same mean (Hoeffding 1956, Theorem 5).
    """
    target = experiment.target
    rows = target.affordable(experiment.trials)
    tests: list[tuple[float, str]] = []
    rare_seen, rare_mean = np.zeros(len(RARE_COUNTS), int), np.zeros(len(RARE_COUNTS))
    for value in target.values:
        expected = _distribution(target, value)
        seen = Counter(outcome_key(outcome) for outcome in target.sample(value, rows))
        other = sum(count for outcome, count in seen.items() if outcome not in expected)
        what = f"outcome of value {value!r}"
        for place, most in enumerate(RARE_COUNTS):
            rare = [outcome for outcome, p in expected.items() if rows * p < most]
            rare_seen[place] += sum(seen[outcome] for outcome in rare)
            rare_mean[place] += sum(float(expected[outcome]) for outcome in rare) / len(target.values)
        stated_p = np.array([float(p) for p in expected.values()])
        each = stats.binomial_p_value(np.array([seen[outcome] for outcome in expected]), rows, stated_p)
        none = max(0.0, 1 - float(sum(expected.values())))
        tests += [(p, what) for p in each.tolist()]
        tests.append((float(stats.binomial_p_value(other, rows, none)), "outcomes that are not stated"))
    total = rows * len(target.values)
    unseen = np.where(rare_seen <= total * rare_mean - 1, bdtr(rare_seen, total, rare_mean), 1.0)
    tests += [(p, "all rare outcomes together") for p in unseen.tolist()]
    evidence = f"{rows} releases of each of {len(target.values)} values; least probable: {min(tests)[1]}"
    return stats.combined([p for p, _ in tests], evidence, alpha=alpha)


def _distribution(target: ValueTarget, value: Any) -> dict[Any, Any]:
    if not callable(getattr(target.mechanism, "distribution", None)):
        raise MechanismFailure("the mechanism states no distribution of its outcomes")
    given = target.call("distribution", lambda: target.mechanism.distribution(value))
    if not isinstance(given, Mapping):
        kind = type(given).__name__
        raise MechanismFailure(f"distribution returned {kind} instead of a mapping from outcomes to probabilities")
    expected = {outcome_key(outcome): p for outcome, p in given.items()}
    if min(expected.values(), default=0) < 0 or abs(float(sum(expected.values())) - 1) > 1e-9:
        raise MechanismFailure("distribution returned probabilities that are negative or do not sum to one")
    return expected


def _log_ratio(p: Any, q: Any) -> float:
    if p == 0:
        return 0.0
    if q == 0:
        return math.inf
    ratio = Fraction(p) / Fraction(q)
    return math.log(ratio.numerator) - math.log(ratio.denominator)


def in_range(experiment: Experiment[ValueTarget], alpha: float) -> Check:
    """Detect releases of k-ary response that are not whole numbers from 0 to k - 1."""
    ranks, *_ = _ranks(experiment)
    outside = ranks.count(None)
    return Check.of(failed=outside > 0, evidence=f"{outside} of {len(ranks)} releases out of range")


def odds(experiment: Experiment[ValueTarget], alpha: float) -> Check:
    """Detect that k-ary response declares a ratio of two probabilities that exceeds e^epsilon. This
    check cannot err by chance. The check is blind to a program whose draws do not have the declared ratio.
    """
    heavy, light = experiment.target.mechanism.odds
    most, unit = exact_odds(Fraction(experiment.target.epsilon))
    failed = Fraction(heavy, light) > Fraction(most, unit) * (1 + Fraction(1, 1 << 58))  # other integers may be nearer
    return Check.of(failed=failed, evidence=f"A / B is {float(Fraction(heavy * unit, light * most)):.17g} of e^eps")


def kept(experiment: Experiment[ValueTarget], alpha: float) -> Check:
    """Detect that k-ary response keeps a record's own numbers too often or too rarely. If a record
    has several own numbers, also detect that some of them are released more often than others.

    Claim: the number of kept numbers is binomial, and given this number, so is that of each own number.
    """
    own, others, size, top = _sort(experiment)
    heavy, light = experiment.target.mechanism.odds
    keep, rows = top * heavy / (top * heavy + (size - top) * light), len(own) + len(others)
    evidence = f"an own number in {len(own)} of {rows} releases, {keep * rows:.1f} expected"
    each = stats.binomial_p_value(np.bincount(own, minlength=top), len(own), 1 / top)
    return stats.combined([float(stats.binomial_p_value(len(own), rows, keep)), *each.tolist()], evidence, alpha=alpha)


def replaced(experiment: Experiment[ValueTarget], alpha: float) -> Check:
    """Detect that k-ary response prefers some replacements of a record's own number to others, for
    example neighbouring numbers. The check sorts the replacements into at most 16 bins, and is
    blind to patterns inside a bin.

    Claim: given the number of replacements, that in each bin is binomial.
    """
    _, others, size, top = _sort(experiment)
    size, bins = size - top, min(16, size - top)
    if bins < 2 or not others:
        raise MechanismFailure(f"only {len(others)} numbers were replaced: too few to test")
    shares = np.diff([-(-place * size // bins) for place in range(bins + 1)]) / size
    counts = np.bincount([(other - top) * bins // size for other in others], minlength=bins)
    values = stats.binomial_p_value(counts, len(others), shares).tolist()
    return stats.combined(values, f"{len(others)} replaced numbers in {bins} bins", alpha=alpha)


def _ranks(experiment: Experiment[ValueTarget]) -> tuple[list[int | None], int, int]:
    """Release two records; return the rank of each released number, the number k and the number t.

    The rank counts from the first of the record's own numbers. It is None for what is no number from 0 to k - 1.
    """
    target = experiment.target
    size, top = response_of(target.mechanism) or (0, 1)  # an audit asks these questions only about k-ary response
    rows, starts = target.affordable(experiment.trials), (0, size - top)
    first, last = (list(range(start, start + top)) if top > 1 else start for start in starts)
    answers = list(target.ask([first] * rows + [last] * rows))
    if len(answers) != 2 * rows:
        raise MechanismFailure(f"privatize returned {len(answers)} numbers for {2 * rows}")
    placed = zip(answers, np.repeat(starts, rows).tolist(), strict=True)
    return [(out - at) % size if type(out) is int and 0 <= out < size else None for out, at in placed], size, top


def _sort(experiment: Experiment[ValueTarget]) -> tuple[list[int], list[int], int, int]:
    """Return the ranks of the released own numbers and of all others, the number k and the number t."""
    ranks, size, top = _ranks(experiment)
    whole = [rank for rank in ranks if rank is not None]
    if len(whole) < len(ranks):
        raise MechanismFailure("the releases are no numbers below K")
    return [rank for rank in whole if rank < top], [rank for rank in whole if rank >= top], size, top
