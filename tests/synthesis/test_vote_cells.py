"""Claims about public cells: a vote depends on its own record alone, to the last bit, and their number on public numbers alone."""

import random

import numpy as np
import pytest

from adept.data.corpus import Corpus
from adept.mechanisms import Votes
from adept.mechanisms.policy import MANY_CODEWORDS, MAX_CODEWORDS, MIN_CODEWORDS
from adept.models.saved_model import Autoencoder
from adept.models.tokenizer import Tokenizer
from adept.synthesis import votes
from adept.synthesis.votes import (
    GRID,
    MAX_CELLS,
    MAX_COMPARISONS,
    PublicCells,
    WeightedTexts,
    choose_size,
    largest_size,
)

Loaded = tuple[Autoencoder, Tokenizer]


@pytest.fixture(scope="module")
def public(loaded: Loaded, travel: dict[str, Corpus]) -> PublicCells:
    return PublicCells(*loaded, WeightedTexts.alike(sorted(set(travel["train"].texts)))).choose_codewords(24)


def test_a_vote_depends_on_its_own_record_alone(public: PublicCells, travel: dict[str, Corpus]) -> None:
    texts = [*travel["test"].texts, "", "\U0001f600 zqxj", "a " * 500]
    together, features = public.vote(texts), public.of(texts)
    assert (together == np.concatenate([public.vote([text]) for text in texts])).all()
    order = random.Random(0).sample(range(len(texts)), len(texts))
    assert (public.of([texts[place] for place in order]) == features[order]).all()


def test_features_are_whole_numbers_of_which_every_product_is_exact(public: PublicCells) -> None:
    for rows in (public.features, public.codewords):
        assert (rows == np.rint(rows)).all()
        assert np.abs(rows).max() <= GRID
    few, codewords = public.features[:5], public.codewords[:3]
    exact = [[sum(int(a) * int(b) for a, b in zip(row, word, strict=True)) for word in codewords] for row in few]
    assert (few @ codewords.T == np.array(exact)).all()


def test_the_same_public_text_makes_the_same_cells(loaded: Loaded, public: PublicCells) -> None:
    again = PublicCells(*loaded, WeightedTexts.alike(public.texts)).choose_codewords(24)
    assert (again.codewords == public.codewords).all()
    assert (again.places == public.places).all()


def test_codewords_lie_where_texts_are_expected(loaded: Loaded, public: PublicCells) -> None:
    """The first half of the texts, in alphabetical order, are a hundred times as common as the others."""
    expected = np.where(np.arange(len(public.texts)) < len(public.texts) // 2, 100.0, 1.0)
    placed = PublicCells(*loaded, WeightedTexts(public.texts, expected, np.ones(len(expected)))).choose_codewords(24)
    lost = [((cells.features - cells.codewords[cells.places]) ** 2).sum(axis=1) for cells in (placed, public)]
    assert lost[0] @ expected < lost[1] @ expected
    assert placed.public.shares.tolist() == expected.tolist()


def test_no_texts_are_no_votes(public: PublicCells) -> None:
    assert public.vote([]).tolist() == []


def size_of(number: int, epsilon: float, *, votes: int = 1, labels: int = 10, named: bool = False) -> int:
    budget = Votes(epsilon=epsilon, votes_per_person=votes, rounds=2)
    return choose_size(number, budget, labels=labels, most=10**9, named=named)


def test_the_number_of_codewords_grows_with_records_of_a_label_and_with_the_budget() -> None:
    whole = size_of(10_000, 1.0)
    assert size_of(20_000, 1.0) == pytest.approx(2 * whole, rel=0.01)
    assert size_of(10_000, 1.0, labels=160) == pytest.approx(whole / 8, rel=0.01)
    assert size_of(10_000, 1.0, named=True) == pytest.approx(2 * whole, rel=0.01)
    assert size_of(10_000, 2.0, votes=2) == whole  # the same noise
    assert size_of(10_000, 2.0) > 2 * whole


@pytest.mark.parametrize("number", [-(10**18), -5, 0, 1, 10**18])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 600.0])
def test_every_number_of_votes_gives_codewords(number: int, epsilon: float) -> None:
    """The noisy number can be any whole number: none may end a run."""
    votes = Votes(epsilon=epsilon, rounds=2)
    for labels, most in ((1, 4096), (10**6, 16), (3, 1)):
        assert 1 <= choose_size(number, votes, labels=labels, most=most, named=True) <= most


def test_the_number_of_codewords_has_bounds() -> None:
    assert largest_size(labels=3, texts=10**6, named=False) == MAX_CODEWORDS
    assert largest_size(labels=3, texts=10**6, named=True) == 10**6
    assert largest_size(labels=10**6, texts=10**6, named=True) == MAX_CELLS // 10**6
    assert largest_size(labels=3, texts=400, named=False) == 100
    assert largest_size(labels=3, texts=2, named=False) == 1
    assert size_of(0, 1.0) == MIN_CODEWORDS


def test_comparing_all_records_with_all_codewords_has_a_limit() -> None:
    assert size_of(10**5, 8.0) == MAX_COMPARISONS // 10**5
    assert size_of(10**8, 8.0) == MANY_CODEWORDS


def test_many_codewords_are_found_in_groups_of_texts(
    loaded: Loaded, public: PublicCells, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exactly as many as asked for, and nearer to their texts than codewords that are texts by chance."""
    monkeypatch.setattr(votes, "MAX_KMEANS_PRODUCTS", 0)
    monkeypatch.setattr(votes, "KMEANS_GROUPS", 8)
    grouped = public.choose_codewords(60)
    assert grouped.size == len(np.unique(grouped.codewords, axis=0)) == 60
    assert np.bincount(grouped.places).min() > 0  # a codeword without a text would be a wasted one
    by_chance = public.features[np.random.default_rng(0).permutation(len(public.features))[:60]]
    lost = [
        ((public.features[:, None] - codewords) ** 2).sum(axis=2).min(axis=1).sum()
        for codewords in (grouped.codewords, by_chance)
    ]
    assert lost[0] < 0.8 * lost[1]


def test_few_codewords_are_never_found_in_groups(public: PublicCells, monkeypatch: pytest.MonkeyPatch) -> None:
    """With more groups than codewords, most groups would have none."""
    monkeypatch.setattr(votes, "MAX_KMEANS_PRODUCTS", 0)
    assert (public.choose_codewords(24).codewords == public.codewords).all()


def test_each_text_can_be_a_codeword(public: PublicCells, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(votes, "MAX_KMEANS_PRODUCTS", 0)
    monkeypatch.setattr(votes, "KMEANS_GROUPS", 8)
    every = public.choose_codewords(len(public.texts))
    assert np.abs(every.features - every.codewords[every.places]).max() <= 1  # a codeword is scaled and rounded again


def test_groups_get_codewords_by_their_weight_and_no_more_than_they_have_texts() -> None:
    groups, weights = np.array([2, 0, 0, 0, 0, 1, 2], dtype=np.int32), np.array([0.1, 4.0, 4.0, 4.0, 4.0, 100.0, 0.1])
    assert votes._seats(groups, weights, 4) == [3, 1, 0]
    assert votes._seats(groups, weights, 7) == [4, 1, 2]
