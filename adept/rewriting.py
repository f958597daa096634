"""Rewriting: batches of text to private text, from memory or from file to file.

The only way from a record to its rewrite is encode -> release -> decode. ``encode`` pads every record to the same length, so a
latent depends on its own record alone; ``release`` is the mechanism; ``decode`` sees nothing but released latents.
"""

import importlib.metadata
import json
import platform
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from adept.data import find_label_column, text_of
from adept.errors import ConfigurationError, DataError, ModelError, ReleaseRefused
from adept.files import STANDARD_STREAM, Record, file_format, new_file, read_records, record_writer
from adept.mechanisms import Mechanism
from adept.model import Autoencoder, DecodingConfig
from adept.privacy import Guarantee, PrivacyStatement
from adept.tokenizer import PAD, Tokenizer

LABEL_TREATMENTS = ("copy", "drop")
STATEMENT_SUFFIX = ".privacy.json"


class Rewriter:
    """Writes private text from text, with one model and one mechanism.

    Args:
        model: the autoencoder.
        tokenizer: the one that was saved with the model.
        mechanism: what randomises the latent; its set must fit the model's clip, its radius must be the model's.
        decoding: greedy or sampled; sampling draws fresh randomness for each call.
        batch_size: records that go through the model at once.

    Raises:
        ModelError: the model was trained for a clip that the mechanism cannot use.
        ConfigurationError: the mechanism's radius is not the model's.
    """

    def __init__(
        self,
        model: Autoencoder,
        tokenizer: Tokenizer,
        *,
        mechanism: Mechanism,
        decoding: DecodingConfig | None = None,
        batch_size: int = 256,
    ) -> None:
        check_fit(model, type(mechanism))
        if mechanism.clip_norm != model.config.clip_norm:
            raise ConfigurationError(
                f"clip_norm must be {model.config.clip_norm}, the radius that the model was trained for, got {mechanism.clip_norm}"
            )
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.mechanism = mechanism
        self.decoding = decoding or DecodingConfig()
        self.batch_size = batch_size

    @classmethod
    def from_pretrained(cls, directory: str | Path, *, mechanism: Mechanism, **options: Any) -> "Rewriter":
        """Load a model directory, or the ``model/`` inside a run's directory; ``options`` are those of the constructor."""
        model, tokenizer = load_model(directory)
        return cls(model, tokenizer, mechanism=mechanism, **options)

    @property
    def guarantee(self) -> Guarantee:
        """What each rewrite guarantees about the record that it was written from."""
        return self.mechanism.guarantee(self.model.config.latent_dim)

    def rewrite(self, texts: Sequence[str], *, samples: int = 1) -> list[str]:
        """Release every text once and write ``samples`` texts from each release, consecutively in the result."""
        batches = (texts[i : i + self.batch_size] for i in range(0, len(texts), self.batch_size))
        return [text for batch in batches for text in self._rewrite_batch(batch, samples)]

    def _rewrite_batch(self, texts: Sequence[str], samples: int) -> list[str]:
        return self.decode(self.release(texts).repeat_interleave(samples, dim=0))

    @torch.inference_mode()
    def encode(self, texts: Sequence[str]) -> Tensor:
        """Return the clipped latents (B, n) of B texts: secret, and the same whatever the other texts are."""
        length = self.model.config.max_length + 1
        rows = self.tokenizer.encode(list(texts), max_length=self.model.config.max_length)
        tokens = torch.tensor([row + [PAD] * (length - len(row)) for row in rows])
        return self.model.encode(tokens.to(self._device))

    def release(self, texts: Sequence[str]) -> Tensor:
        """Return released latents (B, n): encode, then the mechanism."""
        return self.mechanism.privatize(self.encode(texts))

    def decode(self, released: Tensor) -> list[str]:
        """Write one text from each released latent; nothing else is looked at."""
        generator = torch.Generator(self._device)
        generator.seed()
        return self.tokenizer.decode(self.model.decode(released, self.decoding, generator).tolist())

    @property
    def _device(self) -> torch.device:
        return next(self.model.parameters()).device


def check_fit(model: Autoencoder, mechanism: type[Mechanism]) -> None:
    """Raise ModelError unless a model's latents are of a kind that the mechanism can use."""
    if model.clip not in mechanism.serves:
        raise ModelError(
            f"the model was trained for clip {model.clip}, which mechanism {mechanism.name} cannot use: "
            f"train one with mechanism={mechanism.name}"
        )


def load_model(directory: str | Path) -> tuple[Autoencoder, Tokenizer]:
    """Load a model and its tokenizer from a model directory or from the run directory around it."""
    directory = Path(directory)
    if not (directory / "config.json").exists() and (directory / "model" / "config.json").exists():
        directory = directory / "model"
    model, tokenizer = Autoencoder.from_pretrained(directory), Tokenizer.from_pretrained(directory)
    if len(tokenizer) != model.vocabulary_size:
        raise ModelError(f"tokenizer.json in {directory} does not fit the model: restore the one it was trained with")
    return model, tokenizer


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """What of a file is rewritten, and what else may reach the output."""

    text_column: str = "text"
    label_column: str | None = None
    labels: str = "copy"  # copy | drop
    keep_columns: list[str] = field(default_factory=list)
    samples: int = 1
    format: str | None = None

    def __post_init__(self) -> None:
        if self.labels not in LABEL_TREATMENTS:
            raise ConfigurationError(f"labels must be one of {', '.join(LABEL_TREATMENTS)}, got {self.labels}")
        if self.samples < 1:
            raise ConfigurationError(f"samples must be at least 1, got {self.samples}")


def check_release(guarantee: Guarantee, *, accept_broken_claim: bool, accept_inexact: bool) -> None:
    """Raise ReleaseRefused where a release would promise what it cannot keep, unless the user said that they know."""
    if not guarantee.holds and not accept_broken_claim:
        raise ReleaseRefused(f"{guarantee.text} Choose another mechanism, or add accept_broken_claim=true")
    if not guarantee.exact and not accept_inexact:
        raise ReleaseRefused(
            "this mechanism is research grade: floating-point noise has no proven guarantee: "
            "choose an exact one, or add accept_inexact=true"
        )


def rewrite_file(
    rewriter: Rewriter, source: str, target: str, *, options: FileOptions, statement_path: str | None = None
) -> PrivacyStatement:
    """Rewrite the records of ``source`` into ``target``, a batch at a time, and write the privacy statement beside it.

    Nothing appears under the final names until everything is written.

    Raises:
        DataError: the input cannot be read as asked, or an output exists.
    """
    target_format = file_format(target, options.format if target == STANDARD_STREAM else None)
    if target == STANDARD_STREAM and statement_path is None:
        raise DataError("statement= must name a file for the privacy statement when the output is standard output")
    statement_path = statement_path or target + STATEMENT_SUFFIX
    records = _checked(read_records(source, format=options.format if source == STANDARD_STREAM else None), options)
    first = next(records)
    label_column = find_label_column(first, options.label_column)
    labels = options.labels if label_column else None
    copied = [*([label_column] if label_column and labels == "copy" else []), *options.keep_columns]
    columns = [options.text_column, *copied, *(["sample"] if options.samples > 1 else [])]
    with new_file(statement_path) as statement_name, new_file(target) as target_name:
        with record_writer(target_name, format=target_format, columns=columns) as write:
            count = _rewrite_stream(rewriter, chain([first], records), write, options=options, copied=copied)
        statement = PrivacyStatement(
            mechanism=rewriter.mechanism.name,
            guarantee=rewriter.guarantee,
            dim=rewriter.model.config.latent_dim,
            clip=rewriter.mechanism.clip,
            clip_norm=rewriter.mechanism.clip_norm,
            records=count,
            samples=options.samples,
            labels=labels,
            kept_columns=list(options.keep_columns),
            training_data=asdict(rewriter.model.training_data),
            versions=versions(),
        )
        Path(statement_name).write_text(json.dumps(statement.to_json(), indent=2) + "\n", "utf-8")
    return statement


def _checked(records: Iterator[Record], options: FileOptions) -> Iterator[Record]:
    """Pass records on, after a look at every column that will be used."""
    label_column: str | None = None
    for number, record in enumerate(records, start=1):
        if number == 1:
            label_column = find_label_column(record, options.label_column)
        text_of(record, options.text_column, number=number)
        if label_column and options.labels == "copy":
            text_of(record, label_column, number=number)
        if missing := [column for column in options.keep_columns if column not in record]:
            raise DataError(f"column {missing[0]!r} is missing in record {number}: correct keep_columns=")
        yield record


def _rewrite_stream(
    rewriter: Rewriter, records: Iterable[Record], write: Any, *, options: FileOptions, copied: list[str]
) -> int:
    """Rewrite batch by batch; returns the number of records."""
    count, records = 0, iter(records)
    while batch := list(islice(records, rewriter.batch_size)):
        texts = rewriter.rewrite([record[options.text_column] for record in batch], samples=options.samples)
        rows = []
        for i, text in enumerate(texts):
            record, sample = batch[i // options.samples], i % options.samples
            row = {options.text_column: text, **{column: record[column] for column in copied}}
            rows.append({**row, "sample": sample} if options.samples > 1 else row)
        write(rows)
        count += len(batch)
    return count


def versions() -> dict[str, str]:
    """The versions of what a release depends on."""
    packages = {name: importlib.metadata.version(name) for name in ("adept-dp", "torch", "opendp", "tokenizers")}
    return {**packages, "python": platform.python_version()}
