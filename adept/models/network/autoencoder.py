"""The autoencoder: an LSTM encoder or topics, a bounded latent, an LSTM decoder that sees nothing else.

Shapes: B records, T tokens (at most max_length and the closing END), n latent dimensions, H hidden units, E embedding
dimensions, V words. Both directions of the encoder run over plain padded tensors and are read at the record's last token. This is
the arithmetic of training; what is released goes through ``adept.models.network.encoding``, where a latent does not depend on the
record's neighbours in the batch, to the last bit.
"""

import json
import math
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from adept.errors import ConfigurationError, ModelError
from adept.mechanisms.grid import NORM_ORDER, clip_latents
from adept.models.codec.codec import Codec
from adept.models.codec.files import load_codec, save_codec
from adept.models.network.config import ModelConfig, TrainingData
from adept.models.network.recurrence import Dropout, read, rough
from adept.models.tokenizer.pipeline import FIRST_LABEL, LARGEST_VOCABULARY, MOST_LABELS, PAD, START, UNKNOWN
from adept.models.topics.encoder import TOPICS, TopicEncoder
from adept.models.untrusted_files import check_whole, corrupt, printable, read_json, read_tensors, write_tensors

__all__ = ["Autoencoder", "ModelConfig", "TrainingData"]

FORMAT_VERSION = 1
DECLARED = ("model", "vocabulary_size", "clip", "labels", "training_data", "codebooks", "codec")
CONFIG, WEIGHTS, CODEBOOKS = "config.json", "model.safetensors", "codebooks.safetensors"
MOST_CODEBOOKS, LARGEST_CODEBOOK = 20, 1 << 16


class Autoencoder(nn.Module):
    """Encodes token ids into a latent inside a bounded set, and writes token ids from a latent alone.

    Args:
        config: the sizes.
        vocabulary_size: V.
        clip: the set that latents are clipped into, of the mechanism that the model is made for: "l1", "l2" or "sphere".
        training_data: where the weights come from; part of every privacy statement.
        labels: how many label tokens the vocabulary has. With any, every row begins with one, in and out: the record is the
            pair (label, text), and the decoder writes both from the one latent.

    Attributes:
        files: digests of the files that it was loaded from, by their names; none of a model that came from none.
        codebooks: codewords (k, n) learned from the latents of the training text, by their number k.
        codec: puts any text into a whole number and back, without the network; None until it is learned.
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
        super().__init__()
        if clip not in NORM_ORDER:
            raise ConfigurationError(f"clip must be one of {', '.join(NORM_ORDER)}, got {clip}")
        self.config = config
        self.vocabulary_size = vocabulary_size
        self.clip = clip
        self.training_data = training_data or TrainingData()
        self.labels = labels
        self.codebooks: dict[int, Tensor] = {}
        self.files: dict[str, str] = {}
        self.codec: Codec | None = None
        embedding, hidden, latent = config.embedding_dim, config.hidden_dim, config.latent_dim
        weights = torch.empty(vocabulary_size, embedding)
        if not weights.is_meta:  # on the "meta" device a normal draw would import a compiler: seconds, 100 MB
            nn.init.zeros_(weights.normal_()[PAD])
        self.embedding = nn.Embedding(vocabulary_size, embedding, padding_idx=PAD, _weight=weights)
        self.dropout = Dropout(config.dropout)
        if config.encoder == TOPICS:
            self.topics = TopicEncoder(vocabulary_size, latent)
        else:
            self.encoder_forward = nn.LSTM(embedding, hidden, batch_first=True)
            self.encoder_backward = nn.LSTM(embedding, hidden, batch_first=True)
            self.to_latent = nn.Linear(2 * hidden, latent)
        self.to_state = nn.Linear(latent, 2 * hidden)
        self.decoder = nn.LSTM(embedding + latent, hidden, batch_first=True)
        self.to_words = nn.Linear(hidden, vocabulary_size)

    def encode(self, tokens: Tensor) -> Tensor:
        """Return clipped latents (B, n) of tokens (B, T), each row closed by END and padded with PAD."""
        latents: Tensor = self.topics(tokens) if self.config.encoder == TOPICS else self._read(tokens)
        return clip_latents(latents, clip=self.clip, clip_norm=self.config.clip_norm)

    def _read(self, tokens: Tensor) -> Tensor:
        """Return what the LSTMs read (B, n)."""
        lengths = (tokens != PAD).sum(dim=1)  # (B,), at least 1
        words = self.dropout(self.embedding(tokens))  # (B, T, E)
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        backward = (lengths[:, None] - 1 - positions).clamp(min=0)  # (B, T): last token first
        reversed_words = words.gather(1, backward[..., None].expand_as(words))
        rows, last = torch.arange(len(tokens), device=tokens.device), lengths - 1
        with rough(self):
            states = [
                self.encoder_forward(words)[0][rows, last],  # (B, H)
                self.encoder_backward(reversed_words)[0][rows, last],  # (B, H)
            ]
        latents: Tensor = self.to_latent(torch.cat(states, dim=1).float())
        return latents

    def forward(self, latents: Tensor, tokens: Tensor) -> Tensor:
        """Return logits (B, T, V) of tokens (B, T), each position given the latent (B, n) and the tokens before it."""
        start = torch.full_like(tokens[:, :1], START)
        inputs = torch.cat([start, tokens[:, :-1]], dim=1)  # (B, T)
        if self.training:
            hidden = torch.rand(inputs.shape, device=inputs.device) < self.config.word_dropout
            inputs = torch.where(hidden & (inputs > START), UNKNOWN, inputs)
        words = self.dropout(self.embedding(inputs.T))  # (T, B, E)
        outputs = read(self.decoder, words, self.scaled(latents), self.initial_state(latents)).transpose(0, 1)
        with rough(self):
            logits: Tensor = self.to_words(self.dropout(outputs))
        return logits.float()

    @torch.inference_mode()
    def likelihood(self, latents: Tensor, tokens: Tensor) -> Tensor:
        """Return the mean log-likelihood (B,), in nats per token, of written tokens (B, T) given their latents (B, n)."""
        losses = nn.functional.cross_entropy(
            self(latents, tokens).transpose(1, 2), tokens, ignore_index=PAD, reduction="none"
        )
        return -losses.sum(dim=1) / (tokens != PAD).sum(dim=1).clamp(min=1)

    def initial_state(self, latents: Tensor) -> tuple[Tensor, Tensor]:
        """Return the decoder's hidden and cell state (B, H) before the first word."""
        hidden, cell = torch.tanh(self.to_state(self.scaled(latents))).chunk(2, dim=1)
        return hidden.contiguous(), cell.contiguous()

    def scaled(self, latents: Tensor) -> Tensor:
        """Scale latents by a public constant, so that coordinates are of order one for any n and C, as networks like it."""
        dim, clip_norm = self.config.latent_dim, self.config.clip_norm
        return latents * ((dim if self.clip == "l1" else math.sqrt(dim)) / clip_norm)

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
        }
        precision, named = self.config.precision, {f"{size}": words for size, words in self.codebooks.items()}
        write_tensors(directory / WEIGHTS, self.state_dict(), precision=precision)
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
        shapes = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
        model.load_state_dict(read_tensors(directory / WEIGHTS, shapes, precision=precision), assign=True)
        if sizes := _codebook_sizes(description["codebooks"], directory / CONFIG):
            shapes = {f"{k}": (k, model.config.latent_dim) for k in sizes}
            named = read_tensors(directory / CODEBOOKS, shapes, precision=precision)
            model.codebooks = {int(k): words for k, words in named.items()}
        if description["codec"]:
            model.codec = load_codec(directory)
        return model.eval()


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
        check_whole(FIRST_LABEL, LARGEST_VOCABULARY + MOST_LABELS, vocabulary_size=description["vocabulary_size"])
        check_whole(0, min(MOST_LABELS, description["vocabulary_size"] - FIRST_LABEL), labels=description["labels"])
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


def _codebook_sizes(sizes: Any, path: Path) -> list[int]:
    """Return the declared sizes of the codebooks, which must all be there: a lost file must not become another mechanism."""
    try:
        check_whole(0, MOST_CODEBOOKS, codebooks=len(sizes))
        for size in sizes:
            check_whole(2, LARGEST_CODEBOOK, codebooks=size)
    except (ConfigurationError, TypeError) as error:
        raise corrupt(path, str(error)) from None
    return list(sizes)
