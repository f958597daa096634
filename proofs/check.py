"""Check all proofs with Coq, and show on which axioms each theorem rests. Standard library only: ``python proofs/check.py``.

Sources are copied to build/proofs/ and compiled there, if they are new. The check fails if a proof fails, if a source postpones a
proof or assumes something, or if a theorem rests on an axiom beyond those of the real numbers. Where Coq is missing, it says so.
"""

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).parent
BUILD = HERE.parent / "build" / "proofs"
FILES = (
    "Privacy", "Symbols", "Noise", "Exponential", "Papers", "Checker", "Sampler", "DiscreteLaplace", "Shuffling", "Draws",
    "DrawProofs",
)  # fmt: skip
"""The sources, each after those that it builds on."""

AXIOMS = {
    "ClassicalDedekindReals.sig_not_dec": "a proposition or its negation: decides not-not-P or not-P",
    "ClassicalDedekindReals.sig_forall_dec": "a sequence of decidable facts holds everywhere, or fails somewhere",
    "FunctionalExtensionality.functional_extensionality_dep": "functions with equal values are equal",
    "Classical_Prop.classic": "the excluded middle",
}
"""The axioms with which Coq's standard library builds the real numbers; no others are allowed."""

POSTPONED = re.compile(r"\b(Admitted|admit|Axiom|Axioms|Parameter|Parameters|Conjecture|Unset|bypass_check|give_up)\b")
THEOREM = re.compile(r"^(?:Theorem|Corollary) (\w+)", re.MULTILINE)
COMMENT = re.compile(r"\(\*.*?\*\)", re.DOTALL)
MISSING = """PROOFS NOT CHECKED: there is no Coq on this machine. To install it on Debian or Ubuntu:

    apt-get install coq
"""


class Failed(Exception):
    """Raised with a sentence that says which proof or which rule failed."""


def is_installed() -> bool:
    """Return True if Coq is on this machine."""
    return shutil.which("coqc") is not None


def theorems(sources: Path = HERE) -> dict[str, str]:
    """Return the names of all headline theorems, each with its file. Lemmas only serve them."""
    return {name: f"{file}.v" for file in FILES for name in THEOREM.findall((sources / f"{file}.v").read_text("utf-8"))}


def check_sources(sources: Path = HERE) -> None:
    """Raise Failed if a source postpones a proof or assumes something."""
    for file in FILES:
        found = POSTPONED.search(COMMENT.sub("", (sources / f"{file}.v").read_text("utf-8")))
        if found:
            raise Failed(f"{file}.v says {found.group()}: a proof must be complete and assume nothing")


def build(sources: Path = HERE, folder: Path = BUILD) -> None:
    """Copy sources to a folder and compile what is new there, in order.

    Raises:
        Failed: Coq refuses one of them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    new = False
    for file in FILES:
        text, copy, compiled = (sources / f"{file}.v").read_bytes(), folder / f"{file}.v", folder / f"{file}.vo"
        new = new or not compiled.is_file() or copy.read_bytes() != text
        if new:
            compiled.unlink(missing_ok=True)
            copy.write_bytes(text)
            run_coq(folder, file)


def extract(folder: Path = BUILD) -> Path:
    """Return the OCaml program that answers questions with the checker and the sampler that were proved."""
    for name in ("Extract.v", "driver.ml"):
        shutil.copy(HERE / name, folder)
    run_coq(folder, "Extract")
    (folder / "extracted.mli").unlink(missing_ok=True)
    command = ["ocamlopt", "-w", "-a", "extracted.ml", "driver.ml", "-o", "driver"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"the extracted program does not compile: {(done.stdout + done.stderr).strip()}")
    return folder / "driver"


def run_coq(folder: Path, file: str) -> str:
    """Return what Coq prints of a source in a folder; raise Failed if it refuses it."""
    command = ["coqc", "-q", "-Q", ".", "Adept", f"{file}.v"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"{file}.v does not prove what it says: {(done.stdout + done.stderr).strip()}")
    return done.stdout


def assumptions(folder: Path = BUILD, names: Iterable[str] | None = None) -> dict[str, list[str]]:
    """Return the axioms that each theorem rests on, or each of some, as Coq prints them (Print Assumptions).

    Raises:
        Failed: an axiom is none of the real numbers'.
    """
    names = list(theorems(folder) if names is None else names)
    lines = [f"From Adept Require Import {' '.join(FILES)}.", *(f"Print Assumptions {name}." for name in names)]
    (folder / "Assumptions.v").write_text("\n".join(lines) + "\n", "utf-8")
    shown = re.split(r"^(?=Axioms:|Closed under)", run_coq(folder, "Assumptions"), flags=re.MULTILINE)[1:]
    found = {name: re.findall(r"^([\w.]+)\s*:", text, re.MULTILINE) for name, text in zip(names, shown, strict=True)}
    found = {name: [axiom for axiom in axioms if axiom != "Axioms"] for name, axioms in found.items()}
    for name, axioms in found.items():
        if beyond := set(axioms) - set(AXIOMS):
            raise Failed(f"{name} rests on {', '.join(sorted(beyond))}, which is no axiom of the real numbers")
    return found


def main() -> int:
    """Check everything; return the exit status."""
    if not is_installed():
        sys.stderr.write(MISSING)
        return 1
    start = time.monotonic()
    try:
        check_sources()
        build()
        found = assumptions()
    except Failed as error:
        sys.stderr.write(f"{error}\n")
        return 1
    short = {axiom: axiom.split(".")[1] for axiom in AXIOMS}
    for name, file in theorems().items():
        rests = ", ".join(short[axiom] for axiom in found[name]) or "nothing (closed under the global context)"
        sys.stdout.write(f"{file:15} {name}: rests on {rests}\n")
    sys.stdout.write("Axioms of the standard library's real numbers:\n")
    sys.stdout.writelines(f"    {axiom}: {meaning}\n" for axiom, meaning in AXIOMS.items())
    sys.stdout.write(f"{len(found)} theorems checked in {time.monotonic() - start:.0f} s.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
