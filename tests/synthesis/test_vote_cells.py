"""Claims about public cells: a vote depends on its own record alone, to the last bit, and their number on public numbers alone."""

import random

import numpy as np
import pytest

from adept.data.corpus import Corpus
from adept.models.saved_model import Autoencoder
from adept.models.tokenizer import Tokenizer
from adept.synthesis.vote_cells import GRID, MAX_CELLS, MAX_CODEWORDS, PublicCells, PublicTexts, default_size

Loaded = tuple[Autoencoder, Tokenizer]


@pytest.fixture(scope="module")
def public(loaded: Loaded, travel: dict[str, Corpus]) -> PublicCells:
    return PublicCells(*loaded, PublicTexts.alike(sorted(set(travel["train"].texts))), size=24)


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
    again = PublicCells(*loaded, PublicTexts.alike(public.texts), size=24)
    assert (again.codewords == public.codewords).all()
    assert (again.places == public.places).all()


def test_codewords_lie_where_texts_are_expected(loaded: Loaded, public: PublicCells) -> None:
    """Half of the texts are a hundred times as common as the others."""
    expected = np.where(np.arange(len(public.texts)) % 2, 100.0, 1.0)
    placed = PublicCells(*loaded, PublicTexts(public.texts, expected, np.ones(len(expected))), size=24)
    lost = [((cells.features - cells.codewords[cells.places]) ** 2).sum(axis=1) for cells in (placed, public)]
    assert lost[0] @ expected < lost[1] @ expected
    assert placed.writable(np.zeros((1, 2), np.float32)).shares.tolist() == expected.tolist()


def test_no_texts_are_no_votes(public: PublicCells) -> None:
    assert public.vote([]).tolist() == []


@pytest.mark.parametrize(("epsilon", "texts", "found"), [(1.0, 10**4, 128), (0.5, 10**4, 64), (1.0, 400, 100)])
def test_the_number_of_codewords_follows_from_budget_and_public_texts(epsilon: float, texts: int, found: int) -> None:
    assert default_size(epsilon=epsilon, sensitivity=1, labels=64, texts=texts) == found
    assert default_size(epsilon=2 * epsilon, sensitivity=2, labels=64, texts=texts) == found


def test_names_place_twice_as_many_codewords() -> None:
    plain, named = (
        [
            default_size(epsilon=epsilon, sensitivity=1, labels=64, texts=10**5, named=known)
            for epsilon in (0.01, 1.0, 99.0)
        ]
        for known in (False, True)
    )
    assert named == [2 * size for size in plain] == [32, 256, 2 * MAX_CODEWORDS]
    assert default_size(epsilon=1.0, sensitivity=1, labels=64, texts=400, named=True) == 100


def test_the_number_of_codewords_has_bounds() -> None:
    assert default_size(epsilon=600.0, sensitivity=1, labels=3, texts=10**6) == MAX_CODEWORDS
    assert default_size(epsilon=600.0, sensitivity=1, labels=10**6, texts=10**6) == MAX_CELLS // 10**6
    assert default_size(epsilon=1e-3, sensitivity=1, labels=3, texts=2) == 1
