"""``adept ledger`` says what its sums leave out, what the file shows, and which release is in the way of another."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tiny import Run

from adept.mechanisms import SqrtNLaplace
from adept.rewriting.rewriter import Rewriter


@pytest.fixture
def release(adept_here: Run, tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that releases rows through a ledger of the test's own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def run(name: str, rows: list[dict[str, str]], *options: str) -> object:
        (tmp_path / f"{name}.in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        place = f"input={tmp_path}/{name}.in.jsonl", f"output={tmp_path}/{name}.jsonl", f"ledger={tmp_path}/ledger.db"
        return adept_here("rewrite", f"model_dir={tiny_run}", *place, "epsilon=8", *options)

    return run


def listed(adept_here: Run, tmp_path: Path) -> str:
    return " ".join(adept_here("ledger", str(tmp_path / "ledger.db")).stdout.split())


def test_another_spelling_is_another_row_and_the_ledger_and_the_statement_say_so(
    release: Run, adept_here: Run, tiny_run: Path, tmp_path: Path
) -> None:
    """The mechanism reads both alike, so ``ledger_limit=8`` was never a limit on what is said about the text."""
    one, two = "Play Jazz", "play  jazz"
    rewriter = Rewriter.from_pretrained(tiny_run, mechanism=SqrtNLaplace(epsilon=8.0))
    assert rewriter.encode([one]).equal(rewriter.encode([two]))
    for name, text in (("a", one), ("b", two)):
        done = release(name, [{"text": text}], "ledger_limit=8")
        assert done.returncode == 0, done.stderr
        said = json.loads((tmp_path / f"{name}.jsonl.privacy.json").read_text("utf-8"))
        assert "another spelling of a text is another record" in said["composition"]
        assert said["composition"] in said["statement"]
    shown = listed(adept_here, tmp_path)
    assert "different records 2 most for one record 8, delta 0" in shown
    assert "another spelling another record, even if a mechanism reads both alike" in shown
    assert release("c", [{"text": one}], "ledger_limit=8").returncode == 2


def test_the_ledger_says_what_its_file_shows_without_the_key(release: Run, adept_here: Run, tmp_path: Path) -> None:
    """Rows of a person in each release, under one pseudonym: that is read here without a key."""
    rows = [{"text": f"a fare {n}", "who": "ann" if n < 3 else "bob"} for n in range(4)]
    for name, some in (("a", rows), ("b", [{"text": "a train", "who": "ann"}])):
        done = release(name, some, "person_column=who", "max_records_per_person=3", "again=true")
        assert done.returncode == 0, done.stderr
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as database:
        seen = database.execute("SELECT digest, release, times FROM claims WHERE kind = 1 ORDER BY 2, 3").fetchall()
    assert [(number, times) for _, number, times in seen] == [(1, 1), (1, 3), (2, 1)]
    assert seen[1][0] == seen[2][0]
    assert "without its key this file shows in which releases each record and person is" in listed(adept_here, tmp_path)


@pytest.mark.parametrize("first", ["persons", "none"])
def test_a_refusal_names_the_release_that_is_in_the_way(
    first: str, release: Run, adept_here: Run, tmp_path: Path
) -> None:
    persons = ["person_column=who", "max_records_per_person=1"]
    before, after = (persons, []) if first == "persons" else ([], persons)
    for name in ("one", "two"):
        assert release(name, [{"text": name, "who": "ann"}], *before, "record_columns=[text]").returncode == 0
    assert adept_here("ledger", f"ledger={tmp_path}/ledger.db", "limit=100").returncode == 0
    refused = release("three", [{"text": "three", "who": "ann"}], *after, "record_columns=[text]")
    word = "with" if first == "persons" else "without"
    told = f"has a limit and lists a release {word} persons ({tmp_path}/one.jsonl, begun 20"
    assert (refused.returncode, told in refused.stderr) == (2, True), refused.stderr
    assert "and 1 more), so no total of a person is known" in refused.stderr


def files(directory: Path) -> dict[Path, tuple[bytes, int]]:
    found = [path for path in directory.rglob("*") if path.is_file()]
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in found}


PERSONS = ["person_column=who", "max_records_per_person=2", "ledger_limit=16"]
JULY = [{"text": "hello", "who": "ann"}, {"text": "bye", "who": "ann"}, {"text": "yes", "who": "bob"}]
AUGUST = [{"text": "no", "who": "ann"}, {"text": "two", "who": "bob"}, {"text": "six", "who": "bob"}]


def test_a_dry_run_says_what_the_ledger_would_answer_and_changes_no_file(release: Run, tmp_path: Path) -> None:
    first = release("july", JULY, *PERSONS, "dry_run=true")
    assert (first.returncode, {path.name for path in tmp_path.rglob("*")}) == (0, {"july.in.jsonl"})
    assert "not part of the release: the ledger would accept this release" in first.stderr
    assert release("july", JULY, *PERSONS).returncode == 0
    release("august", AUGUST, *PERSONS, "dry_run=true")
    before = files(tmp_path)
    refused = release("august", AUGUST, *PERSONS, "dry_run=true")
    dropped = release("august", AUGUST, *PERSONS, "over_limit=drop", "dry_run=true")
    known = release("august", [JULY[2]], *PERSONS, "over_limit=drop", "dry_run=true")
    (tmp_path / "august.in.jsonl").write_bytes(before[tmp_path / "august.in.jsonl"][0])
    after = files(tmp_path)
    before.pop(tmp_path / "august.in.jsonl")
    after.pop(tmp_path / "august.in.jsonl")
    assert before == after
    assert [done.returncode for done in (refused, dropped, known)] == [0, 0, 0]
    would = "not part of the release: the ledger would refuse this release: "
    assert (
        f"{would}the ledger's limit is epsilon 16, and this release would bring 2 persons to as much as 24"
        in refused.stderr
    )
    assert "not part of the release: 2 records of 2 persons are left out" in dropped.stderr
    assert "1 records would be rewritten" in dropped.stdout
    assert f"{would}the ledger holds 1 of the records already" in known.stderr
    assert not any("persons" in done.stdout.splitlines()[0] for done in (refused, dropped, known))


def test_a_dry_run_asks_ledgers_of_every_version_and_the_one_by_default(
    adept_here: Run, tiny_run: Path, tmp_path: Path
) -> None:
    specimens, key = Path(__file__).parents[1] / "specimens", tmp_path / "key"
    key.write_bytes(b"k" * 32)
    key.chmod(0o600)
    (tmp_path / "in.jsonl").write_text('{"text": "play jazz"}\n')
    command = [
        "rewrite",
        f"model_dir={tiny_run}",
        f"input={tmp_path}/in.jsonl",
        f"output={tmp_path}/out.jsonl",
        "epsilon=8",
    ]
    for version in (4, 5, 6):
        place = tmp_path / f"{version}.db"
        place.write_bytes((specimens / f"ledger-{version}.db").read_bytes())
        place.chmod(0o600)
        before = files(tmp_path)
        done = adept_here(*command, f"ledger={place}", f"key={key}", "dry_run=true")
        assert (done.returncode, files(tmp_path)) == (0, before), done.stderr
        assert "the ledger would refuse this release: the ledger holds 1 of the records already" in done.stderr
    assert adept_here(*command).returncode == 0
    (tmp_path / "out.jsonl").unlink()
    (tmp_path / "out.jsonl.privacy.json").unlink()
    assert "would refuse" in adept_here(*command, "ledger_limit=15", "dry_run=true").stderr
    assert "would accept" in adept_here(*command, "ledger_limit=16", "dry_run=true").stderr
    assert "the ledger would" not in adept_here(*command, "ledger=none", "dry_run=true").stderr


def test_a_dry_run_of_synthesize_asks_the_ledger(adept_here: Run, topic_run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "play jazz"}\n')
    command = [
        "synthesize",
        f"model_dir={topic_run}",
        f"input={tmp_path}/in.jsonl",
        f"output={tmp_path}/out.jsonl",
        "labels=drop",
    ]
    for limit, answer in ((1, "refuse"), (2, "accept")):  # replacing a record costs 2
        done = adept_here(*command, "epsilon=1", f"ledger={tmp_path}/l.db", f"ledger_limit={limit}", "dry_run=true")
        assert (done.returncode, {path.name for path in tmp_path.iterdir()}) == (0, {"in.jsonl"}), done.stderr
        assert f"not part of the release: the ledger would {answer} this release" in done.stderr


def test_a_ledger_with_a_limit_lists_how_many_persons_have_how_much_left(
    release: Run, adept_here: Run, tmp_path: Path
) -> None:
    rows = [{"text": "dan", "who": "dan"}, {"text": "eve", "who": "eve"}]
    for month, given in (("july", JULY), ("august", rows)):
        assert release(month, given, *PERSONS[:2]).returncode == 0
    assert "left for a person" not in listed(adept_here, tmp_path)
    for limit, left in (
        ("20.5", ["20.5", "12.5 3", "4.5 1"]),
        ("10", ["10", "2 3", "0 1"]),
        ("8.12345", ["8.123", "0.1234 3", "0 1"]),
    ):
        told = adept_here("ledger", f"{tmp_path}/ledger.db", f"limit={limit}").stdout
        lines = told.partition("How much epsilon is left for a person\n")[2].splitlines()
        assert [" ".join(line.partition("person")[0].replace("each", "").split()) for line in lines] == left
