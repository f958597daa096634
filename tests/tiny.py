"""A configuration that trains in a second or two, for tests that need some model."""

import subprocess
from collections.abc import Callable
from pathlib import Path

from adept.cli import train
from adept.data.corpus import DataConfig
from adept.mechanisms import BY_NAME
from adept.mechanisms.base import MechanismChoice
from adept.models.config import ModelConfig, TrainerConfig

TINY_MODEL = {"embedding_dim": 16, "hidden_dim": 32, "latent_dim": 8, "max_length": 20}
TINY_SIZES = [400, 60, 60]

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def tiny_config(output_dir: Path, *, clip: str = "l2", epochs: int = 2, **options: object) -> train.TrainConfig:
    """A configuration that trains in a second or two."""
    mechanism = {"l1": "l1", "l2": "sqrt_n"}[clip]
    return train.TrainConfig(
        data=DataConfig(sizes=TINY_SIZES),
        mechanism=MechanismChoice(BY_NAME[mechanism]),
        model=ModelConfig(**TINY_MODEL),
        trainer=TrainerConfig(max_epochs=epochs),
        output_dir=str(output_dir),
        **options,
    )
