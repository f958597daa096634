"""Every machine-made mutant of a sampler, a weight or a clip is found by a fast test, or argued to be the function itself."""

import pytest
from mechanisms.mutants import EQUIVALENT, Mutant, Target, finder, mutants_of, targets

LEAST_MUTANTS = 60
SAMPLED = 8  # one mutant of so many is run by default, and all of them with -m slow


def asked(target: Target) -> list[Mutant]:
    """Return the mutants of a function that some test must find."""
    return [mutant for mutant in mutants_of(target) if not mutant.same]


@pytest.mark.parametrize("target", targets(), ids=lambda target: target.path)
def test_a_sample_of_all_mutants_is_found(target: Target) -> None:
    assert [mutant.name for mutant in asked(target)[::SAMPLED] if finder(mutant) is None] == []


@pytest.mark.slow
@pytest.mark.parametrize("target", targets(), ids=lambda target: target.path)
def test_every_mutant_is_found(target: Target) -> None:
    assert [mutant.name for mutant in asked(target) if finder(mutant) is None] == []


def test_the_mutants_are_many_and_those_said_to_be_the_same_exist() -> None:
    mutants = [mutant for target in targets() for mutant in mutants_of(target)]
    same = {(path, change) for path, changes in EQUIVALENT.items() for change in changes}
    assert same <= {(mutant.target.path, mutant.change) for mutant in mutants}
    assert len(mutants) - len(same) >= LEAST_MUTANTS


@pytest.mark.slow
@pytest.mark.parametrize("target", targets(), ids=lambda target: target.path)
def test_what_is_said_to_be_the_same_is_found_by_no_test(target: Target) -> None:
    same = [mutant for mutant in mutants_of(target) if mutant.same]
    assert [mutant.name for mutant in same if finder(mutant)] == []
