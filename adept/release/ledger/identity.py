"""The identity of records and persons in journal and ledger: keyed digests and the secret key.

Journal and ledger contain digests of records. Without a key, anybody could compute the digests
of likely texts and look for them in these files. So the digests are computed with a secret key,
which lies in a separate file that only its owner can read.

The first release in a ledger decides which columns identify a record. The ledger stores these
columns as *roles*: the text, the person, or a column with a given name. So the ledger also
recognises records in files that use different names for the columns of text and person. Two records
with equal values in the identifying columns are one record, even if their other columns differ.

*Claim*: the digest of a record depends on its identifying values alone, not on the file's format. *Proof*: each value
becomes text by ``identity_text``, a function of that value alone. ``identity_text`` maps the spellings of a value in
different formats ("1", 1, 1.0) to one text. The digest is a function of the key, of the roles in sorted order, and of
the texts of all identifying values and the lengths of these texts. QED.
"""

import datetime
import hashlib
import json
import math
import numbers
import os
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from adept.data.formats import UnreadableValue
from adept.data.texts import plain_text
from adept.data.writing import make_directory, new_private_file, user_directory
from adept.errors import DataError, refuse
from adept.synthesis.votes import person_name

KEY_BYTES = 32
DIGEST_BYTES = 16

Role = tuple[str, str]
TEXT_ROLE, PERSON_ROLE = ("role", "text"), ("role", "person")
ROW_KIND, PERSON_KIND = 0, 1
DATE = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(?:\.(\d+))?)?(Z|[+-]\d\d:\d\d)?)?", re.ASCII)
FRACTION = re.compile(r"(-?\d+\.\d*[1-9])0+", re.ASCII)
UNWRITTEN = "a value that cannot be written down"  # stands for all such values, so they count as equal


def identity_text(value: Any) -> str | None:
    """Return the text that represents a value in its record's digest; None for a missing value."""
    if (text := plain_text(value)) is not None or value is None or isinstance(value, str):
        return text and _spelled(text)
    if hasattr(value, "tolist"):  # an array or a number of NumPy or PyTorch
        value = value.tolist()
    if isinstance(value, numbers.Real | Decimal):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            return UNWRITTEN
        return repr(number) if math.isfinite(number) else None
    if hasattr(value, "isoformat"):
        return _spelled(str(value.isoformat()))
    if isinstance(value, bytes):
        return plain_text(value.decode("utf-8", "backslashreplace"))
    if not isinstance(value, dict | list | tuple):
        return str(value) if isinstance(value, datetime.timedelta | UnreadableValue) else UNWRITTEN
    try:
        return json.dumps(value, sort_keys=True, default=identity_text)
    except (RecursionError, ValueError, TypeError):
        return UNWRITTEN


def _spelled(text: str) -> str:
    """Return one text for all spellings of a date, a time or a fraction."""
    if fraction := FRACTION.fullmatch(text):
        return fraction[1]
    if (found := DATE.fullmatch(text)) is None:
        return text
    day, time, seconds, part, zone = found.groups(default="")
    part = part.rstrip("0")
    if time in ("", "00:00") and seconds in ("", "00") and not part + zone:
        return day
    return f"{day}T{time}:{seconds or '00'}{part and '.' + part}{zone.replace('Z', '+00:00')}"


@dataclass(frozen=True)
class Identity:
    """The secret key of digests, and the columns that identify records, as pairs (role, name)."""

    key: bytes
    columns: tuple[tuple[Role, str], ...]
    person_column: str | None = None

    @classmethod
    def of(cls, key: bytes, roles: Sequence[Role], *, text_column: str, person_column: str | None) -> "Identity":
        """Return the identity: the key, and the columns with the given roles.

        Raise ConfigurationError if the roles include the person, but no column names persons.
        """
        refuse(
            (
                PERSON_ROLE in roles and person_column is None,
                "person_column must be given, got none: the ledger identifies records by their person too; name the column, or "
                "keep another ledger with ledger=FILE",
            )
        )
        plays = {TEXT_ROLE: text_column, PERSON_ROLE: person_column or ""}
        return cls(key, tuple((role, plays.get(role, role[1])) for role in sorted(roles)), person_column)

    def subjects(self, record: Mapping[str, Any], number: int) -> Iterator[tuple[bytes, int]]:
        """Yield (digest, kind) of the record and, if a column names persons, of the person."""
        yield self._record(record, number), ROW_KIND
        if self.person_column is not None:
            yield _digest(self.key, person_name(record.get(self.person_column)) or "", b"adept person"), PERSON_KIND

    def _record(self, record: Mapping[str, Any], number: int) -> bytes:
        values = []
        for role, column in self.columns:
            if column not in record:
                raise DataError(
                    f"column {column!r}, by which the ledger identifies records, is missing in record {number}: add it, or keep "
                    "another ledger with ledger=FILE"
                )
            value = record[column]
            text = person_name(value) if role == PERSON_ROLE else identity_text(value)
            values.append(f"{role[0]} {role[1]}\0" + ("-" if text is None else f"{len(text)}:{text}"))
        return _digest(self.key, "".join(values), b"adept record")


def choose_roles(
    columns: Sequence[str] | None, *, text_column: str, person_column: str | None
) -> tuple[Role, ...] | None:
    """Return the roles of the given columns in sorted order, or None if no columns are given."""
    if columns is None:
        return None
    refuse(
        (
            not columns or len(set(columns)) < len(columns),
            "record_columns must name each identifying column once: write record_columns=[id]",
        )
    )
    known = {text_column: TEXT_ROLE, **({person_column: PERSON_ROLE} if person_column else {})}
    return tuple(sorted(known.get(column, ("column", column)) for column in columns))


def describe_roles(roles: Sequence[Role]) -> str:
    return ", ".join(
        {TEXT_ROLE: "the text", PERSON_ROLE: "the person"}.get(role, f"column {role[1]!r}") for role in roles
    )


def _digest(key: bytes, content: str, domain: bytes) -> bytes:
    data = content.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, key=key, digest_size=DIGEST_BYTES, person=domain).digest()


# --- The key


def key_location() -> Path:
    """Return the default location of the key's file."""
    return user_directory("XDG_CONFIG_HOME", ".config") / "key"


def secret_key(path: str | None = None) -> bytes:
    """Return the 32-byte key from its file; create the file (mode 0600) if it does not exist."""
    try:
        location = Path(path) if path else key_location()
        if missing := not os.path.lexists(location):
            make_directory(location.parent, mode=0o700)
            with new_private_file(location) as partial:
                partial.write_bytes(throwaway_key())
        check_private(location)
        key = location.read_bytes()
    except RuntimeError as error:  # there is no home
        raise DataError(f"cannot keep a key ({error}): give key=FILE") from None
    except OSError as error:
        failed = f"cannot {'make' if missing else 'read'} the key {location}: {error.strerror}"
        raise DataError(f"{failed}: mend that, or give key=FILE") from None
    if len(key) != KEY_BYTES:
        raise DataError(f"{location} is not a key of adept: give key=FILE")
    return key


def check_private(path: Path) -> os.stat_result:
    """Return the state of a file (or of a pipe from ``<(command)``) that only its owner can read; else raise DataError."""
    state = path.stat()
    if state.st_mode & 0o077:
        wrong = "must be readable by its owner alone: chmod 600 it"
        raise DataError(f"{path} {wrong if path.is_file() else 'is a directory, a device or a pipe: name a file'}")
    return state


def throwaway_key() -> bytes:
    """Return a new random key, which is not stored."""
    return secrets.token_bytes(KEY_BYTES)


def row_digest(key: bytes, record: Mapping[str, Any]) -> bytes:
    """Return the keyed digest (16 bytes) of a row; the order of its columns does not matter."""
    return _digest(key, repr(sorted(record.items(), key=lambda item: item[0])), b"adept row")


def prefix_digest(key: bytes) -> "hashlib.blake2b":
    """Return a new keyed hash object; ``update`` adds the digest of the next row."""
    return hashlib.blake2b(key=key, digest_size=DIGEST_BYTES, person=b"adept prefix")
