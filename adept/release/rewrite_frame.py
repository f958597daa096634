"""The release of texts or of a table in memory; imports neither pandas nor datasets."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from adept.data.column_names import list_names
from adept.data.formats import STANDARD_STREAM, PlacedRecord, Record
from adept.data.labels import USUAL_LABEL_COLUMN, label_set_of
from adept.data.text_arguments import text_list
from adept.errors import ConfigurationError, DataError
from adept.mechanisms import BY_NAME, LocalRandomizer
from adept.mechanisms.base import MechanismChoice
from adept.release.flow.local import LocalPlan, open_release, plan_local
from adept.release.flow.publication import Publication
from adept.release.ledger.default import NO_LEDGER, claim_records
from adept.release.ledger.file import Spending
from adept.release.options import PersonOptions, ReleaseRequest
from adept.release.records.columns import RANDOMISED_TREATMENTS, KeptColumns
from adept.release.records.inputs import Inputs
from adept.release.records.tables import Table, table_of
from adept.release.statement.provenance import now

Frame = TypeVar("Frame")
# Stands for the output in the plan, so that rows have columns; no such file is written
PLANNED_OUTPUT = "frame.jsonl"
FILE_OPTIONS = {option.name for option in fields(PersonOptions)} - {"max_records_per_person"} | {"card", "flush_every"}
FRAME_OPTIONS = {option.name for option in fields(ReleaseRequest)} - FILE_OPTIONS


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

    *Claim*: a call that fails leaves no statement and nothing in the ledger. *Proof*. Before any
    record is added to the ledger (the list of released records), all records and options are
    checked, and a file with the temporary name of the statement is created. The last step gives
    this file its final name. If anything fails before the last step, ``claim_records`` removes the
    records from the ledger. QED.

    *Claim*: the result holds no value of a record that was left out. *Proof*. Texts and labels are
    new objects. Kept columns are copied row by row (``adept.data.arrow_rows`` for Arrow), and the
    new table gets neither index, attributes nor metadata of the old one. Only names of columns and
    of fields, which are the type of a table, are kept. QED.

    Args:
        frame: a ``pandas.DataFrame``, an Arrow table or batch, or a ``datasets.Dataset``; or only
            texts: a list, an array, a Series, or whatever else ``text_list`` accepts.
        statement: new file for the statement.
        text: name of the column with the texts; needed if the table has several columns.
        epsilon: privacy budget of each record.
        label: name of the column with labels. With None, no labels are written, except with
            ``labels="joint"``: then the model writes labels.
        person: name of the column that names the person who contributed each record. With
            ``person``, ``options`` must contain ``max_records_per_person``. The returned table does
            not contain this column.
        options: options of ``adept rewrite`` that are not about files; ``mechanism`` may be an
            object.

    Returns:
        For a table, a table of the same kind, with a new index and the columns for text, label,
        ``keep_columns`` and ``sample`` (if ``samples > 1``). Labels are whole numbers if their
        column and the label set have that type; otherwise they are text. Kept columns keep their
        types, except that categories without a row are left out, and that a ``ClassLabel`` column
        becomes text: the names of its classes. For texts, the rewrites in order, ``samples`` for
        each text: in a NumPy array, a Series or an Arrow array if ``frame`` is one, else in a list.

    Raises:
        AdeptError: for any reason for which ``adept rewrite`` would fail, or if ``frame`` or a
            column is unsuitable.
    """
    table = table_of(frame)
    text = table.text_column(text)
    request = _request(
        {"epsilon": epsilon, "text_column": text, "label_column": label, "person_column": person}, options
    )
    table.check_labels(request.labels)
    used = _checked_columns(table, request)
    place = _free(os.fspath(statement), request)
    rewriter, asked = open_release(request)
    inputs = _Held(("frame",), held=table.records(used), types=table.integer_types(used))
    plan = plan_local(rewriter, inputs, Publication(PLANNED_OUTPUT, place.statement), asked)
    plan = replace(plan, kept=KeptColumns())  # a frame may hold values that no file can
    checked = plan.check(plan.begun)
    records = list(checked)
    places = np.repeat([cast(PlacedRecord, record).index for record in records], asked.samples).tolist()
    kept = {name: table.copy_rows(name, places) for name in asked.keep_columns}
    stated = plan.statement(checked)
    spending = Spending.of_local(stated)
    held = claim_records(records, spending, request, name=place.statement, text_column=text, person_column=person)
    with _reserve(place), held:
        rows = plan.type_labels(list(_draw_rows(plan, records)))
        private: Frame = table.build(rows, plan.columns, plan.types, kept, text=text)
        place.write_statement(replace(stated, date=now()).to_json())
        place.publish()
    return private


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
            options[name] = text_list(options[name], name)
    if options.get("label_set") is not None:
        options["label_set"] = list(label_set_of(options["label_set"]))
    options["mechanism"] = _choice(options.get("mechanism"))
    treatment = options.setdefault("labels", "copy")
    if columns["label_column"] is None and treatment in RANDOMISED_TREATMENTS:
        raise ConfigurationError(f"label must name a column for labels={treatment}, got none: add label=NAME")
    if columns["label_column"] is None and treatment == "copy":
        options["labels"] = "drop"
    return ReleaseRequest(**columns, **options)


def _choice(mechanism: Any) -> MechanismChoice | None:
    if mechanism is None or isinstance(mechanism, MechanismChoice):
        return mechanism
    if isinstance(mechanism, str) and mechanism in BY_NAME:
        return MechanismChoice(BY_NAME[mechanism])
    if not isinstance(mechanism, LocalRandomizer):
        raise ConfigurationError(f"mechanism must be a mechanism or one of {', '.join(BY_NAME)}: see adept.mechanisms")
    given = {option.name: getattr(mechanism, option.name) for option in fields(mechanism) if option.init}
    return MechanismChoice(type(mechanism), given.pop("epsilon", None), given.pop("clip_norm", None), given)


def _checked_columns(table: Table, request: ReleaseRequest) -> list[str]:
    named = {"text": request.text_column, "label": request.label_column, "person": request.person_column}
    used = [(option, name) for option, name in named.items() if name is not None]
    used += [("keep_columns", name) for name in request.keep_columns]
    for option, name in used:
        if (found := table.names.count(name)) != 1:
            wrong = "no column" if not found else f"{found} columns"
            raise DataError(
                f"frame has {wrong} named {name!r}; the columns are {list_names(table.names)}: correct {option}="
            )
    if not len(table.frame):
        raise DataError("frame has no records: give at least one")
    read = list(dict.fromkeys(name for _, name in used))
    if request.ledger in (None, NO_LEDGER) and request.record_columns is None:
        return read
    others = [
        name
        for name in table.names
        if isinstance(name, str) and table.names.count(name) == 1 and name != USUAL_LABEL_COLUMN
    ]
    return list(dict.fromkeys([*read, *others]))


def _free(statement: str, request: ReleaseRequest) -> Publication:
    others = tuple(os.fspath(name) for name in (request.ledger, request.key) if name not in (None, NO_LEDGER))
    place = Publication.of(STANDARD_STREAM, statement, card=False, others=others)
    place.check_names()
    place.check_leftovers()
    return place


@contextmanager
def _reserve(place: Publication) -> Iterator[None]:
    place.make_directories()
    try:
        place.make_temporary()
        yield
    except OSError as error:
        raise DataError(f"cannot write {error.filename or place.statement}: {error.strerror}") from None
    finally:
        place.clear()


def _draw_rows(plan: LocalPlan, records: Sequence[Record]) -> Iterator[Record]:
    batches = plan.batches
    for batch in plan.parts(iter(records)):
        yield from batches.rows(batch, batches.draw(batch))
    for part in batches.last_rows():
        yield from part
