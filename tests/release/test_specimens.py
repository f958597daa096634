"""Files of every version since 0.2.0 are read as they were meant, or refused in one line (`docs/operation.md`).

``tests/specimens`` keeps one small file of each version, called after it. A new version adds its own, and changes none.
"""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from made_statements import spending

from adept.cli.verify import VerifyConfig, run
from adept.errors import DataError, ModelError, ReleaseRefused
from adept.mechanisms import Description, L1Laplace, LearnedCodebook, SqrtNLaplace
from adept.mechanisms.base import Kind
from adept.models.config import DecodingConfig
from adept.release.flow import journal as resume_journal
from adept.release.flow.journal import Journal
from adept.release.flow.local import release_file
from adept.release.ledger import file as ledger_file
from adept.release.ledger.claims import Ledger
from adept.release.ledger.identity import TEXT_ROLE, Identity
from adept.release.records import ReleaseOptions
from adept.release.statement import verify as verify_statement
from adept.release.statement.verify import check
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import Rewriter

SPECIMENS = Path(__file__).parents[1] / "specimens"
KEY = b"k" * 32
APPROVED_IN_4 = """
CREATE TABLE approvals (release INTEGER, approved_by TEXT, approved TEXT);
CREATE INDEX approvals_again ON approvals (release, approved_by, approved);
INSERT INTO approvals VALUES (1, 'J. Doe', '2026');
"""
TEXTS = ["flights to boston", "what is the cheapest fare", "", "thanks"]
GREEDY = DecodingConfig(strategy="greedy")


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


@pytest.mark.parametrize(
    ("name", "epsilon"),
    [(f"{kind}-{version}", epsilon) for kind, epsilon in (("local", "8"), ("central", "2")) for version in (1, 2, 3)],
)
def test_a_statement_is_checked(name: str, epsilon: str) -> None:
    place = str(SPECIMENS / f"{name}.privacy.json")
    for shown in (check(place), run(VerifyConfig(statement=place))):
        assert any(f"epsilon {epsilon}" in sentence for sentence in shown), shown


@pytest.mark.parametrize("name", ["ledger-4.db", "ledger-5.db", "ledger-6.db", "ledger-7.db"])
def test_a_ledger_counts_no_less_than_it_lists(name: str, tmp_path: Path) -> None:
    with closing(Ledger(str(copied(name, tmp_path)), key=KEY)) as ledger:
        summed = ledger.sum()
        assert (summed.releases, summed.rows, summed.epsilon, ledger.limit) == (1, 2, 8.0, 20.0)
        ledger.begin("new", spending(), "out")
        identity = Identity.of(KEY, [TEXT_ROLE], text_column="text", person_column=None)
        ledger.collect(identity.subjects({"text": "play jazz"}, 1))
        with pytest.raises(ReleaseRefused, match="the ledger holds 1 of the records already, with epsilon 8 in all"):
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
    with Journal(copied("journal-4.journal", tmp_path)) as held:
        texts = [entry["texts"] for entry in held.entries()]
        assert (held.records, held.finished, texts) == (3, False, [["play music", "book a flight"], ["what is new"]])


def test_a_model_of_0_2_is_loaded() -> None:
    model, tokenizer = load_model(SPECIMENS / "model-0.2.0")
    assert model.training_data.public
    rewriter = Rewriter(model, tokenizer, mechanism=LearnedCodebook(epsilon=8.0))
    assert len(rewriter.rewrite(["flights to boston"])) == 1


def test_a_model_of_0_2_of_broad_text_is_refused_in_one_line() -> None:
    """A lexicon grouped its sentences, where the sentence encoder does now."""
    with pytest.raises(ModelError, match=r"older version.*: adapt or train the model again$") as caught:
        load_model(SPECIMENS / "adapted-0.2.0")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("mechanism", [L1Laplace, SqrtNLaplace, LearnedCodebook])
def test_a_model_of_0_2_writes_the_texts_that_it_wrote(mechanism: Kind, tmp_path: Path) -> None:
    """At a budget that leaves no doubt: the texts were written down with 0.2.0."""
    expected = json.loads((SPECIMENS / "texts-0.2.0.json").read_text("utf-8"))["model-0.2.0"]
    model, tokenizer = load_model(SPECIMENS / "model-0.2.0")
    if model.clip not in mechanism.serves:
        assert mechanism.name not in expected
        return
    rewriter = Rewriter(
        model,
        tokenizer,
        mechanism=mechanism(epsilon=1e6 if mechanism is not LearnedCodebook else 60.0),
        decoding=GREEDY,
    )
    assert rewriter.rewrite(TEXTS) == expected[mechanism.name]


def test_a_list_of_public_sentences_of_0_2_serves_descriptions() -> None:
    model, tokenizer = load_model(SPECIMENS / "model-0.2.0")
    rewriter = Rewriter(model, tokenizer, mechanism=Description(epsilon=60.0))
    assert rewriter.rewrite(model.public_texts) == model.public_texts


@pytest.mark.parametrize("name", ["description-0.2.0", "large-0.2.0"])
@pytest.mark.parametrize("resume", [True, False])
def test_a_journal_of_0_2_is_refused_and_kept(name: str, resume: bool, tmp_path: Path) -> None:
    """It holds what was drawn in two numbers a record; the message names the version that can go on."""
    (tmp_path / "in.jsonl").write_text("".join(f'{{"text": "a fare to {number}"}}\n' for number in range(6)))
    journal, target = copied(f"{name}.journal", tmp_path), tmp_path / "out.jsonl"
    held = journal.rename(f"{target}.journal").read_bytes()
    rewriter = Rewriter(*load_model(SPECIMENS / "model-0.2.0"), mechanism=Description(epsilon=4.0), batch_size=4)
    options = ReleaseOptions(labels="drop", shuffle=name == "large-0.2.0")
    with pytest.raises(DataError, match=r"continue with adept 0\.2|resume=true") as refused:
        release_file(rewriter, str(tmp_path / "in.jsonl"), str(target), options=options, resume=resume, key=KEY)
    assert "\n" not in str(refused.value)
    assert ("adept 0.2" in str(refused.value)) or not resume
    assert Path(f"{target}.journal").read_bytes() == held
    assert not target.exists()
