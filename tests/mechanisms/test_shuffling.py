"""What shuffling adds is never less than the truth, hardly more than the best known bound, and refused where nothing is proven."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations, product

import numpy as np
import pytest
import torch
from scipy.stats import multinomial

from adept.errors import ConfigurationError
from adept.mechanisms import Codebook, Description, Gaussian, LearnedCodebook, Mechanism, OriginalLaplace
from adept.mechanisms import RandomizedResponse as Response
from adept.mechanisms.shuffling import Draw, central_delta, central_epsilon, draws_of


def shuffled_law(draw: Draw, records: Sequence[tuple[int, ...]]) -> Counter[tuple[int, ...]]:
    """The exact law of the multiset of symbols that records with these heavy sets release."""
    heavy = math.exp(draw.epsilon)
    total = draw.top * heavy + draw.size - draw.top
    law: Counter[tuple[int, ...]] = Counter()
    for symbols in product(range(draw.size), repeat=len(records)):
        chance = math.prod((heavy if s in r else 1.0) / total for s, r in zip(symbols, records, strict=True))
        law[tuple(sorted(symbols))] += chance  # type: ignore[assignment]
    return law


def true_delta(draw: Draw, records: int, epsilon: float) -> float:
    """The exact delta of a shuffled file: the largest over all neighbouring files."""
    sets = list(combinations(range(draw.size), draw.top))
    worst = 0.0
    for others in product(sets, repeat=records - 1):
        laws = [shuffled_law(draw, [*others, one]) for one in sets]
        for p, q in product(laws, laws):
            worst = max(worst, sum(max(0.0, p[v] - math.exp(epsilon) * q[v]) for v in p))
    return worst


@pytest.mark.parametrize(
    ("draw", "records"), [(Draw(1.0, 3), 3), (Draw(2.0, 2), 4), (Draw(1.5, 3, 2), 3), (Draw(1.0, 4, 2), 2)]
)
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 0.8])
def test_no_pair_of_files_exceeds_the_bound(draw: Draw, records: int, epsilon: float) -> None:
    """By enumeration of all files and all their outputs; a blanket twice as thick would be refuted here."""
    truth = true_delta(draw, records, epsilon)
    assert truth <= central_delta([draw], records=records, epsilon=epsilon) <= 4 * truth + 1e-3


@pytest.mark.parametrize("draw", [Draw(3.0, 8), Draw(2.0, 6, 2), Draw(1.0, 4, 3)])
@pytest.mark.parametrize("epsilon", [0.0, 0.4, 0.9])
def test_the_number_is_the_formula_summed_term_by_term(draw: Draw, epsilon: float) -> None:
    n, e, heavy = 12, math.exp(epsilon), math.exp(draw.epsilon)
    total = draw.top * heavy + draw.size - draw.top
    shared = max(0, 2 * draw.top - draw.size)
    own = draw.top - shared
    counts = np.array([own, own, shared, draw.size - 2 * own - shared])
    values = np.array([heavy - e, 1 - e * heavy, heavy * (1 - e), 1 - e])
    chances = np.append(counts / total, 1 - counts.sum() / total)
    rows = np.array([r for r in product(range(n + 1), repeat=4) if sum(r) <= n])
    law = multinomial.pmf(np.column_stack([rows, n - rows.sum(axis=1)]), n, chances)
    exact = float(np.maximum(rows @ values, 0) @ law) / n
    assert exact <= central_delta([draw], records=n, epsilon=epsilon) <= exact * 1.003


# Computed with the variation-ratio reduction of Wang, Peng, Li, Chen, Wang and Yang (arXiv 2304.05007), written down separately.
REFERENCE = [
    (4.0, 64, 1, 6_500, 1e-6, 0.33988),
    (4.0, 64, 1, 100_000, 1e-6, 0.078986),
    (8.0, 256, 1, 6_500, 1e-6, 4.05357),
    (8.0, 256, 1, 100_000, 1e-6, 1.095479),
    (8.0, 256, 1, 1_000_000, 1e-8, 0.364260),
    (4.0, 256, 8, 1_000_000, 1e-8, 0.0359450),
]


@pytest.mark.parametrize(("local", "size", "top", "records", "delta", "reference"), REFERENCE[:4:2] + REFERENCE[4:5])
def test_figures_are_at_most_a_hundredth_above_the_best_known_ones(
    local: float, size: int, top: int, records: int, delta: float, reference: float
) -> None:
    central = central_epsilon([Draw(local, size, top)], records=records, delta=delta)
    assert reference <= central <= 1.01 * reference
    assert central_delta([Draw(local, size, top)], records=records, epsilon=central) <= delta


@pytest.mark.slow
@pytest.mark.parametrize(("local", "size", "top", "records", "delta", "reference"), REFERENCE)
def test_all_figures_are_at_most_a_hundredth_above_the_best_known_ones(
    local: float, size: int, top: int, records: int, delta: float, reference: float
) -> None:
    assert reference <= central_epsilon([Draw(local, size, top)], records=records, delta=delta) <= 1.01 * reference


def test_the_smallest_overlap_is_the_worst_and_a_product_is_worse_than_its_parts() -> None:
    """Two heavy sets that share symbols are told apart less well than two that do not."""
    one = central_delta([Draw(2.0, 8, 2)], records=50, epsilon=0.5)
    assert central_delta([Draw(2.0, 8, 1)], records=50, epsilon=0.5) != one
    assert central_delta([Draw(2.0, 8, 2), Draw(1.0, 3)], records=50, epsilon=0.5) > one


def test_more_records_hide_better_and_few_hide_nothing() -> None:
    draws = [Draw(4.0, 64)]
    found = [central_epsilon(draws, records=n, delta=1e-6) for n in (1, 10, 300, 3_000)]
    assert found[0] == 4.0
    assert found == sorted(found, reverse=True)
    assert central_epsilon([Draw(60.0, 2**80)], records=10**6, delta=1e-6) == 60.0


def test_an_alphabet_too_large_to_count_is_no_trouble() -> None:
    assert central_epsilon([Draw(8.0, 2**100)], records=1000, delta=1e-6) == 0.0
    assert 0 < central_epsilon([Draw(20.0, 2**24)], records=10**4, delta=1e-6) < 20.0


def test_which_mechanisms_release_a_symbol() -> None:
    words = torch.eye(8)
    assert draws_of(Description(epsilon=4.0, size=64), dim=8) == (Draw(4.0, 64),)
    assert draws_of(LearnedCodebook(epsilon=1.0, codewords=words, top=2), dim=8) == (Draw(1.0, 8, 2),)
    assert draws_of(Codebook(epsilon=2.0, size=16, blocks=1), dim=8)[0].size == 16
    response = Response(epsilon=2.0, labels=("a", "b", "c"))
    assert draws_of(Description(epsilon=4.0, size=64), dim=8, labels=response)[1] == Draw(2.0, 3)


@pytest.mark.parametrize(
    "mechanism", [OriginalLaplace(epsilon=4.0), Gaussian(epsilon=4.0), Codebook(epsilon=4.0, size=16, blocks=2)]
)
def test_what_releases_no_single_symbol_is_refused(mechanism: Mechanism) -> None:
    with pytest.raises(ConfigurationError, match=f"for shuffled records, got {mechanism.name}"):
        draws_of(mechanism, dim=8)
