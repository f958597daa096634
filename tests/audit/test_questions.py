"""The tables of questions keep to their alpha and can be read."""

from typing import Any

import pytest

from adept.audit import auditor
from adept.audit.distinguisher.guessing_game import LOOKS

TABLES = {"vectors": auditor.OF_VECTORS, "values": auditor.OF_VALUES, "texts": auditor.OF_TEXTS}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_shares_of_alpha_add_up_to_at_most_one(table: list[Any]) -> None:
    assert all(question.share >= 0 for question in table)
    assert sum(question.share for question in table) <= 1 + 1e-12


def test_the_scorings_of_a_game_share_its_alpha_and_the_last_counts_every_release() -> None:
    shares, parts = zip(*LOOKS, strict=True)
    assert sum(parts) <= 1 + 1e-12
    assert [*shares] == sorted(shares)
    assert shares[-1] == 1


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_row_has_a_name_of_its_own_and_says_what_it_sees(table: list[Any]) -> None:
    assert len({question.name for question in table}) == len(table)
    assert all(question.sees.startswith("Detect ") for question in table)


def test_every_table_looks_at_releases() -> None:
    assert all(any(question.of_releases for question in table) for table in TABLES.values())
