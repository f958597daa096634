"""Claims about the codebook mechanism: exact budget, the distribution of the ranks, utility beside PrivUnit, bad codebooks refused.

Statistical: chi-square tests with p-value limit 1e-10 and standard scores with limit 8 (see conftest.py); 30 of them.
"""

import itertools
import math
from collections import Counter
from fractions import Fraction

import mpmath
import pytest
import torch
from scipy import stats

from adept.errors import ConfigurationError
from adept.mechanisms import Codebook, PrivUnit, random_draws

P_LIMIT = 1e-10


class Overspending(Codebook):
    """The planted defect: ranks are drawn with a budget one larger than claimed."""

    def layout(self, dim: int):
        return Codebook(epsilon=self.epsilon + 1.0, size=self.size, seed=self.seed, blocks=self.blocks).layout(dim)


def near_share_p_value(mechanism: Codebook, epsilon: float, record: torch.Tensor, trials: int) -> float:
    """Chi-square p-value of released codewords, by member of S_x, under the probabilities that ``epsilon`` prescribes."""
    (block,) = mechanism.layout(record.shape[1])
    k, t = block.selection.size, block.selection.heavy_count
    members = block.nearest(mechanism.project(record))[0].tolist()
    index = {tuple(word.tolist()): place for place, word in enumerate(block.codewords)}
    released = mechanism.privatize(record.expand(trials, -1).to(torch.float32))
    counts = Counter(index[tuple(word.tolist())] for word in released)
    weight = t * math.exp(epsilon) + k - t
    observed = [counts[member] for member in members]
    expected = [trials * math.exp(epsilon) / weight] * t + [trials * (k - t) / weight]
    return float(stats.chisquare([*observed, trials - sum(observed)], expected).pvalue)


@pytest.mark.parametrize(("size", "epsilon"), [(64, 2.0), (64, 5.0), (512, 8.0)])
def test_released_codewords_have_the_prescribed_probabilities(size: int, epsilon: float, unit_rows) -> None:
    assert near_share_p_value(Codebook(epsilon=epsilon, size=size), epsilon, unit_rows(1, 8), 20_000) > P_LIMIT


def test_codewords_outside_the_set_are_equally_likely(unit_rows) -> None:
    mechanism, record = Codebook(epsilon=1.0, size=32), unit_rows(1, 8)
    (block,) = mechanism.layout(8)
    members = set(block.nearest(mechanism.project(record))[0].tolist())
    index = {tuple(word.tolist()): place for place, word in enumerate(block.codewords)}
    counts = Counter(index[tuple(word.tolist())] for word in mechanism.privatize(record.expand(20_000, -1).float()))
    assert stats.chisquare([counts[place] for place in range(32) if place not in members]).pvalue > P_LIMIT


def test_a_draw_with_one_more_unit_of_budget_is_detected(unit_rows) -> None:
    assert near_share_p_value(Overspending(epsilon=2.0, size=64), 2.0, unit_rows(1, 8), 20_000) < P_LIMIT


def test_two_records_probabilities_differ_by_exactly_the_odds(monkeypatch: pytest.MonkeyPatch, unit_rows) -> None:
    """Every one of the W draws is run through for two opposite records: each codeword comes A or B times, W is the same."""
    monkeypatch.setattr("adept.mechanisms.selection.exact_odds", lambda epsilon: (5, 2))
    mechanism = Codebook(epsilon=1.0, size=9, blocks=1)
    (block,) = mechanism.layout(4)
    total = block.selection.heavy_count * 5 + (9 - block.selection.heavy_count) * 2
    record = unit_rows(1, 4, torch.float32)
    counts = []
    for x in (record, -record):
        draws = itertools.count()
        monkeypatch.setattr(random_draws, "below", lambda limit, draws=draws: next(draws))
        counts.append(Counter(tuple(word.tolist()) for word in mechanism.privatize(x.expand(total, -1))))
    first, second = counts
    assert sum(first.values()) == sum(second.values()) == total
    assert set(first.values()) == set(second.values()) == {5, 2}
    assert max(Fraction(first[word], second[word]) for word in first) == Fraction(5, 2)


def test_the_total_budget_stays_below_epsilon_in_high_precision() -> None:
    for epsilon in (1 / 3, 8.0, 16.0, 100.0, 600.0):
        with mpmath.workdps(400):
            odds = [block.selection.odds for block in Codebook(epsilon=epsilon).layout(10)]
            assert mpmath.fprod(mpmath.mpf(heavy) / light for heavy, light in odds) <= mpmath.exp(mpmath.mpf(epsilon))


@pytest.mark.parametrize("dim", [16, *(pytest.param(dim, marks=pytest.mark.slow) for dim in (32, 64))])
@pytest.mark.parametrize("epsilon", [2.0, 8.0])
def test_measured_cosine_is_the_closed_form_and_within_a_hundredth_of_privunit(
    dim: int, epsilon: float, unit_rows
) -> None:
    """One fixed codebook strays from the average over codebooks: by less than .004 for these sizes."""
    mechanism, latents = Codebook(epsilon=epsilon), unit_rows(10_000, dim)
    cosines = (mechanism.privatize(latents) * latents).sum(dim=1)
    error = float(cosines.std()) / 10_000**0.5
    assert abs(float(cosines.mean()) - mechanism.mean_cosine(dim)) < 8 * error + 0.004
    assert abs(mechanism.mean_cosine(dim) - PrivUnit(epsilon=epsilon).mean_cosine(dim)) < 0.01
    assert abs(float(cosines.mean()) - PrivUnit(epsilon=epsilon).mean_cosine(dim)) < 0.01 + 7 * error


@pytest.mark.parametrize("dim", [16, 32, 64, 128, 256])
@pytest.mark.parametrize("epsilon", [1.0, 16.0, 128.0])
def test_squared_error_matches_the_closed_form(dim: int, epsilon: float, unit_rows) -> None:
    mechanism = Codebook(epsilon=epsilon, clip_norm=0.7)
    latents = 0.7 * unit_rows(1500, dim, torch.float32)
    errors = (mechanism.privatize(latents) - latents).double().pow(2).sum(dim=1)
    limit = 8 * float(errors.std()) / 1500**0.5 + 0.005
    assert abs(float(errors.mean()) - mechanism.expected_squared_error(dim)) < limit


def test_the_release_for_one_fixed_codebook_is_biased_sideways() -> None:
    """Documented: the mean over draws has a part orthogonal to the record, about .23 at k = 4096, n = 64, eps = 8."""
    (block,) = Codebook(epsilon=8.0).layout(64)
    record = torch.nn.functional.normalize(torch.ones(1, 64), dim=1)
    (heavy, light), weight = block.selection.odds, block.selection.total
    inside, total = block.codewords[block.nearest(record)[0]].sum(dim=0), block.codewords.sum(dim=0)
    mean = inside * ((heavy - light) / weight) + total * (light / weight)
    sideways = mean - (mean @ record[0]) * record[0]
    assert 0.15 < float(sideways.norm()) < 0.35


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_release_is_a_codeword_of_length_c(dtype: torch.dtype, unit_rows) -> None:
    for epsilon, blocks in ((8.0, 1), (8.0, 3)):
        released = Codebook(epsilon=epsilon, clip_norm=0.7, blocks=blocks).privatize(unit_rows(50, 16, dtype))
        assert torch.allclose(released.norm(dim=1), torch.tensor(0.7, dtype=dtype), rtol=1e-5)


def test_broken_rows_stand_for_the_first_axis() -> None:
    mechanism = Codebook(epsilon=600.0, blocks=1)
    broken = torch.tensor(
        [[math.nan] * 4, [math.inf, 1.0, 1.0, 1.0], [0.0] * 4, [5e-324, 0.0, 0.0, 0.0]], dtype=torch.float64
    )
    released = mechanism.privatize(broken)
    assert (released == released[0]).all()
    assert float(released[0, 0]) > 0.9


def test_a_simulation_has_a_releases_cosine_and_a_straight_through_gradient(unit_rows) -> None:
    mechanism, latents = Codebook(epsilon=8.0), unit_rows(20_000, 16).requires_grad_()
    simulated = mechanism.simulate(latents, torch.Generator().manual_seed(0))
    cosines = (simulated * latents).sum(dim=1).detach()
    assert abs(float(cosines.mean()) - mechanism.mean_cosine(16)) < 8 * float(cosines.std()) / 20_000**0.5 + 0.004
    assert set(map(tuple, simulated[:50].detach().float().tolist())) <= set(
        map(tuple, mechanism.layout(16)[0].codewords.tolist())
    )
    (gradient,) = torch.autograd.grad(simulated[0, 1], latents)
    x = latents[0].detach()
    expected = mechanism.mean_cosine(16) * (torch.eye(16, dtype=torch.float64)[1] - x[1] * x)
    assert torch.allclose(gradient[0], expected, atol=1e-12)


@pytest.mark.parametrize(
    "options",
    [{"size": 1}, {"size": 2**20 + 1}, {"size": 64.0}, {"blocks": 0}, {"seed": -1}, {"size": True}, {"blocks": "2"}],
)
def test_impossible_options_are_refused_by_name(options: dict[str, object]) -> None:
    (name,) = options
    with pytest.raises(ConfigurationError, match=f"{name} must be an integer between"):
        Codebook(epsilon=8.0, **options)


def test_one_coordinate_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="dim must be an integer between 2"):
        Codebook(epsilon=8.0).guarantee(1)


def test_the_guarantee_is_exact_and_counts_its_draws() -> None:
    assert Codebook(epsilon=8.0).guarantee(64).exact
    assert "draws" not in Codebook(epsilon=8.0).guarantee(64).text
    assert "4 draws" in Codebook(epsilon=64.0).guarantee(64).text
