"""Audits of a whole rewriter, from text to text: what the latent's guarantee is worth once the text is written.

A rewriter is anything with ``rewrite(texts)``, ``release(texts)``, ``decode(latents)`` and ``mechanism``.
"""

import copy
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from adept.audit.distinguisher.decision_rules import THRESHOLD_ALPHA, counted_rule
from adept.audit.result import AuditResult, Finding, MechanismFailure, Verdict, judge, judged
from adept.errors import ConfigurationError

BATCH = 256
SEES = {
    "guessing game": "Sees any leak by which a guess from words, word pairs, length and whole sentences beats the budget. Blind to "
    "leaks that this guess does not use, and to any beyond about ln(trials).",
    "replay": "Sees text that depends on the record other than through its released latent: length, padding, batch, forcing. "
    "Blind to the latent itself, and to rewriters that sample.",
}


def guessing_game(
    rewriter: Any, first: str, second: str, *, trials: int = 10_000, confidence: float = 0.999, seed: int | None = None
) -> AuditResult:
    """Toss a coin per utterance between two texts, rewrite, and guess the coin from the rewrite.

    Claim: text decoded from an (eps, delta)-LDP latent is (eps, delta)-LDP (post-processing), so the score of the game obeys
    `GameCounts`. The rule is learned on the first half of the rewrites and scored on the second. The coin puts both texts
    into the same batches, so what leaks between batch neighbours counts as well.

    Args:
        rewriter: ``rewrite(texts)`` and ``mechanism`` are used.
        first: a text; choose two that should be hard to hide, say of very different length.
        second: another.
        trials: rewrites in all, at least 100.
        confidence: of the verdict.
        seed: of the coin.
    """
    if trials < 100:
        raise ConfigurationError(f"trials must be at least 100, got {trials}")
    generator = torch.Generator()
    generator.manual_seed(seed) if seed is not None else generator.seed()

    def play() -> Finding:
        learn, choose, count = (
            _play(rewriter, first, second, rounds, generator) for rounds in (trials // 4, trials // 4, trials // 2)
        )
        return _guess(learn, choose, count, rewriter.mechanism, alpha=1 - confidence)

    return _audit("guessing game", play, rewriter, trials=trials, confidence=confidence)


def replay(rewriter: Any, texts: Sequence[str], *, latents: int = 8) -> AuditResult:
    """Freeze a release and change the record: the decoded text must not change.

    Claim: the guarantee covers what is computed from the released latent alone. The mechanism is replaced by one that
    releases the same frozen latent for every record, so every record must be rewritten to the same text, in one batch, in
    another order and alone. One difference is proof that something else of the record (or of its neighbours) reaches the
    text. Decoding has to be greedy: if one text alone is rewritten differently twice, nothing can be judged.

    Args:
        rewriter: ``rewrite``, ``release`` and ``mechanism`` are used; it is copied, not changed.
        texts: at least two, the more different in length and words the better.
        latents: how many releases are frozen, one after the other.
    """
    if len(texts) < 2:
        raise ConfigurationError(f"texts must be at least two, got {len(texts)}")

    def play() -> Finding:
        frozen = rewriter.release([texts[i % len(texts)] for i in range(latents)])
        different = sum(_changes(_with_release(rewriter, latent), texts) for latent in frozen)
        evidence = f"{different} of {latents} frozen latents were decoded to more than one text"
        return Finding(failed=different > 0, evidence=evidence, statistic=different / latents)

    return _audit("replay", play, rewriter, trials=latents, confidence=1.0)


@dataclass(frozen=True)
class _Frozen:
    """A mechanism that releases one latent, whatever it is given; all else as the original declares."""

    mechanism: Any
    latent: Tensor

    def privatize(self, latents: Tensor) -> Tensor:
        return self.latent.to(latents).expand(len(latents), -1).clone()

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "mechanism"), name)


@dataclass
class _Score:
    """Naive Bayes over words, word pairs, length and the sentence itself: the log odds of the first text."""

    counts: tuple[Counter[str], Counter[str]] = field(default_factory=lambda: (Counter(), Counter()))
    rounds: list[int] = field(default_factory=lambda: [0, 0])

    def learn(self, text: str, side: int) -> None:
        self.rounds[side] += 1
        self.counts[side].update(_features(text))

    def __call__(self, text: str) -> float:
        ours, theirs = self.counts
        total = math.log((self.rounds[1] + 1) / (self.rounds[0] + 1)) * len(features := _features(text))
        return round(total + sum(math.log((ours[f] + 0.5) / (theirs[f] + 0.5)) for f in features), 9)


Rounds = list[tuple[str, int]]


def _features(text: str) -> set[str]:
    words = text.split()
    pairs = {f"{a} {b}" for a, b in pairwise(words)}
    return {*words, *pairs, f"<length {len(words)}>", f"<text {text}>"}


def _play(rewriter: Any, first: str, second: str, rounds: int, generator: torch.Generator) -> Rounds:
    """Return rewrites, each with its coin: 0 for the first text."""
    coins: list[int] = torch.randint(2, (rounds,), generator=generator).tolist()
    rewrites: list[str] = []
    for start in range(0, rounds, BATCH):
        rewrites += rewriter.rewrite([(first, second)[coin] for coin in coins[start : start + BATCH]])
    if len(rewrites) != rounds:
        raise MechanismFailure(f"rewrite returned {len(rewrites)} texts for {rounds}")
    return list(zip(rewrites, coins, strict=True))


def _guess(learn: Rounds, choose: Rounds, count: Rounds, mechanism: Any, *, alpha: float) -> Finding:
    """Learn a score on the first part, choose an event on the second, certify it on the third."""
    score, delta, epsilon = _Score(), float(getattr(mechanism, "delta", 0.0)), float(mechanism.epsilon)
    for text, side in learn:
        score.learn(text, side)
    chosen, counted = (
        tuple(np.array([score(text) for text, coin in rounds if coin == side]) for side in (0, 1))
        for rounds in (choose, count)
    )
    if not all(len(values) for values in (*chosen, *counted)):
        raise MechanismFailure("trials were too few for both sides of the coin to come up")
    _, rule = counted_rule(*chosen, gap=1e-6, delta=delta, alpha=THRESHOLD_ALPHA)
    counts = rule.play(*counted)
    bound = counts.certified_epsilon(delta=delta, alpha=alpha)
    guessed = int((counted[0] >= 0).sum() + (counted[1] < 0).sum())
    evidence = (
        f"guessed {guessed} of {len(count)} coins, always answering; the best rule was {counts.right} times right and "
        f"{counts.wrong} times wrong"
    )
    return Finding(
        failed=bound > epsilon * (1 + 1e-9),
        evidence=evidence,
        statistic=guessed / len(count),
        p_value=counts.p_value(epsilon=epsilon, delta=delta),
        threshold=alpha,
        certified_epsilon=bound,
    )


def _with_release(rewriter: Any, latent: Tensor) -> Any:
    """Return a shallow copy of the rewriter whose mechanism, and whose ``release``, always give one latent."""
    frozen = copy.copy(rewriter)
    object.__setattr__(frozen, "mechanism", _Frozen(rewriter.mechanism, latent))
    object.__setattr__(frozen, "release", lambda texts, *_, **__: latent.expand(len(texts), -1).clone())
    return frozen


def _changes(frozen: Any, texts: Sequence[str]) -> bool:
    alone = frozen.rewrite([texts[0]])
    if frozen.rewrite([texts[0]]) != alone:
        raise MechanismFailure("decoding samples: replay a greedy rewriter")
    rewrites = [*frozen.rewrite(list(texts)), *frozen.rewrite(list(reversed(texts))), *frozen.rewrite([texts[-1]])]
    return set(rewrites) != set(alone)


def _audit(name: str, play: Callable[[], Finding], rewriter: Any, *, trials: int, confidence: float) -> AuditResult:
    """Run one end-to-end check and wrap it up as an audit; raises NotJudged if nothing could be judged."""
    started = time.monotonic()
    check = judge(name, lambda: _answered(play), sees=SEES[name])
    mechanism = rewriter.mechanism
    result = AuditResult(
        mechanism=str(getattr(mechanism, "name", type(mechanism).__name__)),
        claimed_epsilon=float(mechanism.epsilon),
        delta=float(getattr(mechanism, "delta", 0.0)),
        dim=None,
        trials=trials,
        confidence=confidence,
        source="rewriter",
        seconds=time.monotonic() - started,
        releases_judged=check.verdict is not Verdict.UNJUDGED,
        checks=(check,),
    )
    return judged(result)


def _answered(play: Callable[[], Finding]) -> Finding:
    """Return what a check found; whatever a foreign rewriter raises becomes the reason why nothing could be judged."""
    try:
        return play()
    except MechanismFailure:
        raise
    except Exception as error:  # foreign code: whatever it raises becomes the check's reason
        raise MechanismFailure(f"the rewriter raised {type(error).__name__}: {error}") from error
