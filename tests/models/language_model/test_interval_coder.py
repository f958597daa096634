"""Claims about both directions of the code: one distribution function, intervals as wide as texts are likely, and bands of them."""

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import fmean

import numpy as np
import pytest
import travel
from distributions import after

from adept.models.codec.arithmetic_code import ArithmeticCode, Band
from adept.models.codec.codec import words_of
from adept.models.language_model.interval_coder import edge_among_others, edge_below, end_share, whole_line
from adept.models.language_model.next_word import find, span, start_again
from adept.models.language_model.ngram_mixture import LanguageModel
from adept.models.language_model.ngrams import ONE

Rows = list[tuple[str, ...]]


@pytest.fixture(scope="module")
def rows() -> list[tuple[str, ...]]:
    return [words_of(text) for text in travel.texts(600)]


@pytest.fixture(scope="module", params=["spells", "vocabulary"])
def model(rows: list[tuple[str, ...]], request: pytest.FixtureRequest) -> LanguageModel:
    made = LanguageModel.of(rows)
    return made if request.param == "spells" else replace(made, spells=False)


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


@pytest.fixture(scope="module")
def code(model: LanguageModel) -> ArithmeticCode:
    return ArithmeticCode(model, 1 << 20)


def at_point(code: ArithmeticCode, band: Band, point: int) -> tuple[bool, list[str]]:
    """Return whether the text at a point is of the band, and that text."""
    found, words = code._read([point], code._limits(band))
    return not found, words


def test_the_points_of_a_texts_interval_write_it_and_the_others_do_not(code: ArithmeticCode, rows: Rows) -> None:
    """Its first and its last one too; texts that share all words but the last lie on both sides."""
    rng, bands = random.Random(0), set()
    texts = [text[:end] for text in rows[:30] for end in (1, 3, len(text))]
    for row in texts + [(*text[:-1], "kyzburg") for text in rows[:10]]:
        found = code.interval(row)
        if found is None:
            continue
        bands.add(found.band)
        low, high = found.low, found.low + found.width
        for point in (low, high - 1, *(rng.randrange(low, high) for _ in range(5))):
            assert at_point(code, found.band, point) == (True, list(row))
        for point in (low - 1, high):
            assert not 0 <= point < code.line or at_point(code, found.band, point) != (True, list(row))
    assert len(bands) > 2


def test_points_write_texts_of_the_band_as_likely_as_the_models_own(code: ArithmeticCode) -> None:
    """The model's own text is of the band one time in ten; the others are compared with these texts."""
    rng, band = random.Random(1), code.bands[0]

    def bits_of(texts: list[list[str]]) -> list[float]:
        found = filter(None, map(code.interval, texts))
        return [code.precision - math.log2(one.probability) for one in found if one.band == band]

    points = [rng.getrandbits(code.precision) for _ in range(4_000)]
    written = [at_point(code, band, point) for point in points[:1_000]]
    inside = bits_of([words for of_band, words in written if of_band])
    by_itself = bits_of([code.text_at(point) for point in points])
    assert sum(of_band for of_band, _ in written) > 220
    assert len(by_itself) < 4_000 / 4
    assert abs(fmean(inside) - fmean(by_itself)) < 0.7  # of 7 bits


def test_an_end_has_no_share_where_a_text_is_not_of_the_band_and_the_models_own_where_all_are() -> None:
    narrow, wide = (1 << 32, 20), (1 << 32, 13)
    band, everything = np.array([*narrow, *wide, 1]), np.array([1 << 32, 400, 1 << 33, 0, 1])
    for depth in range(30):
        text = np.array([1 << 32, depth])
        share = end_share(band, text, ONE // 4)  # two bits
        assert (share > 0) == (13 < depth + 2 <= 20)
        assert not share or ONE > share > ONE // 4
        assert text.tolist() == [1 << 32, depth]
    assert end_share(everything, whole_line(), ONE // 3) == ONE // 3
    for own in (ONE // 4 - 1, ONE // 4):
        dear = np.array([*narrow, *wide, ONE // 4])
        assert (end_share(dear, np.array([1 << 32, 15]), own) > 0) == (own == ONE // 4)


def test_going_on_leaves_every_word_a_share_and_is_undone() -> None:
    rng = random.Random(0)
    for own in (1, ONE // 1000, ONE // 3, ONE - 100):
        edges = sorted({own, ONE, *(rng.randrange(own, ONE + 1) for _ in range(50))})
        shares = [edge_among_others(own, edge) for edge in edges]
        assert (shares[0], shares[-1]) == (0, ONE)
        assert all(low < high for low, high in pairwise(shares))
        for place in (0, 1, ONE - 1, *(rng.randrange(ONE) for _ in range(50))):
            below = edge_below(own, place)
            assert edge_among_others(own, below) <= place < edge_among_others(own, below + 1)


def test_a_text_whose_end_is_dearer_than_allowed_has_no_number_and_is_not_written(
    model: LanguageModel, rows: Rows
) -> None:
    """The model itself writes such texts, where a number has no other."""
    code, strict = ArithmeticCode(model, 1 << 20), ArithmeticCode(model, 1 << 20, end_bits=2)

    def end_bits(words: Sequence[str]) -> float:
        numbers = model.vocabulary.encode(words)
        low, high = span(model.tables, after(model, numbers[:-1]), numbers[-1])
        return 30 - math.log2(high - low)

    refused = 0
    for row in [text[:end] for text in rows[:40] for end in (2, 3, 4)]:
        assert (strict.interval(row) is None) == (code.interval(row) is None or end_bits(row) > 2)
        refused += strict.interval(row) is None and code.interval(row) is not None
    assert refused > 5
    written = [strict._first_inside(strict.bands[0], place, 6) for place in range(0, 1000, 10)]
    inside = [words for attempt, words in written if attempt < 6]
    assert len(inside) > 30
    assert max(map(end_bits, inside)) <= 2 < max(end_bits(code.write(place)) for place in range(0, 1000, 10))
