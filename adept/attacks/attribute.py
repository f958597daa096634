"""Attribute inference: guess a property of a record, such as a city, from its release.

Secrets are drawn uniformly from the private records. Three attackers guess the attribute:

- ``static`` trains a classifier of the attribute on public text that was not rewritten, and applies
  it to the rewrite of the secret;
- ``adaptive`` trains such a classifier on public text that the same rewriter has rewritten;
- ``release`` computes the exact posterior probability of each private record, and names the value
  of the attribute whose records have the largest total probability.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import logit

from adept.attacks.attack_game import AttackGame, AttackRow
from adept.attacks.likelihood import guess
from adept.attacks.reconstruction import view
from adept.attacks.success_bounds import best_success
from adept.data.corpus import Corpus
from adept.data.text_arguments import text_list
from adept.errors import DataError


class TextReader:
    """A classifier of texts: logistic regression on TF-IDF weights of words and word pairs."""

    def __init__(self, texts: Sequence[str], values: Sequence[str], *, seed: int = 0) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer  # slow to import
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline

        texts = text_list(texts)
        self.classes = sorted(set(values))
        self._model = make_pipeline(
            TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\S+"),
            LogisticRegression(C=10.0, max_iter=300, random_state=seed),  # C: chosen once, on public text
        )
        if len(self.classes) > 1:
            self._model.fit(texts, list(values))

    def guess(self, texts: Sequence[str]) -> list[str]:
        """Return the guessed class of each text."""
        texts = text_list(texts)
        if len(self.classes) < 2:
            return self.classes * len(texts)
        return [str(value) for value in self._model.predict(texts)]

    def confidence(self, texts: Sequence[str], values: Sequence[str]) -> NDArray[np.float64]:
        """Return the classifier's confidence that each text has the class given in ``values``.

        The confidence is the logit of the probability that the classifier gives to this class.
        """
        texts = text_list(texts)
        chances = np.full(len(texts), 1e-6)  # probability of a class that no training text has
        places = {value: i for i, value in enumerate(self.classes)}
        if len(self.classes) > 1:
            table = self._model.predict_proba(texts)
            known = [row for row, value in enumerate(values) if value in places]
            chances[known] = table[known, [places[values[row]] for row in known]]
        return np.asarray(logit(np.clip(chances, 1e-9, 1 - 1e-9)))


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
        "static": TextReader(public.texts, others, seed=game.seed).guess(written),
        "adaptive": TextReader(rewriter.rewrite(public.texts), others, seed=game.seed).guess(written),
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
