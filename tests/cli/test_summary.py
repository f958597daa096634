"""Three lines say what a release came to: total budgets, never a part alone, and what was copied."""

from typing import Any

import pytest
from made_statements import statement

from adept.cli.summary import summary
from adept.mechanisms import Gaussian, Identity, L1Laplace, OriginalLaplace, RandomizedResponse
from adept.release.shuffling import Shuffled

LABELS = RandomizedResponse(epsilon=2.0, labels=("fare", "flight"))


def lines(**changes: Any) -> list[str]:
    return summary(statement(epsilon=8.0, **changes), output="out.txt", place="out.txt.privacy.json")


def test_a_release_is_told_in_three_lines() -> None:
    assert lines() == [
        "5 records rewritten by l1: out.txt",
        "guaranteed: epsilon 8; the odds between any two records change at most 2,981-fold",
        "the whole statement: out.txt.privacy.json",
    ]


def test_what_is_copied_is_named_and_narrows_the_neighbours() -> None:
    said = lines(labels="copy", kept_columns=["time"], samples=3)
    assert said[0] == "5 records rewritten by l1, 3 texts each: out.txt"
    assert "any two records with the same label and time" in said[1]
    assert said[2].startswith("copied, and not private: labels, time; ")


def test_the_total_is_said_with_its_parts_and_of_a_person() -> None:
    said = lines(label_response=LABELS, labels="randomized_response", max_records_per_person=3)[1]
    assert "epsilon 10 (text 8, label 2); " in said
    assert "for a person 30, at most 3 records" in said


def test_a_false_claim_is_set_beside_the_truth() -> None:
    guarantee = OriginalLaplace(epsilon=2.0).guarantee(16)
    assert "epsilon 8 (claimed 2); the odds" in lines(guarantee=guarantee)[1]


def test_odds_are_said_where_they_hold_and_can_be_read() -> None:
    assert lines(guarantee=Identity().guarantee(16))[1] == "guaranteed: nothing, epsilon is infinite"
    assert lines(guarantee=Gaussian(epsilon=2.0).guarantee(16))[1] == "guaranteed: epsilon 2, delta 1e-6"
    assert (
        "more than 10^21-fold, so that next to nothing is guaranteed"
        in lines(guarantee=L1Laplace(epsilon=512.0).guarantee(16))[1]
    )
    assert "at most 2.719-fold" in lines(guarantee=L1Laplace(epsilon=1.0).guarantee(16))[1]


@pytest.mark.parametrize(("here", "how"), [(True, "shuffled here"), (False, "as declared")])
def test_a_shuffled_file_says_what_the_order_hides(here: bool, how: str) -> None:
    shuffled = Shuffled(here=here, records=1000, smallest=900, epsilon=0.5, delta=1e-6)
    assert f"hidden among 900 ({how}): 0.5, delta 1e-6" in lines(shuffled=shuffled)[1]
