"""Rewriting without a decoder: the public utterances whose latents are nearest to what was released.

Two baselines that a decoder has to beat. ``PublicTexts`` answers any released latent with public utterances, and
``linear_latents`` is a latent without a network: TF-IDF, 16 singular directions, whitened, on the sphere.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from adept.data.corpus import Corpus
from adept.models.topics import Encoder, fit_content

LINEAR_DIM = 16
CHUNK = 1024


def linear_latents(public: Corpus, *, seed: int) -> Encoder:
    """Return the linear encoder fitted on public text: N texts to unit vectors (N, 16)."""
    return fit_content(public, kind="words", dim=LINEAR_DIM, seed=seed)


class PublicTexts:
    """Public utterances by their latents (N, n)."""

    def __init__(self, texts: Sequence[str], latents: Tensor) -> None:
        self.texts = list(texts)
        self.directions = torch.nn.functional.normalize(latents.double(), dim=1)

    def write(self, released: Tensor, *, samples: int) -> list[str]:
        """Return the ``samples`` nearest public utterances of each released latent (B, n), consecutively."""
        distinct, index = torch.unique(released.double(), dim=0, return_inverse=True)
        near = [
            (part @ self.directions.T).topk(min(samples, len(self.texts)), dim=1).indices
            for part in torch.split(distinct, CHUNK)
        ]
        chosen = torch.cat(near)[index]
        copies = chosen.repeat(1, -(-samples // chosen.shape[1]))[:, :samples]  # fewer public texts than asked for
        return [self.texts[i] for i in copies.flatten().tolist()]
