"""Each number that a stranger's file brings is refused on load, or no record changes the release of another one."""

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import broad
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from adept.errors import ModelError
from adept.mechanisms import Description, LearnedCodebook, LocalRandomizer
from adept.mechanisms.central_counts import Votes
from adept.mechanisms.policy import cell_size
from adept.models.sentences import nearest_text
from adept.models.sentences.meanings import MAX_WORD_SUM
from adept.rewriting.alphabets import Codewords
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import Rewriter
from adept.synthesis.synthesizer import Synthesizer

Edit = Callable[[dict[str, Any]], None]
MODEL, CODEBOOKS, TABLES, CODEC, CONFIG = (
    "model.safetensors",
    "codebooks.safetensors",
    "codec.safetensors",
    "codec.json",
    "config.json",
)
EPSILON, LABEL = 4.0, broad.NAMES[0]
LONG_WORD = "\u98df" * (1 + MAX_WORD_SUM // 127)  # a token whose vector holds a number of 127


@pytest.fixture(scope="module")
def models(topic_run: Path, tiny_run: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Directories of a model with an LSTM encoder, and of a broad model with topics."""
    directory = tmp_path_factory.mktemp("broad")
    with broad.model_of(topic_run) as (model, tokenizer):
        Rewriter.for_measurement(model, tokenizer, mechanism=Description(epsilon=EPSILON)).save_pretrained(directory)
    return {"lstm": tiny_run / "model", "broad": directory}


def texts_of(model: Any, tokenizer: Any) -> list[str]:
    """Return random records; most hold the commonest two words, and some hold no word that the model knows."""
    rng, words = random.Random(0), tokenizer.words[4:]
    rows = [[*rng.sample(words, 8), *words[:2]] for _ in range(20)] + [[word] for word in words[:5]]
    return [" ".join(rng.sample(row, len(row))) for row in rows] + ["", "zzqx", " ".join(words[:60])]


def readings(directory: Path) -> Iterator[Callable[[list[str]], list[Any]]]:
    """Load a model; yield functions that map records to what decides each record's release."""
    model, tokenizer = load_model(directory)

    def rewriter(mechanism: LocalRandomizer) -> Rewriter:
        return Rewriter.for_measurement(model, tokenizer, mechanism=mechanism)

    latents = rewriter(LearnedCodebook(epsilon=EPSILON, size=32) if model.codebooks else Description(epsilon=EPSILON))
    if isinstance(latents.alphabet, Codewords):
        encoder = latents.alphabet.latents
        yield lambda texts: [row.numpy().tobytes() for row in encoder.encode(texts)]
        yield lambda texts: latents.encode(texts).tolist()
    if model.sentences:
        mechanisms = [Description(epsilon=EPSILON)]
        if model.lists.is_broad and len(model.sentences) > cell_size(EPSILON):
            mechanisms.append(Description(epsilon=EPSILON, by_label=True, top=broad.CELL // 3))
        for mechanism in mechanisms:
            made = rewriter(mechanism)
            yield lambda texts, made=made: made.encode(  # type: ignore[misc]
                texts, [LABEL] * len(texts) if made.reads_labels else None
            ).tolist()
    if model.public_texts:
        cells = min(8, len(set(model.public_texts)))
        synthesizer = Synthesizer(
            model, tokenizer, votes=Votes(epsilon=1.0), cells=cells, label_set=["a", "b"], accept_private_model=True
        )
        yield lambda texts: synthesizer.vote(texts, ["a"] * len(texts))


def changed_by_neighbours(directory: Path) -> int:
    """Return the number of records whose release other records influence, over all kinds of release."""
    found, texts = 0, texts_of(*load_model(directory))
    for read in readings(directory):
        alone = [read([text])[0] for text in texts]
        order = random.Random(1).sample(range(len(texts)), len(texts))
        other = [*texts[::-1], *reversed(" ".join(texts).split())][:64]
        found += sum(one != own for one, own in zip(read(texts), alone, strict=True))
        found += sum(one != alone[place] for one, place in zip(read([texts[p] for p in order]), order, strict=True))
        found += sum(one != own for one, own in zip(read([*other, *texts])[len(other) :], alone, strict=True))
    return found


def edited(source: Path, target: Path, file: str, edit: Edit) -> Path:
    """Copy a model directory, and change what one of its files holds."""
    shutil.copytree(source, target)
    if file.endswith(".json"):
        content = json.loads((target / file).read_text("utf-8"))
        edit(content)
        (target / file).write_text(json.dumps(content), "utf-8")
    else:
        tensors = load_file(target / file)
        edit(tensors)
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, target / file)
        if "likely" in tensors:
            content = json.loads((target / CODEC).read_text("utf-8"))
            (target / CODEC).write_text(json.dumps(content | {"likely": len(tensors["likely"])}), "utf-8")
    return target


def fill(name: str, value: float, *, step: int = 7) -> Edit:
    """Set each ``step``-th number of a tensor."""

    def edit(tensors: dict[str, Tensor]) -> None:
        tensors[name].view(-1)[::step] = value

    return edit


def set_to(name: str, value: Any) -> Edit:
    def edit(content: dict[str, Any]) -> None:
        content[name] = value(content) if callable(value) else value

    return edit


def cancel(size: float) -> Edit:
    """Let the topics of the commonest two words cancel each other, but for rounding errors."""

    def edit(tensors: dict[str, Tensor]) -> None:
        tensors["topics.rarity"][4:6] = 1.0
        tensors["topics.directions"][4], tensors["topics.directions"][5] = size, -size

    return edit


REFUSED = {  # what a file may not hold: the model, its file, the change, and words of the message
    "a topic of 1e12": ("broad", MODEL, cancel(1e12), "beyond"),
    "an infinite topic": ("broad", MODEL, fill("topics.directions", float("inf")), "beyond"),
    "a topic that is no number": ("broad", MODEL, fill("topics.offset", float("nan")), "beyond"),
    "an embedding of 1e38": ("lstm", MODEL, fill("embedding.weight", 1e38), "beyond"),
    "a state of -1e38": ("lstm", MODEL, fill("encoder.weight_hh_l0", -1e38), "beyond"),
    "latents that overflow": ("lstm", MODEL, fill("to_latent.weight", 3e38), "beyond"),
    "an infinite bias": ("lstm", MODEL, fill("decoder.bias_ih_l0", float("inf")), "beyond"),
    "a codeword of 1e38": ("broad", CODEBOOKS, fill("32", 1e38), "beyond"),
    "a codeword of zeros": ("broad", CODEBOOKS, set_to("32", lambda c: c["32"] * 0), "zero"),
    "a group beyond the last": ("broad", TABLES, fill("groups", 1 << 12), "groups"),
    "a negative group": ("broad", TABLES, fill("groups", -1), "groups"),
    "an unknown word in a text": ("broad", TABLES, fill("likely", 1), "likely"),
    "texts without end": ("broad", TABLES, fill("likely", 2, step=1), "likely"),
    "holders of more texts than there are": ("broad", CODEC, set_to("texts", 1), "holders"),
    "a negative number of texts": ("broad", CODEC, set_to("texts", -5), "texts"),
    "too many texts": ("broad", CODEC, set_to("texts", 1 << 40), "texts"),
    "a number of texts that is no number": ("broad", CODEC, set_to("texts", float("nan")), "texts"),
    "a word twice": (
        "broad",
        CODEC,
        set_to("listed_words", lambda c: [*c["listed_words"][:-1], c["listed_words"][2]]),
        "listed_words",
    ),
    "an utterance of 41 words": ("broad", CODEC, set_to("utterances", [" ".join(["a"] * 41)]), "utterances"),
    "a word too long for exact sums": ("broad", CODEC, lambda c: c["utterances"].append(LONG_WORD), "too long"),
    "a listed word too long for exact sums": (
        "broad",
        CODEC,
        lambda c: c["listed_words"].append(LONG_WORD),
        "too long",
    ),
    "another encoder": ("broad", CODEC, set_to("encoder", "0" * 64), "another sentence encoder"),
    "an encoder that is no digest": ("broad", CODEC, set_to("encoder", 7), "encoder"),
    "groups by a lexicon": ("broad", CODEC, lambda c: c.update(format_version=2, lexicon=c.pop("encoder")), "lexicon"),
    "an empty utterance": ("broad", CODEC, set_to("utterances", ["", "a b"]), "utterances"),
    "more texts than places": (
        "broad",
        TABLES,
        lambda t: t.update(
            likely=torch.tensor([2, 0], dtype=torch.int16).repeat(1 << 21),
            groups=torch.zeros(1 << 21, dtype=torch.int16),
        ),
        "likely",
    ),
    "a radius that is no number": ("lstm", CONFIG, lambda c: c["model"].update(clip_norm=float("nan")), "clip_norm"),
    "a clip that is none": ("lstm", CONFIG, set_to("clip", "cube"), "clip must be one of l1, l2, sphere, got cube"),
    "a dimension that is a truth": ("lstm", CONFIG, lambda c: c["model"].update(latent_dim=True), "latent_dim"),
}
HARMLESS = {  # what a file may hold: no record changes the release of another one
    "the largest topics": ("broad", MODEL, cancel(400.0)),
    "topics of -1e-45": ("broad", MODEL, fill("topics.directions", -1e-45)),
    "a topic that shifts all": ("broad", MODEL, fill("topics.offset", 1e3)),
    "a topic whose sums are not exact": ("broad", MODEL, cancel(2.0**9)),
    "an offset of a million": ("broad", MODEL, fill("topics.offset", 1e6)),
    "a negative rarity": ("broad", MODEL, fill("topics.rarity", -1.0)),
    "a rarity of a million": ("broad", MODEL, fill("topics.rarity", 1e6)),
    "padding with topics": ("broad", MODEL, fill("topics.rarity", 3.0, step=1)),
    "words without topics": ("broad", MODEL, fill("topics.rarity", 0.0, step=1)),
    "rarities that nearly cancel": ("broad", MODEL, fill("topics.rarity", 1e-4, step=1)),
    "the largest weights": ("lstm", MODEL, fill("embedding.weight", -1e6)),
    "the largest state": ("lstm", MODEL, fill("encoder.weight_hh_l0", 1e6)),
    "the largest latents": ("lstm", MODEL, fill("to_latent.weight", 1e6)),
    "weights of 1e-45": ("lstm", MODEL, fill("encoder.weight_ih_l0", 1e-45, step=1)),
    "weights of zero": ("lstm", MODEL, fill("to_latent.weight", 0.0, step=1)),
    "codewords that are equal": ("broad", CODEBOOKS, fill("32", 1.0, step=1)),
    "codewords that are nearly equal": ("broad", CODEBOOKS, set_to("32", lambda c: 1 + 1e-6 * c["32"])),
    "codewords of 1e-45": ("broad", CODEBOOKS, fill("32", 1e-45, step=1)),
    "one sentence many times": ("broad", CODEC, set_to("utterances", lambda c: [c["utterances"][0]] * 200)),
    "words that all are rare": ("broad", CODEC, lambda c: c.update(texts=1 << 30, holders={})),
    "words that all are common": (
        "broad",
        CODEC,
        lambda c: c.update(holders=dict.fromkeys(c["holders"], c["texts"])),
    ),
    "no utterances": ("broad", CODEC, set_to("utterances", [])),
    "one group": ("broad", TABLES, fill("groups", 4095, step=1)),
}


@pytest.fixture(autouse=True)
def _small_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adept.mechanisms.policy.CELL_SENTENCES", broad.CELL)
    monkeypatch.setattr(nearest_text, "MAX_UNGROUPED", 256)


@pytest.mark.parametrize("name", REFUSED)
def test_hostile_numbers_are_refused_before_a_record_is_read(
    models: dict[str, Path], tmp_path: Path, name: str
) -> None:
    kind, file, edit, words = REFUSED[name]
    with pytest.raises(ModelError, match=words) as refusal:
        list(readings(edited(models[kind], tmp_path / "model", file, edit)))
    assert str(refusal.value).isprintable()


@pytest.mark.parametrize("name", HARMLESS)
def test_no_record_changes_the_release_of_another_one(models: dict[str, Path], tmp_path: Path, name: str) -> None:
    kind, file, edit = HARMLESS[name]
    assert changed_by_neighbours(edited(models[kind], tmp_path / "model", file, edit)) == 0


@pytest.mark.parametrize("kind", ["lstm", "broad"])
def test_records_of_an_honest_model_are_read_alone(models: dict[str, Path], kind: str) -> None:
    assert changed_by_neighbours(models[kind]) == 0
