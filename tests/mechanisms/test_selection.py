"""Claims about the one draw: its distribution, exact weights, refused inputs, and rules for K and t.

Statistical: chi-square p-values with limit 1e-10 (see conftest.py); 4 of them.
"""

import math
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import combinations

import mpmath
import numpy as np
import pytest
import torch
from scipy import stats

from adept.errors import ConfigurationError
from adept.mechanisms.selection import MAX_SIZE, Selection

P_LIMIT = 1e-10
TRIALS = 20_000
RANKED = [(2, 1), (7, 1), (7, 3), (7, 6)]


class Forgetful(Selection):
    """The planted defect: the other indices are drawn from all K, the heavy ones among them."""

    def place(self, near, ranks):
        other = ranks % self.size
        return torch.where(ranks < self.heavy_count, super().place(near, ranks), other)


def p_value(selection: Selection, heavy: Sequence[int]) -> float:
    """Return the p-value of the frequencies of 20,000 releases under the distribution of the proof."""
    counts, stated = Counter(selection.draw([[*heavy]] * TRIALS).tolist()), selection.distribution(heavy)
    indices = range(selection.size)
    return float(stats.chisquare([counts[i] for i in indices], [TRIALS * float(stated[i]) for i in indices]).pvalue)


@pytest.mark.mutants("mechanisms.selection")
@pytest.mark.parametrize("heavy", [[0], [1, 4, 8], [8, 0, 3]])
def test_releases_have_the_distribution_of_the_proof(heavy: list[int]) -> None:
    assert p_value(Selection(epsilon=2.0, size=9, heavy_count=len(heavy)), heavy) > P_LIMIT


def test_a_fallback_that_can_return_a_heavy_index_is_detected() -> None:
    assert p_value(Forgetful(epsilon=2.0, size=7), [3]) < P_LIMIT


@pytest.mark.mutants("mechanisms.selection")
@pytest.mark.parametrize(("size", "top"), RANKED)
def test_every_index_has_exactly_one_rank_and_heavy_ones_come_first(size: int, top: int) -> None:
    """The bijection of the proof: with t and W alike for every record, the odds bound every ratio."""
    selection = Selection(epsilon=2.0, size=size, heavy_count=top)
    for heavy in combinations(range(size), top):
        near = torch.tensor([heavy] * size)
        placed = selection.place(near, torch.arange(size)).tolist()
        assert placed[:top] == [*heavy]
        assert placed[top:] == sorted(set(range(size)) - set(heavy))


@pytest.mark.mutants("mechanisms.selection")
@pytest.mark.parametrize(("size", "top"), RANKED)
def test_probabilities_of_two_records_differ_by_the_odds_at_most(size: int, top: int) -> None:
    selection = Selection(epsilon=2.0, size=size, heavy_count=top)
    distributions = [selection.distribution(heavy) for heavy in combinations(range(size), top)]
    for heavy, distribution in zip(combinations(range(size), top), distributions, strict=True):
        assert set(distribution) == set(range(size))
        assert sum(distribution.values()) == 1
        assert sum(distribution[index] for index in heavy) == selection.heavy_probability
    ratios = [one[index] / other[index] for one in distributions for other in distributions for index in one]
    assert max(ratios) == Fraction(*selection.odds)


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 8.0, 16.0, 48.0, 600.0])
def test_odds_never_exceed_the_budget_and_waste_nothing(epsilon: float) -> None:
    heavy, light = Selection(epsilon=epsilon, size=9).odds
    with mpmath.workdps(400):
        ratio = mpmath.mpf(heavy) / light / mpmath.exp(mpmath.mpf(epsilon))
        assert 1 - mpmath.mpf(2) ** -50 < ratio <= 1


@pytest.mark.mutants("mechanisms.selection")
def test_weights_above_the_budget_are_refused() -> None:
    assert Selection(epsilon=math.log(3) * (1 + 1e-12), size=2, weights=(3, 1)).odds == (3, 1)
    heavy, light = Selection(epsilon=2.0, size=9).odds
    assert Selection(epsilon=2.0, size=9, weights=(2 * heavy, 2 * light)).odds == (2 * heavy, 2 * light)
    for weights in ((3, 1), (1, 2), (2, 0)):
        with pytest.raises(ConfigurationError, match="weights must be"):
            Selection(epsilon=math.log(3) * (1 - 1e-12), size=2, weights=weights)


@pytest.mark.parametrize(
    "fields",
    [
        {"epsilon": 0.0},
        {"epsilon": math.inf},
        {"epsilon": 601.0},
        *(
            {"epsilon": other}
            for other in (True, "4", b"4", None, Decimal(4), np.float32(4), 4 + 0j, torch.tensor(4.0))
        ),
        {"size": 1},
        {"size": MAX_SIZE + 1},
        {"heavy_count": 0},
        {"heavy_count": 9},
    ],
)
def test_a_field_out_of_range_or_of_another_kind_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(fields))):
        Selection(**({"epsilon": 1.0, "size": 9} | fields))


@pytest.mark.mutants("mechanisms.selection")
@pytest.mark.parametrize(
    "own",
    [
        [0, 1],
        [0, 1, 1],
        [0, 1, 2, 3],
        [0, 1, 9],
        [0, 1, -1],
        [0, 1, True],
        [0, 1, 2.0],
        [0, 1, 2**70],
        [0, 1, -(2**70)],
        "012",
        0,
        {0, 1, 2},
    ],
)
def test_other_than_t_different_indices_are_refused_without_being_told(own: object) -> None:
    with pytest.raises(ConfigurationError, match=r"3 different integers from 0 to 8 .* other values in record 2$"):
        Selection(epsilon=1.0, size=9, heavy_count=3).draw([[2, 1, 0], own])


@pytest.mark.mutants("mechanisms.selection")
@pytest.mark.parametrize(
    "own", [[[2, 1, 0], [0, 1, 1]], [[2, 1, 0], [7, 8, 9]], [[2, 1, 0], [3, -1, 4]]], ids=["twice", "large", "small"]
)
def test_a_tensor_of_other_indices_is_refused_without_being_told(own: list[list[int]]) -> None:
    with pytest.raises(ConfigurationError, match=r"other values in record 2$"):
        Selection(epsilon=1.0, size=9, heavy_count=3).draw(torch.tensor(own))
    with pytest.raises(ConfigurationError, match=r"3 different integers .* in record 1$"):
        Selection(epsilon=1.0, size=9, heavy_count=3).draw(torch.tensor(own, dtype=torch.float64))


def test_a_record_with_fewer_heavy_indices_would_be_told_apart() -> None:
    """The proof needs exactly t different ones: with two alike the ratio exceeds the odds."""
    selection = Selection(epsilon=2.0, size=7, heavy_count=3)
    ranks = torch.arange(7)
    alike, different = (
        Counter(selection.place(torch.tensor([own] * 7), ranks)[:3].tolist()) for own in ([0, 0, 1], [4, 5, 6])
    )
    heavy, light = selection.odds
    assert Fraction(alike[0] * heavy, max(light, different[0] * heavy)) > Fraction(heavy, light)


def test_no_record_is_released_as_no_index() -> None:
    assert Selection(epsilon=1.0, size=9, heavy_count=3).draw([]).shape == (0,)
    assert Selection(epsilon=1.0, size=9).draw(torch.empty((0, 1), dtype=torch.int64)).tolist() == []


def test_the_largest_list_is_drawn_from() -> None:
    large = Selection(epsilon=85.0, size=MAX_SIZE)
    assert large.draw([MAX_SIZE - 1] * 200).tolist().count(MAX_SIZE - 1) == 200
    assert all(0 <= index < MAX_SIZE for index in Selection(epsilon=1e-3, size=MAX_SIZE).draw([5] * 50).tolist())


def test_a_simulated_draw_is_seeded_and_has_the_same_distribution() -> None:
    selection = Selection(epsilon=2.0, size=9, heavy_count=2)
    first, again = (selection.simulate([[1, 4]] * TRIALS, torch.Generator().manual_seed(3)) for _ in range(2))
    assert torch.equal(first, again)
    stated = selection.distribution([1, 4])
    seen = torch.bincount(first, minlength=9).tolist()
    assert stats.chisquare(seen, [TRIALS * float(stated[index]) for index in range(9)]).pvalue > P_LIMIT


def test_the_guarantee_is_exact_and_pure() -> None:
    guarantee = Selection(epsilon=8.0, size=9).guarantee()
    assert (guarantee.epsilon, guarantee.delta, guarantee.holds, guarantee.exact) == (8.0, 0.0, True, True)
    assert guarantee.text == "The released index is 8-LDP (pure) for any two records."


@pytest.mark.parametrize("share", [Fraction(6, 7), Fraction(1, 3), Fraction(8583285802235717, 985162418487296)])
def test_a_share_that_no_float_holds_is_stated_rounded_up(share: Fraction) -> None:
    stated = Selection(epsilon=share, size=9).guarantee().epsilon
    assert math.nextafter(stated, 0.0) < share < Fraction(stated)


def test_the_certificate_states_the_draw() -> None:
    (part,) = Selection(epsilon=2.0, size=50, heavy_count=3).certificate("text")
    assert (part["of"], part["kind"], part["size"], part["top"], part["epsilon"]) == ("text", "symbols", "50", "3", "2")
