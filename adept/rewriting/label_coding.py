"""The coding of releases by label: a record becomes one of the public sentences of its label's cell.

Claim and proof: ``adept.mechanisms.description``. A record's label determines only the cell; the
record's text determines which sentences of the cell are likely.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from adept.data.text_arguments import text_list
from adept.errors import ConfigurationError, ModelError
from adept.mechanisms import LocalRandomizer
from adept.mechanisms.description import first_share
from adept.models.cell_search import CellSearch
from adept.models.codec.codec import Codec, words_of
from adept.models.config import TOPICS
from adept.models.label_cells import LabelCells, Places
from adept.models.saved_model import Autoencoder
from adept.models.topics import WordTopics
from adept.rewriting.coding import Coding, Pair, unpack


class CellCoding(Coding):
    """The sentences of one label's cell; rows hold indices among all sentences of the codec."""

    def __init__(self, codec: Codec, search: CellSearch, cell: Places, *, top: int) -> None:
        self.codec, self.search, self.cell, self.top = codec, search, cell, top

    def encode(self, texts: Sequence[str], labels: Sequence[str | None] | None = None) -> Tensor:
        """Return packed indices (B, 2 t) of each text's t nearest sentences in the cell."""
        return _pack_places(self.cell[self._describe(texts)])

    def release_records(self, texts: Sequence[str], labels: Sequence[str | None] | None, mechanism: Any) -> Tensor:
        return self._release(self._describe(texts), mechanism)

    def release(self, encoded: Tensor, mechanism: Any) -> Tensor:
        """Return packed indices (B, 2): one released sentence per row."""
        return self._release(np.searchsorted(self.cell, encoded[:, 1::2].numpy()), mechanism)

    def _describe(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return the positions (B, t) of each text's t nearest sentences in the cell."""
        return self.search.nearest([*map(words_of, text_list(texts))], self.cell, self.top)

    def _release(self, own: NDArray[np.int64], mechanism: Any) -> Tensor:
        return _pack_places(self.cell[mechanism.privatize(own.tolist()), None])

    def write(self, released: Tensor, *, samples: int) -> list[Pair]:
        texts = self.codec.write(unpack(released), size=self.codec.sentences)
        return [(text, None) for text in texts for _ in range(samples)]


class LabelCoding(Coding):
    """The cells of all labels: each record is released within the cell of its own label.

    Args:
        model: a model of broad text.
        vocabulary: the id of each word in the model's tokenizer.
        mechanism: a ``Description`` with ``by_label=True``.
        about: public sentences about labels; for other labels the model's labelled examples are
            used.

    Raises:
        ModelError: the model has no broad text, or too few sentences for a cell to be a part of
            them.
    """

    probes = 40

    def __init__(
        self,
        model: Autoencoder,
        vocabulary: Mapping[str, int],
        mechanism: LocalRandomizer,
        about: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        [(size, self.top)] = mechanism.symbols(model.config.latent_dim)
        if model.codec is None or model.codec.sentences <= size:
            raise ModelError(
                f"descriptions by label need a model of broad text with more than {size:,} sentences: use label_codewords=off"
            )
        self.codec = model.codec
        self.about = {**model.label_examples, **(about or {})}
        index = self.codec.sentence_index
        first = round(size * first_share(mechanism.epsilon))
        self.cells = LabelCells(self.codec, index, size=size, first=first, about=self.about)
        topics = WordTopics(model.topics, vocabulary) if model.config.encoder == TOPICS else None
        self.search = CellSearch(index, topics, first=first)

    def check_labels(self, labels: Sequence[str | None]) -> None:
        if None in labels:
            raise ConfigurationError(
                f"labels must be given with every record for descriptions by label, got none in record {labels.index(None) + 1}"
            )

    def of_label(self, label: str) -> CellCoding:
        """Return the coding for records with this label."""
        return CellCoding(self.codec, self.search, self.cells.of([label])[label], top=self.top)

    def encode(self, texts: Sequence[str], labels: Sequence[str | None] | None = None) -> Tensor:
        """Return packed indices (B, 2 t) of each text's nearest sentences in its label's cell."""
        encoded = torch.empty((len(texts), 2 * self.top), dtype=torch.int64)
        for coding, rows in self._groups(texts, labels):
            encoded[rows] = coding.encode([texts[row] for row in rows])
        return encoded

    def release_records(self, texts: Sequence[str], labels: Sequence[str | None] | None, mechanism: Any) -> Tensor:
        released = torch.empty((len(texts), 2), dtype=torch.int64)
        for coding, rows in self._groups(texts, labels):
            released[rows] = coding.release_records([texts[row] for row in rows], None, mechanism)
        return released

    def write(self, released: Tensor, *, samples: int) -> list[Pair]:
        return CellCoding(self.codec, self.search, np.empty(0, np.int32), top=self.top).write(released, samples=samples)

    def _groups(
        self, texts: Sequence[str], labels: Sequence[str | None] | None
    ) -> Iterator[tuple[CellCoding, list[int]]]:
        """Yield each label's coding with the records that have this label."""
        beside = [None] * len(texts) if labels is None else list(labels)
        self.check_labels(beside)
        rows: dict[str, list[int]] = {}
        for row, label in enumerate(beside):
            rows.setdefault(str(label), []).append(row)
        for label, cell in self.cells.of(rows).items():
            yield CellCoding(self.codec, self.search, cell, top=self.top), rows[label]


def _pack_places(places: Places) -> Tensor:
    """Pack indices (B, t) like ``pack``, into rows (B, 2 t) whose high halves are zero."""
    low = torch.from_numpy(places.astype(np.int64))
    return torch.stack([torch.zeros_like(low), low], dim=2).flatten(1)
