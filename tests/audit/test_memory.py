"""Sound mechanisms with a memory are judged by releases of fresh copies, and what later reports reveal by joint reports.

Audits of sound mechanisms are at confidence 1 - 1e-8, 25 of them: share of the suite's false alarms 2.5e-7.
"""

from typing import Any

import pytest
from audit import memory
from audit.asking import failed, failed_of, finds
from audit.protocols import KRR
from audit.sound import EPSILON
from scipy.stats import binom

from adept import audit
from adept.audit import Claim, JointReports, NotJudged, auditor
from adept.audit.checks import declarations
from adept.audit.distinguisher.input_pairs import adversarial_pairs
from adept.errors import ConfigurationError
from adept.mechanisms import L1Laplace

SURE = 1 - 1e-8


@pytest.fixture(autouse=True)
def _few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy for each release is expensive, and a memory shows on any pair."""
    monkeypatch.setattr(
        "adept.audit.distinguisher.input_pairs.every_pair",
        lambda target: adversarial_pairs(target.dim, clip_norm=1.0)[:3],
    )
    monkeypatch.setattr("adept.audit.checks.metadata.SEARCH_SHARE", 0.0)


@pytest.fixture
def few_copies(few_calls: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask for few calls, in one dimension, and for a thousand copies to tell the noise from a Gaussian."""
    monkeypatch.setattr(declarations, "REACH_NUMBERS", 2**11)
    monkeypatch.setattr(auditor, "OF_VECTORS", [row for row in auditor.OF_VECTORS if row.dim is None])


def outcome(mechanism: Any, **options: Any) -> tuple[str, set[str]]:
    try:
        result = audit.run(mechanism, dim=2, **options)
    except NotJudged as unjudged:
        return "not judged", failed(unjudged.result)
    return result.outcome, failed(result)


@pytest.mark.parametrize("kind", memory.DECLARED)
def test_a_declared_memory_is_judged_and_no_violation_is_found(
    kind: type[Any], few_copies: None, short_games: None
) -> None:
    assert outcome(Claim(kind(), memoised=True), trials=100, confidence=SURE) == ("not refuted", set())


@pytest.mark.parametrize("kind", memory.UNDECLARED)
def test_no_violation_is_found_in_an_undeclared_memory_that_keeps_its_claim(
    kind: type[Any], few_calls: None, short_games: None
) -> None:
    assert outcome(kind(), trials=100, confidence=SURE)[1] == set()


def test_an_audit_leaves_a_mechanism_with_a_memory_as_it_was_given(few_calls: None, short_games: None) -> None:
    mechanism = memory.RefusesValuesWhenItsBudgetIsSpent()
    audit.run(Claim(mechanism, memoised=True), trials=100, confidence=SURE)
    assert mechanism.left == 10


def test_permanent_responses_reveal_no_more_in_many_reports_than_in_one() -> None:
    """Five reports are claimed at the epsilon of one, which they would break by far if each had noise of its own."""
    permanent = JointReports(Claim(memory.RemembersRecords(), memoised=True), reports=5)
    assert permanent.epsilon == EPSILON
    assert failed_of({"event"}, permanent, dim=2, trials=300, confidence=SURE) == set()
    fresh = JointReports(memory.OnVectors(), reports=5, epsilon=EPSILON)
    assert finds("event", fresh, dim=2, trials=5_000)


def test_later_reports_with_less_noise_are_found_by_joint_reports_alone() -> None:
    mechanism = Claim(memory.HasLessNoiseForLaterReports(), memoised=True)
    assert failed_of({"event"}, mechanism, dim=2, trials=300, confidence=SURE) == set()
    assert finds("event", JointReports(mechanism, reports=4), dim=2, trials=800)


@pytest.mark.parametrize("reports", [1, 3])
def test_reports_of_values_compose(reports: int) -> None:
    """The best rule of three equal reports is right e^6 times as often as wrong: more is certified than of one report."""
    joint = JointReports(KRR(2.0, 4), reports=reports)
    result = audit.run(joint, trials=4_000, confidence=SURE)
    assert not result.violated
    assert (result.certified_epsilon > 2.0) == (reports == 3)
    assert joint.name == f"{reports} reports of KRR"


def test_several_reports_pass_on_the_clip_of_one_but_not_its_noise() -> None:
    joint = JointReports(L1Laplace(epsilon=1.0), reports=3)
    assert (joint.clip, joint.epsilon) == ("l1", 3.0)
    assert not any(hasattr(joint, name) for name in ("noise", "guarantee"))
    stated = JointReports(Claim(KRR(2.0, 4), distribution=lambda _: {}, supports=lambda *_: 0.0), reports=3)
    assert not any(hasattr(stated, name) for name in ("distribution", "supports", "odds"))


def test_reports_are_a_number() -> None:
    with pytest.raises(ConfigurationError, match="reports must be an integer between 1 and"):
        JointReports(KRR(2.0, 4), reports=0)


def check_false_positives(confidence: float, *, audits: int) -> None:
    """Audit each mechanism so often. False alarms of this check: 1e-6."""
    mechanisms = [Claim(kind(), memoised=True) for kind in memory.DECLARED] + [kind() for kind in memory.UNDECLARED]
    found = sum(bool(outcome(each, trials=300, confidence=confidence)[1]) for each in mechanisms for _ in range(audits))
    assert found <= binom.ppf(1 - 1e-6, audits * len(mechanisms), 1 - confidence)


@pytest.mark.slow
@pytest.mark.parametrize("confidence", [0.9, 0.999])
def test_false_positives_with_a_memory_are_no_more_frequent_than_alpha(confidence: float, few_copies: None) -> None:
    check_false_positives(confidence, audits=5)  # at .999, one mechanism that is always blamed is too many


@pytest.mark.hours
@pytest.mark.parametrize("confidence", [0.9, 0.999])
def test_false_positives_with_a_memory_and_all_calls_are_no_more_frequent_than_alpha(confidence: float) -> None:
    check_false_positives(confidence, audits=10)
