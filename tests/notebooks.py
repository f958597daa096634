"""Runs the notebooks of examples/ and writes their outputs into them: ``python tests/notebooks.py [NAME ...]``."""

import hashlib
import json
import os
import re
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

NOTEBOOKS = sorted((Path(__file__).parent.parent / "examples").glob("*.ipynb"))
TIMEOUT_SECONDS = 900  # for one cell, on a machine that does other things too
DIGEST = "code_sha256"  # in a notebook's metadata: of the code whose outputs it holds
SHELL = "%%sh\n"  # the first line of a cell of command lines
STYLES = re.compile(r"\x1b\[[\d;]*m")  # bold and italics of a terminal

VARIABLE = re.compile(r'os\.environ\["(\w+)"\] = "([^"]*)"')  # that shell cells read

Notebook = dict[str, Any]


def read(path: Path) -> Notebook:
    """Return a notebook, each text of it in one string."""
    notebook: Notebook = json.loads(path.read_text("utf-8"))
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"])
    return notebook


def code_cells(notebook: Notebook) -> list[dict[str, Any]]:
    """Return the cells that are run, in order."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def code_digest(notebook: Notebook) -> str:
    """Return the SHA-256 digest of all code, which a later change of any cell changes."""
    return hashlib.sha256("\0".join(cell["source"] for cell in code_cells(notebook)).encode()).hexdigest()


def command_lines(notebook: Notebook) -> list[str]:
    """Return the command lines of shell cells, variables replaced by their values.

    A backslash at a line's end joins it to the next.
    """
    sources = [cell["source"] for cell in code_cells(notebook)]
    values = dict(VARIABLE.findall("\n".join(sources)))
    shell = [re.sub(r" *\\\n *", " ", source.removeprefix(SHELL)) for source in sources if source.startswith(SHELL)]
    lines = [line for source in shell for line in source.splitlines() if line]
    return [re.sub(r"\$(\w+)", lambda found: values[found[1]], line) for line in lines]


def run(path: Path, directory: Path) -> Notebook:
    """Run a notebook that lies in ``directory``; raise CellExecutionError if a cell fails."""
    import nbformat
    from nbclient import NotebookClient

    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # its cells call adept
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(directory)}}
    NotebookClient(
        notebook, timeout=TIMEOUT_SECONDS, kernel_name="python3", record_timing=False, resources=resources
    ).execute()
    for cell in code_cells(notebook):
        cell["outputs"] = [output for found in group_streams(cell["outputs"]) for output in join(found)]
    notebook["metadata"] = {"kernelspec": notebook["metadata"]["kernelspec"], DIGEST: code_digest(notebook)}
    return notebook


def group_streams(outputs: list[Any]) -> list[list[Any]]:
    """Return outputs in runs of one stream, or of no stream."""
    return [list(found) for _, found in groupby(outputs, lambda output: output.get("name"))]


def join(outputs: list[Any]) -> list[Any]:
    """Return one output for the pieces of a stream, without a terminal's styles and spaces at line ends."""
    if "name" not in outputs[0]:
        return outputs
    text = STYLES.sub("", "".join(output["text"] for output in outputs))
    return [{**outputs[0], "text": re.sub(r" +$", "", text, flags=re.MULTILINE)}]


def main(names: list[str]) -> None:
    """Run the named notebooks, or all, and replace their outputs."""
    import nbformat

    for path in NOTEBOOKS:
        if not names or path.stem in names:
            nbformat.write(nbformat.from_dict(run(path, path.parent)), path)
            print(path.name)


if __name__ == "__main__":
    main(sys.argv[1:])
