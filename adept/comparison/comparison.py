"""The run of a comparison: it computes and collects all results that the options ask for.

Read the modules of this package in this order: ``plan``, this module, ``trial``, ``rows``,
``evidence``, ``results``, ``store``.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import accumulate
from pathlib import Path

import torch

from adept.comparison.config import CompareConfig
from adept.comparison.evidence import attack, choose_examples, judge
from adept.comparison.plan import ModelKind, Schedule, plan_comparison
from adept.comparison.results import AttackedRelease, AuditVerdict, Results
from adept.comparison.rows import obtain_row
from adept.comparison.store import Store
from adept.comparison.trial import Trial
from adept.data.corpus import load
from adept.data.writing import write_table
from adept.errors import DataError
from adept.evaluation.classifiers import check_files_fit
from adept.rewriting.loading import load_model


class Comparison:
    """A comparison and its directory; an interrupted comparison resumes where it stopped.

    Raises:
        DataError: the train or test split has no labels, they have no label in common, or the
            directory holds another comparison.
    """

    def __init__(self, config: CompareConfig, *, models: Path | None = None) -> None:
        self.splits = load(config.data, config)
        if "test" not in self.splits:
            raise DataError("the data must have a labelled test split to compare on: add one")
        train, test = (self.splits[name] for name in ("train", "test"))
        self.notes = check_files_fit({"the train split": train}, test, name="the test split")
        self.config, self.store = config, Store(config, models=models)
        given = load_model(config.model_dir)[0].label_examples if config.model_dir else {}
        self.examples = [(text, label) for label, texts in given.items() for text in texts]
        self.schedule = plan_comparison(config, examples=bool(given))

    @property
    def size(self) -> int:
        """Number of rows of the table, for all seeds together."""
        return len(self.schedule.cells) * len(self.config.seeds)

    def run(self) -> Iterator[int]:
        """Compute all missing results; after each step, yield the number of finished rows."""
        models = self.schedule.models
        here = (one for trial in self.trials() for model in models for one in _make(trial, self.schedule, model))
        yield from accumulate(self._run_aside() if self.config.processes > 1 else here)

    def trials(self) -> Iterator[Trial]:
        """Return one trial for each seed."""
        return (Trial(self.store, self.splits, seed, self.examples) for seed in self.config.seeds)

    def _run_aside(self) -> Iterator[int]:
        trials = list(self.trials())
        for trial in trials:
            for cell in self.schedule.cells:
                trial.labels(cell)  # drawn once, whatever reads them
        models = reversed(self.schedule.models)
        jobs = [partial(_make_aside, trial, self.schedule, model) for model in models for trial in trials]
        yield from in_processes(jobs, processes=self.config.processes)

    def collect(self) -> Results:
        """Return all results, and write the rows and the results of attacks into csv files."""
        trials, directory = list(self.trials()), self.store.directory
        rows = [(cell, obtain_row(trial, cell)) for trial in trials for cell in self.schedule.cells]
        write_table([row.columns() for _, row in rows], directory / "results.csv")
        verdicts = [trials[0].obtain(AuditVerdict, cell, judge) for cell in self.schedule.audited]
        attacks = [trials[0].obtain(AttackedRelease, cell, attack) for cell in self.schedule.attacked]
        if attacks:
            write_table([line for attacked in attacks for line in attacked.lines()], directory / "attacks.csv")
        return Results(self.config, [row for _, row in rows], verdicts, attacks, choose_examples(trials[0], rows))


def _make(trial: Trial, schedule: Schedule, model: ModelKind | None) -> Iterator[int]:
    for cell in schedule.cells:
        if cell.model == model:
            obtain_row(trial, cell)
            yield 1
    if trial.seed == trial.config.seeds[0]:
        for cell in (cell for cell in schedule.attacked if cell.model == model):
            trial.obtain(AttackedRelease, cell, attack)
        for cell in (cell for cell in schedule.audited if cell.model == model):
            trial.obtain(AuditVerdict, cell, judge)


def _make_aside(trial: Trial, schedule: Schedule, model: ModelKind | None) -> int:
    return sum(_make(trial, schedule, model))


def in_processes(jobs: Sequence[Callable[[], int]], *, processes: int) -> Iterator[int]:
    """Run jobs in several processes; yield each job's result as soon as the job ends."""
    threads, others = max(1, torch.get_num_threads() // processes), multiprocessing.active_children()
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, spawn, initializer=_begin_process, initargs=(threads,)) as pool:
        try:
            asked = [pool.submit(job) for job in jobs]
            pool.submit(int)  # a pool watches a new process from the next job on that it is given
            yield from (done.result() for done in as_completed(asked))
        except BaseException as error:
            for worker in set(multiprocessing.active_children()) - set(others):
                worker.kill()  # training would go on after a SIGTERM, for Lightning handles it
            if isinstance(error, BrokenProcessPool):
                raise DataError(
                    "a process was killed, perhaps for lack of memory: run the same command with processes=1"
                ) from None
            raise


def _begin_process(threads: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(threads)


def _end_with_parent() -> None:
    """Wait for the end of the parent process, and then end this process."""
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)
