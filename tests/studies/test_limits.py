"""The limits of local privacy, against known values, linear programming and the mechanisms that attain them. Nothing is random."""

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog, minimize_scalar

from adept.errors import ConfigurationError
from adept.mechanisms.guarantee import good_enough
from adept.mechanisms.privunit import optimal_cap
from adept.studies import limits
from adept.studies.mechanisms_on_latents import cap_information

DATA = Path(__file__).parents[2].parent / "shared" / "data"


@pytest.mark.parametrize(("epsilon", "bits"), [(1, 0.178), (4, 2.41), (8, 7.10), (16, 17.6)])
def test_capacity_has_the_known_values(epsilon: float, bits: float) -> None:
    assert float(f"{limits.capacity(epsilon=epsilon):.3g}") == bits


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0, 60.0])
def test_capacity_is_attained_by_the_best_cap_and_by_no_other(epsilon: float) -> None:
    def bits(log_q: float) -> float:
        q = math.exp(log_q)
        return cap_information(q, escape=(1 - q) / (1 + math.expm1(epsilon) * q))

    best = minimize_scalar(lambda log_q: -bits(log_q), bounds=(-epsilon - 3, -1e-3), method="bounded")
    assert -best.fun == pytest.approx(limits.capacity(epsilon=epsilon), rel=1e-6)
    u = epsilon / -math.expm1(-epsilon)
    assert best.x == pytest.approx(math.log((u - 1) / math.expm1(epsilon)), abs=1e-2)


def test_privunit_reaches_99_2_percent_of_the_capacity_at_64_dimensions() -> None:
    cap = optimal_cap(64, epsilon=8.0)
    share = cap_information(cap.probability, escape=cap.escape) / limits.capacity(epsilon=8.0)
    assert share == pytest.approx(0.992, abs=5e-4)


def test_capacity_keeps_its_digits_at_tiny_budgets_and_is_infinite_without_privacy() -> None:
    assert limits.capacity(epsilon=1e-3) == pytest.approx(limits.capacity(epsilon=1e-3 - 1e-9), rel=1e-5)
    assert limits.capacity(epsilon=0.0) == 0.0
    assert limits.capacity(epsilon=math.inf) == math.inf


@pytest.mark.parametrize(
    ("split", "epsilon", "value"),
    [("SNIPS test", 4, 0.901), ("SNIPS test", 8, 0.998), ("ATIS test", 4, 0.833), ("ATIS test", 8, 0.994)],
)
def test_the_best_guess_of_a_label_has_the_known_values(split: str, epsilon: float, value: float) -> None:
    assert round(limits.best_guess(limits.LABEL_COUNTS[split], epsilon=epsilon), 3) == value


@pytest.mark.parametrize("split", limits.LABEL_COUNTS)
def test_the_label_counts_are_those_of_the_data(split: str) -> None:
    path = DATA / split.split()[0].lower() / "test.jsonl"
    if not path.exists():
        pytest.skip(f"needs {path}")
    counts = Counter(json.loads(line)["intent"] for line in path.read_text("utf-8").splitlines())
    assert tuple(sorted(counts.values(), reverse=True)) == limits.LABEL_COUNTS[split]


@pytest.mark.parametrize("prior", [(1, 1, 1), (1, 2, 5), (5, 3, 1, 1), (632, 48, 38), (1,), (0.6, 0.4)])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 3.0])
def test_the_best_guess_is_that_of_the_best_channel_found_by_linear_programming(
    prior: tuple[float, ...], epsilon: float
) -> None:
    k, distribution = len(prior), np.array(prior) / sum(prior)
    ratios = [
        (np.eye(k * k)[y * k + v] - math.exp(epsilon) * np.eye(k * k)[z * k + v])
        for y in range(k)
        for z in range(k)
        for v in range(k)
    ]
    rows = np.kron(np.eye(k), np.ones(k))  # each label's guesses sum to one
    best = linprog(
        -(np.diag(distribution)).ravel(),
        A_ub=np.array(ratios),
        b_ub=np.zeros(k**3),
        A_eq=rows,
        b_eq=np.ones(k),
        bounds=(0, 1),
    )
    assert limits.best_guess(prior, epsilon=epsilon) == pytest.approx(-best.fun, abs=1e-8)


def test_the_guess_is_certain_without_privacy_and_the_majority_with_all_of_it() -> None:
    counts = limits.LABEL_COUNTS["ATIS test"]
    assert limits.best_guess(counts, epsilon=1000.0) == pytest.approx(1.0, abs=1e-12)
    assert limits.best_guess(counts, epsilon=0.0) == pytest.approx(632 / 893, abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 5.0])
def test_the_best_guess_under_a_uniform_prior_is_that_of_a_record_among_candidates(epsilon: float) -> None:
    for candidates in (1, 2, 10):
        guess = limits.best_guess([1.0] * candidates, epsilon=epsilon)
        assert guess == pytest.approx(math.exp(epsilon) / (math.exp(epsilon) + candidates - 1), rel=1e-12)
        assert guess == pytest.approx(good_enough(1 / candidates, epsilon=epsilon), rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_advantage_is_the_hyperbolic_tangent_of_half_epsilon_and_grows_with_delta(epsilon: float) -> None:
    assert limits.advantage(epsilon=epsilon) == pytest.approx(math.tanh(epsilon / 2), rel=1e-12)
    leaky = limits.advantage(epsilon=epsilon, delta=0.01)
    assert leaky == pytest.approx((math.exp(epsilon) - 1 + 0.02) / (math.exp(epsilon) + 1), rel=1e-12)
    assert limits.advantage(epsilon=epsilon, delta=1.0) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: limits.capacity(epsilon=-1.0), "epsilon must be"),
        (lambda: limits.capacity(epsilon=math.nan), "epsilon must be"),
        (lambda: limits.best_guess([], epsilon=1.0), "prior must be"),
        (lambda: limits.best_guess([1.0, -0.5], epsilon=1.0), "prior must be"),
        (lambda: limits.advantage(epsilon=1.0, delta=2.0), "delta must be"),
    ],
)
def test_values_out_of_range_are_refused_by_name(call: object, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        call()  # type: ignore[operator]


def test_no_bound_is_below_success_without_a_release_and_none_falls_with_epsilon() -> None:
    rows = limits.run()
    assert all(row.value >= row.without_release - 1e-12 for row in rows)
    for key in {(row.limit, row.setting) for row in rows}:
        values = [row.value for row in rows if (row.limit, row.setting) == key]
        assert values == sorted(values)


def test_the_table_of_limits_rounds_each_bound_up() -> None:
    rows = list(limits.run())
    ((_, (_, *epsilons), lines),) = limits.tables(rows)
    shown = [float(cell) for _, *cells in lines for cell in cells]
    assert len(shown) == len(rows) == len(lines) * len(epsilons)
    by_line = {f"{row.limit}, {row.setting}": [] for row in rows}
    for row in rows:
        by_line[f"{row.limit}, {row.setting}"].append(row.value)
    assert all(float(cell) >= value for name, *cells in lines for cell, value in zip(cells, by_line[name], strict=True))
