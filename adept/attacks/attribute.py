"""Attribute inference: guess a property of a record, such as a city, from its release.

Secrets are drawn uniformly from the private records. Three attackers guess the attribute:

- ``static`` trains a classifier of the attribute on public text that was not rewritten, and applies
  it to the rewrite of the secret;
- ``adaptive`` trains such a classifier on public text that the same rewriter has rewritten;
- ``release`` computes the exact posterior probability of each private record, and names the value
  of the attribute whose records have the largest total probability.
"""

import torch

from adept.attacks.attack_game import AttackGame, AttackRow
from adept.attacks.likelihood import guess
from adept.attacks.reconstruction import view
from adept.attacks.success_bounds import best_success
from adept.data.corpus import Corpus
from adept.errors import DataError
from adept.evaluation.classifiers import predict


def read_attribute(corpus: Corpus, name: str) -> list[str]:
    """Return the attribute ``name`` of each record: the label, or the first value of a slot."""
    if name == "label":
        if corpus.labels is None:
            raise DataError("attribute=label needs labels: name their column with label_column=")
        return list(corpus.labels)
    if corpus.slots is None:
        raise DataError(f"attribute={name} needs data with slots, a column of tags: use attribute=label")
    values = [next((value for kind, value in slots if kind == name), "none") for slots in corpus.slots]
    if set(values) == {"none"}:
        known = sorted({kind for slots in corpus.slots for kind, _ in slots})
        raise DataError(f"attribute must be label or a slot of the data, got {name}: the slots are {', '.join(known)}")
    return values


def play(game: AttackGame, *, attribute: str) -> list[AttackRow]:
    """Let three attackers guess an attribute of secrets that are drawn from the private records."""
    rewriter, private, public = game.rewriter, game.private, game.public
    own, others = read_attribute(private, attribute), read_attribute(public, attribute)
    draws = game.draw(len(private))
    released = game.release([private.texts[place] for place in draws])
    written = [text for text, _ in rewriter.write(released)]
    values = sorted(set(own))
    classes = torch.tensor([values.index(value) for value in own])
    flat = torch.full((len(own),), 1 / len(own), dtype=torch.float64)
    candidates = view(rewriter, private.texts)
    named = guess(candidates, released, prior=flat, classes=classes).best_class
    guesses = {
        "static": predict(Corpus(public.texts, others), written),
        "adaptive": predict(
            Corpus(rewriter.rewrite(public.texts), others), written, epsilon=rewriter.guarantee.epsilon
        ),
        "release": [values[i] for i in named.tolist()],
    }
    prior = torch.bincount(classes).double() / len(own)
    return [
        game.row(
            "attribute",
            knows,
            attribute,
            torch.tensor([value == own[place] for value, place in zip(said, draws, strict=True)]),
            prior,
            optimum=best_success(candidates, flat, classes) if knows == "release" else None,
            detail={"values": len(prior)},
        )
        for knows, said in guesses.items()
    ]
