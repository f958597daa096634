"""The page shows the odds among a hundred candidates, and names rows above their bound."""

from pathlib import Path

import pytest
from made_rows import attacked, make_rows

from adept.comparison.config import CompareConfig
from adept.comparison.results import AttackedRelease, Results
from adept.plotting import Figure
from adept.report import figures, page

SOUND = attacked("sqrt_n", epsilon=8.0, right=2, bound=0.75, claimed_bound=0.75, beyond_claim=0.0)
BROKEN = attacked("original", epsilon=32.0, beyond_claim=1.0)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "draw", lambda lines: Figure("<svg></svg>"))


def written(found: list[AttackedRelease], directory: Path) -> str:
    config = CompareConfig(mechanisms=["original", "sqrt_n"], epsilons=[8.0, 64.0], output_dir=str(directory))
    return page.write(Results(config, make_rows(), [], found, [])).path.read_text("utf-8")


def cells_of(found: AttackedRelease) -> tuple[list[str], bool]:
    [[shown]] = page.describe_attacks([found])["lines"].values()
    return shown


def test_the_page_says_what_was_found_in_counts_of_a_hundred(tmp_path: Path) -> None:
    text = written([BROKEN, SOUND], tmp_path)
    assert "<td>8 (true 32)</td><td>1,200 private</td><td>80 (61 to 93)</td><td>3.0</td><td>97</td>" in text
    assert '<td class="bad">claim refuted</td>' in text
    assert "<td>within the claim</td>" in text
    assert "Slot values" not in text
    minute = text[text.index("In a minute") : text.index("Claims and verdicts")]
    assert (
        "of 100 guesses 80 are right, where the claim allows 3.0, and 100 of 100 releases change the odds more"
        in minute
    )
    assert 'class="warning"' not in text


def test_a_bound_that_is_too_small_is_shown_as_exceeded(tmp_path: Path) -> None:
    """Planted: a true epsilon that is told too small, so that the attack is better than it permits."""
    planted = attacked("sqrt_n", epsilon=8.0, bound=0.03)
    assert cells_of(planted)[0][-1] == "beyond the truth: a defect"
    text = written([planted], tmp_path)
    assert '<td class="bad">beyond the truth: a defect</td>' in text
    assert '<div class="warning"><p>sqrt_n at epsilon 8 gave away more than its true epsilon of 8 permits' in text


def test_odds_alone_refute_a_claim_and_a_rate_alone_does() -> None:
    assert cells_of(attacked("original", epsilon=32.0, right=2, beyond_claim=1.0))[1]
    assert cells_of(attacked("original", epsilon=32.0))[1]
    assert not cells_of(attacked("original", epsilon=32.0, right=2, beyond_claim=0.0))[1]


def test_a_page_without_attacks_says_nothing_of_them(tmp_path: Path) -> None:
    assert "<h2>Attacks" not in written([], tmp_path)
    nothing = written([SOUND], tmp_path)
    assert "Attacks on single releases found nothing that a claim does not allow, which is no proof." in nothing
