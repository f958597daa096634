"""A stored result is found under its own key and no other; a damaged one is named in one line."""

import errno
import json
import math
import os
from dataclasses import replace
from pathlib import Path

import pytest
from made_rows import BASE, attacked

from adept.comparison.config import CompareConfig, ModelKind, Recipe
from adept.comparison.results import AuditVerdict, ReleasedLabels, ResultRow, Store, WrittenTexts, open_directory
from adept.data.corpus import DataConfig
from adept.errors import DataError

RECIPE = Recipe("l1", 8.0, "lstm", "tfidf", ModelKind("l1", "none"))
WRITTEN = WrittenTexts(["a", "b"], ["x", "y"], {"epsilon": math.inf})
VERDICT = AuditVerdict("l1", 8.0, False, 3.5, "", "in words")
ATTACKED = attacked("dptext", epsilon=math.inf, largest_odds=math.inf)
KINDS = {type(value).__name__: value for value in (ReleasedLabels(["x", "y"]), WRITTEN, BASE, VERDICT, ATTACKED)}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(CompareConfig(output_dir=str(tmp_path / "run")))


@pytest.mark.parametrize("value", KINDS.values(), ids=KINDS)
def test_what_was_kept_is_found_again(store: Store, value: ResultRow) -> None:
    """Also where a number is infinite."""
    assert store.find(type(value), 3, RECIPE) is None
    assert store.keep(value, 3, RECIPE) is value
    assert store.find(type(value), 3, RECIPE) == value


@pytest.mark.parametrize("value", KINDS.values(), ids=KINDS)
def test_a_damaged_file_is_named_in_one_line_wherever_it_was_cut(store: Store, value: ResultRow) -> None:
    store.keep(value, 0, RECIPE)
    [path] = [path for path in store.directory.rglob("*") if path.is_file() and path.name != "comparison.json"]
    whole = path.read_bytes()
    for damaged in (b"", whole[:1], whole[: len(whole) // 2], whole[:-1], b"null", b'"{}"', b"\xff" * 20):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=r"is damaged \(\w+\): remove it") as error:
            store.find(type(value), 0, RECIPE)
        assert str(path) in str(error.value)
        assert "\n" not in str(error.value)
    path.unlink()
    assert store.find(type(value), 0, RECIPE) is None


def test_texts_with_a_label_too_few_are_damaged(store: Store) -> None:
    store.keep(WRITTEN, 0, RECIPE)
    [path] = (store.directory / "rewrites").iterdir()
    path.write_text(json.dumps({**json.loads(path.read_text()), "labels": ["x"]}))
    with pytest.raises(DataError, match="is damaged"):
        store.find(WrittenTexts, 0, RECIPE)


def test_budgets_that_print_alike_share_nothing(store: Store) -> None:
    close = replace(RECIPE, budget=8.000001)
    assert f"{close.budget:g}" == f"{RECIPE.budget:g}"
    store.keep(WRITTEN, 0, RECIPE)
    store.keep(VERDICT, 0, RECIPE)
    assert store.find(WrittenTexts, 0, close) is None
    assert store.find(AuditVerdict, 0, close) is None


@pytest.mark.parametrize(
    "other",
    [
        replace(RECIPE, classifier="lstm"),
        replace(RECIPE, decoder="nearest"),
        replace(RECIPE, budget=9.0),
        replace(RECIPE, budget=None),
        replace(RECIPE, mechanism="l2"),
        replace(RECIPE, model=ModelKind("l2", "none")),
        replace(RECIPE, model=ModelKind("l1", "words")),
        replace(RECIPE, model=None, decoder=None),
    ],
)
def test_no_two_recipes_share_a_row(store: Store, other: Recipe) -> None:
    store.keep(BASE, 0, RECIPE)
    assert store.find(ResultRow, 0, other) is store.find(ResultRow, 1, RECIPE) is None


def test_texts_serve_every_classifier_and_a_verdict_every_seed(store: Store) -> None:
    for value in (WRITTEN, VERDICT):
        store.keep(value, 0, RECIPE)
    assert store.find(WrittenTexts, 0, replace(RECIPE, classifier="lstm")) == WRITTEN
    assert store.find(AuditVerdict, 1, replace(RECIPE, model=None)) == VERDICT


def test_a_row_is_kept_again_with_what_was_measured(store: Store) -> None:
    store.keep(BASE, 0, RECIPE)
    store.keep(replace(BASE, words=0.5), 0, RECIPE)
    assert store.find(ResultRow, 0, RECIPE) == replace(BASE, words=0.5)


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
    with pytest.raises(DataError, match="cannot make output_dir"):
        open_directory(CompareConfig(output_dir=str(tmp_path / "file" / "run")))


def test_a_full_disk_leaves_the_settings_of_a_comparison_and_the_rows_that_it_holds(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the directory would hold no comparison any more, and all its results would be lost."""
    row = store.keep(BASE, 0, RECIPE)

    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        for again in (lambda: open_directory(store.config), lambda: store.keep(replace(BASE, accuracy=0.1), 0, RECIPE)):
            with pytest.raises(DataError, match="No space left on device"):
                again()
    open_directory(store.config)
    assert store.find(ResultRow, 0, RECIPE) == row


def test_the_settings_that_were_saved_are_those_of_the_last_run(tmp_path: Path) -> None:
    config = CompareConfig(output_dir=str(tmp_path / "run"))
    open_directory(config)
    directory = open_directory(replace(config, epsilons=[3.0], baselines=True))
    saved = json.loads((directory / "comparison.json").read_text())
    assert (saved["epsilons"], saved["baselines"], saved["model"]["latent_dim"]) == ([3.0], True, 32)
    with pytest.raises(DataError, match="another samples"):
        open_directory(replace(config, samples=2))


def test_a_comparison_goes_on_from_another_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    begun = CompareConfig(output_dir="run", model_dir="model", data=DataConfig(name="files", path="data"))
    open_directory(begun)
    monkeypatch.chdir(tmp_path / "sub")
    meant = replace(begun, output_dir="../run", model_dir="../model", data=replace(begun.data, path="../data"))
    assert open_directory(meant).samefile(tmp_path / "run")
    with pytest.raises(DataError, match=f"another data.path \\({tmp_path}/data\\): give the same options"):
        open_directory(replace(meant, data=begun.data))
