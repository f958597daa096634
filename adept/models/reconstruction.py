"""The share of a text that a model reproduces without noise, as if epsilon were infinite."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from adept.models.saved_model import Autoencoder
from adept.models.tokenizer import Tokenizer

MAX_MEASURED_TEXTS, MIN_SHARE = 200, 0.25


@dataclass(frozen=True)
class Reconstruction:
    """Mean word F1 of records with their own noiseless rewrites, and with those of others."""

    own: float
    other: float

    @property
    def share(self) -> float:
        """``own`` on a scale from 0, if it is at most ``other``, to 1, if it is 1."""
        return max(0.0, (self.own - self.other) / (1 - self.other)) if self.other < 1 else 1.0

    @property
    def warning(self) -> str | None:
        if self.share >= MIN_SHARE:
            return None
        return (
            f"this model writes back {self.own:.2f} of the words of held-out text without any noise ({self.other:.2f} are in "
            "another record's text too), and a larger epsilon cannot change that: train on more public text of the same kind"
        )


def reconstruction(model: Autoencoder, tokenizer: Tokenizer, texts: Sequence[str]) -> Reconstruction | None:
    """Compare up to 200 texts with their noiseless rewrites; return None for a single text."""
    chosen = texts[:: max(1, len(texts) // MAX_MEASURED_TEXTS)][:MAX_MEASURED_TEXTS]
    if len(chosen) < 2:
        return None
    written = model.reconstruct(chosen, tokenizer)
    return Reconstruction(mean_word_f1(chosen, written), mean_word_f1(chosen, [*written[1:], written[0]]))


def mean_word_f1(records: Sequence[str], rewrites: Sequence[str]) -> float:
    """Return the mean word F1 of records with their rewrites; a pair without words counts as 1."""
    bags = [[Counter(text.lower().split()) for text in pair] for pair in zip(records, rewrites, strict=True)]
    sizes = [record.total() + rewrite.total() for record, rewrite in bags]
    return fmean(2 * (a & b).total() / words if words else 1.0 for (a, b), words in zip(bags, sizes, strict=True))
