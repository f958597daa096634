"""The autoencoder of a model directory: the core (``adept.models.adept``) with labels, topics, codebooks, a codec and files."""

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from adept.errors import ConfigurationError, ModelError, printable
from adept.mechanisms.grid import NORM_ORDER
from adept.models.adept import Adept
from adept.models.codec.codec import Codec
from adept.models.codec.files import load_codec, save_codec
from adept.models.config import MAX_VOCABULARY, TOPICS, ModelConfig, TrainingData
from adept.models.network.batching import pad
from adept.models.tokenizer.pipeline import FIRST_LABEL, MOST_LABELS, PAD, UNKNOWN
from adept.models.topics.encoder import TopicEncoder
from adept.models.untrusted_files import corrupt, read_json, read_tensors, write_tensors
from adept.ranges import check_integer

FORMAT_VERSION = 1
DECLARED = ("model", "vocabulary_size", "clip", "labels", "training_data", "codebooks", "codec")
CONFIG, WEIGHTS, CODEBOOKS = "config.json", "model.safetensors", "codebooks.safetensors"
MOST_CODEBOOKS, LARGEST_CODEBOOK, MOST_HELD_OUT = 20, 1 << 16, 200
HIDDEN_LABELS = (
    0.3  # share of labels that are hidden from the encoder in training, so that it also serves unlabelled text
)


class Autoencoder(Adept):
    """Encodes token ids into a latent inside a bounded set, and writes token ids from a latent alone.

    Args:
        config: the sizes.
        vocabulary_size: V.
        clip: the set into which the model's mechanism clips latents: "l1", "l2" or "sphere".
        training_data: the origin of the weights; part of every privacy statement.
        labels: number of label tokens in the vocabulary. If there are any, every row begins with one: the record is the pair
            (label, text), and the decoder writes both from one latent.

    Attributes:
        files: digests of the model's files, by their names; empty for a model without files.
        codebooks: codewords (k, n) learned from the latents of the training text, by their number k.
        codec: turns any text into a whole number and back, without the network; None if no mechanism needs it.
        held_out: public texts that the model was not trained on, for estimates; kept here if no codec holds them.
    """

    def __init__(
        self,
        config: ModelConfig,
        *,
        vocabulary_size: int,
        clip: str,
        training_data: TrainingData | None = None,
        labels: int = 0,
    ) -> None:
        if clip not in NORM_ORDER:
            raise ConfigurationError(f"clip must be one of {', '.join(NORM_ORDER)}, got {clip}")
        super().__init__(
            vocabulary_size=vocabulary_size,
            embedding_dim=config.embedding_dim,
            hidden_dim=config.hidden_dim,
            latent_dim=config.latent_dim,
            clip=clip,
            clip_norm=config.clip_norm,
            dropout=config.dropout,
            word_dropout=config.word_dropout,
            encoder=config.encoder != TOPICS,
        )
        self.config = config
        self.vocabulary_size = vocabulary_size
        self.training_data = training_data or TrainingData()
        self.labels = labels
        self.codebooks: dict[int, Tensor] = {}
        self.files: dict[str, str] = {}
        self.codec: Codec | None = None
        self.held_out: list[str] = []
        if config.encoder == TOPICS:
            self.topics = TopicEncoder(vocabulary_size, config.latent_dim)

    def read(self, tokens: Tensor) -> Tensor:
        """Return latents (B, n) before the clip, by topics or by the core's LSTM; some labels are hidden in training."""
        if self.training and self.labels:
            hidden = torch.rand(len(tokens), device=tokens.device) < HIDDEN_LABELS
            tokens = torch.cat([tokens[:, :1].masked_fill(hidden[:, None], UNKNOWN), tokens[:, 1:]], dim=1)
        latents: Tensor = self.topics(tokens) if self.config.encoder == TOPICS else super().read(tokens)
        return latents

    def read_rows(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """Return latents (ROWS, n) before the clip; topics are sums over positions, in one shape for all lengths."""
        if self.config.encoder != TOPICS:
            return super().read_rows(rows)
        tokens = pad(rows, length=self.config.max_length + 2).to(self.topics.offset.device)
        latents: Tensor = self.topics(tokens)
        return latents

    @torch.inference_mode()
    def likelihood(self, latents: Tensor, tokens: Tensor) -> Tensor:
        """Return the mean log-likelihood (B,), in nats per token, of written tokens (B, T) given their latents (B, n)."""
        losses = nn.functional.cross_entropy(
            self(latents, tokens).transpose(1, 2), tokens, ignore_index=PAD, reduction="none"
        )
        return -losses.sum(dim=1) / (tokens != PAD).sum(dim=1).clamp(min=1)

    @property
    def weights(self) -> dict[str, Tensor]:
        """The weights by their names in ``model.safetensors``."""
        return {name_in_file(name): tensor for name, tensor in self.state_dict().items()}

    def save_pretrained(self, directory: str | Path) -> None:
        """Write ``config.json`` and ``model.safetensors`` into a directory, making it where needed."""
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        description = {
            "format_version": FORMAT_VERSION,
            "model": asdict(self.config),
            "vocabulary_size": self.vocabulary_size,
            "clip": self.clip,
            "labels": self.labels,
            "training_data": asdict(self.training_data),
            "codebooks": sorted(self.codebooks),
            "codec": self.codec is not None,
            **({"held_out": self.held_out} if self.held_out else {}),
        }
        precision, named = self.config.precision, {f"{size}": words for size, words in self.codebooks.items()}
        write_tensors(directory / WEIGHTS, self.weights, precision=precision)
        if named:
            write_tensors(directory / CODEBOOKS, named, precision=precision)
        if self.codec:
            save_codec(self.codec, directory)
        (directory / CONFIG).write_text(json.dumps(description, indent=2) + "\n", "utf-8")

    @classmethod
    def from_pretrained(cls, directory: str | Path) -> "Autoencoder":
        """Load a model, in evaluation mode.

        Raises:
            ModelError: a file is missing or damaged, or weights are missing, unexpected or of the wrong shape.
        """
        directory = Path(directory)
        _, description = read_json(directory / CONFIG)
        model = _described(cls, description, directory / CONFIG)
        precision = model.config.precision
        shapes = {name: tuple(tensor.shape) for name, tensor in model.weights.items()}
        held = read_tensors(directory / WEIGHTS, shapes, precision=precision)
        model.load_state_dict({name: held[name_in_file(name)] for name in model.state_dict()}, assign=True)
        if sizes := _codebook_sizes(description["codebooks"], directory / CONFIG):
            shapes = {f"{k}": (k, model.config.latent_dim) for k in sizes}
            named = read_tensors(directory / CODEBOOKS, shapes, precision=precision)
            model.codebooks = {int(k): words for k, words in named.items()}
        model.held_out = _held_out(description.get("held_out", []), directory / CONFIG)
        if description["codec"]:
            model.codec = load_codec(directory)
        return model.eval()


def name_in_file(name: str) -> str:
    """Return a weight's name in ``model.safetensors``, which stores the encoder's directions as two LSTMs."""
    if not name.startswith("encoder."):
        return name
    direction = "encoder_backward" if name.endswith("_reverse") else "encoder_forward"
    return direction + name.removeprefix("encoder").removesuffix("_reverse")


def _described(cls: type[Autoencoder], description: dict[str, Any], path: Path) -> Autoencoder:
    """Build the model of a ``config.json`` without allocating it: its weights are on the "meta" device."""
    try:
        if description["format_version"] != FORMAT_VERSION:
            raise ModelError(
                f"{path} has format {printable(description['format_version'])}, "
                f"this version reads {FORMAT_VERSION}: train again"
            )
        if missing := [field for field in DECLARED if field not in description]:
            raise corrupt(path, f"no {missing[0]}")
        if not isinstance(description["codec"], bool):
            raise corrupt(path, "codec must be true or false")
        if unknown := set(description["model"]) - {field.name for field in fields(ModelConfig)}:
            raise corrupt(path, f"unknown sizes {sorted(unknown)}")
        check_integer(FIRST_LABEL, MAX_VOCABULARY + MOST_LABELS, vocabulary_size=description["vocabulary_size"])
        check_integer(0, min(MOST_LABELS, description["vocabulary_size"] - FIRST_LABEL), labels=description["labels"])
        with torch.device("meta"):
            return cls(
                ModelConfig(**description["model"]),
                vocabulary_size=description["vocabulary_size"],
                clip=description["clip"],
                training_data=TrainingData(**description["training_data"]),
                labels=description["labels"],
            )
    except ConfigurationError as error:
        raise corrupt(path, str(error)) from None
    except (ValueError, KeyError, TypeError) as error:
        raise corrupt(path, type(error).__name__) from None


def _held_out(texts: Any, path: Path) -> list[str]:
    """Return the held-out texts of a file, after checking that they are few strings."""
    if not (isinstance(texts, list) and len(texts) <= MOST_HELD_OUT and all(isinstance(text, str) for text in texts)):
        raise corrupt(path, f"held_out must be at most {MOST_HELD_OUT} texts")
    return texts


def _codebook_sizes(sizes: Any, path: Path) -> list[int]:
    """Return the declared sizes of the codebooks, which must all be there: a lost file must not become another mechanism."""
    try:
        check_integer(0, MOST_CODEBOOKS, codebooks=len(sizes))
        for size in sizes:
            check_integer(2, LARGEST_CODEBOOK, codebooks=size)
    except (ConfigurationError, TypeError) as error:
        raise corrupt(path, str(error)) from None
    return list(sizes)
