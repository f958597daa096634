"""The classifier "lstm": a bidirectional LSTM (a neural network) with max-pooling."""

import tempfile
from pathlib import Path
from typing import Any, cast

import pytorch_lightning as lightning
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from adept.data.corpus import Corpus
from adept.data.texts import text_list
from adept.models.config import TrainerConfig
from adept.models.lightning import length_batches
from adept.models.lstm_autoencoder import pad
from adept.models.tokenizer import PAD, Tokenizer
from adept.models.training import make_trainer, quiet_lightning

MAX_TOKENS = 60  # of a text, that are read


class LSTMClassifier(lightning.LightningModule):
    """A bidirectional LSTM with max-pooling over time: tokens (B, T) -> logits (B, labels)."""

    def __init__(self, vocabulary_size: int, labels: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary_size, 96, padding_idx=PAD)
        self.lstm = nn.LSTM(96, 128, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(0.3)
        self.to_labels = nn.Linear(2 * 128, labels)

    def forward(self, tokens: Tensor) -> Tensor:
        states, _ = self.lstm(self.dropout(self.embedding(tokens)))  # (B, T, 2H)
        # Every text has at least its END token, so no maximum is over an empty set
        pooled = states.masked_fill((tokens == PAD)[..., None], -torch.inf).amax(dim=1)
        return cast(Tensor, self.to_labels(self.dropout(pooled)))

    def training_step(self, batch: tuple[Tensor, Tensor]) -> Tensor:
        tokens, labels = batch
        return nn.functional.cross_entropy(self(tokens), labels)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), lr=2e-3)


@torch.inference_mode(mode=False)  # the caller may have switched gradients off
def predict_lstm(train: Corpus, texts: list[str], *, seed: int) -> list[str]:
    """Train a classifier for eight epochs; return the likeliest label of each text."""
    lightning.seed_everything(seed, verbose=False)
    tokenizer = Tokenizer.train(train.texts)
    texts, names = text_list(texts), sorted(set(train.labels or []))
    targets = [names.index(label) for label in train.labels or []]
    rows = tokenizer.encode(train.texts, max_length=MAX_TOKENS)
    order = length_batches([len(row) for row in rows], batch_size=32, seed=seed)
    batches = [(pad([rows[i] for i in batch]), torch.tensor([targets[i] for i in batch])) for batch in order]
    model = LSTMClassifier(len(tokenizer), len(names))
    with tempfile.TemporaryDirectory() as directory, quiet_lightning():
        config = TrainerConfig(max_epochs=8, progress_bar=False)
        trainer = make_trainer(config, Path(directory), [], gradient_clip=1.0, checkpoints=False)
        trainer.fit(model, DataLoader(cast(Any, batches), batch_size=None, shuffle=True))
    model.eval().cpu()
    with torch.inference_mode():
        encoded = tokenizer.encode(texts, max_length=MAX_TOKENS)
        chunks = (pad(encoded[i : i + 256]) for i in range(0, len(encoded), 256))
        best = torch.cat([model(chunk).argmax(dim=1) for chunk in chunks])
    return [names[i] for i in best.tolist()]
