"""Claims about a codebook's blocks: exact sets, permutations, budgets that add up, closed forms, reproducible codewords.

Statistical: standard scores with limit 8 (see conftest.py); eight of them.
"""

import hashlib
import math
from fractions import Fraction

import mpmath
import pytest
import torch

from adept.errors import ConfigurationError
from adept.mechanisms import Codebook, LearnedCodebook
from adept.mechanisms.codebook import (
    SCORED_ROWS,
    Block,
    block_draw,
    cut,
    default_blocks,
    draw_cosine,
    layout_cosine,
    mean_length,
    random_codewords,
)
from adept.mechanisms.privunit import optimal_cap
from adept.mechanisms.selection import Selection

LAYOUTS = [(2, 600.0), (16, 8.0), (33, 1.3), (33, 40.0), (64, 8.0), (64, 16.0), (64, 100.0), (7, 1 / 3), (1000, 30.0)]


@pytest.mark.mutants("mechanisms.codebook")
@pytest.mark.parametrize(("dim", "epsilon"), LAYOUTS)
@pytest.mark.parametrize("blocks", [None, 1, 3])
def test_block_budgets_sum_to_epsilon_exactly_and_every_odds_stay_below_them(
    dim: int, epsilon: float, blocks: int | None
) -> None:
    """In rationals and 700-digit arithmetic: product A_j / B_j <= e^eps, with no float in between."""
    count = min(blocks or default_blocks(dim, epsilon=epsilon, size=None), dim // 2)
    layout = cut(dim, epsilon=epsilon, size=None, blocks=count)
    dims, draws = zip(*layout, strict=True)
    assert sum(draw.epsilon for draw in draws) == Fraction(epsilon)
    assert sum(dims) == dim
    assert max(dims) - min(dims) <= 1
    with mpmath.workdps(700):
        for draw in draws:
            heavy, light = draw.odds
            share = mpmath.mpf(draw.epsilon.numerator) / draw.epsilon.denominator
            assert light <= heavy <= light * mpmath.exp(share)
        spent = mpmath.fsum(mpmath.log(mpmath.mpf(draw.odds[0]) / draw.odds[1]) for draw in draws)
        assert 0 <= mpmath.mpf(epsilon) - spent < mpmath.mpf(2) ** -50


TRICKY = {
    "random": random_codewords(3, 11, 0),
    "duplicates": torch.tensor([[1.0, 0.0, 0.0]] * 6 + [[0.0, 1.0, 0.0]] * 5),
    "all equal": torch.ones(11, 3) / math.sqrt(3),
}


@pytest.mark.mutants("mechanisms.codebook")
@pytest.mark.parametrize("codewords", TRICKY)
@pytest.mark.parametrize("top", [1, 4, 10])
def test_a_ranking_returns_t_different_codewords_whatever_the_record(codewords: str, top: int, unit_rows) -> None:
    """Check the premises of the draw's proof, with ties and duplicates."""
    block = Block(Selection(epsilon=1.0, size=11, heavy_count=top), TRICKY[codewords])
    records = torch.cat([unit_rows(5, 3, torch.float32), torch.zeros(1, 3), torch.tensor([[1.0, 1.0, 0.0]])])
    assert block.selection.check(block.nearest(records)).shape == (7, top)


@pytest.mark.mutants("mechanisms.codebook")
def test_the_nearest_codewords_have_the_largest_dot_products(unit_rows) -> None:
    block = Block(Selection(epsilon=1.0, size=500, heavy_count=20), random_codewords(8, 500, 1))
    records = unit_rows(30, 8, torch.float32)
    scores = records @ block.codewords.T
    members = torch.zeros_like(scores, dtype=torch.bool).scatter(1, block.nearest(records), True)
    assert (scores.masked_fill(~members, 9).amin(dim=1) >= scores.masked_fill(members, -9).amax(dim=1)).all()


def test_a_ranking_that_repeats_a_member_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted defect: a repeated member would change W, and is an error instead of a release."""
    mechanism = LearnedCodebook(epsilon=1.0, codewords=TRICKY["random"], top=4)
    repeated = torch.tensor([[0, 1, 1, 2]])
    monkeypatch.setattr(torch.Tensor, "topk", lambda *_, **__: torch.return_types.topk([repeated.float(), repeated]))
    with pytest.raises(ConfigurationError, match="4 different integers"):
        mechanism.privatize(torch.ones(1, 3))


@pytest.mark.mutants("mechanisms.codebook")
def test_ranking_in_chunks_changes_nothing(monkeypatch: pytest.MonkeyPatch, unit_rows) -> None:
    block = Block(Selection(epsilon=1.0, size=500, heavy_count=20), random_codewords(8, 500, 1))
    records = unit_rows(30, 8, torch.float32)
    whole = block.nearest(records)
    monkeypatch.setattr("adept.mechanisms.codebook.MAX_SCORES", 1000)
    assert torch.equal(block.nearest(records), whole)


@pytest.mark.parametrize(("dim", "size"), [(7, 1024), (32, 32), (256, 8192), (400, 1024)])
def test_the_number_of_records_changes_no_ranking_of_nearly_equal_codewords(dim: int, size: int) -> None:
    """Rounding errors alone rank such codewords, as a stranger's file may hold them."""
    generator = torch.Generator().manual_seed(0)
    codewords = torch.nn.functional.normalize(torch.randn(1, dim, generator=generator), dim=1)
    codewords = codewords + 1e-7 * torch.randn(size, dim, generator=generator)
    block = Block(Selection(epsilon=4.0, size=size, heavy_count=size // 16), codewords)
    latents = Codebook(epsilon=4.0).clip_to_units(torch.randn(300, dim, generator=generator))
    together = block.nearest(latents)
    for count in (1, 2, 3, 5, 64, 129, 299):
        assert (block.nearest(latents[:count]) == together[:count]).all()
    order = torch.randperm(300, generator=generator)
    assert (block.nearest(latents[order]) == together[order]).all()


@pytest.mark.mutants("mechanisms.codebook")
def test_every_product_has_as_many_rows(monkeypatch: pytest.MonkeyPatch, unit_rows) -> None:
    """So a record's scores are rounded alike in any batch."""
    block, rows = Block(Selection(epsilon=1.0, size=500, heavy_count=20), random_codewords(8, 500, 1)), set[int]()

    def padded(chunk: torch.Tensor, by: tuple[int, ...]) -> torch.Tensor:
        filled = torch.nn.functional.pad(chunk, by)
        rows.add(len(filled))
        return filled

    monkeypatch.setattr("adept.mechanisms.codebook.pad", padded)
    for count in (1, 7, 128, 300):
        block.nearest(unit_rows(count, 8, torch.float32))
    assert rows == {SCORED_ROWS}


def test_random_codewords_are_the_same_on_every_machine() -> None:
    words = random_codewords(4, 8, 0)
    assert hashlib.sha256((words * 2**20).to(torch.int64).numpy().tobytes()).hexdigest()[:16] == "3d6c5db659b9289c"
    assert torch.allclose(words.norm(dim=1), torch.ones(8), atol=1e-5)
    assert torch.equal(words * 2**20, (words * 2**20).round())
    assert not torch.equal(random_codewords(4, 8, 1), words)


@pytest.mark.parametrize("dim", [16, 32, 64])
@pytest.mark.parametrize("epsilon", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
def test_one_codebook_is_within_a_hundredth_of_privunit_up_to_epsilon_8(dim: int, epsilon: float) -> None:
    assert default_blocks(dim, epsilon=epsilon, size=None) == 1
    (part,) = cut(dim, epsilon=epsilon, size=None, blocks=1)
    best = optimal_cap(dim, epsilon=epsilon).cosine
    assert best - 0.01 < draw_cosine(*part) < best + 1e-6


@pytest.mark.parametrize(("blocks", "expected"), [(1, 0.471), (2, 0.459), (4, 0.366)])
def test_cosines_in_blocks_at_64_dimensions_and_epsilon_16(blocks: int, expected: float) -> None:
    assert layout_cosine(cut(64, epsilon=16.0, size=2**14, blocks=blocks)) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(("dim", "size", "top"), [(3, 5, 2), (16, 64, 1), (16, 64, 20), (2, 9, 3)])
def test_the_quadrature_agrees_with_simulated_codebooks(dim: int, size: int, top: int, unit_rows, score) -> None:
    """Sum of the t largest of k cosines, averaged over 4,000 codebooks."""
    first = unit_rows(4000 * size, dim)[:, 0].reshape(4000, size)
    draw = Selection(epsilon=4.0, size=size, heavy_count=top)
    weight = (draw.odds[0] - draw.odds[1]) / draw.total
    assert abs(score(first.topk(top, dim=1).values.sum(dim=1) * weight, draw_cosine(dim, draw))) < 8


@pytest.mark.parametrize(("dim", "whole"), [(8, 16), (32, 64), (1, 7), (7, 7)])
def test_the_mean_length_of_a_part_of_a_unit_vector(dim: int, whole: int, unit_rows) -> None:
    lengths = unit_rows(20_000, whole)[:, :dim].norm(dim=1)
    assert float(lengths.mean()) == pytest.approx(mean_length(dim, whole), abs=8 / 20_000**0.5 * 0.5)


def test_the_rule_takes_more_blocks_as_the_budget_grows() -> None:
    counts = [default_blocks(64, epsilon=epsilon, size=None) for epsilon in (1.0, 8.0, 16.0, 32.0, 64.0, 128.0, 600.0)]
    assert counts == sorted(counts)
    assert counts[:3] == [1, 1, 1]
    assert counts[3] == 2
    for epsilon, count in ((32.0, 2), (64.0, 4)):
        cosines = {m: layout_cosine(cut(64, epsilon=epsilon, size=None, blocks=m)) for m in (1, 2, 4, 8)}
        assert max(cosines, key=cosines.__getitem__) == count


def test_the_rule_for_the_size_covers_a_cap_ten_times_within_its_limits() -> None:
    assert block_draw(64, epsilon=Fraction(8)).size == 2**12
    assert block_draw(64, epsilon=Fraction(9)).size == 2**13
    assert block_draw(64, epsilon=Fraction(16)).size == 2**14
    assert block_draw(64, epsilon=Fraction(16)).heavy_count == 1


@pytest.mark.mutants("mechanisms.codebook")
def test_more_blocks_than_pairs_of_coordinates_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="blocks must be at most half of the 7 coordinates, got 4"):
        Codebook(epsilon=8.0, blocks=4).layout(7)
    with pytest.raises(ConfigurationError, match="blocks must be at most half of the 3 coordinates, got 2"):
        cut(3, epsilon=8.0, size=None, blocks=2)
