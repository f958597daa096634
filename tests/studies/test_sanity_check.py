"""Figure 2 of Habernal (2022). All simulations are seeded, so nothing here is random."""

import math

import pytest

from adept.errors import ConfigurationError
from adept.studies import sanity_check
from adept.studies.sanity_check import DIMS, exact_loss, observed_loss, run

ROWS = list(run(trials=10_000, epsilons=(1.0,)))


@pytest.mark.parametrize(
    ("mechanism", "losses"),
    [
        ("laplace", (0.8318, 0.8997, 0.3655, 0.1615, 0.1099, 0.0756)),
        ("adept", (0.8318, 1.6636, 2.5811, 5.1144, 8.0702, 13.7432)),
    ],
)
def test_the_exact_losses_have_the_known_digits(mechanism: str, losses: tuple[float, ...]) -> None:
    ours = [exact_loss(mechanism, epsilon=1.0, dim=dim) for dim in DIMS]
    assert ours == pytest.approx(losses, abs=5.1e-5)


def test_every_exact_loss_is_within_the_interval_of_its_run() -> None:
    assert all(row.run_lower <= row.exact <= row.run_upper for row in ROWS)


def test_no_loss_of_the_vote_exceeds_the_largest_privacy_loss() -> None:
    assert all(row.exact <= row.likelihood_ratio + 1e-12 for row in ROWS)


def test_a_violation_is_found_except_in_private_mechanisms_and_one_sided_votes() -> None:
    violating = {(row.mechanism, row.dim) for row in ROWS if row.violated}
    sound = {("laplace", dim) for dim in DIMS} | {("random", dim) for dim in DIMS} | {("adept", 1)}
    unseen = {("dptext_redraw", dim) for dim in DIMS if dim > 2}
    assert violating == {(row.mechanism, row.dim) for row in ROWS} - sound - unseen


def test_published_values_are_close_to_the_exact_ones_where_cells_were_filled() -> None:
    for row in ROWS:
        if row.mechanism in ("laplace", "adept") and row.published is not None and math.isfinite(row.published):
            assert row.published == pytest.approx(row.exact, abs=0.015)


def test_an_empty_cell_is_a_bound_and_two_empty_cells_are_undefined() -> None:
    assert observed_loss(0, 10, 100) == math.inf
    assert math.isnan(observed_loss(100, 100, 100))
    row = next(row for row in ROWS if row.mechanism == "dptext_redraw" and row.dim == 64)
    assert math.isnan(row.run)


def test_the_likelihood_ratio_shows_what_the_vote_hides() -> None:
    row = next(row for row in ROWS if row.mechanism == "adept" and row.dim == 8)
    assert row.likelihood_ratio > row.exact + 1


def test_unknown_mechanisms_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="nonsense"):
        next(run(mechanisms=("nonsense",)))


@pytest.mark.slow
def test_a_million_runs_agree_with_the_exact_losses_at_every_epsilon() -> None:
    rows = list(run())
    outside = [row for row in rows if not row.run_lower <= row.exact <= row.run_upper]
    print(f"\n{len(outside)} of {len(rows)} exact losses outside their 99.9 % interval", flush=True)
    assert len(outside) <= 3
    assert sanity_check.CONFIDENCE == 0.999


def test_the_interval_that_a_table_shows_holds_the_computed_one() -> None:
    lines = {(line[0], int(line[1])): line for _, _, table in sanity_check.tables(ROWS) for line in table}
    for row in ROWS:
        low, high = lines[row.mechanism, row.dim][4:6]
        assert float(low) <= row.run_lower <= row.run_upper <= float(high)
