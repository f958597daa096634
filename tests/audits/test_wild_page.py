"""docs/wild.md, the letters and the audit files name the same claims, budgets and reproducers."""

import re

import pytest
from proving import ROOT
from wild import claims, worker

PAGE = (ROOT / "docs" / "wild.md").read_text("utf-8")
LETTERS = {path.stem: path.read_text("utf-8") for path in (ROOT / "audits" / "letters").glob("*.txt")}
REPRODUCERS = {str(path.relative_to(ROOT)) for path in (ROOT / "audits" / "reproducers").glob("*/*.py")}


def rows_of_the_page() -> dict[tuple[str, str], tuple[str, str]]:
    """Return the budget and the expectation of each claim in the table."""
    table = PAGE[PAGE.index("| package | claim |") :].split("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    return {(row[0].lower(), row[1].rstrip(" \\*")): (row[2], row[3]) for row in cells}


def rows_of_the_audits() -> dict[tuple[str, str], tuple[str, str]]:
    """Return the same from the audit files."""
    found = {}
    for name in claims.PACKAGES:
        module = claims.load_audit(name)
        for kind in claims.claims_of(module):
            row = claims._row(module, kind, "not installed")
            expected = row.expected.removeprefix("violated: ").split(" (")[0]
            found[module.PACKAGE.lower(), row.claim] = (claims._line(row)[2], expected)
    return found


def test_the_table_holds_each_claim_with_its_budget_and_expectation() -> None:
    assert rows_of_the_page() == rows_of_the_audits()


def test_page_and_letters_name_each_reproducer() -> None:
    named = re.compile(r"audits/reproducers/\w+/\w+\.py")
    assert set(named.findall(PAGE)) == REPRODUCERS
    assert {name for letter in LETTERS.values() for name in named.findall(letter)} == REPRODUCERS


def test_a_package_whose_records_have_no_stated_epsilon_says_ours() -> None:
    ours = {claim for claim, (budget, _) in rows_of_the_page().items() if budget.endswith("(ours)")}
    assert {("diffpriv", "Response"), ("nprr", "Multinomial"), ("pypantera", "TEMUnknown")} <= ours
    assert ("opendp", "Laplace") not in ours


@pytest.mark.parametrize("release", [zip([1, -1], [0, 1], strict=True), [(1, 0), (-1, 1)]])
def test_the_name_of_a_type_is_no_part_of_a_release(release: object) -> None:
    assert worker.plain(release) == [(1, 0), (-1, 1)]
