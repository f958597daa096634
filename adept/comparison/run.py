"""Mechanisms x budgets x seeds on one data set: train rewriters, rewrite, train classifiers on the result, test on clean text.

Two protocols. ``paper``: the rewriter is trained on the very split that it rewrites, as ADePT was. ``disjoint``: it is trained
on one half of the training split without the labels, and rewrites the other half, which it has never seen; only this one
answers what a user gets who trains on public text and protects private text. Every comparison holds three rows that tell the
figures apart: ``none`` (the text itself), ``identity`` (the rewriter without noise) and ``random`` (the same decoder on
latents that have nothing to do with the record). A utility figure without its ``random`` row proves nothing.
"""

import json
import multiprocessing
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from adept.comparison.config import CompareConfig
from adept.comparison.results import ENDS, Row
from adept.comparison.seed_run import SeedTrial
from adept.data.corpus import Corpus, load
from adept.data.tables import write_csv
from adept.errors import DataError

__all__ = ["ENDS", "CompareConfig", "Row", "compare"]

GROWING = ("mechanisms", "epsilons", "seeds", "classifiers", "processes", "baselines", "denoise", "output_dir")


def compare(config: CompareConfig, *, progress: Callable[[int], None] = lambda done: None) -> list[Row]:
    """Run what is not there yet and return all rows; ``results.csv`` is in the output directory.

    Args:
        progress: called with the number of seeds that are done, each time another one is.

    Raises:
        DataError: the data have no labels, or the directory holds another comparison.
    """
    directory = _continue_directory(config)
    splits = load(config.data)
    for name in ("train", "test"):
        if name not in splits or splits[name].labels is None:
            raise DataError(f"the data must have a labelled {name} split to compare on: add one, or set label_column=")
    jobs = [(config, splits, directory, seed) for seed in config.seeds]
    rows: list[Row] = []
    for done, result in enumerate(_map(_run_seed, jobs, config.processes), start=1):
        rows += result
        write_csv(rows, directory / "results.csv")
        progress(done)
    return rows


def _map(function: Callable[..., Any], jobs: list[tuple[Any, ...]], processes: int) -> Iterator[Any]:
    """Apply a function to each job, in order, here or in processes of their own that share the cores."""
    if processes == 1:
        yield from (function(job) for job in jobs)
        return
    threads = max(1, torch.get_num_threads() // processes)
    with multiprocessing.get_context("spawn").Pool(processes, torch.set_num_threads, (threads,)) as pool:
        yield from pool.imap(function, jobs)


def _run_seed(job: tuple[CompareConfig, dict[str, Corpus], Path, int]) -> list[Row]:
    return SeedTrial(*job).rows()


def _continue_directory(config: CompareConfig) -> Path:
    """Make the output directory, or go on in one that holds the same comparison."""
    directory = Path(config.output_dir)
    settings = json.loads(json.dumps({k: v for k, v in asdict(config).items() if k not in GROWING}))
    path = directory / "comparison.json"
    if path.exists():
        before = json.loads(path.read_text("utf-8"))
        if changed := [key for key in settings if before.get(key) != settings[key]]:
            raise DataError(
                f"output_dir {directory} holds a comparison with another {changed[0]}: choose another directory"
            )
    elif directory.exists() and any(directory.iterdir()):
        raise DataError(f"output_dir {directory} is not empty and holds no comparison: choose another directory")
    else:
        directory.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings, indent=2) + "\n", "utf-8")
    return directory
