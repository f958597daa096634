"""Training speed: Lightning against a bare PyTorch loop of the same model on the same batches, in alternation.

    python benchmarks/training.py [epochs]

The ratio is what counts; the machine's own speed cancels in one run.
"""

import sys
import tempfile
import time
from pathlib import Path
from typing import cast

import torch

from adept.data.corpus import DataConfig, load
from adept.models.config import ModelConfig, TrainerConfig, TrainingConfig, TrainSpec
from adept.models.lightning import LengthBatchSampler, token_loader
from adept.models.saved_model import Autoencoder
from adept.models.tokenizer import PAD, Tokenizer
from adept.models.training import fit


def bare_loop(model: Autoencoder, rows: list[list[int]], validation: list[list[int]], *, epochs: int) -> float:
    """Train as the Lightning module does, in a plain loop with its validation pass; returns seconds."""
    config = TrainingConfig()
    begin = time.monotonic()
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate, weight_decay=0.0)
    batches = token_loader(rows, batch_size=config.batch_size, seed=0)
    for epoch in range(epochs):
        cast(LengthBatchSampler, batches.sampler).set_epoch(epoch)
        model.train()
        for tokens in batches:
            loss = loss_of(model, tokens)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), config.gradient_clip)
            optimizer.step()
        model.eval()
        with torch.no_grad():
            for tokens in token_loader(validation, batch_size=4 * config.batch_size):
                loss_of(model, tokens)
    return time.monotonic() - begin


def loss_of(model: Autoencoder, tokens: torch.Tensor) -> torch.Tensor:
    logits = model(model.encode(tokens), tokens)
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten(), ignore_index=PAD)


def main() -> None:
    epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 4  # setting up costs a second, which a real run spreads over 40
    splits = load(DataConfig(sizes=[4500, 500, 0]))
    tokenizer = Tokenizer.train(splits["train"].texts)
    rows, validation = (tokenizer.encode(splits[name].texts, max_length=40) for name in ("train", "validation"))
    seconds = {"bare": 0.0, "lightning": 0.0}
    for _ in range(3):
        model = Autoencoder(ModelConfig(), vocabulary_size=len(tokenizer), clip="l2")
        seconds["bare"] += bare_loop(model, rows, validation, epochs=epochs)
        model = Autoencoder(ModelConfig(), vocabulary_size=len(tokenizer), clip="l2")
        with tempfile.TemporaryDirectory() as directory:
            begin = time.monotonic()
            spec = TrainSpec(clip="l2", trainer=TrainerConfig(max_epochs=epochs, accelerator="cpu"))
            fit(model, tokenizer, splits["train"], splits["validation"], spec, output_dir=Path(directory))
            seconds["lightning"] += time.monotonic() - begin
    tokens = 3 * epochs * sum(map(len, rows))
    for name, value in seconds.items():
        print(f"{name:<10} {tokens / value:>10,.0f} tokens/s")
    print(
        f"Lightning runs at {seconds['bare'] / seconds['lightning']:.2f} of the bare loop's speed (checkpoints included)"
    )


if __name__ == "__main__":
    main()
