"""A release before its first record, local or central: everything that is decided once and then passed on."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from adept.data.formats import Record
from adept.errors import DataError
from adept.release import facts
from adept.release.config import PersonOptions
from adept.release.inputs import Inputs
from adept.release.publication import Publication
from adept.release.statement import Statement
from adept.rewriting.rewriter import Rewriter
from adept.synthesis.synthesizer import Synthesizer

if TYPE_CHECKING:
    from adept.release.run import Run

Stated = TypeVar("Stated", bound=Statement)


class Notes(Protocol):
    """Notes on the records that were read, for the curator alone: they are exact, and no part of the release."""

    @property
    def lines(self) -> list[str]:
        """Lines to tell."""
        ...


@dataclass(frozen=True, kw_only=True)
class Plan(ABC, Generic[Stated]):
    """A release before its first record.

    Attributes:
        writer: writes private or synthetic text, with its model, mechanism and budget.
        inputs: the sources of records.
        publication: the files of the release.
        options: the options of the release.
        format: the output's format.
    """

    released: ClassVar[tuple[str, ...]]  # fields that are known once everything is released
    verb: ClassVar[str]  # what a run did with what is drawn

    writer: Rewriter | Synthesizer
    inputs: Inputs
    publication: Publication
    options: PersonOptions
    format: str

    @property
    @abstractmethod
    def same(self) -> tuple[str, ...]:
        """Fields that two statements of the same release have in common."""

    @property
    @abstractmethod
    def columns(self) -> list[str]:
        """Columns of the output."""

    @property
    def types(self) -> dict[str, Any]:
        """Arrow types of the columns that are no text."""
        return {}

    @cached_property
    def model_sha256(self) -> str:
        """Digest of the weights."""
        return facts.model_sha256(self.writer.model)

    @cached_property
    def model_facts(self) -> dict[str, Any]:
        """Fields of the statement about the model and the programs."""
        model = self.writer.model
        packaged = facts.is_packaged(model, self.model_sha256)
        return {
            "training_data": facts.origin(model.training_data) | {"packaged": packaged},
            "model_sha256": self.model_sha256,
            "model_files": model.files or None,
            "versions": facts.versions(),
        }

    def terms(self) -> dict[str, Any]:
        """Return what must be the same for an interrupted release to be continued: public, and no word of a record."""
        return {
            "output": Path(self.publication.target).name,  # without a directory: a run can be resumed from another one
            "format_written": self.format,
            **self.own_terms(),
            "model": facts.model_fingerprint(self.writer.model, self.writer.tokenizer, self.model_sha256),
            "versions": facts.drawing_versions(),
        }

    @abstractmethod
    def own_terms(self) -> dict[str, Any]:
        """Return the terms of this kind of release."""

    @abstractmethod
    def records(self) -> Iterator[Record]:
        """Return the records as they are read; those of a pipe can be read once."""

    @abstractmethod
    def preview(self) -> tuple[Stated, Notes]:
        """Check and count all records; return the statement of a release that is not made, and notes."""

    @abstractmethod
    def expected_statement(self) -> Stated:
        """Return the statement of the release that is asked for, to compare it with one that is complete."""

    @abstractmethod
    def draw(self, run: "Run[Stated]") -> tuple[Stated, Notes | None]:
        """Draw, journal, and write all rows under the temporary name; return the statement, and notes on records that were read."""

    @abstractmethod
    def drawn_so_far(self, records: int) -> str:
        """Return in words what a run has drawn that has so many records in its journal."""

    def complete(self, described: dict[str, Any]) -> Stated:
        """Return the statement of a release that is complete already.

        Raises:
            DataError: another release is complete; the message names the first difference.
        """
        stated = self.expected_statement()
        fields = json.loads(json.dumps(stated.to_json()))
        for name in self.same:
            if fields.get(name) != described.get(name):
                raise DataError(
                    f"{self.publication.target} is another release, complete, and is not overwritten ({name} was "
                    f"{described.get(name)!r}, and is {fields.get(name)!r}): choose another name"
                )
        return replace(stated, **{name: described[name] for name in self.released})
