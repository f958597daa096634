"""The ledger of a release: a file that the user names, no ledger, or the default ledger.

A ledger is a file that lists released records with their budgets. The default ledger is a file in the user's directory
``~/.local/state/adept`` (or ``$XDG_STATE_HOME/adept``). It refuses a release only if the total epsilon of a record
would exceed the ledger's limit. If the default ledger cannot be used, for example because the disk is full, a message
tells the user, and the release goes on. But if the ledger has a limit, the release is refused, because the limit cannot
be checked. An empty file beside a ledger shows, even after the ledger is lost, that the ledger has a limit.

The name of the default ledger's file holds a fingerprint of the secret key, so there is one default
ledger for each key.
"""

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from adept.data.writing import make_directory, sync_directory, user_directory
from adept.errors import AdeptError, ConfigurationError, DataError, ReleaseRefused
from adept.mechanisms.guarantee import words
from adept.release.ledger.claims import Ledger
from adept.release.ledger.identity import ROW_KIND, TEXT_ROLE, Identity, key_location, secret_key, throwaway_key
from adept.release.options import LedgerOptions

LOG = logging.getLogger("adept")
NO_LEDGER = "none"  # the value of ledger= that turns ledgers off
MAX_DEFAULT_RECORDS = 1_000_000  # of a file, unless there is a limit
DEFAULT_WAIT_SECONDS = 3.0  # time to wait for another run that holds the ledger
UNKEPT = "no ledger is kept of this release ({}): ledger=FILE keeps one, ledger=none turns this line off"

Tell = Callable[[str], None]


def _state_directory() -> Path:
    return user_directory("XDG_STATE_HOME", ".local/state")


def default_location(key: bytes) -> Path:
    """Return the location of the default ledger for a secret key."""
    fingerprint = hashlib.blake2b(key=key, digest_size=4, person=b"adept ledger").hexdigest()
    return _state_directory() / f"ledger-{fingerprint}.db"


def _guard(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method of the ledger: if the method fails, call ``_lose`` with the reason."""

    def guarded(ledger: "DefaultLedger", *args: Any, **options: Any) -> Any:
        try:
            return method(ledger, *args, **options) if ledger.keeps else None
        except (OSError, DataError) as error:
            ledger._lose(str(error))
            return None

    return guarded


class DefaultLedger(Ledger):
    """An open default ledger; if it fails and has no limit, the release continues without it."""

    required = False
    identifies_persons = False  # it serves many files, and some of them have no column of persons

    def __init__(self, path: str, *, tell: Tell, **options: Any) -> None:
        self._tell, self._records = tell, 0
        super().__init__(path, again=True, seconds=DEFAULT_WAIT_SECONDS, **options)
        self._limited, own = self.limit is not None, self._own_limit()
        if own is None and _mark_of(path).exists():
            self.close()
            raise DataError(
                f"{path} has lost its limit and its entries: restore it, or set a limit with adept ledger {path} limit=X"
            )
        if own is None and _marks():
            tell(f"the default ledger of another key has a limit, which does not hold for this release ({path})")

    def identity(self, *, text_column: str, person_column: str | None) -> Identity:
        """Return the columns that identify records.

        If the ledger fails, and the release may continue without it, the text alone identifies a record.
        """
        try:
            return super().identity(text_column=text_column, person_column=person_column)
        except (ConfigurationError, DataError, OSError) as error:
            if self.record_columns is not None:
                raise
            self._lose(str(error))
            self._identity = Identity.of(
                self.key or b"", [TEXT_ROLE], text_column=text_column, person_column=person_column
            )
            return self._identity

    def collect(self, subjects: Iterable[tuple[bytes, int]]) -> None:
        found = list(subjects)
        self._records += sum(kind == ROW_KIND for _, kind in found)
        if self._records <= MAX_DEFAULT_RECORDS or self._limited:
            _guard(Ledger.collect)(self, found)
        else:
            self._lose(f"the input has more than {MAX_DEFAULT_RECORDS:,} records")

    def count_shown(self, run: str) -> int:
        return int(_guard(Ledger.count_shown)(self, run) or 0)

    begin = _guard(Ledger.begin)
    wait = _guard(Ledger.wait)
    claim = _guard(Ledger.claim)
    show = _guard(Ledger.show)
    forget = _guard(Ledger.forget)
    finish = _guard(Ledger.finish)
    stated_total = _guard(Ledger.stated_total)

    def _lose(self, reason: str) -> None:
        """Stop using the ledger and tell the user; raise ReleaseRefused if it has a limit."""
        if not self.keeps:
            return
        self.keeps = False
        if self._limited:
            raise ReleaseRefused(f"the ledger's limit cannot be checked ({reason}): give ledger=FILE")
        self._tell(UNKEPT.format(reason))


def mark_limited(ledger: str) -> None:
    """Create the file which shows that a ledger has a limit, but only for a default ledger."""
    with suppress(RuntimeError):  # no home
        if Path(ledger).resolve().parent == _state_directory().resolve():
            _mark_of(ledger).touch(0o600)
            sync_directory(_state_directory())


def _mark_of(ledger: str | Path) -> Path:
    return Path(f"{ledger}.limited")


def _marks() -> list[Path]:
    return list(_state_directory().glob("ledger-*.db.limited"))


def find_key(options: LedgerOptions, *, needed: bool = False, read_only: bool = False) -> bytes | None:
    """Return the secret key for digests; None if no key can be stored and no key is needed.

    With ``read_only``, a missing key is not stored: the returned key matches no ledger.
    """
    with suppress(RuntimeError):  # no home
        if read_only and not Path(options.key or key_location()).exists():
            return throwaway_key()
    try:
        return secret_key(options.key)
    except AdeptError:
        if options.key or needed or options.ledger not in (None, NO_LEDGER):
            raise
        return None


@contextmanager
def open_ledger(
    options: LedgerOptions, key: bytes | None, *, tell: Tell = LOG.warning, read_only: bool = False
) -> Iterator[Ledger | None]:
    """Context manager: open and yield the ledger of a release, or yield None if there is none.

    ``key`` is the secret key for digests, or None if no key can be stored. ``tell`` is called with
    one line of text if the default ledger cannot be used. A dry run opens the ledger ``read_only``.
    """
    ledger: Ledger | None = None
    limit, columns = options.ledger_limit, options.record_columns
    common: dict[str, Any] = {"limit": limit, "record_columns": columns, "read_only": read_only}
    if options.ledger is None:
        ledger = _open_default(key, tell=tell, **common)
    elif options.ledger != NO_LEDGER:
        ledger = Ledger(options.ledger, key=key, again=options.again, **common)
    elif limit is not None or columns is not None:
        raise ConfigurationError("ledger must be given with ledger_limit or record_columns, got none: give ledger=FILE")
    try:
        yield ledger
    finally:
        if ledger is not None:
            ledger.close()


def describe_overlap(ledger: Ledger | None) -> list[str]:
    """Return lines of text about earlier releases of this run's records.

    Only the person who holds the input may see these lines.
    """
    if ledger is None or not ledger.keeps or not ledger.overlap.epsilon:
        return []
    overlap = ledger.overlap
    if not overlap.records:
        return [f"with this release a record has spent up to epsilon {words(overlap.epsilon)} in all ({ledger.path})"]
    who = "1 record was" if overlap.records == 1 else f"{overlap.records} different records were"
    return [
        f"{who} released before, {'once' if overlap.releases == 1 else f'up to {overlap.releases} times'}; with this release a "
        f"record has spent up to epsilon {words(overlap.epsilon)} in all ({ledger.path})"
    ]


def _open_default(key: bytes | None, *, tell: Tell, **options: Any) -> DefaultLedger | None:
    limited = options["limit"] is not None
    try:
        limited = limited or bool(_marks())
        if key is None:
            raise DataError("no key can be kept")
        location = default_location(key)
        if not options["read_only"]:
            make_directory(location.parent, mode=0o700)
        return DefaultLedger(str(location), key=key, tell=tell, **options)
    except (OSError, RuntimeError, DataError) as error:  # RuntimeError: the user has no home directory
        reason = str(error)
    if limited:
        raise ReleaseRefused(
            f"the limit cannot be checked, as no ledger can be kept ({reason}): mend that, or give ledger=FILE"
        )
    tell(UNKEPT.format(reason))
    return None
