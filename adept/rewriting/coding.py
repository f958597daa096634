"""What a rewriter needs of a model and a mechanism: three steps, and how many different releases there are.

    encode    records -> rows    one row a record, secret
    release   rows -> rows       the mechanism, and nothing else
    write     rows -> texts      from released rows and public numbers alone

Rows are tensors whatever a mechanism randomises, so that whoever keeps releases (a journal, a comparison) keeps all of them alike:
latents (``adept.rewriting.latents``), numbers of descriptions (``descriptions``), or either with a label (``pairs``). A kind of
release that is not there yet is one more class, and an entry of ``CODINGS`` in ``adept.rewriting.rewriter``.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from adept.mechanisms import LocalRandomizer
from adept.models.autoencoder import Autoencoder

Pair = tuple[str, str | None]  # a text, and its label where one was written or released with it


class Coding(ABC):
    """How one model puts records into what a mechanism randomises, and writes texts from what it released.

    Attributes:
        size: how many different rows can be released; None where they are not finite.
        labels: those that a text can come with; none where texts come alone.
        probes: on how many public texts an estimate rests, where each of them takes long to encode on fewer.
    """

    size: int | None = None
    labels: Sequence[str] = ()
    probes: int = 100

    @abstractmethod
    def encode(self, texts: Sequence[str], labels: Sequence[str | None] | None = None) -> Tensor:
        """Return one row for each of B records, (B, n): secret, and the same whatever the other records are."""

    def check_labels(self, labels: Sequence[str | None]) -> None:  # noqa: B027 - nothing to check without a label set
        """Raise ConfigurationError for labels that ``encode`` refuses; without a label set labels are ignored."""

    def release(self, encoded: Tensor, mechanism: Any) -> Tensor:
        """Return the rows (B, n) that a mechanism releases of encoded ones."""
        return self.packed(mechanism.privatize(self.unpacked(encoded)))

    @abstractmethod
    def write(self, released: Tensor, *, samples: int) -> list[Pair]:
        """Write ``samples`` pairs from each released row (B, n), consecutively: post-processing, which costs no budget."""

    def packed(self, values: Any) -> Tensor:
        """Return a mechanism's own values as rows."""
        rows: Tensor = values
        return rows

    def unpacked(self, rows: Tensor) -> Any:
        """Return rows as the mechanism's own values."""
        return rows


def symbols_of(mechanism: LocalRandomizer, model: Autoencoder) -> int | None:
    """Return how many releases there are where each is one symbol of finitely many."""
    found = mechanism.symbols(model.config.latent_dim)
    return found[0].size if len(found) == 1 else None
