"""Claims about n-gram models in integers: distribution functions for every context, and what they learn."""

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from adept.models.language_model.next_word import CONTEXT, CONTEXT_COLUMNS, below, find_contexts
from adept.models.language_model.ngrams import LIKELIEST, MAX_SUM_BITS, ONE, REST, SUM, Ngrams

SENTENCES = [[1, 2, 3, 0], [1, 2, 4, 0], [1, 5, 3, 0], [1, 2, 3, 0], [2, 3, 0]]


@pytest.fixture
def ngrams() -> Ngrams:
    return Ngrams.of(SENTENCES, order=3, size=6)


def shares(ngrams: Ngrams, context: tuple[int, ...]) -> list[int]:
    known = known_ends(ngrams, context)
    edges = [below(ngrams.tables, known, symbol) for symbol in range(ngrams.size + 1)]
    assert edges[0] == 0
    assert edges[-1] == ONE
    return [high - low for low, high in itertools.pairwise(edges)]


def known_ends(ngrams: Ngrams, context: tuple[int, ...]) -> NDArray[np.int64]:
    """A context's known ends, and how many there are."""
    known = np.zeros((len(ngrams.tables.levels), CONTEXT_COLUMNS), dtype=np.int64)
    find_contexts(ngrams.tables, np.array(context, dtype=np.int64), known)
    return known


@pytest.mark.parametrize("context", [(6, 6), (6, 1), (1, 2), (5, 5), (4, 0)])
def test_every_context_has_a_distribution_function(ngrams: Ngrams, context: tuple[int, ...]) -> None:
    """Known and unknown contexts alike: from 0 to ONE, and every symbol has a share."""
    assert all(share > 0 for share in shares(ngrams, context))


def test_what_followed_a_context_is_likely_after_it(ngrams: Ngrams) -> None:
    after = shares(ngrams, (1, 2))
    assert after[3] > after[4] > after[5]
    known = known_ends(ngrams, (1, 2))
    longest = known[known[-1, CONTEXT] - 1, CONTEXT]
    assert ngrams.tables.contexts[longest, LIKELIEST] == 3
    assert ngrams.tables.contexts[-1, LIKELIEST] == 2  # 2 and 3 follow two symbols each: the first of equals


def test_every_context_that_was_seen_is_found(ngrams: Ngrams) -> None:
    for *context, _ in ngrams.rows.tolist():
        assert known_ends(ngrams, tuple(context))[-1, CONTEXT] == len(context)
    assert known_ends(ngrams, (4, 2))[-1, CONTEXT] == 1


def test_an_unknown_context_is_read_by_its_end(ngrams: Ngrams) -> None:
    assert shares(ngrams, (4, 2)) == shares(ngrams, (5, 2))


def test_a_unigram_model_without_text_is_uniform() -> None:
    assert shares(Ngrams.of([], order=2, size=4), (4,)) == [ONE // 4] * 4


def test_tables_do_not_depend_on_the_order_of_rows(ngrams: Ngrams) -> None:
    again = Ngrams(ngrams.rows[::-1], ngrams.counts[::-1], size=ngrams.size)
    for one, other in zip(ngrams.tables, again.tables, strict=True):
        assert np.array_equal(one, other)


def test_rare_ngrams_can_be_forgotten() -> None:
    kept = Ngrams.of(SENTENCES, order=3, size=6, least=2)
    assert min(kept.counts) >= 2
    assert len(kept.rows) < len(Ngrams.of(SENTENCES, order=3, size=6).rows)


def test_smoothing_is_the_interpolated_recursion() -> None:
    """One word seen twice and one once after a single context, all by hand: discounts are at their bounds."""
    ngrams = Ngrams.of([[1], [1], [2]], order=2, size=3)
    rest, sums = ngrams.tables.contexts[0, REST], ngrams.tables.followers[:, SUM]
    assert sums[2] + rest == 3000
    once = 1000 - (sums[2] - sums[1])
    assert sums[1] == 2000 - (rest - once)
    shorter = np.diff(ngrams.tables.alone)[1] / ONE
    assert math.isclose(shares(ngrams, (3,))[1] / ONE, (sums[1] + rest * shorter) / 3000, abs_tol=1e-6)


def test_counts_of_any_size_have_a_distribution_function() -> None:
    """A stranger's counts are as large as a file may hold: sums are kept in so few bits that no product is too large."""
    plain = Ngrams.of(SENTENCES, order=3, size=6)
    large = Ngrams(plain.rows, plain.counts.astype(np.int32) + 2**30, size=6)
    for context in ((6, 6), (6, 1), (1, 2), (4, 0)):
        assert min(shares(large, context)) >= 0
    assert int(large.tables.followers[-1, SUM]).bit_length() <= MAX_SUM_BITS
