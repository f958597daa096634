"""Claims about DPText's broken sampler: never negative, two readings of NaN, no finite epsilon.

Statistical: KS tests with p-value limit 1e-10, a score with limit 8 and a binomial count; eight of them.
"""

import math

import pytest
import torch
from scipy import stats

from adept.errors import ConfigurationError
from adept.mechanisms import DPText
from adept.mechanisms.laplace import inverse_on_wrong_interval

P_LIMIT = 1e-10


def noise_of(mechanism: DPText, latents: torch.Tensor) -> torch.Tensor:
    return mechanism.privatize(latents) - mechanism.project(latents)


def test_the_formula_is_the_papers_on_both_intervals() -> None:
    """Laplace quantiles below one half, infinity at one half, NaN above: and correct where v lies in (-1/2, 1/2)."""
    values = torch.tensor([0.1, 0.49, 0.5, 0.51, 0.99, -0.1], dtype=torch.float64)
    result = inverse_on_wrong_interval(values, scale=2.0)
    assert result[:2].tolist() == pytest.approx([-2 * math.log(0.8), -2 * math.log(0.02)])
    assert result[2] == math.inf
    assert result[3:5].isnan().all()
    assert float(result[5]) == pytest.approx(2 * math.log(0.8))


@pytest.mark.parametrize("nan", ["redraw", "zero"])
def test_noise_is_never_negative_so_outputs_below_the_record_are_impossible(nan: str, unit_rows) -> None:
    noise = noise_of(DPText(epsilon=8.0, nan=nan), unit_rows(2000, 16))
    assert float(noise.min()) >= -1e-12
    assert noise.isfinite().all()


def test_redrawn_noise_is_exponential_with_mean_b(unit_rows) -> None:
    noise = noise_of(DPText(epsilon=8.0), unit_rows(2000, 16)).flatten()
    assert stats.kstest(noise.numpy(), stats.expon(scale=0.25).cdf).pvalue > P_LIMIT


def test_with_zeros_half_of_all_coordinates_are_released_as_they_are(unit_rows) -> None:
    noise = noise_of(DPText(epsilon=8.0, nan="zero"), unit_rows(2000, 16)).flatten()
    untouched = int((noise == 0).sum())
    assert stats.binomtest(untouched, len(noise), 0.5).pvalue > P_LIMIT
    assert stats.kstest(noise[noise != 0].numpy(), stats.expon(scale=0.25).cdf).pvalue > P_LIMIT


@pytest.mark.parametrize("nan", ["redraw", "zero"])
@pytest.mark.parametrize("dim", [16, 256])
def test_squared_error_matches_the_closed_form(nan: str, dim: int, unit_rows, score) -> None:
    mechanism = DPText(epsilon=4.0, clip_norm=0.7, nan=nan)
    errors = noise_of(mechanism, unit_rows(4000, dim)).pow(2).sum(dim=1)
    assert mechanism.expected_squared_error(dim) == pytest.approx(dim * 0.35**2 * (2 if nan == "redraw" else 1))
    assert abs(score(errors, mechanism.expected_squared_error(dim))) < 8


def test_the_guarantee_is_infinite_and_says_why() -> None:
    guarantee = DPText(epsilon=0.1).guarantee(16)
    assert (guarantee.epsilon, guarantee.holds, guarantee.exact) == (math.inf, False, False)
    assert guarantee.sensitivity == 2.0
    assert "never negative" in guarantee.text


def test_an_unknown_reading_of_nan_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="nan must be one of redraw, zero, got drop"):
        DPText(epsilon=8.0, nan="drop")
