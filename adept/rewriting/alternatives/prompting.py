"""Sampling from a decoder that sees the record, with clipped logits (DP-Prompt: Utpala, Hooker and Chen, Findings of EMNLP 2023).

The record conditions a language model, here the decoder on the record's latent *without* noise; each next token is drawn from the
softmax of logits clipped to a public interval [b1, b2], and n tokens are written.

Claim: eps-LDP for any two records, with eps / n for each token. Proof: given the tokens so far, which were released, a token is
drawn by the exponential mechanism with score (clipped logit - b1) / (b2 - b1) over a public set of tokens
(`adept.mechanisms.exponential`); n of them, each allowed to look at those before, add up (adaptive composition, Dwork and Roth
2013, Theorem 3.16). n is public and the same for all; that what follows the end of a text is not shown is post-processing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch

from adept.data.texts import text_list
from adept.mechanisms.exponential import exponential_choice
from adept.mechanisms.guarantee import Guarantee, share, words
from adept.models.autoencoder import Autoencoder
from adept.models.decoding import writable
from adept.models.tokenizer import END, PAD, START, Tokenizer
from adept.ranges import BUDGETS, check_between, check_integer

ROWS = 256  # texts that are written at once
PUBLIC_TEXTS = 200  # from which the interval of logits is taken


@dataclass(frozen=True, kw_only=True)
class PromptSampling:
    """Text from a model's decoder on the record itself, by the exponential mechanism token by token.

    Attributes:
        epsilon: of a whole record, in nats.
        model, tokenizer: public; they must not have been trained on the records.
        length: n, the number of tokens.
        logits: b1 and b2, from public text (`public_logits`).
    """

    epsilon: float
    model: Autoencoder = field(repr=False)
    tokenizer: Tokenizer = field(repr=False)
    length: int
    logits: tuple[float, float]
    name: ClassVar[str] = "prompt_sampling"

    def __post_init__(self) -> None:
        check_integer(1, self.model.config.max_length, length=self.length)
        check_between(*BUDGETS, epsilon=self.epsilon)

    @property
    def delta(self) -> float:
        """Probability mass outside the epsilon bound: none."""
        return 0.0

    @property
    def share(self) -> float:
        """The budget of a token."""
        return share(self.epsilon, self.length)

    def privatize(self, texts: Sequence[str]) -> list[str]:
        """Write one text for each record: fresh coins from the operating system."""
        texts = text_list(texts)
        parts = [texts[start : start + ROWS] for start in range(0, len(texts), ROWS)]
        return [text for part in parts for text in self._written(part)]

    def guarantee(self) -> Guarantee:
        """Return what the text of one record guarantees."""
        return Guarantee.pure(
            epsilon=self.epsilon,
            exact=False,
            text=f"The released text is {words(self.epsilon)}-LDP (pure) for any two records, as far as the formula goes: "
            f"{self.length} tokens with an epsilon of {words(self.share)} each; the sampling is in floating point.",
        )

    @torch.inference_mode()
    def _written(self, texts: list[str]) -> list[str]:
        """Draw token by token until n are drawn, or every text has ended, which looks at what was drawn alone."""
        latents = self.model.encode_records(self.tokenizer.encode(texts, max_length=self.model.config.max_length))
        places, (low, high) = writable(self.model).nonzero()[:, 0], self.logits
        state = self.model.initial_state(latents)
        last, tokens = torch.full((len(texts),), START), torch.empty(len(texts), 0, dtype=torch.int64)
        while tokens.shape[1] < self.length and not (tokens == END).any(dim=1).all():
            logits, state = self.model.next_word(last, latents, state)
            scores = (logits[:, places] - low) / (high - low)
            last = places[exponential_choice(scores, epsilon=self.share)]
            tokens = torch.cat([tokens, last[:, None]], dim=1)
        return self.tokenizer.decode(tokens.tolist())


@torch.inference_mode()
def public_logits(model: Autoencoder, tokenizer: Tokenizer, texts: Sequence[str]) -> tuple[float, float]:
    """Return b1 and b2: the mean and the largest of the logits on public texts; what is below the mean is as good as ruled out."""
    rows = tokenizer.encode(text_list(texts)[:PUBLIC_TEXTS], max_length=model.config.max_length)
    longest = max(map(len, rows))
    tokens = torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])
    logits = model(model.encode_records(rows), tokens)[:, :, writable(model)][tokens != PAD]
    return float(logits.mean()), float(logits.max())
