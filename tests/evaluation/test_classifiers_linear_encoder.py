"""Linear latents say what public text is about, are made from it alone, and have no louder direction than another."""

import numpy as np
import pytest
import travel

from adept.data.corpus import Corpus
from adept.errors import DataError
from adept.evaluation.classifiers import fit_linear_encoder


@pytest.fixture(scope="module")
def splits() -> dict[str, Corpus]:
    return travel.balanced(1500, 10, 300)


def test_latents_lie_on_the_sphere_and_neighbours_share_their_intent(splits: dict[str, Corpus]) -> None:
    encode = fit_linear_encoder(splits["train"], dim=24, seed=0)
    train, test = (encode(splits[name].texts) for name in ("train", "test"))
    assert train.shape == (1500, 24)
    assert np.allclose(np.linalg.norm(train, axis=1), 1)
    labels, truth = splits["train"].labels or [], splits["test"].labels or []
    guesses = [labels[place] for place in (test @ train.T).argmax(axis=1)]
    assert np.mean([a == b for a, b in zip(guesses, truth, strict=True)]) > 0.6


def test_no_label_is_read(splits: dict[str, Corpus]) -> None:
    texts = splits["test"].texts
    with_labels, without = (
        fit_linear_encoder(public, seed=0)(texts) for public in (splits["train"], Corpus(splits["train"].texts))
    )
    assert np.array_equal(with_labels, without)


def test_directions_are_whitened(splits: dict[str, Corpus]) -> None:
    """On the sphere no direction has more than a few times the variance of another; unwhitened the ratio is above 10."""
    variance = fit_linear_encoder(splits["train"], seed=0)(splits["train"].texts).var(axis=0)
    assert variance.max() / variance.min() < 4


def test_texts_without_known_words_have_a_vector_all_the_same(splits: dict[str, Corpus]) -> None:
    vectors = fit_linear_encoder(splits["train"], seed=0)(["", "zebra quagga"])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)


def test_few_texts_give_fewer_directions_and_zeros_for_the_rest() -> None:
    vectors = fit_linear_encoder(Corpus(["a b", "b c", "c d"]), seed=0)(["a b", "c d"])
    assert vectors.shape == (2, 16)
    assert not vectors[:, 3:].any()


@pytest.mark.parametrize(("texts", "message"), [(["", " "], "must have words"), (["a"], "different texts")])
def test_text_that_cannot_be_learned_from_is_refused(texts: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        fit_linear_encoder(Corpus(texts), seed=0)
