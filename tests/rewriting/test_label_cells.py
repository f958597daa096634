"""Claims about the cells of labels: exactly k sentences, by the label alone."""

from collections.abc import Iterator
from pathlib import Path

import broad
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adept.models.sentences.sentence_list import SentenceList, words_of
from adept.models.tokenizer import join_words
from adept.rewriting import cells
from adept.rewriting.cells import LabelCells, choose_near, choose_tilt

UNIT = 127**2  # the product of two equal meanings
ODD_NAMES = ["", " ", "X17", "42", "zzqxv", "Überweisung", "\U0001f600", "a" * 5000, "-", "q_1"]


@pytest.fixture(scope="module")
def sentences(topic_run: Path) -> Iterator[SentenceList]:
    with broad.model_of(topic_run) as (model, _):
        assert model.sentences is not None
        yield model.sentences


def cells_of(sentences: SentenceList, about: dict[str, list[str]] | None = None) -> LabelCells:
    said = {label: tuple(map(words_of, texts)) for label, texts in (about or {}).items()}
    return LabelCells(sentences.index(), size=64, first=32, about=said)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-17000, 17000), min_size=2, max_size=300), st.data())
def test_a_cell_has_exactly_k_different_sentences_whatever_the_products_are(
    products: list[int], data: st.DataObject
) -> None:
    size = data.draw(st.integers(1, len(products)))
    tilt = data.draw(st.sampled_from([0.0, 4.0, 8.0]))
    cell = choose_near(np.array(products, dtype=np.int16), size=size, tilt=tilt)
    assert len(set(cell.tolist())) == len(cell) == size
    assert cell.tolist() == sorted(cell.tolist())
    assert 0 <= cell[0] <= cell[-1] < len(products)


def test_likelier_sentences_are_in_a_cell_more_often_and_the_more_so_the_larger_the_tilt() -> None:
    products = np.linspace(-4000, 16000, 10_000).astype(np.int16)
    chosen = (choose_near(products, size=1000, tilt=tilt) for tilt in (0.0, 4.0, 8.0))
    shares = [np.bincount(cell // 1000, minlength=10) for cell in chosen]
    assert shares[0].tolist() == [100] * 10
    assert all((np.diff(share) >= 0).all() for share in shares)
    assert shares[2][-1] > shares[1][-1] > 150


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
    assert cells_of(sentences).of([name])[name].tolist() == [*range(64)] or name == "Überweisung"


def test_the_tilt_follows_what_a_name_says() -> None:
    """Only the sentence at NAME_RANK counts, so that a few sentences that repeat the name say nothing."""
    found = []
    for cosine in (0.0, 0.5, 0.6, 0.7, 1.0):
        products = np.zeros(1000, dtype=np.int16)
        products[:100] = round(cosine * UNIT)
        products[:10] = UNIT
        found.append(choose_tilt(products))
    assert found == pytest.approx([6.0, 6.0, 8.0, 10.0, 10.0], abs=0.01)
    assert choose_tilt(np.array([UNIT, 0], dtype=np.int16)) == 6.0


def test_every_cell_begins_with_the_first_sentences(sentences: SentenceList) -> None:
    for cell in cells_of(sentences).of([*ODD_NAMES, "cheapest_airfare"]).values():
        assert len(set(cell.tolist())) == 64
        assert cell[:32].tolist() == [*range(32)]


def test_sentences_about_a_label_move_its_cell_and_no_other(sentences: SentenceList) -> None:
    about = {"X17": ["is there a taxi downtown", "ground transportation please"], "meal": ["zzqxv"]}
    described, plain = (
        cells_of(sentences, about).of(["X17", "fare", "meal"]),
        cells_of(sentences).of(["X17", "fare", "meal"]),
    )
    assert not np.array_equal(described["X17"], plain["X17"])
    assert np.array_equal(described["fare"], plain["fare"])
    assert np.array_equal(described["meal"], plain["meal"])  # no word of the sentence is known
    texts = [
        join_words(sentences.utterances[p] if p < 200 else sentences.listed[p - 200]) for p in described["X17"].tolist()
    ]
    assert any("taxi" in text for text in texts)
