"""Public texts by their latents: what a release is answered with where nothing is to be written anew.

A text that a person wrote is fluent and short; what a decoder writes that saw too little text of a domain is neither. So a model
that holds public texts, or was given some of the domain where it is used, can answer a released latent with the ones that lie
nearest to it. That reads the release and public texts alone: post-processing, which costs no budget.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from adept.models.codec.codec import text_of
from adept.models.network.autoencoder import Autoencoder
from adept.models.network.batching import pad
from adept.models.tokenizer.tokenizer import Tokenizer

CHUNK = 1024
ANSWERED_ROWS = 32  # latents in every product; fewer are filled up
WIDTH = 16  # floats in a vector register; rows of another width begin at different places in it and may be rounded differently
TEXT_CODEWORDS = (256, 512, 1024, 2048, 4096, 8192)  # sizes of the codebooks of texts


class PublicTexts:
    """Public utterances by their latents (N, n)."""

    def __init__(self, texts: Sequence[str], latents: Tensor) -> None:
        self.texts = list(texts)
        self.directions = torch.nn.functional.normalize(latents.to(torch.float32), dim=1)
        self._table = filled(filled(self.directions, dim=0), dim=1).T.contiguous()  # (n, N)

    @classmethod
    def of(cls, model: Autoencoder, tokenizer: Tokenizer, texts: Sequence[str]) -> "PublicTexts":
        """Encode public texts by a model, in batches of similar length: what is public need not be the same to the last bit."""
        return cls(texts, encode_public(model, tokenizer, texts))

    def near(self, released: Tensor, *, count: int) -> list[list[int]]:
        """Return the numbers of the ``count`` texts nearest to each released latent (B, n), or of all where there are fewer."""
        distinct, index = torch.unique(released.to(self.directions), dim=0, return_inverse=True)
        near = [
            self._likeness(part).topk(min(count, len(self.texts)), dim=1).indices
            for part in torch.split(distinct, ANSWERED_ROWS)
        ]
        found: list[list[int]] = torch.cat(near)[index].tolist() if near else []
        return found

    def _likeness(self, latents: Tensor) -> Tensor:
        """Return the similarity (B, N) of texts to at most ANSWERED_ROWS latents (B, n), whose places do not matter."""
        rows = filled(filled(latents, dim=0, width=ANSWERED_ROWS), dim=1)
        return (rows @ self._table)[: len(latents), : len(self.texts)]

    def write(self, released: Tensor, *, samples: int, most: int | None = None) -> list[str]:
        """Return ``samples`` texts for each released latent (B, n), consecutively: the nearest ones, at most ``most`` different."""
        chosen = self.near(released, count=samples if most is None else min(samples, most))
        return [self.texts[row[place % len(row)]] for row in chosen for place in range(samples)]


def filled(tensor: Tensor, *, dim: int, width: int = WIDTH) -> Tensor:
    """Fill a dimension of a matrix with zeros to a multiple of ``width``; this changes no sum."""
    missing = -tensor.shape[dim] % width
    return torch.nn.functional.pad(tensor, (0, missing) if dim == 1 else (0, 0, 0, missing)).contiguous()


def text_codebooks(model: Autoencoder, tokenizer: Tokenizer) -> dict[int, Tensor]:
    """Return codebooks (k, n) of the first k public texts, for a model that answers each codeword with its own text.

    Means of texts lie where no text is, and most of them near what is said most (``docs/decisions.md``: what a codeword is).
    """
    first = model.codec.utterances[: max(TEXT_CODEWORDS)] if model.codec else []
    latents = encode_public(model, tokenizer, [text_of(words) for words in first]).cpu()
    directions = torch.nn.functional.normalize(latents, dim=1)
    return {size: directions[:size] for size in TEXT_CODEWORDS if size <= len(first)}


@torch.inference_mode()
def encode_public(model: Autoencoder, tokenizer: Tokenizer, texts: Sequence[str]) -> Tensor:
    """Return the clipped latents (N, n) of public texts."""
    rows = tokenizer.encode(texts, max_length=model.config.max_length)
    device = next(model.parameters()).device
    latents = torch.zeros((len(rows), model.config.latent_dim), device=device)
    order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
    for start in range(0, len(order), CHUNK):
        places = order[start : start + CHUNK]
        latents[places] = model.encode(pad([rows[place] for place in places]).to(device))
    return latents
