"""``adept ledger``: list the releases in a ledger and the sums of their budgets, or set a limit."""

from contextlib import closing, suppress
from decimal import ROUND_FLOOR, Context
from pathlib import Path

from adept.cli.config import LedgerConfig
from adept.cli.console import show, show_table
from adept.data.writing import make_directory
from adept.errors import DataError
from adept.mechanisms.guarantee import words
from adept.release.ledger.claims import Ledger
from adept.release.ledger.default import default_location, mark_limited
from adept.release.ledger.file import LedgerEntry, LedgerSum
from adept.release.ledger.identity import key_location, secret_key

NOT_CHECKED = "for one record, in no other sum: the authors' own claims, of mechanisms that are not part of adept"
COUNTED = "epsilon for replacing one record; a release by synthesize counts for every record, as often as times says"
OTHER_SPELLING = "another record, even if a mechanism reads both alike: their budgets are not added up"
SHOWN_WITHOUT_KEY = (
    "this file shows in which releases each record and person is, and how many records a person has in each"
)
ROUNDED_DOWN = Context(prec=4, rounding=ROUND_FLOOR)  # what is left
HEADINGS = ["begun (UTC)", "finished", "mechanism", "epsilon", "times", "delta", "records", "unit", "model", "output"]


def main(config: LedgerConfig) -> None:
    """Print the sums of the budgets in a ledger, and the releases that the ledger lists."""
    entries, summed, limit = run(config)
    show(f"{summed.releases} release{'s' * (summed.releases != 1)}", _lines(entries, summed, limit))
    show_table(_place(config), HEADINGS, [_line(entry) for entry in entries])
    if limit is not None and summed.persons and not summed.nameless:
        show("How much epsilon is left for a person", _list_left(summed, limit))


def run(config: LedgerConfig) -> tuple[list[LedgerEntry], LedgerSum, float | None]:
    """Store a given limit or approval; return all releases, the sums of budgets, and the limit."""
    place = _place(config)
    with closing(Ledger(place)) as ledger:
        if config.limit is not None:
            ledger.set_limit(config.limit)
            mark_limited(place)
        if config.approve is not None and config.approved_by is not None:
            ledger.approve(config.approve, config.approved_by)
        return ledger.entries(), ledger.sum(), ledger.limit


def _place(config: LedgerConfig) -> str:
    if config.ledger is None:
        location = None
        with suppress(RuntimeError, OSError):  # no home
            if key_location().is_file() or config.limit is not None:
                location = default_location(secret_key())
        if location is not None and config.limit is not None:
            make_directory(location.parent, mode=0o700)
        elif location is None or not location.is_file():
            raise DataError("no ledger was kept yet: give ledger=FILE, or release something with adept rewrite")
        return str(location)
    if not Path(config.ledger).is_file() and config.limit is None:
        raise DataError(f"ledger must be a file, got {config.ledger}: adept rewrite ledger={config.ledger} makes one")
    return config.ledger


def _lines(entries: list[LedgerEntry], summed: LedgerSum, limit: float | None) -> list[tuple[str, str]]:
    proved = "" if summed.unproved is None else "proved "
    spent = f"{words(summed.epsilon)}, delta {words(summed.delta)}, in all {proved}releases together"
    pairs = sorted({entry.neighbours for entry in entries if not entry.everywhere})
    persons = " and person" if any(entry.persons for entry in entries) else ""
    together = f"{summed.equal}: if they belong to one person, their budgets add up too"
    bound, named = words(summed.person_epsilon or 0.0), summed.person_epsilon is not None
    bound += f", delta {words(summed.person_delta)}" if summed.person_delta else ""
    bound += ", in all proved releases together" if proved else ""
    bound += f": {summed.nameless} of the releases named no persons" if summed.nameless else ""
    rows: list[tuple[object, str, str]] = [
        (True, "different records", str(summed.rows)),
        (True, "most for one record", spent),
        (proved, "claimed, not checked", f"{words(summed.unproved or 0.0)} {NOT_CHECKED}"),
        (any(entry.everywhere for entry in entries), "what is added up", COUNTED),
        (summed.rows, "another spelling", OTHER_SPELLING),
        (summed.rows, "without its key", SHOWN_WITHOUT_KEY),
        (len(pairs) > 1 or any("same" in pair for pair in pairs), "holds for", "; and ".join(pairs)),
        (summed.equal > 1, "equal records in one release", together),
        (named, "different persons", str(summed.persons)),
        (named, "most for one person", bound),
        (limit is not None, "limit", f"{words(limit or 0.0)} for each record{persons}"),
        *((entry.approved, "approved", _approval(entry)) for entry in entries),
    ]
    return [(name, text) for holds, name, text in rows if holds]


def _list_left(summed: LedgerSum, limit: float) -> list[tuple[str, str]]:
    totals = [(summed.everywhere, "each person who is in no local release")]
    totals += [(total, f"{count} person{'s' * (count > 1)}") for total, count in summed.spent]
    amounts = [(ROUNDED_DOWN.create_decimal(repr(max(0.0, limit - total))).normalize(), who) for total, who in totals]
    return [(f"{amount:f}", who) for amount, who in amounts]


def _approval(entry: LedgerEntry) -> str:
    content = f"sha256 {entry.output_sha256}" if entry.output_sha256 else "by its name alone, in an earlier version"
    return f"{entry.output} ({content}) by {entry.approved}"


def _line(entry: LedgerEntry) -> list[str]:
    return [
        entry.started, entry.finished or "interrupted, or running", entry.mechanism,
        words(entry.epsilon) if entry.unproved is None else f"{words(entry.unproved)} (not checked)",
        str(entry.counted), words(entry.delta), "all" if entry.everywhere else str(entry.rows), entry.unit,
        (entry.model_sha256 or "")[:12], entry.output,
    ]  # fmt: skip
