"""The local release of a file: each record is randomised by itself and written as private text.

A mechanism turns a record into a random value, the *release*, from which the record's texts are written.
``LocalPlan.draw`` makes all random choices for a batch of records. The result, an *entry*, is stored in the journal
before anybody can see a row (``adept.release.flow.journal``). ``LocalPlan.rows`` makes output rows from an entry. Of
the records themselves, it reads only the columns that are copied. So if the journal holds all entries, a run can
write all rows again from the entries and the copied columns.
"""

import base64
import hashlib
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property, partial
from itertools import chain, islice
from typing import Any

import torch
from torch import Tensor

from adept.data.corpus import read_label_descriptions
from adept.data.formats import PlacedRecord, Record
from adept.data.texts import label_set_of
from adept.data.writing import written_format
from adept.errors import ConfigurationError, DataError, ReleaseRefused, refuse
from adept.mechanisms import JointResponse, LocalRandomizer, RandomizedResponse
from adept.mechanisms.base import MechanismChoice
from adept.mechanisms.guarantee import share
from adept.mechanisms.random_draws import shuffle
from adept.release.flow.cluster import draw_parts
from adept.release.flow.journal import Entry, NoJournal
from adept.release.flow.publication import Publication, open_output
from adept.release.flow.steps import Plan, Progress, Run, find_files, foretell, ignore, release
from adept.release.ledger.claims import LEFT_OUT, NO_LIMIT, Ledger, LeftOut, Overlap
from adept.release.ledger.identity import prefix_digest, row_digest, throwaway_key
from adept.release.options import FileOptions, ReleaseRequest
from adept.release.records import (
    RANDOMISED_TREATMENTS,
    CheckedRecords,
    Inputs,
    KeptColumns,
    ReleaseOptions,
    decide_kept,
    find_label,
    find_label_type,
    output_columns,
    split_response,
)
from adept.release.statement import statement as statements
from adept.release.statement.statement import PrivacyStatement, check_shuffling, find_shuffled, shuffling_of
from adept.rewriting.cells import Cells
from adept.rewriting.expectation import approval_examples
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import Rewriter, best_exact

Drawn = Iterator[tuple[Sequence[Record], Entry]]  # batches of records, with what was drawn for them
Batch = tuple[list[Record], int, bytes]  # records, the number of records before them, and digests of their rows
Written = Iterator[tuple[int, list[Record]]]  # numbers of finished records, with rows of the output
# A resumed release may change these options: nothing that was drawn depends on them.
FREE_OPTIONS = (
    "label_response", "statement", "flush_every", "card", "report", "purpose", "recipient", "owner", "engine", "workers",
    "shuffled_records", "central_delta", "public_texts",
)  # fmt: skip


def open_release(request: ReleaseRequest) -> tuple[Rewriter, ReleaseOptions]:
    """Load the model, and choose the mechanism and the budget; return the rewriter and the options.

    Raises:
        ModelError: the directory holds no model, or the mechanism cannot use it.
        ConfigurationError: the budget is missing, or options are out of range or contradictory.
        ReleaseRefused: ``request`` lacks an option that accepts a false or unchecked claim of the
            mechanism, noise with rounding errors, or a model that was trained on private text.
    """
    model, tokenizer = load_model(request.model_dir)
    asked = request.mechanism.budget(request.epsilon) if request.mechanism else request.epsilon
    epsilon, label_epsilon = (_share(request, budget) for budget in (asked, request.label_epsilon))
    choice = request.mechanism or MechanismChoice(best_exact(model, epsilon=epsilon))
    text = replace(choice, epsilon=epsilon).build(clip_norm=model.config.clip_norm)
    labels = label_set_of(request.label_set or ())
    mechanism, response = _label_response(request, text, label_epsilon, labels or tokenizer.labels)
    accepted = ("accept_broken_claim", "accept_inexact", "accept_private_model", "accept_unproved")
    chosen = {name: getattr(request, name) for name in ("decoding", "batch_size", *accepted)}
    rewriter = Rewriter(model, tokenizer, mechanism=mechanism, **chosen)
    given = {option.name: getattr(request, option.name) for option in fields(FileOptions)}
    by_label = request.label_codewords if request.mechanism is None else "off"
    options = ReleaseOptions(**given, label_response=response, label_codewords=by_label)
    if options.by_label:
        about = read_label_descriptions(request.label_descriptions, labels)
        options = replace(options, label_set=labels, label_descriptions=about)
    elif request.label_descriptions is not None:
        raise ConfigurationError(
            "label_descriptions must be left out where no names of labels are read: use labels=copy and label_codewords=auto, "
            "without mechanism="
        )
    return rewriter, options


def _share(request: ReleaseRequest, epsilon: float | None) -> float | None:
    if epsilon is None or request.epsilon_per == "record" or not (epsilon > 0 and math.isfinite(epsilon)):
        return epsilon
    return share(epsilon, request.max_records_per_person or 1)


def _label_response(
    request: ReleaseRequest, text: LocalRandomizer, epsilon: float | None, labels: Sequence[str]
) -> tuple[LocalRandomizer | JointResponse, RandomizedResponse | JointResponse | None]:
    """Return the mechanism of the text, or of text and label together, and the mechanism that randomises labels."""
    if request.labels not in RANDOMISED_TREATMENTS:
        return text, None
    refuse(
        (
            request.labels == "joint_response" and epsilon is not None,
            "label_epsilon must be left out for labels=joint_response, whose epsilon is that of text and label together, "
            f"got {request.label_epsilon}",
        ),
        (
            request.labels == "randomized_response" and epsilon is None,
            "label_epsilon must be chosen for labels=randomized_response, got none: add label_epsilon=2",
        ),
        (not labels, "label_set must name the public labels, got none: a set taken from private data would leak"),
    )
    public = label_set_of(labels)
    if epsilon is None:
        joint = JointResponse.of(text, public)
        return joint, joint
    return text, RandomizedResponse(epsilon=epsilon, labels=public)


def release_file(
    rewriter: Rewriter,
    source: str,
    target: str,
    *,
    options: ReleaseOptions,
    resume: bool = False,
    key: bytes | None = None,
    ledger: Ledger | None = None,
    progress: Progress | None = None,
    tell: Callable[[CheckedRecords], None] = ignore,
) -> PrivacyStatement:
    """Rewrite the records of ``source`` into ``target``, and write the privacy statement.

    Args:
        rewriter, options: the two results of ``open_release``.
        source: a file, a pattern of file names, or ``-`` for standard input.
        target: a new file, or ``-`` for standard output.
        resume, key, ledger, progress, tell: as for ``release``; ``resume`` needs a key.

    Raises:
        DataError: the input cannot be read, an output exists already, or an earlier run was
            interrupted and ``resume`` is False.
        ConfigurationError: options contradict each other, the input or the model.
        ReleaseRefused: the rewriter may be used only for measurement, or the ledger forbids the release.
    """
    refuse((resume and key is None, "key must be given for resume=true, got none: use secret_key()"))
    prepared = prepare_file(rewriter, source, target, options=options, ledger=ledger)
    return release(*prepared, LocalRun, resume=resume, key=key, ledger=ledger, progress=progress, tell=tell)


def prepare_file(
    rewriter: Rewriter, source: str, target: str, *, options: ReleaseOptions, ledger: Ledger | None = None
) -> tuple[Publication, Callable[[], "LocalPlan"]]:
    """Return the first two arguments of ``release``: the files, and the function that plans."""
    inputs, publication = find_files(source, target, options, card=options.card, ledger=ledger)
    if ledger:
        identity = ledger.identity(text_column=options.text_column, person_column=options.person_column)
        inputs = replace(inputs, also=tuple(column for _, column in identity.columns))
    return publication, partial(plan_local, rewriter, inputs, publication, options)


@dataclass(frozen=True, kw_only=True)
class LocalPlan(Plan[PrivacyStatement]):
    """The plan of a local release: all that is decided before its first record is randomised.

    Attributes:
        labels: public labels that may be written instead of a record's label.
        label_type: integer type with which labels are written; None if labels are written as text.
        begun: all records, including the first, which was read to make the plan. With
            over_limit=drop, the records of an input that can be read only once are held in a list.
    """

    done = ("released", "{} records")

    writer: Rewriter
    options: ReleaseOptions
    label_column: str | None
    labels: tuple[str, ...]
    columns: list[str]
    kept: KeptColumns
    label_type: Any
    begun: Iterable[Record]

    @property
    def types(self) -> dict[str, Any]:
        """Arrow types of those output columns that do not hold text."""
        label = {self.label_column: self.label_type} if self.label_column and self.label_type else {}
        if self.options.samples == 1:
            return {**self.kept.types, **label}
        import pyarrow  # slow to import

        return {**self.kept.types, **label, "sample": pyarrow.int64()}

    @cached_property
    def codebook(self) -> dict[str, Any]:
        """Size and digest of the codebook, the list of all values that a release can have."""
        model = self.writer.model
        about = self.writer.alphabet.cells.about if isinstance(self.writer.alphabet, Cells) else {}
        return statements.codebook_facts(self.writer.mechanism, model.config.latent_dim, model.sentences, about=about)

    def check(self, records: Iterable[Record]) -> CheckedRecords:
        """Return the records as an iterable that checks each record when it is read."""
        more: dict[str, Any] = {"inputs": self.inputs, "labels": self.labels or None, "kept": self.kept}
        return CheckedRecords(records, self.label_column, self.options, written=self.format, **more)

    def records(self) -> Iterator[Record]:
        """Return all records: read the input again or, if it is a stream, go on with ``begun``."""
        return self.inputs.records(columns=self.options.used_columns) if self.inputs.repeatable else iter(self.begun)

    def own_terms(self) -> dict[str, Any]:
        given, response, mechanism = asdict(self.options).items(), self.options.response, self.writer.mechanism
        return {
            "input_bytes": self.inputs.sizes,
            "label_written": self.label_column,
            **{name: value for name, value in given if name not in FREE_OPTIONS and value is not None},
            **statements.label_facts(response),
            "label_epsilon": response.epsilon if response else None,
            "mechanism": mechanism.name,
            "mechanism_options": statements.mechanism_options(mechanism) | (mechanism.unproved or {}),
            "codebook": self.codebook,
            "decoding": asdict(self.writer.decoding),
        }

    def statement(self, checked: CheckedRecords | None = None, *, output_sha256: str | None = None) -> PrivacyStatement:
        """Return the privacy statement.

        If ``output_sha256`` is None, the statement describes a release that is only planned.
        """
        rewriter, options = self.writer, self.options
        dim, mechanism = rewriter.model.config.latent_dim, rewriter.mechanism
        response = options.response if self.label_column else None
        records, smallest = (checked.count, checked.smallest_group) if checked else (0, 0)
        stated = ("samples", "max_records_per_person", "excess", "over_limit", "text_column")
        return PrivacyStatement(
            **self.model_facts,
            mechanism=mechanism,
            latent_dim=dim,
            records=records,
            **{name: getattr(options, name) for name in stated},
            labels=options.labels if options.labels == "drop" or self.label_column is not None else None,
            label_response=response,
            kept_columns=options.keep_columns,
            codebook=self.codebook,
            output_sha256=output_sha256,
            date=statements.now() if output_sha256 else None,
            label_column=self.label_column,
            shuffled=find_shuffled(mechanism, options, response, dim=dim, records=records, smallest=smallest),
        )

    def preview(self, ledger: Ledger | None = None) -> tuple[PrivacyStatement, CheckedRecords]:
        checked, told = self.check(self.begun), list[str]()
        run = LocalRun(self, NoJournal(), throwaway_key(), ledger)
        if ledger and self.options.drops_persons:
            left_out, told = foretell(run.choose)
            deque(run.leave_out(checked, left_out) if left_out else checked, maxlen=0)
        else:
            run.enter_ledger(self.statement())
            run.collect(iter(checked))
            told = foretell(ledger.claim)[1] if ledger else []
        checked.notes += told
        return self.statement(checked), checked

    def examples(self) -> list[tuple[str, str]]:
        return approval_examples(self.writer, self.options.public_texts)

    def restore(self, stated: PrivacyStatement, described: dict[str, Any]) -> PrivacyStatement:
        """Return ``stated`` with the guarantee from shuffling as it was, if the same party shuffles.

        With ``over_limit=drop``, the number of records is also that of the complete release.
        """
        if self.options.drops_persons:
            stated = replace(stated, records=described.get("records"))
        shuffled = shuffling_of(described)
        here = shuffled is not None and shuffled.here
        return replace(stated, shuffled=shuffled) if here == self.options.shuffle else stated

    # --- Batches of records

    def parts(self, records: Iterator[Record]) -> Iterator[list[Record]]:
        """Yield the records in lists, each of which is released as one batch."""
        size = min(self.writer.batch_size, self.options.flush_every or self.writer.batch_size)
        return iter(lambda: list(islice(records, size)), [])

    def draw(self, batch: Sequence[Record]) -> Entry:
        """Release a batch of records; return all that was drawn, which the journal stores.

        A cluster's workers call this method. Of a shuffled file, the entry holds the releases, from
        which texts are written in the new order.
        """
        labels, (_, response) = self._labels(batch), split_response(self.options.response)
        texts = [record[self.options.text_column] for record in batch]
        released = self.writer.release(texts, labels if self.options.is_joint or self.writer.reads_labels else None)
        drawn = response.privatize(labels) if labels is not None and response else None
        if not self.options.shuffle:
            return self.write(released, drawn)
        rows = base64.b64encode(released.cpu().contiguous().numpy().tobytes()).decode("ascii")
        entry = {"releases": rows, "kind": str(released.dtype).removeprefix("torch.")}
        return entry if drawn is None else entry | {"labels": drawn}

    def write(self, released: Tensor, labels: Sequence[Any] | None) -> Entry:
        """Write ``options.samples`` rewrites of each release; ``labels`` are those that were drawn."""
        pairs = self.writer.write(released, samples=self.options.samples)
        entry: Entry = {"texts": [text for text, _ in pairs]}
        if self.options.is_joint:
            entry["labels"] = [label for _, label in pairs]
        elif labels is not None:
            entry["labels"] = [label for label in labels for _ in range(self.options.samples)]
        return entry

    def rows(self, batch: Sequence[Record], entry: Entry) -> list[Record]:
        """Return a batch's output rows: texts of the entry, and copied columns of the records."""
        written, copied, options, rows = entry.get("labels"), self._labels(batch) or (), self.options, []
        read: Any = PlacedRecord.cell if self.kept.copied else dict.__getitem__  # a kept value
        for place, text in enumerate(entry["texts"]):
            number, sample = divmod(place, options.samples)
            kept = {name: read(batch[number], name) for name in options.keep_columns}
            row: Record = {options.text_column: "", **kept}
            if self.label_column:
                label = copied[number] if written is None else written[place]
                row[self.label_column] = int(label) if self.label_type else label
            if options.samples > 1:
                row["sample"] = sample
            row[options.text_column] = text  # last, so that nothing can stand in its place
            rows.append(row)
        return rows

    def ordered_rows(self, entries: Drawn) -> Written:
        """Yield the number of records of each entry, and rows that can be written now.

        If this run shuffles, all rows come after the last entry.
        """
        if self.options.shuffle:
            return shuffled_rows(self, entries)
        return ((len(batch), self.rows(batch, entry)) for batch, entry in entries)

    def _labels(self, batch: Sequence[Record]) -> list[Any] | None:
        return [record.get(self.label_column) for record in batch] if self.label_column else None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without records, which a worker of a cluster does not need."""
        return self.__dict__ | {"begun": ()}


def shuffled_rows(plan: LocalPlan, entries: Drawn) -> Written:
    """Yield the number of records of each entry, and then all rows, in a secret random order.

    The permutation is uniform, comes from the operating system's entropy, and is not stored. Texts
    are written after it. Until then, memory holds the releases of all records and, beside each
    release, the copied or randomised label of the same record.
    """
    column = plan.label_column if plan.options.labels == "copy" else None
    kept, known, kind = list[tuple[bytes, Any]](), dict[bytes, bytes](), ""
    for batch, entry in entries:
        labels = entry.get("labels") or [record[column] if column else None for record in batch]
        content, kind = base64.b64decode(entry["releases"]), entry["kind"]
        width = len(content) // len(batch)
        releases = (content[start : start + width] for start in range(0, len(content), width))
        kept += zip((known.setdefault(release, release) for release in releases), labels, strict=True)
        yield len(batch), []
    shuffle(kept)
    for start in range(0, len(kept), plan.writer.batch_size):
        part = kept[start : start + plan.writer.batch_size]
        released = torch.frombuffer(bytearray(b"".join(release for release, _ in part)), dtype=getattr(torch, kind))
        yield 0, plan.rows((), plan.write(released.reshape(len(part), -1), [label for _, label in part]))


OTHER_INPUT = (
    "input is not that of the interrupted release, or the key of its digests is another one: restore both, because nothing else "
    "can be continued"
)


@dataclass
class LocalRun(Run[PrivacyStatement]):
    """A run that draws for all records, and writes their rows, batch by batch."""

    plan: LocalPlan
    # Digests of claimed batches by the number of earlier records
    _collected: dict[int, bytes] = field(default_factory=dict)

    def draw(self) -> tuple[PrivacyStatement, CheckedRecords]:
        checked = self.plan.check(self.plan.begun)
        return self.plan.statement(checked, output_sha256=self.write(self.claim(checked))), checked

    def claim(self, checked: CheckedRecords) -> Iterator[Record]:
        """Check all records, and list them in the ledger before anything is drawn; return those that are released.

        If the input can be read only once, each batch is listed later, just before the random
        choices for the batch are made.
        """
        if self.plan.options.drops_persons:
            return self.leave_out(checked, self.choose())
        self.enter_ledger(self.plan.statement())
        if self.plan.inputs.repeatable:
            self.collect(iter(self.plan.check(self.plan.records())))
        if self._collected and (ledger := self.kept_ledger):
            ledger.claim()
        return iter(checked)

    def collect(self, records: Iterator[Record]) -> None:
        """Collect all records for the ledger's next claim."""
        for batch, before, digest in self._batches(records):
            if ledger := self.kept_ledger:
                ledger.collect_records(batch, before=before)
                self._collected[before] = _shorten(digest)

    def choose(self) -> LeftOut:
        """Check all records, claim those whose persons have budget left, and return the others.

        ``LeftOut`` has the proof. A resumed run takes the choice that its journal holds, and claims
        the same records again.
        """
        if (ledger := self.enter_ledger(self.plan.statement())) is None:
            raise ConfigurationError(NO_LIMIT)
        stored, read = LeftOut.find(self.journal.entries()), prefix_digest(self.key)
        for batch, before, digest in self._batches(iter(self.plan.check(self.plan.records()))):
            if stored:
                ledger.collect_records(stored.split(batch, before=before)[0], before=before)
            else:
                ledger.wait(batch, before=before)
            read.update(digest)
            self._collected[before] = _shorten(digest)
        if stored and stored.input != read.hexdigest():
            raise DataError(OTHER_INPUT)
        left_out = replace(ledger.claim(), input=read.hexdigest())
        ledger.overlap = Overlap()  # which depends on what the records say
        if not stored:
            self.journal.append(left_out.entry, durable=True)
        return stored or left_out

    def leave_out(self, checked: CheckedRecords, left_out: LeftOut) -> Iterator[Record]:
        """Yield the records that are not left out; refuse an input that has changed meanwhile."""
        checked.notes += left_out.lines
        for batch, before, digest in self._batches(iter(checked)):
            if self._collected.get(before) != _shorten(digest):
                raise DataError("input changed while it was read: restore it, and run the command with resume=true")
            yield from checked.discount(*left_out.split(batch, before=before))

    def write(self, records: Iterator[Record]) -> str:
        """Write the rows of all records; return the SHA-256 digest of the output."""
        plan, written = self.plan, 0
        opened = open_output(plan.publication, format=plan.format, columns=plan.columns, types=plan.types)
        with opened as (write, sha256):
            for count, rows in plan.ordered_rows(self.entries(records)):
                if rows:
                    write(rows)
                written += count
                self.progress(written)
        self.journal.sync()
        return sha256()

    def entries(self, records: Iterator[Record]) -> Drawn:
        """Yield the records in batches, with what an earlier run or this run drew for them."""
        prefix, read = prefix_digest(self.key), 0
        for entry in (entry for entry in self.journal.entries() if LEFT_OUT not in entry):
            batch = list(islice(records, entry["records"]))
            prefix.update(digest := self._digest(batch))
            if len(batch) != entry["records"] or prefix.hexdigest() != entry["input"]:
                raise DataError(OTHER_INPUT)
            self._claim_batch((batch, read, digest))  # the run that drew them may have had no ledger
            read += len(batch)
            yield batch, entry
        # The input may have grown since its records were claimed
        batches = map(self._claim_batch, self._batches(records, read))
        for (batch, _, digest), draws in draw_parts(self.plan.draw, batches, self.plan.options):
            prefix.update(digest)
            entry = {"records": len(batch), "input": prefix.hexdigest(), **draws}
            self.journal.append(entry, durable=self.publication.streaming)
            if self.publication.streaming:
                self.show()
            yield batch, entry

    def _claim_batch(self, batch: Batch) -> Batch:
        """List the records of a batch in the ledger, unless ``claim`` has listed them; return the batch."""
        records, before, digest = batch
        claimed = self.plan.options.drops_persons or self._collected.get(before) == _shorten(digest)
        if (ledger := self.kept_ledger) and not claimed:
            ledger.collect_records(records, before=before)
            ledger.claim()
        return batch

    def _batches(self, records: Iterator[Record], before: int = 0) -> Iterator[Batch]:
        for batch in self.plan.parts(records):
            yield batch, before, self._digest(batch)
            before += len(batch)

    def _digest(self, batch: Sequence[Record]) -> bytes:
        return b"".join(row_digest(self.key, record) for record in batch) if self.key else b""


def _shorten(digest: bytes) -> bytes:
    return hashlib.sha256(digest).digest()


def plan_local(rewriter: Rewriter, inputs: Inputs, publication: Publication, options: ReleaseOptions) -> LocalPlan:
    """Plan a local release; of all records, read only the first."""
    written = written_format(publication.target, inputs.options, inputs.locations)
    _check_treatment(rewriter, options, written)
    options = replace(options, label_response=rewriter.joint or options.label_response)
    check_shuffling(rewriter, publication.target, options)
    records = inputs.records(columns=options.used_columns, required=options.required)
    first = next(records)
    begun: Iterable[Record] = chain([first], records)
    if options.drops_persons and not inputs.repeatable:
        begun = list(begun)  # read once for the ledger's choice, and once more to be drawn
    label_column = None if written == "txt" else find_label(first, options)
    refuse(
        (
            label_column is None and written != "txt" and options.labels in RANDOMISED_TREATMENTS,
            f"labels={options.labels} needs labels in the input, got none: name their column with label_column=",
        )
    )
    drawn = options.response.labels if options.response else ()
    labels = tuple(rewriter.tokenizer.labels) if options.labels == "joint" else drawn
    return LocalPlan(
        writer=choose_writer(rewriter, options, has_labels=label_column is not None),
        inputs=inputs,
        publication=publication,
        options=options,
        format=written,
        label_column=label_column,
        labels=labels,
        columns=output_columns(label_column, options),
        kept=decide_kept(inputs, options, written, first),
        label_type=find_label_type(inputs, label_column, labels, first),
        begun=begun,
    )


def choose_writer(rewriter: Rewriter, options: ReleaseOptions, *, has_labels: bool) -> Rewriter:
    """Return the rewriter that writes a file: by label, if labels are copied and may choose codewords.

    Args:
        rewriter, options: the two results of ``open_release``.
        has_labels: True if the output gets labels from the input.
    """
    by_label = has_labels and options.by_label
    writer = rewriter.by_label(options.label_descriptions, label_set=options.label_set) if by_label else rewriter
    if isinstance(writer.alphabet, Cells):
        refuse(
            (
                not has_labels or options.labels != "copy",
                "mechanism must not be a description by label unless labels are copied: use labels=copy, with a column of labels",
            )
        )
        writer.alphabet.cells.of(options.label_set)
    return writer


def _check_treatment(rewriter: Rewriter, options: ReleaseOptions, written: str) -> None:
    if rewriter.measurement:
        raise ReleaseRefused("a rewriter for measurement must not release a file: open one with open_release")
    name = rewriter.mechanism.name
    refuse(
        (
            rewriter.guarantee.holds is None and options.engine != "local",
            f"engine must be local for mechanism={name}, got {options.engine}",
        ),
        (
            written == "txt" and options.keep_columns,
            "keep_columns must be empty for a txt output, which holds text alone: write jsonl or csv",
        ),
        (
            written == "txt" and options.labels == "joint_response",
            "labels must not be joint_response for a txt output, which holds text alone: write jsonl or csv",
        ),
        (
            options.labels == "joint" and not rewriter.alphabet.labels,
            f"labels must not be joint for mechanism={name} with this model, which writes no labels then: train one with "
            "labels=joint for a mechanism on latents, or use joint_response",
        ),
        (
            (options.labels == "joint_response") != (rewriter.joint is not None),
            "labels must be joint_response with a rewriter that releases text and label as one symbol, and only then, got "
            f"{options.labels}: give open_release the public labels, or none",
        ),
    )
