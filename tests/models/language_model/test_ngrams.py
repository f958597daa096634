"""Claims about n-gram models in integers: distribution functions for every context, and what they learn."""

import itertools
import math

import pytest

from adept.models.language_model.ngrams import ONE, Ngrams

SENTENCES = [[1, 2, 3, 0], [1, 2, 4, 0], [1, 5, 3, 0], [1, 2, 3, 0], [2, 3, 0]]


@pytest.fixture
def ngrams() -> Ngrams:
    return Ngrams.of(SENTENCES, order=3, size=6)


def shares(ngrams: Ngrams, context: tuple[int, ...]) -> list[int]:
    branches = ngrams.branches(context)
    edges = [ngrams.below(branches, symbol) for symbol in range(ngrams.size + 1)]
    assert edges[0] == 0
    assert edges[-1] == ONE
    return [high - low for low, high in itertools.pairwise(edges)]


@pytest.mark.parametrize("context", [(6, 6), (6, 1), (1, 2), (5, 5), (4, 0)])
def test_every_context_has_a_distribution_function(ngrams: Ngrams, context: tuple[int, ...]) -> None:
    """Known and unknown contexts alike: from 0 to ONE, and every symbol has a share."""
    assert all(share > 0 for share in shares(ngrams, context))


def test_what_followed_a_context_is_likely_after_it(ngrams: Ngrams) -> None:
    after = shares(ngrams, (1, 2))
    assert after[3] > after[4] > after[5]
    assert ngrams.likely((1, 2), 2) == [3, 4]


def test_an_unknown_context_is_read_by_its_end(ngrams: Ngrams) -> None:
    assert shares(ngrams, (4, 2)) == shares(ngrams, (5, 2))


def test_a_unigram_model_without_text_is_uniform() -> None:
    assert shares(Ngrams.of([], order=2, size=4), (4,)) == [ONE // 4] * 4


def test_rare_ngrams_can_be_forgotten() -> None:
    kept = Ngrams.of(SENTENCES, order=3, size=6, least=2)
    assert min(kept.counts) >= 2
    assert len(kept.rows) < len(Ngrams.of(SENTENCES, order=3, size=6).rows)


def test_smoothing_is_the_interpolated_recursion() -> None:
    """One word seen twice and one once after a single context, all by hand: discounts are at their bounds."""
    ngrams = Ngrams.of([[1], [1], [2]], order=1, size=3)
    branch = ngrams.branches(())[0]
    taken = branch.rest / 1000
    total = branch.total / 1000
    assert total == 3
    expected = (2000 - (branch.rest - _discount_of_one(ngrams))) / 3000 + taken / total / 3
    assert math.isclose(shares(ngrams, ())[1] / ONE, expected, abs_tol=1e-6)


def _discount_of_one(ngrams: Ngrams) -> int:
    """In thousandths: what was taken off the symbol that was seen once."""
    branch = ngrams.branches(())[0]
    return 1000 - (branch.sums[2] - branch.sums[1])
