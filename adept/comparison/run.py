"""Mechanisms x budgets x seeds on one data set: train rewriters, rewrite, train classifiers on the result, test on clean text.

Two protocols. ``paper``: the rewriter is trained on the very split that it rewrites, as ADePT was. ``disjoint``: it is trained
on one half of the training split without the labels, and rewrites the other half, which it has never seen; only this one
answers what a user gets who trains on public text and protects private text. Every comparison holds three reference rows that
tell the figures apart: ``none`` (the text itself), ``identity`` (the rewriter without noise) and ``random`` (the same decoder on
latents that have nothing to do with the record). A utility figure without its ``random`` row proves nothing.
"""

from collections.abc import Callable, Sequence
from functools import partial

from adept.comparison.attacks import attackable, attacked
from adept.comparison.cells import Cell, cells
from adept.comparison.config import CompareConfig
from adept.comparison.families import Family
from adept.comparison.processes import Job, in_processes
from adept.comparison.results import Row
from adept.comparison.seed_run import seed_rows
from adept.comparison.store import open_directory
from adept.comparison.trial import Trial
from adept.data.corpus import Corpus, load
from adept.data.tables import write_csv
from adept.errors import DataError

__all__ = ["CompareConfig", "Row", "compare", "planned"]


def compare(
    config: CompareConfig, *, progress: Callable[[int], None] = lambda done: None, beside: Sequence[Job] = ()
) -> list[Row]:
    """Run what is not there yet and return all rows; ``results.csv`` is in the output directory.

    Args:
        progress: called with the number of rows that are done (of ``planned``), each time there are more.
        beside: what several processes can do meanwhile (it must be picklable); a single one leaves it to who asks for it.

    Raises:
        DataError: the data have no labels, the directory holds another comparison, or a kept file is damaged.
    """
    directory = open_directory(config)
    splits = load(config.data)
    for name in ("train", "test"):
        if name not in splits or splits[name].labels is None:
            raise DataError(f"the data must have a labelled {name} split to compare on: add one, or set label_column=")
    if config.processes > 1:
        _make_aside(config, splits, beside, progress)
    rows: list[Row] = []
    for seed in config.seeds:
        for row in seed_rows(Trial(config, splits, seed)):
            rows.append(row)
            if config.processes == 1:
                progress(len(rows))
        write_csv(rows, directory / "results.csv")
    return rows


def planned(config: CompareConfig) -> int:
    """Return how many rows there will be, or a few more where there is little public text."""
    return len(cells(config)) * len(config.seeds)


def _make_aside(
    config: CompareConfig, splits: dict[str, Corpus], beside: Sequence[Job], progress: Callable[[int], None]
) -> None:
    """Make all rows in processes that share the cores, those of one model and seed together: then they are found."""
    jobs: list[Job] = []
    for seed in config.seeds:
        _ = Trial(config, splits, seed).labels  # drawn once, whatever reads them
        by_model: dict[Family | None, list[Cell]] = {}
        for cell in reversed(cells(config)):  # what needs no model is short: last, so that the processes end together
            by_model.setdefault(cell.family, []).insert(0, cell)
        jobs += [partial(_rows_made, config, splits, seed, asked) for asked in by_model.values()]
    made = 0
    for found in in_processes([*jobs, *beside], processes=config.processes):
        made += found if isinstance(found, int) else 0
        progress(made)


def _rows_made(config: CompareConfig, splits: dict[str, Corpus], seed: int, asked: list[Cell]) -> int:
    trial = Trial(config, splits, seed)
    rows = list(seed_rows(trial, asked))
    if config.attacks and seed == config.seeds[0]:
        for cell in attackable(asked):
            attacked(trial, cell)
    return len(rows)
