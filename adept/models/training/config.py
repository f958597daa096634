"""Options of a training run, and its result; this module imports no trainer, which takes seconds."""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from adept.errors import ConfigurationError
from adept.mechanisms import Description, LearnedCodebook
from adept.mechanisms.choice import Kind
from adept.models.codec.training import CodecConfig
from adept.models.topics.encoder import TOPICS
from adept.ranges import check_integer, check_positive

ACCELERATORS = ("auto", "cpu", "gpu")
CHECKPOINTS, MODEL = "checkpoints", "model"
KINDS = ("none", TOPICS)


@dataclass
class ContentConfig:
    """What latents say of an utterance."""

    kind: str = "auto"
    """What a latent says: none (what the decoder needs) | topics | auto (topics for learned_codebook and description)."""
    topics: int = 400
    """Topics at most; no more than one for every eight public texts."""
    lexicon: bool = False
    """Read unknown words as known ones, and let topics know what words mean: for text of many domains."""

    def __post_init__(self) -> None:
        if self.kind not in ("auto", *KINDS):
            raise ConfigurationError(f"training.content.kind must be one of auto, {', '.join(KINDS)}, got {self.kind}")
        if self.topics < 2:
            raise ConfigurationError(f"training.content.topics must be at least 2, got {self.topics}")


@dataclass
class OptimiserConfig:
    """How the weights are fitted."""

    learning_rate: float = 2e-3
    """Step size of the optimiser."""
    batch_size: int = 64
    """Records in one step of training."""
    weight_decay: float = 0.0
    """Weight decay of the optimiser."""
    gradient_clip: float = 1.0
    """Largest norm of a step's gradient."""
    patience: int = 5
    """Epochs without a better validation loss before training stops."""

    def __post_init__(self) -> None:
        for name in ("learning_rate", "batch_size", "gradient_clip", "patience"):
            check_positive(**{f"training.{name}": getattr(self, name)})
        if not 0 <= self.weight_decay < 1e6:
            raise ConfigurationError(f"training.weight_decay must be at least 0 and finite, got {self.weight_decay}")


@dataclass
class TrainingConfig(OptimiserConfig):
    """How the weights are fitted, and what is learned beside them."""

    epsilon: Any = None
    """Noise in training: null (none) | x (the mechanism's noise at budget x) | [low,high] (at budgets drawn between them)."""
    most: int | None = None
    """Texts that topics and decoder learn from, the first so many; null: all."""
    content: ContentConfig = field(default_factory=ContentConfig)
    codec: CodecConfig = field(default_factory=CodecConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.most is not None:
            check_integer(2, 1 << 40, **{"training.most": self.most})
        if self.epsilon is not None and not 0 < self.budgets[0] <= self.budgets[1] < math.inf:
            raise ConfigurationError(f"training.epsilon must be null, positive or [low, high], got {self.epsilon}")

    @property
    def budgets(self) -> tuple[float, float]:
        """The lowest and the highest epsilon of noise-aware training."""
        try:
            low, high = self.epsilon if isinstance(self.epsilon, list | tuple) else (self.epsilon, self.epsilon)
            return float(low), float(high)
        except (TypeError, ValueError):
            raise ConfigurationError(
                f"training.epsilon must be null, positive or [low, high], got {self.epsilon}"
            ) from None


@dataclass
class TrainerConfig:
    """How long, and on what."""

    max_epochs: int = 40
    """Passes over the training text, at most."""
    accelerator: str = "auto"
    """What it computes on: auto | cpu | gpu."""
    progress_bar: bool | None = None
    """Whether a progress bar is shown; null: on a terminal."""

    def __post_init__(self) -> None:
        if self.max_epochs < 1:
            raise ConfigurationError(f"trainer.max_epochs must be at least 1, got {self.max_epochs}")
        check_accelerator(self.accelerator)


def check_accelerator(name: str) -> None:
    """Raise ConfigurationError unless this machine can compute on ``name``."""
    if name not in ACCELERATORS:
        raise ConfigurationError(f"trainer.accelerator must be one of {', '.join(ACCELERATORS)}, got {name}")
    if name == "gpu" and not torch.accelerator.is_available():
        raise ConfigurationError("trainer.accelerator must be auto or cpu on this machine, got gpu: it has none")


@dataclass(frozen=True)
class FitResult:
    """What a training run did: speed counts real tokens (padding left out) of training batches, validation time included."""

    epochs: int
    validation_loss: float
    tokens_per_second: float
    records_per_second: float
    seconds: float


def for_mechanism(config: TrainingConfig, kind: Kind) -> TrainingConfig:
    """Say what ``auto`` stands for: topics where codebook or codec are learned, and a codec learned now where it is released."""
    content, codec = config.content, config.codec
    if content.kind == "auto":
        content = replace(content, kind=TOPICS if issubclass(kind, LearnedCodebook | Description) else "none")
    if codec.learn == "auto":
        codec = replace(codec, learn="now" if issubclass(kind, Description) else "later")
    return replace(config, content=content, codec=codec)
