"""Claims about counting: a person moves the counts by at most m, whoever else votes, and nothing raises because of a row."""

import random
import uuid
from collections.abc import Sequence

import numpy as np
import pytest

from adept.synthesis.votes import EXCESS, NO_TEXT, NOBODY, OUTSIDE, Tally, person_name

Row = tuple[int, object]


def counted(rows: Sequence[Row], *, most: int, at_once: int = 3) -> np.ndarray:
    """Counts of rows (vote, person), added a few at a time."""
    tally = Tally(5, votes_per_person=most)
    for start in range(0, len(rows), at_once):
        part = rows[start : start + at_once]
        tally.add([vote for vote, _ in part], [person for _, person in part])
    return tally.counts


@pytest.mark.mutants("synthesis.votes")
@pytest.mark.parametrize("most", [1, 2, 4])
def test_a_person_moves_the_counts_by_at_most_m_whatever_the_others_do(most: int) -> None:
    draw = random.Random(most)
    largest = 0
    for _ in range(300):
        own = [(draw.randrange(-2, 5), "own") for _ in range(draw.randrange(12))]
        others = [(draw.randrange(5), draw.choice(["a", "b", "c"])) for _ in range(draw.randrange(12))]
        mixed: list[Row] = others[:]
        for row in own:  # the person's rows stand anywhere among the others'
            mixed.insert(draw.randrange(len(mixed) + 1), row)
        kept = [row for row in mixed if row[1] != "own"]
        moved = np.abs(counted(mixed, most=most) - counted(kept, most=most)).sum()
        largest = max(largest, int(moved))
    assert largest == most


@pytest.mark.mutants("synthesis.votes")
def test_batches_change_nothing() -> None:
    rows = [(number % 5, number % 3) for number in range(40)]
    assert (counted(rows, most=4, at_once=1) == counted(rows, most=4, at_once=40)).all()


@pytest.mark.mutants("synthesis.votes")
def test_a_person_has_one_name_however_it_is_written() -> None:
    assert person_name(" Ann ") == person_name("Ann") == person_name("\uff21nn")
    assert person_name("Ann") == person_name("\ufeffAnn") == person_name("An\u200bn") == person_name("\u202aAnn\u202c")
    assert person_name(7) == person_name("7") == person_name("7\u200b")
    assert person_name(uuid.UUID(int=7)) == person_name(str(uuid.UUID(int=7)))
    for nobody in (None, "", "  ", "\u200b", float("nan"), 1.5, True, ["a"]):
        assert person_name(nobody) is None


@pytest.mark.mutants("synthesis.votes")
def test_what_has_no_vote_is_noted_and_changes_no_count() -> None:
    tally = Tally(3, votes_per_person=1)
    tally.add([0, NO_TEXT, OUTSIDE, 1, 0, 2], ["a", "b", "c", "a", None, "d"])
    assert tally.counts.tolist() == [1, 0, 1]
    assert (tally.rows, tally.uncounted) == (6, dict.fromkeys((NO_TEXT, OUTSIDE, EXCESS, NOBODY), 1))


@pytest.mark.mutants("synthesis.votes")
def test_a_row_without_a_vote_uses_up_none_of_its_person() -> None:
    tally = Tally(3, votes_per_person=1)
    tally.add([OUTSIDE, 2], ["a", "a"])
    assert tally.counts.tolist() == [0, 0, 1]


@pytest.mark.mutants("synthesis.votes")
def test_without_persons_every_row_counts() -> None:
    tally = Tally(2)
    tally.add([1, 1, 1])
    assert tally.counts.tolist() == [0, 3]
