"""Mechanisms x budgets x seeds on one data set: train rewriters, rewrite, train classifiers on the result, test on clean text.

Two protocols. ``paper``: the rewriter is trained on the very split that it rewrites, as ADePT was. ``disjoint``: it is trained
on one half of the training split without the labels, and rewrites the other half, which it has never seen; only this one
answers what a user gets who trains on public text and protects private text. Every comparison holds three reference rows that
tell the figures apart: ``none`` (the text itself), ``identity`` (the rewriter without noise) and ``random`` (the same decoder on
latents that have nothing to do with the record). A utility figure without its ``random`` row proves nothing.

To be read in this order: ``plan`` (which rows), this module, ``trial`` (what the rows of a seed share), ``rows`` with ``writing``
(from a cell to its row), ``attacks``, ``audits`` and ``examples`` (what stands beside them), ``results``. ``store`` keeps it all.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from adept.comparison.attacks import attack_on
from adept.comparison.audits import verdict_on
from adept.comparison.config import CompareConfig
from adept.comparison.examples import examples
from adept.comparison.plan import Part, planned
from adept.comparison.processes import in_processes
from adept.comparison.results import Results
from adept.comparison.rows import row_of
from adept.comparison.store import Store
from adept.comparison.trial import Trial
from adept.comparison.writing import Writer
from adept.data.corpus import Corpus, load
from adept.data.files import write_table
from adept.errors import DataError


class Comparison:
    """A comparison in its directory: a new one, or one that is there and goes on where it stopped.

    Args:
        config: what is asked.
        models: where its models are, if other comparisons share them.

    Attributes:
        plan: everything that it makes.

    Raises:
        DataError: the data have no labels, or the directory holds another comparison.
    """

    def __init__(self, config: CompareConfig, *, models: Path | None = None) -> None:
        self.config, self.store = config, Store(config, models=models)
        self.plan, self.splits = planned(config), load(config.data, config)
        for name in ("train", "test"):
            if name not in self.splits or self.splits[name].labels is None:
                raise DataError(
                    f"the data must have a labelled {name} split to compare on: add one, or set label_column="
                )

    @property
    def size(self) -> int:
        """How many rows there are, or a few too many where there is little public text."""
        return len(self.plan.cells) * len(self.config.seeds)

    def run(self) -> Iterator[int]:
        """Make what is not there yet; yields how many rows are done, each time there are more.

        Raises:
            DataError: a kept file is damaged, or a process was killed.
        """
        done = 0
        if self.config.processes > 1:
            for made in self._run_aside():
                yield (done := done + made)
            return
        for seed in self.config.seeds:
            writer = Writer(Trial(self.store, self.splits, seed))
            for part in self.plan.parts:
                if part.seed == seed:
                    for _ in _made(writer, part):
                        yield (done := done + 1)

    def _run_aside(self) -> Iterator[int]:
        """Make every part in a process of its own; yields how many rows it has."""
        for seed in self.config.seeds:
            Trial(self.store, self.splits, seed)  # labels are drawn once, whatever reads them
        # What needs no model is short: last, so that the processes end together.
        jobs = [partial(_rows_made, self.store, self.splits, part) for part in reversed(self.plan.parts)]
        yield from in_processes(jobs, processes=self.config.processes)

    def collect(self) -> Results:
        """Return what was made, and write its tables, ``results.csv`` and ``attacks.csv``."""
        writers = [Writer(Trial(self.store, self.splits, seed)) for seed in self.config.seeds]
        found = [(cell, row_of(writer, cell)) for writer in writers for cell in self.plan.cells]
        rows = [(cell, row) for cell, row in found if row is not None]
        write_table([row for _, row in rows], self.store.directory / "results.csv")
        verdicts = [verdict_on(writers[0], cell) for cell in self.plan.audited]
        attacks = [attack_on(writers[0].trial, cell) for cell in self.plan.attacked]
        if attacks:
            write_table([line for found in attacks for line in found.lines], self.store.directory / "attacks.csv")
        return Results(self.config, [row for _, row in rows], verdicts, attacks, examples(writers[0].trial, rows))


def compare(config: CompareConfig) -> Results:
    """Run a comparison from its plan to its results."""
    comparison = Comparison(config)
    for _ in comparison.run():
        pass
    return comparison.collect()


def _made(writer: Writer, part: Part) -> Iterator[None]:
    """Make a part; yields once for each of its rows."""
    for cell in part.cells:
        if row_of(writer, cell):
            yield
    for cell in part.attacked:
        attack_on(writer.trial, cell)
    for cell in part.audited:
        verdict_on(writer, cell)


def _rows_made(store: Store, splits: dict[str, Corpus], part: Part) -> int:
    """Make a part; returns how many rows it has."""
    return sum(1 for _ in _made(Writer(Trial(store, splits, part.seed)), part))
