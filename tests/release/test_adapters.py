"""Rewriting in other people's pipelines: every call is a release, and the ledger knows."""

import pickle
from pathlib import Path

import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from adept.cli.ledger import LedgerConfig, run
from adept.errors import ConfigurationError, ReleaseRefused
from adept.mechanisms import Description, Identity, LearnedCodebook, SqrtNLaplace
from adept.release.adapters import DatasetRewriter
from adept.release.transformer import PrivateText
from adept.rewriting.loading import load_model
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
    """What a first call leaves in memory must not make the rewriter another one, for which nothing is cached."""
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
    assert len(clone(PrivateText(rewriter)).fit(TEXTS).transform(TEXTS)) == 12


def test_cross_validation_releases_again_and_the_ledger_says_so(rewriter: Rewriter, tmp_path: Path) -> None:
    ledger = str(tmp_path / "ledger.db")
    labels = [i % 2 for i in range(12)]

    def scored(**options: object) -> object:
        step = PrivateText(rewriter, ledger=ledger, **options)
        pipeline = make_pipeline(step, CountVectorizer(token_pattern=r"\S+"), MultinomialNB())
        return cross_val_score(pipeline, TEXTS, labels, cv=3, error_score="raise")

    with pytest.raises(ReleaseRefused, match="are in the ledger already"):
        scored()
    _, before = run(LedgerConfig(ledger))
    assert before.epsilon == 8.0
    scored(again=True)
    _, after = run(LedgerConfig(ledger))
    assert after.epsilon >= 24.0
    assert after.rows == 12


def test_what_is_no_text_or_only_measured_is_refused(rewriter: Rewriter, tiny_run: Path) -> None:
    with pytest.raises(ConfigurationError, match="texts must be strings"):
        PrivateText(rewriter).transform([1, 2])  # type: ignore[list-item]
    measured = Rewriter.for_measurement(*load_model(tiny_run), mechanism=Identity())
    with pytest.raises(ReleaseRefused, match="for measurement"):
        PrivateText(measured).transform(TEXTS)
