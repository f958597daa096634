"""Claims about one symbol for text and label: the heavy set, the distribution, what each half tells, and the rules for its size.

One audit of a sound mechanism, which errs with probability at most 1e-6; two tests of counts, at 1e-7.
"""

import math
from collections import Counter
from fractions import Fraction
from itertools import product

import mpmath
import pytest
import torch

from adept import audit
from adept.audit.checks.discrete_distribution import frequencies, stated
from adept.audit.distinguisher.guessing_game import Experiment
from adept.audit.subject.value import ValueTarget
from adept.errors import ConfigurationError
from adept.mechanisms import Description, JointResponse, LearnedCodebook, PrivUnit, joint_response
from adept.mechanisms.description import MAX_SIZE, joint_size
from adept.mechanisms.random_draws import exact_ranks

LABELS = ("flight", "fare", "meal")
WORDS = torch.nn.functional.normalize(torch.randn(6, 4, generator=torch.Generator().manual_seed(1)), dim=1)
KINDS = {
    "codebook": JointResponse(mechanism=LearnedCodebook(epsilon=2.0, codewords=WORDS, top=2), labels=LABELS),
    "description": JointResponse(mechanism=Description(epsilon=2.0, size=5), labels=LABELS),
}


class Uneven(JointResponse):
    """The planted defect: records with the first label have two heavy symbols, others one."""

    def _drawn(self, labels):
        tops = [1 + (label == self.labels[0]) for label in labels]
        ranks = [rank for top in tops for rank in exact_ranks(1, near=top, far=self.size - top, odds=self.odds)]
        beside = self._response.choose(labels, [rank // self.text.count for rank in ranks])
        return [rank % self.text.count for rank in ranks], beside


class Declared(Uneven):
    """The same, which states the distribution that it has."""

    def _distribution(self, symbol):
        distribution, second = super()._distribution(symbol), ((symbol[0] + 1) % self.text.count, symbol[1])
        weights = distribution | {second: distribution[symbol]} if symbol[1] == self.labels[0] else distribution
        return {outcome: weight / sum(weights.values()) for outcome, weight in weights.items()}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_records_ranks_are_all_symbols_and_its_heavy_ones_come_first(
    kind: JointResponse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proof's bijection, run through: with t and W the same for every label, the odds bound every ratio."""
    asked = set()

    def every(records: int, *, near: int, far: int, odds: tuple[int, int]) -> list[int]:
        asked.add((near, near + far, odds))
        return list(range(records))

    monkeypatch.setattr(joint_response, "exact_ranks", every)
    for number, label in product(range(kind.text.count), LABELS):
        symbols = kind.privatize([(number, label)] * kind.size)
        assert set(symbols) == set(product(range(kind.text.count), LABELS))
        heavy = symbols[: kind.top]
        assert {beside for _, beside in heavy} == {label}
        assert number in {place for place, _ in heavy}
    assert asked == {(kind.top, kind.size, kind.odds)}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_releases_have_the_stated_distribution_and_it_keeps_the_claim(kind: JointResponse) -> None:
    experiment = Experiment(ValueTarget(kind, values=kind.alphabet), lambda _: [], trials=2000)
    assert frequencies(experiment, 1e-7).verdict == "passed"
    assert stated(experiment, 0.0).statistic == pytest.approx(2.0, rel=1e-9)


@pytest.mark.parametrize(("kind", "violated"), [(JointResponse, False), (Uneven, True), (Declared, True)])
def test_a_heavy_set_whose_size_depends_on_the_label_is_found(kind: type[JointResponse], violated: bool) -> None:
    mechanism = kind(mechanism=Description(epsilon=2.0, size=5), labels=LABELS)
    assert audit.run(mechanism, trials=2000, confidence=1 - 1e-6).violated is violated


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_what_each_half_tells_alone_is_the_worst_ratio_of_its_marginal(kind: JointResponse) -> None:
    def worst(part: int) -> float:
        distributions = []
        for symbol in kind.alphabet:
            marginal: Counter[object] = Counter()
            for outcome, p in kind._distribution(symbol).items():
                marginal[outcome[part]] += p  # type: ignore[assignment]
            distributions.append(marginal)
        return max(
            math.log(Fraction(p) / Fraction(q[value]))
            for p0 in distributions
            for q in distributions
            for value, p in p0.items()
        )

    for written, found in ((kind.text_epsilon, worst(0)), (kind.label_epsilon, worst(1))):
        assert found <= written < found + 1e-9
        assert written < kind.epsilon


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_what_comes_out_right_has_the_probability_of_the_heavy_set(kind: JointResponse) -> None:
    distribution = kind._distribution((1, "fare"))
    assert sum(distribution.values()) == 1
    assert sum(sorted(distribution.values())[-kind.top :]) == kind.both_probability
    assert sum(p for (_, label), p in distribution.items() if label == "fare") == kind.keep_probability


def test_labels_come_with_latents_and_descriptions_and_mostly_as_they_are() -> None:
    """2,000 releases at eps = 9: 18 symbols of weight e^-9 beside one leave 4.2 wrong ones; above 60 is below 1e-40."""
    codebook = JointResponse(mechanism=LearnedCodebook(epsilon=9.0, codewords=WORDS, top=1), labels=LABELS)
    rows, labels = codebook.release(3 * WORDS[[4]].repeat(2000, 1).double(), ["fare"] * 2000)
    assert isinstance(rows, torch.Tensor)
    assert rows.dtype == torch.float64
    right = (rows == WORDS[4]).all(dim=1) & torch.tensor([label == "fare" for label in labels])
    assert 1940 <= int(right.sum()) < 2000 or float(codebook.both_probability) > 0.99
    described = JointResponse(mechanism=Description(epsilon=40.0, size=2**20), labels=LABELS)
    numbers, _ = described.release([2**20 - 1] * 50, ["meal"] * 50)
    assert all(0 <= number < 2**20 for number in numbers)  # type: ignore[union-attr]


def test_one_symbol_keeps_both_halves_more_often_than_any_split_of_the_budget() -> None:
    """MECHANISMS, section 7: 64 codewords and 20 labels at a total of 8 are both right .70 of all times, and .37 apart."""
    labels = tuple(map(str, range(20)))
    joint = JointResponse(mechanism=LearnedCodebook(epsilon=8.0, size=64, top=1), labels=labels)

    def keep(epsilon: float, size: int) -> float:
        return math.exp(epsilon) / (math.exp(epsilon) + size - 1)

    apart = max(keep(8 - share / 100, 64) * keep(share / 100, 20) for share in range(1, 800))
    assert float(joint.both_probability) == pytest.approx(0.70, abs=0.005)
    assert apart == pytest.approx(0.37, abs=0.005)


@pytest.mark.parametrize(("epsilon", "labels"), [(6.0, 7), (8.0, 20), (12.0, 64)])
def test_the_default_number_of_descriptions_tells_most_where_texts_determine_labels(
    epsilon: float, labels: int
) -> None:
    """The mutual information of a uniform true pair out of K and its symbol, from the distribution itself: no K tells .5 % more."""
    odds = math.exp(epsilon)

    def nats(size: int) -> float:
        weight = odds + size * labels - 1
        true, other = (
            (odds + size - 1) / (size * weight),
            1 / weight,
        )  # of a symbol that some record has, and that none has
        entropy = -size * true * math.log(true) - size * (labels - 1) * other * math.log(other)
        return entropy + odds / weight * math.log(odds / weight) + (1 - odds / weight) * math.log(other)

    best = max(nats(size) for size in range(2, 2000))
    assert nats(joint_size(epsilon, labels)) > 0.995 * best
    assert joint_size(600.0, labels) == MAX_SIZE


def test_codewords_of_a_model_bring_their_own_number_of_heavy_ones() -> None:
    asked = LearnedCodebook(epsilon=4.0)
    given = JointResponse(mechanism=asked.with_codewords({4: WORDS[:4]}), labels=LABELS)
    assert (given.text.count, given.size, given.top) == (4, 12, 1)
    assert JointResponse(mechanism=LearnedCodebook(epsilon=4.0, top=3, codewords=WORDS), labels=LABELS).top == 3


def test_what_is_no_pair_of_a_finite_alphabet_is_refused() -> None:
    kind = KINDS["codebook"]
    with pytest.raises(ConfigurationError, match="unknown one in record 2") as caught:
        kind.release(WORDS[:2], ["fare", "xanthic"])
    assert "xanthic" not in str(caught.value)
    with pytest.raises(ConfigurationError, match="labels must be as many as records, 2, got 1"):
        kind.release(WORDS[:2], ["fare"])
    with pytest.raises(ConfigurationError, match="latents must be a tensor, got list"):
        kind.release([1, 2], ["fare"] * 2)
    with pytest.raises(ConfigurationError, match="mechanism must be learned_codebook or description"):
        JointResponse.of(PrivUnit(epsilon=8.0), LABELS)
    with pytest.raises(ConfigurationError, match="labels must be at least two"):
        JointResponse.of(Description(epsilon=8.0), ["fare"])


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 64.0, 600.0])
@pytest.mark.parametrize("labels", [2, 1000])
def test_what_each_half_tells_alone_is_never_too_small_at_the_ends_of_the_budget(epsilon: float, labels: int) -> None:
    """In sixty digits, for two outcomes and for 2^20, one heavy symbol and all but one codeword."""
    names = tuple(map(str, range(labels)))
    for mechanism in (
        Description(epsilon=epsilon, size=2),
        Description(epsilon=epsilon, size=2**20),
        LearnedCodebook(epsilon=epsilon),
        LearnedCodebook(epsilon=epsilon, size=64, top=63),
    ):
        joint = JointResponse.of(mechanism, names)
        (heavy, light), size, top = joint.odds, joint.text.count, joint.top
        with mpmath.workdps(60):
            text = mpmath.log(mpmath.mpf(heavy + (labels - 1) * light) / (labels * light))
            label = mpmath.log(mpmath.mpf(top * heavy + (size - top) * light) / (size * light))
        assert text <= joint.text_epsilon <= min(epsilon, float(text) * (1 + 1e-9) + 1e-9)
        assert label <= joint.label_epsilon <= min(epsilon, float(label) * (1 + 1e-9) + 1e-9)
