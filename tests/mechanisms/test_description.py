"""Claims about the release of a sentence's number: the fields, and the words of its guarantee."""

import math
from fractions import Fraction

import pytest

from adept.errors import ConfigurationError
from adept.mechanisms.selection import Description


@pytest.mark.parametrize("fields", [{"epsilon": 0.0}, {"epsilon": math.inf}, {"epsilon": 1.0, "size": 1}])
def test_a_field_out_of_range_is_refused(fields: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError, match=r"epsilon|size"):
        Description(**fields)


@pytest.mark.parametrize("epsilon", [1e-3, 8.0, 16.0, 48.0, 600.0])
def test_the_statement_says_how_often_the_truth_is_told_and_never_always(epsilon: float) -> None:
    mechanism = Description(epsilon=epsilon)
    text = mechanism.guarantee(7).text
    assert f"{epsilon:g}-LDP (pure)" in text
    assert "100 of 100" not in text
    if epsilon == 16.0:
        assert "93 of 100 cases" in text
        assert Fraction(93, 100) < mechanism.selection.heavy_probability < Fraction(94, 100)


def test_the_guarantee_is_exact_pure_and_the_same_for_any_latent() -> None:
    guarantee = Description(epsilon=8.0).guarantee(16)
    assert (guarantee.epsilon, guarantee.delta, guarantee.holds, guarantee.exact) == (8.0, 0.0, True, True)
    assert guarantee == Description(epsilon=8.0).guarantee()


@pytest.mark.parametrize("top", [0, 7, 1.0])
def test_a_number_of_heavy_descriptions_out_of_range_is_refused(top: int) -> None:
    with pytest.raises(ConfigurationError, match="top must be an integer between 1 and 6"):
        Description(epsilon=1.0, size=7, top=top)


def test_the_statement_says_how_many_descriptions_are_the_records_own() -> None:
    mechanism = Description(epsilon=2.0, size=900, top=300)
    assert (
        "in 78 of 100 cases one of the record's own 300, and otherwise one of the others" in mechanism.guarantee().text
    )
    assert (mechanism.count, mechanism.heavy) == (900, 300)
