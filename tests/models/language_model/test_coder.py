"""Claims about both directions of the code: one distribution function, and intervals as wide as texts are likely."""

import math
from itertools import pairwise

import pytest
import travel
from distributions import after

from adept.models.codec.arithmetic_code import ArithmeticCode
from adept.models.codec.codec import words_of
from adept.models.language_model.model import LanguageModel
from adept.models.language_model.next_word import find, span, start_again
from adept.models.language_model.ngrams import ONE


@pytest.fixture(scope="module")
def rows() -> list[tuple[str, ...]]:
    return [words_of(text) for text in travel.texts(400)]


@pytest.fixture(scope="module", params=["spells", "vocabulary"])
def model(rows: list[tuple[str, ...]], request: pytest.FixtureRequest) -> LanguageModel:
    made = LanguageModel.of(rows)
    return made if request.param == "spells" else made.without_unknown_words()


@pytest.mark.parametrize("text", ["", "show", "show me flights from boston to", "zyzzyva to"])
def test_shares_are_those_that_a_point_finds(model: LanguageModel, text: str) -> None:
    """Both directions of the code read one distribution function; a shift by one would break it."""
    state = after(model, model.vocabulary.encode(words_of(text))[:-1])
    shares = [span(model.tables, state, word) for word in range(len(model.vocabulary.words))]
    assert (shares[0][0], shares[-1][1]) == (0, ONE)
    assert all(high == low for (_, high), (low, _) in pairwise(shares))
    for point in range(0, ONE, ONE // 97):
        word, low, high = find(model.tables, state, point)
        assert low <= point < high
        assert shares[word] == (low, high)
        assert span(model.tables, state, word) == (low, high)  # what a search narrows is wide again for the next one


def test_a_text_that_begins_again_forgets_the_one_before(model: LanguageModel) -> None:
    state, first = after(model, model.vocabulary.encode(words_of("flights from boston"))), after(model, [])
    start_again(model.tables, state)
    words = range(len(model.vocabulary.words))
    assert [span(model.tables, state, word) for word in words] == [span(model.tables, first, word) for word in words]


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
