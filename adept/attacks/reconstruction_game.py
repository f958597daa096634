"""Reconstruction played with a rewriter: releases, attacks, rates beside bounds; see ``adept.attacks.reconstruction``."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from adept.attacks.bounds import Rate, best_guess, good_enough
from adept.attacks.likelihood import Known, known
from adept.attacks.neighbourhood import Neighbourhood, feasible
from adept.attacks.optimum import best_success
from adept.attacks.reconstruction import Crowd, Guesses, crowd, guess
from adept.attacks.result import AttackRow, Game
from adept.attacks.text_only import name_from_text
from adept.data.corpus import Corpus
from adept.data.texts import text_list
from adept.errors import DataError
from adept.rewriting.rewriter import Rewriter

SHOWN = 3
SEARCHED = 100  # rounds of the search, which encodes hundreds of texts in each


@dataclass(frozen=True)
class Round:
    """What every attack of a game is played on.

    Attributes:
        secrets: the texts that were released (m,).
        released: their releases.
        pool: where they were drawn from.
        places: the secrets' places in it.
    """

    secrets: list[str]
    released: Tensor
    pool: Crowd
    places: Tensor


@dataclass(frozen=True)
class GivenAway:
    """A secret that was named right.

    Attributes:
        text: the secret.
        certainty: the attacker's posterior probability of it.
        allowed: the largest that the claimed epsilon allows, given how likely the text was before.
    """

    text: str
    certainty: float
    allowed: float


@dataclass(frozen=True)
class Reconstruction:
    """The rows, and what was given away.

    Attributes:
        rows: one attack on one success each.
        given_away: the secrets that were named right with the greatest certainty; to be shown of public data alone.
    """

    rows: list[AttackRow]
    given_away: list[GivenAway]


def view(rewriter: Rewriter, texts: Sequence[str]) -> Known:
    """Return what a rewriter's mechanism reads of candidates."""
    texts, size = text_list(texts), rewriter.batch_size
    parts = [rewriter.encode(texts[start : start + size]).cpu() for start in range(0, len(texts), size)]
    return known(rewriter.mechanism, torch.cat(parts))


def play(rewriter: Rewriter, private: Corpus, public: Corpus, game: Game, *, candidates: int) -> Reconstruction:
    """Release secrets drawn from the private records, attack each release, and set the rates beside their bounds.

    Args:
        rewriter: what is attacked; made for measurement.
        private: the pool.
        public: what the attacker has beside it.
        game: how many secrets, and how sure.
        candidates: at most so many, for secrets that may be anything that could have been said.
    """
    own, played, found = _by_posterior(rewriter, private, public, game, candidates)
    rows = list(found.rows)
    if rewriter.guarantee.scale:
        rows.append(_search_row(rewriter, played, public, game))
    named = name_from_text(rewriter, played.released, played.pool.texts, own)
    rows.append(_row(rewriter, played, "text", named == played.places, game))
    return Reconstruction(rows, found.given_away)


def by_posterior(rewriter: Rewriter, private: Corpus, public: Corpus, game: Game, *, candidates: int) -> Reconstruction:
    """Play the exact posterior alone, among pool and crowd: no attack on one release guesses better; arguments as of `play`."""
    return _by_posterior(rewriter, private, public, game, candidates)[2]


def _by_posterior(
    rewriter: Rewriter, private: Corpus, public: Corpus, game: Game, candidates: int
) -> tuple[Known, Round, Reconstruction]:
    """With what the others are played on: the pool as the mechanism reads it, and its releases."""
    if len(private) < 2:
        raise DataError(f"the private split must have at least 2 records to be told apart, got {len(private)}")
    pool = crowd(private.texts, private.slots)
    draws = random.Random(game.seed).choices(range(len(pool.texts)), weights=pool.prior.tolist(), k=game.records)
    played = _released(rewriter, pool, draws)
    own = view(rewriter, pool.texts)
    guesses = guess(own, played.released, prior=pool.prior, classes=pool.classes)
    rows = _pool_rows(rewriter, played, own, guesses, game)
    rows.append(_crowd_row(rewriter, pool, public, game, candidates))
    return own, played, Reconstruction(rows, _given_away(rewriter, played, guesses))


def _given_away(rewriter: Rewriter, played: Round, guesses: Guesses) -> list[GivenAway]:
    right = (guesses.best == played.places).nonzero()[:, 0]
    surest = right[guesses.posterior[right].argsort(descending=True, stable=True)].tolist()
    certainty = {played.secrets[i]: float(guesses.posterior[i]) for i in reversed(surest)}
    claimed, prior = (
        rewriter.guarantee.claimed_epsilon,
        dict(zip(played.pool.texts, played.pool.prior.tolist(), strict=True)),
    )
    named = [GivenAway(text, sure, good_enough(prior[text], epsilon=claimed)) for text, sure in certainty.items()]
    return sorted(named, key=lambda away: -away.certainty)[:SHOWN]


def _pool_rows(rewriter: Rewriter, played: Round, own: Known, guesses: Guesses, game: Game) -> list[AttackRow]:
    """Exact match and, where slots are known, good enough, by the exact posterior over the pool."""
    pool, detail = played.pool, _moved(rewriter, guesses)
    optimum = best_success(own, pool.prior, torch.arange(len(pool.texts)))
    rows = [_row(rewriter, played, "pool", guesses.best == played.places, game, optimum=optimum, detail=detail)]
    if pool.classes is not None and guesses.best_class is not None:
        right = guesses.best_class == pool.classes[played.places]
        optimum = best_success(own, pool.prior, pool.classes)
        rows.append(_row(rewriter, played, "pool", right, game, optimum=optimum, classes=pool.classes))
    return rows


def _moved(rewriter: Rewriter, guesses: Guesses) -> dict[str, float]:
    """How far releases moved the odds between two candidates at most, and how many further than a claim without delta allows."""
    promise, largest = rewriter.guarantee, {"largest_odds": float(guesses.odds.max())}
    if promise.delta:
        return largest
    beyond = guesses.odds > promise.claimed_epsilon * (1 + 1e-4)
    return largest | {"beyond_claim": float(beyond.double().mean())}


def _crowd_row(rewriter: Rewriter, pool: Crowd, public: Corpus, game: Game, candidates: int) -> AttackRow:
    """Exact match among everything that could have been said: secrets are drawn from the whole crowd, uniformly."""
    texts = crowded(pool, public, candidates, random.Random(game.seed))
    every = crowd(texts, weighted=False)
    draws = random.Random(game.seed + 1).choices(range(len(texts)), k=game.records)
    played = _released(rewriter, every, draws)
    own = view(rewriter, texts)
    guesses = guess(own, played.released, prior=every.prior)
    optimum, detail = best_success(own, every.prior, torch.arange(len(texts))), _moved(rewriter, guesses)
    return _row(rewriter, played, "crowd", guesses.best == played.places, game, optimum=optimum, detail=detail)


def crowded(pool: Crowd, public: Corpus, candidates: int, draw: random.Random) -> list[str]:
    """The pool's texts, public ones in random order, and what a language model of these writes, up to a number of candidates."""
    others = sorted(set(public.texts) - set(pool.texts))
    draw.shuffle(others)
    texts = (pool.texts + others)[:candidates]
    return texts + [
        text for text in feasible(public.texts, candidates - len(texts), draw) if text not in set(pool.texts)
    ]


def _released(rewriter: Rewriter, pool: Crowd, draws: list[int]) -> Round:
    secrets = [pool.texts[place] for place in draws]
    released = torch.cat([rewriter.release(secrets[i : i + 256]).cpu() for i in range(0, len(secrets), 256)])
    return Round(secrets, released, pool, torch.tensor(draws))


def _search_row(rewriter: Rewriter, played: Round, public: Corpus, game: Game) -> AttackRow:
    texts = list(dict.fromkeys(public.texts))
    released, secrets = played.released[:SEARCHED], played.secrets[:SEARCHED]
    flat = torch.full((len(texts),), 1 / len(texts), dtype=torch.float64)
    started = guess(view(rewriter, texts), released, prior=flat).best.tolist()
    hood = Neighbourhood(texts, random.Random(game.seed))
    found = [
        hood.climb(texts[start], one, lambda some: view(rewriter, some))
        for start, one in zip(started, released, strict=True)
    ]
    right = torch.tensor([text == secret for text, secret in zip(found, secrets, strict=True)])
    return _row(rewriter, played, "search", right, game, detail={"candidates": len(texts)})


def _row(
    rewriter: Rewriter,
    played: Round,
    knows: str,
    right: Tensor,
    game: Game,
    *,
    optimum: float | None = None,
    classes: Tensor | None = None,
    detail: Mapping[str, float] | None = None,
) -> AttackRow:
    prior = played.pool.prior
    if classes is not None:
        prior = torch.zeros(int(classes.max()) + 1, dtype=torch.float64).index_add(0, classes, prior)
    promise = rewriter.guarantee
    return AttackRow(
        attack="reconstruction",
        knows=knows,
        success="exact" if classes is None else "good enough",
        rate=Rate.of(int(right.sum()), len(right), confidence=game.confidence),
        without_release=float(prior.max()),
        bound=largest(prior, epsilon=promise.epsilon, delta=promise.delta),
        claimed_bound=largest(prior, epsilon=promise.claimed_epsilon, delta=promise.delta),
        optimum=optimum,
        detail={"candidates": len(played.pool.texts), **(detail or {})},
    )


def largest(prior: Tensor, *, epsilon: float, delta: float) -> float:
    """Return the bound on guessing which of exclusive possibilities is true, from one release."""
    if delta:
        return good_enough(float(prior.max()), epsilon=epsilon, delta=delta)
    return best_guess(prior.tolist(), epsilon=epsilon)
