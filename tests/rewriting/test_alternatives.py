"""Alternatives keep their claim for a whole record; one that leaves out half of the trick is a violation.

Audits of sound mechanisms are at confidence 1 - 1e-9, 3 of them: share of the suite's false alarms 3e-9.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from audit.asking import failed_of, finds

from adept.errors import ConfigurationError
from adept.rewriting.alternatives import (
    PromptSampling,
    Redaction,
    TokenExponential,
    TokenResponse,
    WordByWord,
    WordVectors,
    common_length,
    learn_word_vectors,
    public_logits,
)
from adept.rewriting.loading import load_model

TEXTS = ["show me flights to boston", "flights to denver", "show fares", "what is a fare to boston please tell me now"]
PUBLIC = learn_word_vectors(TEXTS, size=6, dim=4)
SHORT, LONG = "flights", "show me flights to boston show me flights"
SURE = 1 - 1e-9
KINDS = [TokenResponse, TokenExponential]


@pytest.fixture(scope="module")
def prompting_one(tiny_run: Path) -> PromptSampling:
    model, tokenizer = load_model(tiny_run / "model")
    logits = public_logits(model, tokenizer, TEXTS)
    return PromptSampling(epsilon=4.0, model=model, tokenizer=tokenizer, length=3, logits=logits)


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_is_released_as_the_same_number_of_symbols_whatever_its_length(kind: type[WordByWord]) -> None:
    mechanism = kind(epsilon=4000.0 / 7, public=PUBLIC, length=2)
    kept = [" ".join(word for word in text.split()[:2] if word in PUBLIC.places) for text in TEXTS]
    assert mechanism.privatize([*TEXTS, ""]) == [
        *kept,
        "",
    ]  # at such a budget nothing is changed but what has no symbol
    assert mechanism.privatize([]) == []
    assert Fraction(mechanism.share) * 2 <= Fraction(mechanism.epsilon)


def test_the_distribution_of_a_whole_record_keeps_the_claim_exactly() -> None:
    """All pairs of records of two positions over six words, the unknown one and padding, in exact fractions."""
    mechanism = TokenResponse(epsilon=2.0, public=PUBLIC, length=2)
    heavy, light = mechanism.response.odds
    words = range(mechanism.symbols)
    distributions = [
        [
            Fraction(heavy if a == x else light) * (heavy if b == y else light)
            for a, b in itertools.product(words, words)
        ]
        for x, y in itertools.product(words, words)
    ]
    worst = max(
        max(p / q for p, q in zip(one, other, strict=True)) for one in distributions[:3] for other in distributions
    )
    assert math.log(worst) == pytest.approx(2.0, abs=1e-9)
    assert worst <= Fraction(math.exp(2.0)) * (1 + Fraction(1, 10**12))


@pytest.mark.parametrize("kind", KINDS)
def test_number_and_choice_of_words_are_private(kind: type[WordByWord]) -> None:
    mechanism = kind(epsilon=4.0, public=PUBLIC, length=6)
    assert failed_of({"event"}, mechanism, pairs=[(SHORT, LONG)], trials=1_000, confidence=SURE) == set()
    guarantee = mechanism.guarantee()
    assert (guarantee.epsilon, guarantee.delta, guarantee.exact) == (4.0, 0.0, kind is TokenResponse)
    assert "6 positions" in guarantee.text


def test_without_padding_the_length_is_a_violation() -> None:
    class Unpadded(TokenResponse):
        def privatize(self, texts: Sequence[str]) -> list[str]:
            lengths = [len(text.split()) for text in texts]
            return [
                TokenResponse.privatize(replace(self, length=n), [t])[0] + " -" * n
                for n, t in zip(lengths, texts, strict=True)
            ]

    broken = Unpadded(epsilon=4.0, public=PUBLIC, length=6)
    assert finds("event", broken, pairs=[(SHORT, LONG)], trials=2_000)


def test_the_budget_of_each_position_instead_of_the_record_is_a_violation() -> None:
    class WholeBudgetEach(TokenExponential):
        @property
        def share(self) -> float:
            return self.epsilon

    broken = WholeBudgetEach(epsilon=2.0, public=PUBLIC, length=30)
    assert finds("event", broken, pairs=[(SHORT, f"{LONG} {LONG} {LONG} {LONG}")], trials=3_000)


def test_nearer_words_are_likelier() -> None:
    scores = TokenExponential(epsilon=4.0, public=PUBLIC, length=2).scores
    assert scores.min() == 0
    assert (np.diag(scores) == 1).all()
    order = np.argsort(PUBLIC.distances()[0])
    assert (np.diff(scores[0][order]) <= 1e-12).all()
    assert (scores[-1, :-1] == 0).all()  # of padding


def test_text_of_a_decoder_with_clipped_logits_is_private_token_by_token(prompting_one: PromptSampling) -> None:
    found = failed_of({"event"}, prompting_one, pairs=[(SHORT, LONG)], trials=200, confidence=SURE)
    assert found == set()
    assert prompting_one.guarantee().epsilon == 4.0
    assert all(len(text.split()) <= 3 for text in prompting_one.privatize(TEXTS))


def test_as_many_tokens_as_the_record_has_are_a_violation(prompting_one: PromptSampling) -> None:
    class LengthOfRecord(PromptSampling):
        def privatize(self, texts: Sequence[str]) -> list[str]:
            made = zip(super().privatize(texts), texts, strict=True)
            return [" ".join(text.split()[: len(record.split())]) for text, record in made]

    one = prompting_one
    broken = LengthOfRecord(epsilon=1.0, model=one.model, tokenizer=one.tokenizer, length=3, logits=one.logits)
    assert finds("event", broken, pairs=[(SHORT, LONG)], trials=300)


def test_redaction_tags_what_its_rules_know_and_keeps_the_rest() -> None:
    redaction = Redaction.from_public(["call me at the office"] * 5 + ["a rare thing"])
    [text] = redaction.privatize(["Call Maria at 555-1234 or the office, maria@example.org twenty rare"])
    assert text == "Call [NAME] at [NUMBER] [RARE] the office, [ADDRESS] [NUMBER] [RARE]"
    assert math.isinf(redaction.guarantee().epsilon)


def test_the_number_of_positions_is_public_and_at_least_one() -> None:
    assert common_length([3] * 9 + [40]) == 3
    assert common_length([]) == common_length([0, 0]) == 1
    with pytest.raises(ConfigurationError, match="length must be an integer"):
        TokenResponse(epsilon=4.0, public=PUBLIC, length=0)
    with pytest.raises(ConfigurationError, match="epsilon / length must be between"):
        TokenResponse(epsilon=0.01, public=PUBLIC, length=20)


def test_words_have_places_and_unknown_ones_the_place_that_is_asked_for() -> None:
    words = WordVectors(("a", "b"), np.eye(2))
    assert words.indices("B a zebra", unknown=7).tolist() == [1, 0, 7]
    assert words.indices("zebra").tolist() == [0]
