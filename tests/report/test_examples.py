"""Examples are the records' own rewrites, chosen by a rule, and no record is shown that is not public."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tiny import TINY_MODEL

from adept.comparison.run import CompareConfig, Row, compare
from adept.comparison.store import Store, Written
from adept.comparison.trial import Trial
from adept.data.corpus import DataConfig, load
from adept.models.network.autoencoder import ModelConfig
from adept.models.training.config import TrainerConfig
from adept.report.examples import WITHHELD, bare, examples, spread

Finished = tuple[CompareConfig, list[Row]]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
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
    return config, compare(config)


def test_records_are_spread_evenly_whatever_they_say() -> None:
    assert spread(60, 6) == [5, 15, 25, 35, 45, 55]
    assert spread(2, 6) == [0, 1]


def test_each_row_shows_the_first_rewrite_of_the_record_itself(finished: Finished) -> None:
    config, rows = finished
    chosen = examples(config, rows)
    kept = {
        path.stem: json.loads(path.read_text())["texts"] for path in (Path(config.output_dir) / "rewrites").iterdir()
    }
    assert len(chosen) == 6
    for index, example in zip(spread(60, 6), chosen, strict=True):
        texts = {(row.mechanism, row.claimed_epsilon): text for row, text in example.rewrites}
        assert texts["original", 8.0] == kept["original-8.0-l2-lstm-seed0"][2 * index]
        assert texts["learned_codebook", 64.0] == kept["learned_codebook-64.0-sphere-topics-lstm-seed0"][2 * index]
        assert texts["lookup", 8.0] == kept["lookup-8.0-nearest-seed0"][2 * index]
        assert ("codebook", 16.0) not in texts
    assert len({example.original for example in chosen} & set(load(config.data)["train"].texts)) == 6


def test_data_that_are_not_public_have_no_examples_unless_somebody_asks(finished: Finished) -> None:
    config, rows = finished
    private = replace(config, data=replace(config.data, public=False))
    assert examples(private, rows) == []
    assert len(examples(replace(private, examples=True), rows)) == 6


def test_nothing_of_data_that_are_not_public_is_shown_but_what_a_true_claim_covers(finished: Finished) -> None:
    config, rows = finished
    private = replace(config, data=replace(config.data, public=False), examples=True)
    chosen = examples(private, rows)
    assert all(example.original is None for example in chosen)
    shown = {row.mechanism for example in chosen for row, _ in example.rewrites}
    assert shown == {"random", "codebook", "learned_codebook"}


def shouted(texts: list[str]) -> Written:
    """Copies, two a record, as a tokenizer may have changed them."""
    return Written([f"{text.upper()}." for text in texts for _ in range(2)], ["a"] * 2 * len(texts), 1.0)


def test_what_the_model_was_trained_on_is_withheld_and_nothing_is_compared_with_the_records(
    finished: Finished, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were matches with the rewritten records marked, the page would tell what the release hides."""
    config, rows = finished
    private = replace(config, data=replace(config.data, public=False), examples=True)
    trial = Trial(config, load(config.data), 0)
    own, public = trial.private.texts, trial.public.texts
    monkeypatch.setattr(Store, "written", lambda *_: shouted(public))
    assert {text for example in examples(private, rows) for _, text in example.rewrites} == {WITHHELD}
    assert WITHHELD not in {text for example in examples(config, rows) for _, text in example.rewrites}
    only_private = [text for text in own if bare(text) not in {*map(bare, public), *map(bare, trial.validation.texts)}]
    monkeypatch.setattr(Store, "written", lambda *_: shouted((only_private * 60)[:60]))
    assert WITHHELD not in {text for example in examples(private, rows) for _, text in example.rewrites}


def test_a_model_that_has_seen_the_records_shows_nothing_of_data_that_are_not_public(finished: Finished) -> None:
    config, rows = finished
    private = replace(config, data=replace(config.data, public=False), examples=True, protocol="paper")
    assert examples(private, rows) == []
