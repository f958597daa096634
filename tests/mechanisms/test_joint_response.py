"""Claims about one symbol for text and label: the heavy set, the distribution, what each half tells, and the rules for its size.

One audit of a sound mechanism, which errs with probability at most 1e-6; two tests of counts, at 1e-7.
"""

import math
from dataclasses import replace
from itertools import combinations, product

import mpmath
import pytest
import torch
from audit.asking import make_cheap, shorten_games

from adept import audit
from adept.audit.checks.declarations import frequencies, stated
from adept.audit.distinguisher.guessing_game import Experiment
from adept.audit.subject.kinds import ValueTarget
from adept.errors import ConfigurationError
from adept.mechanisms import Description, JointResponse, LearnedCodebook, PrivUnit

LABELS = ("flight", "fare", "meal")
WORDS = torch.nn.functional.normalize(torch.randn(6, 4, generator=torch.Generator().manual_seed(1)), dim=1)
KINDS = {
    "codebook": JointResponse(mechanism=LearnedCodebook(epsilon=2.0, codewords=WORDS, top=2), labels=LABELS),
    "description": JointResponse(mechanism=Description(epsilon=2.0, size=5), labels=LABELS),
}


class Uneven(JointResponse):
    """The planted defect: records with the first label have two heavy pairs, others one."""

    def privatize(self, pairs):
        selection, draws = self.selection, [0] * len(pairs)
        for count in (1, 2):
            asked = {place: pair for place, pair in enumerate(pairs) if count == 1 + (pair[1] == self.labels[0])}
            if asked:
                first = [self._heavy_first(*pair) for pair in asked.values()]
                heavy = [[(index + more) % selection.size for more in range(count)] for index in first]
                drawn = replace(selection, heavy_count=count).draw(heavy).tolist()
                for place, draw in zip(asked, drawn, strict=True):
                    draws[place] = draw
        return list(self._pairs(draws))

    def _heavy_first(self, number, label):
        return min(self._heavy((number, label)))


class Declared(Uneven):
    """The same, which states the distribution that it has."""

    def _distribution(self, symbol):
        distribution, second = super()._distribution(symbol), ((symbol[0] + 1) % self.text.count, symbol[1])
        weights = distribution | {second: distribution[symbol]} if symbol[1] == self.labels[0] else distribution
        return {outcome: weight / sum(weights.values()) for outcome, weight in weights.items()}


@pytest.mark.mutants("mechanisms.randomized_response")
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_records_heavy_pairs_are_t_outcomes_with_its_own_label(kind: JointResponse) -> None:
    for number, label in product(range(kind.text.count), LABELS):
        pairs = list(kind._pairs(sorted(kind._heavy((number, label)))))
        assert len(set(pairs)) == kind.selection.heavy_count
        assert {beside for _, beside in pairs} == {label}
        assert number in {place for place, _ in pairs}
    assert set(kind._pairs(range(kind.selection.size))) == set(product(range(kind.text.count), LABELS))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_releases_have_the_stated_distribution_and_it_keeps_the_claim(kind: JointResponse) -> None:
    experiment = Experiment(ValueTarget(kind, values=kind.alphabet), lambda _: [], trials=2000)
    assert frequencies(experiment, 1e-7).verdict == "passed"
    assert stated(experiment, 0.0).statistic == pytest.approx(2.0, rel=1e-9)


@pytest.mark.parametrize(("kind", "violated"), [(JointResponse, False), (Uneven, True), (Declared, True)])
def test_a_heavy_set_whose_size_depends_on_the_label_is_found(
    kind: type[JointResponse], violated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its frequencies show it, in each of twenty audits; few calls of their own are enough for that."""
    make_cheap(monkeypatch)
    if not violated:
        shorten_games(monkeypatch)
    mechanism = kind(mechanism=Description(epsilon=2.0, size=5), labels=LABELS)
    assert audit.run(mechanism, trials=2000, confidence=1 - 1e-6).violated is violated


@pytest.mark.mutants("mechanisms.randomized_response")
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_what_comes_out_right_has_the_probability_of_the_heavy_set(kind: JointResponse) -> None:
    distribution = kind._distribution((1, "fare"))
    assert sum(distribution.values()) == 1
    assert sum(sorted(distribution.values())[-kind.selection.heavy_count :]) == kind.selection.heavy_probability
    assert sum(p for (_, label), p in distribution.items() if label == "fare") == kind.keep_probability


def test_one_symbol_keeps_both_halves_more_often_than_any_split_of_the_budget() -> None:
    """MECHANISMS, section 7: 64 codewords and 20 labels at a total of 8 are both right .70 of all times, and .37 apart."""
    labels = tuple(map(str, range(20)))
    joint = JointResponse(mechanism=LearnedCodebook(epsilon=8.0, size=64, top=1), labels=labels)

    def keep(epsilon: float, size: int) -> float:
        return math.exp(epsilon) / (math.exp(epsilon) + size - 1)

    apart = max(keep(8 - share / 100, 64) * keep(share / 100, 20) for share in range(1, 800))
    assert float(joint.selection.heavy_probability) == pytest.approx(0.70, abs=0.005)
    assert apart == pytest.approx(0.37, abs=0.005)


def test_codewords_of_a_model_bring_their_own_number_of_heavy_ones() -> None:
    given = JointResponse(mechanism=LearnedCodebook(epsilon=4.0, codewords=WORDS[:4]), labels=LABELS)
    assert (given.text.count, given.selection.size, given.selection.heavy_count) == (4, 12, 1)
    fixed = JointResponse(mechanism=LearnedCodebook(epsilon=4.0, top=3, codewords=WORDS), labels=LABELS)
    assert fixed.selection.heavy_count == 3


def test_what_is_no_pair_of_a_finite_alphabet_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="unknown one in record 1") as caught:
        KINDS["codebook"].privatize([(0, "xanthic")])
    assert "xanthic" not in str(caught.value)
    with pytest.raises(ConfigurationError, match="mechanism must be learned_codebook or description"):
        JointResponse.of(PrivUnit(epsilon=8.0), LABELS)
    with pytest.raises(ConfigurationError, match="labels must be at least two"):
        JointResponse.of(Description(epsilon=8.0), ["fare"])


def joint_of(epsilon: float, *, size: int, top: int, labels: int) -> JointResponse:
    mechanism = Description(epsilon=epsilon, size=size, top=top)
    return JointResponse(mechanism=mechanism, labels=tuple(map(str, range(labels))))


@pytest.mark.mutants("mechanisms.randomized_response")
@pytest.mark.parametrize(("size", "top", "labels"), [(2, 1, 2), (5, 1, 3), (6, 2, 3), (4, 3, 2)])
def test_what_each_half_of_a_pair_tells_is_the_worst_ratio_of_its_marginal(size: int, top: int, labels: int) -> None:
    joint = joint_of(2.0, size=size, top=top, labels=labels)
    entries, tags = [], []
    for own, label in product(combinations(range(size), top), range(labels)):
        distribution = joint.selection.distribution(label * size + entry for entry in own)
        entries.append([sum(distribution[tag * size + entry] for tag in range(labels)) for entry in range(size)])
        tags.append([sum(distribution[tag * size + entry] for entry in range(size)) for tag in range(labels)])
        assert tags[-1][label] == joint.keep_probability
    for claimed, marginals in ((joint.text_epsilon, entries), (joint.label_epsilon, tags)):
        worst = max(
            math.log(p / q) for one in marginals for other in marginals for p, q in zip(one, other, strict=True)
        )
        assert worst <= claimed < worst + 1e-9
        assert claimed < 2.0


@pytest.mark.mutants("mechanisms.randomized_response")
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 64.0, 600.0])
@pytest.mark.parametrize("labels", [2, 1000])
@pytest.mark.parametrize(("size", "top"), [(2, 1), (2**40, 1), (64, 63), (1024, 500)])
def test_what_each_half_tells_is_never_too_small_at_the_ends(epsilon: float, labels: int, size: int, top: int) -> None:
    """In sixty digits, with one heavy entry, half of them and all but one."""
    joint = joint_of(epsilon, size=size, top=top, labels=labels)
    heavy, light = joint.selection.odds
    with mpmath.workdps(60):
        entry = mpmath.log(mpmath.mpf(heavy + (labels - 1) * light) / (labels * light))
        label = mpmath.log(mpmath.mpf(top * heavy + (size - top) * light) / (size * light))
    for claimed, exact in ((joint.text_epsilon, entry), (joint.label_epsilon, label)):
        assert exact <= claimed <= min(epsilon, float(exact) * (1 + 1e-9) + 1e-9)
