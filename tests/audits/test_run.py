"""`python audits/run.py`, as a user runs it in a checkout; the installed package has no audits of others."""

import json
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from functools import partial
from pathlib import Path

import forked
import run
from proving import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_each_command_of_the_docs_has_options_that_exist() -> None:
    commands = [
        found for page in PAGES for found in re.findall(r"python audits/run\.py ([^#`\n]+)", page.read_text("utf-8"))
    ]
    assert {run.parse(shlex.split(command))["study"] for command in commands} == {"wild", "zoo"}


def test_it_writes_a_table_a_figure_and_the_result(tmp_path: Path) -> None:
    command = [sys.executable, "audits/run.py", "zoo", "--only", "CusText", "--trials", "400"]
    done = subprocess.run(
        [*command, "--output-dir", str(tmp_path / "out")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"zoo.csv", "zoo.pdf", "zoo.svg", "result.json"}
    result = json.loads((tmp_path / "out" / "result.json").read_text("utf-8"))
    assert [row["mechanism"] for row in result["rows"]] == ["CusText", "CusText"]
    assert (result["study"], result["simulated"]) == ("zoo", False)


def test_an_unknown_package_is_an_error_of_one_line(tmp_path: Path) -> None:
    script = partial(runpy.run_path, str(ROOT / "audits" / "run.py"), run_name="__main__")
    done = forked.run("wild", "--only", "nonsense", "--output-dir", tmp_path / "out", program=script)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("audits: only must be one of diff_priv_laplace_python")
    assert done.stderr.count("\n") == 1


def test_the_wheel_has_no_audits_of_others() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert (build["packages"], build["force-include"]) == (["adept"], {"conf": "adept/conf"})
