"""ADePT for Lightning: a module and a data module for any ``Trainer``, also for one that you wrote yourself.

    module = AdeptModule(vocabulary_size=len(tokenizer), clip="l1")
    trainer = pytorch_lightning.Trainer(max_epochs=40)
    trainer.fit(module, UtteranceDataModule(train, validation, tokenizer=tokenizer))

Training is no release: nothing here is private. A mechanism's ``privatize`` alone releases a latent.
"""

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from inspect import signature
from itertools import chain
from typing import Any, SupportsIndex, cast

import pytorch_lightning as lightning
import torch
from torch import Tensor
from torch.utils.data import DataLoader, DistributedSampler, SequentialSampler

from adept.errors import ConfigurationError, check_integer, printable, refuse
from adept.models import config as limits
from adept.models.lstm_autoencoder import Adept, pad
from adept.models.tokenizer import PAD, Tokenizer

POOL_BATCHES = 50  # batches whose records are sorted by length together


class AdeptModule(lightning.LightningModule):
    """ADePT's network, trained by AdamW on the reconstruction loss; the learning rate falls linearly to zero.

    Args:
        vocabulary_size, embedding_dim, ..., word_dropout: sizes of the network, and its clip (``Adept``).
        encoder: False if ``network`` has an encoder of its own.
        learning_rate, weight_decay: options of the optimiser.
        network: a network that already exists; it must have these sizes.
        randomise: a function that adds noise to the latents (B, n) before the decoder reads them in training.

    Raises:
        ConfigurationError: a value is impossible; ``encoder`` is False, and no network is given.
    """

    def __init__(
        self,
        *,
        vocabulary_size: int,
        embedding_dim: int = 96,
        hidden_dim: int = 256,
        latent_dim: int = 32,
        clip: str = "l1",
        clip_norm: float = 1.0,
        dropout: float = 0.1,
        word_dropout: float = 0.2,
        num_layers: int = 1,
        directions: int = 2,
        tied_embeddings: bool = False,
        encoder: bool = True,
        learning_rate: float = 2e-3,
        weight_decay: float = 0.0,
        network: Adept | None = None,
        randomise: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        super().__init__()
        self.save_hyperparameters(ignore=["network", "randomise"], logger=False)
        refuse(
            (not isinstance(encoder, bool), f"encoder must be true or false, got {printable(encoder)}"),
            (not isinstance(network, Adept | None), f"network must be an Adept, got {type(network).__name__}"),
            (not (randomise is None or callable(randomise)), "randomise must be a function, got another value"),
            (
                network is None and not encoder,
                "encoder must be true without a network, got false: load the model with adept.Autoencoder.from_pretrained",
            ),
        )
        sizes = {name: value for name, value in self.hparams.items() if name in signature(Adept).parameters}
        limits.ModelConfig(
            **{name: sizes[name] for name in sizes.keys() - {"vocabulary_size", "clip", "encoder"}}
        )  # checks them
        limits.OptimiserConfig(learning_rate=learning_rate, weight_decay=weight_decay)
        check_integer(limits.FIRST_LABEL, limits.MAX_VOCABULARY + limits.MAX_LABELS, vocabulary_size=vocabulary_size)
        self.model, self.randomise = network or Adept(**sizes), randomise

    def training_step(self, tokens: Tensor) -> Tensor:
        """Return the loss of tokens (B, T) in nats per token."""
        return self._logged(tokens, "train_loss")

    def test_step(self, tokens: Tensor, batch_idx: int, dataloader_idx: int = 0) -> None:
        """Log the loss as a validation does."""
        self.validation_step(tokens, batch_idx, dataloader_idx, "test_loss")

    def validation_step(
        self, tokens: Tensor, batch_idx: int, dataloader_idx: int = 0, name: str = "validation_loss"
    ) -> None:
        """Log the loss of one of the loaders, with the same noise in every epoch, to make epochs comparable."""
        with torch.random.fork_rng():
            torch.manual_seed(batch_idx)
            self._logged(tokens, name)

    def _logged(self, tokens: Tensor, name: str) -> Tensor:
        loss, size = self.model.loss(tokens, self.randomise), int((tokens != PAD).sum())
        self.log(name, loss, on_epoch=True, on_step=False, batch_size=size, prog_bar=True, sync_dist=True)
        return loss

    def configure_optimizers(self) -> Any:
        rate, decay = (self.hparams[name] for name in ("learning_rate", "weight_decay"))
        fused = "mixed" not in f"{self.trainer.precision}"  # Lightning could not clip its gradients then
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=rate, weight_decay=decay, fused=fused)
        falling = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: max(0.0, 1 - epoch / self._count_epochs()))
        return {"optimizer": optimizer, "lr_scheduler": falling}

    def _count_epochs(self) -> float:
        """Return the number of epochs that end the training, or infinity if it is unknown: then the rate stays."""
        trainer, steps = self.trainer, self.trainer.max_steps
        epochs = trainer.max_epochs if trainer.max_epochs and trainer.max_epochs > 0 else math.inf
        if steps <= 0 or trainer.num_training_batches == math.inf:  # not counted yet
            return epochs
        of_steps = math.ceil(steps / math.ceil(trainer.num_training_batches / trainer.accumulate_grad_batches))
        return min(epochs, max(of_steps, trainer.current_epoch + (trainer.global_step < steps)))  # one may be cut


class UtteranceDataModule(lightning.LightningDataModule):
    """Batches of utterances of similar length, in an order given by seed and epoch, on any number of devices.

    Args:
        train, validation, test: texts, or lists of token ids that each end with END.
        tokenizer, max_length: for texts, and the largest number of tokens that are read from one.
        batch_size: number of utterances in one step on each device; without training, it is 4 times as many.
    """

    def __init__(
        self,
        train: Sequence[str] | Sequence[Sequence[int]],
        validation: Sequence[str] | Sequence[Sequence[int]],
        test: Sequence[str] | Sequence[Sequence[int]] = (),
        *,
        tokenizer: Tokenizer | None = None,
        max_length: int = 40,
        batch_size: int = 64,
        seed: int = 0,
    ) -> None:
        super().__init__()
        check_integer(1, limits.MAX_TRAINING_RECORDS, batch_size=batch_size, max_length=max_length)
        check_integer(-(2**63), 2**63 - 1, seed=seed)
        self.batch_size, self.seed = batch_size, seed
        given = {"train": train, "validation": validation, "test": test}.items()
        self.rows, *self.unseen = (_token_ids(name, rows, tokenizer, max_length) for name, rows in given)
        refuse((not self.rows, "train must hold texts or lists of token ids, got none"))

    def train_dataloader(self) -> DataLoader[Any]:
        """Return batches (B, T) in another order in each epoch."""
        seed = None if getattr(self.trainer, "overfit_batches", 0) else self.seed  # the same batches in each epoch
        return token_loader(self.rows, batch_size=self.batch_size, seed=seed, **self._devices())

    def val_dataloader(self) -> DataLoader[Any]:
        """Return batches (B, T) in one order."""
        return token_loader(self.unseen[0], batch_size=4 * self.batch_size, **self._devices())

    def test_dataloader(self) -> DataLoader[Any]:
        """Return batches (B, T) in one order."""
        return token_loader(self.unseen[1], batch_size=4 * self.batch_size, **self._devices())

    def _devices(self) -> dict[str, int]:
        trainer = self.trainer
        return {"rank": trainer.global_rank, "devices": trainer.world_size} if trainer else {}


def _token_ids(name: str, given: Any, tokenizer: Tokenizer | None, max_length: int) -> list[list[int]]:
    rows: Any = given if isinstance(given, str) else list(given) if isinstance(given, Iterable) else [given]
    if any(isinstance(text, str) for text in rows):
        if not isinstance(tokenizer, Tokenizer):
            raise ConfigurationError("tokenizer must be given with texts, got no Tokenizer: use Tokenizer.train(texts)")
        return tokenizer.encode(rows, max_length=max_length)
    ids: list[list[Any]] = [list(row) if isinstance(row, Iterable) else [] for row in rows]
    most = limits.MAX_VOCABULARY + limits.MAX_LABELS
    possible = all(ids) and all(isinstance(token, SupportsIndex) and 0 <= int(token) < most for token in chain(*ids))
    refuse((not possible, f"{name} must hold texts or lists of token ids, got another value"))
    return ids


def length_batches(lengths: Sequence[int], *, batch_size: int, seed: int | str) -> list[list[int]]:
    """Return batches of the places of texts, whose lengths are similar within a batch, in an order given by the seed."""
    rng = random.Random(seed)
    order = list(range(len(lengths)))
    rng.shuffle(order)
    pool = POOL_BATCHES * batch_size
    pools = [sorted(order[i : i + pool], key=lengths.__getitem__) for i in range(0, len(order), pool)]
    batches = [chunk[i : i + batch_size] for chunk in pools for i in range(0, len(chunk), batch_size)]
    rng.shuffle(batches)
    return batches


class LengthBatchSampler(DistributedSampler[Any], SequentialSampler):
    """A sampler of batches of texts of similar length; each of several devices gets as many batches as the others.

    Lightning replaces no sampler of these base classes, and calls ``set_epoch`` before each epoch.
    """

    def __init__(
        self, lengths: Sequence[int], *, batch_size: int, seed: int | None = None, rank: int = 0, devices: int = 1
    ) -> None:
        super().__init__(lengths, num_replicas=devices, rank=rank)  # type: ignore[arg-type]  # its length is read
        self.lengths, self.batch_size, self.order = lengths, batch_size, seed

    def __len__(self) -> int:
        return math.ceil(math.ceil(len(self.lengths) / self.batch_size) / self.num_replicas)

    def __iter__(self) -> Iterator[Any]:
        seed = "fixed" if self.order is None else f"seed {self.order}, epoch {self.epoch}"
        batches = length_batches(self.lengths, batch_size=self.batch_size, seed=seed)
        return iter([batches[(place * self.num_replicas + self.rank) % len(batches)] for place in range(len(self))])


class _Rows(list[list[int]]):
    def __getitem__(self, batch: Any) -> list[Any]:
        return [super(_Rows, self).__getitem__(place) for place in batch]


def token_loader(
    rows: list[list[int]], *, batch_size: int, seed: int | None = None, rank: int = 0, devices: int = 1
) -> DataLoader[Any]:
    """Return a loader of batches (B, T) of token ids; without a seed, their order is always the same."""
    lengths = [len(row) for row in rows]
    sampler = LengthBatchSampler(lengths, batch_size=batch_size, seed=seed, rank=rank, devices=devices)
    return DataLoader(cast(Any, _Rows(rows)), batch_size=None, sampler=sampler, collate_fn=pad)
