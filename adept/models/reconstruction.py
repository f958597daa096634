"""Share of a held-out text that a model writes back without any noise: a larger epsilon cannot bring back what is lost here.

No labels are needed. Words are counted by their F1 with the record that they were written for, and beside it stands the same with
another record's text: a model that writes what everybody says shares words with everybody.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from adept.models.autoencoder import Autoencoder
from adept.models.tokenizer import Tokenizer

MAX_RECORDS, MIN_SHARE = 200, 0.25


@dataclass(frozen=True)
class Reconstruction:
    """Mean word F1 of texts written without noise with their own records, and with others."""

    own: float
    other: float

    @property
    def share(self) -> float:
        """Share of the own record's words that is known beyond what is known of anybody's, 0 to 1."""
        return max(0.0, (self.own - self.other) / (1 - self.other)) if self.other < 1 else 1.0

    @property
    def warning(self) -> str | None:
        """One sentence if much is lost."""
        if self.share >= MIN_SHARE:
            return None
        return (
            f"this model writes back {self.own:.2f} of the words of held-out text without any noise ({self.other:.2f} are in "
            "another record's text too), and a larger epsilon cannot change that: train on more public text of the same kind"
        )


def reconstruction(model: Autoencoder, tokenizer: Tokenizer, texts: Sequence[str]) -> Reconstruction | None:
    """Measure the share of held-out texts that is written back, up to 200 of them; None for fewer than two."""
    chosen = list(texts[:: max(1, len(texts) // MAX_RECORDS)][:MAX_RECORDS])
    if len(chosen) < 2:
        return None
    latents = model.encode_records(tokenizer.encode(chosen, max_length=model.config.max_length))
    written = model.write(latents, max_length=model.config.max_length + (model.labels > 0))
    words = [text.lower().split() for text in tokenizer.decode(written.tolist())]
    records = [text.lower().split() for text in chosen]
    pairs = {"own": zip(records, words, strict=True), "other": zip(records, [*words[1:], words[0]], strict=True)}
    return Reconstruction(**{name: sum(word_f1(*pair) for pair in some) / len(chosen) for name, some in pairs.items()})


def word_f1(record: Sequence[str], rewrite: Sequence[str]) -> float:
    """Return the F1 of two bags of words; two empty ones agree."""
    shared = (Counter(record) & Counter(rewrite)).total()
    return 2 * shared / (len(record) + len(rewrite)) if record or rewrite else 1.0
