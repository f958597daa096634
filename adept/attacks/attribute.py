"""Attribute inference: what a release tells about one property of its record, such as the departure city.

The game is that of ``adept.attacks.reconstruction``: secrets are drawn uniformly from the private records, so the bound is that
on guessing a value of the attribute with its frequencies as the prior. Attackers:

- ``static``: a classifier of the attribute, trained on public text as people wrote it, reads the rewrite;
- ``adaptive``: it is trained on rewrites of the public text, made with the same rewriter;
- ``release``: the exact posterior over the private records, summed over those with the same value.
"""

import random
from collections.abc import Sequence

import torch

from adept.attacks.bounds import Rate
from adept.attacks.optimum import best_success
from adept.attacks.reader import Reader
from adept.attacks.reconstruction import guess
from adept.attacks.reconstruction_game import largest, view
from adept.attacks.result import AttackRow, Game
from adept.data.corpus import Corpus
from adept.errors import DataError
from adept.rewriting.rewriter import Rewriter

LABEL = "label"
NONE = "none"


def attribute_of(corpus: Corpus, name: str) -> list[str]:
    """Return each record's value of an attribute: its label, or the first value of a slot, "none" where it has none.

    Raises:
        DataError: the data have no such attribute.
    """
    if name == LABEL:
        if corpus.labels is None:
            raise DataError("attribute=label needs labels: name their column with label_column=")
        return list(corpus.labels)
    if corpus.slots is None or corpus.slot_names is None:
        raise DataError(f"attribute={name} needs data with slots, a column of tags: use attribute=label")
    values = [
        next((value for value, kind in zip(said, kinds, strict=True) if kind == name), NONE)
        for said, kinds in zip(corpus.slots, corpus.slot_names, strict=True)
    ]
    if set(values) == {NONE}:
        known = sorted({kind for kinds in corpus.slot_names for kind in kinds})
        raise DataError(f"attribute must be label or a slot of the data, got {name}: the slots are {', '.join(known)}")
    return values


def play(
    rewriter: Rewriter,
    private: Corpus,
    public: Corpus,
    game: Game,
    *,
    attribute: str,
) -> list[AttackRow]:
    """Attack one attribute of secrets drawn from the private records, with each of the three attackers."""
    own, others = attribute_of(private, attribute), attribute_of(public, attribute)
    draws = random.Random(game.seed).choices(range(len(private)), k=game.records)
    truth = [own[place] for place in draws]
    released = torch.cat(
        [
            rewriter.release([private.texts[place] for place in draws[i : i + 256]]).cpu()
            for i in range(0, game.records, 256)
        ]
    )
    written = [text for text, _ in rewriter.write(released)]
    values = sorted(set(own))
    classes = torch.tensor([values.index(value) for value in own])
    prior = torch.bincount(classes).double() / len(own)
    guesses = {
        "static": Reader(public.texts, others, seed=game.seed).guess(written),
        "adaptive": Reader(rewriter.rewrite(public.texts), others, seed=game.seed).guess(written),
    }
    flat = torch.full((len(own),), 1 / len(own), dtype=torch.float64)
    records_view = view(rewriter, private.texts)
    named = guess(records_view, released, prior=flat, classes=classes).best_class
    guesses["release"] = [values[i] for i in ([] if named is None else named.tolist())]
    optimum = best_success(records_view, flat, classes)
    return [
        _row(rewriter, attribute, knows, said, truth, prior, game, optimum if knows == "release" else None)
        for knows, said in guesses.items()
    ]


def _row(
    rewriter: Rewriter,
    attribute: str,
    knows: str,
    said: Sequence[str],
    truth: Sequence[str],
    prior: torch.Tensor,
    game: Game,
    optimum: float | None,
) -> AttackRow:
    promise = rewriter.guarantee
    right = sum(a == b for a, b in zip(said, truth, strict=True))
    return AttackRow(
        attack="attribute",
        knows=knows,
        success=attribute,
        rate=Rate.of(right, len(truth), confidence=game.confidence),
        without_release=float(prior.max()),
        bound=largest(prior, epsilon=promise.epsilon, delta=promise.delta),
        claimed_bound=largest(prior, epsilon=promise.claimed_epsilon, delta=promise.delta),
        optimum=optimum,
        detail={"values": len(prior)},
    )
