"""Rewriting speed at the default size, and the share of it that exact noise takes, mechanism by mechanism.

    python benchmarks/rewriting.py [records]

Untrained weights cost as much as trained ones, except that they seldom end a sentence early: so the share of noise is
measured against decoding stopped at the corpus' own mean length, which is kinder to the decoder and harder on the noise.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import torch

from adept.data.corpus import DataConfig, load
from adept.mechanisms import BY_NAME, LearnedCodebook, Mechanism
from adept.models.codebooks import learn_codebooks
from adept.models.config import ModelConfig
from adept.models.saved_model import Autoencoder
from adept.models.tokenizer import Tokenizer
from adept.rewriting.rewriter import Rewriter


def timed(action: Callable[[Any], Any], argument: Any) -> tuple[float, Any]:
    begin = time.monotonic()
    result = action(argument)
    return time.monotonic() - begin, result


def main() -> None:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 4096
    texts = load(DataConfig(sizes=[records, 1, 0]))["train"].texts
    tokenizer = Tokenizer.train(texts)
    mean_length = round(sum(len(text.split()) for text in texts) / records)
    print(f"{'mechanism':<10} {'records/s':>10} {'encode':>8} {'noise':>8} {'decode':>8}   noise alone, records/s")
    for name, kind in BY_NAME.items():
        if not issubclass(kind, Mechanism):
            continue  # a description has no latents
        mechanism = kind(epsilon=8.0)
        model = Autoencoder(ModelConfig(), vocabulary_size=len(tokenizer), clip="l1" if name == "l1" else "l2")
        if kind is LearnedCodebook:
            model.codebooks = learn_codebooks(torch.randn(1000, model.config.latent_dim))
        rewriter = Rewriter.for_measurement(model, tokenizer, mechanism=mechanism)
        mechanism.privatize(torch.zeros(1, model.config.latent_dim))  # codebooks are made once
        seconds = dict.fromkeys(("encode", "noise", "decode"), 0.0)
        for start in range(0, records, rewriter.batch_size):
            batch = texts[start : start + rewriter.batch_size]
            spent, latents = timed(rewriter.encode, batch)
            seconds["encode"] += spent
            spent, released = timed(mechanism.privatize, latents)
            seconds["noise"] += spent
            spent, _ = timed(rewriter.write, released)
            seconds["decode"] += spent * mean_length / model.config.max_length
        total = sum(seconds.values())
        shares = " ".join(f"{value / total:>8.1%}" for value in seconds.values())
        print(f"{name:<10} {records / total:>10,.0f} {shares}   {records / seconds['noise']:>12,.0f}")


if __name__ == "__main__":
    main()
