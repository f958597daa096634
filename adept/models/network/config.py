"""Sizes of an autoencoder, and where its weights come from: what ``config.json`` says of a model."""

from dataclasses import dataclass

from adept.errors import ConfigurationError
from adept.models.topics.encoder import TOPICS
from adept.models.untrusted_files import PRECISIONS, printable
from adept.ranges import CLIP_NORMS, check_between, check_integer

LARGEST = {"embedding_dim": 2048, "hidden_dim": 2048, "latent_dim": 2048, "max_length": 512}
MOST_RECORDS, LONGEST_NAME = 10**12, 200


@dataclass
class ModelConfig:
    """Sizes of the autoencoder."""

    embedding_dim: int = 96
    """Size of a word's vector."""
    hidden_dim: int = 256
    """Size of an LSTM's state."""
    latent_dim: int = 32
    """Size of the latent vector; the noise of most mechanisms grows with it."""
    clip_norm: float = 1.0
    """Radius C of the set that latents are clipped to."""
    max_length: int = 40
    """Tokens of a record that are read, and tokens that are written at most."""
    dropout: float = 0.1
    """Share of embeddings and of the decoder's output that is left out in training."""
    word_dropout: float = 0.2
    """Share of the decoder's input words that are hidden in training, so that it uses the latent."""
    precision: str = "float32"
    """Precision of the weights in their file: float32 | float16; in memory they are always float32."""
    decoder: str = "lstm"
    """What writes unless decoding.strategy says otherwise: lstm | nearest (needs public text)."""
    encoder: str = "lstm"
    """What reads: lstm | topics; it follows training.content.kind, and latent_dim follows where it is topics."""

    def __post_init__(self) -> None:
        if self.encoder not in ("lstm", TOPICS):
            raise ConfigurationError(f"model.encoder must be lstm or topics, got {printable(self.encoder)}")
        if self.decoder not in ("lstm", "nearest"):
            raise ConfigurationError(f"model.decoder must be lstm or nearest, got {printable(self.decoder)}")
        if self.precision not in tuple(PRECISIONS):
            raise ConfigurationError(f"model.precision must be float32 or float16, got {printable(self.precision)}")
        for name, most in LARGEST.items():
            check_integer(1, most, **{f"model.{name}": getattr(self, name)})
        for name in ("dropout", "word_dropout"):
            value = getattr(self, name)
            if not (isinstance(value, float | int) and 0 <= value < 1):
                raise ConfigurationError(f"model.{name} must be in [0, 1), got {printable(value)}")
        check_between(*CLIP_NORMS, **{"model.clip_norm": self.clip_norm})


@dataclass(frozen=True)
class TrainingData:
    """Where a model's weights and vocabulary come from: no local guarantee covers them."""

    name: str = "unknown"
    public: bool = False
    records: int = 0
    examples: int = 0  # of these records, those that somebody adapted the model to, who declared them public

    def __post_init__(self) -> None:
        if not isinstance(self.public, bool):
            raise ConfigurationError(f"training_data.public must be true or false, got {printable(self.public)}")
        if not (isinstance(self.name, str) and self.name.isprintable() and 0 < len(self.name) <= LONGEST_NAME):
            raise ConfigurationError(
                f"training_data.name must be a line of at most {LONGEST_NAME} characters, got {printable(self.name)}"
            )
        check_integer(0, MOST_RECORDS, **{"training_data.records": self.records})
        check_integer(0, self.records, **{"training_data.examples": self.examples})
