"""Claims about label names: they are read after the counts, and only names in words change what is written."""

from collections.abc import Iterator

import numpy as np
import pytest
import travel

from adept import Synthesizer
from adept.data.corpus import Corpus
from adept.mechanisms import Votes
from adept.models.autoencoder import Autoencoder
from adept.models.codec import codec as codecs
from adept.models.codec.codec import Codec, text_of
from adept.models.codec.listed_texts import ListedTexts
from adept.models.lexicon import Lexicon
from adept.models.tokenizer import Tokenizer
from adept.synthesis import label_names
from adept.synthesis.label_names import PSEUDO_VOTES, add_names, draw_by_names, label_by_names
from adept.synthesis.tally import Tally

NAMES = ["cheapest_airfare", "GroundTransportation", "X17"]
CODES = ["0", "17", "X17"]

Loaded = tuple[Autoencoder, Tokenizer]


@pytest.fixture(scope="module")
def broad(loaded: Loaded) -> Iterator[Loaded]:
    """The tiny model with a codec of sentences, 200 of which are its utterances."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codecs, "MAX_UTTERANCES", 200)
        patch.setattr(loaded[0], "codec", Codec.of_sentences(travel.texts(3000), lexicon=Lexicon.load()))
        yield loaded


@pytest.fixture(scope="module", autouse=True)
def few_added() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(label_names, "MAX_ADDED_TEXTS", 300)
        patch.setattr(label_names, "MAX_NAME_RANK", 50)
        yield


def listed_texts(broad: Loaded) -> set[str]:
    """Texts of the codec behind its utterances."""
    listed = broad[0].codec.listed if broad[0].codec else ListedTexts()
    return {text_of(listed[place]) for place in range(len(listed))}


def build(broad: Loaded, names: list[str], epsilon: float = 1.0) -> Synthesizer:
    return Synthesizer(*broad, votes=Votes(epsilon=epsilon), label_set=names, cells=16)


def test_named_labels_have_pseudo_votes_near_their_names_and_codes_have_none(broad: Loaded) -> None:
    writable = build(broad, NAMES).writable
    assert writable.pseudo_votes.sum(axis=0).tolist() == pytest.approx([PSEUDO_VOTES, PSEUDO_VOTES, 0.0])
    assert (np.count_nonzero(writable.pseudo_votes, axis=1) == 1).all()
    assert len(writable.examples) == len(writable.pseudo_votes)


def test_sentences_about_the_names_can_be_written_beside_the_own_texts(broad: Loaded) -> None:
    synthesizer = build(broad, ["airfare", "ground transportation"])
    own, texts = synthesizer.cells.texts, synthesizer.writable.texts
    said = listed_texts(broad)
    assert texts[: len(own)] == own
    assert len(texts) == len(set(texts)) > len(own)
    assert set(texts[len(own) :]) <= said
    added = [text for text in texts[len(own) :] if "airfare" in text or "transportation" in text]
    likely = len(added) / (len(texts) - len(own))
    assert likely > 1.2 * np.mean(["airfare" in text or "transportation" in text for text in said])
    assert (synthesizer.writable.shares > 0).all()


def test_codes_change_nothing(broad: Loaded) -> None:
    writable, own = build(broad, CODES).writable, build(broad, CODES).cells.writable(labels=3)
    assert writable.texts == own.texts
    assert writable.pseudo_votes.shape == (0, 3)
    assert (writable.shares == own.shares).all()


@pytest.mark.parametrize("reason", ["texts of one's own", "no broad model", "too many labels"])
def test_names_are_read_with_a_broad_model_and_few_labels_alone(
    broad: Loaded, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = broad[0].public_texts if reason == "texts of one's own" else None
    if reason == "no broad model":
        monkeypatch.setattr(broad[0].codec, "lexicon", None)
    if reason == "too many labels":
        monkeypatch.setattr(label_names, "MAX_NAMED_LABELS", 2)
    synthesizer = Synthesizer(*broad, votes=Votes(epsilon=1.0), label_set=NAMES, cells=16, texts=own)
    assert len(synthesizer.writable.examples) == 0
    assert synthesizer.writable.texts == synthesizer.cells.texts


def test_what_is_written_depends_on_counts_names_and_model_alone(broad: Loaded, travel: dict[str, Corpus]) -> None:
    """One synthesizer counts records, another has seen others and a third none: the same counts give the same file.

    The third also writes before it sees any record, so that no state of a count can reach the texts or the pseudo-votes.
    """
    first, second, third = (build(broad, NAMES) for _ in range(3))
    private = travel["validation"].texts[:300]
    secret = [f"zanzibar {text}" for text in private]
    counts = first.release(_count(first, secret))
    _count(second, private[::-1])
    list(second.write(second.release(second.tally())))
    before = third.writable
    written = list(third.write(counts))
    assert list(first.write(counts)) == list(second.write(counts)) == written
    assert third.writable is before
    assert not any("zanzibar" in text for text, _ in written)
    assert first.writable.texts == before.texts
    assert np.array_equal(first.writable.features, before.features)
    assert np.array_equal(first.writable.examples, before.examples)


def test_names_change_no_cell_and_no_vote(broad: Loaded, travel: dict[str, Corpus]) -> None:
    named, coded, texts = build(broad, NAMES), build(broad, CODES), travel["validation"].texts[:200]
    for synthesizer in (named, coded):
        list(synthesizer.write(synthesizer.release(synthesizer.tally())))
    assert np.array_equal(named.cells.codewords, coded.cells.codewords)
    assert named.vote(texts, [NAMES[1]] * 200) == coded.vote(texts, [CODES[1]] * 200)
    assert named.guarantee == coded.guarantee


def test_labels_with_the_same_words_are_told_apart_by_their_counts(broad: Loaded) -> None:
    synthesizer = build(broad, ["cheapest_airfare", "CheapestAirfare"])
    votes = synthesizer.writable.pseudo_votes
    assert votes[:, 0].sum() == pytest.approx(votes[:, 1].sum())
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
    monkeypatch.setattr(label_names, "MAX_ADDED_TEXTS", 10**6)
    codec, synthesizer = broad[0].codec, build(broad, NAMES)
    assert codec is not None
    writable = add_names(synthesizer.cells, codec, NAMES)
    assert set(writable.texts) == {*map(text_of, codec.utterances)} | listed_texts(broad)


def test_reference_texts_are_sentences_near_to_the_names_of_their_labels(broad: Loaded) -> None:
    codec = broad[0].codec
    assert codec is not None
    labels = ["airfare", "X17"] * 400
    texts = draw_by_names(codec, labels, seed=0)
    assert texts == draw_by_names(codec, labels, seed=0) != draw_by_names(codec, labels, seed=1)
    named, coded = (np.mean(["fare" in text for text in texts[part::2]]) for part in (0, 1))
    assert named > 1.5 * coded
    assert set(texts) <= {*map(text_of, codec.utterances)} | listed_texts(broad)


def test_texts_are_labelled_by_the_nearest_name_and_never_by_a_code(broad: Loaded) -> None:
    codec, texts = broad[0].codec, ["what is the cheapest fare to denver", "is there a taxi downtown", "zzqxv"]
    assert codec is not None
    assert label_by_names(codec, NAMES, texts)[:2] == NAMES[:2]
    assert label_by_names(codec, CODES, texts) == ["0"] * 3


def _count(synthesizer: Synthesizer, texts: list[str]) -> Tally:
    tally = synthesizer.tally()
    tally.add(synthesizer.vote(texts, [NAMES[place % 3] for place in range(len(texts))]))
    return tally
