"""Kept columns come back as they were, or the run is refused before anything is drawn."""

import decimal
import io
import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from adept.data.arrow_files import fits
from adept.data.reading import ReadingOptions, read_records
from adept.data.writing import record_writer
from adept.errors import AdeptError, ConfigurationError, DataError
from adept.mechanisms import SqrtNLaplace
from adept.release.flow.local import LocalPlan, prepare_file, release_file
from adept.release.flow.steps import preview
from adept.release.records import CheckedRecords, Inputs, ReleaseOptions, decide_kept, find_label_type
from adept.release.statement.statement import PrivacyStatement
from adept.rewriting.rewriter import Rewriter


@pytest.fixture
def rewriter(tiny_run: Path) -> Rewriter:
    return Rewriter.from_pretrained(tiny_run, mechanism=SqrtNLaplace(epsilon=8.0))


OPTIONS = ReleaseOptions(keep_columns=["c"])
COLUMNS = {
    "null first": pa.array([None] * 1400 + ["late"] * 100),
    "decimal": pa.array([decimal.Decimal("1.00")] * 1400 + [decimal.Decimal("12345.67")] * 100, pa.decimal128(10, 2)),
    "decimal256": pa.array([decimal.Decimal(10**50)] * 1500, pa.decimal256(60, 0)),
    "uint64": pa.array([2**64 - 1] * 1500, pa.uint64()),
    "empty lists": pa.array([[]] * 1400 + [["x"]] * 100, pa.list_(pa.string())),
    "map": pa.array([[("b", 1), ("a", None)], [], None] * 500, pa.map_(pa.string(), pa.int64())),
    "struct": pa.array([{"a": 1, "b": None}, None, {"a": None, "b": [None, 1.5]}] * 500),
    "nanoseconds": pa.array([1, None, 2**62 + 1] * 500, pa.timestamp("ns", "Europe/Berlin")),
    "far dates": pa.array([2**31 - 1, None, -(2**31)] * 500, pa.int32()).cast(pa.date32()),
    "time": pa.array([1, None, 999] * 500, pa.time64("ns")),
    "duration": pa.array([1, None, -(2**62) - 1] * 500, pa.duration("ns")),
    "fractions": pa.array([math.nan, -0.0, None] * 500, pa.float32()),
    "fixed binary": pa.array([b"ab", None, b"\xff\0"] * 500, pa.binary(2)),
    "view": pa.array(["a", None, "é" * 50] * 500, pa.string_view()),
    "large": pa.array(["a", None, "b"] * 500, pa.large_string()),
    "dictionary": pa.array(["a", None, "b"] * 500).dictionary_encode(),
    "only null": pa.nulls(1500),
    "list of structs": pa.array([[{"a": 1}], [], [None, {"a": None}]] * 500),
    "fixed lists": pa.array([[1, 2], None, [None, 4]] * 500, pa.list_(pa.int8(), 2)),
}


def preview_file(*places: Any, options: ReleaseOptions) -> PrivacyStatement:
    return preview(*prepare_file(*places, options=options))


def copied(source: Path, target: Path, *, samples: int = 1, batch: int = 64, **options: Any) -> list[str]:
    """Write the column ``c`` of a file as a release does; return the rows' texts."""
    asked = ReleaseOptions(keep_columns=["c"], samples=samples, **options)
    inputs = Inputs.of(str(source), ReadingOptions())
    kept = decide_kept(inputs, asked, "parquet", next(inputs.records(columns=asked.used_columns)))
    records = list(CheckedRecords(inputs.records(columns=asked.used_columns), None, asked, kept=kept))
    nothing: dict[str, Any] = dict.fromkeys(("writer", "publication", "label_column", "label_type"))
    columns = ["text", "c"]
    own: dict[str, Any] = {"inputs": inputs, "options": asked, "kept": kept, "columns": columns, "begun": records}
    plan = LocalPlan(**nothing, **own, format="parquet", labels=())
    with record_writer(str(target), format="parquet", columns=columns, types=kept.types) as write:
        for start in range(0, len(records), batch):
            part = records[start : start + batch]
            texts = [f"text {start + number // samples}" for number in range(len(part) * samples)]
            write(plan.rows(part, {"texts": texts}))
    return [str(record["text"]) for record in records]


def plain(column: Any) -> Any:
    """Return a column in one piece and without dictionaries."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return whole.dictionary_decode() if pa.types.is_dictionary(whole.type) else whole


def same(one: Any, other: Any) -> bool:
    """Return True if two arrays are equal, fractions bit for bit."""
    one, other = plain(one), plain(other)
    if pa.types.is_floating(one.type):
        return bool(one.to_string() == other.to_string() and str(one.to_pylist()) == str(other.to_pylist()))
    return bool(one.equals(other.cast(one.type)))


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("samples", [1, 2])
def test_a_kept_column_of_parquet_keeps_its_values_and_its_type(tmp_path: Path, name: str, samples: int) -> None:
    column = COLUMNS[name]
    parquet.write_table(pa.table({"text": ["t"] * 1500, "c": column}), tmp_path / "in.parquet", row_group_size=1024)
    copied(tmp_path / "in.parquet", tmp_path / "out.parquet", samples=samples)
    written = parquet.read_table(tmp_path / "out.parquet")["c"]
    read = parquet.read_table(tmp_path / "in.parquet")["c"]
    assert written.type == read.type
    parts = [plain(written).slice(row * samples, 1) for row in range(1500)]
    assert same(pa.concat_arrays(parts), read)


def test_no_metadata_category_or_index_of_the_input_reaches_the_output(tmp_path: Path) -> None:
    marker = "MARKER"
    inner = pa.field("x", pa.int64(), metadata={"k": marker})
    words = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int8()), pa.array(["a", marker]))
    nested = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), words)
    schema = pa.schema(
        [
            pa.field("text", pa.string()),
            pa.field("c", words.type, metadata={"k": marker}),
            pa.field("d", pa.struct([inner])),
            pa.field("e", nested.type),
            pa.field(f"__index_{marker}__", pa.int64()),
        ],
        metadata={"pandas": json.dumps({"index_columns": [marker]}), "attrs": marker},
    )
    rows = [["t", "t"], words, pa.array([{"x": 1}, {"x": 2}], schema.field("d").type), nested, [1, 2]]
    parquet.write_table(pa.table(rows, schema=schema), tmp_path / "in.parquet", compression="none")
    assert marker.encode() in (tmp_path / "in.parquet").read_bytes()
    options = ReleaseOptions(keep_columns=["c", "d", "e"])
    inputs = Inputs.of(str(tmp_path / "in.parquet"), ReadingOptions())
    kept = decide_kept(inputs, options, "parquet", next(inputs.records()))
    target = io.BytesIO()
    from adept.data.arrow_files import write_parquet

    with write_parquet(target, ["c", "d", "e"], kept.types) as write:
        write([{name: record.cell(name) for name in ("c", "d", "e")} for record in inputs.records()])  # type: ignore[attr-defined]
    target.seek(0)
    back = parquet.read_table(target)
    assert back.to_pydict() == {"c": ["a", "a"], "d": [{"x": 1}, {"x": 2}], "e": [["a"], ["a"]]}
    assert back["c"].chunk(0).dictionary.to_pylist() == ["a"]
    assert back.schema.metadata is None
    assert not any(field.metadata and b"k" in field.metadata for field in back.schema)
    assert marker.encode() not in target.getvalue()


def test_files_of_different_but_compatible_types_are_united_and_others_refused(tmp_path: Path) -> None:
    for number, column in enumerate([pa.nulls(2), pa.array(["a", "b"]), pa.array(["c", "d"]).dictionary_encode()]):
        parquet.write_table(pa.table({"text": ["t", "t"], "c": column}), tmp_path / f"{number}.parquet")
    (tmp_path / "out").mkdir()
    copied(tmp_path / "[012].parquet", tmp_path / "out" / "o.parquet", batch=5)
    assert parquet.read_table(tmp_path / "out" / "o.parquet")["c"].to_pylist() == [None, None, "a", "b", "c", "d"]
    parquet.write_table(pa.table({"text": ["t"], "c": [1]}), tmp_path / "3.parquet")
    with pytest.raises(DataError, match="different types"):
        copied(tmp_path / "*.parquet", tmp_path / "p.parquet")


def test_short_dictionary_indices_of_many_parts_do_not_overflow(tmp_path: Path) -> None:
    kind = pa.dictionary(pa.int8(), pa.string())
    schema = pa.schema([("text", pa.string()), ("c", kind)])
    words = [[f"{part}-{number}" for number in range(100)] for part in range(3)]
    with parquet.ParquetWriter(tmp_path / "in.parquet", schema) as writer:
        for part in words:
            writer.write_table(pa.table([["t"] * 100, pa.array(part).dictionary_encode().cast(kind)], schema=schema))
    copied(tmp_path / "in.parquet", tmp_path / "out.parquet", batch=300)
    assert parquet.read_table(tmp_path / "out.parquet")["c"].to_pylist() == [word for part in words for word in part]


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inside, max_size=3),
    max_leaves=6,
)
ALIKE = st.one_of(
    *(
        st.lists(st.none() | kind, min_size=1, max_size=4)
        for kind in (
            st.integers(-5, 2**64 - 1),
            st.integers(-5, 5) | st.floats(),
            st.text("xé", max_size=3),
            st.lists(st.none() | st.integers(0, 9) | st.floats(), max_size=3),
            st.fixed_dictionaries({"a": st.integers(0, 5)}, optional={"b": st.none() | st.text("x")}),
            st.lists(st.fixed_dictionaries({}, optional={"k": st.integers(0, 5), "m": st.booleans()}), max_size=3),
        )
    )
)


def is_unchanged(value: Any, back: Any) -> bool:
    """Return True if a value is unchanged; independent of ``is_same``, which it tests."""
    if isinstance(value, dict):
        assert isinstance(back, dict)
        return all(is_unchanged(value[key], back[key]) for key in value) and all(
            back[key] is None for key in back.keys() - value.keys()
        )
    if isinstance(value, list):
        return len(value) == len(back) and all(map(is_unchanged, value, back))
    if isinstance(value, float):
        return repr(value) == repr(back)
    return isinstance(value, bool) == isinstance(back, bool) and bool(value == back)


@given(ALIKE | st.lists(JSON_VALUES, min_size=1, max_size=4), st.integers(0, 1100), st.sampled_from([7, 64, 1500]))
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_any_kept_column_of_jsonl_comes_back_unchanged_or_is_refused_up_front(
    tmp_path_factory: pytest.TempPathFactory, values: list[Any], before: int, batch: int
) -> None:
    folder = tmp_path_factory.mktemp("any")
    values = values[:1] * before + values
    (folder / "in.jsonl").write_text("".join(json.dumps({"text": "t", "c": value}) + "\n" for value in values))
    try:
        copied(folder / "in.jsonl", folder / "out.parquet", batch=batch)
    except DataError as error:
        text = str(error)
    else:
        text = ""
    if text:
        assert "column 'c' h" in text
        assert not (folder / "out.parquet").exists()
        return
    back = parquet.read_table(folder / "out.parquet")["c"].to_pylist()
    assert all(is_unchanged(value, other) for value, other in zip(values, back, strict=True))


@given(st.data(), st.integers(0, 1100), st.sampled_from([7, 64, 1500]), st.sampled_from([1, 3, 1024]))
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_any_kept_column_of_parquet_comes_back_unchanged(
    tmp_path_factory: pytest.TempPathFactory, data: Any, before: int, batch: int, group: int
) -> None:
    folder = tmp_path_factory.mktemp("any")
    left_out = ("dictionary", "far dates", "view")  # Arrow writes no views inside others; all have tests of their own
    leaf = st.sampled_from([column.type for name, column in COLUMNS.items() if name not in left_out])
    kind = data.draw(
        st.recursive(leaf, lambda inside: inside.map(pa.list_) | inside.map(lambda t: pa.struct([("x", t)])))
    )
    sources = [column.slice(0, 3) for column in COLUMNS.values() if column.type == kind] or [pa.nulls(3, kind)]
    column = pa.concat_arrays([pa.nulls(before, kind), *sources])
    table = pa.table({"text": ["t"] * len(column), "c": column})
    parquet.write_table(table, folder / "in.parquet", row_group_size=max(group, len(column) // 20))
    copied(folder / "in.parquet", folder / "out.parquet", batch=batch)
    assert same(parquet.read_table(folder / "out.parquet")["c"], parquet.read_table(folder / "in.parquet")["c"])


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([1, "a"], "text and whole numbers"),
        ([2**53 + 1, 0.5], "beyond 2\\^53"),
        ([2**64], "more than 64 bits"),
        ([-1, 2**63], "more than 64 bits"),
        ([{}], "without keys"),
        ([{"secret": {}}], "without keys"),
        ([{"secret": 0.5}, {"secret": 2**53 + 1}], "beyond 2\\^53"),
        ([{"a": None}, {"b": 1}], "one has a key with null and another lacks that key"),
        ([True, 1], "booleans and whole numbers"),
        ([[1], {"secret": 1}], "lists and objects"),
        ([{f"secret{number}": 1} for number in range(1001)], "1,000 different keys"),
    ],
)
@pytest.mark.parametrize("dry_run", [True, False])
def test_columns_without_a_common_type_are_refused_before_the_draw(
    rewriter: Rewriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: list[Any], reason: str, dry_run: bool
) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text(
        "".join(json.dumps({"text": "show flights", "c": value}) + "\n" for value in values[:1] * 70 + values)
    )
    monkeypatch.setattr(Rewriter, "release", lambda *_, **__: pytest.fail("a record was released"))
    before = sorted(tmp_path.iterdir())
    with pytest.raises(DataError, match=f"column 'c' h.*{reason}") as caught:
        (preview_file if dry_run else release_file)(rewriter, str(source), str(tmp_path / "o.parquet"), options=OPTIONS)
    assert "secret" not in str(caught.value)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
@pytest.mark.parametrize("name", ["fixed binary", "far dates", "infinity"])
def test_a_value_that_a_text_format_cannot_hold_is_refused_before_the_draw(
    rewriter: Rewriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, ending: str
) -> None:
    column = COLUMNS.get(name, pa.array([[1.0]] * 1499 + [[math.inf]]))
    parquet.write_table(pa.table({"text": ["show flights"] * 1500, "c": column}), tmp_path / "in.parquet")
    monkeypatch.setattr(Rewriter, "release", lambda *_, **__: pytest.fail("a record was released"))
    for step in (preview_file, release_file):
        with pytest.raises(DataError, match=f"column 'c' holds .* in record [0-9]+, which {ending} cannot hold"):
            step(rewriter, str(tmp_path / "in.parquet"), str(tmp_path / f"o.{ending}"), options=OPTIONS)
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_a_release_keeps_every_value_of_a_column_that_changes_late(
    rewriter: Rewriter, tmp_path: Path, ending: str
) -> None:
    values: list[Any] = [1] * 70 + [0.75]
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps({"text": "show flights", "c": value}) + "\n" for value in values))
    release_file(rewriter, str(source), str(tmp_path / f"o.{ending}"), options=OPTIONS)
    assert [record["c"] for record in read_records(str(tmp_path / f"o.{ending}"))] == values


def test_a_release_from_parquet_keeps_values_that_python_cannot_hold(rewriter: Rewriter, tmp_path: Path) -> None:
    table = pa.table(
        {"text": ["show flights"] * 90, "c": COLUMNS["far dates"][:90], "unused": COLUMNS["far dates"][:90]}
    )
    parquet.write_table(table, tmp_path / "in.parquet")
    release_file(rewriter, str(tmp_path / "in.parquet"), str(tmp_path / "o.parquet"), options=OPTIONS)
    assert parquet.read_table(tmp_path / "o.parquet")["c"].equals(table["c"])


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that no input can be read twice, as standard input cannot."""
    monkeypatch.setattr(Inputs, "repeatable", False)


@pytest.mark.usefixtures("piped")
def test_a_stream_into_parquet_needs_a_schema_and_is_held_to_it(rewriter: Rewriter, tmp_path: Path) -> None:
    source, schema, target = tmp_path / "in.jsonl", tmp_path / "s.json", str(tmp_path / "o.parquet")
    source.write_text("".join(json.dumps({"text": "show flights", "c": value}) + "\n" for value in [1, 0.5]))
    with pytest.raises(ConfigurationError, match="add schema=FILE"):
        release_file(rewriter, str(source), target, options=OPTIONS)
    options = ReleaseOptions(keep_columns=["c"], schema=str(schema))
    schema.write_text('{"c": "int64"}')
    with pytest.raises(DataError, match="column 'c' has type int64, which does not hold the value of record 2"):
        release_file(rewriter, str(source), target, options=options)
    assert not Path(target).exists()
    schema.write_text('{"c": "float64"}')
    release_file(rewriter, str(source), target, options=options)
    assert parquet.read_table(target)["c"].to_pylist() == [1.0, 0.5]


@pytest.mark.usefixtures("piped")
def test_a_parquet_stream_keeps_its_types_without_a_schema(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"text": ["t"] * 1500, "c": COLUMNS["decimal"]}), tmp_path / "in.parquet")
    copied(tmp_path / "in.parquet", tmp_path / "out.parquet")
    assert parquet.read_table(tmp_path / "out.parquet")["c"].type == pa.decimal128(10, 2)


@pytest.mark.parametrize("content", ['{"c": "no such type"}', '{"d": "int64"}', "[]", "nonsense", '{"c": 1}', "é\xff"])
def test_a_schema_that_does_not_say_the_type_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "t", "c": 1}\n')
    (tmp_path / "s.json").write_text(content, "latin-1")
    with pytest.raises(AdeptError, match="schema"):
        copied(tmp_path / "in.jsonl", tmp_path / "out.parquet", schema=str(tmp_path / "s.json"))


def test_types_come_from_one_place_or_the_columns_are_refused(tmp_path: Path) -> None:
    """Of parquet and text together, or of parquet and schema=, no one place says the types."""
    parquet.write_table(pa.table({"text": ["t"], "c": [1]}), tmp_path / "a.parquet")
    (tmp_path / "b.jsonl").write_text('{"text": "t", "c": 1}\n')
    (tmp_path / "s.json").write_text('{"c": "int8"}')
    schema = ReleaseOptions(keep_columns=["c"], schema=str(tmp_path / "s.json"))
    for names, options, output, rule in (
        ("ab", OPTIONS, "parquet", "input must not mix parquet"),
        ("a", schema, "parquet", "schema= is for kept columns of text files"),
        ("b", schema, "jsonl", "schema= is for kept columns of text files"),
    ):
        found = Inputs(tuple(str(next(tmp_path.glob(f"{name}.*"))) for name in names), sizes=[1] * len(names))
        with pytest.raises(ConfigurationError, match=rule):
            decide_kept(found, options, output, {"text": "t", "c": 1})


def test_a_parquet_file_gives_a_schema_its_nested_types(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "t", "c": [{"x": 1}]}\n')
    kind = pa.list_(pa.struct([("x", pa.int16()), ("y", pa.string())]))
    parquet.write_table(pa.table({"c": pa.nulls(1, kind)}), tmp_path / "s.parquet")
    copied(tmp_path / "in.jsonl", tmp_path / "out.parquet", schema=str(tmp_path / "s.parquet"))
    assert parquet.read_table(tmp_path / "out.parquet")["c"].to_pylist() == [[{"x": 1, "y": None}]]


def test_cells_of_csv_stay_text(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("text,c\nt,007\nt,\nt,1.5\n")
    copied(tmp_path / "in.csv", tmp_path / "out.parquet")
    assert parquet.read_table(tmp_path / "out.parquet")["c"].to_pylist() == ["007", "", "1.5"]


def label_type(directory: Path, kinds: list[Any], drawn: tuple[str, ...] = ()) -> Any:
    """Return what labels are written as whose column has these types, a file each."""
    directory.mkdir()
    for number, kind in enumerate(kinds):
        column = pa.array([1]).cast(kind.value_type if pa.types.is_dictionary(kind) else kind)
        column = column.dictionary_encode() if pa.types.is_dictionary(kind) else column
        parquet.write_table(pa.table({"text": ["t"], "i": column}), directory / f"{number}.parquet")
    return find_label_type(Inputs.of(str(directory), ReadingOptions()), "i", drawn, {})


@pytest.mark.parametrize(
    ("kinds", "written"),
    [
        ([pa.int32()], pa.int32()),
        ([pa.uint8()], pa.uint8()),
        ([pa.dictionary(pa.int8(), pa.int16())], pa.int16()),
        ([pa.int32(), pa.int64()], pa.int64()),
        ([pa.int32(), pa.uint8()], pa.int64()),
        ([pa.uint8(), pa.uint64()], pa.uint64()),
        ([pa.int32(), pa.uint64()], None),
        ([pa.int32(), pa.string()], None),
        ([pa.float64()], None),
        ([pa.bool_()], None),
        ([pa.decimal128(19, 0)], None),
    ],
)
def test_labels_are_whole_numbers_only_if_all_schemas_say_so(tmp_path: Path, kinds: list[Any], written: Any) -> None:
    assert label_type(tmp_path / "parts", kinds) == written


@pytest.mark.parametrize(
    ("kind", "drawn", "written"),
    [
        (pa.int8(), ("1", "-128", "127"), True),
        (pa.int8(), ("1", "300"), False),
        (pa.uint64(), ("1", "-3"), False),
        (pa.uint64(), (str(2**64 - 1),), True),
        (pa.int64(), (str(2**63),), False),
        (pa.int64(), ("1", "007"), False),
        (pa.int64(), ("1", "-0"), False),
        (pa.int64(), ("1", "٣"), False),
        (pa.int64(), ("1", "9" * 5000), False),
        (pa.int64(), ("1", "other"), False),
    ],
)
def test_labels_are_whole_numbers_only_if_every_public_label_is_one_that_fits(
    tmp_path: Path, kind: Any, drawn: tuple[str, ...], written: bool
) -> None:
    assert label_type(tmp_path / "parts", [kind], drawn) == (kind if written else None)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, pa.int64()),
        (1, pa.bool_()),
        (2**53 + 1, pa.float64()),
        (0.5, pa.int64()),
        (1, pa.string()),
        ({"a": 1}, pa.struct([("b", pa.int64())])),
    ],
)
def test_a_value_that_would_change_does_not_fit(value: Any, kind: Any) -> None:
    assert not fits(value, kind)


def test_whole_labels_of_parquet_stay_whole_numbers_beside_kept_columns(rewriter: Rewriter, tmp_path: Path) -> None:
    labels = pa.array([1, 0, 2] * 30, pa.int16())
    table = pa.table({"text": ["show flights"] * 90, "intent": labels, "c": COLUMNS["nanoseconds"][:90]})
    parquet.write_table(table, tmp_path / "in.parquet")
    release_file(rewriter, str(tmp_path / "in.parquet"), str(tmp_path / "o.parquet"), options=OPTIONS)
    assert parquet.read_table(tmp_path / "o.parquet").select(["intent", "c"]).equals(table.select(["intent", "c"]))
    release_file(rewriter, str(tmp_path / "o.parquet"), str(tmp_path / "o.csv"), options=ReleaseOptions())
    assert [record["intent"] for record in read_records(str(tmp_path / "o.csv"))] == ["1", "0", "2"] * 30


def test_a_value_is_named_by_the_number_of_its_record_when_others_are_dropped(
    rewriter: Rewriter, tmp_path: Path
) -> None:
    rows = [("a", 1), ("a", 2), ("b", math.inf)]
    lines = [json.dumps({"text": "show flights", "p": person, "c": value}) for person, value in rows]
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    options = ReleaseOptions(keep_columns=["c"], person_column="p", max_records_per_person=1, excess="drop")
    with pytest.raises(DataError, match="in record 3"):
        release_file(rewriter, str(tmp_path / "in.jsonl"), str(tmp_path / "o.jsonl"), options=options)


def test_objects_of_many_shapes_are_kept_with_their_fields_in_the_files_order(tmp_path: Path) -> None:
    """Every subset of eleven keys is a shape of its own, beside whole numbers that need 64 bits without a sign."""
    keys = [f"k{bit}" for bit in (7, 2, 9, 0, 5, 10, 1, 8, 3, 6, 4)]
    objects = [{key: 2**63 + 5 for bit, key in enumerate(keys) if number >> bit & 1} for number in range(1, 2048)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": "t", "c": value}) + "\n" for value in objects))
    copied(tmp_path / "in.jsonl", tmp_path / "out.parquet")
    column = parquet.read_table(tmp_path / "out.parquet")["c"]
    assert column.type == pa.struct([(key, pa.uint64()) for key in keys])
    assert [{key: part for key, part in row.items() if part is not None} for row in column.to_pylist()] == objects


def test_records_that_are_left_out_decide_no_type_of_a_kept_column(tmp_path: Path, rewriter: Rewriter) -> None:
    rows = [{"text": "a", "who": 1, "c": {"a": 1}}, {"text": "b", "who": 1, "c": {"xylophone": "x"}}]
    given, place = tmp_path / "in.jsonl", tmp_path / "out.parquet"
    given.write_text("".join(json.dumps(row) + "\n" for row in rows))
    persons: dict[str, Any] = {"person_column": "who", "max_records_per_person": 1, "excess": "drop"}
    release_file(rewriter, str(given), str(place), options=ReleaseOptions(keep_columns=["c"], **persons))
    assert parquet.read_table(place)["c"].to_pylist() == [{"a": 1}]
    assert b"xylophone" not in place.read_bytes()
    (tmp_path / "schema.json").write_text('{"c": "int64"}')
    given.write_text("".join(json.dumps({**row, "c": n or "text"}) + "\n" for n, row in zip((1, 0), rows, strict=True)))
    options = ReleaseOptions(keep_columns=["c"], schema=str(tmp_path / "schema.json"), **persons)
    release_file(rewriter, str(given), str(tmp_path / "typed.parquet"), options=options)


@pytest.mark.parametrize("ending", ["jsonl", "json"])
def test_no_record_that_a_ledger_may_leave_out_decides_a_type(tmp_path: Path, ending: str) -> None:
    """The types are found before the ledger chooses, and the keys of an object are a part of its type."""
    rows = [{"text": "a", "who": 1, "c": {"a": 1}}, {"text": "b", "who": 2, "c": {"xylophone": "x"}}]
    given = tmp_path / f"in.{ending}"
    given.write_text("\n".join(map(json.dumps, rows)) if ending == "jsonl" else json.dumps(rows))
    options = ReleaseOptions(keep_columns=["c"], person_column="who", max_records_per_person=1, over_limit="drop")
    with pytest.raises(
        ConfigurationError, match=r"keep_columns .* with over_limit=drop, into parquet need types .*add schema="
    ):
        decide_kept(Inputs.of(str(given), options), options, "parquet", rows[0])
    (tmp_path / "in.csv").write_text("text,who,c\na,1,7\nb,2,x\n")  # where every value is text
    assert decide_kept(Inputs.of(f"{tmp_path}/in.csv", options), options, "parquet", rows[0]).types == {
        "c": pa.string()
    }
