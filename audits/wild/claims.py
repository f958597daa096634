"""Audits of other people's packages as pip installs them.

The folder ``audits/packages/`` has one file for each package, with the claims that the package makes. The
claims to audit are chosen before the run. One run refutes a true claim with probability at most 1 -
`CONFIDENCE`, by a union bound over the claims. If a claim is not refuted, the mechanism is audited
again with a half, a quarter and an eighth of the noise, until a violation is found. How much less
noise this takes follows from the mechanism's sensitivity to the tried records, and states the power
of the audit. If no control is found, the audit is too weak, and the verdict is "could not tell".
"""

import importlib.util
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from wild.environments import NotInstalled, build_environment, isolated

from adept import audit
from adept.audit import AuditResult, Claim, NotJudged, Verdict
from adept.errors import ConfigurationError, check_choice
from adept.plotting import INK, Table, drawing

CONFIDENCE = 0.999  # one run refutes no true claim with at least this probability
TRIALS = 4_000  # for a claim whose class has no attribute ``trials``
CONTROLS = 2.0, 4.0, 8.0  # the budget is multiplied by these factors in turn, until a violation is found
DISTRIBUTION, STATED = "distribution", "stated"
VERDICT_COLOURS = {
    "violated": "#c0392b",
    "not refuted": "#2a9d5c",
    "could not tell": "#e08e0b",
    "not judged": "#7f7f7f",
}
COUNTED = (DISTRIBUTION, "randomness")  # only these kinds concern finite records in the form that the package expects


DIRECTORY = Path(__file__).parent.parent / "packages"
PACKAGES = tuple(sorted(path.stem for path in DIRECTORY.glob("*.py")))


@dataclass(frozen=True, kw_only=True)
class WildRow:
    """One claim of one package, and the outcome of its audit."""

    package: str
    version: str
    claim: str  # name of the class in the audit file
    quoted: str  # words of the package that state the claim
    place: str  # place of these words in the package
    epsilon: float
    delta: float
    budget: str  # "stated", or "ours" if the package states no epsilon for these records
    expected: str  # the verdict that was expected, written down before the audit
    verdict: str  # violated, not refuted, could not tell, not judged, not installed
    kinds: str = ""  # kinds of violation that were found
    noted: str = ""  # kinds that are left to the caller: a seed or a copy repeats the noise
    certified_epsilon: float = 0.0  # lower bound on the true epsilon
    control: str = ""  # outcome of the control with the most noise that violates the claim; or of the last
    trials: int = 0
    confidence: float = CONFIDENCE
    evidence: str = ""
    seconds: float = 0.0

    @property
    def as_expected(self) -> bool:
        """True if the verdict is the one that we expected before the audit."""
        if not self.expected.startswith("violated"):
            return self.verdict == "not refuted"
        return self.verdict == "violated" and self.expected.split(": ")[1].split(" (")[0] in self.kinds


def load_audit(name: str) -> ModuleType:
    """Load an audit file without importing the audited package."""
    path = DIRECTORY / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"audits.{name}", path)
    if spec is None or spec.loader is None or not path.exists():
        raise ConfigurationError(f"no audit of {name!r} in audits/packages/: name one of {', '.join(PACKAGES)}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def claims_of(module: ModuleType) -> list[type[Any]]:
    """Return the classes of an audit file, one for each claim, without the base class ``Base``."""
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and kind.__module__ == module.__name__]
    return [kind for kind in kinds if kind.__name__ != "Base"]


def run(
    *, mechanisms: tuple[str, ...] = PACKAGES, trials: int | None = None, environments: str | None = None
) -> Iterator[WildRow]:
    """Audit every claim of the chosen packages, each package in an environment of its own."""
    for name in mechanisms:
        check_choice(PACKAGES, only=name)
    modules = {name: load_audit(name) for name in mechanisms}
    chosen = sum(len(claims_of(module)) for module in modules.values())
    confidence = 1 - (1 - CONFIDENCE) / max(chosen, 1)
    for name, module in modules.items():
        try:
            environment = build_environment(name, module.INSTALLS, environments)
        except NotInstalled as reason:
            yield from (_row(module, kind, "not installed", evidence=str(reason)) for kind in claims_of(module))
            continue
        for kind in claims_of(module):
            yield judge_claim(module, kind, environment, trials=trials, confidence=confidence)


def judge_claim(
    module: ModuleType, kind: type[Any], environment: Path, *, trials: int | None, confidence: float
) -> WildRow:
    """Audit one claim; if it is not refuted, also audit controls: the mechanism with less noise."""
    started = time.monotonic()
    count: int = getattr(kind, "trials", TRIALS) if trials is None else trials
    measured: dict[str, Any] = {"trials": count, "confidence": confidence}
    try:
        result = _audited(module, kind, environment, count, confidence)
    except (RuntimeError, OSError) as failure:
        return _row(module, kind, "not judged", evidence=str(failure), **measured)
    control, verdict = "", result.outcome
    if verdict == "not refuted":
        control = _control(module, kind, environment, count, confidence)
        verdict = verdict if control.startswith("found") else "could not tell"
    return _row(
        module,
        kind,
        verdict,
        kinds=", ".join(name for name, outcome in result.kinds.items() if outcome == "violated"),
        noted=", ".join(name for name, outcome in result.kinds.items() if outcome == "noted"),
        certified_epsilon=certified(result),
        control=control,
        evidence="; ".join(f"{check.name}: {check.evidence}" for check in result.failed),
        seconds=time.monotonic() - started,
        **measured,
    )


def _control(module: ModuleType, kind: type[Any], environment: Path, trials: int, confidence: float) -> str:
    """Return the outcome of the first control that violates the claim, with its factor."""
    for factor in CONTROLS:
        try:
            result = _audited(module, kind, environment, trials, confidence, factor=factor)
        except (RuntimeError, OSError) as failure:
            return f"not judged: {failure}"
        if result.kinds[DISTRIBUTION] == "violated":
            return f"found, {certified(result):.2f} (noise / {factor:g})"
    return f"not found (noise / {CONTROLS[-1]:g})"


def _audited(
    module: ModuleType, kind: type[Any], environment: Path, trials: int, confidence: float, factor: float = 1.0
) -> AuditResult:
    declared = dict(kind.claim)
    attributes = {name: declared.pop(name) for name in ("dim", "clip_norm") if name in declared}
    if hasattr(kind, "supports"):
        declared["supports"] = kind.supports
    options = {"dim": attributes["dim"]} if "dim" in attributes else {}
    with isolated(environment, Path(str(module.__file__)), kind.__name__, factor=factor, **attributes) as mechanism:
        claim = Claim(mechanism, randomness="caller", **declared)
        try:
            return audit.run(claim, trials=trials, confidence=confidence, **options)
        except NotJudged as failure:
            return failure.result


def certified(result: AuditResult) -> float:
    """Return the largest epsilon that was certified by a check whose kind is in COUNTED."""
    checks = (check for check in result.checks if check.kind in COUNTED and check.verdict is not Verdict.NOTED)
    return max((check.certified_epsilon or 0.0 for check in checks), default=0.0)


def _row(module: ModuleType, kind: type[Any], verdict: str, **found: Any) -> WildRow:
    return WildRow(
        package=module.PACKAGE,
        version=module.VERSION,
        claim=kind.__name__,
        quoted=kind.says[0],
        place=kind.says[1],
        epsilon=kind.claim["epsilon"],
        delta=kind.claim.get("delta", 0.0),
        budget=getattr(kind, "budget", STATED),
        expected=kind.expected,
        verdict=verdict,
        **found,
    )


def tables(rows: Sequence[WildRow]) -> list[Table]:
    """Return one table, with a line for each claim."""
    headings = ["package", "claim", "epsilon", "expected", "verdict", "kinds", "noted", "certified", "control"]
    return [(f"Claims of packages as installed (confidence {CONFIDENCE:g} together)", headings, [*map(_line, rows)])]


def _line(row: WildRow) -> list[str]:
    budget = f"{row.epsilon:g}" + (f", {row.delta:g}" if row.delta else "") + " (ours)" * (row.budget != STATED)
    found = [row.verdict, row.kinds, row.noted, f"{row.certified_epsilon:.2f}", row.control]
    return [f"{row.package} {row.version}", row.claim, budget, row.expected.split(" (")[0], *found]


def draw(rows: Sequence[WildRow]) -> str:
    """Draw the epsilon that each audit certified, as a multiple of the claimed epsilon."""
    with drawing(1, 1, size=(9.5, 0.22 * len(rows) + 1.4)) as opened:
        axis = opened.axes[0][0]
        for place, row in enumerate(reversed(rows)):
            axis.barh(
                place,
                row.certified_epsilon / row.epsilon,
                color=VERDICT_COLOURS.get(row.verdict, VERDICT_COLOURS["not judged"]),
            )
        axis.axvline(1.0, color=INK, lw=1.6)
        axis.set_yticks(range(len(rows)), [f"{row.package} {row.claim}" for row in reversed(rows)], fontsize=7)
        axis.set_xlabel("certified epsilon / claimed epsilon")
    return opened.svg
