"""The best attack on a file's released counts lies within its bound, and near it; it is the epsilon that bounds it."""

from pathlib import Path

import pytest
from tiny import Run

from adept.attacks import membership
from adept.mechanisms import Votes
from adept.rewriting.loading import load_model
from adept.synthesis.synthesizer import NeighbouringFiles, Synthesizer


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_membership_in_a_file_is_bounded_by_epsilon(topic_run: Path, epsilon: float) -> None:
    """Intervals of confidence .9999999: a false alarm has a probability below 1e-6."""
    loaded = load_model(topic_run)
    made = Synthesizer(*loaded, votes=Votes(epsilon=epsilon), label_set=["one", "other"], cells=4)
    curve, power = membership.play_file(NeighbouringFiles(made), rounds=800, confidence=1 - 1e-7)
    assert not curve.beyond_bound
    assert not power.beyond_bound
    assert 0.5 < curve.rate.value < curve.bound + 0.05
    assert curve.rate.value > 0.5 + 0.4 * (curve.bound - 0.5)  # one count of noise of scale 1/epsilon: nearly the best


def test_too_little_noise_is_beyond_the_bound(topic_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Synthesizer(*load_model(topic_run), votes=Votes(epsilon=0.5), label_set=["one", "other"], cells=4)
    files = NeighbouringFiles(made)
    monkeypatch.setattr(Votes, "privatize", lambda self, counts: counts)
    assert membership.play_file(files, rounds=800)[1].beyond_bound


def test_the_command_says_it_in_words(adept_here: Run, topic_run: Path, tmp_path: Path) -> None:
    done = adept_here(
        "attack", "attack=file_membership", f"model_dir={topic_run}", "epsilon=1", "records=400",
        f"output_dir={tmp_path}/attack",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "file_membership of synthesizer, claimed epsilon 1" in done.stdout
