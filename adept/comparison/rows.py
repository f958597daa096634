"""From a cell to its row: a classifier learns from what was released and written, and is tested on clean text."""

from dataclasses import replace
from typing import Any

from adept.comparison.config import COPY
from adept.comparison.plan import Cell
from adept.comparison.results import LATENTS, VOTE, Quality, Row
from adept.comparison.trial import Trial
from adept.comparison.writing import Material, Writer
from adept.data.corpus import Corpus
from adept.evaluation import quality
from adept.evaluation.classifiers import Evaluation, evaluate, evaluate_latents


def row_of(writer: Writer, cell: Cell) -> Row | None:
    """Return a cell's row, kept or made, with the quality of its text where baselines or alternatives are asked for.

    None stands for one that asks for more labelled public text than there is.
    """
    trial = writer.trial
    row = trial.store.find(Row, trial.seed, cell)
    if row is None:
        if (material := writer.material(cell)) is None:
            return None
        row = trial.store.keep(_row(trial, cell, material, _evaluated(trial, cell, material)), trial.seed, cell)
    if cell.decoder in (None, LATENTS) or not (trial.config.baselines or trial.config.alternatives):
        return row
    measured = trial.store.find(Quality, trial.seed, cell)
    if measured is None:
        measured = trial.store.keep(_measured(writer, cell), trial.seed, cell)
    return replace(row, **measured.columns)


def _evaluated(trial: Trial, cell: Cell, material: Material) -> Evaluation:
    """What a classifier of the material makes of the test records."""
    data, noisy = material.data, material.labels not in (COPY, VOTE)
    if not isinstance(data, Corpus):
        return evaluate_latents(data.released, data.labels, data.test, trial.test.labels or [], noisy_labels=noisy)
    return evaluate(
        data,
        trial.test,
        classifier=cell.classifier,
        seed=trial.seed,
        samples=cell.samples,
        noisy_labels=noisy,
    )


def _measured(writer: Writer, cell: Cell) -> Quality:
    """What is measured of the first rewrite of each record."""
    trial, rewrites = writer.trial, writer.written(cell).texts[:: cell.samples]
    other = [*trial.validation.texts, *trial.test.texts]
    return Quality(quality.measure(trial.private, rewrites, trained_on=trial.public.texts, other=other))


def _row(trial: Trial, cell: Cell, material: Material, evaluation: Evaluation) -> Row:
    config = trial.config
    values: dict[str, Any] = {
        "delta": 0.0,
        "dim": config.model.latent_dim,
        "label_epsilon": config.label_part(cell.budget),
        "records_per_second": None,
        "clip": None,
        **material.columns,
    }
    return Row(
        data=config.data.name,
        protocol=config.protocol,
        mechanism=cell.mechanism,
        decoder=cell.decoder,
        claimed_epsilon=cell.budget,
        seed=trial.seed,
        classifier=cell.classifier,
        labels=material.labels,
        samples=cell.samples,
        accuracy=evaluation.accuracy.value,
        macro_f1=evaluation.macro_f1.value,
        majority_accuracy=evaluation.majority_accuracy,
        train_records=evaluation.train_records,
        test_records=evaluation.test_records,
        **values,
    )
