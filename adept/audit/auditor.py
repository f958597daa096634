"""The audit of one mechanism, which claims (epsilon, delta)-local differential privacy.

Claim: with probability at least ``confidence``, everything that an audit reports against the
mechanism is true: all refutations and all certified lower bounds on epsilon. Proof: each check of
the audit errs with probability at most its share of alpha = 1 - ``confidence``. All shares add up
to at most alpha, so with probability at least ``confidence``, no check errs (union bound).

The tables `OF_VECTORS`, `OF_VALUES` and `OF_TEXTS` hold the questions of an audit. Each question
has a check: a function that tests the mechanism and so answers the question. Each question gets a
share of alpha. If a check cannot refute a true claim by chance, its question has a share of 0.
"""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np

from adept.audit.checks import calls, declarations, floating_point, independence, metadata
from adept.audit.distinguisher import guessing_game, input_pairs
from adept.audit.distinguisher.guessing_game import Experiment, Progress
from adept.audit.distinguisher.input_pairs import InputPair
from adept.audit.result import FINITENESS, AuditResult, Check, Kind, Verdict, judge, judged
from adept.audit.stats import rounds_needed
from adept.audit.subject.kinds import ValueTarget, VectorTarget, alphabet_of, response_of, some_of
from adept.audit.subject.target import Rewriting, try_copy
from adept.errors import ConfigurationError, check_positive, refuse
from adept.torch_defaults import usual_torch

TEST_SHARE = 0.015  # of alpha, for each test with a p-value in an audit of vectors


@dataclass(frozen=True)
class Question:
    """A question that an audit asks about a mechanism, and the check that answers it."""

    name: str
    share: float  # share of alpha that this question gets
    check: Callable[[Any, float], Check]  # called with an experiment and the question's part of alpha
    dim: int | None = None  # dimension of the latents; None: the audit's dimension
    of_releases: bool = False  # True if its check judges releases; at least one such check must succeed
    of_responses: bool = False  # asked only about k-ary response
    kind: Kind = Kind.DISTRIBUTION  # kind of the violation that the check looks for
    of_seeding: bool = False  # True if the caller may be responsible for what the check finds

    @property
    def sees(self) -> str:
        """The first paragraph of the check's docstring, which says what the check can detect."""
        return " ".join((self.check.__doc__ or "").split("\n\n")[0].split())

    def at(self, *dims: int, share: float, **changes: Any) -> "list[Question]":
        """Return a copy of this question for each dimension of latents, with a share and changes."""
        return [replace(self, name=f"{self.name}, dimension {dim}", dim=dim, share=share, **changes) for dim in dims]


EVENT = Question("event", 0.455, guessing_game.event, of_releases=True)
SHARED_NOISE = Question("shared noise", TEST_SHARE, independence.in_batch)
BATCH_NEIGHBOURS = Question("batch neighbours", TEST_SHARE, independence.of_neighbours, kind=Kind.STATE)

OF_VECTORS = [
    Question("sensitivity", 0, declarations.sensitivity),
    Question("norm", 0, declarations.norm),
    Question("scale", TEST_SHARE, declarations.scale),
    Question("shape", TEST_SHARE, declarations.shape),
    Question("reach", 0.01, declarations.reach),
    Question("coordinates", TEST_SHARE, declarations.coordinates),
    Question("Gaussian noise", 0.01, declarations.undeclared_gaussian),
    SHARED_NOISE,
    BATCH_NEIGHBOURS,
    Question("seed", TEST_SHARE, independence.after_one_seed, kind=Kind.RANDOMNESS, of_seeding=True),
    Question("fork", TEST_SHARE, independence.in_forks, kind=Kind.RANDOMNESS, of_seeding=True),
    Question(FINITENESS, 0, floating_point.finiteness, kind=Kind.FLOATING_POINT),
    Question("metadata", 0.02, metadata.of_vectors, kind=Kind.METADATA),
    Question("grid", 0, floating_point.grid, kind=Kind.FLOATING_POINT),
    Question("lowest bit", TEST_SHARE, floating_point.lowest_bit, kind=Kind.FLOATING_POINT),
    Question("float32 sums", TEST_SHARE, floating_point.float32_sums, kind=Kind.FLOATING_POINT),
    *SHARED_NOISE.at(2, share=TEST_SHARE),
    *BATCH_NEIGHBOURS.at(2, share=TEST_SHARE),
    Question("fresh copy", 0.01, calls.first_release, of_seeding=True),
    Question("copy with a past", 0.01, calls.after_another_dimension),
    Question("batch of one", 0.05, calls.one),
    Question("repeated outputs", 0.02, independence.come_back_or_lie_near),
    Question("one cell", 0.01, calls.one_cell, kind=Kind.STATE),
    Question("rest of the batch", TEST_SHARE, independence.of_rest),
    Question("batch of three", 0.05, calls.three),
    Question("batch size", 0.02, calls.any_size),
    *EVENT.at(1, 2, 8, 1024, share=0.035, check=guessing_game.event_elsewhere, of_releases=False),
    EVENT,
]

OF_VALUES = [
    replace(EVENT, share=0.75),
    Question("range", 0, declarations.in_range, of_responses=True),
    Question("odds", 0, declarations.odds, of_responses=True),
    Question("kept numbers", 0.01, declarations.kept, of_responses=True),
    Question("replaced numbers", 0.01, declarations.replaced, of_responses=True),
    Question("distribution", 0, declarations.stated),
    Question("frequencies", 0.02, declarations.frequencies),
    Question("Gaussian noise", 0, declarations.undeclared_gaussian),
    Question("batch of one", 0.08, calls.one),
    Question("metadata", 0.02, metadata.of_values, kind=Kind.METADATA),
    Question("fresh copy", 0.015, independence.in_copies, kind=Kind.RANDOMNESS, of_seeding=True),
    Question("fork", 0.015, independence.in_forks, kind=Kind.RANDOMNESS, of_seeding=True),
    Question("shared noise", 0.02, independence.in_batch),
    Question("repeated calls", 0.02, independence.in_calls_of_few_states, kind=Kind.RANDOMNESS),
    Question("batch neighbours", 0.02, independence.of_neighbouring_values, kind=Kind.STATE),
    Question("seed", 0.02, independence.after_one_seed, kind=Kind.RANDOMNESS, of_seeding=True),
]

OF_TEXTS = [
    replace(EVENT, name="guessing game", share=0.98),
    Question("batch neighbours", 0.02, independence.of_neighbouring_values, kind=Kind.STATE),
    Question("replay", 0, metadata.replay, of_releases=True, kind=Kind.METADATA),
]


@usual_torch()
def run(
    mechanism: Any,
    *,
    dim: int = 64,
    trials: int = 10_000,
    confidence: float = 0.999,
    pairs: Sequence[tuple[Any, Any]] | None = None,
    time_limit: float = 60.0,
    progress: Progress | None = None,
) -> AuditResult:
    """Test a mechanism's claim of (epsilon, delta)-local differential privacy for any two records.

    A mechanism has an attribute ``epsilon`` and, if its claim has a delta, an attribute ``delta``.
    The wrapper `Claim` adds missing attributes: ``Claim(mechanism, epsilon=1.0, memoised=True)``.
    The audit accepts three kinds of mechanisms:

    - A mechanism on *vectors* has a method ``privatize``, which maps a batch (B, n) of latents to one row for each
      latent. A latent is a vector of n numbers; a batch is a tensor or a NumPy array of float64 or float32. The
      attribute ``clip`` ("l1", "l2" or "sphere", by default "l2") and the radius ``clip_norm`` (by default 1)
      describe the set of latents that the claim covers. The method ``project`` maps latents into this set. The
      attribute ``noise`` names the distribution of the noise: "laplace", "gaussian", "l2_norm" or "cap". The method
      ``guarantee(dim)`` returns an object with the attributes ``exact`` (True if all arithmetic is exact) and
      ``scale`` (of the noise). All of these except ``privatize`` are optional, and the audit tests those that the
      mechanism declares.
    - A mechanism on *values* has a method ``privatize``, and declares its alphabet (the values that a record can
      have) by an attribute ``alphabet``, ``labels`` or ``size`` (an integer). No alphabet is needed if the argument
      ``pairs`` holds pairs of values.
    - A rewriter of *texts* has the methods ``rewrite(texts)`` and ``release(texts)`` and an attribute
      ``mechanism``. The argument ``pairs`` must hold pairs of texts.

    Args:
        mechanism: an object of one of these three kinds.
        dim: n, the number of coordinates of a latent. If no attribute of the mechanism (such as
            ``dim``) fixes n, the audit also tests other dimensions, up to 1,024.
        trials: number of releases of each input, at least 100; the audit guesses from a release which input it came
            from. For a rewriter, the number of rewrites of both inputs together.
        confidence: with at least this probability, all refutations and certified bounds are true;
            strictly between 0 and 1.
        pairs: pairs of records to test: latents (n,), values or texts. For latents and for values
            of an alphabet, the audit adds pairs of its own choice.
        time_limit: number of seconds that one call of the mechanism may take.
        progress: function that is called with the number of releases counted so far and with their planned total.

    Raises:
        ConfigurationError: an argument is out of range, or the mechanism has no usable ``epsilon`` or ``privatize``.
        NotJudged: the audit obtained no release of the mechanism, and no check refutes the claim.
    """
    _check_arguments(dim=dim, trials=trials, confidence=confidence, time_limit=time_limit, progress=progress)
    experiment: Experiment[Any]
    given = input_pairs.given_values(pairs)
    if callable(getattr(mechanism, "rewrite", None)) and not hasattr(mechanism, "privatize"):
        tried = given or []
        refuse(
            (
                not tried or not all(isinstance(text, str) for text in _values_of(tried)),
                "pairs must hold the texts to try a rewriter on: add pairs=[(text, another)]",
            )
        )
        target: ValueTarget | VectorTarget = ValueTarget(Rewriting(mechanism), _values_of(tried))
        experiment, table = Experiment(target, lambda _: tried, trials // 2), OF_TEXTS
    else:
        copied = try_copy(mechanism)  # before anything is asked
        _check_mechanism(mechanism)
        claimed = {"time_limit": time_limit, "given": copied, "memoised": bool(getattr(mechanism, "memoised", False))}
        alphabet = alphabet_of(mechanism) or ()
        tried = [*(given or ()), *input_pairs.value_pairs(some_of(alphabet))]
        if tried:
            values = dict.fromkeys([*_values_of(given or ()), *some_of(alphabet)])
            target = ValueTarget(mechanism, list(values), **claimed)
            find = partial(input_pairs.found_values, alphabet=alphabet)
            experiment, table = Experiment(target, find, trials, tried), OF_VALUES
        else:
            target, given_too = VectorTarget(mechanism, dim, **claimed), input_pairs.given_pairs(pairs, dim=dim)
            experiment, table = Experiment(target, input_pairs.every_pair, trials, given_too), OF_VECTORS
    experiment.progress = progress or experiment.progress
    return _answer(experiment, table, trials=trials, confidence=confidence)


def _values_of(pairs: Sequence[InputPair]) -> list[Any]:
    return list(dict.fromkeys(value for pair in pairs for value in (pair.first, pair.second)))


def _at(experiment: Experiment[Any], dim: int) -> Experiment[Any] | None:
    """Return the experiment at dimension ``dim``; None if the audit does not look at it."""
    target, names = experiment.target, ("diagonal", "zero and random", "first and last axis")
    if not target.any_dimension or (target.dim >= dim if dim > 8 else target.dim <= dim):
        return None
    if dim <= 8:
        return Experiment(target.at(dim), input_pairs.every_pair, 6 * experiment.trials)
    trials = 8 * target.dim * experiment.trials // dim
    return Experiment(target.at(dim), partial(input_pairs.named_pairs, names=names), trials)


def _answer(experiment: Experiment[Any], table: Sequence[Question], *, trials: int, confidence: float) -> AuditResult:
    started, alpha, target = time.monotonic(), 1 - confidence, experiment.target
    checks: dict[Question, Check] = {}
    leave = getattr(target.mechanism, "randomness", None) == "caller"
    at: dict[int | None, Experiment[Any] | None] = {None: experiment}
    for question in table:
        if question.dim is not None and question.dim not in at:
            at[question.dim] = _at(experiment, question.dim)
        if (asked := at[question.dim]) is None or (question.of_responses and response_of(target.mechanism) is None):
            continue
        # Lengths of huge latents are infinite
        with np.errstate(all="ignore"):
            check = partial(question.check, asked, question.share * alpha)
            answer = judge(question.name, check, sees=question.sees, kind=question.kind)
        repeats = question.of_seeding and answer.verdict is Verdict.FAILED and answer.kind is Kind.RANDOMNESS
        checks[question] = replace(answer, verdict=Verdict.NOTED) if leave and repeats else answer
    decisive = {question: check for question, check in checks.items() if question.of_releases}
    one_report = (
        "one report was judged of a mechanism with a memory: to judge several reports together, add reports=3 (in Python, "
        "audit.JointReports(mechanism, reports=3))"
    )
    event_alpha = max((question.share for question in decisive), default=1.0) * alpha
    result = AuditResult(
        mechanism=target.name,
        claimed_epsilon=target.epsilon,
        delta=target.delta,
        dim=getattr(target, "dim", None),
        trials=trials,
        confidence=confidence,
        source="rewriter" if table is OF_TEXTS else "release",
        seconds=time.monotonic() - started,
        releases_judged=any(check.verdict is not Verdict.UNJUDGED for check in decisive.values()),
        checks=tuple(checks.values()),
        caveats=(one_report,) if target.memoised and target.reports == 1 else (),
        not_looked_at=not_looked_at(checks.values(), trials=trials, claimed=target.epsilon, alpha=event_alpha),
    )
    return judged(result)


def not_looked_at(checks: Iterable[Check], *, trials: int, claimed: float, alpha: float) -> tuple[str, ...]:
    """Return sentences about the defects that an audit cannot detect.

    ``alpha`` bounds the probability that the main guessing game refutes a true claim.
    """
    needed = failure_trials(1e-3, claimed=claimed, alpha=alpha)
    rarest = 1e-3 * needed / trials / guessing_game.LONGER
    shown = f"these show none rarer than one release in {1 / rarest:,.0f}" if rarest < 1 else "so few show none"
    rare = (
        "rare total failures, such as releases without noise, where they do not name their record by themselves: with "
        f"probability 0.001 one would take about {needed:,.0f} trials to certify; {shown}"
    )
    return (
        "rare failures: the claim is too large for any number of trials" if math.isinf(needed) else rare,
        "inputs other than those tried: a record that triggers something else must be given in `pairs`",
        f"seed spaces much larger than {trials**2 / 750:.0e}, whose repetitions so few releases do not show",
        "batches of other sizes than those tried: 1 to 66, and about powers of two",
        "timing, memory, logs, and what a mechanism does after its release",
        "what several reports of one record reveal together: audit `JointReports` of the mechanism, or reports=m",
        "what changes over days or after many more calls",
        *(f"{check.name}: {check.evidence}" for check in checks if check.verdict is Verdict.UNJUDGED),
    )


def failure_trials(probability: float, *, claimed: float, alpha: float) -> float:
    """Return the number of trials that an audit needs to detect a rare total failure.

    Every release reveals its record with certainty with the given ``probability``. With the returned number of trials,
    the guessing game makes on average as many right guesses as refute the claimed epsilon.
    """
    # About .85 of the trials certify a bound
    return rounds_needed(claimed, alpha=alpha / guessing_game.MAX_DISTINGUISHERS) / (2 * 0.85 * probability)


def _check_mechanism(mechanism: Any) -> None:
    for name, least in (("epsilon", 0.0), ("delta", 0.0), ("clip_norm", 5e-324)):
        value = getattr(mechanism, name, None if name == "epsilon" else least)
        if isinstance(value, bool) or not isinstance(value, Real) or not float(value) >= least:
            raise ConfigurationError(f"{name} of the mechanism must be a number of at least {least:g}, got {value!r}")
    method = "privatize must be a method of the mechanism: a batch of records -> a release for each"
    refuse((not callable(getattr(mechanism, "privatize", None)), method))


def _check_arguments(*, dim: Any, trials: Any, confidence: float, time_limit: float, progress: object) -> None:
    for name, value, least in (("dim", dim, 1), ("trials", trials, guessing_game.MIN_TRIALS)):
        refuse(
            (
                isinstance(value, bool) or not isinstance(value, Integral) or value < least,
                f"{name} must be at least {least}, and an integer, got {value!r}",
            )
        )
    check_positive(confidence=confidence, time_limit=time_limit)
    refuse(
        (confidence >= 1, f"confidence must be below 1, got {confidence!r}"),
        (
            progress is not None and not callable(progress),
            f"progress must be a function of two numbers, got {type(progress).__name__}: leave it out, or give print",
        ),
    )
