"""Encode and decode against the same machine's matrix product, and side by side with a bare PyTorch loop, in one run.

    python benchmarks/roofline.py [records] [hidden_dim embedding_dim latent_dim]

The share is of *useful* arithmetic: each record's own words through both directions of the encoder (input and recurrent products),
its latent, and its written words through the decoder and the output layer. Padding, dummy rows and ended rows are no use. CPU
seconds are counted, so that other programs on the machine matter less; the matrix product is measured before and after.

To set DP-Rewrite (Igamberdiev et al. 2022) beside it: install it in an environment of its own; its sizes are `128 300 256` here;
give both one thread and the same 4,478 lines, and compare records a CPU-second.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import torch

from adept.data.corpus import DataConfig, load
from adept.models.config import ModelConfig
from adept.models.decoding import decode
from adept.models.lstm_autoencoder import pad
from adept.models.saved_model import Autoencoder
from adept.models.tokenizer import END, Tokenizer

BATCH = 1024


def timed(action: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.process_time()
    result = action()
    return time.process_time() - begin, result


def product_rate() -> float:
    """FLOP/s of a product of two 1024 x 1024 matrices, the best of ten."""
    matrix = torch.randn(1024, 1024)
    return 2 * 1024**3 / min(timed(lambda: matrix @ matrix)[0] for _ in range(10))


def main() -> None:
    torch.set_num_threads(1)
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 4096
    hidden, embedding, latent = map(int, sys.argv[2:5]) if len(sys.argv) > 4 else (256, 96, 32)
    texts = load(DataConfig(sizes=[records, 1, 0]))["train"].texts
    tokenizer = Tokenizer.train(texts)
    sizes = ModelConfig(hidden_dim=hidden, embedding_dim=embedding, latent_dim=latent)
    model = Autoencoder(sizes, vocabulary_size=len(tokenizer), clip="l2").eval()
    with torch.no_grad():
        model.to_words.bias[END] += 3.0  # untrained weights would hardly ever end a sentence
    rows = tokenizer.encode(texts, max_length=sizes.max_length)
    parts = [rows[i : i + BATCH] for i in range(0, records, BATCH)]
    model.encode_records(rows[:BATCH]), decode(model, torch.zeros(1, latent))  # memory is allocated once
    before = product_rate()
    seconds, latents = timed(lambda: torch.cat([model.encode_records(part) for part in parts]))
    with torch.inference_mode():
        bare, _ = timed(lambda: [model.encode(pad(part, length=sizes.max_length + 2)) for part in parts])
    written_seconds, written = timed(lambda: [decode(model, part) for part in latents.split(BATCH)])
    rate = (before + product_rate()) / 2
    read = sum(map(len, rows)) * 2 * (embedding + hidden) * 8 * hidden + records * 4 * hidden * latent
    words = sum(int((part != 0).sum()) for part in written)
    wrote = words * ((embedding + latent + hidden) * 8 * hidden + 2 * hidden * len(tokenizer))
    print(f"matrix product {rate / 1e9:.0f} GFLOP/s")
    share, written_share = read / seconds / rate, wrote / written_seconds / rate
    print(
        f"encode {records / seconds:>8,.0f} records/CPU-s, {share:.0%} of the product; {bare / seconds:.1f} x bare modules"
    )
    print(f"decode {words / written_seconds:>8,.0f} words/CPU-s, {written_share:.0%} of the product")


if __name__ == "__main__":
    main()
