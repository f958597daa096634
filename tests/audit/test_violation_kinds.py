"""Every violation has a kind, and a claim may leave seeding to its caller.

Planted defects of the kind randomness are refuted by noise that repeats exactly; sound mechanisms are audited four times at
confidence 1 - 1e-9: share of the suite's false alarms 3e-9.
"""

import json
from typing import Any

import numpy as np
import pytest
from audit import asking
from audit.asking import failed
from audit.protocols import KRR

from adept import audit
from adept.audit import Claim, Kind
from adept.errors import ConfigurationError

EPSILON, DIM, CONFIDENCE = 4.0, 4, 1 - 1e-9


def ball(x: Any) -> Any:
    x = np.clip(np.nan_to_num(np.asarray(x, dtype=np.float64), nan=0.0), -1e6, 1e6)
    return x / np.maximum(1.0, np.linalg.norm(x, axis=1, keepdims=True))


class Own:
    """Sound, with Laplace noise of a generator that each child chooses."""

    epsilon = EPSILON

    def generator(self) -> Any:
        return np.random.default_rng()

    def privatize(self, x: Any) -> Any:
        return ball(x) + self.generator().laplace(0, 2 * np.sqrt(np.shape(x)[1]) / EPSILON, np.shape(x))


class Global(Own):
    """Draws from NumPy's global generator."""

    def generator(self) -> Any:
        return np.random


class Held(Own):
    """Draws from a generator with a seed, made with the object."""

    def __init__(self) -> None:
        self.held = np.random.default_rng(42)

    def generator(self) -> Any:
        return self.held


class Fixed(Own):
    """Draws from the same seed in every call."""

    def generator(self) -> Any:
        return np.random.default_rng(42)


class Half(Own):
    """Half of the noise."""

    def privatize(self, x: Any) -> Any:
        return ball(x) + (super().privatize(x) - ball(x)) / 2


class NaNAlone(Own):
    """Passes NaN on."""

    def privatize(self, x: Any) -> Any:
        return np.where(np.isnan(x).any(axis=1, keepdims=True), np.nan, super().privatize(x))


class Refuses(Own):
    """Refuses records with a negative number."""

    clip = "l2"

    def privatize(self, x: Any) -> Any:
        if (np.asarray(x) < 0).any():
            raise ValueError("negative")
        return super().privatize(x)


class Trend(Own):
    """Answers with the sum of its batch."""

    def privatize(self, x: Any) -> Any:
        return super().privatize(x) + 100 * ball(x).sum()


def judged(mechanism: Any, *names: str, **options: Any) -> audit.AuditResult:
    """Audit by the named checks alone, judged or not."""
    return asking.judged(set(names), mechanism, **{"dim": DIM, "trials": 2_000, **options})


@pytest.mark.parametrize(
    ("mechanism", "check", "kind"),
    [
        (Half(), "event, dimension 1", Kind.DISTRIBUTION),
        (Global(), "seed", Kind.RANDOMNESS),
        (Held(), "fork", Kind.RANDOMNESS),
        (Fixed(), "batch of one", Kind.RANDOMNESS),
        (Fixed(), "shared noise", Kind.RANDOMNESS),
        (NaNAlone(), "finiteness", Kind.FLOATING_POINT),
        (NaNAlone(), "event", Kind.FLOATING_POINT),
        (Refuses(), "metadata", Kind.METADATA),
        (Trend(), "batch neighbours", Kind.STATE),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "privatize") else str(value),
)
def test_a_violation_is_reported_with_its_kind(mechanism: Any, check: str, kind: Kind) -> None:
    result = judged(mechanism, check, trials=8_000 if isinstance(mechanism, Half) else 2_000)
    assert failed(result) == {check}
    assert {name for name, outcome in result.kinds.items() if outcome == "violated"} == {kind.value}
    assert f"is refuted by the check {check} ({kind.value}): " in result.sentence
    document = json.loads(json.dumps(result.to_dict()))
    assert document["kinds"] == result.kinds
    assert document["checks"][0]["kind"] == result.rows()[0]["kind"] == kind.value


def lengthen(texts: list[str]) -> list[str]:
    """Draw each word anew, as many as there were."""
    random = np.random.default_rng()
    return [" ".join(str(word) for word in random.integers(9, size=len(text.split()))) for text in texts]


def sometimes_lists(values: list[int]) -> list[Any]:
    answers = KRR(EPSILON, 8).privatize(values)
    return [[answer] if value else (answer,) for answer, value in zip(answers, values, strict=True)]


def test_the_length_of_a_text_is_metadata() -> None:
    result = judged(Claim(lengthen, epsilon=EPSILON), "event", pairs=[("a b c", "a")])
    assert result.kinds["metadata"] == "violated"
    assert result.kinds["distribution"] == "not judged"


@pytest.mark.parametrize("mechanism", [Global(), Held()])
def test_seeding_is_a_note_where_it_is_the_callers_business(mechanism: Any) -> None:
    names = {"seed", "fork", "fresh copy"}
    result = judged(Claim(mechanism, randomness="caller"), *names, "event", confidence=CONFIDENCE)
    assert not result.violated
    assert result.kinds["randomness"] == "noted"
    assert result.certified_epsilon < EPSILON
    assert "Left to the caller: " in result.sentence
    assert judged(Claim(mechanism), *names).violated
    assert judged(Claim(Claim(mechanism, randomness="caller"), epsilon=4.0), *names).kinds["randomness"] == "noted"


class BareFirst(Own):
    """The first call of an object is answered without noise."""

    def __init__(self) -> None:
        self.calls = 0

    def privatize(self, x: Any) -> Any:
        self.calls += 1
        return ball(x) if self.calls == 1 else super().privatize(x)


@pytest.mark.parametrize("randomness", ["mechanism", "caller"])
def test_a_first_release_without_noise_is_no_matter_of_seeding(randomness: str) -> None:
    result = judged(Claim(BareFirst(), randomness=randomness), "seed", "fork", "fresh copy")
    assert failed(result) == {"fresh copy"}
    assert result.kinds["state"] == "violated"
    assert result.kinds["randomness"] == "not refuted"


class LittleNoise(Own):
    """A sixteenth of the noise: in every release, or in the first of a copy alone."""

    def __init__(self, *, always: bool) -> None:
        self.always, self.calls = always, 0

    def privatize(self, x: Any) -> Any:
        self.calls += 1
        noise = super().privatize(x) - ball(x)
        return ball(x) + (noise / 16 if self.always or self.calls == 1 else noise)


@pytest.mark.parametrize(("always", "kind"), [(True, "distribution"), (False, "state")])
def test_what_first_releases_show_is_of_the_state_only_if_others_do_not_show_it(*, always: bool, kind: str) -> None:
    result = judged(LittleNoise(always=always), "fresh copy")
    assert failed(result) == {"fresh copy"}
    assert {name for name, outcome in result.kinds.items() if outcome == "violated"} == {kind}


class HeldAnswer:
    """Binary randomised response, or the sign of a projection with it, from a generator in the object."""

    def __init__(self, epsilon: float, seed: int) -> None:
        self.epsilon, self.generator = epsilon, np.random.default_rng(seed)

    def privatize(self, values: Any) -> Any:
        bits = values if isinstance(values, list) else (np.asarray(values)[:, 0] > 0).astype(int)
        kept = self.generator.random(len(bits)) < 1 / (1 + np.exp(-self.epsilon))
        answers = [int(bit) if keep else 1 - int(bit) for bit, keep in zip(bits, kept, strict=True)]
        return answers if isinstance(values, list) else np.array(answers, dtype=float)[:, None]


def test_a_generator_in_the_object_is_no_violation_where_the_caller_seeds() -> None:
    """Few outcomes: a fork shows less of the generator than a copy does."""
    names = {"fresh copy", "fork", "seed"}
    for seed in range(6):
        values = judged(Claim(HeldAnswer(3.6, seed), alphabet=2, randomness="caller"), *names, trials=1000)
        vectors = judged(Claim(HeldAnswer(4.0, seed), randomness="caller"), *names, trials=2000)
        assert failed(values) == failed(vectors) == set()
        assert failed(judged(Claim(HeldAnswer(3.6, seed), alphabet=2), *names, trials=1000)) >= {"fresh copy"}


class CopiesWithLawsOfTheirOwn:
    """Each object draws at its first call how truthful it is: all its reports together keep the claim."""

    epsilon = 8.0

    def __init__(self) -> None:
        self.keep = 0.0

    def privatize(self, values: list[int]) -> list[int]:
        generator = np.random.default_rng()
        self.keep = self.keep or float(generator.choice([0.75, 1 / (1 + np.exp(-8.0))]))
        kept = generator.random(len(values)) < self.keep
        return [bit if keep else 1 - bit for bit, keep in zip(values, kept, strict=True)]


def test_copies_with_laws_of_their_own_share_no_seed() -> None:
    """At confidence .99 each of 40 audits may fail with a probability of 1.5e-4 by this check."""
    claim = Claim(CopiesWithLawsOfTheirOwn(), alphabet=2)
    assert sum(failed(judged(claim, "fresh copy", trials=200, confidence=0.99)) != set() for _ in range(40)) <= 1


def test_outputs_that_never_vary_are_a_violation_whoever_seeds() -> None:
    assert judged(Claim(Fixed(), randomness="caller"), "batch of one").kinds["randomness"] == "violated"


def test_randomness_is_of_the_mechanism_or_of_the_caller() -> None:
    with pytest.raises(ConfigurationError, match="randomness must be one of mechanism, caller, got nobody"):
        Claim(Own(), randomness="nobody")


def test_a_kind_that_no_check_looked_at_is_not_judged() -> None:
    result = judged(Own(), "event", confidence=CONFIDENCE)
    assert result.kinds == {kind.value: "not judged" for kind in Kind} | {"distribution": "not refuted"}
