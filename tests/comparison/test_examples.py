"""Examples are the records' own rewrites, chosen by a rule, and no record is shown that is not public."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from comparing import compared
from tiny import TINY_MODEL

from adept.comparison import comparison as evidence
from adept.comparison.comparison import WITHHELD, Trial, bare, obtain_row, spread
from adept.comparison.config import CompareConfig, plan_comparison
from adept.comparison.results import Example, Store, WrittenTexts
from adept.data.corpus import DataConfig, load
from adept.models.config import ModelConfig, TrainerConfig


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> CompareConfig:
    config = CompareConfig(
        data=DataConfig(sizes=[120, 20, 40]),
        mechanisms=["original", "codebook", "learned_codebook"],
        epsilons=[8.0, 16.0, 64.0],
        seeds=[0],
        samples=2,
        baselines=True,
        model=ModelConfig(**TINY_MODEL),  # type: ignore[arg-type]
        trainer=TrainerConfig(max_epochs=1),
        output_dir=str(tmp_path_factory.mktemp("examples") / "run"),
    )
    compared(config)
    return config


def examples(finished: CompareConfig, **changes: object) -> list[Example]:
    """The examples of what was compared, if something else had been asked."""
    store = Store(finished)
    store.config = replace(finished, **changes)  # type: ignore[arg-type]
    trial = Trial(store, load(finished.data), 0)
    found = [(cell, obtain_row(trial, cell)) for cell in plan_comparison(finished).recipes]
    return evidence.choose_examples(trial, [(cell, row) for cell, row in found if row])


def private(finished: CompareConfig) -> DataConfig:
    return replace(finished.data, public=False)


def test_records_are_spread_evenly_whatever_they_say() -> None:
    assert spread(60, 6) == [5, 15, 25, 35, 45, 55]
    assert spread(2, 6) == [0, 1]


def test_each_row_shows_the_first_rewrite_of_the_record_itself(finished: CompareConfig) -> None:
    chosen = examples(finished)
    kept = {
        path.stem: json.loads(path.read_text())["texts"] for path in (Path(finished.output_dir) / "rewrites").iterdir()
    }
    assert len(chosen) == 6
    for index, example in zip(spread(60, 6), chosen, strict=True):
        texts = {(row.mechanism, row.claimed_epsilon): text for row, text in example.rewrites}
        assert texts["original", 8.0] == kept["original-8.0-l2-lstm-seed0"][2 * index]
        assert texts["learned_codebook", 64.0] == kept["learned_codebook-64.0-sphere-topics-lstm-seed0"][2 * index]
        assert ("codebook", 16.0) not in texts
    assert len({example.original for example in chosen} & set(load(finished.data)["train"].texts)) == 6


def test_data_that_are_not_public_have_no_examples_unless_somebody_asks(finished: CompareConfig) -> None:
    assert examples(finished, data=private(finished)) == []
    assert len(examples(finished, data=private(finished), examples=True)) == 6


def test_nothing_of_data_that_are_not_public_is_shown_but_what_a_true_claim_covers(finished: CompareConfig) -> None:
    chosen = examples(finished, data=private(finished), examples=True)
    assert all(example.original is None for example in chosen)
    shown = {row.mechanism for example in chosen for row, _ in example.rewrites}
    assert shown == {"random", "codebook", "learned_codebook"}


def shouted(texts: list[str]) -> WrittenTexts:
    """Copies, two a record, as a tokenizer may have changed them."""
    return WrittenTexts([f"{text.upper()}." for text in texts for _ in range(2)], ["a"] * 2 * len(texts), {})


def test_training_text_is_withheld_and_nothing_is_compared_with_the_records(
    finished: CompareConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were matches with the rewritten records marked, the page would tell what the release hides."""
    find = Store.find

    def shown(texts: list[str], **changes: object) -> set[str]:
        with monkeypatch.context() as patch:
            patch.setattr(
                Store, "find", lambda s, kind, *key: shouted(texts) if kind is WrittenTexts else find(s, kind, *key)
            )
            return {text for example in examples(finished, **changes) for _, text in example.rewrites}

    trial = Trial(Store(finished), load(finished.data), 0)
    own, public = trial.private.texts, trial.public.texts
    asked = {"data": private(finished), "examples": True}
    assert shown(public, **asked) == {WITHHELD}
    assert WITHHELD not in shown(public)
    only_private = [text for text in own if bare(text) not in {*map(bare, public), *map(bare, trial.validation.texts)}]
    assert WITHHELD not in shown((only_private * 60)[:60], **asked)


def test_a_model_that_has_seen_the_records_shows_nothing_of_data_that_are_not_public(finished: CompareConfig) -> None:
    assert examples(finished, data=private(finished), examples=True, protocol="paper") == []
