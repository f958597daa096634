"""The release of a file: records in, private records out, and the privacy statement beside them.

What of a record may reach the output is the rewritten text, the label as ``labels=`` says, and the columns that the user asked to
keep (``adept.release.columns``). Everything else is dropped.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from adept.data.files import STANDARD_STREAM, Record, file_format, new_file, read_records, record_writer
from adept.errors import ConfigurationError, DataError, ReleaseRefused
from adept.release import facts
from adept.release.columns import ReleaseOptions, checked_records, find_label, output_columns
from adept.release.statement import PrivacyStatement
from adept.release.wording import card
from adept.rewriting.rewriter import Rewriter, denoisable

STATEMENT_SUFFIX, CARD_SUFFIX = ".privacy.json", ".card.md"


def release_file(
    rewriter: Rewriter, source: str, target: str, *, options: ReleaseOptions, statement_path: str | None = None
) -> PrivacyStatement:
    """Rewrite the records of ``source`` into ``target``, a batch at a time, and write the privacy statement beside it.

    Nothing appears under the final names until everything is written.

    Raises:
        DataError: the input cannot be read as asked, a person has too many records, or an output exists.
        ConfigurationError: a label is outside the public label set, or the model writes no labels for labels=joint.
        ReleaseRefused: the rewriter was made for measurement.
    """
    if rewriter.measurement:
        raise ReleaseRefused("a rewriter for measurement must not release a file: open one with open_rewriter")
    target_format = file_format(target, options.format if target == STANDARD_STREAM else None)
    if target_format == "txt" and options.keep_columns:
        raise ConfigurationError(
            "keep_columns must be empty for a txt output, which holds text alone: write jsonl or csv"
        )
    statement_path = _statement_path(target, statement_path, options)
    if options.labels == "joint" and not rewriter.tokenizer.labels:
        raise ConfigurationError(
            "labels must not be joint for a model that writes no labels: train one with labels=joint"
        )
    if options.denoise:
        denoisable(rewriter.mechanism)
    records = read_records(source, format=options.format if source == STANDARD_STREAM else None)
    first = next(records)
    label_column = None if target_format == "txt" else find_label(first, options)
    if options.denoise and label_column is None:
        raise ConfigurationError("denoise needs labels in the input and the output, got none: name label_column=")
    columns = output_columns(label_column, options)
    checked = checked_records(chain([first], records), label_column, options)
    with ExitStack() as stack:  # the names appear in reverse: first the statement, then the card, then the data
        target_name = stack.enter_context(new_file(target))
        card_name = stack.enter_context(new_file(target + CARD_SUFFIX)) if options.card else None
        statement_name = stack.enter_context(new_file(statement_path))
        with record_writer(target_name, format=target_format, columns=columns) as write:
            stream = _denoised_stream if options.denoise else _release_stream
            count = stream(rewriter, checked, write, label_column, options)
        statement = _statement(rewriter, count, label_column, options, output=target_name)
        Path(statement_name).write_text(json.dumps(statement.to_json(), indent=2) + "\n", "utf-8")
        if card_name:
            Path(card_name).write_text(card(statement, Path(target).name), "utf-8")
    return statement


def _statement_path(target: str, given: str | None, options: ReleaseOptions) -> str:
    """Where the statement goes: a file of its own, always."""
    if target == STANDARD_STREAM and (given is None or options.card):
        raise DataError("statement= must name a file, and card=false, when the output is standard output")
    path = given or target + STATEMENT_SUFFIX
    if path == STANDARD_STREAM or Path(path) in (Path(target), Path(target + CARD_SUFFIX)):
        raise DataError(f"statement must be a file of its own, got {path}: choose another name")
    return path


def _release_stream(
    rewriter: Rewriter,
    records: Iterator[Record],
    write: Callable[[Sequence[Record]], None],
    label_column: str | None,
    options: ReleaseOptions,
) -> int:
    """Release batch by batch; returns the number of records."""
    count = 0
    while batch := list(islice(records, rewriter.batch_size)):
        write(list(_release_batch(rewriter, batch, label_column, options)))
        count += len(batch)
    return count


def _release_batch(
    rewriter: Rewriter, batch: list[Record], label_column: str | None, options: ReleaseOptions
) -> Iterator[Record]:
    """The output rows of a batch of records."""
    texts = [record[options.text_column] for record in batch]
    labels: list[Any] | None = [record.get(label_column) for record in batch] if label_column else None
    joint = options.labels == "joint"
    pairs = rewriter.rewrite_pairs(texts, labels if joint else None, samples=options.samples)
    if not joint and labels is not None:
        given = [label for label in _released_labels(labels, options) for _ in range(options.samples)]
        pairs = [(text, label) for (text, _), label in zip(pairs, given, strict=True)]
    return _rows(pairs, batch, label_column, options)


def _released_labels(labels: list[Any], options: ReleaseOptions) -> list[Any]:
    """Labels as they may be written: copied, or randomised."""
    response = options.label_response if options.labels == "randomized_response" else None
    return response.privatize(labels) if response else labels


def _rows(
    pairs: Sequence[tuple[str, Any]], records: Sequence[Record], label_column: str | None, options: ReleaseOptions
) -> Iterator[Record]:
    """The output rows of pairs of text and label, ``samples`` for each record; of a record only its kept columns are read."""
    for i, (text, label) in enumerate(pairs):
        number, sample = divmod(i, options.samples)
        row = {options.text_column: "", **{column: records[number][column] for column in options.keep_columns}}
        if label_column:
            row[label_column] = label
        if options.samples > 1:
            row["sample"] = sample
        row[options.text_column] = text  # last, so that nothing can stand in its place
        yield row


def _denoised_stream(
    rewriter: Rewriter,
    records: Iterator[Record],
    write: Callable[[Sequence[Record]], None],
    label_column: str | None,
    options: ReleaseOptions,
) -> int:
    """Release every record, then write all of them together; returns their number. No text is kept meanwhile."""
    released: list[Tensor] = []
    labels: list[str] = []
    kept: list[Record] = []
    while batch := list(islice(records, rewriter.batch_size)):
        released.append(rewriter.release([record[options.text_column] for record in batch]))
        labels += _released_labels([record[label_column or ""] for record in batch], options)
        kept += [{column: record[column] for column in options.keep_columns} for record in batch]
    response = options.label_response if options.labels == "randomized_response" else None
    known = response.labels if response else sorted(set(labels))
    pairs = rewriter.write_denoised(
        torch.cat(released), labels, known=known, label_mechanism=response, samples=options.samples
    )
    write(list(_rows(pairs, kept, label_column, options)))
    return len(labels)


def _statement(
    rewriter: Rewriter, records: int, label_column: str | None, options: ReleaseOptions, *, output: str
) -> PrivacyStatement:
    response = options.label_response if options.labels == "randomized_response" and label_column else None
    released = options.labels == "drop" or label_column is not None
    dim = rewriter.model.config.latent_dim
    with Path(output).open("rb") as written:
        output_sha256 = hashlib.file_digest(written, "sha256").hexdigest()
    return PrivacyStatement(
        mechanism=rewriter.mechanism.name,
        mechanism_options=facts.mechanism_options(rewriter.mechanism),
        guarantee=rewriter.guarantee,
        dim=dim,
        clip=rewriter.mechanism.clip,
        clip_norm=rewriter.mechanism.clip_norm,
        records=records,
        samples=options.samples,
        denoised=options.denoise,
        labels=options.labels if released else None,
        label_response=response,
        kept_columns=list(options.keep_columns),
        training_data=facts.origin(rewriter.model.training_data),
        versions=facts.versions(),
        codebook=facts.codebook_facts(rewriter.mechanism, dim),
        model_sha256=facts.model_sha256(rewriter.model),
        output_sha256=output_sha256,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        max_records_per_person=options.max_records_per_person,
    )
