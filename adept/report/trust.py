"""The table of ``trust=all``: accuracies under each kind of trust, over true epsilons."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean

from adept.comparison.config import CENTRAL, LOCAL
from adept.comparison.trust import PRIVATE, REFERENCE, SHUFFLED, TrustRow
from adept.mechanisms.guarantee import words
from adept.plotting import group_rows
from adept.report.figures import HEADLINE_LEVELS
from adept.report.table import Grid

ORIGINAL = "original"


@dataclass(frozen=True)
class TrustCurve:
    """The accuracies for one kind of trust, one mechanism and one treatment of labels."""

    trust: str
    mechanism: str
    labels: str
    points: list[tuple[float, float, float, float]]  # epsilon; least, mean, largest accuracy


def trace_curves(rows: Sequence[TrustRow]) -> list[TrustCurve]:
    """Turn rows into curves, sorted by labels (private first), then by trust (central first)."""
    order = (CENTRAL, SHUFFLED, LOCAL)
    found, released = [], [row for row in rows if row.trust != REFERENCE]
    for key, own in group_rows(released, lambda row: (row.trust, row.mechanism, row.labels)).items():
        points = map(_point, group_rows(own, lambda row: row.claimed_epsilon).values())
        found.append(TrustCurve(*key, sorted(points)))
    return sorted(found, key=lambda curve: (curve.labels != PRIVATE, order.index(curve.trust)))


def _point(rows: list[TrustRow]) -> tuple[float, float, float, float]:
    found = [row.accuracy for row in rows]
    return max(row.epsilon or 0.0 for row in rows), min(found), mean(found), max(found)


def levels(rows: Sequence[TrustRow]) -> Iterator[tuple[str, float, str]]:
    """Yield the name, the accuracy and the colour of each reference row."""
    for name, (title, colour, _) in HEADLINE_LEVELS.items():
        groups = group_rows((row for row in rows if row.mechanism == name), lambda row: (row.trust, row.labels))
        if groups:
            yield title, max(mean(row.accuracy for row in own) for own in groups.values()), colour


def name_curve(curve: TrustCurve, found: Sequence[TrustCurve]) -> str:
    """Return the name of a curve, which tells it from the other curves."""
    if curve.mechanism == ORIGINAL:
        return "original ADePT"
    alike = [other for other in found if (other.trust, other.labels) == (curve.trust, PRIVATE)]
    several = sum(other.mechanism != ORIGINAL for other in alike) > 1
    return curve.trust + (f", {curve.mechanism}" if several else "")


def accuracy_grid(rows: Sequence[TrustRow]) -> Grid:
    """Return a table of accuracies, with a line for each curve and a column for each epsilon."""
    found = trace_curves(rows)
    asked = [words(epsilon) for epsilon, *_ in next(curve for curve in found if curve.trust == CENTRAL).points]
    lines = []
    for curve in found:
        beside = " at {:.3g}" if curve.trust == SHUFFLED else ""
        cells = [f"{middle:.3f}{beside.format(epsilon)}" for epsilon, _, middle, _ in curve.points]
        lines.append([name_curve(curve, found), curve.labels, *cells])
    lines += [[name, "", *[f"{height:.3f}"] * len(asked)] for name, height, _ in levels(rows)]
    return Grid("accuracy", ["true epsilon", "labels", *asked], {"": lines})
