"""Claims about randomised response, scalar Laplace and exponential choice: exact probabilities, debiased estimates, bad labels.

Statistical: chi-square p-values with limit 1e-10 and standard scores with limit 8 (see conftest.py), 12 of them; and one
chi-square test with the limit 1e-9.
"""

import itertools
import math
import random
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import torch
from scipy import stats

from adept.errors import ConfigurationError
from adept.mechanisms import RandomizedResponse, ScalarLaplace, random_draws
from adept.mechanisms.selection import exponential_choice

P_LIMIT = 1e-10
ROWS = 20_000  # of choices
INTENTS = ("flight", "airfare", "ground_service", "airline")


class Stubborn(RandomizedResponse):
    """The planted defect: every tenth label is reported as it is."""

    def privatize(self, labels):
        return [
            true if row % 10 == 0 else noisy
            for row, (true, noisy) in enumerate(zip(labels, super().privatize(labels), strict=True))
        ]


def distribution_p_value(mechanism: RandomizedResponse, trials: int = 20_000) -> float:
    counts = Counter(mechanism.privatize(["airfare"] * trials))
    keep = 1 / (1 + (len(INTENTS) - 1) * math.exp(-mechanism.epsilon))
    expected = [trials * (keep if label == "airfare" else (1 - keep) / (len(INTENTS) - 1)) for label in INTENTS]
    return float(stats.chisquare([counts[label] for label in INTENTS], expected).pvalue)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_released_labels_have_the_tight_probabilities(epsilon: float) -> None:
    assert distribution_p_value(RandomizedResponse(epsilon=epsilon, labels=INTENTS)) > P_LIMIT


def test_a_mechanism_that_keeps_a_tenth_more_is_detected() -> None:
    assert distribution_p_value(Stubborn(epsilon=1.0, labels=INTENTS)) < P_LIMIT


def test_any_two_labels_probabilities_differ_by_exactly_the_odds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every one of the W draws is run through for every true label: (eps + 1) / 1 = 4 / 1 for the lecture's eps = 3."""
    mechanism = RandomizedResponse(epsilon=3.0, labels=("no", "yes"), theta="lecture")
    heavy, light = mechanism.odds
    counts = {}
    for label in mechanism.labels:
        draws = itertools.count()
        monkeypatch.setattr(random_draws, "below", lambda limit, draws=draws: next(draws))
        counts[label] = Counter(mechanism.privatize([label] * (heavy + light)))
    assert counts == {"no": {"no": 4, "yes": 1}, "yes": {"no": 1, "yes": 4}}


def test_every_wrong_label_is_reached_from_every_true_one(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = RandomizedResponse(epsilon=1.0, labels=INTENTS)
    monkeypatch.setattr("adept.mechanisms.selection.exact_ranks", lambda records, **_: list(range(records)))
    assert all(set(mechanism.privatize([label] * 4)) == set(INTENTS) for label in INTENTS)


@pytest.mark.mutants("mechanisms.randomized_response", "mechanisms.laplace")
@pytest.mark.parametrize("epsilon", [1e-3, 1 / 3, 1.0, 8.0, 600.0])
@pytest.mark.parametrize("size", [2, 3, 26])
def test_the_probability_of_keeping_is_rounded_down_and_the_budget_holds_exactly(epsilon: float, size: int) -> None:
    mechanism = RandomizedResponse(epsilon=epsilon, labels=tuple(str(label) for label in range(size)))
    keep = mechanism.keep_probability
    other = (1 - keep) / (size - 1)
    with mpmath.workdps(400):
        bound = mpmath.exp(mpmath.mpf(epsilon))
        ratio = mpmath.mpf((keep / other).numerator) / (keep / other).denominator
        assert 0 <= 1 - ratio / bound < mpmath.mpf(2) ** -60
        assert mpmath.mpf(keep.numerator) / keep.denominator <= bound / (bound + size - 1)


@pytest.mark.mutants("mechanisms.randomized_response", "mechanisms.laplace")
def test_the_lectures_theta_is_that_of_its_formula_and_spends_the_logarithm() -> None:
    mechanism = RandomizedResponse(epsilon=3.0, labels=("no", "yes"), theta="lecture")
    assert mechanism.keep_probability == Fraction(4, 5)
    guarantee = mechanism.guarantee()
    assert guarantee.epsilon == pytest.approx(math.log(4), rel=1e-12)
    assert guarantee.epsilon >= math.log(4)
    assert (guarantee.claimed_epsilon, guarantee.holds, guarantee.exact) == (3.0, True, True)
    assert "only ln(1 + 3)" in guarantee.text


@pytest.mark.mutants("mechanisms.randomized_response", "mechanisms.laplace")
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1 / 3, 3.0, 600.0])
def test_the_lectures_stated_budget_covers_its_odds_in_sixty_digits(epsilon: float) -> None:
    mechanism = RandomizedResponse(epsilon=epsilon, labels=("no", "yes"), theta="lecture")
    heavy, light = mechanism.odds
    assert Fraction(heavy, light) == 1 + Fraction(epsilon)
    with mpmath.workdps(60):
        assert mpmath.log(mpmath.mpf(heavy) / light) <= mechanism.guarantee().epsilon <= epsilon


@pytest.mark.parametrize(("epsilon", "theta"), [(0.5, "tight"), (2.0, "tight"), (2.0, "lecture")])
def test_frequency_estimates_are_unbiased_and_their_errors_honest(epsilon: float, theta: str) -> None:
    """200 surveys of 500 people: standardised errors have mean 0 and variance 1."""
    labels = ("no", "yes") if theta == "lecture" else INTENTS
    mechanism = RandomizedResponse(epsilon=epsilon, labels=labels, theta=theta)
    population, truth = [labels[0], labels[0], labels[0], labels[1]], 0.25
    scores = []
    for seed in range(200):
        records = random.Random(seed).choices(population, k=500)
        estimates, errors = mechanism.estimate_frequencies(mechanism.privatize(records))
        assert sum(estimates.values()) == pytest.approx(1.0)
        scores.append((estimates[labels[1]] - truth) / errors[labels[1]])
    standard = torch.tensor(scores)
    assert abs(float(standard.mean())) < 8 / 200**0.5
    assert stats.chi2.cdf(float(standard.pow(2).sum()), 200) > P_LIMIT
    assert stats.chi2.sf(float(standard.pow(2).sum()), 200) > P_LIMIT


def test_without_debiasing_the_frequency_is_wrong() -> None:
    mechanism = RandomizedResponse(epsilon=0.5, labels=INTENTS)
    released = mechanism.privatize(["airfare"] * 20_000)
    estimates, errors = mechanism.estimate_frequencies(released)
    assert abs(estimates["airfare"] - 1.0) < 8 * errors["airfare"]
    assert released.count("airfare") / 20_000 < 0.5


@pytest.mark.mutants("mechanisms.randomized_response", "mechanisms.laplace")
def test_an_unknown_label_is_refused_without_repeating_it() -> None:
    mechanism = RandomizedResponse(epsilon=1.0, labels=INTENTS)
    generator = torch.Generator().manual_seed(0)
    for call in (
        mechanism.privatize,
        mechanism.estimate_frequencies,
        lambda labels: mechanism.simulate(labels, generator),
    ):
        with pytest.raises(
            ConfigurationError, match="labels must hold every label that occurs, got an unknown one"
        ) as caught:
            call(["flight", "call my doctor"])
        assert "doctor" not in str(caught.value)
        assert "record 2" in str(caught.value)


def test_no_seed_repeats_a_release_and_a_seed_repeats_a_simulation() -> None:
    mechanism = RandomizedResponse(epsilon=1.0, labels=INTENTS)
    records = ["flight"] * 200
    releases = []
    for _ in range(2):
        random.seed(0)
        torch.manual_seed(0)
        releases.append(mechanism.privatize(records))
    assert releases[0] != releases[1]
    first, second = (mechanism.simulate(records, torch.Generator().manual_seed(0)) for _ in range(2))
    assert first == second
    assert set(first) == set(INTENTS)


def test_a_simulation_has_the_distribution_of_a_release() -> None:
    mechanism = RandomizedResponse(epsilon=1.0, labels=INTENTS)
    counts = Counter(mechanism.simulate(["airfare"] * 20_000, torch.Generator().manual_seed(0)))
    keep = float(mechanism.keep_probability)
    expected = [20_000 * (keep if label == "airfare" else (1 - keep) / 3) for label in INTENTS]
    assert stats.chisquare([counts[label] for label in INTENTS], expected).pvalue > P_LIMIT


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": ("one",)}, "labels must be at least two, all different, got 1"),
        ({"labels": ("a", "a", "b")}, r"got 3 \(2 different\)"),
        ({"labels": "ab"}, "labels must be a list of strings alone, got a str"),
        ({"labels": (1, 2)}, "labels must be a list of strings"),
        ({"epsilon": 0.0}, "epsilon must be positive"),
        ({"epsilon": 601.0}, "epsilon must be between"),
        ({"theta": "guess"}, "theta must be one of tight, lecture, got guess"),
        ({"theta": "lecture"}, "theta must be tight for more than two labels"),
    ],
)
def test_impossible_options_are_refused_by_name(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        RandomizedResponse(**({"epsilon": 1.0, "labels": INTENTS} | options))


def test_an_empty_survey_has_no_estimate() -> None:
    with pytest.raises(ConfigurationError, match="released must hold at least one label"):
        RandomizedResponse(epsilon=1.0, labels=INTENTS).estimate_frequencies([])


def test_the_lectures_number_of_skipped_classes_is_released_with_sensitivity_15() -> None:
    mechanism = ScalarLaplace(epsilon=2.0, lower=0, upper=15)
    guarantee = mechanism.guarantee()
    assert guarantee.sensitivity == 15.0
    assert Fraction(15) / Fraction(guarantee.scale) <= 2
    released = torch.tensor(mechanism.privatize([7] * 20_000), dtype=torch.float64)
    support = torch.arange(-60, 61)
    mass = torch.exp(-support.abs() / 7.5)
    mass = mass / mass.sum()
    observed = torch.tensor([int((released - 7 == step).sum()) for step in support])
    keep = mass * 20_000 >= 10
    cells, sizes = observed[keep].tolist(), (mass[keep] * 20_000).tolist()
    assert stats.chisquare([*cells, 20_000 - sum(cells)], [*sizes, 20_000 - sum(sizes)]).pvalue > P_LIMIT


@pytest.mark.mutants("mechanisms.randomized_response", "mechanisms.laplace")
def test_a_number_is_clamped_into_its_range_before_its_noise() -> None:
    """At epsilon 600 on eight steps noise is other than zero once in e^75 releases."""
    mechanism = ScalarLaplace(epsilon=600.0, lower=-3, upper=5)
    assert 599 < Fraction(8) / Fraction(mechanism.scale) <= 600
    assert mechanism.privatize([-10, -3, 0, 5, 9]) == [-3, -3, 0, 5, 5]


def test_a_simulated_number_has_the_distribution_of_the_released_one() -> None:
    mechanism = ScalarLaplace(epsilon=5.0)  # scale 3; seeded, so this test raises no false alarms
    simulated = torch.tensor(mechanism.simulate([7] * 20_000, torch.Generator().manual_seed(1))) - 7
    support = torch.arange(-20, 21)
    mass = math.tanh(1 / 6) * torch.exp(-support.abs().double() / 3)
    observed = [int((simulated == step).sum()) for step in support]
    inside = float(mass.sum()) * 20_000
    sizes = [*(mass * 20_000).tolist(), 20_000 - inside]
    assert stats.chisquare([*observed, 20_000 - sum(observed)], sizes).pvalue > P_LIMIT
    assert mechanism.simulate([99], torch.Generator().manual_seed(2)) == mechanism.simulate(
        [15], torch.Generator().manual_seed(2)
    )


@pytest.mark.parametrize("epsilon", [0.5, 30.0])
def test_the_scalar_mean_is_unbiased_with_the_stated_error(epsilon: float) -> None:
    mechanism = ScalarLaplace(epsilon=epsilon)
    values = [0, 3, 15, 15, 99, -4] * 2000  # out-of-range values are clamped to 15 and 0
    released = mechanism.privatize(values)
    estimate, error = sum(released) / len(released), math.sqrt(mechanism.expected_squared_error() / len(released))
    assert abs(estimate - (0 + 3 + 15 + 15 + 15 + 0) / 6) < 8 * error
    squares = torch.tensor(
        [(r - min(max(v, 0), 15)) ** 2 for r, v in zip(released, values, strict=True)], dtype=torch.float64
    )
    assert abs(float(squares.mean()) - mechanism.expected_squared_error()) < 8 * float(squares.std()) / 12_000**0.5


@pytest.mark.parametrize("bounds", [(0, 0), (5, 4), (0, 2**32), (2**40, 2**40 + 1)])
def test_impossible_ranges_are_refused(bounds: tuple[int, int]) -> None:
    with pytest.raises(ConfigurationError, match="lower and upper must be"):
        ScalarLaplace(epsilon=1.0, lower=bounds[0], upper=bounds[1])


def test_numbers_that_are_not_integers_are_refused_without_repeating_them() -> None:
    with pytest.raises(ConfigurationError, match="values must be integers, got float in record 2") as caught:
        ScalarLaplace(epsilon=1.0).privatize([3, 7.25])
    assert "7.25" not in str(caught.value)


@pytest.mark.parametrize("epsilon", [2.0, 12.0, 40.0, 600.0])
def test_no_label_is_said_to_be_kept_always(epsilon: float) -> None:
    """As a probability in four digits, rounded up, it would be 1, which no epsilon guarantees."""
    text = RandomizedResponse(epsilon=epsilon, labels=("no", "yes")).guarantee().text
    assert "probability" not in text
    assert {2.0: "in 88 of 100 cases", 12.0: "in 999,993 of 1,000,000 cases"}.get(
        epsilon, "in all but at most 1 in a million cases"
    ) in text


def test_choices_have_the_stated_distribution() -> None:
    scores = torch.tensor([[0.0, 0.5, 1.0, 1.0]], dtype=torch.float64)
    counts = torch.bincount(exponential_choice(scores.expand(ROWS, -1), epsilon=3.0), minlength=4)
    weights = torch.exp(1.5 * scores[0])
    assert stats.chisquare(counts.numpy(), (ROWS * weights / weights.sum()).numpy()).pvalue > 1e-9


def test_scores_outside_their_range_count_as_its_ends() -> None:
    """Without the cut the first record would choose its thing always: e^25 to one."""
    wild = torch.tensor([[50.0, -math.inf, math.nan]], dtype=torch.float64).expand(ROWS, -1)
    share = float((exponential_choice(wild, epsilon=1.0) == 0).double().mean())
    exact = math.exp(0.5) / (math.exp(0.5) + 2)
    assert abs(share - exact) < 6.2 * math.sqrt(exact * (1 - exact) / ROWS)


def test_nobody_may_choose() -> None:
    assert exponential_choice(torch.empty(0, 3), epsilon=1.0).shape == (0,)


@pytest.mark.parametrize(
    "values", [iter(["no", "yes"]), "no", {"no", "yes"}, {"no": 1}, b"no", (label for label in ["no"])]
)
def test_what_cannot_be_read_twice_in_order_is_refused(values) -> None:
    """A generator was used up by the check, so no record was released; a text gave a release for each letter."""
    response, scalar = RandomizedResponse(epsilon=1.0, labels=("no", "yes", "n", "o")), ScalarLaplace(epsilon=1.0)
    for release in (response.privatize, response.estimate_frequencies, scalar.privatize):
        with pytest.raises(ConfigurationError, match="must be a list, got a value of type"):
            release(values)


def test_arrays_and_columns_are_released_element_by_element() -> None:
    response, scalar = RandomizedResponse(epsilon=500.0, labels=("no", "yes")), ScalarLaplace(epsilon=500.0, lower=-200)
    assert response.privatize(np.array(["yes", "no"])) == ["yes", "no"]
    assert scalar.privatize(np.array([100, -128], dtype=np.int8)) == pytest.approx(
        [15, -128], abs=60
    )  # or chance e^-140
    assert response.estimate_frequencies(np.array(["yes", "yes"]))[0]["yes"] == pytest.approx(1.0)
