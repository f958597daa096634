"""Claims about label names: cells are fixed before a record is read, and only names in words change what is written."""

from collections.abc import Iterator

import numpy as np
import pytest
import travel

from adept import Synthesizer
from adept.data.corpus import Corpus
from adept.mechanisms import Votes, policy
from adept.mechanisms.policy import TILT
from adept.models.saved_model import Autoencoder
from adept.models.sentences import sentence_list
from adept.models.sentences.meanings import ListedTexts
from adept.models.sentences.sentence_list import SentenceList
from adept.models.tokenizer import Tokenizer, join_words
from adept.synthesis import labels
from adept.synthesis.labels import choose_texts, draw_by_names
from adept.synthesis.votes import GRID, Tally

NAMES = ["cheapest_airfare", "GroundTransportation", "X17"]
CODES = ["0", "17", "X17"]

Loaded = tuple[Autoencoder, Tokenizer]


@pytest.fixture(scope="module")
def broad(loaded: Loaded) -> Iterator[Loaded]:
    """The tiny model with a sentences of sentences, 200 of which are its utterances."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentence_list, "MAX_UTTERANCES", 200)
        patch.setattr(loaded[0], "sentences", SentenceList.of_broad_text(travel.texts(3000)))
        yield loaded


@pytest.fixture(scope="module", autouse=True)
def few_added() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(policy, "MAX_ADDED_TEXTS", 300)
        yield


def listed_texts(broad: Loaded) -> set[str]:
    """Texts of the sentences behind its utterances."""
    listed = broad[0].sentences.listed if broad[0].sentences else ListedTexts()
    return {join_words(listed[place]) for place in range(len(listed))}


def build(broad: Loaded, names: list[str], epsilon: float = 1.0) -> Synthesizer:
    return Synthesizer(*broad, votes=Votes(epsilon=epsilon), label_set=names, cells=16)


def test_scores_rise_with_the_cosine_to_the_name_and_are_zero_for_codes(broad: Loaded) -> None:
    synthesizer = build(broad, NAMES)
    cells, scores = synthesizer.cells, synthesizer.scores
    for label, name in enumerate(["cheapest airfare", "ground transportation"]):
        rise = scores[:, label] - TILT * (cells.features / GRID) @ (cells.of([name])[0] / GRID)
        assert np.ptp(rise) < 1e-4
    assert (scores[:, 2] == 0).all()
    chances = synthesizer.cells.public.chances
    odds = (np.exp(scores.astype(float)) / chances[:, None]).sum(axis=0) / (1 / chances).sum()
    assert odds == pytest.approx([1, 1, 1], abs=1e-4)  # on average over all sentences a name says nothing


def test_sentences_about_the_names_can_be_written_beside_the_own_texts(broad: Loaded) -> None:
    synthesizer = build(broad, ["airfare", "ground transportation"])
    own, texts = list(dict.fromkeys(broad[0].public_texts)), synthesizer.cells.texts
    said = listed_texts(broad)
    assert texts[: len(own)] == own
    assert len(texts) == len(set(texts)) > len(own)
    assert set(texts[len(own) :]) <= said
    added = [text for text in texts[len(own) :] if "airfare" in text or "transportation" in text]
    likely = len(added) / (len(texts) - len(own))
    assert likely > 1.2 * np.mean(["airfare" in text or "transportation" in text for text in said])
    assert (synthesizer.cells.public.shares > 0).all()


def test_texts_stand_for_as_many_sentences_as_they_have_chances(broad: Loaded) -> None:
    public, sentences = build(broad, NAMES).cells.public, broad[0].sentences
    assert sentences is not None
    assert ((public.chances > 0) & (public.chances <= 1)).all()
    assert (1 / public.chances).sum() == pytest.approx(len(sentences), rel=0.1)
    assert public.shares.sum() == pytest.approx(len(sentences), rel=0.1)  # the density is 1 on average


def test_codes_change_nothing(broad: Loaded) -> None:
    coded, plain = (
        build(broad, CODES),
        Synthesizer(*broad, votes=Votes(epsilon=1.0), label_set=["1", "2", "3"], cells=16),
    )
    assert coded.cells.texts == list(dict.fromkeys(broad[0].public_texts))
    assert np.array_equal(coded.cells.codewords, plain.cells.codewords)
    assert (coded.scores == 0).all()
    assert (coded.cells.public.shares == 1).all()


@pytest.mark.parametrize("reason", ["texts of one's own", "no broad model", "too many labels"])
def test_names_are_read_with_a_broad_model_and_few_labels_alone(
    broad: Loaded, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = broad[0].public_texts if reason == "texts of one's own" else None
    if reason == "no broad model":
        monkeypatch.setattr(broad[0].sentences, "is_broad", False)
    if reason == "too many labels":
        monkeypatch.setattr(labels, "MAX_NAMED_LABELS", 2)
    synthesizer = Synthesizer(*broad, votes=Votes(epsilon=1.0), label_set=NAMES, cells=16, texts=own)
    assert synthesizer.cells.texts == list(dict.fromkeys(broad[0].public_texts))
    assert (synthesizer.scores == 0).all()


def test_cells_are_the_same_whatever_file_is_counted(broad: Loaded, travel: dict[str, Corpus]) -> None:
    """One synthesizer counts records, another counts others and a third none: cells agree bit for bit, and so do files.

    The third also writes before it sees any record, so that no state of a count can reach cells, texts or scores.
    """
    first, second, third = (build(broad, NAMES) for _ in range(3))
    private = travel["validation"].texts[:300]
    secret = [f"zanzibar {text}" for text in private]
    list(third.write(third.release(third.tally())))
    made = [_public_bytes(synthesizer) for synthesizer in (first, second, third)]
    counts = first.release(_count(first, secret))
    _count(second, private[::-1])
    list(second.write(second.release(second.tally())))
    written = list(third.write(counts))
    assert list(first.write(counts)) == list(second.write(counts)) == written
    assert not any("zanzibar" in text for text, _ in written)
    assert [_public_bytes(synthesizer) for synthesizer in (first, second, third)] == made
    assert len(set(made)) == 1
    texts = [*secret, *travel["test"].texts]
    assert first.vote(texts, [NAMES[0]] * len(texts)) == third.vote(texts, [NAMES[0]] * len(texts))


def test_one_record_moves_one_count_with_cells_by_names(broad: Loaded, travel: dict[str, Corpus]) -> None:
    """All files that lack one of 40 records, or have another in its place, by brute force."""
    synthesizer, texts = build(broad, NAMES), travel["validation"].texts[:40]
    whole = _count(synthesizer, texts).counts
    for place in range(len(texts)):
        without = _count(synthesizer, texts, leave_out=place).counts
        assert np.abs(whole - without).sum() == 1
        other = _count(synthesizer, [*texts[:place], "zanzibar", *texts[place + 1 :]]).counts
        assert np.abs(whole - other).sum() in (0, 2)


def test_names_move_codewords_and_no_guarantee(broad: Loaded) -> None:
    named, coded = build(broad, NAMES), build(broad, CODES)
    assert not np.array_equal(named.cells.codewords, coded.cells.codewords)
    assert named.guarantee == coded.guarantee


def test_labels_with_the_same_words_are_told_apart_by_their_counts(broad: Loaded) -> None:
    synthesizer = build(broad, ["cheapest_airfare", "CheapestAirfare"])
    assert np.array_equal(*synthesizer.scores.T)
    counts = np.zeros((16, 2), dtype=np.int64)
    counts[:8, 0] = counts[8:, 1] = 200
    written = {label for _, label in synthesizer.write(counts)}
    assert written == {"cheapest_airfare", "CheapestAirfare"}


def test_a_label_that_is_a_code_is_written_where_its_counts_are(broad: Loaded) -> None:
    synthesizer = build(broad, NAMES)
    counts = np.zeros((16, 3), dtype=np.int64)
    counts[:, 0], counts[:5] = 200, [0, 0, 200]
    share = np.mean([label == "X17" for _, label in synthesizer.write(counts)])
    assert 0.15 < share < 0.5  # of the records 5/16 have it


def test_more_texts_than_there_are_sentences_are_all_of_them(broad: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "MAX_ADDED_TEXTS", 10**6)
    sentences, synthesizer = broad[0].sentences, build(broad, NAMES)
    assert sentences is not None
    assert set(choose_texts(sentences, [("airfare",)]).texts) == set(synthesizer.cells.texts)
    assert set(synthesizer.cells.texts) == {*map(join_words, sentences.utterances)} | listed_texts(broad)


def test_reference_texts_are_sentences_near_to_the_names_of_their_labels(broad: Loaded) -> None:
    sentences = broad[0].sentences
    assert sentences is not None
    labels = ["airfare", "X17"] * 400
    texts = draw_by_names(sentences, labels, seed=0)
    assert texts == draw_by_names(sentences, labels, seed=0) != draw_by_names(sentences, labels, seed=1)
    named, coded = (np.mean(["fare" in text for text in texts[part::2]]) for part in (0, 1))
    assert named > 1.5 * coded
    assert set(texts) <= {*map(join_words, sentences.utterances)} | listed_texts(broad)


def _count(synthesizer: Synthesizer, texts: list[str], *, leave_out: int | None = None) -> Tally:
    tally = synthesizer.tally()
    votes = synthesizer.vote(texts, [NAMES[place % 3] for place in range(len(texts))])
    tally.add([vote for place, vote in enumerate(votes) if place != leave_out])
    return tally


def _public_bytes(synthesizer: Synthesizer) -> bytes:
    """Return everything that is fixed before a record is read, to the last bit."""
    cells = synthesizer.cells
    arrays = (cells.codewords, cells.features, cells.places, cells.public.shares, synthesizer.scores)
    return b"".join([*(array.tobytes() for array in arrays), "\n".join(cells.texts).encode()])
