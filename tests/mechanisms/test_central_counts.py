"""Claims about counted votes: the sensitivity by enumeration, exact noise in every cell, and defects that a bound finds.

Statistical tests use p-values with the limit 1e-10 (eight, share of false alarms 8e-10), and Clopper-Pearson bounds of which each
errs with probability 1e-10 (four).
"""

import math
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from adept.errors import ConfigurationError
from adept.mechanisms import BY_NAME, Votes, central_counts
from adept.synthesis.votes import Tally

P_LIMIT, DRAWS, NUMBERS = 1e-10, 200_000, 2_000
RELATIONS = ("add_or_remove", "replace")


def histogram(people: tuple[tuple[int, ...], ...], *, most: int, cells: int) -> np.ndarray:
    """Counts of the first ``most`` votes of each person."""
    chosen = [vote for person in people for vote in person[:most]]
    return np.bincount(np.array(chosen, dtype=np.int64), minlength=cells)


def largest_distance(relation: str, *, most: int) -> int:
    """The l1 distance of the worst neighbours, over all collections of two people with up to three votes for three cells."""
    people = [votes for length in range(4) for votes in product(range(3), repeat=length)]
    found = 0
    for other, own in product(people, people):
        with_own = histogram((other, own), most=most, cells=3)
        changed = [(other,)] if relation == "add_or_remove" else [(other, new) for new in people]
        found = max(found, *(int(np.abs(with_own - histogram(new, most=most, cells=3)).sum()) for new in changed))
    return found


@pytest.mark.mutants("mechanisms.central_counts")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("most", [1, 2, 3])
def test_the_sensitivity_is_the_distance_of_the_worst_neighbours(relation: str, most: int) -> None:
    assert Votes(epsilon=1.0, neighbours=relation, votes_per_person=most).sensitivity == largest_distance(
        relation, most=most
    )


ROWS = tuple(product("ab", (-1, 0, 1, 2)))  # a person and a vote, -1 for none


@pytest.mark.parametrize("most", [1, 2, 3])
def test_one_row_of_a_person_moves_two_counts_at_most_and_one_that_is_replaced_four(most: int) -> None:
    """Over all files of up to four rows; both bounds are attained, so that none is stated too large."""

    @cache
    def counts(file: tuple[tuple[str, int], ...]) -> np.ndarray:
        tally = Tally(3, votes_per_person=most)
        tally.add([vote for _, vote in file], [person for person, _ in file])
        return tally.counts

    removed = replaced = 0
    for file in product(ROWS, repeat=4 if most > 1 else 3):
        for place in range(len(file)):
            rest = (*file[:place], *file[place + 1 :])
            removed = max(removed, int(np.abs(counts(file) - counts(rest)).sum()))
            for row in ROWS:
                other = (*file[:place], row, *file[place + 1 :])
                replaced = max(replaced, int(np.abs(counts(file) - counts(other)).sum()))
    assert (removed, replaced) == (2, 4 if most == 1 else 3)  # with m = 2, files of six rows reach 4
    mechanism = Votes(epsilon=1.0, votes_per_person=most)
    assert mechanism.record_epsilon(2) * mechanism.scale >= 2  # what two counts that move cost
    assert mechanism.record_epsilon(4) == 2 * mechanism.record_epsilon(2)


@pytest.mark.mutants("mechanisms.central_counts")
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 0.5, 1.0, math.pi, 600.0])
@pytest.mark.parametrize("relation", RELATIONS)
def test_the_scale_spends_the_budget_and_no_more(epsilon: float, relation: str) -> None:
    mechanism = Votes(epsilon=epsilon, neighbours=relation, votes_per_person=3)
    spent = mechanism.sensitivity / Fraction(mechanism.scale)
    assert Fraction(epsilon) * (1 - Fraction(1, 2**22)) <= spent <= Fraction(epsilon)


@pytest.mark.mutants("mechanisms.central_counts")
@pytest.mark.parametrize("relation", RELATIONS)
def test_every_cell_has_the_noise_of_the_scale_voted_for_or_not(relation: str) -> None:
    mechanism = Votes(epsilon=1.0, neighbours=relation)
    counts = np.where(np.arange(DRAWS) % 2, 50, 0)
    noise = mechanism.privatize(counts) - counts
    ratio = math.exp(-1 / mechanism.scale)
    values = np.arange(-8, 9)
    mass = (1 - ratio) / (1 + ratio) * ratio ** np.abs(values)
    for part in (noise[::2], noise[1::2]):
        found = np.array([(part == value).sum() for value in values])
        observed, expected = np.append(found, len(part) - found.sum()), np.append(mass, 1 - mass.sum()) * len(part)
        assert stats.chisquare(observed, expected).pvalue > P_LIMIT


def certified(released: np.ndarray, without: np.ndarray) -> float:
    """A lower bound of the epsilon that two samples need: the likeliest event of the first half, certified on the second.

    For counts 1 and 0 in one cell the event "at least 1" has the largest ratio of probabilities.
    """
    hits, false = int((released >= 1).sum()), int((without >= 1).sum())
    low = stats.beta.ppf(1e-10, hits, len(released) - hits + 1)
    high = stats.beta.ppf(1 - 1e-10, false + 1, len(without) - false)
    return math.log(low / high)


@pytest.mark.parametrize("defect", [None, "half the scale", "empty cells are left out"])
def test_one_vote_is_not_seen_beyond_the_budget_and_defects_are(
    defect: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = Votes(epsilon=1.0)
    if defect == "half the scale":
        exact = central_counts.exact_laplace
        monkeypatch.setattr(central_counts, "exact_laplace", lambda values, scale: exact(values, scale=scale / 2))
    one, none = (
        mechanism.privatize(np.ones(DRAWS, dtype=np.int64)),
        mechanism.privatize(np.zeros(DRAWS, dtype=np.int64)),
    )
    if defect == "empty cells are left out":
        none = np.zeros_like(none)
    bound = certified(one, none)
    assert bound > 1.0 if defect else 0.9 < bound <= 1.0


# --- Two rounds


def parts_of(votes: Votes) -> tuple[Fraction, Fraction]:
    return votes.number_epsilon, votes.counts_epsilon


@pytest.mark.mutants("mechanisms.central_counts")
@pytest.mark.parametrize("relation", RELATIONS)
def test_the_number_of_all_votes_has_the_noise_of_its_own_scale(relation: str) -> None:
    votes = Votes(epsilon=64.0, neighbours=relation, rounds=2)  # of which the number has 2
    apart = np.abs([votes.privatize_number(10**6) - 10**6 for _ in range(NUMBERS)])
    a = math.exp(-2.0 / (1 if relation == "add_or_remove" else 2))
    expected = [(1 - a) / (1 + a), *(2 * a**k * (1 - a) / (1 + a) for k in (1, 2))]
    found = [int((apart == k).sum()) for k in range(3)]
    pairs = [*zip(found, expected, strict=True), (NUMBERS - sum(found), 1 - sum(expected))]
    statistic = sum((count - NUMBERS * share) ** 2 / (NUMBERS * share) for count, share in pairs)
    assert stats.chi2.sf(statistic, len(pairs) - 1) > P_LIMIT


@pytest.mark.mutants("mechanisms.central_counts")
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 0.7, 1.0, math.pi, 600.0])
@pytest.mark.parametrize("relation", RELATIONS)
def test_the_budgets_of_two_rounds_add_up_exactly(epsilon: float, relation: str) -> None:
    votes = Votes(epsilon=epsilon, neighbours=relation, votes_per_person=3, rounds=2)
    assert votes.number_epsilon + votes.counts_epsilon == Fraction(epsilon)
    assert all(
        isinstance(v, Fraction) for one in (votes, Votes(epsilon=epsilon)) for v in parts_of(one)
    )  # floats round
    for budget, scale in ((votes.number_epsilon, votes.number_scale), (votes.counts_epsilon, votes.scale)):
        assert budget * (1 - Fraction(1, 2**22)) < votes.sensitivity / Fraction(scale) <= budget
    assert Votes(epsilon=epsilon).counts_epsilon == Fraction(epsilon)


def largest_loss(votes: Votes, pairs: list[tuple[np.ndarray, np.ndarray]], *, by_exact_number: bool = False) -> float:
    """Return the largest log ratio of the probabilities of two rounds' results, given two neighbours.

    An odd number of votes puts all cells into one group, an even number leaves them apart.
    """
    found = 0.0
    for first, second in pairs:
        for number in range(-4, 9):
            sums = [np.array([h.sum()]) if (h.sum() if by_exact_number else number) % 2 else h for h in (first, second)]
            if len(sums[0]) != len(sums[1]):
                return math.inf  # the number of released counts tells the two apart
            counts = np.array(list(product(range(-2, 6), repeat=len(sums[0]))))
            far = [
                np.abs(counts - h).sum(axis=1) / votes.scale + abs(number - votes_of.sum()) / votes.number_scale
                for h, votes_of in zip(sums, (first, second), strict=True)
            ]
            found = max(found, float(np.abs(far[0] - far[1]).max()))
    return found


@pytest.mark.mutants("mechanisms.central_counts")
@pytest.mark.parametrize("relation", RELATIONS)
def test_two_rounds_lose_no_more_than_the_budget_and_defects_do(relation: str) -> None:
    votes = Votes(epsilon=1.5, neighbours=relation, votes_per_person=2, rounds=2)
    other, person = np.array([1, 0, 2]), [np.array(own) for own in ([0, 0, 0], [2, 0, 0], [1, 1, 0], [0, 0, 2])]
    mine = person if relation == "replace" else person[:1]
    pairs = [(other + own, other + new) for own in mine for new in person]
    loss = largest_loss(votes, pairs)
    assert 0.95 * 1.5 < loss <= 1.5
    assert largest_loss(votes, [(other, other + np.array([1, 0, 0]))], by_exact_number=True) == math.inf


def test_a_release_has_the_variance_of_the_discrete_laplace_distribution() -> None:
    mechanism = Votes(epsilon=0.5)
    noise, a = mechanism.privatize(np.zeros(DRAWS, dtype=np.int64)), math.exp(-1 / mechanism.scale)
    assert np.mean(noise.astype(float) ** 2) == pytest.approx(2 * a / (1 - a) ** 2, rel=0.05)  # 10 standard errors


@pytest.mark.mutants("mechanisms.central_counts")
def test_parts_are_joined_in_the_shape_that_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(central_counts, "NOISE_BATCH", 7)
    counts = np.arange(1, 61, dtype=np.int64).reshape(5, 12) * 1000
    released = Votes(epsilon=50.0).privatize(counts)
    assert released.shape == counts.shape
    assert np.abs(released - counts).max() < 10


@pytest.mark.mutants("mechanisms.central_counts")
@pytest.mark.parametrize(
    "counts", [np.array([3, -1]), np.array([0, 2**40 + 1]), np.array([0.5]), np.array([1], dtype=np.int32)]
)
def test_what_is_no_count_is_refused(counts: np.ndarray) -> None:
    with pytest.raises(ConfigurationError, match="counts must be"):
        Votes(epsilon=1.0).privatize(counts)


@pytest.mark.parametrize("wrong", [{"epsilon": 0.0}, {"votes_per_person": 0}, {"neighbours": "both"}])
def test_what_is_out_of_range_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        Votes(**{"epsilon": 1.0, **wrong})


def test_the_guarantee_says_whom_it_protects_and_in_what_odds() -> None:
    record = Votes(epsilon=0.5).guarantee(persons=False)
    assert (record.holds, record.exact, record.delta) == (True, True, 0.0)
    assert "adding or removing one record changes" in record.text
    assert "1.649" in record.text
    person = Votes(epsilon=40.0, neighbours="replace", votes_per_person=3).guarantee(persons=True)
    assert "replacing one person, of whose records at most 3 count, by any other" in person.text
    one = Votes(epsilon=40.0).guarantee(persons=True)
    assert "adding or removing one person, of whose records at most 1 counts, changes" in one.text
    assert "e^40" in person.text
    assert Votes.name not in BY_NAME  # no mechanism of latents
