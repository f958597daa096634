"""Claims about the two ends of every comparison. Statistical: four scores with the limit 8 (see conftest.py)."""

import math

import pytest
import torch

from adept.errors import ConfigurationError
from adept.mechanisms import Identity, Random

LIMIT = 8.0


def test_identity_releases_the_projected_latent_itself(unit_rows) -> None:
    latents = 3 * unit_rows(20, 8)
    assert torch.equal(Identity().privatize(latents), Identity().project(latents))
    assert torch.allclose(Identity().privatize(latents), latents / 3, atol=1e-5)
    assert Identity().expected_squared_error(8) == 0.0


def test_identity_states_that_nothing_is_guaranteed() -> None:
    guarantee = Identity().guarantee(8)
    assert guarantee.epsilon == guarantee.claimed_epsilon == math.inf
    assert "No privacy" in guarantee.text


def test_random_has_length_c_and_no_relation_to_the_record(unit_rows, score) -> None:
    latents = unit_rows(4000, 16)
    released = Random(clip_norm=0.7).privatize(latents)
    assert torch.allclose(released.norm(dim=1), torch.tensor(0.7, dtype=torch.float64))
    assert abs(score((released * latents).sum(dim=1), 0.0)) < LIMIT
    assert Random(clip_norm=0.7).guarantee(16).epsilon == 0.0


def test_a_random_mechanism_that_peeks_is_detected(unit_rows, score) -> None:
    """The planted defect: a release with a quarter of the record in it."""
    latents = unit_rows(4000, 16)
    peeking = Random().privatize(latents) + 0.25 * latents
    assert abs(score((peeking * latents).sum(dim=1), 0.0)) > LIMIT


def test_randoms_squared_error_is_twice_the_squared_radius(unit_rows, score) -> None:
    latents = 0.7 * unit_rows(4000, 16)
    errors = (Random(clip_norm=0.7).privatize(latents) - latents).pow(2).sum(dim=1)
    assert abs(score(errors, Random(clip_norm=0.7).expected_squared_error(16))) < LIMIT


@pytest.mark.parametrize("baseline", [Identity, Random])
def test_baselines_take_an_epsilon_for_the_comparison_and_refuse_a_bad_one(baseline) -> None:
    assert baseline(epsilon=8.0).epsilon == 8.0
    with pytest.raises(ConfigurationError, match="epsilon must be positive"):
        baseline(epsilon=-1.0)


def test_random_is_a_function_of_entropy_and_shape_alone(unit_rows, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the entropy frozen, two different records lead to the very same release: not a bit of them is read."""
    monkeypatch.setattr("os.urandom", lambda size: bytes(i % 251 for i in range(size)))
    first, second = unit_rows(20, 8, seed=1), 1e6 * unit_rows(20, 8, seed=2)
    assert torch.equal(Random().privatize(first), Random().privatize(second))
