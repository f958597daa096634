"""Lists of texts: columns of every library are read, and what has characters, keys or names for elements is refused."""

import datetime
import unicodedata
from collections import UserList, deque
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from adept.data.texts import cell_text, list_names, plain_text, text_list, value_list
from adept.errors import DataError

TEXTS = ["play jazz", "stop"]
SET = datasets.Dataset.from_dict({"words": TEXTS})
COLUMNS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "UserList": UserList,
    "deque": deque,
    "array": np.array,
    "array of objects": lambda texts: np.array(texts, dtype=object),
    "array (N, 1)": lambda texts: np.array(texts, dtype=object)[:, None],
    "masked array": lambda texts: np.ma.array(np.array(texts, dtype=object)),
    "Series": pd.Series,
    "Series with one index twice": lambda texts: pd.Series(texts, index=[7] * len(texts)),
    "Series of objects": lambda texts: pd.Series(texts, dtype=object),
    "categorical Series": lambda texts: pd.Series(texts, dtype="category"),
    "string[pyarrow]": lambda texts: pd.Series(texts, dtype="string[pyarrow]"),
    "ArrowDtype": lambda texts: pd.Series(texts, dtype=pd.ArrowDtype(pa.string())),
    "Categorical": pd.Categorical,
    "Index": pd.Index,
    "pandas array": lambda texts: pd.Series(texts, dtype="string").array,
    "DataFrame": lambda texts: pd.DataFrame({"words": texts}),
    "Arrow array": pa.array,
    "chunked": lambda texts: pa.chunked_array([texts[:1], texts[1:]]),
    "dictionary": lambda texts: pa.array(texts).dictionary_encode(),
    "Arrow table": lambda texts: pa.table({"words": texts}),
    "record batch": lambda texts: pa.record_batch({"words": texts}),
    "data set": lambda texts: datasets.Dataset.from_dict({"words": texts}),
    "column": lambda texts: datasets.Dataset.from_dict({"words": texts})["words"],
    "column of arrays": lambda texts: datasets.Dataset.from_dict({"words": texts}).with_format("numpy")["words"],
}
NO_LISTS = {
    "string": "play jazz",
    "bytes": b"play jazz",
    "bytearray": bytearray(b"play jazz"),
    "dict": {"play jazz": 1},
    "keys": {"play jazz": 1}.keys(),
    "set": {"play jazz"},
    "generator": (text for text in TEXTS),
    "iterator": iter(TEXTS),
    "map": map(str, TEXTS),
    "None": None,
    "number": 3,
    "NaN": float("nan"),
    "range": range(3),
    "object": object(),
    "array without a dimension": np.array("play jazz"),
    "two columns": np.array([TEXTS, TEXTS]),
    "frame without columns": pd.DataFrame(index=[0, 1]),
    "stream of records": SET.to_iterable_dataset(),
    "splits": datasets.DatasetDict({"train": SET}),
}
NO_TEXTS = {
    "None": None,
    "NaN": float("nan"),
    "NA": pd.NA,
    "NaT": pd.NaT,
    "infinity": float("inf"),
    "number of too many digits": 10**400,
    "bytes": b"jazz",
    "list": ["jazz"],
}


@pytest.mark.parametrize("name", COLUMNS)
def test_every_kind_of_column_gives_its_texts_as_plain_strings(name: str) -> None:
    found = text_list(COLUMNS[name](TEXTS))
    assert found == TEXTS
    assert {type(text) for text in found} == {str}


@pytest.mark.parametrize("name", NO_LISTS)
def test_an_argument_that_is_no_list_of_texts_is_refused_without_repeating_it(name: str) -> None:
    with pytest.raises(DataError, match="texts must be") as caught:
        text_list(NO_LISTS[name])
    assert "jazz" not in str(caught.value)


@pytest.mark.parametrize("name", NO_TEXTS)
@pytest.mark.parametrize("column", ["list", "array of objects", "Series of objects"])
def test_an_element_that_is_no_text_is_named_by_its_position_and_not_repeated(name: str, column: str) -> None:
    values = pd.Series(["play", NO_TEXTS[name], "stop"], dtype=object).tolist()
    given = pd.Series(values, dtype=object).to_numpy() if column == "array of objects" else COLUMNS[column](values)
    with pytest.raises(DataError, match=r"at position 2:") as caught:
        text_list(given)
    assert "jazz" not in str(caught.value)


def test_tables_of_other_kinds_are_answered_with_what_to_do() -> None:
    rows = datasets.Dataset.from_dict({"words": ["play"]})
    for table, advice in (
        (datasets.DatasetDict(train=rows), "choose one of its splits"),
        (rows.to_iterable_dataset(), "read its rows into a Dataset"),
        ({"words": ["play"]}, "make a table of it"),
        ([{"words": "play"}], "make a table of it"),
    ):
        with pytest.raises(DataError, match=advice):
            text_list(table)


def test_a_missing_text_of_a_column_is_no_text() -> None:
    for column in (
        pa.array(["play", None]),
        pd.Series(["play", None], dtype="string"),
        np.ma.array(TEXTS, mask=[0, 1]),
        datasets.Dataset.from_dict({"words": ["play", None]})["words"],
    ):
        with pytest.raises(DataError, match=r"missing value at position 2:"):
            text_list(column)


def test_the_columns_of_a_frame_are_named_where_they_look_like_names() -> None:
    frame = pd.DataFrame({"words": TEXTS, "who": TEXTS, "play some jazz": TEXTS, 7: TEXTS})
    with pytest.raises(DataError, match=r"got 4 \('words', 'who', 2 more\)"):
        text_list(frame)
    assert list_names(["x" * 41, *map(str, range(30))]).endswith("'19', 11 more")


def test_values_beside_the_texts_are_pythons_own_and_as_many() -> None:
    for values in ([1, None], np.array([1, None]), pd.Series([1, None], dtype="Int64"), pa.array([1, None])):
        found = value_list(values, 2, "persons")
        assert found == [1, None]
        assert type(found[0]) is int
    assert [type(value) for value in value_list(np.array(TEXTS), 2, "labels")] == [str, str]
    with pytest.raises(DataError, match="labels must be as many as the texts, got 1 for 2"):
        value_list(["a"], 2, "labels")
    with pytest.raises(DataError, match="labels must be a list"):
        value_list("ab", 2, "labels")


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
    values = (True, np.bool_(True), "true", "True", "TRUE", " True")
    assert {plain_text(value) for value in values} == {"true"}
    assert {plain_text(value) for value in (False, "false", "False", "FALSE")} == {"false"}
    assert plain_text("trUe") == "trUe"


@given(st.text())
def test_the_text_of_a_text_is_itself_and_does_not_depend_on_its_normal_form(value: str) -> None:
    text = plain_text(value)
    assert text is None or plain_text(text) == text
    assert plain_text(unicodedata.normalize("NFD", value)) == text


def test_numbers_and_dates_in_a_cell_are_spelled_as_in_a_csv() -> None:
    values = [
        7,
        7.0,
        12.5,
        np.float32(0.5),
        Decimal("1.50"),
        True,
        datetime.date(2024, 1, 5),
        datetime.time(9, 30),
        " 7.0 ",
    ]
    spelled = ["7", "7", "12.5", "0.5", "1.50", "true", "2024-01-05", "09:30:00", " 7.0 "]
    assert [cell_text(value) for value in values] == spelled


@given(st.integers(min_value=-(2**63), max_value=2**63))
def test_integers_keep_all_digits(value: int) -> None:
    assert plain_text(value) == str(value)
