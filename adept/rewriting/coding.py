"""The three steps of a rewriter, for whatever a mechanism randomises.

    encode    records -> rows    one row a record, secret
    release   rows -> rows       the mechanism, and nothing else
    write     rows -> texts      from released rows and public numbers alone

Rows are tensors, so that a journal or a comparison keeps all releases alike: latents (``adept.rewriting.latents``), numbers of
descriptions (``descriptions``), or either with a label (``PairCoding``). A new kind of release is one more class, and an entry of
``CODINGS`` in ``adept.rewriting.rewriter``.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from adept.errors import ConfigurationError
from adept.mechanisms import JointResponse

Pair = tuple[str, str | None]  # a text, and its label where one was written or released with it


class Coding(ABC):
    """Encoding of records for one model and mechanism, and writing of texts from released rows.

    Attributes:
        labels: those that a text can come with.
        probes: number of public texts that an estimate rests on.
    """

    labels: Sequence[str] = ()
    probes: int = 100

    @abstractmethod
    def encode(self, texts: Sequence[str], labels: Sequence[str | None] | None = None) -> Tensor:
        """Return a row for each record (B, n): secret, and the same whatever the others are."""

    def check_labels(self, labels: Sequence[str | None]) -> None:  # noqa: B027 - nothing to check without a label set
        """Raise ConfigurationError for labels that ``encode`` refuses."""

    def release(self, encoded: Tensor, mechanism: Any) -> Tensor:
        """Return the rows (B, n) that a mechanism releases of encoded ones."""
        return self.pack(mechanism.privatize(self.unpack(encoded)))

    @abstractmethod
    def write(self, released: Tensor, *, samples: int) -> list[Pair]:
        """Write ``samples`` pairs from each released row (B, n), consecutively: post-processing."""

    def pack(self, values: Any) -> Tensor:
        """Return a mechanism's own values as rows."""
        rows: Tensor = values
        return rows

    def unpack(self, rows: Tensor) -> Any:
        """Return rows as the mechanism's own values."""
        return rows


class PairCoding(Coding):
    """Text and label as one symbol: rows of a text's coding, each with its label's place, (B, n + 1)."""

    def __init__(self, text: Coding, labels: Sequence[str]) -> None:
        self.text, self.labels, self.probes = text, labels, text.probes

    def encode(self, texts: Sequence[str], labels: Sequence[str | None] | None = None) -> Tensor:
        """Return rows with a label each; raise ConfigurationError if a record has no label, or one outside the public set."""
        if labels is None or len(labels) != len(texts):
            raise ConfigurationError(
                f"labels must be given with every record for labels=joint_response, got {len(labels or [])} for {len(texts)}"
            )
        return self.join_labels(self.text.encode(texts), labels)

    def check_labels(self, labels: Sequence[str | None]) -> None:
        """Raise ConfigurationError for a missing label or one outside the public set."""
        known = set(self.labels)
        if (first := next((n for n, label in enumerate(labels) if label not in known), None)) is None:
            return
        if labels[first] is None:
            raise ConfigurationError(
                f"labels must be given with every record for labels=joint_response, got none in record {first + 1}"
            )
        raise ConfigurationError(
            f"labels must be in the public set, got another one in record {first + 1}: add it to the set, if it is public"
        )

    def release(self, encoded: Tensor, mechanism: JointResponse) -> Tensor:
        """Release rows and labels together."""
        rows, labels = self.split_labels(encoded)
        released, beside = mechanism.release(self.text.unpack(rows), labels)
        return self.join_labels(self.text.pack(released), beside)

    def write(self, released: Tensor, *, samples: int) -> list[Pair]:
        """Write texts from the rows, each with its released label."""
        rows, labels = self.split_labels(released)
        beside = (label for label in labels for _ in range(samples))
        return [(text, label) for (text, _), label in zip(self.text.write(rows, samples=samples), beside, strict=True)]

    def join_labels(self, rows: Tensor, labels: Sequence[str | None]) -> Tensor:
        """Return rows with the place of each one's label behind it; raise ConfigurationError as ``check_labels`` does."""
        self.check_labels(labels)
        place_of: dict[str | None, int] = {label: place for place, label in enumerate(self.labels)}
        places = torch.tensor([place_of[label] for label in labels], dtype=rows.dtype, device=rows.device)
        return torch.cat([rows, places.reshape(-1, 1)], dim=1)

    def split_labels(self, rows: Tensor) -> tuple[Tensor, list[str]]:
        """Return the text's row and the label of each row."""
        return rows[:, :-1], [self.labels[int(place)] for place in rows[:, -1].tolist()]
