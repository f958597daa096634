"""The release of a data frame: the command's job, with nothing private beside the rewrites and nothing on the disk."""

import json
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pyarrow
import pytest

import adept
from adept.cli.ledger import LedgerConfig, run
from adept.errors import AdeptError, ConfigurationError, DataError, ReleaseRefused
from adept.mechanisms import LearnedCodebook, SqrtNLaplace
from adept.release.flow.local import LocalPlan
from adept.release.flow.publication import Publication
from adept.release.ledger.claims import Ledger

RECORDS = {
    "utterance": [f"a fare to boston {i}" for i in range(12)],
    "category": ["fare", "meal", "flight"] * 4,
    "customer": [f"c{i // 2}" for i in range(12)],
    "time": [i / 2 for i in range(12)],
    "secret": ["xylophone"] * 12,
}


def released(tmp_path: Path, tiny_run: Path, frame: Any = None, **options: Any) -> tuple[Any, dict[str, Any]]:
    """Rewrite a frame; return the result and its statement."""
    place = tmp_path / "s.privacy.json"
    place.unlink(missing_ok=True)
    given = {"text": "utterance", "epsilon": 8, "model_dir": tiny_run, "mechanism": "sqrt_n", "statement": place}
    found = adept.rewrite_frame(pd.DataFrame(RECORDS) if frame is None else frame, **given | options)
    return found, json.loads(place.read_text("utf-8"))


TABLES = [pd.DataFrame, datasets.Dataset.from_dict, pyarrow.table, pyarrow.RecordBatch.from_pydict]


def names_of(table: Any) -> list[str]:
    return list(table.columns) if isinstance(table, pd.DataFrame) else list(table.column_names)


def column(table: Any, name: str) -> list[Any]:
    values = table[name]
    return list(values.to_pylist() if hasattr(values, "to_pylist") else values)


@pytest.mark.parametrize("kind", TABLES)
def test_texts_are_rewritten_labels_copied_and_all_else_is_dropped(kind: Any, tmp_path: Path, tiny_run: Path) -> None:
    given = kind(RECORDS)
    found, stated = released(
        tmp_path, tiny_run, given, label="category", person="customer", max_records_per_person=2, keep_columns=["time"]
    )
    assert type(found) is type(given)
    assert names_of(found) == ["utterance", "category", "time"]
    assert column(found, "category") == RECORDS["category"]
    assert column(found, "time") == RECORDS["time"]
    assert not set(column(found, "utterance")) & set(RECORDS["utterance"])
    assert (stated["records"], stated["labels"], stated["kept_columns"]) == (12, "copy", ["time"])
    assert (stated["epsilon"], stated["person_epsilon"]) == (8, 16)
    assert stated["date"]
    assert [path.name for path in tmp_path.iterdir()] == ["s.privacy.json"]


@pytest.mark.parametrize("text", [None, "utterance"])
def test_a_frame_with_an_index_of_its_own_is_answered_with_a_line(
    tmp_path: Path, tiny_run: Path, caplog: pytest.LogCaptureFixture, text: str | None
) -> None:
    """pandas would put the rewrites of a shuffled or filtered frame beside other rows of it."""
    frame = pd.DataFrame(RECORDS)
    for given, said in ((frame, 0), (frame[::-1], 1), (frame[2:], 1), (frame.set_index("time"), 1)):
        caplog.clear()
        released(tmp_path, tiny_run, given if text else given["utterance"], text=text, ledger="none")
        assert caplog.text.count("put it beside the frame by position") == said


TEXTS: list[Any] = [
    list, tuple, np.array, pd.Series, pd.Index, pyarrow.array, lambda texts: pyarrow.chunked_array([texts[:5], texts[5:]]),
    lambda texts: np.array(texts, object).reshape(-1, 1), lambda texts: datasets.Dataset.from_dict({"text": texts})["text"],
]  # fmt: skip


@pytest.mark.parametrize("kind", TEXTS)
def test_texts_without_columns_come_back_as_what_they_were(kind: Any, tmp_path: Path, tiny_run: Path) -> None:
    given = kind(RECORDS["utterance"])
    ledger = str(tmp_path / "ledger.db")
    found, stated = released(tmp_path, tiny_run, given, text=None, samples=2, ledger=ledger)
    kept = isinstance(given, np.ndarray | pd.Series | pyarrow.ChunkedArray | pyarrow.StringArray)
    assert type(found) is (type(given) if kept else list)
    assert getattr(found, "shape", ())[1:] == getattr(given, "shape", ())[1:]
    texts = found.to_pylist() if hasattr(found, "to_pylist") else np.ravel(found).tolist()
    assert (len(texts), {type(text) for text in texts}) == (24, {str})
    assert not set(texts) & set(RECORDS["utterance"])
    assert (stated["records"], stated["labels"], stated["epsilon"]) == (12, "drop", 8)
    with pytest.raises(ReleaseRefused, match="of the records already"):
        released(tmp_path, tiny_run, given, text=None, ledger=ledger)


@pytest.mark.parametrize("kind", TABLES)
def test_the_only_column_of_a_table_holds_the_texts(kind: Any, tmp_path: Path, tiny_run: Path) -> None:
    given = kind({"said": RECORDS["utterance"]})
    found, _ = released(tmp_path, tiny_run, given, text=None)
    assert (type(found), names_of(found), len(found)) == (type(given), ["said"], 12)


@pytest.mark.parametrize("kind", TABLES)
def test_kept_columns_stand_beside_their_records_if_some_records_are_left_out(
    kind: Any, tmp_path: Path, tiny_run: Path
) -> None:
    persons = {"person": "customer", "max_records_per_person": 1, "excess": "drop"}
    options = {"label": "category", "keep_columns": ["time"], "samples": 2}
    found, stated = released(tmp_path, tiny_run, kind(RECORDS), **persons, **options)
    assert column(found, "time") == [time for time in RECORDS["time"][::2] for _ in range(2)]
    assert column(found, "category") == [label for label in RECORDS["category"][::2] for _ in range(2)]
    assert (stated["records"], stated["excess"]) == (6, "drop")


def test_kept_columns_have_their_types_and_nothing_that_tells_of_other_rows(tmp_path: Path, tiny_run: Path) -> None:
    given = pd.DataFrame(RECORDS, index=[f"person {i}" for i in range(12)])
    given["kind"] = pd.Categorical(["a", "b"] * 6, categories=["a", "b", "a private name"])
    given["when"] = pd.Timestamp("2026-01-01", tz="UTC")
    given["small"] = np.arange(12, dtype=np.int8)
    given.attrs["note"] = "xylophone"
    keep = ["kind", "when", "small"]
    found, _ = released(tmp_path, tiny_run, given, keep_columns=keep, samples=2)
    assert list(found.columns) == ["utterance", *keep, "sample"]
    assert found[["when", "small"]].dtypes.equals(given[["when", "small"]].dtypes)
    assert list(found["small"]) == [i for i in range(12) for _ in range(2)]
    assert list(found["kind"].cat.categories) == ["a", "b"]
    assert found.index.equals(pd.RangeIndex(24))
    assert found.attrs == {}


def test_a_data_set_keeps_types_and_its_class_labels_are_written_as_text(tmp_path: Path, tiny_run: Path) -> None:
    given = (
        datasets.Dataset.from_dict(RECORDS)
        .class_encode_column("category")
        .cast_column("time", datasets.Value("float32"))
    )
    given = given.select(range(11, -1, -1))
    found, _ = released(tmp_path, tiny_run, given, label="category", keep_columns=["time"])
    assert list(found["category"]) == RECORDS["category"][::-1]
    assert found.features["time"] == datasets.Value("float32")
    assert list(found["time"]) == RECORDS["time"][::-1]
    assert "xylophone" not in str(found.data.table.to_pydict())


def test_labels_are_randomised_released_with_the_text_or_dropped(
    tmp_path: Path, tiny_run: Path, topic_run: Path
) -> None:
    public = {"label": "category", "label_set": ["fare", "meal", "flight"]}
    found, stated = released(tmp_path, tiny_run, labels="randomized_response", label_epsilon=2, **public)
    assert set(found["category"]) <= set(public["label_set"])
    assert (stated["epsilon"], stated["label_epsilon"]) == (10, 2)
    found, stated = released(
        tmp_path, topic_run, mechanism=LearnedCodebook(epsilon=8.0), labels="joint_response", shuffle=True, **public
    )
    assert set(found["category"]) <= set(public["label_set"])
    assert stated["shuffled_records"] == 12
    found, stated = released(tmp_path, tiny_run, labels="drop", label="category")
    assert list(found.columns) == ["utterance"]
    found, _ = released(tmp_path, tiny_run, pd.DataFrame({"utterance": ["a"], "intent": ["private"]}))
    assert list(found.columns) == ["utterance"]  # no label was named


def test_records_of_the_ledger_are_refused_and_a_call_that_fails_leaves_it_as_it_was(
    tmp_path: Path, tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = str(tmp_path / "ledger.db")
    with monkeypatch.context() as broken:
        broken.setattr(Publication, "publish", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            released(tmp_path, tiny_run, ledger=ledger)
    assert run(LedgerConfig(ledger))[1].releases == 0
    released(tmp_path, tiny_run, ledger=ledger)
    with pytest.raises(ReleaseRefused, match="of the records already"):
        released(tmp_path, tiny_run, ledger=ledger)
    assert not (tmp_path / "s.privacy.json").exists()
    released(tmp_path, tiny_run, ledger=ledger, again=True)
    assert run(LedgerConfig(ledger))[1].epsilon == 16
    entries = run(LedgerConfig(ledger))[0]
    assert {entry.output for entry in entries} == {str(tmp_path / "s.privacy.json")}
    assert all(entry.finished for entry in entries)  # or the list says that they were interrupted
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ledger.db", "s.privacy.json"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text": "text"}, r"no column named 'text'; the columns are 'utterance', .*: correct text="),
        ({"label": "intent"}, "correct label="),
        ({"keep_columns": ["nothing"]}, "correct keep_columns="),
        ({"keep_columns": "time"}, "keep_columns must be a list"),
        ({"labels": "randomized_response", "label_epsilon": 2, "label_set": "abc", "label": "category"}, "label_set must be"),
        ({"labels": "joint_response", "label_set": ["a", "b"]}, "label must name a column"),
        ({"person": "customer"}, "must be given together"),
        ({"person": "", "max_records_per_person": 2}, "must be given together"),
        ({"person": "customer", "max_records_per_person": 1}, "record 2 exceeds"),
        ({"frame": pd.DataFrame({"utterance": [[1], [2]]})}, "'utterance' must hold strings, got list in record 1"),
        ({"seed": 3}, "no option 'seed'"),
        ({"engine": "ray"}, "no option 'engine'"),
        ({"mechanism": "none"}, "mechanism must be"),
        ({"mechanism": SqrtNLaplace(epsilon=4.0)}, "epsilon must be given once"),
        ({"statement": None}, "statement must be the name of a file, got None"),
        ({"statement": ""}, "statement must be the name of a file, got nothing"),
        ({"epsilon": None}, "epsilon must be given"),
        ({"epsilon": "8"}, "epsilon must be positive and finite, got '8'"),
        ({"epsilon": Fraction(8)}, r"got Fraction\(8, 1\): give an int or a float"),
        ({"samples": "2"}, "samples must be an integer between 1 and 1000, got '2'"),
        ({"samples": None}, "samples must be an integer between 1 and 1000, got None"),
        ({"keep_columns": None}, "keep_columns must be a list of names, got NoneType"),
        ({"decoding": {"strategy": "sample"}}, "decoding must be a DecodingConfig, got dict"),
        ({"frame": pd.DataFrame(RECORDS)[:0]}, "no records"),
        ({"frame": RECORDS}, "frame must be a list of strings"),
        ({"frame": "a fare to boston"}, "got one string"),
        ({"frame": ["a fare to boston", None], "text": None}, "missing value at position 2"),
        ({"frame": ["a fare to boston"]}, "text must be left out"),
        ({"frame": ["a fare to boston"], "text": None, "label": "intent"}, "no column named 'intent'"),
        ({"frame": ["a fare to boston"], "text": None, "labels": "joint"}, "labels must not be joint for texts without columns"),
        ({"frame": [], "text": None}, "no records"),
        ({"text": None}, "text must name the column with the texts, got none; the columns are 'utterance', "),
        ({"frame": pd.DataFrame([["a", "b"]], columns=["utterance", "utterance"])}, "2 columns named 'utterance'"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_refused_before_anything_is_drawn(
    options: dict[str, Any], message: str, tmp_path: Path, tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalPlan, "draw", lambda *_: pytest.fail("drawn"))
    with pytest.raises((ConfigurationError, DataError), match=message) as caught:
        released(tmp_path, tiny_run, **options)
    assert "fare to" not in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", TABLES)
def test_a_column_of_numbers_is_rewritten_as_their_digits(kind: Any, tmp_path: Path, tiny_run: Path) -> None:
    given = kind({"utterance": [7, 12345], "category": [True, False]})
    found, _ = released(tmp_path, tiny_run, given, label="category", keep_columns=[])
    assert all(isinstance(text, str) for text in column(found, "utterance"))
    assert column(found, "category") == ["true", "false"]


def test_names_are_of_any_type_and_numbers_those_of_numpy(tmp_path: Path, tiny_run: Path) -> None:
    columns = pd.DataFrame(RECORDS)[["utterance", "category", "time"]]
    for names in ([0, 1, 2], pd.MultiIndex.from_tuples([("a", "text"), ("a", "label"), ("b", "time")])):
        given = columns.set_axis(names, axis=1)
        options = {"text": names[0], "label": names[1], "keep_columns": [names[2]]}
        found, stated = released(tmp_path, tiny_run, given, **options, epsilon=np.float32(8), samples=np.int64(1))
        assert list(found.columns) == list(names)
        assert list(found[names[2]]) == RECORDS["time"]
        assert (stated["claimed_epsilon"], stated["samples"]) == (8.0, 1)


@pytest.mark.parametrize("names", [(0, 1, 2), (False, True, 2), (0.0, 1.0, 2.0), (b"", b"text", b"customer")])
def test_a_column_named_by_zero_counts_as_named(names: tuple[Any, ...], tmp_path: Path, tiny_run: Path) -> None:
    label, text, person = names
    given = pd.DataFrame({text: RECORDS["utterance"], label: RECORDS["category"], person: RECORDS["customer"]})
    bound = {"max_records_per_person": 1, "excess": "drop", "ledger": str(tmp_path / "ledger.db")}
    found, stated = released(tmp_path, tiny_run, given, text=text, label=label, person=person, keep_columns=[], **bound)
    assert (list(found.columns), list(found[label])) == ([text, label], RECORDS["category"][::2])
    assert (stated["labels"], stated["label_column"], stated["records"]) == ("copy", str(label), 6)
    given = given.rename(columns={person: label, label: person})  # the person is named by zero now
    options = {"text": text, "label": None, "person": label, "keep_columns": [person], "record_columns": [text, label]}
    with pytest.raises(DataError, match="record 2 exceeds max_records_per_person=1 of its person"):
        released(tmp_path, tiny_run, given, **options, max_records_per_person=1, ledger=str(tmp_path / "other.db"))
    with pytest.raises(ReleaseRefused, match="holds 6 of the records already"):
        released(tmp_path, tiny_run, given, **options, **bound)


@pytest.mark.parametrize("name", [pd.Timestamp("2024"), b"said", None, (1, "said")])
def test_a_column_whose_name_json_lacks_is_stated_as_text(name: Any, tmp_path: Path, tiny_run: Path) -> None:
    given = pd.DataFrame({"category": RECORDS["category"]}).assign(said=RECORDS["utterance"])
    given.columns = pd.Index(["category", name], dtype=object, tupleize_cols=False)
    found, stated = released(tmp_path, tiny_run, given[[name]], text=None, label=None, keep_columns=[])
    assert (list(found.columns), stated["text_column"]) == ([name], str(name))


@pytest.mark.parametrize("option", ["text", "label", "person"])
def test_a_column_in_place_of_its_name_is_refused_without_its_texts(
    option: str, tmp_path: Path, tiny_run: Path
) -> None:
    given = pd.DataFrame(RECORDS)
    options = {"max_records_per_person": 9, "keep_columns": [], option: given["utterance"]}
    with pytest.raises(ConfigurationError, match="name of a column must be text, got Series") as caught:
        released(tmp_path, tiny_run, given, **options)
    assert RECORDS["utterance"][0] not in str(caught.value)


def test_a_sparse_column_is_kept(tmp_path: Path, tiny_run: Path) -> None:
    given = pd.DataFrame(RECORDS).assign(few=pd.arrays.SparseArray([0, 3] * 6))
    assert list(released(tmp_path, tiny_run, given, keep_columns=["few"])[0]["few"]) == [0, 3] * 6


def test_the_statement_overwrites_nothing_and_is_writable_before_a_draw(
    tmp_path: Path, tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalPlan, "draw", lambda *_: pytest.fail("drawn"))
    (tmp_path / "taken").write_text("mine")
    for place in (tmp_path / "taken", tmp_path / "taken" / "s.json", tmp_path / ("x" * 300), "-"):
        with pytest.raises(AdeptError):
            adept.rewrite_frame(pd.DataFrame(RECORDS), text="utterance", epsilon=8, model_dir=tiny_run, mechanism="sqrt_n",
                                statement=place)  # fmt: skip
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("taken", "mine")]


@pytest.mark.parametrize("kind", ["int64", "uint8", "Int32", "category"])
def test_labels_of_a_frame_are_integers_where_its_type_says_that_the_whole_column_is(
    tmp_path: Path, tiny_run: Path, kind: str
) -> None:
    given = pd.DataFrame({"utterance": RECORDS["utterance"], "category": pd.Series([0, 1, 2] * 4).astype(kind)})
    found, _ = released(tmp_path, tiny_run, given, label="category")
    assert found["category"].tolist() == [0, 1, 2] * 4
    assert found["category"].dtype == ("int64" if kind == "category" else kind.lower())


def test_labels_of_a_frame_are_text_where_its_type_holds_more_than_integers(tmp_path: Path, tiny_run: Path) -> None:
    given = pd.DataFrame({"utterance": RECORDS["utterance"], "category": [0.0, 1.0, 2.0] * 4})
    assert released(tmp_path, tiny_run, given, label="category")[0]["category"].tolist() == ["0", "1", "2"] * 4


def test_labels_of_a_data_set_are_integers_of_its_type(tmp_path: Path, tiny_run: Path) -> None:
    given = datasets.Dataset.from_dict({"utterance": RECORDS["utterance"], "category": [0, 1, 2] * 4})
    given = given.cast_column("category", datasets.Value("int16"))
    found, _ = released(tmp_path, tiny_run, given, label="category")
    assert list(found["category"]) == [0, 1, 2] * 4
    assert found.features["category"] == datasets.Value("int16")


def test_names_of_kept_class_labels_that_no_row_has_stay_behind(tmp_path: Path, tiny_run: Path) -> None:
    names = datasets.ClassLabel(names=["xylophone", "b", "a"])
    features = datasets.Features(
        {"utterance": datasets.Value("string"), "kind": names, "kinds": datasets.List(names), "both": {"one": names}}
    )
    columns = {"kind": [1, 2] * 6, "kinds": [[1], []] * 6, "both": [{"one": 2}] * 12}
    given = datasets.Dataset.from_dict({"utterance": RECORDS["utterance"], **columns}, features=features)
    found, _ = released(tmp_path, tiny_run, given, keep_columns=list(columns))
    assert list(found["kind"]) == ["b", "a"] * 6
    assert (list(found["kinds"]), list(found["both"])) == (columns["kinds"], columns["both"])
    assert "xylophone" not in f"{found.features}{found.data.schema}"


SECRET = "xylophone"
LEFT_OUT = {"person": "customer", "max_records_per_person": 1, "excess": "drop"}


def nested_columns() -> dict[str, pyarrow.Array]:
    """Return columns of 12 rows, of which every second one, with SECRET, is left out with LEFT_OUT."""
    kinds = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, 1] * 6, "int8"), ["a", SECRET])
    structs = pyarrow.StructArray.from_arrays([kinds], fields=[pyarrow.field("k", kinds.type, metadata={"x": SECRET})])
    ends = list(range(13))
    return {
        "kinds": kinds,
        "structs": structs,
        "lists": pyarrow.ListArray.from_arrays(ends, kinds),
        "maps": pyarrow.MapArray.from_arrays(ends, pyarrow.array(["a", SECRET] * 6), kinds),
        "pairs": pyarrow.FixedSizeListArray.from_arrays(kinds, 1),
        "deep": pyarrow.LargeListArray.from_arrays(ends, structs),
        "texts": pyarrow.array(["a", SECRET] * 6),
    }


@pytest.mark.parametrize("kind", ["pandas", "table", "sliced", "chunks", "batch", "data set"])
def test_nested_values_of_rows_that_are_left_out_stay_behind(kind: str, tmp_path: Path, tiny_run: Path) -> None:
    columns = nested_columns()
    if kind == "data set":
        del columns["maps"]  # which data sets do not have
    table = pyarrow.table({"utterance": RECORDS["utterance"], "customer": RECORDS["customer"], **columns})
    table = table.replace_schema_metadata({"pandas": SECRET, "huggingface": SECRET})
    if kind == "pandas":
        given = pd.DataFrame(
            {name: pd.Series(pd.arrays.ArrowExtensionArray(table[name])) for name in table.column_names}
        )
        given.index = [SECRET] * 12
        given.attrs["note"] = given["texts"].attrs["note"] = SECRET
    elif kind == "data set":
        given = datasets.Dataset(datasets.table.InMemoryTable(table.replace_schema_metadata(None)))
    else:
        parts = {"sliced": [table, table], "chunks": [table[:5], table[5:]]}.get(kind, [table])
        given = pyarrow.concat_tables(parts)[:12] if kind != "batch" else table.to_batches()[0]
    found, _ = released(tmp_path, tiny_run, given, keep_columns=list(columns), **LEFT_OUT)
    for name, values in columns.items():
        assert len(found[name]) == 6
        if kind not in ("pandas", "data set"):
            assert (column(found, name), found.schema.field(name).type) == (values.to_pylist()[::2], values.type)
    if kind == "data set":
        found.save_to_disk(tmp_path / "saved")
        assert not [path for path in (tmp_path / "saved").iterdir() if SECRET.encode() in path.read_bytes()]
    assert SECRET.encode() not in pickle.dumps(found)


def test_pandas_keeps_nothing_behind_masks_and_cells_of_kept_columns(tmp_path: Path, tiny_run: Path) -> None:
    secret = int.from_bytes(SECRET[:8].encode(), "little")
    cells = np.array([["a", SECRET]] * 12, object)
    given = pd.DataFrame(
        {**RECORDS, "number": pd.array([secret] * 12, "Int64"), "cell": list(cells), "any": [1, "b"] * 6}
    )
    given["number"] = given["number"].mask(given.index % 4 < 2)
    given["cell"] = [cell[:1] for cell in cells]
    given["any"] = pd.Series([1] * 12, dtype=object)
    given["kind"] = pd.Categorical(["b", "a"] * 6, categories=[SECRET, "a", "b"], ordered=True)
    keep = ["number", "cell", "any", "kind"]
    found, _ = released(tmp_path, tiny_run, given[given.index % 4 < 2], keep_columns=keep)
    assert found[keep].dtypes[:3].equals(given[keep].dtypes[:3])
    assert found["number"].isna().all()
    assert list(found["kind"].cat.categories) == ["a", "b"]
    assert all(cell.base is None for cell in found["cell"])
    assert not [1 for word in (SECRET, SECRET[:8]) if word.encode() in pickle.dumps(found)]


def test_features_of_a_data_set_keep_their_types_and_no_name_of_a_class(tmp_path: Path, tiny_run: Path) -> None:
    names = datasets.ClassLabel(names=["a", SECRET])
    features = datasets.Features(
        {
            "utterance": datasets.Value("string"), "customer": datasets.Value("string"),
            "image": datasets.Array2D((1, 2), "float32"), "one": names, "some": datasets.List({"one": names}),
        }
    )  # fmt: skip
    rows = {name: RECORDS[name] for name in ("utterance", "customer")}
    rows |= {"image": [[[i, i]] for i in range(12)], "one": [0, 1] * 6, "some": [[{"one": i % 2}] for i in range(12)]}
    given = datasets.Dataset.from_dict(rows, features=features)
    found, _ = released(tmp_path, tiny_run, given, keep_columns=["image", "one", "some"], **LEFT_OUT)
    assert found.features["image"] == features["image"]
    assert list(found["image"]) == rows["image"][::2]
    assert (list(found["one"]), list(found["some"])) == (["a"] * 6, [[{"one": 0}]] * 6)
    assert SECRET.encode() not in pickle.dumps(found)
    assert found._fingerprint != given._fingerprint


def test_a_kept_type_that_cannot_be_copied_is_refused_before_a_draw(
    tmp_path: Path, tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalPlan, "draw", lambda *_: pytest.fail("drawn"))
    table = pyarrow.table({"utterance": ["a fare"], "views": pyarrow.array([[1]], pyarrow.list_view(pyarrow.int8()))})
    with pytest.raises(DataError, match=r"column 'views' has an Arrow type .*: convert it, or leave it out"):
        released(tmp_path, tiny_run, table, keep_columns=["views"])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("changes", "options", "said"),
    [
        (
            {"time": [(i for i in ())] + [1] * 11},
            {"keep_columns": ["time"]},
            "column 'time' cannot be copied",
        ),
        ({"category": ["a", "b\ud800"] * 6}, {"label": "category"}, "the label of record 2 holds NUL or no UTF-8"),
        ({"category": ["a", "b\0"] * 6}, {"label": "category"}, "the label of record 2 holds NUL or no UTF-8"),
        ({"a\ud800": range(12)}, {"keep_columns": ["a\ud800"]}, "the name of a column must be text in UTF-8"),
        ({"": range(12)}, {"label": ""}, "the name of a column must be text in UTF-8, got ''"),
    ],
)
def test_a_cell_or_name_that_no_result_can_hold_is_refused_in_one_line(
    changes: dict[str, Any], options: dict[str, Any], said: str, tmp_path: Path, tiny_run: Path
) -> None:
    held = RECORDS | changes
    frame = pd.DataFrame({place: pd.Series(list(values), dtype=object) for place, values in enumerate(held.values())})
    frame.columns = pd.Index(list(held), dtype=object)
    with pytest.raises(DataError, match=said):
        released(tmp_path, tiny_run, frame, **options)
    assert not list(tmp_path.glob("*.json"))


def test_values_of_an_arrow_dictionary_that_no_row_has_stay_behind(tmp_path: Path, tiny_run: Path) -> None:
    array = pyarrow.DictionaryArray.from_arrays(pyarrow.array([1, 2] * 6, "int8"), ["xylophone", "a", "b"])
    given = pd.DataFrame({"utterance": RECORDS["utterance"], "kind": pd.arrays.ArrowExtensionArray(array)})
    found, _ = released(tmp_path, tiny_run, given, keep_columns=["kind"])
    assert found["kind"].tolist() == ["a", "b"] * 6
    assert found["kind"].dtype == given["kind"].dtype
    assert "xylophone" not in str(found["kind"].array.__arrow_array__())


@pytest.mark.parametrize("kind", [pd.DataFrame, datasets.Dataset.from_dict])
@pytest.mark.parametrize("label", [None, "category"])
@pytest.mark.parametrize("samples", [1, 2])
def test_columns_are_kept_of_the_very_records_that_are_left_of_a_person(
    tmp_path: Path, tiny_run: Path, kind: Any, label: str | None, samples: int
) -> None:
    person: dict[str, Any] = {"person": "customer", "max_records_per_person": 1, "excess": "drop"}
    found, _ = released(
        tmp_path, tiny_run, kind(RECORDS), **person, keep_columns=["time"], label=label, samples=samples
    )
    assert list(found["time"]) == [float(i) for i in range(6) for _ in range(samples)]


def test_a_frame_is_counted_in_the_ledger_by_default_and_refused_by_its_limit(
    topic_run: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    frame = pd.DataFrame({"text": ["to boston", "to denver"]})
    asked = {"text": "text", "epsilon": 8, "model_dir": topic_run}
    adept.rewrite_frame(frame, statement=tmp_path / "a", **asked)
    assert not caplog.messages
    adept.rewrite_frame(frame, statement=tmp_path / "b", **asked)
    assert "2 different records were released before" in caplog.text
    with pytest.raises(ReleaseRefused, match="limit"):
        adept.rewrite_frame(frame, statement=tmp_path / "c", ledger_limit=20.0, **asked)
    assert not (tmp_path / "c").exists()
    adept.rewrite_frame(frame, statement=tmp_path / "c", ledger="none", **asked)


def test_a_ledger_that_cannot_be_told_of_the_end_takes_no_rewrites_away(
    tmp_path: Path, tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(self: Ledger, run: str, output_sha256: str | None = None) -> None:
        raise OSError(5, "database is locked", self.path)

    monkeypatch.setattr(Ledger, "finish", locked)
    found, _ = released(tmp_path, tiny_run, ledger=str(tmp_path / "l.db"))
    assert len(found) == 12
    entries, *_ = run(LedgerConfig(ledger=str(tmp_path / "l.db")))
    assert [(entry.finished, entry.rows) for entry in entries] == [(None, 12)]


def test_a_record_without_text_leaves_no_directory_behind(tmp_path: Path, tiny_run: Path) -> None:
    frame = pd.DataFrame({"utterance": ["a fare to boston", None]})
    place = tmp_path / "new" / "s.privacy.json"
    with pytest.raises(DataError, match="record 2"):
        adept.rewrite_frame(
            frame, text="utterance", statement=place, epsilon=8, model_dir=tiny_run, mechanism="sqrt_n", ledger="none"
        )
    assert not place.parent.exists()


@pytest.mark.parametrize("batch", [False, True])
def test_class_labels_of_an_arrow_table_of_the_hub_are_names(tmp_path: Path, tiny_run: Path, *, batch: bool) -> None:
    features = datasets.Features(utterance=datasets.Value("string"), kind=datasets.ClassLabel(names=["b", "a"]))
    rows = datasets.Dataset.from_dict({"utterance": RECORDS["utterance"], "kind": [1, 0] * 6}, features=features)
    table = rows.with_format("arrow")[:]
    found, _ = released(tmp_path, tiny_run, table.to_batches()[0] if batch else table, label="kind")
    assert column(found, "kind") == ["a", "b"] * 6


def test_a_frame_of_polars_comes_back_as_one_with_its_types(tmp_path: Path, tiny_run: Path) -> None:
    polars = pytest.importorskip("polars")
    given = polars.DataFrame(RECORDS).with_columns(
        polars.col("category").cast(polars.Categorical), parts=polars.lit([1, None]), day=polars.date(2024, 1, 5)
    )
    kept = ["category", "time", "parts", "day"]
    found, stated = released(tmp_path, tiny_run, given, keep_columns=kept)
    assert type(found) is polars.DataFrame
    assert found.select(kept[1:]).equals(given.select(kept[1:]))
    assert (found["category"].dtype, found["category"].to_list()) == (polars.Categorical, RECORDS["category"])
    assert (stated["records"], stated["kept_columns"]) == (12, kept)
    objects = given.with_columns(polars.Series("objects", [object()] * 12, dtype=polars.Object))
    with pytest.raises(DataError, match="'objects' holds objects of Python: convert it"):
        released(tmp_path, tiny_run, objects, keep_columns=["objects"])
    assert released(tmp_path, tiny_run, objects)[0].columns == ["utterance"]


def test_two_calls_with_one_statement_at_once_make_one_release(
    tmp_path: Path, tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second call would write its number of records into the first one's statement."""
    draw, refused, options = LocalPlan.draw, list[str](), {"epsilon": 8, "model_dir": tiny_run, "mechanism": "sqrt_n"}
    place = tmp_path / "s.privacy.json"

    def draw_twice(plan: LocalPlan, batch: Any) -> Any:
        if not refused:
            with pytest.raises(DataError, match=r"cannot write .*: File exists") as error:
                adept.rewrite_frame(["a fare"], statement=place, **options)
            refused.append(str(error.value))
        return draw(plan, batch)

    monkeypatch.setattr(LocalPlan, "draw", draw_twice)
    monkeypatch.setattr(Publication, "check_leftovers", lambda self: None)  # both looked before either began
    assert len(adept.rewrite_frame(["a fare", "a meal"], statement=place, **options)) == 2
    assert refused
    assert json.loads(place.read_text())["records"] == 2
    assert list(tmp_path.iterdir()) == [place]


def test_an_interrupt_after_the_statement_has_its_name_takes_it_back(
    tmp_path: Path, tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish = Publication.publish

    def interrupted(self: Publication) -> None:
        publish(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(Publication, "publish", interrupted)
    with pytest.raises(KeyboardInterrupt):
        released(tmp_path, tiny_run, ledger=str(tmp_path / "l.db"))
    assert [path.name for path in tmp_path.iterdir()] == ["l.db"]
    assert run(LedgerConfig(ledger=str(tmp_path / "l.db")))[0] == []


def test_the_home_directory_is_found_in_names_of_files(tmp_path: Path, tiny_run: Path, monkeypatch: Any) -> None:
    """As on the command line, or one name would mean two ledgers; a directory called ~ is left alone."""
    home, here = tmp_path / "home", tmp_path / "here"
    (here / "~").mkdir(parents=True)
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(here)
    named = {"ledger": "~/a.db", "key": Path("~/key"), "statement": "~/s.json"}
    adept.rewrite_frame(["a fare"], epsilon=8, model_dir=tiny_run, mechanism="sqrt_n", **named)
    assert {"a.db", "key", "s.json"} <= {path.name for path in home.iterdir()}
    assert not list((here / "~").iterdir())
