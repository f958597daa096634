"""The dictionary `STUDIES`; a study is a module that computes rows of results and draws them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from inspect import signature
from types import ModuleType
from typing import Any

from adept.studies import limits, mechanisms_on_latents, randomized_response, sanity_check, sensitivity

SIMULATED = "Simulated with seeded noise: this shows what releases would look like, and guarantees nothing."
COMPUTED = "Mathematical bounds: nothing was simulated or measured."
COMMON = {name: name for name in ("epsilons", "mechanisms", "seed")}


@dataclass(frozen=True)
class Study:
    """A study: its module, its options, and a sentence that says where its results come from."""

    module: ModuleType  # run(**options) -> rows (dataclasses), tables(rows), draw(rows) -> SVG text
    options: Mapping[str, str]  # the parameter of ``run`` that each option of the command sets
    statement: str = SIMULATED
    measures_models: bool = False  # True if the study can also measure the latents of a trained model

    def cells(self, options: Mapping[str, Any]) -> int:
        """Return the number of parameter combinations for which the study computes a row."""
        defaults = {name: parameter.default for name, parameter in signature(self.module.run).parameters.items()}
        grid = {name: default for name, default in defaults.items() if isinstance(default, tuple)}
        return math.prod(len(options.get(name, default)) for name, default in grid.items())


STUDIES = {
    "sensitivity": Study(
        sensitivity, {"trials": "pairs", "dims": "dims", "clip_norm": "clip_norm", "seed": "seed"}, measures_models=True
    ),
    "sanity_check": Study(sanity_check, {"trials": "trials", "dims": "dims", **COMMON}),
    "randomized_response": Study(randomized_response, {"records": "records", **COMMON}),
    "mechanisms": Study(mechanisms_on_latents, {"trials": "records", "dims": "dims", **COMMON}),
    "limits": Study(limits, {"epsilons": "epsilons"}, COMPUTED),
}
