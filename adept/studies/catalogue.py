"""All studies. A study is a module that returns rows, a view that shows them, and one entry here."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any, Protocol

from adept.plotting import Table
from adept.studies import limits, mechanisms, randomized_response, sanity_check, sensitivity, zoo
from adept.studies.views import limits as limits_view
from adept.studies.views import mechanisms as mechanisms_view
from adept.studies.views import randomized_response as randomized_response_view
from adept.studies.views import sanity_check as sanity_check_view
from adept.studies.views import sensitivity as sensitivity_view
from adept.studies.views import zoo as zoo_view

SIMULATED = "Simulated with seeded noise: this shows what releases would look like, and guarantees nothing."
AUDITED = "Audited: a violation is certain up to one in a thousand; what was not refuted is not proved by it."
COMPUTED = "Mathematical bounds: nothing was simulated or measured."
SAME = {name: name for name in ("epsilons", "mechanisms", "seed")}


class View(Protocol):
    """How rows look; a module of ``adept.studies.views``."""

    @property
    def tables(self) -> Callable[[list[Any]], list[Table]]:
        """What a terminal shows of the rows."""

    @property
    def draw(self) -> Callable[[list[Any]], str]:
        """The rows as a figure, in SVG text."""


@dataclass(frozen=True)
class Study:
    """One study.

    Attributes:
        run: keyword options -> rows (dataclasses), one by one where they take long.
        view: its tables and its figure.
        options: which option of the command sets which parameter of ``run``; any other one is refused.
        simulated: whether its rows come from seeded noise.
        measures_models: whether a trained model's latents can stand beside its rows.
        worth: what the numbers are worth, where they are neither simulated nor computed.
    """

    run: Callable[..., Iterable[Any]]
    view: View
    options: Mapping[str, str]
    simulated: bool = True
    measures_models: bool = False
    worth: str | None = None

    @property
    def statement(self) -> str:
        """What the numbers are worth."""
        return self.worth or (SIMULATED if self.simulated else COMPUTED)

    def cells(self, options: Mapping[str, Any]) -> int:
        """Return the size of the grid: of the parameters whose defaults are tuples."""
        defaults = {name: parameter.default for name, parameter in signature(self.run).parameters.items()}
        grid = {name: default for name, default in defaults.items() if isinstance(default, tuple)}
        return math.prod(len(options.get(name, default)) for name, default in grid.items())


STUDIES = {
    "sensitivity": Study(
        sensitivity.figure_one,
        sensitivity_view,
        {"trials": "pairs", "dims": "dims", "clip_norm": "clip_norm", "seed": "seed"},
        measures_models=True,
    ),
    "sanity_check": Study(sanity_check.figure_two, sanity_check_view, {"trials": "trials", "dims": "dims", **SAME}),
    "randomized_response": Study(randomized_response.run, randomized_response_view, {"records": "records", **SAME}),
    "mechanisms": Study(mechanisms.run, mechanisms_view, {"trials": "records", "dims": "dims", **SAME}),
    "limits": Study(limits.run, limits_view, {"epsilons": "epsilons"}, simulated=False),
    "zoo": Study(zoo.run, zoo_view, {"trials": "trials", "mechanisms": "mechanisms"}, simulated=False, worth=AUDITED),
}
