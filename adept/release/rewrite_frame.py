"""The release of texts or of a table in memory; imports neither pandas nor datasets.

``Table`` and its subclasses read columns, copy rows, and build the result.
"""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa

from adept.data.arrow_files import copy_column, name_classes, plain_type, plain_values
from adept.data.formats import STANDARD_STREAM, PlacedRecord, Record
from adept.data.texts import (
    USUAL_LABEL_COLUMN,
    instance_of,
    is_writable,
    label_set_of,
    list_names,
    python_value,
    text_list,
    value_list,
)
from adept.data.writing import check_path, describe_failure
from adept.errors import AdeptError, ConfigurationError, DataError, check_positive, refuse
from adept.mechanisms import BY_NAME
from adept.mechanisms.base import MechanismChoice
from adept.release.flow.journal import NoJournal
from adept.release.flow.local import LocalRun, open_release, plan_local
from adept.release.flow.publication import Publication
from adept.release.ledger.default import LOG, NO_LEDGER, describe_overlap, find_key, open_ledger
from adept.release.options import PersonOptions, ReleaseRequest
from adept.release.records import RANDOMISED_TREATMENTS, Inputs, KeptColumns
from adept.release.statement.statement import now
from adept.torch_defaults import usual_torch

Frame = TypeVar("Frame")
FILE_OPTIONS = {option.name for option in fields(PersonOptions)} - {"max_records_per_person"} | {"card", "flush_every"}
FRAME_OPTIONS = {option.name for option in fields(ReleaseRequest)} - FILE_OPTIONS
PATHS = ("ledger", "key", "model_dir", "label_descriptions")  # options that name files
TEXT_TYPES = ("string", "large_string")  # Arrow's types that a text column may keep
# By the kind of texts without columns: how rewrites become an object of this kind
TEXTS_RETURNED: dict[tuple[str, str], Callable[[Any, list[str]], Any]] = {
    ("pandas", "Series"): lambda given, texts: type(given)(texts, name=given.name),
    ("polars", "Series"): lambda given, texts: type(given)(given.name, texts),
    ("numpy", "ndarray"): lambda given, texts: np.array(texts, given.dtype if given.dtype == object else str).reshape(
        -1, *given.shape[1:]
    ),
    ("pyarrow", "Array"): lambda given, texts: pa.array(texts),
    ("pyarrow", "ChunkedArray"): lambda given, texts: pa.chunked_array([texts]),
}


@usual_torch()
def rewrite_frame(
    frame: Frame,
    *,
    statement: str | Path,
    text: str | None = None,
    epsilon: float | None = None,
    label: str | None = None,
    person: str | None = None,
    **options: Any,
) -> Frame:
    """Rewrite texts or the records of a table, and write the privacy statement of the release.

    *Claim*: a call that fails leaves no statement and nothing in the ledger, and after a call that returns, the
    ledger lists its records. *Proof*. Before any record is added to the ledger (the list of released records), all
    records and options are checked, and a file with the temporary name of the statement is created.
    ``LocalRun.claim`` lists all records in one transaction before it returns the first. The last step gives the
    statement its final name. If anything fails before this step ends, nobody has read any of the rewrites, and the
    records are removed from the ledger. QED.

    *Claim*: the result holds no value of a record that was left out. *Proof*. Texts and labels are new objects. Kept
    columns are copied row by row (``adept.data.arrow_files`` for Arrow), and the new table gets neither index,
    attributes nor metadata of the old one. Only names of columns and of fields, which are the type of a table, are
    kept. QED.

    Args:
        frame: a ``DataFrame`` of pandas or polars, an Arrow table or batch, or a ``datasets.Dataset``; or only
            texts: a list, an array, a Series, or whatever else ``text_list`` accepts.
        statement: new file for the statement.
        text: name of the column with the texts; needed if the table has several columns.
        epsilon: privacy budget of each record.
        label: name of the column with labels. With None, no labels are written, except with
            ``labels="joint"``: then the model writes labels.
        person: name of the column that names the person who contributed each record. With
            ``person``, ``options`` must contain ``max_records_per_person``. The returned table does
            not contain this column.
        options: options of ``adept rewrite`` that are not about files; ``mechanism`` may be an object.

    Returns:
        For a table, a table of the same kind, with a new index and the columns for text, label, ``keep_columns`` and
        ``sample`` (if ``samples > 1``). Labels are whole numbers if their column and the label set have that type;
        otherwise they are text. Kept columns keep their types, except that categories without a row are left out, and
        that a ``ClassLabel`` column becomes text: the names of its classes. For texts, the rewrites in order,
        ``samples`` for each text: in a NumPy array, a Series or an Arrow array if ``frame`` is one, else in a list.

    Raises:
        AdeptError: for any reason for which ``adept rewrite`` would fail, or if ``frame`` or a column is unsuitable.
    """
    table = table_of(frame)
    text = table.text_column(text)
    check_path(statement=statement)
    label, person = (None if name is None else _spelled(name) for name in (label, person))
    request = _request(
        {"epsilon": epsilon, "text_column": text, "label_column": label, "person_column": person}, options
    )
    if isinstance(table, _Texts) and request.labels == "joint":
        raise ConfigurationError("labels must not be joint for texts without columns: give a table of one column")
    used = _checked_columns(table, request)
    others = tuple(os.fspath(name) for name in (request.ledger, request.key) if name not in (None, NO_LEDGER))
    place = Publication.of(STANDARD_STREAM, os.path.expanduser(statement), card=False, others=others)  # noqa: PTH111
    place.check_names()
    place.check_leftovers()
    rewriter, asked = open_release(request)
    types = {name: kind for name in used if (kind := table.integer_type(name)) is not None}
    inputs = _Held(("frame",), sizes=[], held=table.records(used), types=types)
    # The name stands for the output, so that rows have columns; no such file is written
    plan = plan_local(rewriter, inputs, Publication("frame.jsonl", place.statement), asked)
    plan = replace(plan, kept=KeptColumns())  # a frame may hold values that no file can
    checked = plan.check(plan.begun)
    deque(plan.check(plan.records()), maxlen=0)  # nothing is made or listed if a record is refused
    with open_ledger(request, None if request.ledger == NO_LEDGER else find_key(request)) as ledger:
        run = LocalRun(plan, NoJournal(), b"", ledger, listed_name=place.statement)
        with _all_or_nothing(run, place):
            records = list(run.claim(checked))
            places = np.repeat([cast(PlacedRecord, record).index for record in records], asked.samples).tolist()
            kept = {name: table.copy_rows(name, places) for name in asked.keep_columns}
            rows = [row for _, part in plan.ordered_rows(run.entries(iter(records))) for row in part]
            private: Frame = table.build(
                {
                    name: kept[name]
                    if name in kept
                    else table.make(name, [row[name] for row in rows], plan.types.get(name), text=text)
                    for name in plan.columns
                }
            )
            place.write_statement(replace(plan.statement(checked), date=now()).to_json())
            place.publish()
        for line in [*_index_lines(frame), *checked.notes, *describe_overlap(ledger)]:
            LOG.warning(f"not part of the release: {line}")
    return private


@contextmanager
def _all_or_nothing(run: LocalRun, place: Publication) -> Iterator[None]:
    """Reserve the statement's name; if the ``with`` block fails, remove what it made and listed."""
    ledger, made = run.ledger, False
    place.make_directories()
    try:
        place.make_temporary(resumed=False)
        made = True
        yield
    except BaseException as error:
        if made:
            place.withdraw()  # the name, if an interrupt came after it was given
        if ledger:
            ledger.forget(run.journal.run)
        if isinstance(error, OSError):
            raise DataError(f"{describe_failure(error, place.statement)}: mend that, and try again") from None
        raise
    finally:
        if made:
            place.clear()
    with suppress(OSError, AdeptError):  # what cannot be finished is listed as unfinished, so as spent
        if ledger:
            ledger.finish(run.journal.run)


@dataclass(frozen=True)
class _Held(Inputs):
    held: Sequence[Record] = ()
    types: Mapping[str, Any] = field(default_factory=dict)

    @property
    def formats(self) -> set[str]:
        return set()

    def records(self, **_: Any) -> Iterator[Record]:
        return iter(self.held)

    def schemas(self, first: Record) -> list[dict[str, Any]]:
        return [dict(self.types)]


def _request(columns: Mapping[str, Any], options: dict[str, Any]) -> ReleaseRequest:
    if unknown := options.keys() - FRAME_OPTIONS:
        raise ConfigurationError(
            f"rewrite_frame has no option {sorted(unknown)[0]!r}: use one of {', '.join(sorted(FRAME_OPTIONS))}"
        )
    for name in ("keep_columns", "record_columns"):
        if options.get(name) is not None:
            options[name] = list(map(_spelled, value_list(options[name], None, name)))
    paths = {name: options[name] for name in PATHS if options.get(name) is not None}
    check_path(**paths)
    # As the command reads names of files: else ~/a.db would name two ledgers; Path raises without a home
    options |= {name: os.path.expanduser(path) for name, path in paths.items()}  # noqa: PTH111
    columns, options = ({name: python_value(value) for name, value in given.items()} for given in (columns, options))
    budgets = {"epsilon": columns["epsilon"], "label_epsilon": options.get("label_epsilon")}
    check_positive(**{name: value for name, value in budgets.items() if value is not None})
    if options.get("label_set") is not None:
        options["label_set"] = list(label_set_of(options["label_set"]))
    options["mechanism"] = _choice(options.get("mechanism"))
    treatment = options.setdefault("labels", "copy")
    if columns["label_column"] is None:
        refuse(
            (
                treatment in RANDOMISED_TREATMENTS,
                f"label must name a column for labels={treatment}, got none: add label=NAME",
            )
        )
        options["labels"] = "drop" if treatment == "copy" else treatment
    return ReleaseRequest(**columns, **options)


def _index_lines(frame: Any) -> list[str]:
    """Return a line if pandas would put rows of the result beside other rows of the frame."""
    index = list(frame.index) if instance_of(frame, [("pandas", "DataFrame"), ("pandas", "Series")]) else []
    line = "the result has a new index, from 0 on: put it beside the frame by position (to_numpy()), not by index"
    return [line] if index != list(range(len(index))) else []


def _choice(mechanism: Any) -> MechanismChoice | None:
    if mechanism is None or isinstance(mechanism, MechanismChoice):
        return mechanism
    if isinstance(mechanism, str) and mechanism in BY_NAME:
        return MechanismChoice(BY_NAME[mechanism])
    if isinstance(mechanism, str):
        raise ConfigurationError(f"mechanism must be a mechanism or one of {', '.join(BY_NAME)}: see adept.mechanisms")
    if type(mechanism) not in BY_NAME.values():
        from adept.rewriting.unproved import choice_of  # slow to import, and rarely needed

        return choice_of(mechanism)
    given = {option.name: getattr(mechanism, option.name) for option in fields(mechanism) if option.init}
    return MechanismChoice(type(mechanism), given.pop("epsilon", None), given.pop("clip_norm", None), given)


def _checked_columns(table: "Table", request: ReleaseRequest) -> list[str]:
    named = {"text": request.text_column, "label": request.label_column, "person": request.person_column}.items()
    kept = [("keep_columns", name) for name in request.keep_columns]
    used = [*((option, name) for option, name in named if name is not None), *kept]
    for option, name in used:
        if (found := table.names.count(name)) != 1:
            wrong = "no column" if not found else f"{found} columns"
            raise DataError(
                f"frame has {wrong} named {name!r}; the columns are {list_names(table.names)}: correct {option}="
            )
        if not (name and is_writable(name)):
            raise DataError(f"the name of a column must be text in UTF-8, got {name!r}: rename the column")
    if not len(table.frame):
        raise DataError("frame has no records: give at least one")
    read = list(dict.fromkeys(name for _, name in used))
    if request.ledger in (None, NO_LEDGER) and request.record_columns is None:
        return read
    others = [name for name in table.names if name != USUAL_LABEL_COLUMN and table.names.count(name) == 1]
    return list(dict.fromkeys([*read, *others]))


# --- Tables


class Table:
    """A pandas data frame, which is never changed; subclasses handle tables of other kinds.

    All names of columns are text here, because an option that is 0 counts as not given, and statements hold text.
    """

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    @property
    def names(self) -> list[str]:
        """Names of the columns; in pandas, a name may occur several times."""
        return list(map(_spelled, self.frame.columns))

    def text_column(self, named: object) -> str:
        """Return the name of the column with the texts: the named one, or the only one."""
        if named is None and len(self.names) != 1:
            raise DataError(
                f"text must name the column with the texts, got none; the columns are {list_names(self.names)}: add text=NAME"
            )
        return self.names[0] if named is None else _spelled(named)

    def values(self, name: str) -> list[Any]:
        """Return the values of a column, with None for missing values."""
        return value_list(self.frame.iloc[:, self.names.index(name)], len(self.frame), name)

    def records(self, names: Sequence[str]) -> list[PlacedRecord]:
        """Return the rows as records that contain only the given columns."""
        rows = enumerate(zip(*(self.values(name) for name in names), strict=True))
        return [PlacedRecord(dict(zip(names, row, strict=True)), None, place) for place, row in rows]

    def copy_rows(self, name: str, places: Sequence[int]) -> Any:
        """Return a column's values at the given places, without anything of other rows."""
        column = self.frame.iloc[:, self.names.index(name)]
        if hasattr(column.dtype, "pyarrow_dtype"):
            return type(column)(type(column.array)(_copy_arrow(name, column.array.__arrow_array__(), places)))
        column = column.iloc[places].reset_index(drop=True)
        if hasattr(column, "cat"):
            return column.cat.remove_unused_categories()
        if hasattr(column.dtype, "numpy_dtype"):  # an array with a mask, under which a value may be hidden
            return type(column)(column.tolist(), dtype=column.dtype)
        # An array in a cell may be a part of a larger array
        try:
            return type(column)(list(map(deepcopy, column)), dtype=object) if column.dtype == object else column
        except Exception as error:  # noqa: BLE001 - foreign code: a cell may be any object
            raise DataError(f"column {name!r} cannot be copied ({type(error).__name__}): leave it out") from None

    def integer_type(self, name: str) -> Any:
        """Return the Arrow type of a column that is declared as whole numbers, or None."""
        kind = self.frame.iloc[:, self.names.index(name)].dtype
        kind = getattr(getattr(kind, "categories", None), "dtype", kind)
        kind = getattr(kind, "numpy_dtype", kind)
        return pa.from_numpy_dtype(kind) if isinstance(kind, np.dtype) and kind.kind in "iu" else None

    def make(self, name: str, values: list[Any], kind: Any, *, text: str) -> Any:
        return values if kind is None else np.array(values, kind.to_pandas_dtype())

    def build(self, columns: dict[str, Any]) -> Any:
        own = dict(zip(self.names, self.frame.columns, strict=True))
        return sys.modules["pandas"].DataFrame({own.get(name, name): values for name, values in columns.items()})


def _spelled(name: object) -> str:
    held = hasattr(name, "__len__") and not isinstance(name, str | bytes | tuple)  # a column, whose text is private
    refuse((held, f"the name of a column must be text, got {type(name).__name__}"))
    return str.__str__(name) if isinstance(name, str) else str(python_value(name))


class _Texts(Table):
    """Texts without columns: a table of one column, of which only the rewrites are returned."""

    def __init__(self, frame: Any) -> None:
        super().__init__(text_list(frame, "frame"))
        self._given = frame

    @property
    def names(self) -> list[str]:
        return ["text"]

    def text_column(self, named: object) -> str:
        refuse((named is not None, f"text must be left out for texts without columns, got {named!r}: leave it out"))
        return "text"

    def values(self, name: str) -> list[Any]:
        return list(self.frame)

    def integer_type(self, name: str) -> Any:
        return None

    def build(self, columns: dict[str, Any]) -> Any:
        kind = instance_of(self._given, TEXTS_RETURNED)
        return TEXTS_RETURNED[kind](self._given, columns["text"]) if kind else columns["text"]


class _Arrow(Table):
    """A table or a batch of Arrow."""

    @property
    def names(self) -> list[str]:
        return list(self.frame.schema.names)

    def values(self, name: str) -> list[Any]:
        found = [value for chunk in self._column(name).chunks for value in plain_values(chunk)]
        return value_list(found, len(found), name)

    def _column(self, name: str) -> Any:
        """Return a column, in which the classes of a ``ClassLabel`` stand as their names."""
        column = name_classes(self.frame.select([name])).column(name)
        return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])

    def copy_rows(self, name: str, places: Sequence[int]) -> Any:
        return _copy_arrow(name, self._column(name), places)

    def integer_type(self, name: str) -> Any:
        kind = plain_type(self._column(name).type)
        return kind if pa.types.is_integer(kind) else None

    def make(self, name: str, values: list[Any], kind: Any, *, text: str) -> Any:
        given = str(self._column(name).type) if name == text else None
        return pa.array(values, kind or (given if given in TEXT_TYPES else "string"))

    def build(self, columns: dict[str, Any]) -> Any:
        table = pa.table(columns)
        return table.to_batches()[0] if isinstance(self.frame, pa.RecordBatch) else table


class _Polars(_Arrow):
    names = Table.names

    def _column(self, name: str) -> Any:
        if str((column := self.frame[name]).dtype) == "Object":  # of which Arrow would get addresses in memory
            raise DataError(f"column {name!r} holds objects of Python: convert it, or leave it out of keep_columns")
        return pa.chunked_array([column.to_arrow()])

    def build(self, columns: dict[str, Any]) -> Any:
        return sys.modules["polars"].from_arrow(pa.table(columns))


class _DataSet(_Arrow):
    @property
    def names(self) -> list[str]:
        return list(self.frame.column_names)

    def _column(self, name: str) -> Any:
        return name_classes(self.frame.select_columns([name]).with_format("arrow")[:]).column(name)

    def copy_rows(self, name: str, places: Sequence[int]) -> Any:
        """Return a column's values at the given places, and their type."""
        values, feature = super().copy_rows(name, places), self.frame.features[name]
        if _holds_names(feature):
            feature = sys.modules["datasets"].Features.from_arrow_schema(pa.schema([(name, values.type)]))[name]
        return values, feature

    def make(self, name: str, values: list[Any], kind: Any, *, text: str) -> Any:
        made = super().make(name, values, kind, text=text)
        return made, sys.modules["datasets"].Value(str(made.type))

    def build(self, columns: dict[str, Any]) -> Any:
        library = sys.modules["datasets"]
        features = library.Features({name: feature for name, (_, feature) in columns.items()})
        arrow = pa.table({name: values for name, (values, _) in columns.items()})
        return library.Dataset(library.table.InMemoryTable(arrow), info=library.DatasetInfo(features=features))


def _copy_arrow(name: str, column: Any, places: Sequence[int]) -> Any:
    try:
        return copy_column(column, places)
    except pa.ArrowNotImplementedError:
        raise DataError(
            f"column {name!r} has an Arrow type that cannot be copied row by row: convert it, or leave it out of keep_columns"
        ) from None


def _holds_names(feature: Any) -> bool:
    if isinstance(feature, Mapping | list):
        return any(map(_holds_names, feature.values() if isinstance(feature, Mapping) else feature))
    return instance_of(feature, [("datasets", "ClassLabel")]) is not None or (
        hasattr(feature, "feature") and _holds_names(feature.feature)
    )


TABLES: dict[tuple[str, str], type[Table]] = {
    ("pandas", "DataFrame"): Table,
    ("polars", "DataFrame"): _Polars,
    ("pyarrow", "Table"): _Arrow,
    ("pyarrow", "RecordBatch"): _Arrow,
    ("datasets", "Dataset"): _DataSet,
}


def table_of(frame: Any) -> Table:
    """Return a table, or texts, as a ``Table``; raise DataError for any other object."""
    kind = instance_of(frame, TABLES)
    return TABLES[kind](frame) if kind else _Texts(frame)
