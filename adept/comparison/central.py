"""Rows of ``trust=central``: synthetic records from the private half, at a budget, without noise, or from an empty file."""

import math
import time
from typing import Any

from adept.comparison.config import SYNTHESIZER
from adept.comparison.plan import Cell
from adept.comparison.results import Written
from adept.comparison.trial import Trial
from adept.mechanisms import Votes
from adept.rewriting.loading import load_model
from adept.synthesis.synthesizer import Pair, Release, Synthesizer


def synthesized(trial: Trial, cell: Cell) -> tuple[Written, dict[str, Any]]:
    """Return what is written for a cell, and what its row says of the release.

    ``identity`` (the counts themselves) and ``random`` (as many rows, from an empty file) have the codewords of the largest budget.
    """
    kept = trial.store.find(Written, trial.seed, cell)
    if kept is None:
        kept = trial.store.keep(_written(trial, cell), trial.seed, cell)
    spent = 0.0 if cell.mechanism == "random" else math.inf if cell.budget is None else cell.budget
    model = {"clip": cell.family.clip, "content": cell.family.content} if cell.family else {}
    return kept, {"epsilon": spent, "records_per_second": kept.records_per_second, **model}


def _written(trial: Trial, cell: Cell) -> Written:
    synthesizer, begin = _synthesizer(trial, cell), time.monotonic()
    pairs = _pairs(synthesizer, trial, cell)
    speed = len(trial.private) / (time.monotonic() - begin)
    return Written([text for text, _ in pairs], [str(label) for _, label in pairs], speed)


def _synthesizer(trial: Trial, cell: Cell) -> Synthesizer:
    """A synthesizer of the public half's texts; of those of a model that was given."""
    if cell.family is None:
        raise ValueError(f"the cell must have a model, got {cell.mechanism} without one")
    votes = Votes(epsilon=cell.budget or max(trial.config.epsilons))
    texts = trial.public.texts if trial.config.model_dir is None else None
    loaded = load_model(trial.directory(cell.family))
    # It is measured, and not handed out, so that a model of text that nobody declared public will do.
    return Synthesizer(*loaded, votes=votes, label_set=trial.known, texts=texts, accept_private_model=True)


def _pairs(synthesizer: Synthesizer, trial: Trial, cell: Cell) -> list[Pair]:
    private = trial.private
    if cell.mechanism == "random":
        return synthesizer.synthesize([], [], rows=len(private))
    if cell.mechanism == SYNTHESIZER:
        return synthesizer.synthesize(private.texts, private.labels)
    tally = synthesizer.tally()
    tally.add(synthesizer.vote(private.texts, private.labels))
    return list(synthesizer.write(Release(tally.counts.reshape(synthesizer.cells.size, -1))))
