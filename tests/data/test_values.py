"""One value has one text, however its file spells it."""

import unicodedata
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from adept.data.values import plain_text

ONE = [1, 1.0, "1", " 1\n", Decimal("1.00"), np.int64(1), np.float32(1), torch.tensor(1), Fraction(1)]


@pytest.mark.parametrize("value", ONE)
def test_all_spellings_of_one_become_one_text(value: object) -> None:
    assert plain_text(value) == "1"


@pytest.mark.parametrize(
    "value",
    [None, float("nan"), float("inf"), -float("inf"), 0.5, Decimal("NaN"), Decimal("sNaN"), Decimal("1.5"), b"1", [1], {"a": 1},
     10**400, "", "  ", np.float64("nan"), np.array([1]), 1j],
)  # fmt: skip
def test_a_value_without_a_text_gives_none(value: object) -> None:
    assert plain_text(value) is None


def test_booleans_become_words_and_not_numbers() -> None:
    assert [plain_text(value) for value in (True, False, np.bool_(True))] == ["true", "false", "true"]


@given(st.text())
def test_the_text_of_a_text_is_itself_and_does_not_depend_on_its_normal_form(value: str) -> None:
    text = plain_text(value)
    assert text is None or plain_text(text) == text
    assert plain_text(unicodedata.normalize("NFD", value)) == text


@given(st.integers(min_value=-(2**63), max_value=2**63))
def test_integers_keep_all_digits(value: int) -> None:
    assert plain_text(value) == str(value)
