"""Files of every version since 0.2.0 are read as they were meant, or refused in one line (`docs/operation.md`).

``tests/specimens`` keeps one small file of each version, called after it. A new version adds its own, and changes none.
"""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from made_statements import spending

from adept.errors import DataError, ReleaseRefused
from adept.release import ledger_file, resume_journal, verify_statement
from adept.release.ledger import Ledger
from adept.release.record_identity import TEXT_ROLE, Identity
from adept.release.resume_journal import Journal
from adept.release.verify_statement import check

SPECIMENS = Path(__file__).parents[1] / "specimens"
KEY = b"k" * 32
APPROVED_IN_4 = """
CREATE TABLE approvals (release INTEGER, approved_by TEXT, approved TEXT);
CREATE INDEX approvals_again ON approvals (release, approved_by, approved);
INSERT INTO approvals VALUES (1, 'J. Doe', '2026');
"""


def copied(name: str, directory: Path) -> Path:
    """Copy a specimen, which is then its owner's alone, as journals and ledgers are."""
    shutil.copyfile(SPECIMENS / name, directory / name)
    (directory / name).chmod(0o600)
    return directory / name


def test_every_version_has_a_specimen() -> None:
    now = {
        f"local-{verify_statement.STATEMENT_VERSION}.privacy.json",
        f"central-{verify_statement.STATEMENT_VERSION}.privacy.json",
        f"ledger-{ledger_file.LEDGER_VERSION}.db",
        f"journal-{resume_journal.JOURNAL_VERSION}.journal",
    }
    assert now <= {path.name for path in SPECIMENS.iterdir()}


@pytest.mark.parametrize(("name", "epsilon"), [("local-1", "8"), ("central-1", "2")])
def test_a_statement_is_checked(name: str, epsilon: str) -> None:
    shown = check(str(SPECIMENS / f"{name}.privacy.json"))
    assert any(f"epsilon {epsilon}" in sentence for sentence in shown), shown


@pytest.mark.parametrize("name", ["ledger-4.db", "ledger-5.db"])
def test_a_ledger_counts_no_less_than_it_lists(name: str, tmp_path: Path) -> None:
    with closing(Ledger(str(copied(name, tmp_path)), key=KEY)) as ledger:
        summed = ledger.sum()
        assert (summed.releases, summed.rows, summed.epsilon, ledger.limit) == (1, 2, 8.0, 20.0)
        ledger.begin("new", spending(), "out")
        identity = Identity.of(KEY, [TEXT_ROLE], text_column="text", person_column=None)
        ledger.collect(identity.subjects({"text": "play jazz"}, 1))
        with pytest.raises(ReleaseRefused, match="1 different rows are in the ledger already, with epsilon 8 in all"):
            ledger.claim()


@pytest.mark.parametrize("approved", ["", APPROVED_IN_4])
def test_a_ledger_of_version_4_says_that_it_knows_no_content(approved: str, tmp_path: Path) -> None:
    place, out = str(copied("ledger-4.db", tmp_path)), tmp_path / "out.jsonl"
    out.write_bytes(b"{}\n")
    with closing(sqlite3.connect(place)) as database:
        database.executescript(approved)
    for _ in range(2):  # the first time, the ledger becomes one of this version
        with closing(Ledger(place, key=KEY)) as ledger:
            told = "does not know the content of 1 of its releases .* so sign their statements instead"
            with pytest.raises(DataError, match=told):
                ledger.approve(str(out), "J. Doe")
            [entry] = ledger.entries()
            assert (entry.output_sha256, entry.approved) == (None, "J. Doe, 2026" if approved else "")
    with closing(sqlite3.connect(place)) as database:
        assert database.execute("SELECT version FROM adept").fetchone() == (ledger_file.LEDGER_VERSION,)


def test_a_journal_holds_what_was_drawn(tmp_path: Path) -> None:
    with Journal(copied("journal-3.journal", tmp_path)) as held:
        texts = [entry["texts"] for entry in held.entries()]
        assert (held.records, held.finished, texts) == (3, False, [["play music", "book a flight"], ["what is new"]])
