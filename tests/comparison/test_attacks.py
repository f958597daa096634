"""Attacks beside a comparison's mechanisms are made once, keep to what may be kept, and show a bound that is exceeded."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from comparing import compare, unaudited
from tiny import TINY_SIZES

from adept.attacks.likelihood import read_candidates
from adept.comparison import comparison as evidence
from adept.comparison.comparison import Comparison
from adept.comparison.config import CompareConfig
from adept.comparison.results import AttackedRelease
from adept.data.corpus import DataConfig, load
from adept.errors import ConfigurationError
from adept.mechanisms import BY_NAME
from adept.models.config import DecodingConfig

MECHANISMS = ["learned_codebook", "original", "sqrt_n"]


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "SECRETS", 60)
    monkeypatch.setattr(evidence, "CANDIDATES", 300)


def config(directory: Path, model: Path, **changes: object) -> CompareConfig:
    options: dict[str, object] = {
        "data": DataConfig(sizes=TINY_SIZES),
        "mechanisms": MECHANISMS,
        "epsilons": [1.0, 100.0],
        "seeds": [0],
        "model_dir": str(model),
        "attacks": True,
        "decoding": DecodingConfig(strategy="nearest"),
        "output_dir": str(directory),
        **changes,
    }
    return CompareConfig(**options)  # type: ignore[arg-type]


def attacked(asked: CompareConfig) -> list[AttackedRelease]:
    with unaudited():
        return compare(asked).attacks


def test_each_mechanism_is_attacked_once_at_each_budget_and_saved(
    topic_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release that is read by two decoders is attacked once; a second run finds everything."""
    asked = config(tmp_path, topic_run, baselines=True)
    found = attacked(asked)
    assert [(one.mechanism, one.claimed_epsilon) for one in found] == [
        (name, epsilon) for name in MECHANISMS for epsilon in (1.0, 100.0)
    ]
    assert not any(row.beyond_bound for one in found for row in one.rows)  # false alarms: 5e-5 an interval, 12 of them
    assert all((row.optimum is not None) == (one.mechanism == MECHANISMS[0]) for one in found for row in one.rows)
    original = found[2]
    assert original.epsilon > 2 * original.claimed_epsilon
    assert original.rows[0].refutes_claim or original.rows[0].detail["beyond_claim"]  # each release says it
    table = list(csv.DictReader((tmp_path / "attacks.csv").read_text().splitlines()))
    assert [float(line["rate"]) for line in table] == [row.rate.value for one in found for row in one.rows]
    monkeypatch.setattr(evidence, "play", lambda *_, **__: pytest.fail("attacked again"))
    assert attacked(asked) == found
    assert attacked(replace(asked, attacks=False)) == []


def test_no_record_that_was_named_is_kept(topic_run: Path, tmp_path: Path) -> None:
    [found] = attacked(config(tmp_path, topic_run, mechanisms=["original"], epsilons=[1000.0]))
    assert found.rows[0].rate.value > 0.5
    kept = "".join(path.read_text() for path in (tmp_path / "attacks").iterdir())
    assert not any(text in kept for text in load(DataConfig(sizes=TINY_SIZES))["train"].texts)


def test_a_comparison_grows_by_attacks_which_are_made_where_its_rows_are(
    topic_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A comparison that was made without attacks is attacked later with the first seed's models; no row is made again."""
    asked = config(tmp_path, topic_run, mechanisms=["sqrt_n"], epsilons=[8.0], attacks=False)
    with unaudited():
        rows = compare(asked).rows
        assert not (tmp_path / "attacks").exists()
        grown = Comparison(replace(asked, attacks=True))
        assert list(grown.run()) == list(range(1, len(rows) + 1))
        monkeypatch.setattr(evidence, "play", lambda *_, **__: pytest.fail("attacked again"))
        results = grown.collect()
    assert results.rows == rows
    assert len(results.attacks) == 1


@pytest.mark.parametrize("name", sorted(set(BY_NAME) - {"identity", "random", "description"}))
def test_the_distribution_of_every_mechanism_is_known(name: str) -> None:
    """Otherwise a comparison would end at its attack."""
    mechanism = BY_NAME[name](epsilon=4.0)
    latents = torch.eye(3, dtype=torch.float64)
    scores = read_candidates(mechanism, latents).log_likelihood(mechanism.privatize(latents))
    assert scores.shape == (3, 3)


def test_labels_that_are_one_symbol_with_the_text_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="labels must be copy or randomized_response with attacks=true"):
        CompareConfig(labels="joint_response", attacks=True)
