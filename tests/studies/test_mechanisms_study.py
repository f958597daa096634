"""The study of the mechanisms. All simulations are seeded, so nothing here is random."""

import math

import pytest
import torch

from adept.errors import ConfigurationError
from adept.mechanisms import BY_NAME
from adept.mechanisms.selection import Selection
from adept.studies import mechanisms_on_latents
from adept.studies.mechanisms_on_latents import MechanismRow, cap_information, codeword_information

RECORDS = 1000
ROWS = list(mechanisms_on_latents.run(dims=(16, 64), epsilons=(2.0, 8.0, 64.0), trials=RECORDS))
UNSEEN = (
    7 / RECORDS
)  # an event that did not happen in 1,000 records has at most this probability, but for one case in 1,000


def row(mechanism: str, dim: int, epsilon: float) -> MechanismRow:
    """The row of the grid."""
    return next(r for r in ROWS if (r.mechanism, r.dim, r.claimed_epsilon) == (mechanism, dim, epsilon))


def test_every_mechanism_with_a_budget_is_measured_at_every_dimension_and_budget() -> None:
    assert {r.mechanism for r in ROWS} == set(BY_NAME) - {
        "identity",
        "random",
        "learned_codebook",
        "clamped_gaussian",
        "description",
    }
    assert len({(r.mechanism, r.dim, r.claimed_epsilon) for r in ROWS}) == len(ROWS) == 8 * 2 * 3


@pytest.mark.parametrize("name", mechanisms_on_latents.MECHANISMS)
def test_simulated_squared_errors_agree_with_the_closed_forms(name: str) -> None:
    for r in (r for r in ROWS if r.mechanism == name):
        rare = 4 * UNSEEN if name == "privunit" else 0.0  # its rare escapes cost at most (1 + 1/g)^2
        spread = 0.02 if name == "codebook" else 0.0  # the closed form averages over codebooks
        assert abs(r.squared_error - r.expected_squared_error) <= 5 * r.squared_error_deviation + rare + spread


@pytest.mark.parametrize("name", ["privunit", "codebook"])
def test_simulated_cosines_agree_with_the_closed_forms(name: str) -> None:
    for r in (r for r in ROWS if r.mechanism == name):
        assert r.expected_cosine is not None
        allowance = 5 * r.cosine_deviation + {"privunit": UNSEEN, "codebook": 0.01}[name]
        assert abs(r.cosine - r.expected_cosine) <= allowance


def test_a_squared_error_that_is_off_by_a_fifth_would_be_seen() -> None:
    r = row("sqrt_n", 64, 8.0)
    assert abs(1.2 * r.squared_error - r.expected_squared_error) > 5 * r.squared_error_deviation


@pytest.mark.parametrize(
    ("name", "cosine"), [("sqrt_n", 0.181), ("l1", 0.223), ("l2_norm", 0.242), ("gaussian", 0.185), ("privunit", 0.619)]
)
def test_cosines_at_16_dimensions_and_epsilon_8_are_the_known_ones(name: str, cosine: float) -> None:
    r = row(name, 16, 8.0)
    assert r.cosine == pytest.approx(cosine, abs=0.002 + 5 * r.cosine_deviation)


def test_only_the_broken_mechanisms_cost_more_than_they_claim() -> None:
    for r in ROWS:
        true = {"original": math.sqrt(r.dim) * r.claimed_epsilon, "dptext": math.inf}.get(
            r.mechanism, r.claimed_epsilon
        )
        assert r.epsilon == pytest.approx(true, rel=1e-5)


def test_the_original_at_its_true_budget_is_the_sound_sqrt_n() -> None:
    original = mechanisms_on_latents.measure(BY_NAME["original"](epsilon=2.0), 16, records=500)
    sound = mechanisms_on_latents.measure(BY_NAME["sqrt_n"](epsilon=8.0), 16, records=500)
    assert original.cosine == pytest.approx(sound.cosine, abs=1e-5)
    assert original.epsilon == pytest.approx(sound.epsilon, rel=1e-5)


def test_no_information_exceeds_the_capacity_and_privunit_comes_close_to_it() -> None:
    known = [r for r in ROWS if r.information_bits is not None]
    assert {r.mechanism for r in known} == {"privunit", "codebook"}
    assert all((r.information_bits or 0) <= (r.capacity_bits or 0) for r in known)
    assert (row("privunit", 64, 8.0).information_bits or 0) > 0.99 * (row("privunit", 64, 8.0).capacity_bits or 0)


def test_approximate_privacy_has_no_capacity_bound_and_no_privacy_an_infinite_one() -> None:
    assert row("gaussian", 16, 8.0).capacity_bits is None
    assert row("dptext", 16, 8.0).capacity_bits == math.inf


def test_the_codebooks_information_is_the_entropy_lost_by_its_distribution() -> None:
    draw = Selection(epsilon=3.0, size=50, heavy_count=7)
    heavy, light = draw.odds
    distribution = [weight / (7 * heavy + 43 * light) for weight in [heavy] * 7 + [light] * 43]
    lost = math.log2(50) + sum(p * math.log2(p) for p in distribution)
    assert codeword_information(draw) == pytest.approx(lost, rel=1e-12)


def test_a_certain_cap_tells_its_whole_surprise_and_a_uniform_release_nothing() -> None:
    assert cap_information(2.0**-20, escape=0.0) == pytest.approx(20.0, rel=1e-12)
    assert cap_information(0.25, escape=0.75) == pytest.approx(0.0, abs=1e-12)


def test_a_row_does_not_depend_on_what_else_is_asked_for() -> None:
    alone = list(mechanisms_on_latents.run(mechanisms=("l1",), dims=(64,), epsilons=(8.0,), trials=RECORDS))
    torch.manual_seed(123)
    assert alone == [row("l1", 64, 8.0)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mechanisms": ("random",)}, "mechanisms must be one of"),
        ({"trials": 1}, "trials must be"),
        ({"dims": (1,)}, "dim"),
    ],
)
def test_what_cannot_be_studied_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        list(mechanisms_on_latents.run(**{"epsilons": (1.0,), "trials": 2, **options}))  # type: ignore[arg-type]
