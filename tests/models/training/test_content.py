"""Content vectors say what public text is about, are made from it alone, and survive noise better than form does."""

import numpy as np
import pytest

from adept.data.corpus import Corpus, DataConfig, load
from adept.errors import ConfigurationError, DataError
from adept.models.training.config import KINDS, ContentConfig
from adept.models.training.content import Encoder, fit_content


@pytest.fixture(scope="module")
def splits() -> dict[str, Corpus]:
    return load(DataConfig(sizes=[1500, 10, 300], balanced=True))


def nearest_label_accuracy(train: np.ndarray, labels: list[str], test: np.ndarray, truth: list[str]) -> float:
    guesses = [labels[i] for i in (test @ train.T).argmax(axis=1)]
    return float(np.mean([a == b for a, b in zip(guesses, truth, strict=True)]))


@pytest.fixture(scope="module")
def fitted(splits: dict[str, Corpus]) -> dict[str, Encoder]:
    return {kind: fit_content(splits["train"], kind=kind, dim=24) for kind in KINDS[2:]}


@pytest.mark.parametrize("kind", KINDS[2:])
def test_content_vectors_lie_on_the_sphere_and_neighbours_share_their_intent(
    splits: dict[str, Corpus], fitted: dict[str, Encoder], kind: str
) -> None:
    train, test, encode = splits["train"], splits["test"], fitted[kind]
    vectors = encode(train.texts)
    assert vectors.shape == (1500, 24)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    accuracy = nearest_label_accuracy(vectors, train.labels or [], encode(test.texts), test.labels or [])
    assert accuracy > (0.9 if kind in ("labels", "air_travel") else 0.6)


@pytest.mark.parametrize("kind", ["words", "classes"])
def test_unsupervised_content_never_reads_a_label(splits: dict[str, Corpus], kind: str) -> None:
    with_labels = fit_content(splits["train"], kind=kind, dim=8)(splits["test"].texts)
    without = fit_content(Corpus(splits["train"].texts), kind=kind, dim=8)(splits["test"].texts)
    assert np.array_equal(with_labels, without)


def test_directions_are_whitened(splits: dict[str, Corpus]) -> None:
    """On the sphere no direction has more than a few times the variance of another; unwhitened the ratio is above 10."""
    vectors = fit_content(splits["train"], kind="words", dim=16)(splits["train"].texts)
    variance = vectors.var(axis=0)
    assert variance.max() / variance.min() < 4


def test_grammar_texts_give_directions_to_what_the_corpus_hardly_says(splits: dict[str, Corpus]) -> None:
    """Of questions about flights alone no one learns what else can be asked; the grammar's text, without labels, tells."""
    train, test = splits["train"], splits["test"]
    flights = [text for text, label in zip(train.texts, train.labels or [], strict=True) if label == "flight"]

    def accuracy(grammar_texts: int) -> float:
        encode = fit_content(Corpus(flights), kind="classes", dim=16, grammar_texts=grammar_texts)
        return nearest_label_accuracy(encode(train.texts), train.labels or [], encode(test.texts), test.labels or [])

    assert accuracy(2000) > accuracy(0) + 0.2


def test_texts_without_known_words_have_a_vector_all_the_same(fitted: dict[str, Encoder]) -> None:
    for encode in fitted.values():
        vectors = encode(["", "zebra quagga"])
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1)


def test_few_texts_give_fewer_directions_and_zeros_for_the_rest() -> None:
    vectors = fit_content(Corpus(["a b", "b c", "c d"]), kind="words", dim=16)(["a b", "c d"])
    assert vectors.shape == (2, 16)
    assert not vectors[:, 3:].any()


@pytest.mark.parametrize(
    ("corpus", "kind", "message"),
    [
        (Corpus(["", " "]), "words", "need words"),
        (Corpus(["a"]), "words", "more than 1 different texts"),
        (Corpus(["a b", "b c"]), "labels", "at least two labels"),
        (Corpus(["a b", "b c"], ["x", "x"]), "labels", "at least two labels"),
    ],
)
def test_text_that_cannot_be_learned_from_is_refused(corpus: Corpus, kind: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        fit_content(corpus, kind=kind, dim=4)


@pytest.mark.parametrize("options", [{"kind": "subjects"}, {"topics": 1}, {"weight": -1.0}, {"spread": float("inf")}])
def test_impossible_settings_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match=r"training\.content"):
        ContentConfig(**options)  # type: ignore[arg-type]
