"""Writing without a network: every release is answered with public texts that the model holds, as they stand.

The nearest text, not one of the nearest: all records of a codeword then say the same, and their labels average out over it. Where
records drew one of the three, five or ten nearest a classifier read .57, .53 and .49, and .63 from the nearest alone (HWU64,
eps = 8, 500 texts; at eps 4 .42, .37 and .32, and .46; SNIPS nearly the same for all). With ``samples`` every record gets so many.
"""

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any

from torch import Tensor

from adept.errors import ModelError
from adept.models.codec.codec import text_of
from adept.models.network.autoencoder import Autoencoder
from adept.models.network.public_texts import PublicTexts
from adept.models.tokenizer.tokenizer import Tokenizer


class NearestTexts:
    """The public texts of a model, by their latents.

    Args:
        most: different texts that one release gets; None: as many as are asked for.

    Raises:
        ModelError: the model holds no public texts.
    """

    def __init__(self, model: Autoencoder, tokenizer: Tokenizer, *, most: int | None = None) -> None:
        self.model, self.tokenizer, self.most = model, tokenizer, most
        if not public_texts(model):
            raise ModelError(
                "the model holds no public texts to write: set decoding.strategy=sample, or train on public text"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles hold what it was made of."""
        return partial(NearestTexts, most=self.most), (self.model, self.tokenizer)

    @cached_property
    def shelf(self) -> PublicTexts:
        """The texts by their latents; nothing is encoded before the first release."""
        return PublicTexts.of(self.model, self.tokenizer, public_texts(self.model))

    def write(self, released: Tensor, *, samples: int) -> list[tuple[str, str | None]]:
        """Write the ``samples`` nearest texts of each released latent (B, n): post-processing, which costs no budget."""
        return [(text, None) for text in self.shelf.write(released, samples=samples, most=self.most)]


def public_texts(model: Autoencoder) -> Sequence[str]:
    """Return the utterances that a model of public text holds as they stand; none where its text is not public."""
    return [text_of(words) for words in model.codec.utterances] if model.codec else []
