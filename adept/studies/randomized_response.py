r"""Surveys under local differential privacy that ask for a bit, one of k answers, or a number.

1. *One bit*: a person reports the true bit with probability theta. The first theta of the lecture
   (Habernal 2025, lecture 5) is (eps + 1)/(eps + 2); with this theta, the true epsilon is only ln(1 + eps). With the
   lecture's second theta, e^eps/(e^eps + 1), which we call *tight*, the true epsilon is exactly eps.
2. *One of k answers*: a person reports the true answer with the tight theta, which is e^eps/(e^eps
   + k - 1) here.
3. *A number* from 0 to 15: the Laplace noise has scale 15/eps, because the l1 sensitivity is 15.
4. *A number as one of 16 answers*: the number from 0 to 15 is reported as in survey 2.

Randomised response pulls the share of every answer towards 1/k. So we turn each report r into an unbiased *reading*
y(r), and estimate the truth by the mean of all readings. Let P be the probability that a person reports the true
answer, and Q the probability that the person reports one given other answer. For the share of an answer, y = (1[r =
answer] - Q)/(P - Q). Here 1[...] is 1 if the condition in the brackets holds, and otherwise 0. For a mean from k
answers, y = sum_v v (1[r = v] - Q)/(P - Q). For the Laplace mechanism, y = r. The interval of a share is Clopper and
Pearson's interval, whose ends are debiased, and the interval of a mean uses the normal distribution.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import product

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import norm

from adept.audit.stats import clopper_pearson
from adept.errors import check_choice, check_integer
from adept.mechanisms import RandomizedResponse, ScalarLaplace
from adept.mechanisms.guarantee import format_bound, words
from adept.plotting import PALETTE, Figure, Table, drawing, group_rows, legend, log_axis
from adept.studies.limits import CONFIDENCE

EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
RECORDS = (100, 1_000, 10_000, 100_000)
YES_SHARE = 0.2  # the population's share of "yes"
MAX_SKIPPED = 15  # largest number of skipped classes, as in the lecture
# The population's numbers of skipped classes, made up: many skip none or few, a few skip nearly all
SKIPPED = tuple(weight / 100 for weight in (18, 16, 14, 11, 9, 7, 5, 4, 3, 2, 2, 2, 2, 2, 1, 2))


@dataclass(frozen=True)
class Survey:
    """A question to a population, and the mechanism through which everyone answers the question."""

    title: str
    target: str  # "share" (of the first answer) or "mean"
    population: tuple[float, ...]  # probabilities of the answers 0, 1, 2, ...
    theta: str | None  # "tight" or "lecture"; None for the Laplace mechanism

    @property
    def wanted(self) -> NDArray[np.float64]:
        """Values (k,) of the answers, whose mean the survey estimates: for a share, 1, 0, ..., 0."""
        values = np.arange(len(self.population), dtype=float)
        return values if self.target == "mean" else (values == 0).astype(float)


SURVEYS = {
    "bit": Survey("one bit, tight theta", "share", (YES_SHARE, 1 - YES_SHARE), "tight"),
    "bit_lecture": Survey("one bit, first theta", "share", (YES_SHARE, 1 - YES_SHARE), "lecture"),
    "four_answers": Survey("one of 4 answers", "share", (0.5, 0.25, 0.15, 0.1), "tight"),
    "sixteen_answers": Survey("one of 16 answers", "share", SKIPPED, "tight"),
    "number_laplace": Survey("number, Laplace", "mean", SKIPPED, None),
    "number_answers": Survey("number, 16 answers", "mean", SKIPPED, "tight"),
}


@dataclass(frozen=True, kw_only=True)
class Answered:
    """Distribution of one person's released answer, for one survey and one claimed epsilon."""

    survey: str
    target: str  # share | mean
    answers: int  # k
    epsilon: float  # the claimed epsilon
    spent: float  # the true epsilon of one released answer
    parameter: float  # theta, or the noise's scale
    published: float  # the parameter according to the lecture's formula
    truth: float  # the share or mean in the population
    expected_released: float  # expected share or mean of the released answers, without debiasing
    variance: float  # variance of one unbiased reading, over people and noise


@dataclass(frozen=True, kw_only=True)
class ResponseRow(Answered):
    """Results of one survey of ``records`` people at one claimed epsilon."""

    records: int
    released: float  # the share or mean of the released answers as they are
    estimate: float  # the debiased share or mean
    deviation: float  # standard error of the estimate, in closed form
    lower: float  # 99.9 % interval of the truth, from the release alone
    upper: float

    @property
    def half_width(self) -> float:
        return (self.upper - self.lower) / 2


def run(
    *,
    mechanisms: Sequence[str] = tuple(SURVEYS),
    epsilons: Sequence[float] = EPSILONS,
    records: Sequence[int] = RECORDS,
    seed: int = 2025,
) -> Iterator[ResponseRow]:
    for name in mechanisms:
        check_choice(SURVEYS, mechanisms=name)
    check_integer(2, 10_000_000, **{f"records[{i}]": count for i, count in enumerate(records)})
    yield from (
        measure(name, epsilon=epsilon, records=count, seed=seed)
        for name, epsilon, count in product(mechanisms, epsilons, records)
    )


def published_parameter(survey: Survey, *, epsilon: float) -> float:
    """Return the lecture's theta, or the scale of the Laplace noise (sensitivity / epsilon)."""
    return {
        None: MAX_SKIPPED / epsilon,
        "lecture": (epsilon + 1) / (epsilon + 2),
        "tight": 1 / (1 + (len(survey.population) - 1) * math.exp(-epsilon)),
    }[survey.theta]


def response(survey: Survey, *, epsilon: float) -> RandomizedResponse:
    return RandomizedResponse(
        epsilon=epsilon, labels=tuple(map(str, range(len(survey.population)))), theta=survey.theta or "tight"
    )


def survey_distribution(name: str, *, epsilon: float) -> Answered:
    """Return the exact distribution of one person's released answer."""
    survey = SURVEYS[name]
    population, wanted = np.array(survey.population), survey.wanted
    truth = expected = float(population @ wanted)
    if survey.theta is None:
        laplace = ScalarLaplace(epsilon=epsilon, upper=MAX_SKIPPED)
        parameter, spent = laplace.scale, laplace.guarantee().epsilon
        variance = float(population @ wanted**2) - truth**2 + laplace.expected_squared_error()
    else:
        mechanism = response(survey, epsilon=epsilon)
        parameter, other = probabilities(mechanism)
        released = other + (parameter - other) * population
        spent, expected = mechanism.guarantee().epsilon, float(released @ wanted)
        variance = float(released @ readings(wanted, mechanism) ** 2) - truth**2
    return Answered(
        survey=name,
        target=survey.target,
        answers=len(population),
        epsilon=epsilon,
        spent=spent,
        parameter=parameter,
        published=published_parameter(survey, epsilon=epsilon),
        truth=truth,
        expected_released=expected,
        variance=variance,
    )


def probabilities(mechanism: RandomizedResponse) -> tuple[float, float]:
    """Return P and Q, the probabilities of the true answer and of one given other answer."""
    keep = mechanism.keep_probability
    return float(keep), float((1 - keep) / (len(mechanism.labels) - 1))


def readings(wanted: NDArray[np.float64], mechanism: RandomizedResponse) -> NDArray[np.float64]:
    """Return the unbiased readings (k,) of the k possible reports.

    ``wanted`` (k,) holds the values of the k answers (``Survey.wanted``).
    """
    keep, other = probabilities(mechanism)
    return np.asarray((wanted - other * wanted.sum()) / (keep - other))


def measure(name: str, *, epsilon: float, records: int, seed: int = 2025) -> ResponseRow:
    """Simulate a survey of ``records`` people, and estimate the truth from their releases."""
    distribution = survey_distribution(name, epsilon=epsilon)
    cell = sha256(repr((seed, name, epsilon, records)).encode()).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(cell[:7], "big"))
    weights = torch.tensor(SURVEYS[name].population, dtype=torch.float64)
    answers = torch.multinomial(weights, records, replacement=True, generator=generator).tolist()
    released, estimate, lower, upper = _ask(SURVEYS[name], answers, epsilon, generator)
    return ResponseRow(
        **asdict(distribution),
        records=records,
        released=released,
        estimate=estimate,
        deviation=math.sqrt(distribution.variance / records),
        lower=lower,
        upper=upper,
    )


def _ask(
    survey: Survey, answers: list[int], epsilon: float, generator: torch.Generator
) -> tuple[float, float, float, float]:
    """Return the share or mean of released answers, the debiased estimate, and its interval."""
    if survey.theta is None:
        laplace = ScalarLaplace(epsilon=epsilon, upper=MAX_SKIPPED)
        released = unbiased = np.array(laplace.simulate(answers, generator), dtype=float)
    else:
        mechanism = response(survey, epsilon=epsilon)
        numbers = np.array(mechanism.simulate([*map(str, answers)], generator)).astype(int)
        released, unbiased = survey.wanted[numbers], readings(survey.wanted, mechanism)[numbers]
    mean, estimate, tail = float(released.mean()), float(unbiased.mean()), (1 - CONFIDENCE) / 2
    if survey.target == "share":
        keep, other = probabilities(mechanism)
        ends = clopper_pearson(int(released.sum()), len(released), alpha=tail)
        lower, upper = ((float(end) - other) / (keep - other) for end in ends)
        return mean, estimate, lower, upper
    margin = float(norm.isf(tail) * unbiased.std(ddof=1)) / math.sqrt(len(unbiased))
    return mean, estimate, estimate - margin, estimate + margin


def tables(rows: Sequence[ResponseRow]) -> list[Table]:
    most = max(row.records for row in rows)
    lines = [
        [SURVEYS[row.survey].title, f"{row.epsilon:g}", words(row.spent)]
        + [f"{value:.4g}" for value in (row.parameter, row.published)]
        + [f"{value:.3f}" for value in (row.truth, row.released, row.estimate)]
        + [format_bound(row.half_width)]
        for row in rows
        if row.records == most
    ]
    headings = ["survey", "eps", "spent", "theta, b", "lecture", "truth", "released", "estimate", "+-"]
    return [(f"{most:,} people (99.9 % interval); theta, or the scale of the noise", headings, lines)]


def draw(rows: Sequence[ResponseRow]) -> Figure:
    most, colours = max(row.records for row in rows), dict(zip(SURVEYS, PALETTE, strict=False))
    with drawing(1, 2, size=(11, 4.4)) as opened:
        for axis, target in zip(opened.axes[0], ("share", "mean"), strict=True):
            shown = [row for row in rows if (row.records, row.target) == (most, target)]
            for name, curve in group_rows(shown, lambda row: row.survey).items():
                style = {"marker": "o", "ms": 4, "color": colours[name], "label": SURVEYS[name].title}
                axis.plot([row.epsilon for row in curve], [row.half_width for row in curve], **style)
            axis.set_title(f"half the interval of a {target}, {most:,} people", fontsize=10)
            axis.set_yscale("log")
            log_axis(axis, sorted({row.epsilon for row in shown}), "epsilon")
        legend(opened.figure, *opened.axes[0], columns=4)
    return opened.svg
