"""`audits/coverage.toml` names each public mechanism of each audited package: tried by which claims, or why not."""

import os
from pathlib import Path
from typing import Any

import coverage_list
import pytest
from wild import claims
from wild.environments import NotInstalled

SMALL = ("diffpriv", "diffpriv_pure", "eeprivacy", "nprr", "pypantera", "trasgodp")  # quick to install


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A list of one package, of which two mechanisms are tried and one is not."""
    of_package = {
        "tried": {"private_sum": "Sum, SumAdded", "private_mean": "Mean, MeanAdded, GaussianMean"},
        "others": ["main"],
        "not_tried": {"not enough time": ["private_*"]},
    }
    monkeypatch.setitem(coverage_list.COVERAGE, "diffpriv_pure", of_package)
    return of_package


def test_the_list_names_every_package() -> None:
    assert set(coverage_list.COVERAGE) == set(claims.PACKAGES)


@pytest.mark.parametrize("package", claims.PACKAGES)
def test_each_claim_of_a_package_is_listed_as_tried(package: str) -> None:
    _, wrong = coverage_list.states_of(package, set())
    assert not [line for line in wrong if "audits/packages" in line]


def test_each_name_has_one_state_and_each_disagreement_a_line(listed: dict[str, Any]) -> None:
    said, wrong = coverage_list.states_of("diffpriv_pure", {"private_sum", "private_count", "new_noise"})
    assert said == {
        "private_sum": "tried: Sum, SumAdded",
        "private_count": "not tried: not enough time",
        "new_noise": "?",
    }
    assert sorted(wrong) == [
        "Count of audits/packages/diffpriv_pure.py is not listed as tried",
        "main of coverage.toml is not in diffpriv_pure",
        "new_noise of diffpriv_pure is not in coverage.toml",
        "private_mean of coverage.toml is not in diffpriv_pure",
    ]


def test_names_are_those_that_files_define_a_class_has_or_a_file_imports(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "class Noise:\n    def add(self): ...\n    def _draw(self): ...\ndef clip(): ...\n", "utf-8"
    )
    (tmp_path / "b.py").write_text("from ._c import Laplace, _Hidden\n", "utf-8")
    for where, names in (("*.py", {"Noise", "clip"}), ("a.py::Noise", {"add"}), ("b.py::imports", {"Laplace"})):
        assert coverage_list.public_names(tmp_path, [where]) == names


@pytest.mark.network
@pytest.mark.parametrize(
    "package",
    [pytest.param(package, marks=[] if package in SMALL else pytest.mark.slow) for package in claims.PACKAGES],
)
def test_the_list_is_complete_and_true_of_the_installed_package(package: str) -> None:
    try:
        files = coverage_list.install(package, os.environ.get("ADEPT_WILD_ENVIRONMENTS"))
    except NotInstalled as reason:
        pytest.skip(f"NOT RUN: {reason}")
    names = coverage_list.public_names(files, coverage_list.COVERAGE[package]["where"])
    assert len(names) > 2
    assert coverage_list.states_of(package, names)[1] == []
