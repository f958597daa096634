"""The default ledger: kept in the user's state directory unless ``ledger=none``; it refuses only releases above its limit.

It makes no other release fail. If it cannot be kept (without a home, on a full disk, or if another run holds it for long), the
release goes on without it, and one line says so. Earlier claims stay claimed. If there is a limit, the release is refused instead,
because nobody could check the limit. An empty file beside a ledger marks that it has a limit (``mark_limited``), so that this is
known even if the ledger is gone or cannot be read.

The file's name carries a keyed fingerprint of the key. So another key has another ledger, and causes no error,
unless the ledger of some key has a limit: if that key is lost, the limit must not be lost in silence, so the other ledger needs a
limit of its own.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from adept.errors import AdeptError, ConfigurationError, DataError, ReleaseRefused
from adept.mechanisms.guarantee import words
from adept.release.identity import ROW_KIND, TEXT, Identity, Role, secret_key
from adept.release.ledger import Ledger, check_limit
from adept.release.ledger_file import Spending

NONE = "none"  # the value of ledger= that turns ledgers off
MOST_RECORDS = 1_000_000  # most records of a file, unless there is a limit
WAIT_SECONDS = 3.0  # time to wait for another run that holds the ledger

Tell = Callable[[str], None]
Answer = TypeVar("Answer")


def state_directory() -> Path:
    """Return the directory for state: ``$XDG_STATE_HOME/adept``, or else ``~/.local/state/adept``.

    Raises:
        RuntimeError: the user has no home directory.
    """
    given = os.environ.get("XDG_STATE_HOME")
    return (Path(given) if given else Path("~").expanduser() / ".local" / "state") / "adept"


def default_location(key: bytes) -> Path:
    """Return the file of the ledger that goes with a key."""
    fingerprint = hashlib.blake2b(key=key, digest_size=4, person=b"adept ledger").hexdigest()
    return state_directory() / f"ledger-{fingerprint}.db"


class DefaultLedger(Ledger):
    """An open default ledger; an error makes it give up, not the release."""

    required = False

    def __init__(
        self, path: str, *, key: bytes, limit: float | None, record_columns: Sequence[str] | None, tell: Tell
    ) -> None:
        self._tell, self._records = tell, 0
        super().__init__(path, key=key, again=True, limit=limit, record_columns=record_columns, seconds=WAIT_SECONDS)
        self._limited, own = self.limit is not None, self._own_limit()
        if own is None and _mark_of(path).exists():
            self.close()
            raise DataError(
                f"{path} has lost its limit and its entries: restore it, or set a limit with adept ledger {path} limit=X"
            )
        if own is None and _marks():
            tell(f"the default ledger of another key has a limit, which does not hold for this release ({path})")

    def identity(self, *, text_column: str, person_column: str | None) -> Identity:
        """Return the identity of records; by their text if the file lacks a column that the ledger needs."""
        try:
            return super().identity(text_column=text_column, person_column=person_column)
        except (ConfigurationError, DataError, OSError) as error:
            if self.record_columns is not None:
                raise
            self._lose(str(error))
            return Identity.of(self.key or b"", [TEXT], text_column=text_column, person_column=person_column)

    def _usual_roles(self, person_column: str | None) -> tuple[Role, ...]:
        """Identify records by their text alone, so that releases with and without persons fit into one ledger."""
        return (TEXT,)

    def begin(self, run: str, spending: Spending, output: str) -> None:
        self._unless_lost(lambda: super(DefaultLedger, self).begin(run, spending, output), None)

    def collect(self, subjects: Iterable[tuple[bytes, int]]) -> None:
        self._unless_lost(lambda: self._collect(list(subjects)), None)

    def _collect(self, subjects: list[tuple[bytes, int]]) -> None:
        self._records += sum(kind == ROW_KIND for _, kind in subjects)
        if self._records > MOST_RECORDS and not self._limited:
            raise DataError(f"the input has more than {MOST_RECORDS:,} records")
        super().collect(subjects)

    def claim(self) -> None:
        self._unless_lost(super().claim, None)

    def show(self, run: str, records: int) -> None:
        self._unless_lost(lambda: super(DefaultLedger, self).show(run, records), None)

    def shown(self, run: str) -> int:
        return self._unless_lost(lambda: super(DefaultLedger, self).shown(run), 0)

    def forget(self, run: str) -> None:
        self._unless_lost(lambda: super(DefaultLedger, self).forget(run), None)

    def finish(self, run: str) -> None:
        self._unless_lost(lambda: super(DefaultLedger, self).finish(run), None)

    def _unless_lost(self, action: Callable[[], Answer], otherwise: Answer) -> Answer:
        """Run an action of the ledger, or return ``otherwise`` once the ledger was given up."""
        if not self.keeps:
            return otherwise
        try:
            return action()
        except (OSError, DataError) as error:
            self._lose(str(error))
            return otherwise

    def _lose(self, reason: str) -> None:
        """Give the ledger up and go on without it.

        Raises:
            ReleaseRefused: it has a limit, which nobody could check.
        """
        if not self.keeps:
            return
        self.keeps = False
        if self._limited:
            raise ReleaseRefused(f"the ledger's limit cannot be checked ({reason}): give ledger=FILE")
        self._tell(
            f"no ledger is kept of this release ({reason}): ledger=FILE keeps one, ledger=none turns this line off"
        )


def mark_limited(ledger: str) -> None:
    """Mark beside a default ledger that it has a limit; do nothing for other ledgers."""
    try:
        is_default = Path(ledger).resolve().parent == state_directory().resolve()
    except RuntimeError:
        return
    if is_default:
        _mark_of(ledger).touch(0o600)


def _mark_of(ledger: str | Path) -> Path:
    return Path(f"{ledger}.limited")


def _marks() -> list[Path]:
    """Return the marks of all ledgers by default that have a limit, whatever their key."""
    return list(state_directory().glob("ledger-*.db.limited"))


@contextmanager
def opened_ledger(
    choice: str | None,
    *,
    key: bytes | None,
    again: bool = False,
    limit: float | None = None,
    record_columns: Sequence[str] | None = None,
    tell: Tell,
) -> Iterator[Ledger | None]:
    """Open the ledger of a command for the duration of the context.

    Args:
        choice: a file, "none", or None for the default ledger.
        key: the key of the digests; None if no key can be kept.
        again: True releases records again that are in the ledger.
        limit: the value of ``ledger_limit``.
        record_columns: the columns that identify a record.
        tell: called with one line if the default ledger cannot be kept.

    Raises:
        ConfigurationError: a limit or columns are given with ``ledger=none``.
        DataError: the file cannot be used.
    """
    if choice == NONE:
        if limit is not None or record_columns is not None:
            raise ConfigurationError(
                "ledger must be given with ledger_limit or record_columns, got none: give ledger=FILE"
            )
        yield None
        return
    ledger = (
        _default(key, limit, record_columns, tell)
        if choice is None
        else Ledger(choice, key=key, again=again, limit=limit, record_columns=record_columns)
    )
    try:
        yield ledger
    finally:
        if ledger is not None:
            ledger.close()


def _default(
    key: bytes | None, limit: float | None, record_columns: Sequence[str] | None, tell: Tell
) -> DefaultLedger | None:
    """Open the default ledger; return None if it cannot be kept."""
    if limit is not None:
        check_limit(limit, "ledger_limit")
    limited = limit is not None
    try:
        limited = limited or bool(_marks())
        if key is None:
            raise DataError("no key can be kept")
        location = default_location(key)
        location.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return DefaultLedger(str(location), key=key, limit=limit, record_columns=record_columns, tell=tell)
    except (OSError, RuntimeError, DataError) as error:  # RuntimeError: the user has no home directory
        reason = str(error)
    if limited:
        raise ReleaseRefused(
            f"the limit cannot be checked, as no ledger can be kept ({reason}): mend that, or give ledger=FILE"
        )
    tell(f"no ledger is kept of this release ({reason}): ledger=FILE keeps one, ledger=none turns this line off")
    return None


def ledger_lines(ledger: Ledger | None) -> list[str]:
    """Return lines for the curator: how often the records of a release were released, and what they have spent."""
    if ledger is None or not ledger.keeps or not ledger.overlap.epsilon:
        return []
    overlap = ledger.overlap
    if not overlap.records:
        return [f"with this release a record has spent up to epsilon {words(overlap.epsilon)} in all ({ledger.path})"]
    who = "1 record was" if overlap.records == 1 else f"{overlap.records} different records were"
    return [
        f"{who} released before, up to {overlap.releases} time{'s' * (overlap.releases > 1)}; with this release a "
        f"record has spent up to epsilon {words(overlap.epsilon)} in all ({ledger.path})"
    ]


def usual_key(path: str | None, *, needed: bool) -> bytes | None:
    """Return the key of digests; None if none can be kept and none is needed."""
    try:
        return secret_key(path)
    except AdeptError:
        if path or needed:
            raise
        return None
