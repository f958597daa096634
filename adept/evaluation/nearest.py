"""A latent without a network: TF-IDF, 16 singular directions, whitened, on the sphere.

Answered with the nearest public utterances (``adept.models.public_texts``), it is the baseline that an encoder has to beat.
"""

from adept.data.corpus import Corpus
from adept.models.topics import Encoder, fit_content

LINEAR_DIM = 16


def linear_latents(public: Corpus, *, seed: int) -> Encoder:
    """Return the linear encoder fitted on public text: N texts to unit vectors (N, 16)."""
    return fit_content(public, kind="words", dim=LINEAR_DIM, seed=seed)
