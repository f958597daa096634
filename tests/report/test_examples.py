"""Examples are the records' own rewrites, chosen by a rule, and no record is shown that is not public."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tiny import TINY_MODEL

from adept.comparison.run import CompareConfig, Row, compare
from adept.comparison.store import Store, Written
from adept.data.corpus import DataConfig, load
from adept.models.autoencoder import ModelConfig
from adept.models.training import TrainerConfig
from adept.report.examples import WITHHELD, examples, spread

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


def test_a_rewrite_that_is_a_private_record_is_withheld(finished: Finished, monkeypatch: pytest.MonkeyPatch) -> None:
    config, rows = finished
    records = load(config.data)["train"].texts
    shouted = Written([f"{text.upper()}." for text in records for _ in range(2)], ["a"] * 2 * len(records), 1.0)
    monkeypatch.setattr(Store, "written", lambda *_: shouted)
    private = replace(config, data=replace(config.data, public=False), examples=True)
    assert {text for example in examples(private, rows) for _, text in example.rewrites} == {WITHHELD}
    assert WITHHELD not in {text for example in examples(config, rows) for _, text in example.rewrites}
