"""Claims about synthetic text: it is public text, counts say how much of what, and nothing else of the records is read.

Releases cannot be seeded: tests of utility have margins of many standard errors, and none has a share of false alarms above 1e-9.
"""

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest

from adept import Synthesizer
from adept.data.corpus import Corpus
from adept.errors import ConfigurationError, DataError, ModelError, ReleaseRefused
from adept.evaluation.classifiers import evaluate
from adept.mechanisms import Votes
from adept.mechanisms.central_counts import Counts
from adept.models.config import TrainingData
from adept.models.saved_model import Autoencoder
from adept.models.tokenizer import Tokenizer
from adept.synthesis.synthesizer import Pair, choose_rows, share_standing_out
from adept.synthesis.votes import NO_TEXT, OUTSIDE

Loaded = tuple[Autoencoder, Tokenizer]


@pytest.fixture(scope="module")
def labels(travel: dict[str, Corpus]) -> list[str]:
    return sorted(set(travel["train"].labels or []))


@pytest.fixture(scope="module")
def synthesizer(loaded: Loaded, travel: dict[str, Corpus], labels: list[str]) -> Synthesizer:
    return Synthesizer(*loaded, votes=Votes(epsilon=2.0), label_set=labels, texts=travel["train"].texts)


@pytest.fixture(scope="module")
def second_round(synthesizer: Synthesizer) -> Synthesizer:
    return synthesizer.choose_codewords(600)


def exact(synthesizer: Synthesizer, records: Corpus) -> Counts:
    """Counts without noise."""
    tally = synthesizer.tally()
    tally.add(synthesizer.vote(records.texts, records.labels))
    return tally.counts.reshape(synthesizer.cells.size, -1)


def accuracy(records: list[Pair], test: Corpus) -> float:
    corpus = Corpus([text for text, _ in records], [str(label) for _, label in records])
    return evaluate(corpus, test).accuracy.value


def test_synthetic_records_teach_a_classifier_what_an_empty_file_does_not(
    synthesizer: Synthesizer, travel: dict[str, Corpus]
) -> None:
    private = travel["validation"]
    assert accuracy(synthesizer.synthesize(private.texts, private.labels), travel["test"]) > 0.7  # guessing has .66
    empty = [accuracy(synthesizer.synthesize([], [], rows=len(private)), travel["test"]) for _ in range(20)]
    assert np.mean(empty) < 0.4  # one in twenty names the commonest label by chance, and then has up to .66


def test_only_public_texts_and_known_labels_are_written(synthesizer: Synthesizer, travel: dict[str, Corpus]) -> None:
    records = synthesizer.synthesize(["a secret that nobody else says"] * 200, [synthesizer.labels[0]] * 200)
    assert {text for text, _ in records} <= set(travel["train"].texts)
    assert {label for _, label in records} <= set(synthesizer.labels)


def test_the_noisy_counts_decide_all_that_is_written(second_round: Synthesizer, travel: dict[str, Corpus]) -> None:
    tally = second_round.tally()
    tally.add(second_round.vote(travel["validation"].texts, travel["validation"].labels))
    release = second_round.release(tally)
    first = list(second_round.write(release))
    assert first == list(second_round.write(release))
    assert len(first) == choose_rows(max(0, release.sum()), labelled=True)
    assert len(list(second_round.write(release, rows=77))) == 77
    assert second_round.stands_out(release)


def test_without_noise_labels_are_about_as_common_as_they_were(
    second_round: Synthesizer, travel: dict[str, Corpus]
) -> None:
    release, common = exact(second_round, travel["validation"]), Counter(travel["validation"].labels)
    assert release.sum(axis=0).tolist() == [common[str(label)] for label in second_round.labels]
    size = len(travel["validation"])
    written = Counter(label for _, label in second_round.write(release, rows=size))
    assert sum(abs(written[label] - count) for label, count in common.items()) < 0.4 * size


@pytest.mark.parametrize(
    ("total", "labelled", "rows"),
    [
        (0.0, True, 0),
        (400.0, True, 1600),
        (400.0, False, 400),
        (5e3, True, 16_000),
        (2e4, True, 20_000),
        (1e9, True, 10**8),
    ],
)
def test_few_records_with_labels_give_more_rows_than_records(total: float, labelled: bool, rows: int) -> None:
    assert choose_rows(total, labelled=labelled) == rows


def test_rows_that_cannot_vote_change_nothing_and_raise_nothing(second_round: Synthesizer) -> None:
    known = second_round.labels[0]
    texts: list[Any] = [None, 3, "show me flights", "show me flights", ""]
    tally = second_round.tally()
    tally.add(second_round.vote(texts, [known, known, "unheard of", None, known]))
    assert tally.counts.sum() == 1  # the empty text is a text
    assert (tally.uncounted[NO_TEXT], tally.uncounted[OUTSIDE]) == (2, 2)


def test_rows_that_are_not_counted_are_told(second_round: Synthesizer, caplog: pytest.LogCaptureFixture) -> None:
    known, texts = second_round.labels[0], ["show me flights"] * 4
    second_round.synthesize(texts, [known] * 4)
    assert not caplog.messages
    second_round.synthesize(texts, [known, "unheard of", known, known], ["ann", "bob", "ann", float("nan")])
    assert caplog.messages == [
        "not part of the release: 4 rows read, 1 counted: 1 have a label outside label_set, or none (label_column= names "
        "its column); 1 name no person; 1 exceed their person's bound"
    ]


def test_of_an_empty_collection_hardly_anything_stands_out(second_round: Synthesizer) -> None:
    """Noise alone does so in one release of 20 at most: 30 of 60 have a probability below 1e-20."""
    found = [second_round.stands_out(second_round.release(second_round.tally())) for _ in range(60)]
    assert sum(found) < 30


def test_a_person_has_as_many_votes_as_were_agreed(
    loaded: Loaded, synthesizer: Synthesizer, travel: dict[str, Corpus], labels: list[str]
) -> None:
    agreed = Synthesizer(
        *loaded, votes=Votes(epsilon=2.0, votes_per_person=2), label_set=labels, texts=travel["train"].texts
    )
    tally = agreed.tally()
    tally.add(agreed.vote(travel["test"].texts, travel["test"].labels), ["ann"] * len(travel["test"]))
    assert tally.counts.sum() == agreed.guarantee.sensitivity == 2
    assert agreed.choose_codewords(600).cells.size < synthesizer.choose_codewords(600).cells.size


@pytest.mark.parametrize("number", [-(10**12), -1, 0, 1, 10**12])
def test_whatever_the_first_round_says_the_second_round_writes(synthesizer: Synthesizer, number: int) -> None:
    """No number of votes and no counts end a run: not counts below zero in every cell, and not counts of nobody."""
    chosen = synthesizer.choose_codewords(number)
    assert 1 <= chosen.cells.size <= synthesizer.largest_size
    for count in (-7, 0, 10**12 // chosen.cells.size):
        counts = np.full((chosen.cells.size, len(chosen.labels)), count, dtype=np.int64)
        assert len(list(chosen.write(counts, rows=20))) == 20
    assert list(chosen.write(np.full((chosen.cells.size, len(chosen.labels)), -3))) == []


def test_one_codeword_and_few_texts_are_enough(loaded: Loaded) -> None:
    few = Synthesizer(*loaded, votes=Votes(epsilon=1.0), label_set=["a", "b"], texts=["one", "two"])
    assert few.choose_codewords(10**6).cells.size == 1
    assert len(few.synthesize(["one"] * 3, ["a", "b", "a"], rows=4)) == 4


def test_without_codewords_no_budget_is_spent_on_counts(
    synthesizer: Synthesizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Votes, "privatize", lambda *_: pytest.fail("counts were drawn"))
    with pytest.raises(ConfigurationError, match="codewords must be chosen before counts are released"):
        synthesizer.release(synthesizer.tally())


def test_the_first_round_reads_no_text(synthesizer: Synthesizer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its votes say only that a record has a text and a known label: 0, or the reason why there is none."""
    monkeypatch.setattr(type(synthesizer.cells), "vote", None)
    assert synthesizer.vote(["a", None, "b"], [synthesizer.labels[0], synthesizer.labels[0], "?"]) == [0, -1, -2]
    with pytest.raises(ConfigurationError, match="choose_codewords"):
        synthesizer.release(synthesizer.tally())


def test_the_second_round_depends_on_the_noisy_number_alone(
    synthesizer: Synthesizer, travel: dict[str, Corpus]
) -> None:
    one, other = synthesizer.choose_codewords(300), synthesizer.choose_codewords(300)
    one.release(one._count(travel["test"].texts, travel["test"].labels, None))
    assert one.cells.codewords.tobytes() == other.cells.codewords.tobytes()
    assert synthesizer.choose_codewords(3_000).cells.size > one.cells.size


def test_labels_can_be_left_out(loaded: Loaded, travel: dict[str, Corpus]) -> None:
    records = Synthesizer(*loaded, votes=Votes(epsilon=4.0), texts=travel["train"].texts).synthesize(
        travel["validation"].texts
    )
    assert {label for _, label in records} == {None}
    assert len(records) == pytest.approx(len(travel["validation"]), rel=0.2)


def test_the_model_brings_its_own_public_texts(loaded: Loaded) -> None:
    synthesizer = Synthesizer(*loaded, votes=Votes(epsilon=1.0), label_set=["a", "b"])
    assert synthesizer.cells.texts
    assert synthesizer.neighbours == "add_or_remove"


def test_without_public_texts_nothing_can_be_written(loaded: Loaded) -> None:
    with pytest.raises(ModelError, match="holds no public texts to write: train one on public text, or give texts="):
        Synthesizer(*loaded, votes=Votes(epsilon=1.0), texts=[])


@pytest.mark.parametrize("labels", [["a"], ["a", "a"], "ab", ["a", 0.5], [3, "3"]])
def test_what_is_no_label_set_is_refused(loaded: Loaded, labels: Any) -> None:
    with pytest.raises(ConfigurationError, match="label_set must"):
        Synthesizer(*loaded, votes=Votes(epsilon=1.0), label_set=labels)


def test_more_cells_than_memory_holds_are_refused(loaded: Loaded) -> None:
    many = [str(number) for number in range(2**20)]
    with pytest.raises(ConfigurationError, match="cells must be an integer between 1 and 16"):
        Synthesizer(*loaded, votes=Votes(epsilon=1.0), label_set=many, cells=17)


@pytest.mark.parametrize("kind", [np.array, pd.Series, pd.Index, tuple, iter])
def test_a_label_set_may_be_an_array_or_a_column(loaded: Loaded, kind: Any) -> None:
    """As ``frame["intent"].unique()`` returns it, which is neither true nor false."""
    assert Synthesizer(*loaded, votes=Votes(epsilon=1.0), label_set=kind(["a", "b"])).labels == ("a", "b")


@pytest.mark.parametrize("name", ["epsilon", "votes", "labels", "label_set", "max_records_per_person", "model"])
def test_no_part_of_a_synthesizer_can_be_exchanged(name: str, loaded: Loaded) -> None:
    """The options of ``from_pretrained`` had no effect if they were set, and nothing said so."""
    synthesizer = Synthesizer(*loaded, votes=Votes(epsilon=1.0), label_set=["a", "b"])
    with pytest.raises(ConfigurationError, match=f"{name} of a Synthesizer cannot be changed: make a new one"):
        setattr(synthesizer, name, 5.0)
    assert synthesizer.guarantee.epsilon == synthesizer.choose_codewords(600).guarantee.epsilon == 1.0


def test_labels_are_given_with_a_label_set_and_only_then(synthesizer: Synthesizer) -> None:
    with pytest.raises(ConfigurationError, match="labels must be given"):
        synthesizer.synthesize(["a text"])
    with pytest.raises(DataError, match="labels must be as many as the texts"):
        synthesizer.synthesize(["a text"], ["a", "b"])
    with pytest.raises(DataError, match="persons must be as many as the texts"):
        synthesizer.synthesize(["a text"], ["a"], pd.Series([1, 2]))
    with pytest.raises(DataError, match="missing value at position 2"):
        synthesizer.synthesize(["a text", None], ["a", "b"])


def test_a_model_of_private_text_is_refused(loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loaded[0], "training_data", TrainingData("secret", False, 3))
    with pytest.raises(ReleaseRefused, match="accept_private_model"):
        Synthesizer(*loaded, votes=Votes(epsilon=1.0), label_set=["a", "b"])


def test_records_of_one_cell_are_indistinguishable(second_round: Synthesizer) -> None:
    """Their counts are equal, and so is all that is computed from them."""
    places = second_round.cells.places
    one, other = np.flatnonzero(places == np.bincount(places).argmax())[:2]
    label = [str(second_round.labels[0])]
    votes = [second_round.vote([second_round.cells.texts[place]], label) for place in (one, other)]
    assert votes[0] == votes[1]


def test_too_many_labels_for_a_model_of_texts_are_those_of_the_largest_counts(
    loaded: Loaded, travel: dict[str, Corpus]
) -> None:
    """With too many texts times labels, a label costs one column of counts."""
    texts, many = [f"{text} {part}" for part in "ab" for text in travel["train"].texts], [f"{n}" for n in range(40_000)]
    synthesizer = Synthesizer(*loaded, votes=Votes(epsilon=1.0), label_set=many, texts=texts, cells=4)
    counts = np.zeros((4, len(many)), dtype=np.int64)
    counts[range(4), [7, 8, 7, 39_999]] = 25
    written = Counter(label for _, label in synthesizer.write(counts))
    assert set(written) == {"7", "8", "39999"}
    assert written.total() == 400  # four rows for each record


def test_more_rows_and_larger_budgets_let_smaller_parts_stand_out() -> None:
    def share(epsilon: float, rows: int) -> float | None:
        return share_standing_out(Votes(epsilon=epsilon), rows, texts=999, labels=2)

    assert share(0.01, 100) is None
    found = [share(epsilon, rows) or 1 for epsilon, rows in ((0.5, 1_000), (1, 1_000), (1, 10_000), (8, 10_000))]
    assert found == sorted(found, reverse=True)
    assert found[1] == pytest.approx(10 * found[2])
