"""``adept adapt``: adapt a model to another domain with public examples of its texts."""

import time
from itertools import chain
from pathlib import Path
from typing import Any

from adept.cli.config import AdaptConfig, FineTuningConfig
from adept.cli.console import show, warn, write_json
from adept.data.corpus import Corpus, read_corpus, read_label_set
from adept.data.formats import ending_of
from adept.data.texts import list_few
from adept.data.writing import new_directory
from adept.errors import DataError, ModelError, refuse
from adept.models.adapt import MIN_EXAMPLES, adapt, fine_tune, read_page
from adept.models.config import MODEL, OptimiserConfig
from adept.models.label_names import MAX_TERM_WORDS, are_terms, sentences_about, spell_out
from adept.models.saved_model import CARD, Autoencoder, model_card
from adept.models.sentence_encoder import SentenceEncoder
from adept.models.untrusted_files import model_directory
from adept.rewriting.loading import load_model


def main(config: AdaptConfig) -> None:
    """Adapt a model, save it, and print its directory."""
    _check(config)
    begin = time.monotonic()
    config.label_set = list(read_label_set(config.label_set))
    model, tokenizer = load_model(config.model_dir)
    read = _read_examples(config)
    lines, labelled = read.texts, dict[str, list[str]]()
    for text, label in zip(lines if read.labels else [], read.labels or [], strict=True):
        labelled.setdefault(label, []).append(text)
    if unnamed := [label for label in config.label_set if labelled and label not in labelled]:
        warn(f"note: no example has the labels {list_few(unnamed)} of label_set")
    named = _are_names(config, model, lines) if lines else False
    examples, said = _examples(config, model, lines, named=named)
    directory = new_directory(config.output_dir)
    model, tokenizer = adapt(
        model, tokenizer, examples, source=_source(config, named=named), said=said, seed=config.seed
    )
    model.label_examples = labelled
    if config.trainer.max_epochs:
        options: dict[str, Any] = {"trainer": config.trainer, "output_dir": directory, "seed": config.seed}
        fine_tune(model, tokenizer, Corpus(examples), optimiser=config.training, **options)
    place = directory / MODEL
    model.save_pretrained(place)
    tokenizer.save_pretrained(place)
    given = model_directory(config.model_dir) / CARD
    adapted_from = given.read_text("utf-8", "replace") if given.is_file() else ""
    (place / CARD).write_text(model_card(model, adapted_from=adapted_from), "utf-8")
    result = {
        "model_dir": place, "training_data": model.training_data.name, "public": model.training_data.public,
        "codebooks": sorted(model.codebooks), "vocabulary_size": model.vocabulary_size,
        "epochs": config.trainer.max_epochs, "seconds": time.monotonic() - begin,
    }  # fmt: skip
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
    refuse(
        (
            config.public is not True,
            "public must be true to adapt a model, got false: the model and its rewrites will hold the examples word for "
            "word, and no guarantee covers them; add public=true if anyone may read them",
        ),
        (
            config.examples is None and not config.label_set,
            "examples must be given, got nothing: add examples=FILE, or the names of labels, label_set=[...]",
        ),
        (
            config.trainer.max_epochs == 0
            and (config.training, config.trainer) != (OptimiserConfig(), FineTuningConfig()),
            "options of training and trainer have no effect here, because no weights are trained: give trainer.max_epochs=N, too",
        ),
    )


def _are_names(config: AdaptConfig, model: Autoencoder, lines: list[str]) -> bool:
    """Return True if the lines of the examples are names; print a note if they might be either."""
    if config.kind != "auto" or not are_terms(lines):
        return config.kind == "names"
    loose = ending_of(str(config.examples)) == "md" or len(lines) < MIN_EXAMPLES
    broad = model.sentences is not None and model.sentences.is_broad
    named = are_terms(lines, most=MAX_TERM_WORDS if loose else 1) and broad
    named = named and any(map(SentenceEncoder.load().knows, chain.from_iterable(map(spell_out, lines))))
    taken, other = ("names", "examples") if named else ("examples", "names")
    warn(f"note: the lines of {config.examples} are taken as {taken}: add kind={other} if they are {other}")
    return named


def _examples(config: AdaptConfig, model: Autoencoder, lines: list[str], *, named: bool) -> tuple[list[str], bool]:
    """Return the examples, and True if some of them are sentences from the user's file."""
    terms, said = list(config.label_set or []) + (lines if named else []), [] if named else lines
    if not terms:
        return said, True
    if model.sentences is None:
        raise ModelError("the model lists no public sentences: train one on public text")
    found = sentences_about(model.sentences, terms)
    if not (found or said):
        raise DataError(
            "the model reads no known word in the names: give texts that people say as examples, with kind=examples"
        )
    return [*said, *found], bool(said)


def _read_examples(config: AdaptConfig) -> Corpus:
    is_page = config.examples is not None and ending_of(config.examples) == "md"
    unlabelled = config.label_column is not None and (config.examples is None or is_page)
    refuse((unlabelled, "label_column needs examples= with labels: give a file of utterances, or leave it out"))
    if config.examples is None:
        return Corpus([])
    if not is_page:
        config.check_used([config.examples])
        named: dict[str, Any] = {"text_column": config.text_column, "label_column": config.label_column}
        return read_corpus(config.examples, **named, labelled=config.label_column is not None, options=config)
    try:
        return Corpus(read_page(Path(config.examples).read_text("utf-8")))
    except (OSError, ValueError):
        raise DataError(f"{config.examples} cannot be read as UTF-8 text: correct the path or the file") from None


def _source(config: AdaptConfig, *, named: bool) -> str:
    labels = f"the names of {len(config.label_set)} labels" if config.label_set else ""
    file = Path(config.examples).name if config.examples else ""
    return " and ".join(filter(None, [f"the names in {file}" if named else file, labels]))
