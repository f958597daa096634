"""Audits of whole rewriters. Sound ones are audited three times at confidence 1 - 1e-9: share of false alarms 3e-9."""

from pathlib import Path

import pytest
from audit import defects

from adept import audit
from adept.audit import NotJudged, Verdict
from adept.errors import ConfigurationError
from adept.mechanisms import Identity, SqrtNLaplace
from adept.rewriting.rewriter import Rewriter

TEXTS = ["a", "a b", "b b b", "a a b b a b a", "b"]
CONFIDENCE = 1 - 1e-9


def test_a_sound_rewriter_passes_the_guessing_game() -> None:
    rewriter = defects.FakeRewriter(SqrtNLaplace(epsilon=1.0))
    result = audit.guessing_game(rewriter, "a", "b", trials=4_000, confidence=CONFIDENCE)
    assert result.judged
    assert not result.violated
    assert result.certified_epsilon <= 1.0


def test_a_rewriter_without_noise_loses_the_guessing_game() -> None:
    rewriter = defects.FakeRewriter(Identity(epsilon=4.0))
    result = audit.guessing_game(rewriter, "a", "b", trials=20_000, confidence=CONFIDENCE)
    assert result.violated
    assert result.checks[0].statistic == 1.0


def test_length_taken_from_the_input_loses_the_guessing_game() -> None:
    rewriter = defects.LengthFromInput(SqrtNLaplace(epsilon=1.0))
    assert audit.guessing_game(rewriter, "a", "b b b", trials=2_000, confidence=CONFIDENCE).violated


def test_a_sound_rewriter_passes_the_replay_and_is_left_unchanged() -> None:
    mechanism = SqrtNLaplace(epsilon=1.0)
    rewriter = defects.FakeRewriter(mechanism)
    result = audit.replay(rewriter, TEXTS)
    assert result.judged
    assert not result.violated
    assert rewriter.mechanism is mechanism
    assert len(rewriter.release(TEXTS)) == len(TEXTS)


@pytest.mark.parametrize("kind", [defects.LengthFromInput, defects.LengthFromBatch])
def test_length_taken_from_the_input_or_its_batch_is_found_by_the_replay(kind: type[defects.FakeRewriter]) -> None:
    result = audit.replay(kind(SqrtNLaplace(epsilon=1.0)), TEXTS)
    assert result.checks[0].verdict is Verdict.FAILED


def test_a_rewriter_that_samples_cannot_be_replayed() -> None:
    with pytest.raises(NotJudged, match="samples"):
        audit.replay(defects.Sampling(SqrtNLaplace(epsilon=1.0)), TEXTS)


def test_a_rewriter_that_raises_is_not_judged() -> None:
    with pytest.raises(NotJudged, match="no noise today"):
        audit.guessing_game(defects.FakeRewriter(defects.Raises(epsilon=1.0)), "a", "b", trials=200)


def test_a_trained_rewriter_passes_the_replay(tiny_run: Path) -> None:
    rewriter = Rewriter.from_pretrained(tiny_run, mechanism=SqrtNLaplace(epsilon=8.0))
    texts = ["show flights", "what is the cheapest fare from boston to denver on monday morning", "", "boston " * 100]
    result = audit.replay(rewriter, texts, latents=4)
    assert result.judged
    assert not result.violated


def test_too_little_to_compare_is_refused() -> None:
    rewriter = defects.FakeRewriter(SqrtNLaplace(epsilon=1.0))
    with pytest.raises(ConfigurationError):
        audit.guessing_game(rewriter, "a", "b", trials=10)
    with pytest.raises(ConfigurationError):
        audit.replay(rewriter, ["a"])
