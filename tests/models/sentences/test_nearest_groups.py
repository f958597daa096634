"""The inverted file finds the meanings nearest to a record's in a few groups."""

import numpy as np
import pytest
from numpy.typing import NDArray

from adept.mechanisms import policy
from adept.models.sentence_encoder import LENGTH
from adept.models.sentences import nearest_text
from adept.models.sentences.nearest_text import InvertedFile, group_meanings, join_groups

DIM, COUNT = 32, 4000


def search(file: InvertedFile, asked: NDArray[np.int8], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers and products of the nearest texts."""
    return file.nearest(asked, count, file.make_room(len(asked)))


@pytest.fixture(scope="module")
def meanings() -> NDArray[np.int8]:
    """Directions around fifty subjects, every tenth of them twice."""
    rng = np.random.default_rng(0)
    subjects = rng.normal(size=(50, DIM))
    table = subjects[rng.integers(50, size=COUNT)] + 0.4 * rng.normal(size=(COUNT, DIM))
    table[::10] = table[1::10]
    return np.rint(LENGTH * table / np.linalg.norm(table, axis=1, keepdims=True)).astype(np.int8)


@pytest.fixture
def groups(meanings: NDArray[np.int8]) -> NDArray[np.int16]:
    return group_meanings(meanings)


def test_like_meanings_share_a_group(meanings: NDArray[np.int8], groups: NDArray[np.int16]) -> None:
    table = meanings.astype(int)
    inside = [np.mean(table[groups == group] @ table[groups == group].T) for group in np.unique(groups)]
    assert 50 < len(inside) <= COUNT // policy.TEXTS_PER_GROUP + 1
    assert np.mean(inside) > 5 * np.mean(table[:1000] @ table[1000:2000].T)


def test_the_same_meanings_have_the_same_groups(meanings: NDArray[np.int8], groups: NDArray[np.int16]) -> None:
    assert (group_meanings(meanings) == groups).all()


def test_no_group_is_larger_than_most(meanings: NDArray[np.int8], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = np.bincount(group_meanings(meanings))
    monkeypatch.setattr(nearest_text, "GROUP_TEXTS", 50)
    cut = np.bincount(group_meanings(meanings))
    assert whole.max() > 50 >= cut.max()
    assert cut.min() >= 1
    assert len(cut) == np.ceil(whole / 50).sum()


def test_all_groups_together_hold_what_all_products_find(
    meanings: NDArray[np.int8], groups: NDArray[np.int16], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Places and products, the first of equals first, when every group is probed."""
    monkeypatch.setattr(policy, "PROBED_GROUPS", COUNT)
    numbers, products = search(InvertedFile(meanings.copy(), groups), meanings[:80], 20)
    every = meanings[:80].astype(int) @ meanings.astype(int).T
    expected = np.argsort(-every, axis=1, kind="stable")[:, :20]
    assert (numbers == expected).all()
    assert (products == np.take_along_axis(every, expected, axis=1)).all()


def test_a_few_groups_hold_most_of_what_all_hold(
    meanings: NDArray[np.int8], groups: NDArray[np.int16], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy, "PROBED_GROUPS", 6)
    found, _ = search(InvertedFile(meanings.copy(), groups), meanings[:200], 1)
    every = meanings[:200].astype(int) @ meanings.astype(int).T
    assert np.mean(every[np.arange(200), found[:, 0]] == every.max(axis=1)) > 0.9


def test_what_a_record_finds_does_not_depend_on_the_others(
    meanings: NDArray[np.int8], groups: NDArray[np.int16], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy, "PROBED_GROUPS", 3)
    file, asked = InvertedFile(meanings.copy(), groups), meanings[:60]
    numbers, products = search(file, asked, 40)
    for place in range(60):
        alone = search(file, asked[place : place + 1], 40)
        assert (alone[0][0] == numbers[place]).all()
        assert (alone[1][0] == products[place]).all()


def test_a_record_that_finds_too_few_texts_has_its_nearest_one_again(
    meanings: NDArray[np.int8], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy, "PROBED_GROUPS", 1)
    groups = np.array([0] * 30 + [1] * 2 + [2] * 30, dtype=np.int16)
    small = np.concatenate([np.repeat(meanings[:1], 30, axis=0), meanings[3:5], np.repeat(-meanings[:1], 30, axis=0)])
    numbers, products = search(InvertedFile(small.copy(), groups), small[[0, 30]], 8)
    assert numbers[0].tolist() == list(range(8))
    assert set(numbers[1].tolist()) <= {30, 31}
    assert (products[1, 2:] == products[1, 0]).all()


def test_new_meanings_join_the_nearest_group(
    meanings: NDArray[np.int8], groups: NDArray[np.int16], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few of them, or those that none has a group of, are one group."""
    assert join_groups(meanings, groups).tolist() == join_groups(meanings, groups[:0]).tolist() == [0] * COUNT
    monkeypatch.setattr(nearest_text, "MAX_UNGROUPED", 0)
    again = join_groups(np.concatenate([meanings[:500], meanings]), groups)
    assert (again[500:] == groups).all()
    assert np.mean(again[:500] == groups[:500]) > 0.9


@pytest.mark.parametrize("count", [1, 2, 63, 65])
def test_few_texts_and_equal_ones_are_found(meanings: NDArray[np.int8], count: int) -> None:
    """Against all products: one text, texts that are all the same, and texts that mean nothing."""
    same, nothing = np.repeat(meanings[:1], count, axis=0), np.zeros((count, DIM), dtype=np.int8)
    for table in (meanings[:count], same, nothing):
        numbers, _ = search(InvertedFile(table.copy(), group_meanings(table)), meanings[:5], 3)
        expected = np.argsort(-(meanings[:5].astype(int) @ table.astype(int).T), axis=1, kind="stable")[:, :3]
        assert (numbers == expected).all()
    assert group_meanings(meanings[:0]).tolist() == []


def test_groups_without_texts_are_never_probed(meanings: NDArray[np.int8], monkeypatch: pytest.MonkeyPatch) -> None:
    """A record of no known word is as near to an empty group as to any: it finds a text even so."""
    monkeypatch.setattr(policy, "PROBED_GROUPS", 2)
    file = InvertedFile(meanings[:100].copy(), np.full(100, 4000, dtype=np.int16))
    assert search(file, np.zeros((1, DIM), dtype=np.int8), 3)[0].tolist() == [[0, 1, 2]]


def test_a_group_of_all_texts_is_cut(meanings: NDArray[np.int8]) -> None:
    """So that a file's groups do not decide how much memory a record takes; all parts are probed."""
    file = InvertedFile(meanings.copy(), np.zeros(COUNT, dtype=np.int16))
    assert int(file.sizes.max()) <= nearest_text.JOINED_GROUP_TEXTS
    numbers, _ = search(file, meanings[:9], 5)
    expected = np.argsort(-(meanings[:9].astype(int) @ meanings.astype(int).T), axis=1, kind="stable")[:, :5]
    assert (numbers == expected).all()
