"""Model directories as an attacker might make them: one valid directory, changed in a way that a seed decides."""

import json
import os
import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

VALUES: list[Any] = [
    None, True, "false", "true", "", "x\ny", "\x1b[31m", "\u202e", "\ud800", [], {}, [[]], -1, 0, 1, 7, 2**31, 10**12, 10**30,
    1.5, -0.0, float("nan"), float("inf"), 1e308, 1e-320, "9" * 400, "a" * 100_000, ["x"] * 50, {"x": {"y": None}},
]  # fmt: skip
TENSORS = ["model.safetensors", "model.safetensors", "codebooks.safetensors", "codec.safetensors"]
REGEXES = ["(a+)+$", "(a|a|a)*b", "\\p{", "[", "(?<=a*)b", ".*" * 50]


def mutate(source: Path, target: Path, seed: int) -> str:
    """Copy a valid model directory to ``target``, changed; returns what was changed."""
    rng = random.Random(seed)
    shutil.copytree(source, target)
    change = MUTATIONS[seed % len(MUTATIONS)]
    change(target, rng)
    for _ in range(rng.choice([0, 0, 0, 1, 4])):
        with suppress(Exception):  # what is broken already may not be there to be changed again
            change(target, rng)
    return change.__name__


def _places(node: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) in a JSON tree."""
    keys = node.keys() if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else []
    return [(node, key) for key in keys] + [place for key in keys for place in _places(node[key])]


def _edit(path: Path, change: Callable[[Any], None]) -> None:
    if path.is_file() and not path.is_symlink():
        content = json.loads(path.read_text("utf-8"))
        change(content)
        path.write_text(json.dumps(content), "utf-8")


def json_value(directory: Path, rng: random.Random) -> None:
    def change(content: Any) -> None:
        container, key = rng.choice(_places(content))
        if rng.random() < 0.25:
            del container[key]
        else:
            container[key] = rng.choice(VALUES)

    names = ["config.json", "config.json", "tokenizer.json", "codec.json", "codec.json", "synonyms.json"]
    _edit(directory / rng.choice(names), change)


def sizes(directory: Path, rng: random.Random) -> None:
    def change(content: Any) -> None:
        place = rng.choice(
            [(content["model"], name) for name in content["model"]]
            + [(content, "vocabulary_size"), (content, "labels")]
        )
        place[0][place[1]] = rng.choice([0, -1, 1, 2, 5, 512, 513, 2048, 4096, 10**6, 10**9, 2**63, 10**40, 1e300])

    _edit(directory / "config.json", change)


def tokens(directory: Path, rng: random.Random) -> None:
    def change(content: Any) -> None:
        words = content["model"]["vocab"]
        word = rng.choice(sorted(words))
        match rng.randrange(7):
            case 0:
                words[rng.choice(["a\nb", "\x07", "x\u2028y", "\r", "\u202e", "\ud800", "y" * 10_000])] = words.pop(
                    word
                )
            case 1:
                words[word] = rng.choice([0, -1, 10**6, 2**40, "1", None])
            case 2:
                content["model"]["unk_token"] = rng.choice(["", "[NONE]", word, None])
            case 3:
                content["normalizer"]["normalizers"][1]["pattern"]["Regex"] = rng.choice(REGEXES)
            case 4:
                content["pre_tokenizer"]["pretokenizers"][1]["pattern"]["Regex"] = rng.choice(REGEXES)
            case 5:
                content["added_tokens"].append({**content["added_tokens"][0], "id": len(words), "content": word})
            case 6:
                content["model"]["type"] = rng.choice(["BPE", "Unigram", "WordPiece"])

    _edit(directory / "tokenizer.json", change)


def tensors(directory: Path, rng: random.Random) -> None:
    path = directory / rng.choice(TENSORS)
    if not path.is_file():
        return
    weights = load_file(path)
    name = rng.choice(sorted(weights))
    match rng.randrange(6):
        case 0 if weights[name].is_floating_point():
            weights[name].view(-1)[0] = rng.choice([float("nan"), float("inf")])
        case 0:
            step, number = rng.choice([1, 7, 1000]), rng.choice([-1, 0, 1, 2**31 - 1])
            weights[name].view(-1)[::step] = min(number, torch.iinfo(weights[name].dtype).max)
        case 1:
            weights[name] = weights[name].to(rng.choice([torch.float16, torch.float64, torch.int32]))
        case 2:
            weights[name] = torch.zeros(rng.choice([(), (0,), (1,), (3, 3, 3), (10**6,)]))
        case 3:
            weights[rng.choice(["x", "../x", "a\nb", "1e9"])] = weights.pop(name)
        case 4:
            weights[name] = weights[name] * 1e38
        case 5:
            weights["more"] = torch.zeros(10)
    save_file(weights, path)


def header(directory: Path, rng: random.Random) -> None:
    path = directory / rng.choice(TENSORS)
    if not path.is_file():
        return
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    match rng.randrange(3):
        case 0:
            length = rng.choice([0, 1, 2**20 + 1, 2**40, 2**63])
            path.write_bytes(length.to_bytes(8, "little") + content[8:])
        case 1:
            table = json.loads(content[8 : 8 + length])
            entry = table[rng.choice([key for key in table if key != "__metadata__"])]
            entry[rng.choice(["shape", "data_offsets", "dtype"])] = rng.choice(
                [[2**40, 2**40], [0, 2**50], [-1], "F32", "F8_E4M3", []]
            )
            text = json.dumps(table).encode()
            path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + length :])
        case 2:
            text = b"[" * 100_000
            path.write_bytes(len(text).to_bytes(8, "little") + text)


def raw_bytes(directory: Path, rng: random.Random) -> None:
    path = rng.choice([p for p in sorted(directory.iterdir()) if p.is_file()])
    content = bytearray(path.read_bytes())
    match rng.randrange(4):
        case 0:
            for _ in range(rng.randrange(1, 20)):
                if content:
                    content[rng.randrange(len(content))] = rng.randrange(256)
        case 1:
            del content[rng.randrange(len(content) + 1) :]
        case 2:
            content += rng.randbytes(rng.choice([1, 100, 10_000]))
        case 3:
            content = bytearray(
                rng.choice([b"", b"[" * 50_000, b'{"a":' * 50_000, b"\xff" * 10, b"null", b"1" * 5_000])
            )
    path.write_bytes(bytes(content))


def sentence_lists(directory: Path, rng: random.Random) -> None:
    """Longer, endless and repeated lists of what a list of sentences holds, all of them of the right kind."""

    def change(content: Any) -> None:
        words = [f"w{i}" for i in range(100_000 if rng.random() < 0.1 else rng.choice([10, 1_000]))]
        match rng.randrange(5):
            case 0:
                content["utterances"] = [" ".join(rng.choices(words, k=rng.choice([1, 10, 40]))) for _ in words]
            case 1:
                content["utterances"] = []
            case 2:
                content["listed_words"] = ["", *words]
            case 3:
                content["holders"] = dict.fromkeys(words, content["texts"])
            case 4:
                content["texts"] = rng.choice([1, 2**30])

    _edit(directory / "codec.json", change)


def sentence_tables(directory: Path, rng: random.Random) -> None:
    """Lists of texts and groups that are whole numbers of the right range, and say nothing."""
    path = directory / "codec.safetensors"
    if not path.is_file():
        return
    tables = load_file(path)
    name, size = rng.choice(sorted(tables)), rng.choice([0, 1, 500])
    tables[name] = torch.randint(2, rng.choice([3, 200]), (size,), dtype=torch.int16)
    if name == "likely" and size:
        tables[name][rng.choice([1, 7, 40]) :: rng.choice([2, 8, 41])] = 0
        tables[name][-1] = 0
    save_file(tables, path)


def kinds_of_file(directory: Path, rng: random.Random) -> None:
    path = rng.choice(sorted(directory.iterdir()))
    if path.is_dir() and not path.is_symlink():
        return
    path.unlink()
    match rng.randrange(7):
        case 0:
            path.mkdir()
        case 1:
            os.mkfifo(path)
        case 2:
            path.symlink_to("/dev/zero")
        case 3:
            path.symlink_to(path)
        case 4:
            path.symlink_to(directory / "absent")
        case 5:
            with path.open("wb") as stream:
                stream.truncate(20 * 2**30)
        case 6:
            pass


MUTATIONS = [json_value, sizes, tokens, tensors, header, raw_bytes, sentence_lists, sentence_tables, kinds_of_file]
