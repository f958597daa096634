"""Words by the words beside them."""

import numpy as np
import pytest

from adept.models.topics.cooccurrence import _information, cooccurrence_vectors


def test_information_is_how_much_more_often_two_words_meet_than_chance_would_have_it() -> None:
    """Worked by hand: 0 and 1 meet once as neighbours, 0 and 2 once two places apart, 1 and 2 once as neighbours."""
    found = _information([[0, 1, 2], [3, 4]], words=5).toarray()
    of_word = np.array([1.5, 2.0, 1.5, 1.0, 1.0])
    chance = of_word[:, None] * (of_word**0.75 / (of_word**0.75).sum())
    near = np.zeros((5, 5))
    for one, other, weight in ((0, 1, 1.0), (0, 2, 0.5), (1, 2, 1.0), (3, 4, 1.0)):
        near[one, other] = near[other, one] = weight
    expected = np.where(near > 0, np.log(np.where(near > 0, near, 1.0) / chance), 0.0)
    assert found == pytest.approx(np.maximum(expected, 0))


def test_words_that_keep_the_same_company_have_the_same_vector_though_they_never_meet() -> None:
    rows = [[verb, thing] for verb in (0, 1) for thing in (2, 3, 4)] + [[5, 6], [6, 7], [7, 5]]
    vectors = cooccurrence_vectors(rows, words=8, seed=0)
    assert vectors[0] @ vectors[1] == pytest.approx(1.0)
    assert vectors[0] @ vectors[5] < 0.1


def test_words_without_a_vector_keep_their_place_and_say_nothing() -> None:
    near, apart = _information([[0, 1]], words=2).toarray(), _information([[0, -1, 1], [0, 1]], words=2).toarray()
    assert near[0, 1] > 0
    assert apart[0, 1] > 0
    assert not cooccurrence_vectors([[0, -1], [-1, 1]], words=2, seed=0).any()  # no two words ever meet
    assert not cooccurrence_vectors([], words=3, seed=0).any()


def test_the_window_ends() -> None:
    far = [[0, *[-1] * 8, 1], [0, 2]]
    assert _information(far, words=3)[0, 1] == 0
    assert _information([[0, *[-1] * 7, 1], [0, 2]], words=3)[0, 1] != 0
