"""The dictionary `STUDIES`; a study is a module that computes rows of results and draws them."""

import math
from dataclasses import dataclass
from inspect import signature
from types import ModuleType
from typing import Any

from adept.studies import limits, mechanisms_on_latents, randomized_response, sanity_check, sensitivity

SIMULATED = "Simulated with seeded noise: this shows what releases would look like, and guarantees nothing."
COMPUTED = "Mathematical bounds: nothing was simulated or measured."


@dataclass(frozen=True)
class Study:
    """A study: its module, and a sentence that says where its results come from."""

    module: ModuleType  # run(**options) -> rows (dataclasses), tables(rows), draw(rows) -> SVG text
    statement: str = SIMULATED
    measures_models: bool = False  # True if the study can also measure the latents of a trained model

    @property
    def options(self) -> dict[str, Any]:
        """The options of the study, which are the parameters of ``run``, with their defaults."""
        return {name: parameter.default for name, parameter in signature(self.module.run).parameters.items()}

    def cells(self, options: dict[str, Any]) -> int:
        """Return the number of parameter combinations for which the study computes a row."""
        return math.prod(len(value) for value in (self.options | options).values() if isinstance(value, tuple))


STUDIES = {
    "sensitivity": Study(sensitivity, measures_models=True),
    "sanity_check": Study(sanity_check),
    "randomized_response": Study(randomized_response),
    "mechanisms": Study(mechanisms_on_latents),
    "limits": Study(limits, COMPUTED),
}
