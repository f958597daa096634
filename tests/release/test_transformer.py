"""Rewriting as a step of scikit-learn: no text is released twice without being asked, and the ledger knows."""

import copy
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from adept.cli.ledger import LedgerConfig, run
from adept.errors import AdeptError, ConfigurationError, DataError, ReleaseRefused
from adept.mechanisms import Identity, SqrtNLaplace
from adept.release import transformer
from adept.release.transformer import PrivateText
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import Rewriter

TEXTS = [f"a fare to {i}" for i in range(12)]


@pytest.fixture(autouse=True)
def _new_memory() -> Iterator[None]:
    """Begin each test as a process that has released nothing."""
    transformer._SPENT.clear()
    yield
    transformer._SPENT.clear()


@pytest.fixture(scope="module")
def rewriter(tiny_run: Path) -> Rewriter:
    return Rewriter.from_pretrained(tiny_run, mechanism=SqrtNLaplace(epsilon=8.0))


def test_a_step_can_be_copied_as_pipelines_do(rewriter: Rewriter) -> None:
    assert len(clone(PrivateText(rewriter)).fit(TEXTS).transform(TEXTS)) == 12


def test_cross_validation_releases_again_and_the_ledger_says_so(rewriter: Rewriter, tmp_path: Path) -> None:
    ledger = str(tmp_path / "ledger.db")
    labels = [i % 2 for i in range(12)]

    def scored(**options: object) -> object:
        transformer._SPENT.clear()  # as in another process
        step = PrivateText(rewriter, ledger=ledger, **options)
        pipeline = make_pipeline(step, CountVectorizer(token_pattern=r"\S+"), MultinomialNB())
        return cross_val_score(pipeline, TEXTS, labels, cv=3, error_score="raise")

    with pytest.raises(ReleaseRefused, match="rewrite once"):  # this process knows what the first fold has released
        scored()
    with pytest.raises(ReleaseRefused, match="are in the ledger already"):
        scored()
    _, before, _ = run(LedgerConfig(ledger))
    assert before.epsilon == 8.0
    scored(again=True)
    _, after, _ = run(LedgerConfig(ledger))
    assert after.epsilon >= 24.0
    assert after.rows == 12


def test_what_is_no_text_or_only_measured_is_refused(rewriter: Rewriter, tiny_run: Path) -> None:
    with pytest.raises(DataError, match="texts must be strings"):
        PrivateText(rewriter).transform([1, 2])
    measured = Rewriter.for_measurement(*load_model(tiny_run), mechanism=Identity())
    with pytest.raises(ReleaseRefused, match="for measurement"):
        PrivateText(measured).transform(TEXTS)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, clone, lambda step: pickle.loads(pickle.dumps(step))])
def test_a_text_is_released_once_by_a_step_its_copies_and_others(rewriter: Rewriter, again: Any) -> None:
    step = PrivateText(rewriter)
    assert step.spent() == 0
    assert (
        len(step.fit_transform(["a fare", "a fare", "a meal"])) == 3
    )  # equal texts of a call are records of their own
    for other in (step, again(step), PrivateText(rewriter)):
        with pytest.raises(
            ReleaseRefused, match=r"1 different texts were released before.*rewrite once, before the search"
        ):
            other.transform(["a fare", "new"])
        assert other.spent() == 8
    assert len(step.transform(["new"])) == 1  # a refused call has spent nothing
    allowed = clone(step).set_params(again=True)
    allowed.transform(["a fare"])
    assert step.spent() == allowed.spent() == 16


def test_a_search_that_transforms_in_its_folds_is_refused(rewriter: Rewriter) -> None:
    pipeline = make_pipeline(PrivateText(rewriter), CountVectorizer(token_pattern=r"\S+"), MultinomialNB())
    search = GridSearchCV(pipeline, {"multinomialnb__alpha": [0.5, 1]}, cv=3, error_score="raise")
    with pytest.raises(ReleaseRefused, match="rewrite once"):
        search.fit(TEXTS, [i % 2 for i in range(12)])
    rewrites = PrivateText(rewriter, again=True).fit_transform(TEXTS)
    search.set_params(estimator=make_pipeline(CountVectorizer(token_pattern=r"\S+"), MultinomialNB()))
    search.fit(rewrites, [i % 2 for i in range(12)])


def test_a_call_that_fails_spends_nothing(rewriter: Rewriter, monkeypatch: pytest.MonkeyPatch) -> None:
    step = PrivateText(rewriter)
    with pytest.raises(DataError, match="position 2"):
        step.fit_transform(["a fare", None])
    broken = copy.copy(rewriter)
    monkeypatch.setattr(broken, "rewrite_pairs", lambda texts, labels: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        PrivateText(broken).transform(["a fare"])
    assert step.spent() == 0
    assert len(step.transform(["a fare"])) == 1


def test_a_column_of_a_frame_is_rewritten_and_never_its_name(rewriter: Rewriter) -> None:
    frame = pd.DataFrame({"text": TEXTS, "n": range(12)}, index=np.zeros(12))
    assert len(PrivateText(rewriter).transform(frame[["text"]])) == 12
    words = make_pipeline(PrivateText(rewriter, again=True), CountVectorizer(token_pattern=r"\S+"))
    for columns in (["text"], "text"):
        assert ColumnTransformer([("words", words, columns)]).fit_transform(frame).shape[0] == 12
    for given in (frame, "a fare"):
        with pytest.raises(AdeptError):
            PrivateText(rewriter, again=True).transform(given)


def test_a_limit_without_a_ledger_is_refused(rewriter: Rewriter) -> None:
    with pytest.raises(ConfigurationError, match="ledger must be given with ledger_limit"):
        PrivateText(rewriter, ledger_limit=8.0).transform(["never released"])
