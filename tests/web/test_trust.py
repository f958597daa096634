"""The page shows the numbers that the docs have."""

import re
from itertools import chain
from pathlib import Path

from adept.web import trust

STUDIES = (Path(__file__).parents[2] / "docs" / "studies.md").read_text("utf-8")


def row(name: str) -> list[float]:
    cells, *_ = re.findall(rf"^\| {re.escape(name)} \| (.+) \|$", STUDIES, re.MULTILINE)
    return [float(cell) for cell in cells.split(" | ")]


def test_the_page_s_accuracies_are_those_of_the_docs() -> None:
    asked = row("true epsilon")
    local = dict(zip(asked, row("local, labels private (`joint_response`)"), strict=True))
    shuffled = dict(zip(row("the same file shuffled: its epsilon"), local.values(), strict=True))
    assert dict(zip(asked, row("central"), strict=True)) == trust.CENTRAL
    assert local.items() >= trust.LOCAL.items()
    assert shuffled.items() >= trust.SHUFFLED.items()
    assert f"*The text itself* has .{1000 * trust.ITSELF:.0f}" in STUDIES


def test_the_epsilons_for_an_accuracy_of_60_percent_are_those_on_the_page() -> None:
    needed = {name: min(one.epsilon for one in line if one.accuracy >= 0.6) for name, line in trust.lines().items()}
    assert needed == {"central": 1.0, "shuffled": 2.14, "local": 8.0}


def test_every_point_lies_within_the_picture() -> None:
    for point in chain(*trust.lines().values(), *trust.marks().values()):
        assert 20 <= point.y <= 230
        assert 46 <= point.x <= 336
