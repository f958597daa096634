"""Records whose order is forgotten: on this machine (``shuffle=true``), or by a trusted party, as the user declares.

The proof is that of ``adept.mechanisms.shuffling``. It asks of a file that everything which is written from one record's release
stays together and is moved as one, that nothing else about the record is in its rows (no kept columns), and that nobody reads
the file in its old order: neither the rows nor the journal, which is removed when the file is complete. Where labels are
copied, only records with the same label are mixed, so the label with the fewest records decides; and where fewer records than
the file's are said to be shuffled together, nobody knows how many of them have one label, and each stands alone.
"""

import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from adept.data.files import STANDARD_STREAM, Record
from adept.errors import ConfigurationError
from adept.mechanisms import LocalRandomizer
from adept.mechanisms.guarantee import words
from adept.mechanisms.shuffling import central_epsilon, draws_of
from adept.release.batches import PlainBatches
from adept.release.columns import ReleaseOptions
from adept.release.journal import Entry

DELTA, SHARE = 1e-6, 0.1  # the usual central delta: at most this, and at most this share of 1 / n


@dataclass(frozen=True, kw_only=True)
class Shuffled:
    """What a file guarantees to those who read it in its new order alone.

    Attributes:
        here: was it shuffled by this run.
        records: how many are shuffled together.
        smallest: how many of them at least a record hides among: those with its label, where labels are copied.
        epsilon: central, for replacing one record.
        delta: central.
    """

    here: bool
    records: int
    smallest: int
    epsilon: float
    delta: float

    def text(self, neighbours: str) -> str:
        """The guarantee in words, with its conditions."""
        who = (
            "This run shuffled the records"
            if self.here
            else "The user declares that a trusted party shuffles the records"
        )
        delta = f"{self.delta:g}" if float(f"{self.delta:g}") >= self.delta else words(self.delta)
        return (
            f"{who}. For readers who never see the old order, the file is ({words(self.epsilon)}, {delta})-DP for "
            f"replacing one record by another ({neighbours}), as each record is hidden among {self.smallest}; on condition "
            "that nobody contributed more than one record, that the number of records is public, and that no other release of "
            "them, no time and no place in another file tells their order. Whoever sees the old order is bound by the local "
            "guarantee alone."
        )


def check_shuffling(mechanism: LocalRandomizer, target: str, options: ReleaseOptions, *, dim: int) -> None:
    """Refuse what the proof does not cover.

    Raises:
        ConfigurationError: naming the option.
    """
    if not options.shuffled:
        return
    draws_of(mechanism, dim=dim, labels=options.response)
    if options.keep_columns:
        raise ConfigurationError(
            "keep_columns must be empty for shuffled records: a kept column can tell the order again"
        )
    if (options.max_records_per_person or 1) > 1:
        raise ConfigurationError(
            f"max_records_per_person must be 1 for shuffled records, got {options.max_records_per_person}: "
            "leave the others out, or do without shuffling"
        )
    if options.shuffle and target == STANDARD_STREAM:
        raise ConfigurationError(
            "output must be a file for shuffle=true: a stream is read as it comes, in the old order"
        )


def shuffled(
    mechanism: LocalRandomizer, options: ReleaseOptions, *, dim: int, records: int, smallest: int
) -> Shuffled | None:
    """Return what shuffling adds for a file of so many records; None where nobody shuffles, or nothing was released."""
    if not options.shuffled or not smallest:
        return None
    together = min(records, options.shuffled_records or records)
    if together < records and smallest < records:
        smallest = 1
    hidden = min(smallest, together)
    delta = options.central_delta or min(DELTA, SHARE / hidden)
    draws = draws_of(mechanism, dim=dim, labels=options.response)
    central = central_epsilon(draws, records=hidden, delta=delta)
    return Shuffled(here=options.shuffle, records=together, smallest=hidden, epsilon=central, delta=delta)


class Groups:
    """How many records have the same copied label: all of them where none is copied."""

    def __init__(self, label_column: str | None, options: ReleaseOptions) -> None:
        self._label = label_column if options.labels == "copy" else None
        self._counts: Counter[object] = Counter()

    def count(self, records: Sequence[Record]) -> None:
        """Count some records."""
        self._counts.update([record.get(self._label) if self._label else None for record in records])

    def counted(self, records: Iterator[Record]) -> Iterator[Record]:
        """Pass records on, counting them."""
        for record in records:
            self.count([record])
            yield record

    @property
    def smallest(self) -> int:
        """The size of the smallest group; 0 for no records."""
        return min(self._counts.values(), default=0)


class ShuffledBatches:
    """Nothing is written before every record is released; then all rows of a record together, in an order that nobody knew.

    The permutation is uniform, from the operating system's entropy, and kept nowhere. Rows stay in memory until then. A run that is
    killed has shown nothing; one that resumes draws another permutation, of the same releases.
    """

    def __init__(self, batches: PlainBatches, samples: int) -> None:
        self._batches, self._samples = batches, samples
        self._rows: list[list[Record]] = []

    def draw(self, batch: Sequence[Record]) -> Entry:
        """Release a batch of records."""
        return self._batches.draw(batch)

    def rows(self, batch: Sequence[Record], entry: Entry) -> Iterator[Record]:
        """Nothing yet: the rows of each record are kept for the end."""
        rows = self._batches.rows(batch, entry)
        self._rows += iter(lambda: list(islice(rows, self._samples)), [])
        return iter(())

    def last_rows(self) -> Iterator[Record]:
        """Every record's rows."""
        secrets.SystemRandom().shuffle(self._rows)
        return (row for rows in self._rows for row in rows)


Batches = PlainBatches | ShuffledBatches
