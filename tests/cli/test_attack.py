"""``adept attack`` leaves its figures and a figure behind, and refuses what it cannot play in one line."""

import csv
import json
from pathlib import Path

import pytest
from tiny import Run

from adept.attacks.attack_game import AttackRow, GivenAway, Rate
from adept.cli.attack import describe, verdict

SIZES = "data.sizes=[80,20,60]"


@pytest.mark.parametrize(
    ("attack", "options"),
    [("reconstruction", ["candidates=100"]), ("attribute", []), ("membership", ["models=4"])],
)
def test_an_attack_leaves_a_result_and_a_figure(
    attack: str, options: list[str], adept_here: Run, tiny_run: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    given = [
        f"attack={attack}",
        f"model_dir={tiny_run}",
        "mechanism=original",
        "epsilon=20",
        "records=40",
        SIZES,
        *options,
    ]
    done = adept_here("attack", *given, f"output_dir={output}")
    assert done.returncode == 0, done.stderr
    result = json.loads((output / "result.json").read_text())
    assert (result["attack"], result["mechanism"], result["claimed_epsilon"]) == (attack, "original", 20.0)
    assert result["epsilon"] == pytest.approx(20 * 8**0.5)
    assert result["beyond_bound"] is False
    assert all({"rate", "bound", "claimed_bound", "words", "optimum"} <= set(row) for row in result["rows"])
    assert (output / "attack.svg").read_text().startswith("<?xml")
    assert (output / "attack.pdf").read_bytes().startswith(b"%PDF")
    with (output / "attack.csv").open(newline="") as stream:
        assert len(list(csv.DictReader(stream))) == len(result["rows"])
    assert "Of 100 guesses" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["attack=nonsense"], "attack must be one of reconstruction, attribute, membership"),
        (["attack=attribute", "attribute=toloc"], "needs data with slots"),
        (["private=secret"], "private must be one of train, validation, test"),
        (["models=1"], "models must be an integer between 4"),
    ],
)
def test_what_cannot_be_played_is_refused_in_one_line(
    options: list[str], message: str, adept_here: Run, tiny_run: Path, tmp_path: Path
) -> None:
    given = [f"model_dir={tiny_run}", "mechanism=original", "epsilon=4", SIZES, f"output_dir={tmp_path / 'out'}"]
    done = adept_here("attack", *given, *options)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def attacked(rate: float, *, claimed: float = 0.5, bound: float = 0.9, **detail: float) -> AttackRow:
    return AttackRow(
        attack="reconstruction",
        knows="pool",
        success="exact",
        rate=Rate.of(round(1000 * rate), 1000, confidence=0.999),
        without_release=0.01,
        bound=bound,
        claimed_bound=claimed,
        optimum=None,
        detail=detail,
    )


def test_the_first_line_is_the_strongest_evidence() -> None:
    within, refuted, defect = attacked(0.3), attacked(0.7), attacked(0.6, bound=0.5)
    assert verdict([attacked(0.2), within]) == f"No violation found, which is no proof. {within.words}"
    assert verdict([within, refuted]) == f"Violation found: the claim is false. {refuted.words}"
    assert verdict([attacked(0.1, beyond_claim=0.2), within]).startswith(
        "Violation found: the claim is false. Of 100 guesses 10"
    )
    assert "beyond the true epsilon" in verdict([refuted, defect])


def test_a_guess_within_the_claim_gives_nothing_away() -> None:
    assert describe(GivenAway("a fare", 0.4, 0.5)).startswith("guessed right, as the claim allows: a fare")
    assert describe(GivenAway("a fare", 0.6, 0.5)).startswith("given away beyond the claim: a fare")
