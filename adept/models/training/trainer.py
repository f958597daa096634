"""Lightning's trainer as it is used here: logs to a CSV file, a progress bar on terminals only, no advice."""

import logging
import sys
import warnings
from pathlib import Path

import pytorch_lightning as lightning
from pytorch_lightning.callbacks import Callback, RichProgressBar
from pytorch_lightning.loggers import CSVLogger

from adept.models.config import TrainerConfig


def make_trainer(
    config: TrainerConfig, directory: Path, callbacks: list[Callback], *, gradient_clip: float, checkpoints: bool = True
) -> lightning.Trainer:
    """A Lightning trainer that logs to ``metrics.csv`` and shows a progress bar on terminals only."""
    show = sys.stderr.isatty() if config.progress_bar is None else config.progress_bar
    if show:
        callbacks = [*callbacks, RichProgressBar(console_kwargs={"stderr": True})]
    with quiet_lightning():
        return lightning.Trainer(
            accelerator=config.accelerator,
            devices=1,
            max_epochs=config.max_epochs,
            gradient_clip_val=gradient_clip,
            callbacks=callbacks,
            enable_progress_bar=show,
            enable_model_summary=False,
            enable_checkpointing=checkpoints,
            num_sanity_val_steps=0,
            reload_dataloaders_every_n_epochs=1,  # the classifier of published tables is trained in the orders that this gives
            log_every_n_steps=10_000,
            logger=CSVLogger(directory, name="", version=""),
        )


class quiet_lightning(warnings.catch_warnings):  # noqa: N801 - used like a function
    """Keep Lightning's advice (hardware found, workers, existing folders) from the user's terminal."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.filterwarnings("ignore", module=r"pytorch_lightning|lightning_fabric")
        for name in ("pytorch_lightning", "lightning.pytorch", "lightning.fabric"):
            logging.getLogger(name).setLevel(logging.ERROR)
