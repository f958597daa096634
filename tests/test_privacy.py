"""Budgets add up exactly, and the statement says what they are."""

from fractions import Fraction

import pytest

from adept.mechanisms import L1Laplace
from adept.privacy import PrivacyStatement, json_number, share, words


@pytest.mark.parametrize("records", [1, 2, 3, 7, 10, 49, 1000, 999_983])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0, 1 / 3, 599.9])
def test_equal_shares_never_add_up_to_more_than_the_whole(epsilon: float, records: int) -> None:
    part = share(epsilon, records)
    assert Fraction(part) * records <= Fraction(epsilon)
    assert part == pytest.approx(epsilon / records)


def test_plain_division_would_overspend_somewhere() -> None:
    assert any(Fraction(0.1 / m) * m > Fraction(0.1) for m in range(1, 50))


def test_infinite_numbers_become_words() -> None:
    assert (json_number(float("inf")), json_number(2.0), json_number(None)) == ("inf", 2.0, None)
    assert (words(float("inf")), words(1.23456)) == ("infinite", "1.235")


def statement(**changes: object) -> PrivacyStatement:
    fields: dict[str, object] = {
        "mechanism": "l1",
        "guarantee": L1Laplace(epsilon=2.0).guarantee(16),
        "dim": 16,
        "clip": "l1",
        "clip_norm": 1.0,
        "records": 5,
        "samples": 1,
        "labels": None,
        "label_epsilon": None,
        "kept_columns": [],
        "training_data": {"name": "atis", "public": True, "records": 9},
        "versions": {},
        **changes,
    }
    return PrivacyStatement(**fields)  # type: ignore[arg-type]


def test_a_simulation_says_that_it_guarantees_nothing() -> None:
    assert "guarantees nothing" in statement(simulated=True).text
    assert "guarantees nothing" not in statement().text


def test_private_training_text_is_named_as_such() -> None:
    assert "declared public" in statement().text
    assert "declared PRIVATE" in statement(training_data={"name": "files", "public": False, "records": 9}).text


def test_total_epsilon_adds_text_and_randomised_label() -> None:
    total = statement(labels="randomized_response", label_epsilon=1.5)
    assert total.epsilon == 3.5
    assert "3.5-LDP" in total.text
    assert total.to_json()["claimed_epsilon"] == 3.5


def test_samples_are_said_to_share_one_release() -> None:
    assert "share one released latent" in statement(samples=3).text
