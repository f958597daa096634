"""The notebooks of examples/ run, and the outputs in them are those of their code."""

import json
import re
import shutil
from pathlib import Path

import pytest
from notebooks import DIGEST, NOTEBOOKS, Notebook, code_cells, code_digest, command_lines, join, read, run

MACHINE = re.compile(r"/(tmp|home|root|usr|var|work|Users)/")  # begins a path of one machine
MAX_BYTES = 200_000  # of a notebook with its pictures
NAMES = ["a_private_file_for_a_vendor", "the_devil_in_the_detail", "your_own_mechanism"]

every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def find_faults(notebook: Notebook) -> list[str]:
    """Return the reasons why the outputs cannot be those of the code."""
    cells = code_cells(notebook)
    outputs = [output for cell in cells for output in cell["outputs"]]
    numbers = [cell["execution_count"] for cell in cells]
    faults = {
        "the code was changed after it ran: python tests/notebooks.py": notebook["metadata"].get(DIGEST)
        != code_digest(notebook),
        "cells did not run in order": numbers != list(range(1, len(cells) + 1)),
        "a cell failed": any(output["output_type"] == "error" for output in outputs),
        "no picture": not any("image/" in kind for output in outputs for kind in output.get("data", {})),
        "a path of a machine": MACHINE.search(json.dumps(outputs)) is not None,
    }
    return [fault for fault, found in faults.items() if found]


def test_there_are_three_notebooks() -> None:
    assert [path.stem for path in NOTEBOOKS] == NAMES


@every_notebook
def test_the_outputs_of_a_notebook_are_those_of_its_code(path: Path) -> None:
    assert find_faults(read(path)) == []
    assert path.stat().st_size <= MAX_BYTES


@every_notebook
def test_outputs_of_other_code_would_be_seen(path: Path) -> None:
    notebook = read(path)
    first, second, *_ = code_cells(notebook)
    second["outputs"].append({"output_type": "error", "ename": "FileNotFoundError", "evalue": "/tmp/x/y"})
    first["source"] += "\nprint(1)"
    second["execution_count"] = 7
    assert len(set(find_faults(notebook)) - {"no picture"}) == 4
    for cell in code_cells(notebook):
        cell["outputs"] = []
    assert "no picture" in find_faults(notebook)


def test_command_lines_are_joined_and_hold_the_values_of_variables() -> None:
    sources = ['os.environ["DATA"] = "data=atis"  # or another', "%%sh\nadept train $DATA \\\n  seed=1\nhead -n 2 a"]
    cells = [{"cell_type": "code", "source": source} for source in sources]
    assert command_lines({"cells": cells}) == ["adept train data=atis seed=1", "head -n 2 a"]


def test_pieces_of_a_stream_are_one_output_without_styles_and_spaces_at_line_ends() -> None:
    pieces = [{"name": "stdout", "text": "\x1b[1mbold\x1b[0m  \nne"}, {"name": "stdout", "text": "xt  "}]
    assert join(pieces) == [{"name": "stdout", "text": "bold\nnext"}]


@pytest.mark.slow
@every_notebook
def test_a_notebook_runs_from_top_to_bottom(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    examples = Path(shutil.copytree(path.parent, tmp_path / "examples"))
    assert find_faults(run(path, examples)) == []
