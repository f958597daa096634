"""Whatever a file, a model or foreign code brings is printed as text: no markup is read, and nothing acts on a terminal."""

import ast
import io
import json
import sys
from contextlib import closing
from pathlib import Path

import pytest
from made_statements import spending
from tiny import Run

from adept import __main__ as command_line
from adept.audit.result import AuditResult, Check, Verdict
from adept.cli import audit, console
from adept.cli.process import USER_ERROR, guard
from adept.comparison.results import AuditVerdict
from adept.errors import DataError
from adept.release.ledger.claims import Ledger
from adept.report.page import verdict

FOREIGN = {
    "q[final].txt": "q[final].txt",
    "q[/b].txt": "q[/b].txt",
    "[link=file:///etc]x[/link]": "[link=file:///etc]x[/link]",
    ":warning: \\[b]": ":warning: \\[b]",
    "\x1b[2J\x1b]0;title\x07": "\\x1b[2J\\x1b]0;title\\x07",
    "a\u202etxt.exe\u2066": "a\\u202etxt.exe\\u2066",
    "one\r\ntwo\tthree\x85four": "one\\r\\ntwo\\tthree\\x85four",
    "\udcff\u200b\x9b31m": "\\udcff\\u200b\\x9b31m",
    "naïve 東京 🙂": "naïve 東京 🙂",
}
EACH = pytest.mark.parametrize(("given", "shown"), FOREIGN.items())


@EACH
def test_every_line_and_cell_shows_a_foreign_string_as_text(
    given: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    console.show(given, [(given, given)])
    console.show_table(given, [given, "other"], [[given, given]])
    printed = capsys.readouterr().out
    assert printed.count(shown) == 7
    assert [line for line in printed.splitlines() if line != line.rstrip()] == []
    assert all(line.isprintable() for line in printed.split("\n"))
    console.warn(given)

    def fail() -> int:
        raise DataError(given)

    assert guard(fail) == USER_ERROR
    lines = capsys.readouterr().err.split("\n")
    assert lines[0] == f"adept: {shown}"
    assert len(lines) == 3  # the second is the error's, and the last is empty
    assert all(line.isprintable() for line in lines)


@EACH
def test_a_progress_bar_shows_a_foreign_string_as_text(given: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    monkeypatch.setenv("COLUMNS", "200")
    with console.progress(f"auditing {given}", lambda: 2) as advance:
        advance(1)
    assert f"auditing {shown}" in terminal.getvalue()


def test_no_command_prints_in_another_way() -> None:
    """A second writer would forget to escape; those that there are stand in one module."""
    places = [Path(command_line.__file__), *Path(console.__file__).parent.glob("*.py")]
    found = {
        (path.name, node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id)
        for path in places
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name)
    }
    writers = {"print", "writelines", "print_exc", "Console", "echo", "pprint"}
    allowed = {("console.py", "Console"), ("console.py", "print"), ("console.py", "writelines")}
    assert {pair for pair in found if pair[1] in writers} == allowed
    assert {name for name, called in found if called == "write"} == {"process.py", "compare.py"}


def test_a_ledger_lists_names_as_they_are(adept_here: Run, tmp_path: Path) -> None:
    """``q[final].txt`` was listed as ``q.txt``, and ``q[/b].txt`` ended the command for good."""
    place = str(tmp_path / "ledger.db")
    for number, name in enumerate(FOREIGN):
        with closing(Ledger(place, key=b"k" * 32)) as ledger:
            same = name.encode("utf-8", "ignore").decode("utf-8")
            ledger.begin(str(number), spending(neighbours=f"any two records with the same {same}"), name)
            ledger.collect([(str(number).encode(), 0)])
            ledger.claim()
            ledger.finish(str(number))
    listed = adept_here("ledger", place)
    assert listed.returncode == 0, listed.stderr
    flat = listed.stdout.replace("\n", "").replace(" ", "")
    for shown in FOREIGN.values():
        assert shown.replace(" ", "").replace("udcff", "xff") in flat  # a name of bytes is stored with escapes
    assert all(line.isprintable() for line in listed.stdout.split("\n"))


def test_columns_and_names_of_foreign_files_are_printed_as_text(
    adept_here: Run, tiny_l1_run: Path, tmp_path: Path
) -> None:
    column = "\x1b[2J[/b]\u202e"
    rows = [{"text": f"a fare {n}", column: n, "intent": "\x1b]0;x\x07"} for n in range(3)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    place = [f"input={tmp_path / 'in.jsonl'}", f"output={tmp_path}/a\x1b[2J[/b].jsonl", f"model_dir={tiny_l1_run}"]
    for options, status in (["keep_columns=[nothing]"], 2), ([f"keep_columns=[{column}]"], 0), ([], 2):
        done = adept_here("rewrite", *place, "epsilon=8", *options)
        assert done.returncode == status, done.stderr
        assert all(line.isprintable() for line in (done.stdout + done.stderr).split("\n"))
    assert "\\x1b[2J[/b]" in done.stderr  # the name of the file that is there already


def test_the_results_of_foreign_code_are_printed_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "\x1b[31mred[/b]\u202e"
    check = Check(name=hostile, verdict=Verdict.PASSED, evidence=hostile)
    told = {"mechanism": hostile, "source": hostile, "caveats": (hostile,), "not_looked_at": (hostile,)}
    numbers = {"claimed_epsilon": 1.0, "delta": 0.0, "dim": 2, "trials": 9, "confidence": 0.9, "seconds": 1.0}
    result = AuditResult(**told, **numbers, releases_judged=True, checks=(check,))  # type: ignore[arg-type]
    for verbose in (True, False):
        audit.show([result], verbose=verbose)
        printed = capsys.readouterr().out
        assert all(line.isprintable() for line in printed.split("\n"))
        assert printed.count("\\x1b[31mred[/b]\\u202e") >= (4 if verbose else 1), printed


def test_a_certified_epsilon_is_never_printed_larger_than_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """7.9996 was printed as "at least 8", the whole claim."""
    check = Check(name="event", verdict=Verdict.PASSED, evidence="seen", certified_epsilon=7.99996)
    numbers = {"claimed_epsilon": 8.0, "delta": 0.0, "dim": 2, "trials": 9, "confidence": 0.9, "seconds": 1.0}
    result = AuditResult(mechanism="m", source="m", **numbers, releases_judged=True, checks=(check,))  # type: ignore[arg-type]
    audit.show([result], verbose=True)
    assert capsys.readouterr().out.count("7.999") == 2
    assert "certified epsilon at least 7.999 at confidence 0.9" in result.sentence
    assert "at least 7.999" in verdict(AuditVerdict("m", 8.0, False, 7.99996, "seen", "none"))
