"""Files of every version since 0.2.0 are read as they were meant, or refused in one line (`docs/operation.md`).

``tests/specimens`` keeps one small file of each version, called after it. A new version adds its own, and changes none.
"""

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from adept.errors import ReleaseRefused
from adept.mechanisms import LearnedCodebook
from adept.release import ledger_file, resume_journal, verify_statement
from adept.release.ledger import Ledger
from adept.release.ledger_file import Spending
from adept.release.record_identity import TEXT_ROLE, Identity
from adept.release.resume_journal import Journal
from adept.release.verify_statement import check
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import Rewriter

SPECIMENS = Path(__file__).parents[1] / "specimens"
KEY = b"k" * 32


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


def test_a_ledger_counts_no_less_than_it_lists(tmp_path: Path) -> None:
    with closing(Ledger(str(copied("ledger-4.db", tmp_path)), key=KEY)) as ledger:
        summed = ledger.sum()
        assert (summed.releases, summed.rows, summed.epsilon, ledger.limit) == (1, 2, 8.0, 20.0)
        ledger.begin("new", Spending(mechanism="l1", epsilon=1.0, delta=0.0, model_sha256=None), "out")
        identity = Identity.of(KEY, [TEXT_ROLE], text_column="text", person_column=None)
        ledger.collect(identity.subjects({"text": "play jazz"}, 1))
        with pytest.raises(ReleaseRefused, match="1 different rows are in the ledger already, with epsilon 8 in all"):
            ledger.claim()


def test_a_journal_holds_what_was_drawn(tmp_path: Path) -> None:
    with Journal(copied("journal-3.journal", tmp_path)) as held:
        texts = [entry["texts"] for entry in held.entries()]
        assert (held.records, held.finished, texts) == (3, False, [["play music", "book a flight"], ["what is new"]])


@pytest.mark.parametrize("name", ["model-0.2.0", "adapted-0.2.0"])
def test_a_model_of_0_2_is_loaded(name: str) -> None:
    model, tokenizer = load_model(SPECIMENS / name)
    assert model.training_data.public
    rewriter = Rewriter(model, tokenizer, mechanism=LearnedCodebook(epsilon=8.0))
    assert len(rewriter.rewrite(["flights to boston"])) == 1
