"""Audits of whole rewriters. Sound ones are audited three times at confidence 1 - 1e-9: share of false alarms 3e-9."""

from pathlib import Path
from typing import Any

import pytest
from audit import defects

from adept import audit
from adept.audit import Check, NotJudged, Verdict
from adept.audit.checks import metadata
from adept.audit.distinguisher.guessing_game import Experiment
from adept.audit.result import Kind, judge
from adept.audit.subject.kinds import ValueTarget
from adept.audit.subject.target import Rewriting
from adept.errors import ConfigurationError
from adept.mechanisms import Identity, SqrtNLaplace
from adept.rewriting.rewriter import Rewriter

TEXTS = ["a", "a b", "b b b", "a a b b a b a", "b"]
PAIRS = [(TEXTS[0], text) for text in TEXTS[1:]]
CONFIDENCE = 1 - 1e-9


def replayed(rewriter: Any, pairs: list[tuple[str, str]]) -> Check:
    """The replay's answer alone."""
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    experiment = Experiment(ValueTarget(Rewriting(rewriter), texts), lambda _: [], trials=100)
    return judge("replay", lambda: metadata.replay(experiment, 0.0), sees="", kind=Kind.METADATA)


def test_a_sound_rewriter_passes_the_guessing_game() -> None:
    rewriter = defects.FakeRewriter(SqrtNLaplace(epsilon=1.0))
    result = audit.run(rewriter, pairs=[("a", "b")], trials=4_000, confidence=CONFIDENCE)
    assert result.judged
    assert not result.violated
    assert result.certified_epsilon <= 1.0


def test_a_rewriter_without_noise_loses_the_guessing_game() -> None:
    rewriter = defects.FakeRewriter(Identity(epsilon=4.0))
    result = audit.run(rewriter, pairs=[("a", "b")], trials=20_000, confidence=CONFIDENCE)
    assert result.violated
    assert result.checks[0].statistic == 1.0


def test_length_taken_from_the_input_loses_the_guessing_game() -> None:
    rewriter = defects.LengthFromInput(SqrtNLaplace(epsilon=1.0))
    assert audit.run(rewriter, pairs=[("a", "b b b")], trials=2_000, confidence=CONFIDENCE).violated


def test_a_sound_rewriter_passes_the_replay_and_is_left_unchanged() -> None:
    mechanism = SqrtNLaplace(epsilon=1.0)
    rewriter = defects.FakeRewriter(mechanism)
    assert replayed(rewriter, PAIRS).verdict is Verdict.PASSED
    assert rewriter.mechanism is mechanism
    assert len(rewriter.release(TEXTS)) == len(TEXTS)


@pytest.mark.parametrize("kind", [defects.LengthFromInput, defects.LengthFromBatch])
def test_length_taken_from_the_input_or_its_batch_is_found_by_the_replay(kind: type[defects.FakeRewriter]) -> None:
    assert replayed(kind(SqrtNLaplace(epsilon=1.0)), PAIRS).verdict is Verdict.FAILED


def test_a_rewriter_that_samples_cannot_be_replayed() -> None:
    check = replayed(defects.Sampling(SqrtNLaplace(epsilon=1.0)), PAIRS)
    assert check.verdict is Verdict.UNJUDGED
    assert "samples" in check.evidence


def test_a_rewriter_that_raises_is_not_judged() -> None:
    with pytest.raises(NotJudged, match="no noise today"):
        audit.run(defects.FakeRewriter(defects.Raises(epsilon=1.0)), pairs=[("a", "b")], trials=200)


def test_a_trained_rewriter_passes_the_replay(tiny_run: Path) -> None:
    rewriter = Rewriter.from_pretrained(tiny_run, mechanism=SqrtNLaplace(epsilon=8.0))
    texts = ["show flights", "what is the cheapest fare from boston to denver on monday morning", "", "boston " * 100]
    assert replayed(rewriter, [(texts[0], text) for text in texts[1:]]).verdict is Verdict.PASSED


def test_too_little_to_compare_is_refused() -> None:
    rewriter = defects.FakeRewriter(SqrtNLaplace(epsilon=1.0))
    with pytest.raises(ConfigurationError):
        audit.run(rewriter, pairs=[("a", "b")], trials=10)
    with pytest.raises(ConfigurationError):
        audit.run(rewriter)
