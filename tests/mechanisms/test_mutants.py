"""Every machine-made mutant of a sampler, a weight or a clip is found by a fast test, or argued to be the function itself."""

import pytest
from mechanisms.mutants import EQUIVALENT, PAGE, Target, finder, lines, mutants_of, targets

LEAST = 60


@pytest.mark.parametrize("target", targets(), ids=lambda target: target.path)
def test_every_mutant_is_found_and_listed(target: Target) -> None:
    asked = [mutant for mutant in mutants_of(target) if mutant.name not in EQUIVALENT]
    found = {mutant.name: finder(mutant) for mutant in asked}
    assert [name for name, test in found.items() if test is None] == []
    said = lines(target, {name: test for name, test in found.items() if test})
    assert "\n".join(said) in PAGE.read_text("utf-8"), "run: python tests/mechanisms/mutants.py"


def test_the_list_is_long_and_has_no_other_entries() -> None:
    names = {mutant.name for target in targets() for mutant in mutants_of(target)}
    assert set(EQUIVALENT) <= names
    assert len(names) - len(EQUIVALENT) >= LEAST
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]
    assert len(rows) == len(names)


@pytest.mark.slow
@pytest.mark.parametrize("target", targets(), ids=lambda target: target.path)
def test_what_is_said_to_be_the_same_is_found_by_no_test(target: Target) -> None:
    same = [mutant for mutant in mutants_of(target) if mutant.name in EQUIVALENT]
    assert [mutant.name for mutant in same if finder(mutant)] == []
