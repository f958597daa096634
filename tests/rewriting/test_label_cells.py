"""Claims about the cells of labels: exactly k sentences, by the label alone."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import broad
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adept.models.sentences.meanings import ListedTexts, WordWeights, mean_meaning
from adept.models.sentences.sentence_list import SentenceList
from adept.models.tokenizer import join_words
from adept.rewriting import cells
from adept.rewriting.cells import LabelCells

ODD_NAMES = ["", " ", "X17", "42", "zzqxv", "Überweisung", "\U0001f600", "a" * 5000, "-", "q_1"]


@pytest.fixture(scope="module")
def sentences(topic_run: Path) -> Iterator[SentenceList]:
    with broad.model_of(topic_run) as (model, _):
        assert model.sentences is not None
        yield model.sentences


def cells_of(sentences: SentenceList, about: dict[str, list[str]] | None = None) -> LabelCells:
    said = {label: tuple(texts) for label, texts in (about or {}).items()}
    return LabelCells(sentences.index(), size=64, first=32, about=said)


def cell_by_definition(products: list[int], *, size: int, first: int, spread: Sequence[int] = ()) -> list[int]:
    later = sorted({*range(first, len(products))} - {*spread}, key=lambda place: (-products[place], place))
    return [*range(first), *sorted([*spread, *later[: size - first - len(spread)]])]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-17000, 17000) | st.integers(0, 2), min_size=2, max_size=300), st.data())
def test_a_cell_has_exactly_k_different_sentences_whatever_the_products_are(
    products: list[int], data: st.DataObject
) -> None:
    """The first n, m later ones, and of the others those with the largest products; of equal ones, the first."""
    size = data.draw(st.integers(1, len(products)))
    first = data.draw(st.integers(0, size))
    later = st.integers(first, len(products) - 1) if first < len(products) else st.nothing()
    spread = sorted(data.draw(st.sets(later, max_size=size - first)))
    table: Any = SimpleNamespace(
        compare_all=lambda meanings: np.array([products] * len(meanings), dtype=np.int16),
        meanings=lambda numbers: np.zeros((len(numbers), 1), dtype=np.int8),
    )
    cell = LabelCells(table, size=size, first=first, spread=np.array(spread, dtype=np.int32)).of(["airfare"])["airfare"]
    assert len(set(cell.tolist())) == len(cell) == size
    assert cell.tolist() == cell_by_definition(products, size=size, first=first, spread=spread)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 5), max_size=60), st.integers(0, 4), st.integers(0, 70), st.integers(0, 70))
def test_spread_sentences_stand_behind_the_first_and_are_dealt_out_over_all_groups(
    groups: list[int], said: int, first: int, count: int
) -> None:
    """A group has at most one sentence more than another one, unless it has no more or they stand among the first."""
    listed = ListedTexts(["", "fare"], np.array([1, 0] * len(groups), dtype=np.int16), np.array(groups, dtype=np.int16))
    table = SentenceList(WordWeights.of([]), [("fare",)] * said, listed=listed, is_broad=True)
    spread = table.spread(first, count).tolist()
    later = [place for place in range(said, said + len(groups)) if place >= first]
    assert len({*spread}) == len(spread) == min(count, len(later))
    assert {*spread} <= {*later}
    if first <= said:
        held, whole = Counter(groups[place - said] for place in spread), Counter(groups)
        assert all(held[group] >= min(whole[group], max(held.values(), default=0) - 1) for group in whole)


def test_a_cell_holds_the_sentences_with_the_largest_inner_products(sentences: SentenceList) -> None:
    """With the name, or with the mean of name and sentences about the label; by Python's own whole numbers."""
    about = {"X17": ["is there a taxi downtown", "ground transportation please"], "meal": ["what is served"]}
    meanings = [broad.meaning_of_words(sentences[place]) for place in range(len(sentences))]
    said = {"X17": about["X17"], "meal": ["meal", *about["meal"]], "cheapest_airfare": ["cheapest airfare"]}
    for label, cell in cells_of(sentences, about).of(said).items():
        own = mean_meaning(said[label]).tolist()
        products = [sum(a * b for a, b in zip(own, meaning, strict=True)) for meaning in meanings]
        assert cell.tolist() == cell_by_definition(products, size=64, first=32)


def test_a_list_that_repeats_a_sentence_has_cells_of_different_places(sentences: SentenceList) -> None:
    repeated = replace(sentences, utterances=[("cheapest", "airfare")] * 300, listed=ListedTexts())
    [cell] = cells_of(repeated).of(["cheapest airfare"]).values()
    assert cell.tolist() == [*range(64)]


def test_a_cell_is_a_function_of_the_label_alone(sentences: SentenceList, monkeypatch: pytest.MonkeyPatch) -> None:
    """In any company, in any order, alone, once more, and after it was forgotten."""
    names = [
        f"{word}_{other}" for word in ("cheap", "late", "first") for other in ("flight", "airfare", "meal", "hotel")
    ]
    alone = {name: cells_of(sentences).of([name])[name] for name in names}
    together, backwards = cells_of(sentences).of(names), cells_of(sentences).of([*names[::-1], *ODD_NAMES])
    monkeypatch.setattr(cells, "MAX_PLACES", 64 * 3)  # three cells are kept
    forgetful = cells_of(sentences)
    again = [forgetful.of([name])[name] for name in [*names, *names]]
    assert len(forgetful._kept) == 3
    for place, name in enumerate(names):
        for found in (together[name], backwards[name], again[place], again[place + len(names)]):
            assert np.array_equal(found, alone[name])


def test_cells_lie_near_their_names_and_the_same_words_share_one(sentences: SentenceList) -> None:
    cells = cells_of(sentences).of(["ground_transportation", "GroundTransportation", "cheapest airfare"])
    assert np.array_equal(cells["ground_transportation"], cells["GroundTransportation"])
    shares = []
    for places in cells.values():
        texts = [join_words(sentences.utterances[p] if p < 200 else sentences.listed[p - 200]) for p in places.tolist()]
        shares.append(np.mean(["transportation" in text for text in texts]))
    assert shares[0] > 2 * shares[2]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_name_without_a_known_word_has_the_first_sentences(sentences: SentenceList, name: str) -> None:
    assert cells_of(sentences).of([name])[name].tolist() == [*range(64)]


def test_every_cell_begins_with_the_first_sentences(sentences: SentenceList) -> None:
    for cell in cells_of(sentences).of([*ODD_NAMES, "cheapest_airfare"]).values():
        assert len(set(cell.tolist())) == 64
        assert cell[:32].tolist() == [*range(32)]


def test_sentences_about_a_label_move_its_cell_and_no_other(sentences: SentenceList) -> None:
    about = {"X17": ["is there a taxi downtown", "ground transportation please"], "meal": ["\u1200\u1201"]}
    described, plain = (
        cells_of(sentences, about).of(["X17", "fare", "meal"]),
        cells_of(sentences).of(["X17", "fare", "meal"]),
    )
    assert not np.array_equal(described["X17"], plain["X17"])
    assert np.array_equal(described["fare"], plain["fare"])
    assert np.array_equal(described["meal"], plain["meal"])  # no token of the sentence is known
    texts = [
        join_words(sentences.utterances[p] if p < 200 else sentences.listed[p - 200]) for p in described["X17"].tolist()
    ]
    assert any("taxi" in text for text in texts)
