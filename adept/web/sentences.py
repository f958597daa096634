r"""The belief of a reader that you wrote the sentence from which a release was made.

A *release* is the randomised output of a mechanism for one sentence. The *crowd* consists of N people, you among
them. Each person has one of N sentences: yours or one of N - 1 public sentences. The *belief* is the probability, for
the reader, that the release was made from your sentence. The reader knows the crowd, the model and the mechanism, and
sees the release z. A text that is written from the release cannot reveal more than the release itself.

*Before* the release, all sentences are equally likely, so the belief is 1 / N. *At most*: if the mechanism is
eps-LDP, the likelihoods p(z|x) of two sentences x differ at most by the factor e^eps. In this case, Bayes' rule gives
an upper bound on the belief after the release:

    P(you | z) = p(z|you) / (p(z|you) + sum over the others of p(z|x)) <= e^eps / (e^eps + N - 1),

since p(z|x) >= e^-eps * p(z|you) for the sentence x of each of the N - 1 others. If eps is the epsilon of a false
claim, a belief may exceed this bound. *After* the release, the belief is P(you|z), computed with the exact
likelihoods p(z|x) of the mechanism (`adept.attacks.likelihood`).

``Sentences`` makes the releases of the sentence that the user types on the page. Each change on the page causes a new
release with fresh noise. Typed sentences are never stored.
"""

import contextlib
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from adept.attacks.likelihood import Candidates, read_candidates
from adept.errors import ConfigurationError, ModelError, refuse
from adept.mechanisms import BY_NAME, OriginalLaplace
from adept.mechanisms.guarantee import QUESTION, Guarantee, good_enough, json_number, risk, words
from adept.models.saved_model import Autoencoder
from adept.models.tokenizer import Tokenizer, join_words
from adept.rewriting.expectation import SHARE_HEADINGS, preview_budgets
from adept.rewriting.rewriter import Rewriter, best_exact

PEOPLE = 1_000
DRAWS = 100  # of the worst pair
# fmt: off
STOPS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 12.0, 14.0, 16.0, 18.0, 20.0, 24.0, 28.0, 32.0, 36.0, 40.0)
# fmt: on
DEFAULT = 8.0
MAX_SENTENCE_CHARACTERS = 5_000
OURS = "ours"
COMPARED = {
    OURS: "this tool", "original": "ADePT of 2021, whose promise is false", "sqrt_n": "ADePT with enough noise",
    "l1": "ADePT in a smaller space", "l2_norm": "noise alike in all directions",
}  # fmt: skip


def crowd_of(model: Autoencoder) -> list[str]:
    """Return N - 1 distinct public sentences of a model; raise ModelError if it has fewer."""
    texts = list(dict.fromkeys(join_words(words) for words in model.sentences.utterances)) if model.sentences else []
    if len(texts) < PEOPLE - 1:
        raise ModelError(
            f"the model must hold at least {PEOPLE - 1} public sentences, got {len(texts)}: leave model_dir out"
        )
    return texts[:: len(texts) // (PEOPLE - 1)][: PEOPLE - 1]


class Reader:
    """A reader of one mechanism's releases, who knows the crowd's sentences. ``ended`` stops their encoding."""

    def __init__(self, rewriter: Rewriter, crowd: Sequence[str], ended: threading.Event) -> None:
        self._rewriter, self._crowd, self._ended = rewriter, crowd, ended
        self._others: Candidates | None = None
        self._reading = threading.Lock()

    @property
    def ready(self) -> bool:
        """True once the sentences of the crowd are encoded."""
        return self._others is not None

    def prepare(self) -> Candidates:
        """Return the crowd's encoded sentences; raise ConfigurationError if the server stops."""
        with self._reading:
            if self._others is None:
                encoded = torch.cat([self._encode(begin) for begin in range(0, len(self._crowd), 50)])
                self._others = read_candidates(self._rewriter.mechanism, encoded)
            return self._others

    def _encode(self, begin: int) -> Tensor:
        refuse((self._ended.is_set(), "the page has ended: start adept play again"))
        return self._rewriter.encode(self._crowd[begin : begin + 50])

    def view(self, encoded: Tensor, released: Tensor) -> dict[str, Any]:
        """Return a reader's beliefs if your sentence ``encoded`` was released as ``released``, as JSON values."""
        crowd = read_candidates(self._rewriter.mechanism, encoded).before(self.prepare())
        beliefs = torch.softmax(crowd.log_likelihood(released)[0].double(), dim=0)
        after, rest = float(beliefs[0]), beliefs[1:]
        likeliest = torch.topk(rest, 7)
        guarantee = self._rewriter.guarantee
        return {
            "people": PEOPLE,  # you among them
            "claimed": bound(guarantee.claimed_epsilon),  # the largest belief that the mechanism's claim allows
            "bound": bound(guarantee.epsilon),  # the largest belief that is possible
            "after": after,  # the belief that it was you, after this release
            "likelier": int((rest > after).sum()),  # number of the others who are more likely than you
            # The likeliest others, with the belief in each
            "others": [(self._crowd[int(place)], float(belief)) for belief, place in zip(*likeliest, strict=True)],
        }


def worst_pair(*, epsilon: float, dim: int) -> list[float]:
    r"""Return the log-odds of 100 releases by ADePT as published, for its worst pair of latents.

    Let c = C / sqrt(n). The two latents are (c, ..., c) and (-c, ..., -c), both of l2 norm C. The log-odds of a
    release z are the logarithm of the ratio of its likelihoods under the two latents. The log-odds can reach ``eps *
    sqrt(n)``, although the claim of eps promises at most eps.
    """
    mechanism = OriginalLaplace(epsilon=epsilon)
    corner = torch.full((1, dim), mechanism.clip_norm / math.sqrt(dim), dtype=torch.float64)
    inputs = mechanism.project(corner).expand(DRAWS, dim)
    released = mechanism.privatize(inputs)
    scale = mechanism.guarantee(dim).scale or math.inf
    odds: list[float] = (((released + inputs).abs() - (released - inputs).abs()).sum(dim=1) / scale).tolist()
    return odds


def bound(epsilon: float) -> float:
    """Return a reader's largest belief that you wrote the sentence, in a crowd of PEOPLE people."""
    return good_enough(1 / PEOPLE, epsilon=epsilon)


def guesses(probability: float) -> str:
    """Return a probability of correct guesses, rounded up, as a text like "N guesses in M"."""
    if probability > 0.5:
        most = 100 if probability <= 0.99 else 1000
        return f"{math.ceil(most * probability):,} guesses in {most:,}"
    return f"1 guess in {math.floor(1 / probability):,}"


@dataclass(frozen=True)
class Release:
    """The release of a typed sentence by one mechanism; it exists only in memory."""

    shown: dict[str, Any]  # what the page says of it: texts, budgets, and a reader's largest belief in words
    reader: Reader
    encoded: Tensor  # the sentence as the mechanism reads it (1, .)
    released: Tensor  # (1, .)

    def view(self) -> dict[str, Any]:
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
        refuse(
            (
                len(text) > MAX_SENTENCE_CHARACTERS,
                f"the sentence must have at most {MAX_SENTENCE_CHARACTERS:,} characters: shorten it",
            ),
            (
                not mechanisms or not set(mechanisms) <= set(self.mechanisms),
                "mechanisms must be among those on the page: reload it",
            ),
        )
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
        shown = {
            "mechanism": name, "title": self.mechanisms[name], "claimed": guarantee.claimed_epsilon,
            "epsilon": json_number(guarantee.epsilon), "spends": words(guarantee.epsilon), "holds": guarantee.holds,
            "sentence": _sentence(guarantee),
            "texts": list(dict.fromkeys(text for text, _ in rewriter.write(released, samples=3))),
        }  # fmt: skip
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
    if most > 0.999:  # which is called certainty
        said = f"Nothing hides you among {PEOPLE:,} people at this budget: a reader may be certain that it was you."
    else:
        said = f"Of {PEOPLE:,} people, equally likely to have written this, a reader names you with at most {guesses(most)}."
    if claimed < guarantee.epsilon:
        spent = f"this mechanism spends epsilon {words(guarantee.epsilon)}, not {words(claimed)}"
        said += f" The published claim is {guesses(bound(claimed))}. It is false: {spent}."
    return said
