"""One seed of a comparison: from each cell its row, by way of a release, a decoder and a classifier."""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from adept.comparison import quality
from adept.comparison.alternatives import alternative
from adept.comparison.cells import Cell, cells, samples_of
from adept.comparison.config import PAPER
from adept.comparison.decoders import read, released, write
from adept.comparison.results import (
    ALTERNATIVES,
    JOINT_RESPONSE,
    LATENTS,
    LOOKUP,
    NONE,
    PUBLIC,
    REFERENCES,
    Row,
)
from adept.comparison.store import Written
from adept.comparison.trial import Trial, family_in
from adept.data.corpus import Corpus, hold_out
from adept.evaluation.classifiers import Evaluation, evaluate, evaluate_latents
from adept.evaluation.nearest import LINEAR_DIM


def seed_rows(trial: Trial, asked: Sequence[Cell] | None = None) -> Iterator[Row]:
    """Yield every row of a seed, or those that are asked for, computed or found."""
    for cell in cells(trial.config) if asked is None else asked:
        if not _asks_too_much(trial, cell):
            yield row_of(trial, cell)


def _asks_too_much(trial: Trial, cell: Cell) -> bool:
    """Is more labelled public text asked for than there is."""
    return (_public_records(cell) or 0) >= len(trial.public)


def row_of(trial: Trial, cell: Cell) -> Row:
    """Return a cell's row, with the quality of its text where baselines or alternatives are asked for."""
    if cell.decoder is None:
        return trial.store.row(cell, lambda: _text_row(trial, cell))
    if cell.decoder == LATENTS:
        return trial.store.row(cell, lambda: _latent_row(trial, cell))
    row = trial.store.row(cell, lambda: _written_row(trial, cell))
    asked = trial.config.baselines or trial.config.alternatives
    return replace(row, **_quality(trial, cell)) if asked else row


def _text_row(trial: Trial, cell: Cell) -> Row:
    """A classifier on text as it is: the private records, or public ones with their labels."""
    evaluation = evaluate(_text_of(trial, cell), trial.test, classifier=cell.classifier, seed=trial.seed)
    row = _row(trial, cell, evaluation, epsilon=math.inf if cell.mechanism == NONE else 0.0)
    return replace(row, label_epsilon=None, labels="copy", samples=1)


def _text_of(trial: Trial, cell: Cell) -> Corpus:
    if cell.mechanism in (NONE, PUBLIC):
        return trial.private if cell.mechanism == NONE else trial.public
    share = (_public_records(cell) or 0) / len(trial.public)
    return hold_out(trial.public, share=share, seed=trial.seed)[1]


def _public_records(cell: Cell) -> int | None:
    """The number of labelled public records that a cell trains on; None for cells that do something else."""
    records = cell.mechanism.removeprefix("public_")
    return int(records) if records.isdecimal() else None


def _latent_row(trial: Trial, cell: Cell) -> Row:
    """A classifier on released latents."""
    test = trial.model(family_in(cell)).test_latents
    latents, labels = read(trial, cell, released(trial, cell))
    noisy = _labels(trial, cell) != "copy"
    evaluation = evaluate_latents(latents, labels, test, trial.test.labels or [], noisy_labels=noisy)
    return _row(trial, cell, evaluation, **_spent(trial, cell))


def _written_row(trial: Trial, cell: Cell) -> Row:
    """A classifier on written text."""
    text, samples = _written(trial, cell), samples_of(trial.config, cell)
    evaluation = evaluate(
        Corpus(text.texts, text.labels),
        trial.test,
        classifier=cell.classifier,
        seed=trial.seed,
        samples=samples,
        noisy_labels=_labels(trial, cell) != "copy",
    )
    return _row(trial, cell, evaluation, records_per_second=text.records_per_second, **_spent(trial, cell))


def _written(trial: Trial, cell: Cell) -> Written:
    """Text with its labels, and the records written a second, with the release where it was made in the same go."""

    def make() -> Written:
        if cell.family:
            trial.model(cell.family)  # whoever is the first to need it would be timed with its training
        begin = time.monotonic()
        pairs = write(trial, cell)
        speed = len(trial.private) / (time.monotonic() - begin)
        beside = [label for label in trial.labels for _ in range(samples_of(trial.config, cell))]
        labels = [given if own is None else own for (_, own), given in zip(pairs, beside, strict=True)]
        return Written([text for text, _ in pairs], labels, speed)

    return trial.store.written(cell, make)


def _quality(trial: Trial, cell: Cell) -> dict[str, Any]:
    """What is measured of the first rewrite of each record."""

    def make() -> dict[str, float | None]:
        rewrites = _written(trial, cell).texts[:: samples_of(trial.config, cell)]
        return quality.measure(
            trial.private, rewrites, public=trial.public.texts, language=trial.language, other=trial.other
        )

    return trial.store.quality(cell, quality.COLUMNS, make)


def _spent(trial: Trial, cell: Cell) -> dict[str, Any]:
    """A row's true budget, of text and label together, and its model."""
    unseen = trial.config.protocol != PAPER  # a model that was fitted to the records is no function of public text
    if cell.mechanism == LOOKUP:
        return {"epsilon": cell.budget, "dim": LINEAR_DIM, "holds": unseen}
    labels = trial.config.label_epsilon or 0.0
    if cell.mechanism in ALTERNATIVES:
        guarantee = alternative(trial, cell).guarantee()
        model = {"clip": cell.family.clip, "content": cell.family.content} if cell.family else {}
        return {"epsilon": guarantee.epsilon + labels, "holds": guarantee.holds and unseen, **model}
    family, rewriter = family_in(cell), trial.rewriter(cell)
    return {
        "epsilon": rewriter.guarantee.epsilon + labels,
        "delta": rewriter.guarantee.delta,
        "dim": rewriter.model.config.latent_dim,
        "clip": family.clip,
        "content": family.content,
        "holds": rewriter.guarantee.holds and unseen,
    }


def _labels(trial: Trial, cell: Cell) -> str:
    """Where the labels beside a cell's text come from."""
    labels = trial.config.labels
    return "copy" if cell.mechanism in REFERENCES and labels == JOINT_RESPONSE else labels


def _row(trial: Trial, cell: Cell, evaluation: Evaluation, **fields: Any) -> Row:
    config = trial.config
    values: dict[str, Any] = {
        "delta": 0.0,
        "dim": config.model.latent_dim,
        "records_per_second": None,
        "clip": None,
        "majority_accuracy": evaluation.majority_accuracy,
        "train_records": evaluation.train_records,
        "test_records": evaluation.test_records,
        **fields,
    }
    return Row(
        data=config.data.name,
        protocol=config.protocol,
        mechanism=cell.mechanism,
        decoder=cell.decoder,
        claimed_epsilon=cell.budget,
        label_epsilon=config.label_epsilon,
        seed=trial.seed,
        classifier=cell.classifier,
        labels=_labels(trial, cell),
        samples=samples_of(config, cell),
        accuracy=evaluation.accuracy.value,
        macro_f1=evaluation.macro_f1.value,
        **values,
    )
