"""A defect in a definition makes the check of the proofs fail: the proofs are about the definitions, and not about less."""

import re
import shutil
from pathlib import Path

import pytest
from planted import PLANTS, Plant
from proving import check, needs_coq

BROKEN = re.compile(r"Syntax error|was not found|has type .* while it is expected|Unbound", re.DOTALL)


def planted(plant: Plant, built: Path, folder: Path) -> Path:
    """Return a copy of the compiled proofs with the defect in one source."""
    shutil.copytree(built, folder)
    path = folder / f"{plant.file}.v"
    text = path.read_text("utf-8")
    assert text.count(plant.old) == 1, plant
    path.write_text(text.replace(plant.old, plant.new), "utf-8")
    return path


def compile_from(file: str, folder: Path) -> None:
    """Compile a source and all that follow it, until Coq refuses one."""
    for name in check.FILES[check.FILES.index(file) :]:
        check.run_coq(folder, name)


@pytest.mark.parametrize("plant", PLANTS, ids=[plant.says for plant in PLANTS])
def test_a_planted_defect_stands_in_the_sources_once(plant: Plant) -> None:
    assert (check.HERE / f"{plant.file}.v").read_text("utf-8").count(plant.old) == 1


@needs_coq
@pytest.mark.parametrize("plant", PLANTS, ids=[plant.says for plant in PLANTS])
def test_coq_refuses_a_planted_defect(plant: Plant, built: Path, tmp_path: Path) -> None:
    planted(plant, built, tmp_path / "proofs")
    with pytest.raises(check.Failed) as refused:
        compile_from(plant.file, tmp_path / "proofs")
    assert not BROKEN.search(str(refused.value)), "the plant is no Coq: it shows nothing"


@needs_coq
def test_a_harmless_change_is_not_refused(built: Path, tmp_path: Path) -> None:
    harmless = Plant("another comment", "Exponential", "without floats", "without any float")
    planted(harmless, built, tmp_path / "proofs")
    check.run_coq(tmp_path / "proofs", "Exponential")


@needs_coq
@pytest.mark.parametrize("text", ["Axiom cheap : 1 = 2.", "Lemma later : 1 = 2. Proof. Admitted."])
def test_what_is_assumed_or_postponed_is_seen(text: str, built: Path, tmp_path: Path) -> None:
    shutil.copytree(built, tmp_path / "proofs")
    source = tmp_path / "proofs" / "Exponential.v"
    source.write_text(source.read_text("utf-8") + text, "utf-8")
    with pytest.raises(check.Failed, match="a proof must be complete"):
        check.check_sources(tmp_path / "proofs")


@needs_coq
def test_an_axiom_under_a_theorem_is_seen(built: Path, tmp_path: Path) -> None:
    shutil.copytree(built, tmp_path / "proofs")
    last = check.FILES[-1]  # nothing is built on it
    source = tmp_path / "proofs" / f"{last}.v"
    source.write_text(
        source.read_text("utf-8") + "Section S. Hypothesis cheap : 1 = 2. End S.\nVariable dear : 1 = 2.\n"
        "Theorem false : 1 = 2. Proof. exact dear. Qed.\n",
        "utf-8",
    )
    check.run_coq(tmp_path / "proofs", last)
    with pytest.raises(check.Failed, match=r"false rests on \S*dear"):
        check.assumptions(tmp_path / "proofs", ["floor_of_delta", "false"])
