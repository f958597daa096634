"""``trust=all``: one neighbouring relation, true epsilons, and the numbers that a shuffled file states."""

import csv
import json
from pathlib import Path

import pytest
from comparing import unaudited
from tiny import TINY_MODEL

from adept.comparison.config import CompareConfig
from adept.comparison.trust import TrustComparison, TrustRow
from adept.data.corpus import DataConfig, hold_out, load
from adept.errors import ConfigurationError
from adept.models.config import ModelConfig, TrainerConfig

RECORDS = 200  # the private half
BUDGETS = [2.0, 8.0]


def asked(directory: Path, **changes: object) -> CompareConfig:
    options: dict[str, object] = {
        "trust": "all",
        "mechanisms": ["learned_codebook", "original"],
        "data": DataConfig(sizes=[2 * RECORDS, 40, 60]),
        "epsilons": BUDGETS,
        "seeds": [0],
        "model": ModelConfig(**TINY_MODEL),  # type: ignore[arg-type]
        "trainer": TrainerConfig(max_epochs=1),
        "output_dir": str(directory),
        **changes,
    }
    return CompareConfig(**options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[TrustRow]]:
    """A small comparison of all kinds of trust: its directory and its rows."""
    directory = tmp_path_factory.mktemp("trust") / "run"
    with unaudited():
        comparison = TrustComparison(asked(directory))
        told = list(comparison.run())
        assert (told[-1], len(told)) == (comparison.size, comparison.size)
        return directory, comparison.collect().rows


def chosen(rows: list[TrustRow], kind: str, mechanism: str, labels: str) -> list[TrustRow]:
    return [row for row in rows if (row.trust, row.mechanism, row.labels) == (kind, mechanism, labels)]


@pytest.mark.slow
def test_every_kind_of_trust_has_the_epsilons_that_were_asked_for(
    compared: tuple[Path, list[TrustRow]],
) -> None:
    """Were the synthesizer not run at half of each, it would spend twice what stands beside its accuracy."""
    _, rows = compared
    central = chosen(rows, "central", "synthesizer", "private")
    assert [(row.claimed_epsilon, row.epsilon) for row in central] == [(1.0, 2.0), (4.0, 8.0)]
    for labels in ("private", "copied"):
        assert [row.epsilon for row in chosen(rows, "local", "learned_codebook", labels)] == BUDGETS
        original = chosen(rows, "local", "original", labels)
        assert [row.epsilon for row in original] == pytest.approx(BUDGETS)
        spent = TINY_MODEL["latent_dim"] ** 0.5
        claimed = 2 / ((spent + 1) / 2) if labels == "private" else 2 / spent
        assert original[0].claimed_epsilon == pytest.approx(claimed)


@pytest.mark.slow
def test_a_shuffled_row_is_a_local_one_with_the_epsilon_of_its_files_statement(
    compared: tuple[Path, list[TrustRow]],
) -> None:
    _, rows = compared
    local, together = (chosen(rows, kind, "learned_codebook", "private") for kind in ("local", "shuffled"))
    assert [row.accuracy for row in local] == [row.accuracy for row in together]
    assert {(row.records, row.delta) for row in together} == {(RECORDS, 1e-6)}
    assert all((row.epsilon or 0) <= (own.epsilon or 0) for row, own in zip(together, local, strict=True))
    assert (together[0].epsilon or 0) < 1.9
    copied = chosen(rows, "shuffled", "learned_codebook", "copied")
    assert all((row.records or RECORDS) < RECORDS / 3 for row in copied)  # the label with the fewest records decides
    assert not chosen(rows, "shuffled", "original", "private")


@pytest.mark.slow
def test_labels_that_are_called_private_were_randomised(compared: tuple[Path, list[TrustRow]]) -> None:
    directory, _ = compared
    with (directory / "original-randomized_response" / "results.csv").open() as file:
        rows = {row["mechanism"]: row for row in csv.DictReader(file) if row["claimed_epsilon"] in ("", "2.0")}
    found = {name: (row["labels"], row["label_epsilon"]) for name, row in rows.items()}
    assert found["none"] == found["identity"] == found["random"] == ("copy", "")
    with (directory / "original-randomized_response" / "results.csv").open() as file:
        released = [row for row in csv.DictReader(file) if row["mechanism"] == "original"]
    assert [row["labels"] for row in released] == ["randomized_response"] * 2
    assert [2 * float(row["label_epsilon"]) for row in released] == [float(row["claimed_epsilon"]) for row in released]
    assert len(list((directory / "original-randomized_response" / "labels").iterdir())) == 2
    least = min((directory / "original-randomized_response" / "labels").iterdir())
    private = hold_out(load(DataConfig(sizes=[2 * RECORDS, 40, 60]))["train"], share=0.5, seed=0)[1]
    pairs = zip(json.loads(least.read_text())["values"], private.labels or [], strict=True)
    assert (
        sum(released == own for released, own in pairs) < 0.7 * RECORDS
    )  # one of five at .52: a false alarm in 10^40 runs
    with (directory / "learned_codebook-joint_response" / "results.csv").open() as file:
        assert {row["labels"] for row in csv.DictReader(file) if row["claimed_epsilon"]} == {"joint_response"}


@pytest.mark.slow
def test_models_are_shared_and_a_table_is_written(compared: tuple[Path, list[TrustRow]]) -> None:
    directory, rows = compared
    assert sorted(path.name for path in (directory / "models").iterdir()) == ["l2-seed0", "sphere-topics-seed0"]
    assert not list(directory.glob("*/models"))
    with (directory / "trust.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(rows)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"attacks": True}, "attacks must be false for trust=all"),
        ({"epsilons": [0.0]}, "epsilon must be"),
        ({"mechanisms": ["synthesizer"]}, "mechanisms must be one of"),
    ],
)
def test_what_a_table_of_trust_has_no_rows_for_is_refused(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        asked(tmp_path / "c", **changes)
