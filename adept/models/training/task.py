"""The training loss: reconstruct tokens from their clipped latent, with noise on request."""

import math
from collections.abc import Callable
from typing import Any

import pytorch_lightning as lightning
import torch
from pytorch_lightning.utilities.types import OptimizerLRSchedulerConfig
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR

from adept.mechanisms import Mechanism
from adept.models.network.autoencoder import Autoencoder
from adept.models.tokenizer.tokenizer import PAD, UNKNOWN
from adept.models.training.config import TrainingConfig

HIDDEN_LABELS = 0.3
BESIDE = 8  # codewords around a latent that its text may be written from in training


class AutoencoderTask(lightning.LightningModule):
    """Reconstructs tokens from their latent; ``mechanism(epsilon)`` builds the mechanism whose noise the decoder learns to read.

    Where the model has codebooks already, because its encoder was fitted before, the decoder learns from codewords.
    """

    def __init__(
        self,
        model: Autoencoder,
        config: TrainingConfig,
        mechanism: Callable[[float], Mechanism] | None = None,
        origin: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.origin = origin or {}
        self.model = model
        self.config = config
        self.mechanism = mechanism if config.epsilon is not None else None

    def training_step(self, batch: Tensor) -> Tensor:
        return self._loss(batch, "train_loss")

    def validation_step(self, batch: Tensor, batch_idx: int) -> None:
        """The same draws in every epoch, which are compared: the best one is not the one that drew the easiest codewords."""
        with torch.random.fork_rng():
            torch.manual_seed(batch_idx)
            self._loss(batch, "validation_loss")

    def _loss(self, tokens: Tensor, name: str) -> Tensor:
        """Cross-entropy in nats per token, END included."""
        logits = self.model(self._noisy(self.model.encode(self._hide_labels(tokens))), tokens)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten(), ignore_index=PAD)
        self.log(name, loss, on_epoch=True, on_step=False, batch_size=int((tokens != PAD).sum()), prog_bar=True)
        return loss

    def _noisy(self, latents: Tensor) -> Tensor:
        """Latents as the decoder will be given them: under the mechanism's noise, or as codewords."""
        if self.mechanism is None:
            return self._codewords(latents) if self.model.codebooks else latents
        low, high = map(math.log, self.config.budgets)
        epsilon = math.exp(low + (high - low) * torch.rand(()).item())
        return self.mechanism(epsilon).simulate(latents, None)

    def _codewords(self, latents: Tensor) -> Tensor:
        """A codeword for each latent, out of a codebook drawn at random: mostly the nearest, sometimes one beside it.

        With n codebooks one draw in n + 1 leaves a latent as it is, for who decodes without a codebook. So the decoder learns to
        write from a codeword what the public texts around it say, and is given nothing at release that it was not given in
        training.
        """
        books = list(self.model.codebooks.values())
        drawn = torch.randint(len(books) + 1, (len(latents),), device=latents.device)
        place = torch.empty(len(latents), 1, device=latents.device).geometric_(0.5).long() - 1
        chosen = latents
        for number, book in enumerate(books):
            words = book.to(latents)
            near = (latents @ words.T).topk(min(BESIDE, len(words)), dim=1).indices
            own = near.gather(1, place.clamp(max=near.shape[1] - 1))
            chosen = torch.where((drawn == number)[:, None], words[own[:, 0]] * self.model.config.clip_norm, chosen)
        return chosen

    def _hide_labels(self, tokens: Tensor) -> Tensor:
        """Hide some labels from the encoder in training, so that it serves unlabelled text as well."""
        if not (self.training and self.model.labels):
            return tokens
        hidden = torch.rand(len(tokens), device=tokens.device) < HIDDEN_LABELS
        return torch.cat([tokens[:, :1].masked_fill(hidden[:, None], UNKNOWN), tokens[:, 1:]], dim=1)

    def configure_optimizers(self) -> OptimizerLRSchedulerConfig:
        """AdamW, its learning rate falling linearly to zero over the epochs asked for."""
        rate, decay = self.config.learning_rate, self.config.weight_decay
        optimizer = torch.optim.AdamW(self.parameters(), lr=rate, weight_decay=decay, fused=True)  # one pass, not ten
        return {"optimizer": optimizer, "lr_scheduler": LambdaLR(optimizer, self._share_left)}

    def _share_left(self, epoch: int) -> float:
        return max(0.0, 1 - epoch / (self.trainer.max_epochs or 1))

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Keep with the weights what they were trained on (``adept.models.training.resuming``)."""
        checkpoint["origin"] = self.origin

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Put a resumed run on the line of the epochs asked for now: its checkpoint holds a rate of the line asked for then."""
        done = checkpoint["epoch"] + 1
        checkpoint["lr_schedulers"][0]["last_epoch"] = done
        for group in checkpoint["optimizer_states"][0]["param_groups"]:
            group["lr"] = self.config.learning_rate * self._share_left(done)
