"""What a release is going to be: everything that is decided before the first record is released, and what is stated in the end."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from adept.data.files import Record
from adept.data.formats import written_format
from adept.errors import ConfigurationError, ReleaseRefused
from adept.release import cluster, facts
from adept.release.batches import Batches, PlainBatches, ShuffledBatches
from adept.release.cluster import Part
from adept.release.columns import (
    RELEASED,
    ReleaseOptions,
    checked_records,
    find_label,
    output_columns,
    required_columns,
)
from adept.release.inputs import Inputs
from adept.release.journal import Entry
from adept.release.kept import Kept, decide_kept, find_label_type
from adept.release.publication import Publication
from adept.release.shuffling import check_shuffling, shuffled
from adept.release.statement import PrivacyStatement
from adept.rewriting.rewriter import Rewriter

# What an interrupted release may be continued without, or with another value: nothing that was drawn depends on it.
FREE = ("label_response", "seen", "flush_every", "card", "engine", "workers", "shuffled_records", "central_delta")


@dataclass(frozen=True)
class Plan:
    """A release before its first record.

    Attributes:
        rewriter: the rewriter that releases.
        inputs: the sources of records.
        options: the options of the release.
        format: the output's format.
        label_column: the label's column in the output; None without labels.
        kept: the kept columns.
        label_type: the type of whole numbers that labels are written as; None: text.
    """

    rewriter: Rewriter
    inputs: Inputs
    options: ReleaseOptions
    format: str
    label_column: str | None
    kept: Kept = field(default_factory=Kept)
    label_type: Any = None

    @property
    def types(self) -> dict[str, Any]:
        """The Arrow types of the columns, but for text."""
        import pyarrow

        label = {self.label_column: self.label_type} if self.label_column and self.label_type else {}
        return {**self.kept.types, **label, **({"sample": pyarrow.int64()} if self.options.samples > 1 else {})}

    @property
    def columns(self) -> list[str]:
        """The columns of the output."""
        return output_columns(self.label_column, self.options)

    @property
    def batches(self) -> Batches:
        """What turns records into rows."""
        plain = PlainBatches(self.rewriter, self.label_column, self.options, copied=self.kept.copied)
        return ShuffledBatches(plain) if self.options.shuffle else plain

    def drawn(self, batches: Batches, parts: Iterator[Part]) -> Iterator[tuple[Part, Entry]]:
        """Draw for every part, which begins with its batch of records, here or on a cluster."""
        if self.options.engine == "ray":
            return cluster.draw_on_cluster(batches, parts, workers=self.options.workers)
        return ((part, batches.draw(part[0])) for part in parts)

    def typed(self, rows: list[Record]) -> list[Record]:
        """Return rows with labels in the type of the output."""
        column = self.label_column or ""
        return [row | {column: int(row[column])} for row in rows] if self.label_type else rows

    @cached_property
    def codebook(self) -> dict[str, Any]:
        """What the mechanism's codebook came to."""
        model = self.rewriter.model
        return facts.codebook_facts(self.rewriter.mechanism, model.config.latent_dim, model.codec)

    @cached_property
    def model_sha256(self) -> str:
        """The digest of the weights."""
        return facts.model_sha256(self.rewriter.model)

    @cached_property
    def training_data(self) -> dict[str, Any]:
        """Where the model comes from, and whether it is the packaged one."""
        model = self.rewriter.model
        return facts.origin(model.training_data) | {"packaged": facts.is_packaged(model, self.model_sha256)}

    @cached_property
    def epsilon(self) -> float:
        """What the release spends on each row."""
        return self.statement(0, output_sha256=None).epsilon

    @property
    def batch_size(self) -> int:
        """Records that are released, and become visible on standard output, together."""
        return min(self.rewriter.batch_size, self.options.flush_every or self.rewriter.batch_size)

    def checked(self, records: Iterator[Record]) -> Iterator[Record]:
        """Pass records on, after a look at every column that will be used."""
        response = self.options.response
        written = self.rewriter.tokenizer.labels if self.options.labels == "joint" else None
        return checked_records(
            self.kept.checked(records),
            self.label_column,
            self.options,
            labels=response.labels if response else written,
            seen=self.options.seen,
        )

    def records(self) -> Iterator[Record]:
        """Return the records from the beginning, if the input can be read again."""
        return self.inputs.records(columns=self.options.used_columns)

    def terms(self, publication: Publication) -> dict[str, Any]:
        """Return what must be the same for an interrupted release to be continued: public, and no word of a record."""
        options, rewriter = self.options, self.rewriter
        plain = {name: value for name, value in asdict(options).items() if name not in FREE and value is not None}
        return {
            "output": Path(publication.target).name,  # without a directory: a run can be resumed from another one
            "input_bytes": self.inputs.sizes,
            "format_written": self.format,
            "label_written": self.label_column,
            **plain,
            **facts.label_facts(options.response),
            "label_epsilon": options.response.epsilon if options.response else None,
            "mechanism": rewriter.mechanism.name,
            "mechanism_options": facts.mechanism_options(rewriter.mechanism),
            "codebook": self.codebook,
            "model": facts.model_fingerprint(rewriter.model, rewriter.tokenizer, self.model_sha256),
            "decoding": asdict(rewriter.decoding),
            "versions": facts.drawing_versions(),
        }

    def statement(self, records: int, *, output_sha256: str | None, smallest: int = 0) -> PrivacyStatement:
        """Return what is guaranteed of a release of so many records; without a digest nothing has been released yet.

        Args:
            records: how many.
            output_sha256: of the output.
            smallest: how many of them each one is shuffled with at least; 0 where nobody counted.
        """
        rewriter, options = self.rewriter, self.options
        released = options.labels == "drop" or self.label_column is not None
        dim = rewriter.model.config.latent_dim
        return PrivacyStatement(
            mechanism=rewriter.mechanism.name,
            mechanism_options=facts.mechanism_options(rewriter.mechanism),
            guarantee=rewriter.guarantee,
            **facts.latent_facts(rewriter.mechanism, dim),
            records=records,
            samples=options.samples,
            labels=options.labels if released else None,
            label_response=options.response if self.label_column else None,
            kept_columns=list(options.keep_columns),
            training_data=self.training_data,
            versions=facts.versions(),
            codebook=self.codebook,
            certificate=facts.certificate(rewriter.mechanism, options.response if self.label_column else None, dim),
            model_sha256=self.model_sha256,
            model_files=rewriter.model.files or None,
            output_sha256=output_sha256,
            date=datetime.now(UTC).isoformat(timespec="seconds") if output_sha256 else None,
            max_records_per_person=options.max_records_per_person,
            excess=options.excess,
            text_column=options.text_column,
            label_column=self.label_column,
            shuffled=shuffled(rewriter.mechanism, options, dim=dim, records=records, smallest=smallest),
        )


def plan_release(
    rewriter: Rewriter, inputs: Inputs, target: str, options: ReleaseOptions
) -> tuple[Plan, Iterator[Record]]:
    """Decide what a release is going to be, by a look at the first record; returns the plan and all records.

    Raises:
        DataError: the input cannot be read, or the output's format is unknown.
        ConfigurationError: options contradict each other, the input or the model.
        ReleaseRefused: the rewriter was made for measurement.
    """
    if rewriter.measurement:
        raise ReleaseRefused("a rewriter for measurement must not release a file: open one with open_rewriter")
    written = written_format(target, inputs.options, inputs.locations)
    if written == "txt" and options.keep_columns:
        raise ConfigurationError(
            "keep_columns must be empty for a txt output, which holds text alone: write jsonl or csv"
        )
    if options.labels == "joint" and not rewriter.coding.labels:
        raise ConfigurationError(
            f"labels must not be joint for mechanism={rewriter.mechanism.name} with this model, which writes no labels then: train "
            "one with labels=joint for a mechanism on latents, or use joint_response"
        )
    if (options.labels == "joint_response") != (rewriter.joint is not None):
        raise ConfigurationError(
            f"labels must be joint_response with a rewriter that releases text and label as one symbol, and only then, "
            f"got {options.labels}: give open_rewriter the public labels, or none"
        )
    options = replace(options, label_response=rewriter.joint or options.label_response)
    check_shuffling(rewriter, target, options)
    records = inputs.records(columns=options.used_columns, required=required_columns(options))
    first = next(records)
    label_column = None if written == "txt" else find_label(first, options)
    if label_column is None and options.labels in (RELEASED if written != "txt" else ("joint_response",)):
        raise ConfigurationError(
            f"labels={options.labels} needs labels in the input and the output, got none: name label_column="
        )
    output_columns(label_column, options)  # refuses names that stand twice
    kept = decide_kept(inputs, options, written, first)
    drawn = (
        rewriter.tokenizer.labels if options.labels == "joint" else options.response.labels if options.response else ()
    )
    label_type = find_label_type(inputs, label_column, drawn, first)
    plan = Plan(rewriter, inputs, options, written, label_column, kept, label_type)
    return plan, chain([first], records)
