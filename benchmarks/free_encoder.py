"""Measure what label names alone are worth: a free sentence encoder gives each text the label with the nearest name.

It reads no record, so a release must be better than this to be worth its budget. ENCODER is a folder
with a tokenizer (tokenizer.json) and with the vectors of its tokens (one matrix in a file of
safetensors), as potion-base-8M has them. For each data set DIR, with train.jsonl and
validation.jsonl, the script prints the accuracy on the validation split:

    python benchmarks/free_encoder.py ENCODER/model.safetensors DIR...

A text's vector is the normalised sum of its tokens' vectors; unknown tokens do not count. The name
of a label is split where a capital letter or a sign begins a word.
"""

import re
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from adept.data.corpus import DataConfig, load

SPECIAL = "[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"


def encode(texts: list[str], vectors: np.ndarray, tokenizer: Tokenizer) -> np.ndarray:
    """Return the texts' vectors, (texts, numbers), of length 1, or 0 if no token is known."""
    unknown = {tokenizer.token_to_id(token) for token in SPECIAL}
    codes = tokenizer.encode_batch([text.lower() for text in texts], add_special_tokens=False)
    sums = np.stack([vectors[[token for token in code.ids if token not in unknown]].sum(0) for code in codes])
    return sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), np.finfo(np.float32).tiny)


def plain_name(label: str) -> str:
    """Return the words of a label's name: "BookRestaurant" and "book_restaurant" are "book restaurant"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|[^A-Za-z0-9]+", " ", label).lower()


def nearest_name(directory: Path, vectors: np.ndarray, tokenizer: Tokenizer) -> float:
    """Return the share of a folder's validation texts whose label has the nearest name."""
    parts = load(DataConfig("files", path=str(directory)))
    labels = sorted(set(parts["train"].labels or []))
    texts, truth = parts["validation"].texts, parts["validation"].labels or []
    names = encode([plain_name(label) for label in labels], vectors, tokenizer)
    nearest = (encode(texts, vectors, tokenizer) @ names.T).argmax(1)
    return float(np.mean([labels[index] == label for index, label in zip(nearest, truth, strict=True)]))


def main() -> None:
    """Print one line for each data set."""
    path, *directories = map(Path, sys.argv[1:])
    [vectors] = (table.astype(np.float32) for table in load_file(path).values() if table.ndim == 2)
    tokenizer = Tokenizer.from_file(str(path.parent / "tokenizer.json"))
    for directory in directories:
        print(f"{directory.name}: {nearest_name(directory, vectors, tokenizer):.3f}")


if __name__ == "__main__":
    main()
