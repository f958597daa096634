"""Rewriting of data sets: every call is a release, and all batches can be checked before."""

import pickle
from pathlib import Path

import pytest

from adept.errors import ConfigurationError, DataError
from adept.mechanisms import Description, LearnedCodebook, SqrtNLaplace
from adept.release.adapters import DatasetRewriter
from adept.rewriting.rewriter import Rewriter

TEXTS = [f"a fare to {i}" for i in range(12)]


@pytest.fixture(scope="module")
def rewriter(tiny_run: Path) -> Rewriter:
    return Rewriter.from_pretrained(tiny_run, mechanism=SqrtNLaplace(epsilon=8.0))


def test_a_data_set_is_mapped_and_only_rewritten_text_is_left(rewriter: Rewriter, tmp_path: Path) -> None:
    import datasets

    datasets.disable_progress_bars()
    given = datasets.Dataset.from_dict({"text": TEXTS, "secret": TEXTS})
    private = given.map(
        DatasetRewriter(rewriter), batched=True, batch_size=5, remove_columns=given.column_names,
        cache_file_name=str(tmp_path / "cache.arrow"),
    )  # fmt: skip
    assert private.column_names == ["text"]
    assert len(private) == 12
    assert not set(private["text"]) & set(TEXTS)
    with pytest.raises(ConfigurationError, match="text_column must be a column"):
        DatasetRewriter(rewriter, text_column="utterance")({"text": TEXTS})


@pytest.mark.parametrize("mechanism", [Description(epsilon=12.0), LearnedCodebook(epsilon=4.0)])
def test_a_data_set_in_files_is_released_once_however_often_it_is_mapped(
    mechanism: Description | LearnedCodebook, tiny_run: Path, tmp_path: Path
) -> None:
    """A first call must leave nothing in memory that makes the rewriter another one, for which nothing is cached."""
    import datasets

    datasets.disable_progress_bars()
    texts = [f"a fare to boston {i} wojciechowski" for i in range(40)]
    datasets.Dataset.from_dict({"text": texts}).save_to_disk(tmp_path / "given")
    given = datasets.load_from_disk(tmp_path / "given")
    rewrite = DatasetRewriter(Rewriter.from_pretrained(tiny_run, mechanism=mechanism))
    first, second = (list(given.map(rewrite, batched=True)["text"]) for _ in range(2))
    assert second == first
    assert b"wojciechowski" not in pickle.dumps(rewrite)


def test_it_can_be_copied_as_pipelines_do(rewriter: Rewriter) -> None:
    assert len(pickle.loads(pickle.dumps(DatasetRewriter(rewriter)))({"text": TEXTS})["text"]) == 12


def test_an_unbatched_map_releases_each_text_once_and_returns_texts(rewriter: Rewriter) -> None:
    import datasets

    datasets.disable_progress_bars()
    given = datasets.Dataset.from_dict({"text": TEXTS})
    private = given.map(DatasetRewriter(rewriter), remove_columns=["text"])
    assert len(private) == 12
    assert {type(text) for text in private["text"]} == {str}
    for text in (None, 3, b"play"):
        with pytest.raises(DataError, match="texts must be a list of strings"):
            DatasetRewriter(rewriter)({"text": text})


def test_all_batches_of_a_data_set_can_be_checked_before_the_first_is_released(rewriter: Rewriter) -> None:
    import datasets

    rewrite = DatasetRewriter(rewriter)
    given = datasets.Dataset.from_dict({"text": ["a fare"] * 1500 + [None], "user": range(1501)})
    assert rewrite.check(given.select(range(1500))) == 1500
    assert rewrite.check(given.select(range(1500)).to_iterable_dataset()) == 1500
    for whole in (given, given.to_iterable_dataset()):
        with pytest.raises(DataError, match="missing value at position 1501:"):
            rewrite.check(whole)
    with pytest.raises(ConfigurationError, match=r"got 'text': it has 'user'"):
        rewrite.check(given.remove_columns("text"))
    with pytest.raises(DataError, match="check each split"):
        rewrite.check({"train": given})
