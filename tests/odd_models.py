"""Models of sizes that suit registers and that do not, for tests of what is rounded alike."""

import random

import torch

from adept.models.config import ModelConfig
from adept.models.saved_model import Autoencoder
from adept.models.tokenizer import END

V = 60
SIZES = {
    "default": ModelConfig(),
    "odd": ModelConfig(embedding_dim=13, hidden_dim=37, latent_dim=7, max_length=40),
    "short": ModelConfig(embedding_dim=12, hidden_dim=24, latent_dim=6, max_length=9),
    "layers": ModelConfig(embedding_dim=13, hidden_dim=24, latent_dim=7, max_length=12, num_layers=3),
    "tied": ModelConfig(
        embedding_dim=13, hidden_dim=24, latent_dim=7, max_length=12, directions=1, tied_embeddings=True
    ),
    "forwards": ModelConfig(embedding_dim=16, hidden_dim=32, latent_dim=8, max_length=9, num_layers=2, directions=1),
    "published": ModelConfig(embedding_dim=300, hidden_dim=128, latent_dim=256),
}


def model_of(name: str, *, labels: int = 0, clip: str = "sphere") -> Autoencoder:
    torch.manual_seed(0)
    model = Autoencoder(SIZES[name], vocabulary_size=V, clip=clip, labels=labels).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)  # untrained weights hardly tell one record from another
    return model


def records(count: int, *, longest: int, seed: int = 0) -> list[list[int]]:
    """Rows of every length from 1 to ``longest``, closed by END."""
    rng = random.Random(seed)
    lengths = [1 + number % longest for number in range(count)]
    return [[rng.randrange(4, V) for _ in range(length - 1)] + [END] for length in lengths]
