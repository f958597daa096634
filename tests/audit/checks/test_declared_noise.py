"""Gaussian noise under a pure claim is not reported, since so few trials cannot, but the audit says that it could not judge it."""

from typing import Any

import numpy as np
import pytest
from audit import sound
from audit.asking import asked, failed_of, finds
from torch import Tensor

from adept.audit import Claim, NotJudged, Verdict
from adept.audit.stats import gaussian_delta, looks_gaussian
from adept.mechanisms import BY_NAME, Gaussian, L1Laplace
from adept.mechanisms.random_draws import fresh_gaussian

SIGMA = 1.5


def answer(mechanism: Any, *, trials: int = 2_000, dim: int = 16) -> tuple[Verdict, str]:
    with pytest.raises(NotJudged) as unjudged:  # by this check alone
        asked({"Gaussian noise"}, mechanism, dim=dim, trials=trials)
    [check] = unjudged.value.result.checks
    return check.verdict, check.evidence


def gaussian(x: Tensor) -> Tensor:
    return sound.ball(x) + SIGMA * fresh_gaussian(*x.shape)


def test_gaussian_noise_under_a_pure_claim_is_not_judged_and_its_delta_is_named() -> None:
    """A Kolmogorov-Smirnov test at .01 calls it something else less than once in 50 audits, and never three times running."""
    for _ in range(3):
        verdict, evidence = answer(sound.Foreign(gaussian), trials=20_000)
        if verdict is Verdict.UNJUDGED:
            break
    assert verdict is Verdict.UNJUDGED
    assert "which has no finite pure epsilon: epsilon 4 needs delta" in evidence
    needed = float(evidence.split("needs delta ")[1].split(",")[0])
    assert needed == pytest.approx(gaussian_delta(2.0, sigma=SIGMA, epsilon=4.0), rel=0.4)


@pytest.mark.parametrize(
    "mechanism",
    [sound.Foreign(sound.sound), L1Laplace(epsilon=4.0), Gaussian(epsilon=4.0, delta=1e-6)],
    ids=lambda mechanism: mechanism.name,
)
def test_other_noise_and_other_claims_are_no_such_case(mechanism: Any) -> None:
    """Laplace noise passes for Gaussian in a billionth of audits: 1,920 numbers."""
    assert answer(mechanism)[0] is Verdict.PASSED


def cut(x: Tensor) -> Tensor:
    """Laplace noise of the right scale, redrawn beyond nine scales."""
    noise = sound.laplace(*x.shape)
    while (beyond := noise.abs() > 9).any():
        noise[beyond] = sound.laplace(int(beyond.sum()))
    return (c := sound.ball(x)) + sound.width(c) * noise


@pytest.mark.parametrize("name", ["l1", "sqrt_n", "l2_norm"])
@pytest.mark.parametrize("epsilon", [1e-9, 1e-5, 1e5, 1e7])
def test_declared_noise_of_any_scale_is_read_as_it_is(name: str, epsilon: float) -> None:
    """Noise of a million times clip_norm was cut off, and noise of a few steps of its grid is not smooth: both failed tests
    against their own distribution. Beyond 2^53 steps, floats do not hold each multiple, and exact noise was refuted.

    Twelve audits at confidence 1 - 1e-9.
    """
    checks = {"scale", "shape", "reach", "coordinates", "grid", "lowest bit"}
    options = {"dim": 64, "trials": 1_000, "confidence": 1 - 1e-9}
    assert failed_of(checks, BY_NAME[name](epsilon=epsilon), **options) == set()


@pytest.mark.parametrize("scale", [None, "wide", [1.0], -1.0, float("nan"), np.ones(2)], ids=repr)
def test_a_scale_that_is_no_number_is_not_judged(scale: Any) -> None:
    mechanism = sound.Foreign(sound.sound, **sound.declares(lambda dim: scale))
    with pytest.raises(NotJudged, match="declares no scale for its noise"):
        asked({"scale"}, mechanism, dim=2, trials=200)


@pytest.mark.parametrize("dim", [1, 16])
def test_stated_noise_that_ends_at_nine_scales_is_found_and_endless_noise_is_not(dim: int) -> None:
    """Half a million numbers: 65 lie beyond. The endless noise is judged at confidence 1 - 1e-9."""
    declared = sound.declares(sound.right_scale)
    assert finds("reach", sound.Foreign(cut, **declared), dim=dim)
    assert failed_of({"reach"}, sound.Foreign(sound.sound, **declared), dim=dim, confidence=1 - 1e-9) == set()


def test_releases_of_a_gaussian_are_told_from_others_in_any_form() -> None:
    """Turned, rounded to whole numbers, or fewer than the record's: false answers one in 50, not three times running."""
    random = np.random.default_rng()
    turned = random.normal(size=(6, 6))
    forms = {"turned": lambda z: z @ turned, "whole": lambda z: np.round(2 * z), "one": lambda z: z[:, :1]}
    for name, form in forms.items():
        assert any(looks_gaussian(form(random.normal(size=(4_000, 6)))) for _ in range(4)), name
        assert not looks_gaussian(form(random.laplace(size=(4_000, 6)))), name
    assert not looks_gaussian(random.choice([-1.0, 1.0], (4_000, 1)))
    sphere = random.normal(size=(4_000, 100))
    assert not looks_gaussian(sphere / np.linalg.norm(sphere, axis=1, keepdims=True))


def test_an_audit_of_gaussian_noise_that_states_nothing_could_not_tell() -> None:
    """On vectors and on numbers; looks_gaussian errs in one of 50 audits, and not in four."""
    numbers = Claim(
        lambda values: [v + np.random.default_rng().normal(0, 2) for v in values], epsilon=4.0, alphabet=[0.0, 1.0]
    )
    for mechanism, options in ((sound.Foreign(gaussian), {"dim": 16}), (numbers, {})):
        results = [asked({"event", "Gaussian noise"}, mechanism, trials=400, **options) for _ in range(4)]
        assert "could not tell" in {result.outcome for result in results}
        [sentence, *_] = [result.sentence for result in results if result.outcome == "could not tell"]
        assert sentence.startswith("Could not tell whether the claim")
        assert "which has no finite pure epsilon" in sentence
