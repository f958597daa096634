"""What was made is found again under its own key and no other, and what was damaged is named in one line."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from made_rows import BASE

from adept.comparison.audits import AuditVerdict
from adept.comparison.cells import Cell
from adept.comparison.config import CompareConfig
from adept.comparison.families import Family
from adept.comparison.store import Store, Written, open_directory
from adept.errors import DataError

CELL = Cell("l1", 8.0, "lstm", "tfidf", Family("l1", "none"))
WRITTEN = Written(["a", "b"], ["x", "y"], 2.5)
VERDICT = AuditVerdict("l1", 8.0, False, 3.5, "")


def never() -> object:
    pytest.fail("made again")


def makers(store: Store) -> dict[str, Callable[[object], object]]:
    """For each kind of file what asks for it, given what makes it (None: the ordinary maker)."""
    return {
        "labels": lambda make: store.labels(make or (lambda: ["x", "y"])),
        "released": lambda make: store.released(CELL, make or (lambda: torch.eye(2))).tolist(),
        "written": lambda make: store.written(CELL, make or (lambda: WRITTEN)),
        "quality": lambda make: store.quality(CELL, ["bleu"], make or (lambda: {"bleu": 1.0})),
        "row": lambda make: store.row(CELL, make or (lambda: BASE)),
        "verdict": lambda make: store.verdict("l1", 8.0, make or (lambda: VERDICT), AuditVerdict),
    }


KINDS = sorted(makers(Store(Path())))


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_made_is_found_again(tmp_path: Path, kind: str) -> None:
    ask = makers(Store(tmp_path, 3))[kind]
    assert ask(None) == ask(never)


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_named_in_one_line_wherever_it_was_cut(tmp_path: Path, kind: str) -> None:
    ask = makers(Store(tmp_path))[kind]
    ask(None)
    [path] = [path for path in tmp_path.rglob("*") if path.is_file()]
    whole = path.read_bytes()
    for damaged in (b"", whole[:1], whole[: len(whole) // 2], whole[:-1], b"null", b'"{}"', b"\xff" * 20):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=r"is damaged \(\w+\): remove it") as error:
            ask(never)
        assert str(path) in str(error.value)
        assert "\n" not in str(error.value)
    path.unlink()
    assert ask(None) == ask(never)


def test_texts_with_a_label_too_few_are_damaged(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.written(CELL, lambda: WRITTEN)
    [path] = (tmp_path / "rewrites").iterdir()
    path.write_text(json.dumps({**json.loads(path.read_text()), "labels": ["x"]}))
    with pytest.raises(DataError, match="is damaged"):
        store.written(CELL)


def test_budgets_that_print_alike_share_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    close = replace(CELL, budget=8.000001)
    assert f"{close.budget:g}" == f"{CELL.budget:g}"
    store.released(CELL, lambda: torch.zeros(1, 2))
    assert store.released(close, lambda: torch.ones(1, 2)).sum() == 2
    store.verdict("l1", 8.0, lambda: VERDICT, AuditVerdict)
    other = replace(VERDICT, epsilon=8.000001)
    assert store.verdict("l1", 8.000001, lambda: other, AuditVerdict) == other


@pytest.mark.parametrize(
    "other",
    [
        replace(CELL, classifier="lstm"),
        replace(CELL, decoder="nearest"),
        replace(CELL, budget=9.0),
        replace(CELL, budget=None),
        replace(CELL, mechanism="l2"),
        replace(CELL, family=Family("l2", "none")),
        replace(CELL, family=Family("l1", "words")),
        replace(CELL, family=None, decoder=None),
    ],
)
def test_no_two_cells_share_a_row(tmp_path: Path, other: Cell) -> None:
    assert Store(tmp_path).row(CELL, lambda: BASE) == BASE
    another = replace(BASE, accuracy=0.1)
    assert Store(tmp_path).row(other, lambda: another) == another
    assert Store(tmp_path, 1).row(CELL, lambda: another) == another
    assert Store(tmp_path).row(CELL, never) == BASE  # type: ignore[arg-type]


def test_a_row_of_an_older_revision_of_a_classifier_is_made_again_and_its_texts_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, today = Store(tmp_path), replace(BASE, accuracy=0.1)
    with monkeypatch.context() as before:
        before.setattr("adept.comparison.store.REVISIONS", {})
        store.row(CELL, lambda: BASE)
        store.written(CELL, lambda: WRITTEN)
    assert store.row(CELL, lambda: today) == store.row(CELL, never) == today  # type: ignore[arg-type]
    assert store.written(CELL, never) == WRITTEN  # type: ignore[arg-type]


def test_a_release_and_its_texts_serve_every_reader(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.released(CELL, lambda: torch.eye(2))
    store.written(CELL, lambda: WRITTEN)
    assert store.released(replace(CELL, decoder="nearest"), never).tolist() == [[1, 0], [0, 1]]  # type: ignore[arg-type]
    assert store.written(replace(CELL, classifier="lstm"), never) == WRITTEN  # type: ignore[arg-type]


def test_texts_are_measured_again_where_a_column_has_come_since(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.quality(CELL, ["bleu"], lambda: {"bleu": 1.0})
    assert store.quality(CELL, ["bleu", "slots"], lambda: {"bleu": 2.0, "slots": None}) == {"bleu": 2.0, "slots": None}
    assert store.quality(CELL, ["bleu", "slots"], never)["bleu"] == 2.0  # type: ignore[arg-type]


def test_a_directory_of_another_layout_or_a_damaged_one_is_refused_in_one_line(tmp_path: Path) -> None:
    config = CompareConfig(output_dir=str(tmp_path / "run"))
    path = open_directory(config) / "comparison.json"
    settings = json.loads(path.read_text())
    settings.pop("layout")
    path.write_text(json.dumps(settings))
    with pytest.raises(DataError, match="another version of adept: choose another directory"):
        open_directory(config)
    for damaged in ("", path.read_text()[:40], "null"):
        path.write_text(damaged)
        with pytest.raises(DataError, match=r"comparison.json is damaged \(\w+\): choose another directory"):
            open_directory(config)


def test_a_directory_that_cannot_be_made_is_an_error_of_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot write output_dir"):
        open_directory(CompareConfig(output_dir=str(tmp_path / "file" / "run")))


def test_the_settings_that_were_saved_are_those_of_the_last_run(tmp_path: Path) -> None:
    config = CompareConfig(output_dir=str(tmp_path / "run"))
    open_directory(config)
    directory = open_directory(replace(config, epsilons=[3.0], baselines=True))
    saved = json.loads((directory / "comparison.json").read_text())
    assert (saved["epsilons"], saved["baselines"], saved["model"]["latent_dim"]) == ([3.0], True, 32)
    with pytest.raises(DataError, match="another samples"):
        open_directory(replace(config, samples=2))
