"""Round the vectors of a static sentence encoder to the table that comes with adept.

SOURCE is a folder with a tokenizer (tokenizer.json) and a file of vectors (V, d), one for each token. All
vectors are multiplied by one factor, so that all but one in 2,000 numbers lie between -127 and 127, and then
rounded and cut at these. Tokens that stand for no text get zeros. Where folders DIR with train.jsonl and
validation.jsonl are given, the script prints how often the nearest name is a text's label, before and after:

    python benchmarks/encoder_table.py SOURCE/distilled.safetensors adept/pretrained/encoder DIR...
"""

import json
import sys
from pathlib import Path

import numpy as np
from free_encoder import SPECIAL, nearest_name
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

LARGEST, CUT = 127, 1 / 2000  # largest number of a vector, and share of the numbers that are cut


def main() -> None:
    """Write the table and its tokenizer, and print accuracies."""
    source, target, *directories = map(Path, sys.argv[1:])
    [vectors] = (table.astype(np.float32) for table in load_file(source).values() if table.ndim == 2)
    tokenizer = Tokenizer.from_file(str(source.parent / "tokenizer.json"))
    vectors[[number for token in SPECIAL if (number := tokenizer.token_to_id(token)) is not None]] = 0
    factor = LARGEST / np.quantile(np.abs(vectors), 1 - CUT)
    rounded = np.clip(np.rint(vectors * factor), -LARGEST, LARGEST).astype(np.int8)
    target.mkdir(parents=True, exist_ok=True)
    save_file({"vectors": rounded}, target / "vectors.safetensors")
    content = json.loads((source.parent / "tokenizer.json").read_text("utf-8"))
    content |= {"truncation": None, "padding": None, "post_processor": None}
    (target / "tokenizer.json").write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")), "utf-8")
    for directory in directories:
        before, after = (nearest_name(directory, table, tokenizer) for table in (vectors, rounded.astype(np.float32)))
        print(f"{directory.name}: {before:.3f} before rounding, {after:.3f} after")


if __name__ == "__main__":
    main()
