"""Distil a static sentence encoder from a network that encodes sentences.

    python benchmarks/distil_encoder.py read TEACHER LINES.npz FILE...
    python benchmarks/distil_encoder.py learn START LINES.npz TARGET

``read`` lets the teacher read the texts of FILEs (jsonl or jsonl.gz), in lower case, of 2 to 25 words. TEACHER
is a folder with the config, weights and tokenizer of a BERT that averages its tokens' vectors, such as
all-MiniLM-L6-v2. ``learn`` fits a vector for each token of START, a folder with tokenizer.json and first
vectors (V, d): the scaled sum of a line's vectors should have a high cosine with what the teacher and START say
together. Both vectors of a line are centred and scaled, that of START to START_WEIGHT; side by side, they are
projected on their first d principal directions and scaled. TARGET gets tokenizer and vectors, for
``benchmarks/encoder_table.py``.
"""

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from free_encoder import SPECIAL
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn

WORDS = range(2, 26)
SEED, HELD_OUT, RIDGE = 7, 2000, 5.0
PASSES, BATCH, STEP = 4, 512, 6e-3
START_WEIGHT = 0.7  # of the vectors of START beside the teacher's
TEACHER_TOKENS = 1 << 12  # of a batch of lines of about the same length


def read_lines(paths: list[Path]) -> list[str]:
    """Return the different lines of files, in random order."""
    found: dict[str, None] = {}
    for path in paths:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as stream:
            found |= dict.fromkeys(" ".join(json.loads(line)["text"].lower().split()) for line in stream)
    lines = sorted(line for line in found if len(line.split()) in WORDS)
    return [lines[place] for place in np.random.default_rng(SEED).permutation(len(lines)).tolist()]


class Teacher(nn.Module):
    """A BERT whose vector of a text is the mean of its last layer (Devlin et al. 2019; Reimers and Gurevych 2019)."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self.config = json.loads((directory / "config.json").read_text("utf-8"))
        loaded = load_file(directory / "model.safetensors")
        self.tensors = {name.removeprefix("bert."): torch.from_numpy(table) for name, table in loaded.items()}
        self.half = {
            name: table.bfloat16()
            for name, table in self.tensors.items()
            if name.startswith("encoder") and "LayerNorm" not in name
        }
        self.tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        self.tokenizer.no_padding()

    def _norm(self, x: Tensor, name: str) -> Tensor:
        weight, bias = (self.tensors[f"{name}.LayerNorm.{part}"] for part in ("weight", "bias"))
        return nn.functional.layer_norm(x.float(), weight.shape, weight, bias, self.config["layer_norm_eps"])

    def _linear(self, x: Tensor, name: str) -> Tensor:
        return nn.functional.linear(x.bfloat16(), self.half[f"{name}.weight"], self.half[f"{name}.bias"])

    @torch.inference_mode()
    def forward(self, tokens: Tensor) -> Tensor:
        """Return the scaled vectors (B, n) of texts (B, T) of equal length."""
        words, places, kinds = (
            self.tensors[f"embeddings.{kind}_embeddings.weight"] for kind in ("word", "position", "token_type")
        )
        x = self._norm(words[tokens] + places[: tokens.shape[1]] + kinds[0], "embeddings")
        heads = self.config["num_attention_heads"]
        for layer in range(self.config["num_hidden_layers"]):
            own = f"encoder.layer.{layer}"
            query, key, value = (
                self._linear(x, f"{own}.attention.self.{part}").unflatten(-1, (heads, -1)).transpose(1, 2)
                for part in ("query", "key", "value")
            )
            read = nn.functional.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2)
            x = self._norm(x + self._linear(read, f"{own}.attention.output.dense"), f"{own}.attention.output")
            wide = nn.functional.gelu(self._linear(x, f"{own}.intermediate.dense"))
            x = self._norm(x + self._linear(wide, f"{own}.output.dense"), f"{own}.output")
        return nn.functional.normalize(x.mean(dim=1), dim=1)


def read(source: Path, place: Path, paths: list[Path]) -> None:
    """Write the lines and the teacher's vectors (N, n) of them."""
    teacher, lines = Teacher(source), read_lines(paths)
    rows = [coding.ids for coding in teacher.tokenizer.encode_batch_fast(lines)]
    order = sorted(range(len(rows)), key=lambda row: len(rows[row]))
    found = np.zeros((len(rows), teacher.config["hidden_size"]), dtype=np.float16)
    start = 0
    while start < len(order):
        length = len(rows[order[start]])
        batch = [row for row in order[start : start + TEACHER_TOKENS // length] if len(rows[row]) == length]
        found[batch] = teacher(torch.tensor([rows[row] for row in batch])).numpy()
        start += len(batch)
    np.savez(place, lines=np.array(lines), vectors=found)


def centre(vectors: Tensor) -> Tensor:
    """Return vectors minus their mean, with norm 1."""
    return nn.functional.normalize(vectors - vectors.mean(dim=0), dim=1)


def project(vectors: Tensor, size: int) -> Tensor:
    """Return vectors on their first principal directions around the mean, with norm 1."""
    centred = vectors - vectors.mean(dim=0)
    directions = torch.linalg.eigh(centred.T @ centred).eigenvectors.flip(1)[:, :size]
    return nn.functional.normalize(centred @ directions, dim=1)


def batches(rows: list[list[int]], chosen: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Yield lines' numbers, their tokens and where each line starts."""
    for part in torch.split(chosen, BATCH):
        some = [rows[row] for row in part.tolist()]
        starts = torch.tensor([0, *map(len, some)]).cumsum(0)[:-1]
        yield part, torch.tensor([token for row in some for token in row], dtype=torch.int64), starts


def learn(source: Path, place: Path, target: Path) -> None:
    """Fit the tokens' vectors and write them."""
    torch.manual_seed(SEED)
    tokenizer = Tokenizer.from_file(str(source / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    first = torch.from_numpy(next(iter(load_file(source / "model.safetensors").values()))).float()
    special = [number for token in SPECIAL if (number := tokenizer.token_to_id(token)) is not None]
    first[special] = 0
    stored = np.load(place)
    codings = tokenizer.encode_batch_fast(stored["lines"].tolist(), add_special_tokens=False)
    rows = [[token for token in coding.ids if token not in special] for coding in codings]
    kept = torch.tensor([row for row, tokens in enumerate(rows) if tokens])
    means = torch.cat([nn.functional.embedding_bag(t, first, s, mode="mean") for _, t, s in batches(rows, kept)])
    said = torch.from_numpy(stored["vectors"])[kept].float()
    wanted = torch.zeros(len(rows), first.shape[1])
    wanted[kept] = project(torch.cat([centre(said), START_WEIGHT * centre(means)], dim=1), first.shape[1])
    held_out, known, means = kept[:HELD_OUT], kept[HELD_OUT:], means[HELD_OUT:]
    penalty = RIDGE * torch.eye(first.shape[1])
    linear = torch.linalg.solve(means.T @ means + penalty, means.T @ wanted[known])
    table = nn.EmbeddingBag.from_pretrained(first @ linear, freeze=False, mode="sum")
    optimiser = torch.optim.Adam(table.parameters(), lr=STEP)
    steps = PASSES * -(-len(known) // BATCH)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)

    def judge() -> float:
        with torch.no_grad():
            parts = [table(tokens, starts) for _, tokens, starts in batches(rows, held_out)]
        return float(nn.functional.cosine_similarity(torch.cat(parts), wanted[held_out]).mean())

    print(f"{len(known):,} lines; cosine {judge():.3f} after the mapping", flush=True)
    for number in range(PASSES):
        for part, tokens, starts in batches(rows, known[torch.randperm(len(known))]):
            loss = 1 - nn.functional.cosine_similarity(table(tokens, starts), wanted[part]).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
        print(f"pass {number + 1}: cosine {judge():.3f}", flush=True)
    target.mkdir(parents=True, exist_ok=True)
    vectors = table.weight.detach()
    vectors[special] = 0
    save_file({"vectors": vectors.numpy().astype(np.float16)}, target / "distilled.safetensors")
    (target / "tokenizer.json").write_text((source / "tokenizer.json").read_text("utf-8"), "utf-8")


def main() -> None:
    """Read lines with the teacher, or learn from what it said."""
    match sys.argv[1:]:
        case ["read", source, place, *paths]:
            read(Path(source), Path(place), [*map(Path, paths)])
        case ["learn", source, place, target]:
            learn(Path(source), Path(place), Path(target))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
