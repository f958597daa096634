"""Mechanisms x budgets x seeds on one data set: train rewriters, rewrite, train classifiers on the result, test on clean text.

Two protocols. ``paper``: the rewriter is trained on the very split that it rewrites, as ADePT was. ``disjoint``: it is trained
on one half of the training split without the labels, and rewrites the other half, which it has never seen; only this one
answers what a user gets who trains on public text and protects private text. Every comparison holds three reference rows that
tell the figures apart: ``none`` (the text itself), ``identity`` (the rewriter without noise) and ``random`` (the same decoder on
latents that have nothing to do with the record). A utility figure without its ``random`` row proves nothing.
"""

import multiprocessing
from collections.abc import Callable, Iterator

import torch

from adept.comparison.cells import cells
from adept.comparison.config import CompareConfig
from adept.comparison.results import Row
from adept.comparison.seed_run import seed_rows
from adept.comparison.store import open_directory
from adept.comparison.trial import Trial
from adept.data.corpus import Corpus, load
from adept.data.tables import write_csv
from adept.errors import DataError

__all__ = ["CompareConfig", "Row", "compare", "planned"]

Job = tuple[CompareConfig, dict[str, Corpus], int]  # the last is the seed


def compare(config: CompareConfig, *, progress: Callable[[int], None] = lambda done: None) -> list[Row]:
    """Run what is not there yet and return all rows; ``results.csv`` is in the output directory.

    Args:
        progress: called with the number of rows that are done (of ``planned``), each time there are more.

    Raises:
        DataError: the data have no labels, the directory holds another comparison, or a kept file is damaged.
    """
    directory = open_directory(config)
    splits = load(config.data)
    for name in ("train", "test"):
        if name not in splits or splits[name].labels is None:
            raise DataError(f"the data must have a labelled {name} split to compare on: add one, or set label_column=")
    rows: list[Row] = []
    for found in _rows_by_seed([(config, splits, seed) for seed in config.seeds], config.processes):
        for row in found:
            rows.append(row)
            progress(len(rows))
        write_csv(rows, directory / "results.csv")
    return rows


def planned(config: CompareConfig) -> int:
    """Return how many rows there will be, or a few more where there is little public text."""
    return len(cells(config)) * len(config.seeds)


def _rows_by_seed(jobs: list[Job], processes: int) -> Iterator[Iterator[Row]]:
    """The rows of each seed, in order, made here one by one, or whole in processes of their own that share the cores."""
    if processes == 1:
        yield from (seed_rows(Trial(*job)) for job in jobs)
        return
    threads = max(1, torch.get_num_threads() // processes)
    with multiprocessing.get_context("spawn").Pool(processes, torch.set_num_threads, (threads,)) as pool:
        yield from (iter(rows) for rows in pool.imap(_whole_seed, jobs))


def _whole_seed(job: Job) -> list[Row]:
    return list(seed_rows(Trial(*job)))
