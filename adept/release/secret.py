"""The key of digests, and digests of rows: what journal and ledger keep of records, so that no guess can be tested against them.

A digest without a key is an oracle: whoever holds it can try every likely utterance. The key lies outside journal and ledger, in a
file of its own that its owner alone can read, so that either can be handed on by mistake without telling anything.
"""

import hashlib
import os
import secrets
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adept.errors import DataError

KEY_BYTES = 32
DIGEST_BYTES = 16


def key_location() -> Path:
    """Return where the key lies unless told otherwise: ``~/.config/adept/key``, or under ``$XDG_CONFIG_HOME``."""
    given = os.environ.get("XDG_CONFIG_HOME")
    return (Path(given) if given else Path("~").expanduser() / ".config") / "adept" / "key"


def secret_key(path: str | None = None) -> bytes:
    """Return the key, 32 bytes, made on first use with mode 0600.

    Raises:
        DataError: it cannot be kept or read, others can read it, or it is no key.
    """
    advice = "give key=FILE"
    try:
        location = Path(path) if path else key_location()
        if not location.exists():
            _make(location)
        if location.stat().st_mode & 0o077:
            raise DataError(f"{location} must be readable by its owner alone: chmod 600 it")
        key = location.read_bytes()
    except (OSError, RuntimeError) as error:  # a RuntimeError says that there is no home
        raise DataError(f"cannot keep a key ({getattr(error, 'strerror', None) or 'no home'}): {advice}") from None
    if len(key) != KEY_BYTES:
        raise DataError(f"{location} is not a key of adept: {advice}")
    return key


def throwaway_key() -> bytes:
    """Return a key that is kept nowhere: its digests can be compared within one run alone."""
    return secrets.token_bytes(KEY_BYTES)


def _make(location: Path) -> None:
    """Write a new key whole, under a name that only one of several runs can win."""
    location.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=location.parent)  # mode 0600
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(secrets.token_bytes(KEY_BYTES))
            stream.flush()
            os.fsync(stream.fileno())
        os.link(name, location)
    except FileExistsError:
        pass  # another run was faster; its key counts
    finally:
        Path(name).unlink()


def row_digest(key: bytes, record: Mapping[str, Any]) -> bytes:
    """Return the keyed digest of a whole row, 16 bytes; the order of the columns does not matter, the type of a value does."""
    content = repr(sorted(record.items(), key=lambda item: item[0])).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(content, key=key, digest_size=DIGEST_BYTES, person=b"adept row").digest()


class Prefix:
    """The running digest of all rows so far, in order."""

    def __init__(self, key: bytes) -> None:
        self._state = hashlib.blake2b(key=key, digest_size=DIGEST_BYTES, person=b"adept prefix")

    def add(self, digest: bytes) -> None:
        """Take the next row's digest in."""
        self._state.update(digest)

    def hexdigest(self) -> str:
        """Return the digest of the rows so far."""
        return self._state.hexdigest()
