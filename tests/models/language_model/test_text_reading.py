"""Claims about reading texts: common prefixes and the texts before save time, and change nothing."""

import math
import random
from itertools import pairwise

import numpy as np
import pytest
import travel
from distributions import after

from adept.models.codec import arithmetic_code
from adept.models.codec.arithmetic_code import ArithmeticCode
from adept.models.codec.codec import words_of
from adept.models.language_model import common_prefixes as prefixes
from adept.models.language_model.common_prefixes import begin, common_prefixes, go_on
from adept.models.language_model.intervals import ONE
from adept.models.language_model.mixture import LanguageModel
from adept.models.language_model.next_word import at, find, span, unread


@pytest.fixture(scope="module")
def rows() -> list[tuple[str, ...]]:
    return [words_of(text) for text in travel.texts(400)]


@pytest.fixture(scope="module", params=["network", "n-grams"])
def model(rows: list[tuple[str, ...]], request: pytest.FixtureRequest) -> LanguageModel:
    made = LanguageModel.of(rows)
    return made.with_network(rows[:40]) if request.param == "network" else made.without_unknown_words()


def test_common_prefixes_are_beginnings_of_texts_and_all_that_they_begin_with(
    model: LanguageModel, rows: list[tuple[str, ...]]
) -> None:
    common, before = common_prefixes(model), len(model.tables.class_of)
    found: list[tuple[int, ...]] = [()]
    for key in common.keys[:, 0].tolist():
        found.append((*found[key // before], key % before))
    assert len(found) == len(set(found)) == len(common.after.prefix) <= prefixes.COMMON
    assert np.all(np.diff(common.keys[:, 0]) > 0)
    seen = {tuple(model.vocabulary.encode(row)[:length]) for row in rows for length in range(len(row) + 1)}
    assert seen.issuperset(found)
    assert {text for text in seen if len(text) == 1} < set(found)


def test_after_a_common_prefix_and_after_others_the_distribution_is_what_reading_makes(
    model: LanguageModel, rows: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prefixes, "COMMON", 60)  # so that texts leave them soon
    common, state, stayed = common_prefixes(model), at(unread(model.tables, 1), 0), 0
    for row in rows[:20]:
        begin(common, state)
        numbers = model.vocabulary.encode(row)
        for place, word in enumerate(numbers):
            expected = after(model, numbers[:place])
            assert span(model.tables, state, word) == span(model.tables, expected, word)
            assert find(model.tables, state, ONE // 3) == find(model.tables, expected, ONE // 3)
            stayed += int(state.prefix[0]) > 0
            go_on(model.tables, common, state, word)
    assert 10 < stayed < sum(map(len, rows[:20])) / 2


def test_common_prefixes_take_no_more_memory_than_they_may(
    model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stranger's vocabulary may have a class for each word, and a distribution a number for each class."""
    one = sum(part.size for part in unread(model.tables, 1))
    monkeypatch.setattr(prefixes, "NUMBERS", 20 * one)
    assert 10 < len(common_prefixes(model).after.prefix) <= 20
    monkeypatch.setattr(prefixes, "NUMBERS", one // 2)
    common, state = common_prefixes(model), at(unread(model.tables, 1), 0)
    begin(common, state)
    assert len(common.after.prefix) == 1
    assert find(model.tables, state, ONE // 3) == find(model.tables, after(model, []), ONE // 3)


def test_a_point_leaves_the_distribution_as_it_was(model: LanguageModel) -> None:
    """What a search for a word narrows is wide again for the next one."""
    state = after(model, model.vocabulary.encode(words_of("show me flights"))[:-1])
    expected = [span(model.tables, state, word) for word in range(len(model.vocabulary.words))]
    for point in range(0, ONE, ONE // 7):
        find(model.tables, state, point)
        assert [span(model.tables, state, word) for word in range(len(expected))] == expected


@pytest.mark.parametrize("beginnings", [50, arithmetic_code.BEGINNINGS], ids=["of few texts", "of all texts"])
def test_a_text_has_the_same_interval_whatever_was_read_before_it(
    model: LanguageModel, rows: list[tuple[str, ...]], beginnings: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Texts near to one record share words at any place; longer and shorter ones, too narrow ones, and words that are spelled."""
    monkeypatch.setattr(arithmetic_code, "BEGINNINGS", beginnings)
    code, rng = ArithmeticCode(model, 1 << 60), random.Random(0)
    read, sizes, lengths = code.reading(), [0], set()
    for row in [rows[0]] * 40 + [rows[1]] * 40:
        kept = [word if rng.random() < 0.9 else "kyzburg" for word in row if rng.random() < 0.8]
        found = code.interval(kept, read)
        assert found == code.interval(kept)
        lengths.add(found and found.width)
        sizes.append(int(read.size[0]))
        assert sizes[-1] <= beginnings
    assert len(lengths) > 10
    assert None in lengths
    forgotten = sum(more < fewer for fewer, more in pairwise(sizes))
    assert (forgotten > 2) == (beginnings == 50)


def test_what_two_texts_begin_with_is_read_once(model: LanguageModel) -> None:
    code = ArithmeticCode(model, 1 << 60)
    read, sizes = code.reading(), []
    for text in (
        "show me flights to boston",
        "show me fares to boston",
        "show me flights to denver",
        "show me flights to boston",
    ):
        code.interval(words_of(text), read)
        sizes.append(int(read.size[0]))
    # the empty beginning, five words and an end; three words and an end; a word and an end
    assert sizes == [7, 11, 13, 13]


def test_an_interval_is_as_wide_as_the_products_of_its_shares(model: LanguageModel) -> None:
    words = words_of("show me flights from boston to denver")
    numbers = model.vocabulary.encode(words)
    spans = [span(model.tables, after(model, numbers[:place]), word) for place, word in enumerate(numbers)]
    code = ArithmeticCode(model, 2)
    found = code.interval(words)
    assert found
    assert math.isclose(
        found.probability / code.line, math.prod((high - low) / ONE for low, high in spans), rel_tol=1e-6
    )
