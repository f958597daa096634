"""Gaussian noise under a pure claim is not reported, since so few trials cannot, but the audit says that it could not judge it."""

from typing import Any

import pytest
from audit import sound
from audit.asking import asked
from torch import Tensor

from adept.audit import NotJudged, Verdict
from adept.audit.stats.confidence_bounds import gaussian_delta
from adept.mechanisms import Gaussian, L1Laplace
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
    assert "keeps no pure claim: epsilon 4 needs delta" in evidence
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


def test_too_little_noise_is_said_to_be_too_little() -> None:
    assert "too little noise" in answer(sound.Foreign(sound.sound), dim=1)[1]
