"""The page shows the numbers that the docs have, with how many people a shuffled file needs."""

import re
from pathlib import Path

import pytest

from adept.mechanisms.shuffling import Draw, central_epsilon
from adept.web import trust

RESULTS = (Path(__file__).parents[2] / "docs" / "results.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("row", "found"), [("HWU64, `learned_codebook`, LSTM decoder", trust.LOCAL), ("HWU64", trust.CENTRAL)]
)
def test_the_page_s_accuracies_are_those_of_the_docs(row: str, found: dict[float, float]) -> None:
    rows = re.findall(rf"^\| {re.escape(row)} \| (.+) \|$", RESULTS, re.MULTILINE)
    said = [[cell.split(" / ")[0] for cell in cells.split(" | ")] for cells in rows]
    assert [f"{accuracy:.3f}"[1:] for accuracy in found.values()] in [cells[: len(found)] for cells in said]


def test_what_shuffling_adds_is_not_said_too_small() -> None:
    for draw, said in ((Draw(4.0, 17, 1), 0.36), (Draw(4.0, 256, 4), 0.36), (Draw(8.0, 426, 1), 3.4)):
        assert central_epsilon([draw], records=10_000, delta=1e-6) <= said


def test_every_point_lies_within_the_picture() -> None:
    for point in [*trust.lines()["local"], *trust.lines()["central"], trust.itself()]:
        assert 20 <= point.y <= 250
        assert 40 <= point.x <= 304
