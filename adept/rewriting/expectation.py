"""What to expect of a release before there is one: what survives of public texts that the model has not seen.

No record is read: the texts are those that training held out, or a few of the examples that a model was adapted to. They are
released and rewritten as records are, and compared with what was written for another one of them, because what everybody says
survives anyhow. Two texts are about the same *topic* where the same of the model's coarsest codewords is nearest to both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import torch

from adept.mechanisms.guarantee import words
from adept.models.codebooks import encode_public
from adept.models.codec.codec import text_of
from adept.models.reconstruction import word_f1
from adept.rewriting.rewriter import Rewriter
from adept.rewriting.unseen import unseen_line

COARSE = 32  # codewords that tell topics apart, where the model has so few
LEAST = 8  # texts


@dataclass(frozen=True)
class Expectation:
    """What survives of one rewrite.

    Attributes:
        texts: how many public texts it was measured on.
        topic: the share that are about the same topic after as before; None for a model without codebooks.
        topic_of_others: the same for another text's rewrite.
        words: mean F1 of the words.
        words_of_others: the same for another text's rewrite.
        exact: the share that are written word for word.
    """

    texts: int
    topic: float | None
    topic_of_others: float | None
    words: float
    words_of_others: float
    exact: float

    @property
    def line(self) -> str:
        """The same in words."""
        topic = (
            ""
            if self.topic is None or self.topic_of_others is None
            else f"its record's topic in {self.topic:.0%} of all cases ({self.topic_of_others:.0%} by chance) and "
        )
        error = self.texts**-0.5  # at least two standard errors of a mean of numbers from 0 to 1
        exact = f", and is its record word for word in {self.exact:.0%} of all cases" if self.exact else ""
        return (
            f"a rewrite keeps {topic}{self.words:.0%} of its words ({self.words_of_others:.0%} by chance){exact}: "
            f"estimated on {self.texts} public texts, so good to {error:.0%}; other text may fare worse"
        )


def expected_lines(rewriter: Rewriter, public: Sequence[str] | None = None, *, packaged: bool) -> list[str]:
    """Return what to expect of a rewriter, in lines.

    Args:
        rewriter: what is to release; none of its records is read.
        public: public texts of the user's own, whose fate is told alone.
        packaged: whether the model is that of the package: then subjects are named that such a model had not read.
    """
    expected = expectation(rewriter, public)
    lines = [f"at epsilon {words(rewriter.guarantee.epsilon)} {expected.line}"] if expected else []
    unread = unseen_line(rewriter) if packaged and public is None else None
    return [*lines, unread] if unread else lines


def expectation(rewriter: Rewriter, public: Sequence[str] | None = None) -> Expectation | None:
    """Return what to expect of a rewriter; None where there are too few texts, or its model writes labels.

    Args:
        rewriter: what is to release; none of its records is read.
        public: public texts of the user's own, the first of which are rewritten; None stands for those that the model holds out.
    """
    model = rewriter.model
    own = [text_of(words) for words in model.codec.held_out] if model.codec else model.held_out
    held_out = own if public is None else public
    texts = list(held_out[: rewriter.coding.probes])
    if len(texts) < LEAST or model.labels:
        return None
    # Any label does for a joint release: the distribution of its text does not depend on it.
    labels = [rewriter.joint.labels[0]] * len(texts) if rewriter.joint else None
    written = [text for text, _ in rewriter.rewrite_pairs(texts, labels)]
    others = [*written[1:], written[0]]
    return Expectation(
        len(texts), _same_topic(rewriter, texts, written), _same_topic(rewriter, texts, others),
        _words(texts, written), _words(texts, others), _exact(texts, written),
    )  # fmt: skip


def _words(texts: Sequence[str], written: Sequence[str]) -> float:
    return fmean(word_f1(a.lower().split(), b.lower().split()) for a, b in zip(texts, written, strict=True))


def _exact(texts: Sequence[str], written: Sequence[str]) -> float:
    return fmean(a.lower().split() == b.lower().split() for a, b in zip(texts, written, strict=True))


@torch.inference_mode()
def _same_topic(rewriter: Rewriter, texts: Sequence[str], written: Sequence[str]) -> float | None:
    model = rewriter.model
    if not model.codebooks:
        return None
    coarse = model.codebooks[min(model.codebooks, key=lambda size: abs(size - COARSE))]
    nearest = [
        (encode_public(model, rewriter.tokenizer, part).cpu() @ coarse.T).argmax(dim=1) for part in (texts, written)
    ]
    return float((nearest[0] == nearest[1]).float().mean())
