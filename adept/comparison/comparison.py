"""The run of a comparison: it computes and collects all rows, audits, attacks and examples of rewrites.

Read the modules of this package in this order: ``plan``, this module, ``trial``, ``results``.

Mechanisms that turn text into text are not attacked, because the attacks need latents. If the data
are not public, every rewrite on a page is a release to all readers of the page. So examples are
shown only on request (``examples=true``), and never with ``protocol=paper``, where the models are
trained on the private records. Even if examples are shown, the page omits the original records and
the texts of any mechanism whose claim is false. The page also omits rewrites that repeat a text on
which the model was trained. The page does not mark rewrites that equal their record, because the
mark would reveal the record.
"""

import multiprocessing
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import torch

from adept import audit
from adept.attacks.attack_game import AttackGame
from adept.attacks.reconstruction import play
from adept.audit import AuditResult
from adept.comparison.config import JOINT_RESPONSE, PAPER, STAND_INS, CompareConfig
from adept.comparison.recipes import ALTERNATIVES, DESCRIBED, LSTM, ModelKind, Recipe, Schedule, plan_comparison
from adept.comparison.results import (
    AttackedRelease,
    AuditVerdict,
    Example,
    ResultRow,
    Results,
    Store,
    WrittenTexts,
    exceeds,
)
from adept.comparison.trial import Trial, build_alternative, model_kind, obtain_row
from adept.data.corpus import load
from adept.data.writing import write_table
from adept.errors import DataError
from adept.evaluation.classifiers import check_files_fit
from adept.mechanisms import JointResponse
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
        return len(self.schedule.recipes) * len(self.config.seeds)

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
            for recipe in self.schedule.recipes:
                trial.labels(recipe)  # drawn once, whatever reads them
        models = reversed(self.schedule.models)
        jobs = [partial(_make_aside, trial, self.schedule, model) for model in models for trial in trials]
        yield from in_processes(jobs, processes=self.config.processes)

    def collect(self) -> Results:
        """Return all results, and write the rows and the results of attacks into csv files."""
        trials, directory = list(self.trials()), self.store.directory
        rows = [(recipe, obtain_row(trial, recipe)) for trial in trials for recipe in self.schedule.recipes]
        write_table([row.columns() for _, row in rows], directory / "results.csv")
        verdicts = [trials[0].obtain(AuditVerdict, recipe, judge) for recipe in self.schedule.audited]
        attacks = [trials[0].obtain(AttackedRelease, recipe, attack) for recipe in self.schedule.attacked]
        if attacks:
            write_table([line for attacked in attacks for line in attacked.lines()], directory / "attacks.csv")
        return Results(self.config, [row for _, row in rows], verdicts, attacks, choose_examples(trials[0], rows))


def _make(trial: Trial, schedule: Schedule, model: ModelKind | None) -> Iterator[int]:
    for recipe in schedule.recipes:
        if recipe.model == model:
            obtain_row(trial, recipe)
            yield 1
    if trial.seed == trial.config.seeds[0]:
        for recipe in (recipe for recipe in schedule.attacked if recipe.model == model):
            trial.obtain(AttackedRelease, recipe, attack)
        for recipe in (recipe for recipe in schedule.audited if recipe.model == model):
            trial.obtain(AuditVerdict, recipe, judge)


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


AUDIT_TRIALS = 4000
SECRETS, CANDIDATES = 1000, 10_000  # secrets, and what they may be, as in ``adept attack``
ATTACK_CONFIDENCE = 0.9999  # of each interval: a page has dozens
EXAMPLES = 6
WITHHELD = "(withheld: the model was trained on it)"


def judge(trial: Trial, recipe: Recipe) -> AuditVerdict:
    """Audit the privacy claim of the mechanism in one row of the table."""
    result, guarantee = (_audit_text if recipe.mechanism in ALTERNATIVES else _audit)(trial, recipe)
    strongest = result.strongest if result.violated else None
    evidence = f"{strongest.evidence} ({strongest.kind})" if strongest else ""
    found = result.violated, result.certified_epsilon, evidence
    return AuditVerdict(recipe.mechanism, recipe.text_epsilon, *found, guarantee)


def _audit(trial: Trial, recipe: Recipe) -> tuple[AuditResult, str]:
    mechanism, dim = trial.config.mechanism(recipe.mechanism, recipe.text_epsilon), trial.config.model.latent_dim
    guarantee = mechanism.guarantee(dim).text
    if recipe.labels == JOINT_RESPONSE:
        return audit.run(JointResponse.of(mechanism, STAND_INS), trials=AUDIT_TRIALS), guarantee
    if mechanism.randomises == "description":
        mechanism = trial.rewriter(recipe).mechanism  # with the model's descriptions
    return audit.run(mechanism, dim=dim, trials=AUDIT_TRIALS), guarantee


def _audit_text(trial: Trial, recipe: Recipe) -> tuple[AuditResult, str]:
    """Audit a mechanism that turns text into text, on the shortest and the longest public text.

    Texts that are too long for the mechanism are skipped, unless all texts are too long.
    """
    mechanism = build_alternative(trial, recipe)
    lengths = {text: len(text.split()) for text in trial.public.texts}
    whole = [text for text in lengths if lengths[text] <= getattr(mechanism, "length", 0)] or list(lengths)
    pair = min(whole, key=lengths.__getitem__), max(whole, key=lengths.__getitem__)
    return audit.run(mechanism, pairs=[pair], trials=AUDIT_TRIALS), mechanism.guarantee().text


def attack(trial: Trial, recipe: Recipe) -> AttackedRelease:
    """Draw new releases by the mechanism in one row of the table, and attack these releases."""
    rewriter = trial.rewriter(recipe)
    texts: dict[str, Any] = {"private": trial.private, "public": trial.public, "seed": trial.seed}
    game = AttackGame(rewriter=rewriter, records=SECRETS, confidence=ATTACK_CONFIDENCE, **texts)
    rows, _ = play(game, candidates=CANDIDATES, read_text=False)
    spent = {name: getattr(rewriter.guarantee, name) for name in ("claimed_epsilon", "epsilon", "delta")}
    return AttackedRelease(mechanism=recipe.mechanism, model=model_kind(recipe), rows=rows, **spent)


def choose_examples(trial: Trial, rows: list[tuple[Recipe, ResultRow]]) -> list[Example]:
    """Return rewrites of some private records, chosen by their places and not by their content."""
    config, records, public = trial.config, trial.private.texts, trial.config.data.public
    if not (public or (config.examples and config.protocol != PAPER)):
        return []
    written = [
        (row, kept.texts[:: row.samples])
        for recipe, row in _choose_shown(rows, public=public)
        if (kept := trial.store.find(WrittenTexts, trial.seed, recipe))
    ]
    secret = set() if public else set(map(bare, [*trial.public.texts, *trial.validation.texts]))
    return [
        Example(
            records[index] if public else None,
            [(row, WITHHELD if bare(texts[index]) in secret else texts[index]) for row, texts in written],
        )
        for index in spread(len(records), EXAMPLES)
    ]


def bare(text: str) -> str:
    """Return the words of a text in lower case and without punctuation."""
    return " ".join(re.findall(r"\w+", text.lower()))


def spread(total: int, count: int) -> list[int]:
    """Return up to ``count`` indices below ``total``, at nearly equal distances."""
    count = min(count, total)
    return [(2 * part + 1) * total // (2 * count) for part in range(count)]


def _choose_shown(rows: list[tuple[Recipe, ResultRow]], *, public: bool) -> list[tuple[Recipe, ResultRow]]:
    """Return the rows of which the page shows examples.

    These are rows of the reference ``random``, and rows with the smallest or the largest epsilon.
    """
    budgets = {row.claimed_epsilon for _, row in rows if row.claimed_epsilon is not None}
    outermost = {min(budgets), max(budgets)} if budgets else set()
    first = rows[0][1]
    return [
        (recipe, row)
        for recipe, row in rows
        if (row.seed, row.classifier) == (first.seed, first.classifier)
        and (row.decoder in (LSTM, DESCRIBED) or (row.decoder is not None and row.clip is None))
        and (row.mechanism == "random" or row.claimed_epsilon in outermost)
        and (public or (row.clip is not None and not exceeds(row.epsilon, row.claimed_epsilon or 0.0)))
    ]
