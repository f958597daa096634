"""The proofs are complete, and docs, docstrings and sources name the same theorems."""

import re
from pathlib import Path

from proving import ROOT, check, needs_coq

from adept.mechanisms import BY_NAME

WORDS = ("Theorem", "Corollary", "Definition", "Fixpoint", "Inductive", "Record")


def named_in_code() -> dict[str, set[tuple[str, str]]]:
    """Return the theorems that each module's docstrings name: (file, theorem)."""
    found: dict[str, set[tuple[str, str]]] = {}
    for path in sorted((ROOT / "adept").rglob("*.py")):
        text = " ".join(path.read_text("utf-8").split())
        for line in re.findall(r"Checked proof[^:]*: ((?:[^.]|\.v``)+)\.", text):
            file = ""
            for name in re.findall(r"``([\w/.]+)``", line):
                if name.startswith("proofs/"):
                    file = name.removeprefix("proofs/")
                else:
                    found.setdefault(path.stem, set()).add((file, name))
    return found


def named_in_docs() -> set[tuple[str, str]]:
    """Return the theorems that docs/proofs.md names, each with a sentence: (file, theorem)."""
    page = (ROOT / "docs" / "proofs.md").read_text("utf-8")
    return {(file, name) for name, file in re.findall(r"^- `(\w+)` \(`(\w+\.v)`\): [A-Z`]", page, re.MULTILINE)}


def test_docs_and_sources_name_the_same_theorems() -> None:
    assert named_in_docs() == {(file, name) for name, file in check.theorems().items()}


def test_docstrings_name_theorems_that_are_there() -> None:
    found = named_in_code()
    known = {(file, name) for name, file in check.theorems().items()}
    assert [pair for pairs in found.values() for pair in pairs if pair not in known] == []
    assert set(found) >= {
        "verify", "central_counts", "codebook", "discrete_laplace", "guarantee", "laplace",
        "random_draws", "randomized_response", "selection", "shuffling",
    }  # fmt: skip


def test_every_exact_mechanism_names_its_theorem_or_is_said_not_to_be_covered() -> None:
    page = (ROOT / "docs" / "proofs.md").read_text("utf-8")
    uncovered = page[page.index("## What is not covered") :]
    covered = named_in_code()
    for name, kind in BY_NAME.items():
        assert kind.__module__.rsplit(".", 1)[1] in covered or f"`{name}`" in uncovered, name


def test_every_definition_and_theorem_has_words_before_it() -> None:
    """A reader who does not know Coq reads the comments."""
    for file in check.FILES:
        lines = (ROOT / "proofs" / f"{file}.v").read_text("utf-8").splitlines()
        named = [place for place, line in enumerate(lines) if re.match(f"({'|'.join(WORDS)}) ", line)]
        assert [lines[place] for place in named if not lines[place - 1].endswith("*)")] == []


def test_no_source_postpones_a_proof() -> None:
    check.check_sources()


@needs_coq
def test_theorems_rest_on_the_real_numbers_alone(built: Path) -> None:
    """Of each file its last theorem; `proofs/check.py`, with which `make proofs` begins, looks at all of them."""
    last = {file: name for name, file in check.theorems().items()}
    found = check.assumptions(built, last.values())
    assert list(found) == list(last.values())
    assert {axiom for axioms in found.values() for axiom in axioms} <= set(check.AXIOMS)
    assert len(check.theorems()) >= 70
