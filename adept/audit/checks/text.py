"""Text: is a record distinguishable by its rewrite, and does the rewrite depend on the record by its released latent alone."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import torch

from adept.audit.distinguisher.decision_rules import THRESHOLD_ALPHA, counted_rule
from adept.audit.result import Finding, MechanismFailure
from adept.audit.subject.text import TextTarget

BATCH = 256
LATENTS = 8  # that are frozen in a replay, one after the other
Rounds = list[tuple[str, int]]


@dataclass
class Texts:
    """A rewriter and the texts that it is tried on.

    Attributes:
        trials: rewrites in all, or latents that are frozen.
        generator: of the coin.
    """

    target: TextTarget
    texts: Sequence[str]
    trials: int
    generator: torch.Generator = field(default_factory=torch.Generator)


def guessing_game(game: Texts, alpha: float) -> Finding:
    """Toss a coin for each utterance between two texts, rewrite, and guess the coin from the rewrite.

    Claim: text decoded from an (eps, delta)-LDP latent is (eps, delta)-LDP (post-processing), so the score of the game obeys
    `stats.bounds.GameCounts`. A score of texts is learned on a quarter of the rewrites, an event of it is chosen on another, and
    scored on the rest. The coin puts both texts into the same batches, so what leaks between batch neighbours counts as well.
    """
    learn, choose, count = (_rounds(game, rounds) for rounds in (game.trials // 4, game.trials // 4, game.trials // 2))
    score, target = _Score(), game.target
    for text, side in learn:
        score.learn(text, side)
    chosen, counted = (
        tuple(np.array([score(text) for text, coin in rounds if coin == side]) for side in (0, 1))
        for rounds in (choose, count)
    )
    if not all(len(values) for values in (*chosen, *counted)):
        raise MechanismFailure("trials were too few for both sides of the coin to come up")
    _, rule = counted_rule(*chosen, gap=1e-6, delta=target.delta, alpha=THRESHOLD_ALPHA)
    counts = rule.play(*counted)
    bound = counts.certified_epsilon(delta=target.delta, alpha=alpha)
    guessed = int((counted[0] >= 0).sum() + (counted[1] < 0).sum())
    evidence = (
        f"guessed {guessed} of {len(count)} coins, always answering; the best rule was {counts.right} times right and "
        f"{counts.wrong} times wrong"
    )
    return Finding(
        failed=bound > target.epsilon * (1 + 1e-9),
        evidence=evidence,
        statistic=guessed / len(count),
        p_value=counts.p_value(epsilon=target.epsilon, delta=target.delta),
        threshold=alpha,
        certified_epsilon=bound,
    )


def replay(game: Texts, alpha: float) -> Finding:
    """Freeze a release and change the record: the decoded text must not change.

    Claim: the guarantee covers what is computed from the released latent alone. The mechanism is replaced by one that
    releases the same frozen latent for every record, so every record must be rewritten to the same text, in one batch, in
    another order and alone. One difference is proof that something else of the record (or of its neighbours) reaches the
    text. Decoding has to be greedy: if one text alone is rewritten differently twice, nothing can be judged.
    """
    frozen = game.target.release([game.texts[i % len(game.texts)] for i in range(game.trials)])
    different = sum(_changes(game.target.with_release(latent), game.texts) for latent in frozen)
    evidence = f"{different} of {game.trials} frozen latents were decoded to more than one text"
    return Finding(failed=different > 0, evidence=evidence, statistic=different / game.trials)


def _changes(frozen: TextTarget, texts: Sequence[str]) -> bool:
    alone = frozen.rewrite([texts[0]])
    if frozen.rewrite([texts[0]]) != alone:
        raise MechanismFailure("decoding samples: replay a greedy rewriter")
    rewrites = [*frozen.rewrite(texts), *frozen.rewrite(list(reversed(texts))), *frozen.rewrite([texts[-1]])]
    return set(rewrites) != set(alone)


def _rounds(game: Texts, rounds: int) -> Rounds:
    """Return rewrites, each with its coin: 0 for the first text."""
    coins: list[int] = torch.randint(2, (rounds,), generator=game.generator).tolist()
    rewrites: list[str] = []
    for start in range(0, rounds, BATCH):
        rewrites += game.target.rewrite([game.texts[coin] for coin in coins[start : start + BATCH]])
    return list(zip(rewrites, coins, strict=True))


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


def _features(text: str) -> set[str]:
    words = text.split()
    pairs = {f"{a} {b}" for a, b in pairwise(words)}
    return {*words, *pairs, f"<length {len(words)}>", f"<text {text}>"}
