"""Claims about the rules for K and t: they follow public numbers alone, and transmit nearly all that is possible."""

import math

import mpmath
import pytest

from adept.mechanisms import policy
from adept.mechanisms.policy import Lists
from adept.mechanisms.selection import Selection

BROAD = Lists("sphere", (64, 8192), 300_000, 16_000, True, 0, False, False)
ADAPTED = BROAD._replace(examples=100)


@pytest.mark.parametrize("epsilon", [2.0, 4.0, 8.0, 12.0, 16.0])
def test_the_default_size_transmits_nearly_the_capacity(epsilon: float) -> None:
    with mpmath.workdps(60):
        e, size = mpmath.mpf(epsilon), policy.best_size(epsilon)
        u = e / (1 - mpmath.exp(-e))
        keep = 1 / (1 + (size - 1) * mpmath.exp(-e))
        other = (1 - keep) / (size - 1)
        bits = mpmath.log(size) + keep * mpmath.log(keep) + (1 - keep) * mpmath.log(other)
        assert bits / (u - 1 - mpmath.log(u)) > 0.997


def test_a_budget_beyond_all_sizes_has_the_largest_one() -> None:
    assert policy.best_size(600.0) == policy.MAX_LIST
    assert policy.best_size(1e-3) == 2


@pytest.mark.parametrize(("epsilon", "labels"), [(6.0, 7), (8.0, 20), (12.0, 64)])
def test_the_size_beside_labels_tells_most_where_texts_determine_labels(epsilon: float, labels: int) -> None:
    """The mutual information of a uniform true pair out of K and its release: no K tells .5 % more."""
    odds = math.exp(epsilon)

    def nats(size: int) -> float:
        weight = odds + size * labels - 1
        true, other = (
            (odds + size - 1) / (size * weight),
            1 / weight,
        )  # of a pair that some record has, and that none has
        entropy = -size * true * math.log(true) - size * (labels - 1) * other * math.log(other)
        return entropy + odds / weight * math.log(odds / weight) + (1 - odds / weight) * math.log(other)

    best = max(nats(size) for size in range(2, 2000))
    assert nats(policy.best_size_beside_labels(epsilon, labels)) > 0.995 * best
    assert policy.best_size_beside_labels(600.0, labels) == policy.MAX_LIST


@pytest.mark.mutants("mechanisms.policy")
@pytest.mark.parametrize("epsilon", [2.0, 10.0, 12.0, 14.0, 16.0, 600.0])
def test_as_many_sentences_are_heavy_as_give_one_of_them_the_odds(epsilon: float) -> None:
    heavy = policy.heavy_sentences(epsilon, 300_000)
    odds, weight = max(1.0, epsilon - 4), math.exp(epsilon)
    one_less, one_more = ((heavy + half) * weight / (300_000 - heavy - half) for half in (-0.5, 0.5))
    assert one_less < odds * (1 + 1e-9) or heavy == 1
    assert odds < one_more * (1 + 1e-9)


@pytest.mark.mutants("mechanisms.policy")
@pytest.mark.parametrize(
    ("epsilon", "size", "top"),
    [(2.0, 8192, 1252), (4.0, 8192, 289), (8.0, 8192, 11), (10.0, 16_384, 4), (12.0, 32_768, 2), (16.0, 131_072, 1)],
)
def test_cells_grow_with_epsilon_and_fewer_of_their_sentences_are_heavy(epsilon: float, size: int, top: int) -> None:
    assert (policy.cell_size(epsilon), policy.heavy_of_cell(epsilon, size)) == (size, top)
    budgets = [epsilon - 0.5, epsilon, epsilon + 0.5]
    sizes = [policy.cell_size(budget) for budget in budgets]
    assert sizes == sorted(sizes)


@pytest.mark.parametrize(
    ("epsilon", "count", "top"),
    [(0.5, 32, 10), (2.0, 64, 6), (4.0, 256, 4), (8.0, 1024, 2), (10.0, 1024, 1), (64.0, 1024, 1)],
)
def test_codewords_of_one_domain_follow_the_budget(epsilon: float, count: int, top: int) -> None:
    assert (policy.codeword_count(epsilon), policy.heavy_codewords(epsilon, count)) == (count, top)


@pytest.mark.parametrize(
    ("epsilon", "sizes", "count", "top"),
    [
        (0.5, (64, 128, 256, 512), 512, 229),
        (2.0, (64, 128, 256, 512), 512, 78),
        (4.0, (64, 128, 256, 512), 512, 18),
        (20.0, (64, 128, 256, 512), 512, 1),
        (2.0, (64, 128, 512), 128, 20),
        (6.0, (64, 128, 512), 512, 5),
        (0.5, (300, 512), 512, 229),
    ],
)
def test_of_broad_text_all_codewords_are_used_and_a_gap_ends_those_of_a_domain(
    epsilon: float, sizes: tuple[int, ...], count: int, top: int
) -> None:
    """The odds of a heavy codeword are epsilon - 2 to one, at least 4 to 3."""
    assert policy.broad_codewords(epsilon, sizes, asked=policy.codeword_count(epsilon)) == (count, top)


def test_the_default_mechanism_follows_the_model_and_the_budget() -> None:
    assert policy.default_mechanism(BROAD._replace(clip="l1"), epsilon=8.0) == "l1"
    assert [policy.default_mechanism(BROAD, epsilon=epsilon) for epsilon in (8.9, 9.0)] == [
        "learned_codebook",
        "description",
    ]
    domain = BROAD._replace(is_broad=False)
    assert [policy.default_mechanism(domain, epsilon=epsilon) for epsilon in (9.9, 10.0)] == [
        "learned_codebook",
        "description",
    ]
    assert policy.default_mechanism(domain._replace(writes_labels=True), epsilon=16.0) == "learned_codebook"
    assert policy.default_mechanism(domain._replace(sentences=0, codebooks=()), epsilon=16.0) == "codebook"


def test_one_answer_holds_the_mechanism_and_the_sizes_of_each_list() -> None:
    chosen = policy.choose(BROAD, epsilon=8.0)
    assert chosen.mechanism == policy.default_mechanism(BROAD, epsilon=8.0)
    assert chosen.codewords == policy.broad_codewords(8.0, BROAD.codebooks, asked=policy.codeword_count(8.0))
    assert chosen.sentences == policy.listed_sentences(BROAD, epsilon=8.0, asked=policy.best_size(8.0))
    assert chosen.cell == (policy.cell_size(8.0), policy.heavy_of_cell(8.0, policy.cell_size(8.0)))
    assert policy.choose(BROAD._replace(sentences=0), epsilon=8.0)[2:] == (None, None)
    for epsilon in (None, 0.0, -1.0, math.nan, math.inf, 1e-4, 601.0):  # which a mechanism refuses
        assert policy.choose(BROAD, epsilon=epsilon)[1:] == (None, None, None)


def test_labels_choose_sentences_where_cells_are_smaller_than_the_list() -> None:
    assert policy.has_cells(BROAD, epsilon=8.0)
    assert not policy.has_cells(BROAD._replace(sentences=5_000), epsilon=8.0)
    assert not policy.has_cells(BROAD, epsilon=float("inf"))
    assert policy.has_cells(ADAPTED, epsilon=8.0)
    assert policy.has_cells(ADAPTED._replace(examples=policy.MANY_EXAMPLES), epsilon=8.0)
    assert not policy.has_cells(ADAPTED._replace(foreign_examples=True), epsilon=8.0)


@pytest.mark.parametrize(("examples", "least"), [(100, 12.5), (1000, 14.0)])
def test_an_adapted_model_writes_all_its_sentences_at_large_budgets(examples: int, least: float) -> None:
    lists = ADAPTED._replace(examples=examples)

    def count(epsilon: float) -> int:
        return policy.listed_sentences(lists, epsilon=epsilon, asked=policy.best_size(epsilon)).size

    assert [count(10.0), count(least - 0.1), count(least)] == [16_000, 16_000, 300_000]


def test_broad_text_uses_its_first_sentences_where_a_budget_pays_for_few() -> None:
    assert policy.listed_sentences(BROAD, epsilon=8.0, asked=426) == (426, 1)
    assert policy.listed_sentences(BROAD, epsilon=10.0, asked=2_500) == (300_000, policy.heavy_sentences(10.0, 300_000))
    assert policy.listed_sentences(BROAD._replace(is_broad=False), epsilon=8.0, asked=426).size == 300_000


@pytest.mark.parametrize(("size", "epsilon"), [(2, 3), (6_485, 12), (314_402, 16), (policy.MAX_LIST, 17)])
def test_a_larger_epsilon_than_enough_changes_at_most_one_release_in_twenty(size: int, epsilon: int) -> None:
    """And a whole epsilon less does not do."""
    kept = [float(Selection(epsilon=float(one), size=size).heavy_probability) for one in (epsilon - 1, epsilon)]
    assert Selection(epsilon=8.0, size=size).enough_epsilon == epsilon
    assert kept[0] < policy.SURE_SHARE <= kept[1]
