"""``adept COMMAND -m``: run a command once for each combination of the values that its options list.

The grammar is that of Hydra's basic sweeper: ``seed=0,1``, ``choice(a,b)``, ``range(1,10,2)`` and,
for names of files in ``conf/``, ``glob(*)``. A comma inside quotes or brackets separates no values.
"""

import contextlib
import fnmatch
import hashlib
import importlib
import io
import itertools
import json
import math
import os
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from adept.cli.config import SweepOptions
from adept.cli.console import show_lines, show_table, warn
from adept.cli.help import OWN as OWN_FILES
from adept.cli.help import PRINTING, SWEEPING, check_options, groups, names, refuse_interpolation, split, write_out
from adept.cli.help import options as list_options
from adept.cli.process import DONE, describe, is_interrupted, resume_collection
from adept.data.writing import new_directory, read_table, write_table, write_whole
from adept.errors import ConfigurationError, DataError, Interrupted, refuse

FLAGS = {"-m", "--multirun"}
OWN = ("sweep_dir", "objective")  # options of the sweep, not of its runs
OF_EACH_RUN = ("output_dir", "resume_from")  # which the sweep sets
OBJECTIVES = {"train": "validation_loss", "evaluate": "accuracy", "compare": "accuracy", "audit": "certified_epsilon"}
PLAN, TABLE = "sweep.json", "sweep.csv"
MEASURED = {  # numbers that each run of a command measures; callbacks and further options can add some to a table
    "train": (
        "validation_loss", "train_loss", "learning_rate", "epoch", "epochs", "step", "seconds", "tokens_per_second",
        "records_per_second", "parameters", "latent_dim", "vocabulary_size", "train_records",
    ),
    "evaluate": ("accuracy", "macro_f1", "majority_accuracy", "labels", "train_records", "test_records"),
    "compare": (
        "accuracy", "macro_f1", "majority_accuracy", "claimed_epsilon", "epsilon", "delta", "dim", "samples", "seed",
        "records_per_second", "train_records", "test_records",
    ),
    "audit": (
        "certified_epsilon", "claimed_epsilon", "violated", "judged", "releases_judged", "confidence", "delta", "dim",
        "seconds", "trials",
    ),
}  # fmt: skip
RESULT_TABLES = {"train": "metrics.csv", "compare": "results.csv"}  # tables with columns that objective may name
MAX_RUNS = 10_000
FUNCTION = re.compile(r"\s*(choice|range|glob)\((.*)\)\s*", re.DOTALL)


@dataclass
class Run:
    """One combination of values, its directory, and what became of it."""

    number: int
    arguments: list[str]
    chosen: dict[str, str]  # values of the options that differ between runs
    directory: Path
    values: dict[str, Any]  # of all options
    same_as: int | None  # number of an earlier run that gives the same result
    failure: str = ""
    score: float | None = None  # value of the objective
    violated: bool = False
    unmeasured: str = ""  # the objective, if the run measured none

    @property
    def title(self) -> str:
        values = " ".join(f"{name}={value}" for name, value in self.chosen.items())
        return f"run {self.number}" + (f" ({values})" if values else "")

    @property
    def note(self) -> str:
        """Remark about the run in the table of all runs."""
        same = "" if self.same_as is None else f"the same training as run {self.same_as}"
        unmeasured = self.unmeasured and f"no {self.unmeasured} was measured"
        notes = [same, "violation found" if self.violated else "", unmeasured]
        return f"failed: {self.failure}" if self.failure else "; ".join(filter(None, notes))


def check_can_sweep(command: str, arguments: list[str]) -> None:
    """Raise ConfigurationError if the command cannot sweep; a release is never repeated by a sweep."""
    refuse(
        (
            command in ("rewrite", "synthesize"),
            f"{command} takes no -m: each run is a release, and the epsilons of all runs add up for every record; give "
            f"one value to each option, and call {command} for each release that you want",
        ),
        (command not in SWEEPING, f"{command} takes no -m: only {', '.join(SWEEPING)} run once for each value"),
        (PRINTING[0] in arguments, "--cfg job prints the options of one run, got -m: leave -m out"),
    )


@contextlib.contextmanager
def advise(command: str, arguments: list[str]) -> Iterator[None]:
    """Add to an error about a value with commas that ``-m`` would run the command once for each."""
    try:
        yield
    except ConfigurationError as error:
        pairs = [argument.partition("=")[::2] for argument in arguments]
        lists = [name for name, value in pairs if len(split(value)) > 1 or FUNCTION.fullmatch(value)]
        named = [name for name in lists if str(error).startswith(f"{name} ")]
        if command in SWEEPING and named:
            several = [
                f"for several at once, write {name}=[A,B]; " for name in named if name in ("logger", "callbacks")
            ]
            raise ConfigurationError(f"{error}; {''.join(several)}to run once for each value, add -m") from None
        raise


def main(command: str, arguments: list[str]) -> int:
    """Run a sweep, or continue it, and print the table of all runs; return the exit status.

    The status is 2 if a run failed, or else 1 if an audit found a violation, or else 0.
    """
    options, runs = plan(command, arguments)
    directory = open_directory(command, options, runs)
    objective, status, rows = options.objective or OBJECTIVES[command], DONE, list[dict[str, Any]]()
    resume_collection()
    title = f"{len(runs)} run{'s' * (len(runs) != 1)} of adept {command}"
    show_lines([f"{title} in {directory}"], to_stderr=True)
    for run in runs:
        status = max(status, _finish(command, runs, run))
        if not run.failure:
            try:
                run.score = read_score(command, run.directory, objective)
            except ConfigurationError:
                if objective not in MEASURED[command]:
                    raise
                run.unmeasured = objective  # without validation, for example
            run.violated = (read_result(run.directory) or {}).get("violated") is True
        rows.append({"run": run.number, **run.chosen, objective: run.score, "note": run.note})
        write_table(rows, directory / TABLE)
    from adept.mechanisms.guarantee import words  # slow to import

    spell = (lambda x: words(x, lower=True)) if objective == "certified_epsilon" else "{:.4g}".format
    shown = [[spell(x) if isinstance(x, float) else str("" if x is None else x) for x in row.values()] for row in rows]
    show_table(title, list(rows[0]), shown)
    show_lines([f"Table: {directory / TABLE}; results of each run: {directory}/RUN"])
    return status or int(any(run.violated for run in runs))


def plan(command: str, arguments: list[str]) -> tuple[SweepOptions, list[Run]]:
    """Return the sweep's own options and its runs, whose options are all checked before the first run begins.

    Raises:
        ConfigurationError: an option or a value does not exist or does not fit.
    """
    from adept.cli.overrides import configure, read_values  # imports Hydra

    check_can_sweep(command, arguments)
    given = [argument.lstrip("+") for argument in arguments if argument not in FLAGS]
    options = _own_options(command, given)
    more = re.compile("callbacks|baselines|alternatives")  # options that add numbers, as files of the user may, too
    may_add = OWN_FILES.directory is not None or any(map(more.match, given))
    if options.objective and not may_add and options.objective not in MEASURED[command]:
        raise _unknown_objective(options.objective, MEASURED[command])
    listed = list(expand(command, [argument for argument in given if argument.partition("=")[0] not in OWN]))
    digest = hashlib.sha256(json.dumps(listed, default=str).encode("utf-8", "backslashreplace")).hexdigest()
    options.sweep_dir = options.sweep_dir or f"runs/{command}_sweep_{digest[:8]}"
    runs, keys = list[Run](), list[Any]()
    in_table_alone = command == "train" and options.objective in ("train_loss", "learning_rate", "epoch", "step")
    key_of = getattr(importlib.import_module(f"adept.cli.{command}"), "result_key", None)
    for number, (run_arguments, chosen) in enumerate(listed):
        directory = Path(options.sweep_dir) / f"{number}"
        written = write_out(command, run_arguments)
        check_options(command, written)
        config = configure(command, [*written, f"output_dir={directory}"])
        refuse(
            (
                in_table_alone and {"none"} == {*config.logger, *config.callbacks},
                f"objective must not be {options.objective} with logger=none, which writes no metrics.csv: leave one out",
            )
        )
        keys.append(key_of(config) if key_of else number)
        same = keys.index(keys[-1])
        values, kind = read_values(command, written)
        values = {name: value for name, value in values.items() if name not in OF_EACH_RUN} | (
            {"kind": kind.name} if kind else {}  # the mechanism's name is no value of it
        )
        runs.append(Run(number, written, chosen, directory, values, same if same < number else None))
    return options, runs


def _own_options(command: str, given: list[str]) -> SweepOptions:
    own = dict[str, str]()
    for name, equals, value in (argument.partition("=") for argument in given):
        refuse(
            (name in OF_EACH_RUN, f"{name} must be left out with -m: the runs have numbered directories in sweep_dir")
        )
        if name in OWN:
            if name in own or not (equals and value):
                raise ConfigurationError(f"{name} must have one value, got {own.get(name, value) or 'none'}")
            refuse_interpolation(name, value, [option.name for option in list_options(command)])
            own[name] = os.path.expanduser(value) if name == OWN[0] else value  # noqa: PTH111 - Path raises without a home
    return SweepOptions(**own)


def expand(command: str, arguments: list[str]) -> Iterator[tuple[list[str], dict[str, str]]]:
    """Yield the arguments of each run, and the values that differ between runs; the last option varies fastest."""
    names_of_options = [argument.partition("=")[0] for argument in arguments]
    values = [_choices(command, *argument.partition("=")[::2]) if "=" in argument else [None] for argument in arguments]
    if (count := math.prod(map(len, values))) > MAX_RUNS:
        raise ConfigurationError(f"a sweep must have at most {MAX_RUNS:,} runs, got {count:,}: list fewer values")
    for row in itertools.product(*values):
        pairs = list(zip(names_of_options, row, values, strict=True))
        yield (
            [name if value is None else f"{name}={value}" for name, value, _ in pairs],
            {name: value for name, value, all_values in pairs if value is not None and len(all_values) > 1},
        )


def _choices(command: str, name: str, text: str) -> list[str]:
    match FUNCTION.fullmatch(text):
        case None:
            found = split(text)
        case call if call[1] == "choice":
            found = split(call[2])
        case call if call[1] == "range":
            found = _range(name, call[2])
        case call:
            patterns = [pattern.strip() for pattern in split(call[2].strip().removeprefix("[").removesuffix("]"))]
            known = names(name, command) if name in groups(command) else []
            found = [one for one in known if any(fnmatch.fnmatchcase(one, pattern) for pattern in patterns)]
            idle = [pattern for pattern in patterns if not fnmatch.filter(known, pattern)]
            refuse((idle, f"{name} must fit a file in conf/{name}, got {', '.join(idle)}: adept {command} --help"))
    return [item.strip() for item in found] if len(found) > 1 else found


def _range(name: str, inside: str) -> list[str]:
    try:
        numbers = [float(part) for part in inside.split(",")]
        start, stop, step = {1: [0.0, *numbers, 1.0], 2: [*numbers, 1.0], 3: numbers}[len(numbers)]
        count = math.ceil((stop - start) / step)
        if not 0 < count <= MAX_RUNS:
            raise ValueError
    except (KeyError, ValueError, ZeroDivisionError, OverflowError):
        raise ConfigurationError(f"{name} must be range(start,stop,step), got range({inside})") from None
    return [f"{start + place * step:.12g}" for place in range(count)]


def open_directory(command: str, options: SweepOptions, runs: list[Run]) -> Path:
    """Make the directory of a sweep, or find the same sweep in it; return the directory.

    Raises:
        DataError: the directory holds another sweep, or something else.
    """
    directory = new_directory(options.sweep_dir or "", "sweep_dir", marker=PLAN)
    planned = {"command": command, "place": str(Path.cwd()), "runs": [run.values for run in runs]}
    written = json.dumps(planned, indent=1, default=str) + "\n"
    if not (directory / PLAN).is_file():
        write_whole(directory / PLAN, written)
    elif (directory / PLAN).read_text("utf-8", "replace") != written:
        raise DataError(f"sweep_dir {directory} holds another sweep: choose another name, or repeat it where it began")
    return directory


def _finish(command: str, runs: list[Run], run: Run) -> int:
    """Run one combination, unless it is finished or another one gives its result; return the exit status."""
    if run.same_as is not None:
        earlier = runs[run.same_as]
        run.failure = earlier.failure and f"as run {run.same_as}"
        show_lines([f"{run.title}: the same training as run {run.same_as}"], to_stderr=True)
        if not (run.failure or run.directory.exists()):
            run.directory.symlink_to(earlier.directory.name, target_is_directory=True)
        return DONE
    if read_result(run.directory) is not None:
        show_lines([f"{run.title}: finished before"], to_stderr=True)
        return DONE
    show_lines([run.title], to_stderr=True)
    try:
        _execute(command, run)
    except BaseException as error:  # noqa: BLE001 - one failed run must not end the others
        if isinstance(error, KeyboardInterrupt) or is_interrupted():
            raise Interrupted(f"the same command continues the sweep in {run.directory.parent}") from None
        run.failure, status = describe(error)
        warn(f"{run.title} failed: {run.failure}")
        return status
    return DONE


def _execute(command: str, run: Run) -> None:
    """Run one combination, or go on with it; begin it anew if no training can resume from its checkpoint."""
    from adept.cli.overrides import compose

    module = importlib.import_module(f"adept.cli.{command}")

    def call(place: str) -> None:
        config = compose(command, [*run.arguments, f"{place}={run.directory}"])
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            module.main(config)
        (run.directory / "output.txt").write_text(printed.getvalue(), "utf-8")

    if command == "train" and (run.directory / module.OVERRIDES).is_file():
        from adept.models.resumption import UnusableCheckpointError  # slow to import

        with contextlib.suppress(UnusableCheckpointError):
            call("resume_from")
            return
    if command != "compare":  # which continues in its own directory
        with contextlib.suppress(OSError):
            run.directory.rmdir()
        if run.directory.exists():  # some of what it holds may be the user's
            aside = run.directory.rename(f"{run.directory}.before-{time.strftime('%Y%m%d-%H%M%S')}")
            warn(f"note: {run.title} begins anew; what was in {run.directory} is in {aside}")
    call("output_dir")


def read_result(directory: Path) -> dict[str, Any] | None:
    """Return the content of a run's ``result.json``; None if the run is not finished."""
    try:
        found = json.loads((directory / "result.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def read_score(command: str, directory: Path, objective: str) -> float:
    """Return the value of the objective in a finished run.

    Of a training, it is the value in the epoch whose weights are kept; of a comparison, the mean over
    all rows with a budget; otherwise a number in ``result.json``.

    Raises:
        ConfigurationError: the run measured nothing of this name.
    """
    found = read_result(directory) or {}
    measured = found | (found.get("fit") or {})
    if command in RESULT_TABLES:
        rows = read_table(directory / RESULT_TABLES[command])
        if command == "compare":
            rows = [row for row in rows if row.get("claimed_epsilon")]
        elif rows:
            rows = [min(rows, key=lambda row: _number(row.get("validation_loss", "")))]
        columns = {name for row in rows for name, value in row.items() if not math.isnan(_number(value))}
        measured |= {name: fmean(_number(row[name]) for row in rows) for name in columns - measured.keys()}
    known = {name: float(value) for name, value in measured.items() if isinstance(value, int | float)}
    if objective not in known:
        raise _unknown_objective(objective, known)
    return known[objective]


def _unknown_objective(objective: str, known: Iterable[str]) -> ConfigurationError:
    return ConfigurationError(f"objective must be one of {', '.join(sorted(known))}, got {objective}")


def _number(text: str | None) -> float:
    try:
        return float(text or "")
    except ValueError:
        return math.nan
