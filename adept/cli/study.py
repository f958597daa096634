"""``adept study``: recompute published values, and compare the results with the papers."""

import importlib
import math
from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any

from adept.cli.config import STUDIES, StudyConfig
from adept.cli.console import progress, show_lines, show_table, write_json
from adept.comparison.config import FigureConfig
from adept.data.corpus import load
from adept.data.writing import new_directory, write_table
from adept.errors import refuse
from adept.mechanisms import Identity
from adept.plotting import as_wide_as
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import Rewriter
from adept.studies import sensitivity

SIMULATED = "Simulated with seeded noise: this shows what releases would look like, and guarantees nothing."
# Options of which a study may use some
OPTIONS = ("trials", "records", "dims", "epsilons", "mechanisms", "clip_norm", "seed", "model_dir")


def main(config: StudyConfig) -> None:
    """Run a study, print its tables, and write its table, its figure and ``result.json``."""
    directory, bounds = new_directory(config.output_dir), "Mathematical bounds: nothing was simulated or measured."
    statement = bounds if config.study == "limits" else SIMULATED
    write_results(
        config.study, _module(config.study), list(study_rows(config)), directory, statement=statement, options=config
    )


def write_results(
    name: str, module: ModuleType, rows: list[Any], directory: Path, *, statement: str, options: Any
) -> None:
    """Print a study's statement and tables, and write its table, its figure and ``result.json``."""
    show_lines([statement])
    for table in module.tables(rows):
        show_table(*table)
    result = {"study": name, "simulated": statement == SIMULATED, "statement": statement}
    with as_wide_as(getattr(options, "figure", FigureConfig()).width):
        module.draw(rows).save(directory / name)
    write_table(rows, directory / f"{name}.csv")
    write_json({**result, "options": options, "rows": rows}, directory / "result.json")
    show_lines([f"Figure: {directory / f'{name}.svg'}"])


def _module(study: str) -> ModuleType:
    """Return a module with run(**options) -> rows (dataclasses), tables(rows) and draw(rows) -> SVG text."""
    return importlib.import_module(f"adept.studies.{STUDIES[study]}")


def study_rows(config: StudyConfig) -> Iterator[Any]:
    """Yield the rows of a study's table and, if a model is given, rows about the model's latents."""
    module, options = _module(config.study), dict[str, Any]()
    known = {name: parameter.default for name, parameter in signature(module.run).parameters.items()}
    for name in OPTIONS:
        value = getattr(config, name)
        if value is None or (name == "model_dir" and module is sensitivity):
            continue
        refuse((name not in known, f"{name} must be null for study={config.study}, got {value}: leave it out"))
        options[name] = tuple(value) if isinstance(value, list) else value
    cells = math.prod(len(value) for value in (known | options).values() if isinstance(value, tuple))
    with progress(config.study, lambda: cells) as advance:
        for done, row in enumerate(module.run(**options), start=1):
            yield row
            advance(done)
    if config.model_dir:
        yield from model_rows(config)


def model_rows(config: StudyConfig) -> list[sensitivity.SensitivityRow]:
    """Return rows about the distances between the latents of a model for the texts in ``data``.

    The texts are the training split. The latents are clipped as in the training of the model.
    """
    model, tokenizer = load_model(config.model_dir or "")
    clip_norm = model.config.clip_norm
    rewriter = Rewriter.for_measurement(model, tokenizer, mechanism=Identity(clip_norm=clip_norm))
    latents = rewriter.encode(load(config.data, config)["train"].texts).cpu()
    options = {name: value for name, value in (("trials", config.trials), ("seed", config.seed)) if value is not None}
    name = f"{model.clip} model of {config.data.name}"
    return sensitivity.measure_latents(latents, clip_norm=clip_norm, name=name, **options)
