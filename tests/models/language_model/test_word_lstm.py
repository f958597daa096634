"""Claims about the network that foresees words: exact whole numbers, one distribution function, more than n-grams foresee."""

import itertools
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from distributions import after
from safetensors.torch import load_file, save_file

from adept.errors import ModelError
from adept.models.codec.codec import Codec, words_of
from adept.models.codec.files import TABLES, load_codec, save_codec
from adept.models.language_model import word_lstm, word_lstm_training
from adept.models.language_model.intervals import ONE
from adept.models.language_model.mixture import LanguageModel
from adept.models.language_model.next_word import Next, _multiply, find, read, span
from adept.models.language_model.vocabulary import Vocabulary
from adept.models.language_model.word_lstm import FALL, LARGE, PEAK, RANGE, SMALL, UNIT, Size, WordLstm, shapes
from adept.models.language_model.word_lstm_training import learn_word_lstm

CITIES = ["boston", "denver", "dallas", "oakland"]
HOURS = ["six", "nine", "noon", "ten", "eight", "five", "four", "two", "one", "midnight"]


def round_trips(count: int, *, seed: int) -> list[str]:
    """Sentences whose last word is their second, six words before: no n-gram of five words sees that far."""
    rng = random.Random(seed)
    return [f"to {city} at {rng.choice(HOURS)} and back from {city}" for city in rng.choices(CITIES, k=count)]


@pytest.fixture(autouse=True, scope="module")
def quick() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_lstm_training, "UPDATES", 1_000)
        patch.setattr(word_lstm_training, "MOST_EPOCHS", 100)
        yield


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    texts = [words_of(text) for text in round_trips(600, seed=0)]
    return LanguageModel.of(texts).with_network(texts)


@pytest.fixture(scope="module")
def codec(model: LanguageModel) -> Codec:
    made = Codec.of(round_trips(50, seed=0), public=True)
    return Codec(model, made.weigh, made.utterances)


def with_any_weights(model: LanguageModel, *, seed: int = 0, size: Size = SMALL) -> LanguageModel:
    """A network with weights of all sizes that 16 bits hold, as a stranger's may be."""
    rng = np.random.default_rng(seed)
    sizes = shapes(len(model.vocabulary.words), model.classes.size, size)
    weights = {name: rng.integers(-(2**15), 2**15, size=shape).astype(np.int16) for name, shape in sizes.items()}
    return model.with_lstm(WordLstm(weights, model.vocabulary.first))


def exactly(network: WordLstm, hidden: list[int], cell: list[int], word: int) -> tuple[list[int], list[int]]:
    """States as Python's integers have them, one product after the other, from the last to the first."""
    weights: dict[str, Any] = {name: table.tolist() for name, table in network.weights.items()}
    inputs = weights["embedding"][word]
    summed = [
        (
            sum(x * row[gate] for x, row in zip(inputs[::-1], weights["from_input"][::-1], strict=True))
            + sum(h * row[gate] for h, row in zip(hidden[::-1], weights["from_state"][::-1], strict=True))
        )
        // UNIT
        + weights["gates"][gate]
        for gate in range(len(weights["gates"]))
    ]
    size = len(hidden)

    def curve(of: Any, score: int) -> int:
        return round(UNIT * of(min(max(score, -RANGE), RANGE - 1) / UNIT))

    taken, kept, new, shown = (summed[part * size : (part + 1) * size] for part in range(4))
    cells = [
        (curve(sigmoid, k) * c + curve(sigmoid, t) * curve(math.tanh, n)) // UNIT
        for k, c, t, n in zip(kept, cell, taken, new, strict=True)
    ]
    return cells, [curve(sigmoid, s) * curve(math.tanh, c) // UNIT for s, c in zip(shown, cells, strict=True)]


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


@pytest.mark.parametrize("size", [None, SMALL, LARGE], ids=["learned", "small", "large"])
def test_states_are_those_of_exact_integers_in_any_order(model: LanguageModel, size: Size | None) -> None:
    model = with_any_weights(model, size=size) if size else model
    assert model.lstm is not None
    state = after(model, [])
    for word in (5, 3, 1, 7, 5, 0):
        cells, hidden = exactly(model.lstm, *_state(state), word)
        read(model.tables, state, word)
        assert _state(state) == (hidden, cells)


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("seed", range(12))
def test_no_sum_of_32_bits_is_larger_than_they_hold(model: LanguageModel, size: Size, seed: int) -> None:
    """Of gates and of queries, at the largest state and an embedding that the weights of a gate resemble."""
    rng, sizes = np.random.default_rng(seed), shapes(len(model.vocabulary.words), model.classes.size, size)
    weights = {name: np.zeros(shape, dtype=np.int16) for name, shape in sizes.items()}
    largest = {"embedding": 6_000, "from_input": 6_000, "from_state": 6_000, "query": 6_000}
    for name, most in largest.items():
        weights[name][:, 0 if name != "embedding" else slice(None)] = rng.integers(0, most)
    if seed % 2:  # the second half alone
        weights["from_input"][:], weights["from_state"][: (size.states - size.inputs) // 2] = 0, 0
    tables = WordLstm(weights, model.vocabulary.first).tables
    seen = np.concatenate([weights["embedding"][0], np.full(size.states, UNIT)]).astype(np.int16)
    for vector, matrix, offsets in (
        (seen, tables.gates, tables.gate_offsets),
        (seen[size.inputs :], tables.query, tables.query_offsets),
    ):
        found = np.zeros(len(offsets), dtype=np.int64)
        _multiply(matrix, vector, offsets, tables.narrow, found)
        assert (found == matrix.astype(np.int64) @ vector).all()


@pytest.mark.parametrize("inputs", [0, 1, 3, 90])
@pytest.mark.parametrize("states", [1, 2, 80])
def test_weights_are_narrow_where_no_half_of_a_row_can_reach_31_bits(inputs: int, states: int) -> None:
    """With embeddings of every length from 0 to the longest, in the direction that is worst, and with larger and larger weights."""
    rng, found = np.random.default_rng(0), set()
    for _ in range(1000):
        small, most = int(2 ** rng.uniform(0, 15)) - 1, int(2 ** rng.uniform(12, 15)) - 1
        from_input = rng.integers(-small, small + 1, (inputs, 1)).astype(np.int16)
        from_state = rng.integers(-most, most + 1, (states, 1)).astype(np.int16)
        longest = float(rng.integers(0, 70_000))
        narrow = word_lstm._is_narrow(from_input, from_state, longest)
        half, rows = (inputs + states) // 2, [*from_input[:, 0].tolist(), *from_state[:, 0].tolist()]
        parts = (rows[:half], 0), (rows[half:], half)
        worst = [
            longest * math.hypot(*part[: max(0, inputs - at)]) + UNIT * sum(map(abs, part[max(0, inputs - at) :]))
            for part, at in parts
        ]
        found.add(narrow)
        assert not narrow or max(worst) < 1 << 31
        assert narrow or inputs > half or max(worst) >= (1 << 31) - 2
    assert found == {True, False} or inputs > half or states < 80


def test_learned_weights_are_added_up_in_32_bits(model: LanguageModel) -> None:
    assert model.lstm is not None
    assert model.lstm.tables.narrow
    assert not with_any_weights(model).lstm.tables.narrow  # type: ignore[union-attr]


@pytest.mark.parametrize("narrow", [True, False])
@pytest.mark.parametrize("length", [1, 2, 7, 40, sum(SMALL), sum(LARGE) - 1, sum(LARGE), sum(LARGE) + 1])
def test_products_are_those_of_exact_integers_of_any_length(length: int, narrow: bool) -> None:
    """Of 16 bits at their ends, or as large as 32 bits hold the sum of half of them."""
    most = math.isqrt(((1 << 31) - 1) // -(-length // 2)) if narrow else 1 << 15
    rng, low, high = np.random.default_rng(0), max(-most, -(1 << 15)), min(most, (1 << 15) - 1)
    vector, matrix = rng.choice([low, -1, 0, 1, high], length), rng.choice([low, 3, high], (5, length))
    vector[:2], matrix[0] = low, np.where(vector < 0, low, high)  # the largest sum
    offsets, products = rng.choice([-32768, 0, 32767], 5).astype(np.int16), np.zeros(5, dtype=np.int64)
    _multiply(matrix.astype(np.int16), vector.astype(np.int16), offsets, narrow, products)
    assert (products == matrix @ vector + offsets.astype(np.int64) * UNIT).all()


def _state(of: Next) -> tuple[list[int], list[int]]:
    return of.seen[len(of.asked) - 1 :].tolist(), of.cell.tolist()


def test_tables_of_the_curves_are_those_of_another_implementation() -> None:
    """Rounded to 12 bits, the last one in which implementations of exp differ does not show."""
    (sigmoids, tanhs), fall = word_lstm._curves()
    places = [place / UNIT for place in range(-RANGE, RANGE)]
    assert sigmoids.tolist() == [round(UNIT * sigmoid(place)) for place in places]
    assert tanhs.tolist() == [round(UNIT * math.tanh(place)) for place in places]
    assert fall.tolist() == [round(PEAK * math.exp(-place / UNIT)) + 1 for place in range(FALL)]


@pytest.mark.parametrize("seed", range(3))
def test_every_state_has_a_distribution_function_whatever_the_weights(model: LanguageModel, seed: int) -> None:
    strange = with_any_weights(model, seed=seed)
    state, words = after(strange, []), range(len(model.vocabulary.words))
    for word in range(12):
        read(strange.tables, state, word)
        shares = [span(strange.tables, state, number) for number in words]
        assert (shares[0][0], shares[-1][1]) == (0, ONE)
        assert all(low < high for low, high in shares)
        assert all(high == low for (_, high), (low, _) in itertools.pairwise(shares))
    assert PEAK * 200_000 * ONE < 2**63


def test_shares_of_the_mixture_are_those_that_a_point_finds(model: LanguageModel) -> None:
    """After many words, which the network read one by one: both directions read one function."""
    words = [model.vocabulary.numbers[word] for word in words_of("to denver at six and back from")]
    state = after(model, words)
    shares = [span(model.tables, state, number) for number in range(len(model.vocabulary.words))]
    assert [low for low, _ in shares] == [0, *(high for _, high in shares[:-1])]
    assert shares[-1][1] == ONE
    for point in range(0, ONE, ONE // 97):
        number, *share = find(model.tables, state, point)
        assert tuple(share) == shares[number]
        assert share[0] <= point < share[1]


def test_it_foresees_what_was_said_long_ago_and_n_grams_do_not(model: LanguageModel) -> None:
    def share(of: LanguageModel, text: str) -> float:
        *before, last = [of.vocabulary.numbers[word] for word in words_of(text)]
        low, high = span(of.tables, after(of, before), last)
        return (high - low) / ONE

    texts = round_trips(20, seed=1)
    assert np.mean([share(model, text) for text in texts]) > 0.5
    assert np.mean([share(model.without_network(), text) for text in texts]) < 0.4


def test_a_code_with_the_network_goes_both_ways_and_needs_fewer_numbers(codec: Codec) -> None:
    """The last city costs next to nothing: of texts that are no utterance more come back word for word."""
    others = [text for text in round_trips(60, seed=2) if words_of(text) not in codec.utterances]
    near = Codec(codec.model.without_network(), codec.weigh, codec.utterances)
    size = 1 << 25
    kept = {
        name: sum(
            text == record
            for text, record in zip(of.write(of.describe(others, size=size), size=size), others, strict=True)
        )
        for name, of in (("network", codec), ("n-grams", near))
    }
    assert kept["network"] >= kept["n-grams"]
    assert kept["network"] == len(others)


def test_a_saved_network_is_the_same_network_and_a_damaged_one_is_refused(codec: Codec, tmp_path: Path) -> None:
    save_codec(codec, tmp_path)
    loaded = load_codec(tmp_path)
    texts, size = round_trips(10, seed=3), 1 << 30
    assert loaded.describe(texts, size=size) == codec.describe(texts, size=size)
    tables = load_file(tmp_path / TABLES)
    lacking = {name: table for name, table in tables.items() if name != "lstm.gates"}
    for spoiled in (
        lacking,
        {**tables, "lstm.gates": tables["lstm.gates"].to(torch.int32)},
        {**tables, "lstm.gates": tables["lstm.gates"][1:].clone()},
    ):
        save_file(spoiled, tmp_path / TABLES)
        with pytest.raises(ModelError, match="corrupt"):
            load_codec(tmp_path)


def test_learning_is_repeatable_and_leaves_the_callers_seeds_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_lstm_training, "UPDATES", 20)
    texts = [words_of(text) for text in round_trips(120, seed=0)]
    vocabulary = Vocabulary.of(texts, seed=0)
    rows = [vocabulary.encode(text) for text in texts]
    before = torch.get_rng_state()
    first, again = (learn_word_lstm(rows, vocabulary, seed=0) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(np.array_equal(table, again.weights[name]) for name, table in first.weights.items())


def test_private_texts_have_no_network() -> None:
    codec = Codec.of(round_trips(300, seed=0), public=False, network=True)
    assert codec.learned().model.lstm is None
