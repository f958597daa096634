"""Releases of a sentence that the user types on the page, and the beliefs of a reader.

Each change on the page causes a new release with fresh noise. Typed sentences are never stored.
``adept.web.reader`` explains the reader and the crowd.
"""

import contextlib
import threading
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from adept.errors import ConfigurationError
from adept.mechanisms import BY_NAME
from adept.mechanisms.guarantee import Guarantee, json_number, risk, words
from adept.models.saved_model import Autoencoder
from adept.models.tokenizer import Tokenizer
from adept.rewriting.expectation import QUESTION, SHARE_HEADINGS, preview_budgets
from adept.rewriting.loading import best_exact
from adept.rewriting.rewriter import Rewriter
from adept.web.reader import PEOPLE, Reader, View, bound, crowd_of, guesses

# fmt: off
STOPS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 12.0, 14.0, 16.0, 18.0, 20.0, 24.0, 28.0, 32.0, 36.0, 40.0)
# fmt: on
DEFAULT = 8.0
TEXTS_PER_RELEASE = 3
MAX_SENTENCE_CHARACTERS = 5_000
OURS = "ours"
MIN_CERTAINTY = 0.999  # beliefs above it are called certainty
COMPARED = {
    OURS: "this tool",
    "original": "ADePT of 2021, whose promise is false",
    "sqrt_n": "ADePT with enough noise",
    "l1": "ADePT in a smaller space",
    "l2_norm": "noise alike in all directions",
}


@dataclass(frozen=True)
class Release:
    """The release of a typed sentence by one mechanism; it exists only in memory."""

    shown: dict[str, Any]  # what the page says of it: texts, budgets, and a reader's largest belief in words
    reader: Reader
    encoded: Tensor  # the sentence as the mechanism reads it (1, .)
    released: Tensor  # (1, .)

    def view(self) -> View:
        """Return the beliefs of a reader who has seen this release."""
        return self.reader.view(self.encoded, self.released)


class Sentences:
    """Releases of typed sentences, by several mechanisms and at each epsilon of the slider."""

    def __init__(self, model: Autoencoder, tokenizer: Tokenizer) -> None:
        self.model, self.tokenizer = model, tokenizer
        self.crowd = crowd_of(model)
        self._made: dict[tuple[str, float], tuple[Rewriter, Reader]] = {}
        self._making, self._played, self._ended = threading.Lock(), threading.Event(), threading.Event()

    @property
    def mechanisms(self) -> dict[str, str]:
        """Names and titles of the mechanisms that can be used with the model."""
        clip = self.model.clip
        return {name: title for name, title in COMPARED.items() if name == OURS or clip in BY_NAME[name].serves}

    def warm(self) -> None:
        """Encode the crowd's sentences for the default epsilon, and for others after a release."""
        self._at(OURS, DEFAULT)[1].prepare()
        self._played.wait()
        ours = [(OURS, epsilon) for epsilon in sorted(STOPS, key=lambda stop: abs(stop - DEFAULT))]
        with contextlib.suppress(ConfigurationError):  # the page has ended
            for name, epsilon in [*((name, DEFAULT) for name in self.mechanisms), *ours]:
                self._at(name, epsilon)[1].prepare()

    def end(self) -> None:
        """Stop the thread that runs ``warm``; otherwise, the process could not end."""
        self._ended.set()
        self._played.set()

    def release(self, text: str, *, epsilon: float, mechanisms: list[str]) -> list[Release]:
        """Release a sentence once by each mechanism; error messages never quote the sentence."""
        if len(text) > MAX_SENTENCE_CHARACTERS:
            raise ConfigurationError(
                f"the sentence must have at most {MAX_SENTENCE_CHARACTERS:,} characters: shorten it"
            )
        if not mechanisms or not set(mechanisms) <= set(self.mechanisms):
            raise ConfigurationError("mechanisms must be among those on the page: reload it")
        self._played.set()
        return [self._release(text, name, epsilon) for name in dict.fromkeys(mechanisms)]

    def budgets(self) -> dict[str, Any]:
        """Return tables of the protection at each epsilon, and of rewrites of public texts."""
        rows = list(preview_budgets(lambda epsilon: self._at(OURS, epsilon)[0]))
        return {
            "headings": ["epsilon", QUESTION, *SHARE_HEADINGS],
            "rows": [[f"{row.epsilon:g}", risk(row.epsilon), *row.shares] for row in rows],
            "texts": ["epsilon", *(text for text, _ in rows[-1].examples)],
            "rewrites": [[f"{row.epsilon:g}", *(rewrite for _, rewrite in row.examples)] for row in rows],
        }

    def _release(self, text: str, name: str, epsilon: float) -> Release:
        rewriter, reader = self._at(name, epsilon)
        encoded = rewriter.encode([text])
        released = rewriter.draw(encoded)
        guarantee = rewriter.guarantee
        texts = dict.fromkeys(text for text, _ in rewriter.write(released, samples=TEXTS_PER_RELEASE))
        shown = {
            "mechanism": name,
            "title": self.mechanisms[name],
            "claimed": guarantee.claimed_epsilon,
            "epsilon": json_number(guarantee.epsilon),
            "holds": guarantee.holds,
            "texts": list(texts),
            "sentence": _sentence(guarantee),
        }
        return Release(shown, reader, encoded, released)

    def _at(self, name: str, epsilon: float) -> tuple[Rewriter, Reader]:
        with self._making:
            if (name, epsilon) not in self._made:
                kind = best_exact(self.model, epsilon=epsilon) if name == OURS else BY_NAME[name]
                rewriter = Rewriter.for_measurement(self.model, self.tokenizer, mechanism=kind(epsilon=epsilon))
                self._made[name, epsilon] = rewriter, Reader(rewriter, self.crowd, self._ended)
            return self._made[name, epsilon]


def _sentence(guarantee: Guarantee) -> str:
    most, claimed = bound(guarantee.epsilon), guarantee.claimed_epsilon
    if most > MIN_CERTAINTY:
        said = f"Nothing hides you among {PEOPLE:,} people at this budget: a reader may be certain that it was you."
    else:
        said = f"Of {PEOPLE:,} people who might have written this, a reader names you with at most {guesses(most)}."
    if claimed < guarantee.epsilon:
        spent = f"this mechanism spends epsilon {words(guarantee.epsilon)}, not {words(claimed)}"
        said += f" The published claim is {guesses(bound(claimed))}. It is false: {spent}."
    return said
