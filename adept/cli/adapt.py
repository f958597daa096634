"""``adept adapt``: adapt a model to another domain with public examples of its texts."""

import time
from pathlib import Path
from typing import Any

from adept.cli.config import AdaptConfig
from adept.cli.console import show, write_json
from adept.data.corpus import Corpus, read_corpus
from adept.data.labels import read_label_set
from adept.data.writing import new_directory
from adept.errors import ConfigurationError, DataError, ModelError
from adept.models.adapt import adapt, are_terms, fine_tune, read_page, sentences_about
from adept.models.config import MODEL
from adept.models.model_card import model_card
from adept.models.saved_model import Autoencoder
from adept.rewriting.loading import load_model, model_directory


def main(config: AdaptConfig) -> None:
    """Adapt a model, save it, and print its directory."""
    _check(config)
    begin = time.monotonic()
    config.label_set = list(read_label_set(config.label_set))
    model, tokenizer = load_model(config.model_dir)
    labelled = _read_labelled(config)
    lines = _lines(config.examples, config.text_column) if config.examples else []
    examples, said = _examples(config, model, lines)
    directory = new_directory(config.output_dir)
    model, tokenizer = adapt(model, tokenizer, examples, source=_source(config, lines), said=said, seed=config.seed)
    model.label_examples = labelled
    if config.trainer.max_epochs:
        options: dict[str, Any] = {"trainer": config.trainer, "output_dir": directory, "seed": config.seed}
        fine_tune(model, tokenizer, Corpus(examples), optimiser=config.training, **options)
    place = directory / MODEL
    model.save_pretrained(place)
    tokenizer.save_pretrained(place)
    (place / "README.md").write_text(model_card(model, adapted_from=_card(config.model_dir)), "utf-8")
    result = {
        "model_dir": place,
        "training_data": model.training_data.name,
        "public": model.training_data.public,
        "codebooks": sorted(model.codebooks),
        "vocabulary_size": model.vocabulary_size,
        "epochs": config.trainer.max_epochs,
        "seconds": time.monotonic() - begin,
    }
    write_json(result, directory / "result.json")
    rows = [
        ("from", model.training_data.name),
        ("codewords", f"{max(model.codebooks)}, fewer at small budgets"),
        *([("labels", f"{sum(map(len, labelled.values()))} examples of {len(labelled)} labels")] if labelled else []),
        ("seconds", f"{result['seconds']:.0f}"),
        ("note", "the examples stand in the model, and in what it writes, word for word: no guarantee covers them"),
    ]
    show(f"model in {place}", rows)


def _check(config: AdaptConfig) -> None:
    if config.public is not True:
        raise ConfigurationError(
            "public must be true to adapt a model, got false: the model and its rewrites will hold the examples word for "
            "word, and no guarantee covers them; add public=true if anyone may read them"
        )
    if config.examples is None and not config.label_set:
        raise ConfigurationError(
            "examples must be given, got nothing: add examples=FILE, or the names of labels, label_set=[...]"
        )


def _card(model_dir: str | None) -> str:
    place = model_directory(model_dir)
    cards = [path for path in (place / "README.md", place / MODEL / "README.md") if path.is_file()]
    return cards[0].read_text("utf-8", "replace") if cards else ""


def _examples(config: AdaptConfig, model: Autoencoder, lines: list[str]) -> tuple[list[str], bool]:
    """Return the examples, and True if some of them are sentences from the user's file."""
    terms = list(config.label_set or []) + (lines if are_terms(lines) else [])
    said = [] if are_terms(lines) else lines
    if not terms:
        return said, True
    if model.sentences is None:
        raise ModelError("the model lists no public sentences: train one on public text")
    return [*said, *sentences_about(model.sentences, terms)], bool(said)


def _read_labelled(config: AdaptConfig) -> dict[str, list[str]]:
    if config.label_column is None:
        return {}
    if config.examples is None or config.examples.endswith(".md"):
        raise ConfigurationError("label_column needs examples= with labels: give a file of utterances, or leave it out")
    corpus = read_corpus(config.examples, text_column=config.text_column, label_column=config.label_column)
    found: dict[str, list[str]] = {}
    for text, label in zip(corpus.texts, corpus.labels or [], strict=True):
        found.setdefault(label, []).append(text)
    return found


def _lines(location: str, text_column: str) -> list[str]:
    if not location.endswith(".md"):
        return read_corpus(location, text_column=text_column, labelled=False).texts
    try:
        return read_page(Path(location).read_text("utf-8"))
    except (OSError, ValueError):
        raise DataError(f"{location} cannot be read as UTF-8 text: correct the path or the file") from None


def _source(config: AdaptConfig, lines: list[str]) -> str:
    labels = f"the names of {len(config.label_set)} labels" if config.label_set else ""
    file = Path(config.examples).name if config.examples else ""
    return " and ".join(filter(None, [f"the names in {file}" if file and are_terms(lines) else file, labels]))
