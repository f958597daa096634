"""The lecture's surveys. All simulations are seeded, so nothing here is random."""

import math

import pytest

from adept.errors import ConfigurationError
from adept.mechanisms import ScalarLaplace
from adept.studies import randomized_response as study
from adept.studies.randomized_response import SURVEYS, ResponseRow, measure, survey_distribution

ROWS = list(study.run(epsilons=(0.5, 1.0, 4.0), records=(200, 5_000)))


def row(survey: str, epsilon: float, records: int = 5_000) -> ResponseRow:
    """The row of the grid."""
    return next(r for r in ROWS if (r.survey, r.epsilon, r.records) == (survey, epsilon, records))


def test_every_survey_is_asked_at_every_budget_and_size() -> None:
    assert len({(r.survey, r.epsilon, r.records) for r in ROWS}) == len(ROWS) == 6 * 3 * 2


@pytest.mark.parametrize("epsilon", study.EPSILONS)
@pytest.mark.parametrize("name", SURVEYS)
def test_our_exact_parameters_are_the_lectures_formulas_and_never_on_the_unsafe_side(name: str, epsilon: float) -> None:
    distribution, published = (
        survey_distribution(name, epsilon=epsilon),
        study.published_parameter(SURVEYS[name], epsilon=epsilon),
    )
    assert distribution.parameter == pytest.approx(published, rel=1e-12)
    if SURVEYS[name].theta is None:
        assert distribution.parameter >= study.MAX_SKIPPED / epsilon
    assert distribution.spent <= epsilon


def test_the_known_values_of_both_thetas_at_epsilon_1() -> None:
    assert row("bit", 1.0).parameter == pytest.approx(0.7310585786, abs=1e-10)
    assert row("bit_lecture", 1.0).parameter == pytest.approx(2 / 3, abs=1e-12)
    assert row("bit", 1.0).spent == 1.0
    assert row("bit_lecture", 1.0).spent == pytest.approx(math.log(2), abs=1e-12)


@pytest.mark.parametrize("theta", ["tight", "lecture"])
def test_the_distribution_of_one_bit_is_the_textbooks(theta: str) -> None:
    name = {"tight": "bit", "lecture": "bit_lecture"}[theta]
    distribution, keep, yes = survey_distribution(name, epsilon=1.0), row(name, 1.0).parameter, study.YES_SHARE
    released = keep * yes + (1 - keep) * (1 - yes)
    assert distribution.expected_released == pytest.approx(released, rel=1e-12)
    # Warner 1965: the variance of a reading is r (1 - r) / (2 theta - 1)^2.
    assert distribution.variance == pytest.approx(released * (1 - released) / (2 * keep - 1) ** 2, rel=1e-12)


def test_the_first_theta_needs_twice_as_many_people_at_epsilon_1() -> None:
    first, tight = (survey_distribution(name, epsilon=1.0) for name in ("bit_lecture", "bit"))
    assert first.variance / tight.variance == pytest.approx(2.0, abs=0.01)


def test_a_mean_from_sixteen_answers_beats_laplace_noise_at_a_large_budget_only() -> None:
    def ratio(epsilon: float) -> float:
        answers, laplace = (
            survey_distribution(n, epsilon=epsilon).variance for n in ("number_answers", "number_laplace")
        )
        return answers / laplace

    assert ratio(1.0) > 2
    assert ratio(4.0) < 1


def test_the_distribution_of_the_number_is_that_of_its_parts() -> None:
    distribution = survey_distribution("number_laplace", epsilon=2.0)
    mean = sum(value * share for value, share in enumerate(study.SKIPPED))
    spread = sum(value**2 * share for value, share in enumerate(study.SKIPPED)) - mean**2
    assert (distribution.truth, distribution.expected_released) == (pytest.approx(mean), pytest.approx(mean))
    assert distribution.variance == pytest.approx(spread + ScalarLaplace(epsilon=2.0).expected_squared_error())


def test_estimates_and_releases_agree_with_their_exact_distributions() -> None:
    for r in ROWS:
        assert abs(r.estimate - r.truth) <= 5 * r.deviation, r
        spread = {"share": 0.5, "mean": 8.0 if r.survey == "number_answers" else r.deviation * math.sqrt(r.records)}
        assert abs(r.released - r.expected_released) <= 5 * spread[r.target] / math.sqrt(r.records), r


def test_intervals_hold_the_truth_in_999_of_1000_surveys_and_are_as_wide_as_due() -> None:
    rows = [measure(name, epsilon=1.0, records=300, seed=seed) for name in SURVEYS for seed in range(60)]
    assert sum(not r.lower <= r.truth <= r.upper for r in rows) <= 3
    for r in rows:
        assert 2 * 3.29 * r.deviation * 0.6 < r.upper - r.lower < 2 * 3.29 * r.deviation * 1.5


def test_the_mean_of_many_estimates_is_the_truth_and_their_spread_the_standard_error() -> None:
    for name in SURVEYS:
        rows = [measure(name, epsilon=1.0, records=300, seed=seed) for seed in range(400)]
        errors = [(r.estimate - r.truth) / r.deviation for r in rows]
        assert abs(sum(errors) / 20) <= 5
        assert sum(error**2 for error in errors) / 400 == pytest.approx(1.0, abs=5 * math.sqrt(2 / 400))


def test_the_release_as_it_is_and_a_wrong_theta_are_far_from_the_truth() -> None:
    biased = row("bit", 1.0)
    assert abs(biased.released - biased.truth) > 10 * biased.deviation
    # Planted defect: a survey with the first theta, debiased as if it had the tight one.
    lecture, tight = row("bit_lecture", 0.5), row("bit", 0.5)
    share = lecture.expected_released
    wrong = (share - (1 - tight.parameter)) / (2 * tight.parameter - 1)
    assert abs(wrong - lecture.truth) > 0.05


def test_a_scale_that_forgets_the_sensitivity_would_be_seen() -> None:
    mechanism = ScalarLaplace(epsilon=1.0, lower=0, upper=1)  # the scale 1/eps, where 15/eps is needed
    assert mechanism.expected_squared_error() < 0.01 * ScalarLaplace(epsilon=1.0).expected_squared_error()


def test_a_row_does_not_depend_on_what_else_is_asked_for() -> None:
    assert list(study.run(mechanisms=("bit",), epsilons=(1.0,), records=(200,))) == [row("bit", 1.0, 200)]


def test_the_figure_names_every_survey_and_is_the_same_for_the_same_rows() -> None:
    svg = study.draw(ROWS)
    assert svg == study.draw(ROWS)
    assert all(survey.title in svg for survey in SURVEYS.values())


def test_the_table_is_of_the_largest_survey() -> None:
    [(title, _, lines)] = study.tables(ROWS)
    assert title.startswith("5,000 people")
    assert len(lines) == 18
    shown = [row.half_width for row in ROWS if row.records == 5000]
    assert all(float(line[-1]) >= half for line, half in zip(lines, shown, strict=True))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mechanisms": ("nonsense",)}, "mechanisms must be one of bit,"),
        ({"records": (1,)}, "records"),
        ({"epsilons": (1e9,)}, "epsilon must be between"),
    ],
)
def test_what_cannot_be_asked_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        list(study.run(**{"epsilons": (1.0,), "records": (10,), **options}))  # type: ignore[arg-type]
