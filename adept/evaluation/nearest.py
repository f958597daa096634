"""A latent without a network: TF-IDF, 16 singular directions, whitened, on the sphere.

Answered with the nearest public utterances (``adept.models.network.public_texts``), it is the baseline that an encoder has to beat.
"""

from typing import TYPE_CHECKING

from adept.data.corpus import Corpus

if TYPE_CHECKING:
    from adept.models.training.content import Encoder

LINEAR_DIM = 16


def linear_latents(public: Corpus, *, seed: int) -> "Encoder":
    """Return the linear encoder fitted on public text: N texts to unit vectors (N, 16)."""
    from adept.models.training.content import fit_content  # scikit-learn takes seconds to import

    return fit_content(public, kind="words", dim=LINEAR_DIM, seed=seed)
