"""`adept study`, as a user runs it: what it writes, what it shows, what it refuses. Seeded, so nothing here is random."""

import csv
import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny import Run

SMALL = {
    "sensitivity": ("trials=500", "dims=[2,16]"),
    "sanity_check": ("trials=1000", "dims=[1,8]", "epsilons=[1]", "mechanisms=[laplace,adept,dptext_redraw]"),
    "randomized_response": ("records=[50,500]", "epsilons=[0.5,1]"),
    "mechanisms": ("trials=50", "dims=[4,8]", "epsilons=[1,8]"),
    "limits": (),
}
ROWS = {"sensitivity": 8, "sanity_check": 6, "randomized_response": 24, "mechanisms": 32, "limits": 72}


Shown = Callable[[str], tuple[Path, str]]


@pytest.fixture(scope="module")
def kept() -> dict[str, tuple[Path, str]]:
    """Return the files and the output of this module's studies."""
    return {}


@pytest.fixture
def studied(kept: dict[str, tuple[Path, str]], adept_here: Run, tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """Run a small study once; returns its directory, and what it shows."""

    def run(study: str) -> tuple[Path, str]:
        if study not in kept:
            directory = tmp_path_factory.mktemp(study) / "out"
            done = adept_here("study", f"study={study}", f"output_dir={directory}", *SMALL[study])
            assert (done.returncode, done.stderr) == (0, "")
            kept[study] = directory, done.stdout
        return kept[study]

    return run


@pytest.mark.parametrize("study", SMALL)
def test_a_study_leaves_csv_svg_and_json_with_the_same_rows(studied: Shown, study: str) -> None:
    directory, _ = studied(study)
    assert {path.name for path in directory.iterdir()} == {
        f"{study}.csv",
        f"{study}.pdf",
        f"{study}.svg",
        "result.json",
    }
    with (directory / f"{study}.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    result = json.loads((directory / "result.json").read_text("utf-8"))
    assert len(rows) == len(result["rows"]) == ROWS[study]
    assert [_text(value) for row in result["rows"] for value in row.values()] == [
        v for row in rows for v in row.values()
    ]
    assert result["simulated"] == (study != "limits")
    assert ElementTree.parse(directory / f"{study}.svg").getroot().tag.endswith("svg")


def _text(value: object) -> str:
    return "" if value is None else str(value)


def test_the_figure_of_a_study_is_the_same_for_the_same_rows(adept_here: Run, studied: Shown, tmp_path: Path) -> None:
    assert adept_here("study", "study=limits", f"output_dir={tmp_path / 'again'}").returncode == 0
    first, second = ((place / "limits.svg").read_text("utf-8") for place in (studied("limits")[0], tmp_path / "again"))
    assert first == second
    assert "SNIPS test" in first


def test_published_values_stand_beside_ours(studied: Shown) -> None:
    _, shown = studied("sanity_check")
    line = next(line.split() for line in shown.splitlines() if line.startswith("adept") and line.split()[1] == "8")
    assert line[2] == "2.581"
    assert line[6] == "2.579"
    _, shown = studied("sensitivity")
    line = next(line.split() for line in shown.splitlines() if line.split()[:3] == ["uniform", "l2", "16"])
    assert line[6:8] == ["0.9998", "yes"]


@pytest.mark.parametrize("study", SMALL)
def test_tables_fit_a_terminal_of_80_columns(studied: Shown, study: str) -> None:
    _, shown = studied(study)
    assert "…" not in shown
    assert [line for line in shown.splitlines() if line.startswith(" ") and line.strip()] == []


def test_the_latents_of_a_trained_model_are_measured_beside_the_simulation(
    adept_here: Run, tiny_run: Path, tiny_l1_run: Path, tmp_path: Path
) -> None:
    shares = {}
    for run in (tiny_run, tiny_l1_run):
        options = (f"model_dir={run}", "data.sizes=[300,20,20]", "dims=[2]", "trials=500")
        done = adept_here("study", f"output_dir={tmp_path / run.parent.name}", *options)
        assert done.returncode == 0, done.stderr
        rows = json.loads((tmp_path / run.parent.name / "result.json").read_text("utf-8"))["rows"]
        measured = [row for row in rows if row["latents"].endswith("model of air_travel")]
        assert [(row["clip"], row["dim"], row["clip_norm"]) for row in measured] == [("l2", 8, 1.0), ("l1", 8, 1.0)]
        shares[measured[0]["latents"]] = [row["share"] for row in measured]
        assert measured[0]["largest"] > 0
    assert shares["l1 model of air_travel"] == [0.0, 0.0]
    assert shares["l2 model of air_travel"][1] == 0.0


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("study=nonsense",), "study must be one of sensitivity"),
        (("study=wild",), "run `python audits/run.py wild --output-dir DIR` in the repository"),
        (("study=zoo", "trials=5"), "run `python audits/run.py zoo --output-dir DIR` in the repository"),
        (("study=randomized_response", "trials=5"), "trials must be null for study=randomized_response, got 5"),
        (("study=randomized_response", "records=[1]"), "records[0] must be an integer between 2 and 10000000, got 1"),
        (("study=limits", "trials=5"), "trials must be null for study=limits, got 5"),
        (("study=mechanisms", "model_dir=x"), "model_dir must be null for study=mechanisms"),
        (("study=sensitivity", "epsilons=[1]"), "epsilons must be null for study=sensitivity"),
        (("study=sanity_check", "dims=[0]"), "dims[0] must be an integer between 1 and 10000, got 0"),
        (("study=sanity_check", "dims=[]"), "dims must be null or have at least one value"),
        (("study=limits", "epsilons=[-1]"), "epsilons[0] must be positive and finite, got -1"),
        (("study=sensitivity", "clip_norm=0"), "clip_norm must be positive"),
        (("study=sensitivity", "model_dir=nowhere", "trials=10", "dims=[2]"), "nowhere"),
    ],
)
def test_what_a_study_cannot_use_is_refused_in_one_line(
    adept_here: Run, tmp_path: Path, overrides: tuple[str, ...], message: str
) -> None:
    done = adept_here("study", f"output_dir={tmp_path / 'out'}", *overrides)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_directory_that_holds_something_is_not_written_to(adept_here: Run, tmp_path: Path) -> None:
    (tmp_path / "limits.csv").write_text("mine", "utf-8")
    done = adept_here("study", "study=limits", f"output_dir={tmp_path}")
    assert (done.returncode, (tmp_path / "limits.csv").read_text("utf-8")) == (2, "mine")
