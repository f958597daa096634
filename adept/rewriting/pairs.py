"""Text and label as one symbol: the rows of the text's own coding, each with the place of its label behind it."""

from collections.abc import Sequence

import torch
from torch import Tensor

from adept.errors import ConfigurationError
from adept.mechanisms import JointResponse
from adept.rewriting.coding import Coding, Pair


class PairCoding(Coding):
    """Rows of a text's coding (B, n) with labels of a public set, (B, n + 1)."""

    def __init__(self, text: Coding, labels: Sequence[str]) -> None:
        self.text, self.labels, self.probes = text, labels, text.probes
        self.size = None if text.size is None else text.size * len(labels)

    def encode(self, texts: Sequence[str], labels: Sequence[str | None] | None = None) -> Tensor:
        """Return rows with a label each.

        Raises:
            ConfigurationError: a record has no label, or one outside the public set.
        """
        if labels is None or len(labels) != len(texts):
            raise ConfigurationError(
                f"labels must be given with every record for labels=joint_response, got {len(labels or [])} for {len(texts)}"
            )
        self.check_labels(labels)
        return self.joined(self.text.encode(texts), [label for label in labels if label is not None])

    def check_labels(self, labels: Sequence[str | None]) -> None:
        """Raise ConfigurationError for a missing label or one outside the public set, without repeating it."""
        if missing := [record for record, label in enumerate(labels, start=1) if label is None]:
            raise ConfigurationError(
                f"labels must be given with every record for labels=joint_response, got none in record {missing[0]}"
            )
        known = set(self.labels)
        if unknown := [record for record, label in enumerate(labels, start=1) if label not in known]:
            raise ConfigurationError(
                f"labels must be in the public set, got another one in record {unknown[0]}: add it to the set, if it is public"
            )

    def release(self, encoded: Tensor, mechanism: JointResponse) -> Tensor:
        """Release rows and labels together."""
        rows, labels = self.parted(encoded)
        released, beside = mechanism.release(self.text.unpacked(rows), labels)
        return self.joined(self.text.packed(released), beside)

    def write(self, released: Tensor, *, samples: int) -> list[Pair]:
        """Write texts from the rows, each with its released label."""
        rows, labels = self.parted(released)
        beside = (label for label in labels for _ in range(samples))
        return [(text, label) for (text, _), label in zip(self.text.write(rows, samples=samples), beside, strict=True)]

    def joined(self, rows: Tensor, labels: Sequence[str]) -> Tensor:
        """Return rows with the place of each one's label behind it.

        Raises:
            ConfigurationError: a label is outside the public set; it is not repeated in the message.
        """
        self.check_labels(labels)
        place_of = {label: place for place, label in enumerate(self.labels)}
        places = torch.tensor([place_of[label] for label in labels], dtype=rows.dtype, device=rows.device)
        return torch.cat([rows, places.reshape(-1, 1)], dim=1)

    def parted(self, rows: Tensor) -> tuple[Tensor, list[str]]:
        """Return the text's row and the label of each row."""
        return rows[:, :-1], [self.labels[int(place)] for place in rows[:, -1].tolist()]
