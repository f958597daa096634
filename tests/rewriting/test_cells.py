"""Claims about releases by label: epsilon-LDP between records of one label, and the label alone chooses the cell."""

import pickle
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import broad
import numpy as np
import pytest
import torch
from audit.asking import shorten_games

from adept import audit
from adept.errors import ConfigurationError, ModelError
from adept.mechanisms import Description, policy
from adept.mechanisms.random_draws import exponential_series
from adept.models.sentence_encoder import LENGTH
from adept.models.sentences import nearest_text
from adept.models.sentences.meanings import meanings_of, words_of
from adept.models.tokenizer import join_words
from adept.rewriting import cells
from adept.rewriting.cells import Cell, Cells, Group, LabelCells
from adept.rewriting.rewriter import Rewriter

Loaded = tuple[Any, Any]
TEXTS = [
    "cheapest fare to boston",
    "is there a taxi downtown",
    "",
    "zzqxv 17",
    "what meals do they serve on the late flight",
]
EPSILON = 4.0
UNIT = cells.UNIT


@pytest.fixture(scope="module")
def loaded(topic_run: Path) -> Iterator[Loaded]:
    with broad.model_of(topic_run) as parts:
        yield parts


def rewriter_of(loaded: Loaded, *, label: str | None = None, **options: Any) -> Rewriter:
    mechanism = Description(**{"epsilon": EPSILON, "by_label": True} | options)
    return Rewriter.for_measurement(*loaded, mechanism=mechanism, label=label)


def probabilities(rewriter: Rewriter, text: str, label: str) -> dict[int, Fraction]:
    """Return the exact distribution of released sentences: every rank's weight, at the sentence that it means."""
    cell = cell_of(rewriter, label)
    stated = cell.selection.distribution(cell.heavy([text])[0].tolist())
    return {int(cell.members[position]): probability for position, probability in stated.items()}


def cell_of(rewriter: Rewriter, label: str) -> Cell:
    assert isinstance(rewriter.alphabet, Cells)
    return rewriter.alphabet.of(label)


@pytest.mark.parametrize("label", [*broad.NAMES, "", "Überweisung"])
def test_records_of_one_label_are_as_likely_up_to_e_to_epsilon_exactly(loaded: Loaded, label: str) -> None:
    """Enumerated in fractions: e^epsilon is rounded down, at 128 bits."""
    rewriter = rewriter_of(loaded, size=12, top=3)
    found = [probabilities(rewriter, text, label) for text in TEXTS]
    most = Fraction(exponential_series(Fraction(EPSILON))[0], 1 << 128)
    assert all(part.keys() == found[0].keys() and len(part) == 12 for part in found)
    ratios = [one[number] / other[number] for one in found for other in found for number in found[0]]
    assert 1 < max(ratios) <= most


def test_records_of_two_labels_have_texts_of_their_own(loaded: Loaded) -> None:
    rewriter = rewriter_of(loaded, size=12, top=3)
    one, other = (probabilities(rewriter, TEXTS[0], label) for label in broad.NAMES[:2])
    assert one.keys() - other.keys()  # infinite odds, which is why text_epsilon is null


def test_all_labels_have_the_same_numbers(loaded: Loaded) -> None:
    rewriter = rewriter_of(loaded)
    encoded = rewriter.encode(TEXTS, broad.NAMES + broad.NAMES[:2])
    members = [cell_of(rewriter, label).members for label in broad.NAMES]
    assert {len(set(cell.tolist())) for cell in members} == {rewriter.mechanism.count} == {broad.CELL}
    assert encoded.shape[1] == rewriter.mechanism.heavy
    [part] = rewriter.mechanism.certificate(0)
    assert (part["of"], part["size"], part["top"]) == ("text by label", str(broad.CELL), str(rewriter.mechanism.heavy))


@pytest.mark.parametrize("compared", [cells.MAX_COMPARED, 10])
def test_a_record_is_encoded_alike_in_any_company(
    loaded: Loaded, compared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In cells whose sentences are all compared, and in larger ones."""
    monkeypatch.setattr(cells, "MAX_COMPARED", compared)
    labels = [broad.NAMES[place % 3] for place in range(len(TEXTS))]
    alone = [rewriter_of(loaded).encode([text], [label]) for text, label in zip(TEXTS, labels, strict=True)]
    for batch_size in (1, 2, 1024):
        rewriter = Rewriter.for_measurement(
            *loaded, mechanism=Description(epsilon=EPSILON, by_label=True), batch_size=batch_size
        )
        for order in (range(5), range(4, -1, -1)):
            together = rewriter.encode([TEXTS[n] for n in order], [labels[n] for n in order])
            assert all((together[row] == alone[n][0]).all() for row, n in enumerate(order))


def test_the_heavy_sentences_are_the_nearest_of_the_cell(loaded: Loaded) -> None:
    sentences, rewriter = loaded[0].sentences, rewriter_of(loaded, size=300, top=1)
    said = [sentences[place] for place in range(len(sentences))]
    cell = cell_of(rewriter, "cheapest_airfare")
    for place in cell.members[[0, 50, 299]].tolist():
        nearest = int(cell.members[cell.heavy([join_words(said[place])])[0, 0]])
        assert Counter(said[nearest]) == Counter(said[place])


def by_definition(search: LabelCells, record: str, places: Any, count: int) -> list[int]:
    """Return the positions of the nearest texts: word by word, one text after the other; the first of ties."""
    index, words, halves = search.index, words_of(record), policy.CELL_HALVES
    weight = sum(index.weigh(word) for word in set(words)) * policy.MISSING_COST
    texts = [index.texts[n] if n < len(index.texts) else index.more[n - len(index.texts)] for n in places.tolist()]
    own, meanings = meanings_of([record])[0].tolist(), [*map(broad.meaning_of_words, texts)]
    mean = [round(Fraction(sum(column), len(meanings))) for column in zip(*meanings, strict=True)]
    distances = []
    for text, meaning in zip(texts, meanings, strict=True):
        product = sum((a - b) * c for a, b, c in zip(own, mean, meaning, strict=True))
        lengths = [len(set(words) - nearest_text.SILENT_MARKS) for words in (text, words)]
        scrap = lengths[0] < min(lengths[1] // 2, policy.SCRAP_WORDS)
        distance = broad.by_words(index.weigh, words, text) + halves * weight * (UNIT - product) // (2 * UNIT)
        distances.append(distance + (1 + 2 * halves) * weight * scrap)
    return sorted(np.lexsort((np.arange(len(places)), distances))[:count].tolist())


def nearest(search: LabelCells, records: list[str], places: Any, count: int) -> list[list[int]]:
    """Return the positions of the nearest sentences, for records that all have the label of one cell."""
    found: list[list[int]] = search.nearest(records, [Group(places, range(len(records)))], count).tolist()
    return found


def places_of(first: int) -> Any:
    return np.concatenate([np.arange(first), np.arange(first + 5, first + 5 * (301 - first), 5)]).astype(np.int32)


@pytest.mark.parametrize("count", [1, 16, 17, 290, 299, 300])
@pytest.mark.parametrize("first", [100, 0])
def test_the_nearest_sentences_of_a_cell_are_those_by_definition(
    loaded: Loaded, count: int, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One record, all the same, and no known word; few heavy sentences are sought in a shortlist."""
    search, places = LabelCells(loaded[0].sentences.index(), size=1, first=first), places_of(first)
    found = nearest(search, TEXTS, places, count)
    wanted = [by_definition(search, record, places, count) for record in TEXTS]
    if count > policy.SHORTLIST_TEXTS // policy.SHORTLIST_SHARE:
        assert found == wanted
    same = [len({*ours} & {*theirs}) / count for ours, theirs in zip(found, wanted, strict=True)]
    assert min(same[0], same[1], same[4]) >= 0.5
    assert nearest(search, [TEXTS[0]] * 3, places, count) == [found[0]] * 3
    assert nearest(search, TEXTS[:1], places, count) == found[:1]
    monkeypatch.setattr(cells, "MAX_DISTANCES", 700)  # two records at a time
    assert nearest(search, TEXTS, places, count) == found


def test_meanings_count_beside_words_and_without_what_a_cell_has_in_common(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without either part (the planted defects) other sentences are nearest."""
    search, places = LabelCells(loaded[0].sentences.index(), size=1, first=100), places_of(100)
    both = nearest(search, TEXTS, places, 17)
    monkeypatch.setattr(torch.Tensor, "round", lambda self: torch.zeros_like(self))  # the mean
    assert nearest(search, TEXTS, places, 17) != both
    monkeypatch.undo()
    monkeypatch.setattr(policy, "CELL_HALVES", 0)
    assert nearest(search, TEXTS, places, 17) != both


@pytest.mark.parametrize("compared", [cells.MAX_COMPARED, 10])
def test_what_is_near_in_a_cell_depends_on_its_own_sentences_alone(
    loaded: Loaded, compared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record has the same heavy sentences whatever labels and records stand beside it, in small and in large cells."""
    monkeypatch.setattr(cells, "MAX_COMPARED", compared)
    index, places = loaded[0].sentences.index(), places_of(100)
    found = nearest(LabelCells(index, size=1, first=100), TEXTS, places, 17)
    assert nearest(LabelCells(index, size=1, first=37), TEXTS, places, 17) == found
    search, later = LabelCells(index, size=1, first=100), places + (np.arange(300) >= 100).astype(np.int32)
    other = nearest(search, TEXTS, later, 17)
    assert other != found
    for rows in ([0, 2, 4], [4, 1]):
        rest = [row for row in range(5) if row not in rows]
        for groups in ([Group(places, rows), Group(later, rest)], [Group(later, rest), Group(places, rows)]):
            mixed = search.nearest(TEXTS, groups, 17).tolist()
            assert mixed == [(found if row in rows else other)[row] for row in range(5)]


def test_groups_of_sentences_are_made_when_a_search_needs_them(loaded: Loaded) -> None:
    """A cell that is compared as a whole needs none; several threads may be the first to search."""
    assert loaded[0].sentences is not None
    index = replace(loaded[0].sentences).index()
    nearest(LabelCells(index, size=1, first=100), TEXTS, places_of(100), 17)
    assert "file" not in vars(index)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: list(index.several([text], 3)), TEXTS * 4))
    assert found == [[own] for own in index.several(TEXTS * 4, 3)]


def test_sums_over_the_largest_cell_that_is_compared_are_exact() -> None:
    assert cells.MAX_COMPARED * LENGTH < 2**24


def test_many_sentences_are_searched_as_few_are(loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a cell is large, the inverted file finds what a comparison with all finds, and fills up what it lacks.

    With one weight of meaning and without the mean, both measure the same distance.
    """
    index, places = loaded[0].sentences.index(), np.arange(0, 1500, 3, dtype=np.int32)
    records = [text for text in TEXTS if text]
    monkeypatch.setattr(policy, "MEANING_HALVES", (4, 4))
    monkeypatch.setattr(policy, "CELL_HALVES", 4)
    monkeypatch.setattr(torch.Tensor, "round", lambda self: torch.zeros_like(self))  # the mean
    few = np.array(nearest(LabelCells(index, size=1), records, places, 2))
    monkeypatch.setattr(cells, "MAX_COMPARED", 10)
    many = np.array(nearest(LabelCells(index, size=1), records, places, 2))
    assert (few[:, 0] == many[:, 0]).mean() >= 0.75
    lacking = nearest(LabelCells(index, size=1), records, np.arange(40, 43, dtype=np.int32), 3)
    assert all(sorted(row) == [0, 1, 2] for row in lacking)


def test_a_release_is_a_sentence_of_the_cell(loaded: Loaded) -> None:
    rewriter = rewriter_of(loaded)
    labels = [broad.NAMES[place % 3] for place in range(300)]
    released = rewriter.release([TEXTS[place % 5] for place in range(300)], labels)
    members = {name: set(cell_of(rewriter, name).members.tolist()) for name in broad.NAMES}
    assert all(row.item() in members[label] for row, label in zip(released, labels, strict=True))
    assert len(rewriter.write(released, samples=2)) == 600


def test_labels_are_needed_and_refusals_name_no_record(loaded: Loaded) -> None:
    rewriter = rewriter_of(loaded)
    with pytest.raises(ConfigurationError, match="got none in record 1"):
        rewriter.rewrite(TEXTS)
    with pytest.raises(ConfigurationError, match="got none in record 2"):
        rewriter.rewrite_pairs(TEXTS[:2], ["X17", None])
    with pytest.raises(ConfigurationError, match="label must be left out"):
        Rewriter.for_measurement(*loaded, mechanism=Description(epsilon=EPSILON), label="X17")


def test_a_model_without_enough_sentences_is_refused_or_keeps_its_codewords(loaded: Loaded, topic_run: Path) -> None:
    plain = Rewriter.from_pretrained(topic_run, mechanism=Description(epsilon=EPSILON))
    assert plain.by_label() is plain
    assert policy.choose(loaded[0].lists, epsilon=60.0).cell is None
    with pytest.raises(ModelError, match="label_codewords=off"):
        Rewriter.from_pretrained(topic_run, mechanism=Description(epsilon=EPSILON, by_label=True))


@pytest.mark.parametrize("many", [1, 1000])
def test_names_choose_no_sentences_if_a_model_was_adapted_to_another_language(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    model = loaded[0]
    monkeypatch.setattr(model, "training_data", replace(model.training_data, records=5000, examples=many))
    for text, used in (("turn the lights off in the kitchen", True), ("schalte das licht in der küche aus", False)):
        monkeypatch.setattr(
            type(model), "public_texts", property(lambda _, said=text: [said] * many + ["a taxi"] * 5000)
        )
        found = [policy.choose(model.lists, epsilon=epsilon).cell for epsilon in (EPSILON, 6.0, 9.0)]
        assert [*map(bool, found)] == [used] * 3


def test_a_pickled_rewriter_makes_the_same_cells(loaded: Loaded) -> None:
    rewriter = rewriter_of(loaded)
    again = pickle.loads(pickle.dumps(rewriter))
    for label in broad.NAMES:
        assert (cell_of(again, label).members == cell_of(rewriter, label).members).all()


# --- Audits


def audited(rewriter: Rewriter) -> audit.AuditResult:
    pairs = [(TEXTS[0], TEXTS[1]), (TEXTS[0], TEXTS[4])]
    return audit.run(rewriter, pairs=pairs, trials=4000)


def test_an_audit_of_one_labels_records_finds_no_violation(loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    """False alarms: at most .001, the audit's own."""
    shorten_games(monkeypatch)
    assert not audited(rewriter_of(loaded, label=broad.NAMES[0])).violated


def test_an_audit_finds_a_cell_that_depends_on_the_record(loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the cell is placed by the record's own words, so that other sentences become impossible.

    These are half of a cell, whose light sentences are likely enough for 4,000 trials at a budget of 2.
    """
    rewriter, every = rewriter_of(loaded, epsilon=2.0, label=broad.NAMES[0]), rewriter_of(loaded, epsilon=2.0)
    heavy = Cell.heavy

    def planted(self: Cell, texts: list[str], labels: Any = None) -> Any:
        self.members = cell_of(every, texts[0]).members
        return heavy(self, texts, labels)

    monkeypatch.setattr(Cell, "heavy", planted)
    assert audited(rewriter).violated


def test_an_index_means_the_sentence_at_this_position_of_the_records_own_cell(loaded: Loaded) -> None:
    rewriter = rewriter_of(loaded)
    labels, indices = [*broad.NAMES[:3], broad.NAMES[0]], torch.tensor([0, 5, 17, 9])
    members = [cell_of(rewriter, label).members for label in labels]
    wanted = [int(own[index]) for own, index in zip(members, indices.tolist(), strict=True)]
    assert isinstance(rewriter.alphabet, Cells)
    assert rewriter.alphabet.numbers(indices, labels).tolist() == wanted


def test_heavy_sentences_whose_number_depends_on_the_label_are_refused(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: a label with a wider heavy set, which the certificate does not show."""
    rewriter = rewriter_of(loaded)
    heavy = Cells.heavy
    monkeypatch.setattr(
        Cells, "heavy", lambda self, texts, labels: torch.cat([heavy(self, texts, labels)] * (1 + ("X17" in labels)), 1)
    )
    with pytest.raises(ConfigurationError, match="different integers from 0 to"):
        rewriter.release(TEXTS[:1], ["X17"])


@pytest.mark.parametrize("count", [1, 2, 7, 29, 30])
def test_of_equal_distances_the_first_places_are_taken(count: int) -> None:
    """Brute force over rows with many ties: all equal, few different values, and all different."""
    rng = np.random.default_rng(count)
    values = np.concatenate([np.zeros((1, 30), int), rng.integers(0, 3, (40, 30)), rng.integers(0, 10**9, (40, 30))])
    numbers = rng.permuted(np.broadcast_to(np.arange(30), values.shape), axis=1)
    for row, places, found in zip(values, numbers, cells._least(values, numbers, count), strict=True):
        expected = sorted(range(30), key=lambda column: (row[column], places[column]))[:count]
        assert sorted(found.tolist()) == sorted(expected)


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 8.0, 10.0, 16.0])
def test_all_cells_have_an_eighth_in_common_and_those_of_names_three_eighths(loaded: Loaded, epsilon: float) -> None:
    """An eighth is the first of the list; X17 is no word, so its cell has no sentences but the first."""
    rewriter = rewriter_of(loaded, epsilon=epsilon, size=64)
    *named, nameless = [set(cell_of(rewriter, name).members.tolist()) for name in broad.NAMES]
    assert nameless == {*range(64)}
    assert rewriter.model.sentences
    common = {*range(8), *rewriter.model.sentences.spread(8, 16).tolist()}
    assert len(common) == 24
    assert all(cell >= common for cell in named)
    assert len(set.intersection(*named)) < 24 + 20


def test_cells_are_made_at_the_first_use_of_a_label(loaded: Loaded) -> None:
    rewriter = rewriter_of(loaded)
    kept: LabelCells = rewriter.alphabet.cells  # type: ignore[union-attr]
    assert not kept._kept
    rewriter.rewrite_pairs(TEXTS[:2], broad.NAMES[:2])
    assert len(kept._kept) == 2
