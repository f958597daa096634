"""The audit: every question, put to one target, and the one place where an `AuditResult` is made of the answers.

All statistical verdicts hold together with probability ``confidence``: alpha = 1 - confidence is split over the questions
(`adept.audit.questions`), so a violation of a sound mechanism is reported with probability at most alpha (union bound).

A mechanism on a finite alphabet or on texts is audited as one on values: it has an ``alphabet`` (or an integer ``size``, or
``labels``), or ``pairs`` are of strings or other values. What an object does not say itself, its caller can: ``Claim(mechanism,
epsilon=..., alphabet=..., memoised=True)``. A mechanism that answers a record with the release that it gave before has to be
declared ``memoised``: else a violation is found, since its releases do not vary.

A mechanism that takes latents of any dimension makes its claim at every dimension, so it is tried at 1, 2 and 8 too, where a
leak shows that 64 coordinates of noise would hide, and at 1,024, where one place of many says most; unless it has a ``dim``.
"""

import time
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch

from adept.audit import questions
from adept.audit.checks.discrete_distribution import Response
from adept.audit.checks.text import LATENTS, Texts
from adept.audit.distinguisher.experiment import Experiment, Patience, Progress
from adept.audit.distinguisher.pairs import Pair, adversarial_pairs, given_pairs, given_values, value_pairs
from adept.audit.distinguisher.search import every_pair
from adept.audit.limits import not_looked_at
from adept.audit.questions import Question
from adept.audit.result import AuditResult, Check, MechanismFailure, NotJudged, Verdict, judge
from adept.audit.subject.arguments import FEWEST_TRIALS, check_arguments, check_mechanism, check_whole
from adept.audit.subject.sandbox import fresh_copy
from adept.audit.subject.text import TextTarget
from adept.audit.subject.value import ValueTarget, alphabet_of
from adept.audit.subject.vector import VectorTarget
from adept.data.texts import text_list
from adept.errors import ConfigurationError

SMALL_TIMES, LARGE_NUMBERS = 8, 8  # times the trials at a small dimension; times the numbers of an input at a large one
LARGE_PAIRS = ("diagonal", "zero and random", "first and last axis")


def run(
    mechanism: Any,
    *,
    dim: int = 64,
    trials: int = 10_000,
    confidence: float = 0.999,
    source: str = "release",
    pairs: Sequence[tuple[Any, Any]] | None = None,
    time_limit: float = 60.0,
    seed: int | None = None,
    progress: Progress | None = None,
) -> AuditResult:
    """Audit a mechanism's claim of (epsilon, delta)-local differential privacy for any two records.

    Args:
        mechanism: anything with ``epsilon``, ``privatize`` (latents (B, n) -> one row each: tensors or NumPy arrays, float64 or
            float32, rows of any dimension) and, if it has one, ``delta``. What else it declares is tested too: ``clip``
            (default "l2"), ``clip_norm`` (1), ``project``, ``guarantee(dim)`` with ``exact`` and ``scale``, and ``noise``, the
            distribution of additive noise: "laplace", "gaussian", "l2_norm" or "cap".
        dim: n, the number of coordinates.
        trials: releases of each of two inputs, at least 100; about a seventh choose the events, the others certify them.
        confidence: strictly between 0 and 1.
        source: "release" audits ``privatize``; "simulate" audits ``simulate`` instead, which is faster and judges the
            formula, not the program.
        pairs: further pairs of latents (n,) on which to look for a violation; or the pairs of values, or of texts, to be audited.
        time_limit: seconds that one call of the mechanism may take.
        seed: for ``source="simulate"`` alone.
        progress: called with releases counted so far and in all.

    Raises:
        ConfigurationError: an argument is out of range, or the mechanism has no usable ``epsilon`` or ``privatize``.
        NotJudged: the mechanism's releases could not be looked at, and nothing else refutes its claim.
    """
    given = _copy_of(mechanism)  # before anything is asked
    check_mechanism(mechanism)
    check_arguments(dim=dim, trials=trials, confidence=confidence, source=source, time_limit=time_limit, seed=seed)
    progress = progress or (lambda done, total: None)
    if (found := _value_pairs(mechanism, pairs)) is not None:
        values = list(dict.fromkeys(value for pair in found for value in (pair.first, pair.second)))
        of_values = ValueTarget(mechanism, time_limit, values, given=given)
        experiment = Experiment(of_values, lambda _: found, trials, progress=progress)
        posed = [(question, experiment) for question in questions.OF_VALUES]
        return _answered(of_values, posed, trials=trials, confidence=confidence, patience=experiment.patience)
    generator = torch.Generator()
    generator.manual_seed(seed) if seed is not None else generator.seed()
    memoised = bool(getattr(mechanism, "memoised", False))
    target = VectorTarget(mechanism, dim, source, time_limit, generator, memoised, given)
    return _of_vectors(
        Experiment(target, every_pair, trials, given_pairs(pairs, dim=dim), progress=progress), confidence
    )


def run_description(mechanism: Any, *, trials: int = 10_000, confidence: float = 0.999) -> AuditResult:
    """Audit subset selection on {0, .., K-1}, for any K: each record has t of the numbers, mostly one.

    Args:
        mechanism: anything with ``epsilon``, ``count`` (K), ``odds`` (A, B) and ``privatize`` (list[int] -> list[int]; with
            ``heavy`` (t) above one list[list[int]] -> list[int]).
        trials: releases of each of two records, at least 100.
        confidence: strictly between 0 and 1.

    Raises:
        ConfigurationError: an argument is out of range.
        NotJudged: nothing could be released, and the declared odds keep the claim.
    """
    check_arguments(trials=trials, confidence=confidence)
    response = Response(ValueTarget(mechanism), trials)
    posed = [(question, response) for question in questions.OF_RESPONSES]
    return _answered(response.target, posed, trials=trials, confidence=confidence)


def guessing_game(
    rewriter: Any, first: str, second: str, *, trials: int = 10_000, confidence: float = 0.999, seed: int | None = None
) -> AuditResult:
    """Guess from a rewrite which of two texts was rewritten (`checks.text.guessing_game`).

    Args:
        rewriter: an object with ``rewrite(texts)`` and ``mechanism``.
        first: a text; choose two that should be hard to hide, say of very different length.
        second: the other text.
        trials: number of rewrites in all, at least 100.
        confidence: confidence of the verdict.
        seed: seed of the coin.

    Raises:
        DataError: a text is no string.
        ConfigurationError: an argument is out of range.
        NotJudged: nothing could be rewritten.
    """
    check_whole("trials", trials, least=FEWEST_TRIALS)
    game = Texts(TextTarget(rewriter), text_list([first, second], "first and second"), trials)
    game.generator.manual_seed(seed) if seed is not None else game.generator.seed()
    posed = [(question, game) for question in questions.GUESSING_GAME]
    return _answered(game.target, posed, trials=trials, confidence=confidence, source="rewriter")


def replay(rewriter: Any, texts: Sequence[str], *, latents: int = LATENTS) -> AuditResult:
    """Freeze a release and change the record: the decoded text must not change (`checks.text.replay`).

    Args:
        rewriter: ``rewrite``, ``release`` and ``mechanism`` are used; it is copied, not changed.
        texts: at least two, the more different in length and words the better.
        latents: how many releases are frozen, one after the other.

    Raises:
        DataError: ``texts`` is not a list of strings.
        ConfigurationError: there are fewer than two texts.
        NotJudged: nothing could be rewritten, or decoding samples.
    """
    texts = text_list(texts)
    if len(texts) < 2:
        raise ConfigurationError(f"texts must be at least two, got {len(texts)}")
    game = Texts(TextTarget(rewriter), texts, latents)
    posed = [(question, game) for question in questions.REPLAY]
    return _answered(game.target, posed, trials=latents, confidence=1.0, source="rewriter")


def _copy_of(mechanism: Any) -> Any:
    try:
        return fresh_copy(mechanism)
    except MechanismFailure:
        return None


def _value_pairs(mechanism: Any, pairs: Sequence[tuple[Any, Any]] | None) -> list[Pair] | None:
    """Return the pairs of values to audit, or None if the mechanism is one on latents."""
    given, values = given_values(pairs), alphabet_of(mechanism)
    return [*(given or ()), *value_pairs(values)] if values else given


def _of_vectors(experiment: Experiment[VectorTarget], confidence: float) -> AuditResult:
    target, posed = experiment.target, []
    asked: dict[int | None, Experiment[VectorTarget]] = {None: experiment}
    for question in questions.OF_VECTORS:
        if question.of_programs and target.source != "release":
            continue
        if question.dim not in asked and (other := _at(experiment, question.dim or 1)) is not None:
            asked[question.dim] = other
        if question.dim in asked:
            posed.append((question, asked[question.dim]))
    return _answered(
        target,
        posed,
        trials=experiment.trials,
        confidence=confidence,
        source=target.source,
        dim=target.dim,
        patience=experiment.patience,
    )


def _at(experiment: Experiment[VectorTarget], dim: int) -> Experiment[VectorTarget] | None:
    """Return the experiment at a dimension that is smaller, or that is large; None for a mechanism that knows one only."""
    target, large = experiment.target, dim > SMALL_TIMES
    if not target.any_dimension or (target.dim >= dim if large else target.dim <= dim):
        return None
    if not large:
        return Experiment(target.at(dim), every_pair, SMALL_TIMES * experiment.trials, patience=experiment.patience)
    trials = LARGE_NUMBERS * target.dim * experiment.trials // dim
    return Experiment(target.at(dim), _large_pairs, trials, patience=experiment.patience)


def _large_pairs(target: VectorTarget) -> list[Pair]:
    return [pair for pair in adversarial_pairs(target.dim, clip_norm=target.clip_norm) if pair.name in LARGE_PAIRS]


class _Claimed(Protocol):
    """What a result says of its target."""

    @property
    def name(self) -> str: ...

    @property
    def epsilon(self) -> float: ...

    @property
    def delta(self) -> float: ...


def _answered(
    target: _Claimed,
    posed: Iterable[tuple[Question[Any], Any]],
    *,
    trials: int,
    confidence: float,
    source: str = "release",
    dim: int | None = None,
    patience: Patience | None = None,
) -> AuditResult:
    """Put every question to what it is asked of, and return what was answered.

    Raises:
        NotJudged: that says nothing of the claim.
    """
    started, alpha, patience = time.monotonic(), 1 - confidence, patience or Patience()
    checks: list[Check] = []
    looked, event_share = False, 1.0
    for question, asked in posed:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # lengths of huge latents are infinite
            check = judge(question.name, partial(question.check, asked, question.share * alpha), sees=question.sees)
        patience.refuted |= check.verdict is Verdict.FAILED
        looked |= question.of_releases and check.verdict is not Verdict.UNJUDGED
        event_share = question.share if question.of_releases else event_share
        checks.append(check)
    result = AuditResult(
        mechanism=target.name,
        claimed_epsilon=target.epsilon,
        delta=target.delta,
        dim=dim,
        trials=trials,
        confidence=confidence,
        source=source,
        seconds=time.monotonic() - started,
        releases_judged=looked,
        checks=tuple(checks),
        not_looked_at=()
        if source == "rewriter"
        else not_looked_at(checks, trials=trials, claimed=target.epsilon, alpha=event_share * alpha),
    )
    if not result.judged:
        raise NotJudged(result)
    return result
