"""``adept study``: the papers' figures and the limits recomputed, published values beside ours, as csv, svg and JSON."""

import csv
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import torch
from omegaconf import MISSING
from rich.progress import Progress

from adept.cli.app import execute
from adept.cli.console import show_table, write_json
from adept.data.corpus import DataConfig, load
from adept.data.files import new_directory
from adept.errors import ConfigurationError
from adept.mechanisms import Identity
from adept.mechanisms.base import check_integer, check_positive
from adept.rewriting.rewriter import Rewriter, load_model
from adept.studies import figures, limits, mechanisms, sanity_check, sensitivity

DRAW: dict[str, Any] = {
    "sensitivity": figures.draw_sensitivity,
    "sanity_check": figures.draw_sanity_check,
    "mechanisms": figures.draw_mechanisms,
    "limits": figures.draw_limits,
}
SIMULATED = "Simulated with seeded noise: this shows what releases would look like, and guarantees nothing."
LIMITS = {
    "capacity": "bits per record",
    "label": "label, {}",
    "reconstruction": "record, {}",
    "advantage": "advantage, {}",
}
GRID = {name: name for name in ("dims", "epsilons", "mechanisms", "seed")}
BATCH = 256

Table = tuple[str, list[str], list[list[str]]]  # title, headings, lines


@dataclass
class StudyConfig:
    """Configuration of ``adept study``; null means the study's own value, and what a study has no use for must stay null."""

    study: str = "sensitivity"  # sensitivity | sanity_check | mechanisms | limits
    trials: int | None = None  # pairs (sensitivity, 10,000), runs (sanity_check, 1e6), records (mechanisms, 2,000)
    dims: list[int] | None = None
    epsilons: list[float] | None = None
    mechanisms: list[str] | None = None
    clip_norm: float | None = None  # sensitivity: the radius C of the simulation
    seed: int | None = None
    model_dir: str | None = None  # sensitivity: measure this model's latents of the data's training split too
    data: DataConfig = field(default_factory=DataConfig)  # read with model_dir only
    text_column: str = "text"
    label_column: str | None = None
    output_dir: str = MISSING

    def __post_init__(self) -> None:
        if self.study not in DRAW:
            raise ConfigurationError(f"study must be one of {', '.join(DRAW)}, got {self.study}")
        for name in ("dims", "epsilons", "mechanisms"):
            if getattr(self, name) == []:
                raise ConfigurationError(f"{name} must be null or have at least one value, got []")
        check_integer(1, 10_000, **{f"dims[{i}]": dim for i, dim in enumerate(self.dims or [])})
        check_positive(**{f"epsilons[{i}]": epsilon for i, epsilon in enumerate(self.epsilons or [])})
        if self.clip_norm is not None:
            check_positive(clip_norm=self.clip_norm)

    def given(self, **names: str) -> dict[str, Any]:
        """Return what was set, under a study's own names; refuse what it would ignore.

        Args:
            names: for each parameter of the study the option that sets it.
        """
        for option in ("trials", "dims", "epsilons", "mechanisms", "clip_norm", "seed", "model_dir"):
            value = getattr(self, option)
            if value is not None and option not in (*names.values(), "model_dir" * (self.study == "sensitivity")):
                raise ConfigurationError(f"{option} must be null for study={self.study}, got {value}: leave it out")
        values = {name: getattr(self, option) for name, option in names.items()}
        return {name: tuple(v) if isinstance(v, list) else v for name, v in values.items() if v is not None}


@dataclass(frozen=True)
class StudyResult:
    """The rows of a study, as in the csv file, and what they were made with."""

    study: str
    simulated: bool
    statement: str
    options: dict[str, Any]
    rows: list[Any]


def run(config: StudyConfig) -> StudyResult:
    """Run a study and write ``<study>.csv``, ``<study>.svg`` and ``result.json``; raises AdeptError for what the user can mend."""
    directory = new_directory(config.output_dir)
    rows = study_rows(config)
    simulated = config.study != "limits"
    statement = SIMULATED if simulated else "Mathematical bounds: nothing was simulated or measured."
    result = StudyResult(config.study, simulated, statement, asdict(config), rows)
    write_csv(rows, directory / f"{config.study}.csv")
    (directory / f"{config.study}.svg").write_text(DRAW[config.study](rows), "utf-8")
    write_json(result, directory / "result.json")
    return result


def study_rows(config: StudyConfig) -> list[Any]:
    """Return the rows of a study, with a progress bar on a terminal."""
    match config.study:
        case "sensitivity":
            options = config.given(pairs="trials", dims="dims", clip_norm="clip_norm", seed="seed")
            return sensitivity.figure_one(**options) + (model_rows(config) if config.model_dir else [])
        case "limits":
            return limits.run(**config.given(epsilons="epsilons"))
        case "mechanisms":
            options = config.given(records="trials", **GRID)
            with Progress(disable=not sys.stderr.isatty()) as progress:
                task = progress.add_task(config.study, total=_cells(config, mechanisms))
                return mechanisms.run(**options, progress=lambda done: progress.update(task, completed=done))
        case _:
            options = config.given(trials="trials", **GRID)
            with Progress(disable=not sys.stderr.isatty()) as progress:
                rows = sanity_check.figure_two(**options)
                return list(progress.track(rows, total=_cells(config, sanity_check), description=config.study))


def _cells(config: StudyConfig, study: Any) -> int:
    """The number of rows on a study's grid."""
    grid = (config.mechanisms or study.MECHANISMS, config.dims or study.DIMS, config.epsilons or study.EPSILONS)
    return math.prod(len(values) for values in grid)


def model_rows(config: StudyConfig) -> list[sensitivity.SensitivityRow]:
    """Measure the latents of a trained model: what the paper could only simulate.

    The latents have been clipped as the model was trained, so one trained for ``l1`` shows no pair beyond 2C.
    """
    model, tokenizer = load_model(config.model_dir or "")
    clip_norm = model.config.clip_norm
    rewriter = Rewriter(model, tokenizer, mechanism=Identity(clip_norm=clip_norm))
    texts = load(config.data)["train"].texts
    latents = torch.cat([rewriter.encode(texts[i : i + BATCH]).cpu() for i in range(0, len(texts), BATCH)])
    options = {name: value for name, value in (("pairs", config.trials), ("seed", config.seed)) if value is not None}
    name = f"{model.clip} model of {config.data.name}"
    return sensitivity.measure_latents(latents, clip_norm=clip_norm, name=name, **options)


def write_csv(rows: Sequence[Any], path: Path) -> None:
    """Write row dataclasses as csv; what does not apply is empty, infinite and undefined numbers are "inf" and "nan"."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        table = csv.DictWriter(stream, fieldnames=[f.name for f in fields(rows[0])], lineterminator="\n")
        table.writeheader()
        table.writerows(asdict(row) for row in rows)


def tables(result: StudyResult) -> list[Table]:
    """Return what a terminal shows of a study; the csv file has everything."""
    match result.study:
        case "sensitivity":
            return [sensitivity_table(result.rows)]
        case "sanity_check":
            return sanity_tables(result.rows)
        case "mechanisms":
            dims = sorted({row.dim for row in result.rows})
            return [cosine_table([row for row in result.rows if row.dim == dim], dim) for dim in dims]
        case _:
            return [limits_table(result.rows)]


def sensitivity_table(rows: list[sensitivity.SensitivityRow]) -> Table:
    """A line a distribution, clip and dimension."""
    lines = [
        [
            f"{row.latents} ({row.reading.removeprefix('standard ')})" if row.reading else row.latents,
            row.clip,
            str(row.dim),
            *(_number(value, digits=4) for value in (row.share, row.lower, row.upper, row.published)),
            {None: "", True: "yes", False: "NO"}[row.agrees],
            f"{row.largest:.3f}",
        ]
        for row in rows
    ]
    headings = ["latents", "clip", "n", "share", "from", "to", "published", "agree", "largest"]
    return "Pairs further apart than 2C in l1 (99.9 % interval); largest distance / 2C", headings, lines


def sanity_tables(rows: list[sanity_check.SanityRow]) -> list[Table]:
    """A table for the published budget, or for each budget where that one was not run."""
    known = [row for row in rows if row.published is not None] or rows
    return [
        sanity_table([row for row in known if row.epsilon == epsilon], epsilon)
        for epsilon in dict.fromkeys(row.epsilon for row in known)
    ]


def sanity_table(rows: list[sanity_check.SanityRow], epsilon: float) -> Table:
    """A line a mechanism and dimension: the vote's loss, then the likelihood ratio's, true and certified."""
    lines = [
        [
            row.mechanism,
            str(row.dim),
            *(_number(value) for value in (row.exact, row.run, row.run_lower, row.run_upper, row.published)),
            f"{row.likelihood_ratio:.4g}",
            _number(row.likelihood_ratio_lower),
            "false" if row.violated else "",
        ]
        for row in rows
    ]
    headings = ["mechanism", "n", "exact", "run", "from", "to", "paper", "true", "certified", "claim"]
    return f"Epsilon {epsilon:g}: loss of the vote (99.9 % interval); of any event", headings, lines


def cosine_table(rows: list[mechanisms.MechanismRow], dim: int) -> Table:
    """A line a mechanism, a column a claimed budget."""
    epsilons = sorted({row.claimed_epsilon for row in rows})
    lines = []
    for name in dict.fromkeys(row.mechanism for row in rows):
        found = {row.claimed_epsilon: row.cosine for row in rows if row.mechanism == name}
        lines.append([figures.NAMES.get(name, name), *(f"{found[epsilon]:.3f}" for epsilon in epsilons)])
    headings = ["claimed epsilon", *(f"{epsilon:g}" for epsilon in epsilons)]
    return f"Mean cosine with the latent, n = {dim}", headings, lines


def limits_table(rows: list[limits.LimitRow]) -> Table:
    """A line a bound, a column a true budget."""
    epsilons = list(dict.fromkeys(row.epsilon for row in rows))
    lines = []
    for limit, setting in dict.fromkeys((row.limit, row.setting) for row in rows):
        chosen = [row for row in rows if (row.limit, row.setting) == (limit, setting)]
        values = (f"{row.value:.3f}" if row.unit == "probability" else f"{row.value:.3g}" for row in chosen)
        lines.append([LIMITS[limit].format(setting), *values])
    return "What no mechanism can exceed", ["true epsilon", *(f"{epsilon:g}" for epsilon in epsilons)], lines


def _number(value: float | None, *, digits: int = 3) -> str:
    return "" if value is None else f"{value:.{digits}f}" if math.isfinite(value) else str(value)


def main() -> int:
    """Run ``adept study`` from ``sys.argv``."""

    def command(config: StudyConfig) -> None:
        result = run(config)
        for table in tables(result):
            show_table(*table)
        sys.stdout.write(f"{result.statement}\nFigure: {Path(config.output_dir) / f'{config.study}.svg'}\n")

    return execute("study", StudyConfig, command)
