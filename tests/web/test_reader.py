"""Claims about what a reader may believe: a posterior, its bound, and the pair for which ADePT's claim fails."""

import math
import threading

import pytest
import torch

from adept.mechanisms import Description, LearnedCodebook
from adept.rewriting.rewriter import Rewriter
from adept.web.sentences import DRAWS, PEOPLE, STOPS, Reader, Release, Sentences, crowd_of, guesses, worst_pair

TEXT = "can you move my dentist appointment to friday"


def released(sentences: Sentences, name: str, epsilon: float) -> Release:
    (one,) = sentences.release(TEXT, epsilon=epsilon, mechanisms=[name])
    return one


def test_the_crowd_is_999_different_public_sentences(sentences: Sentences) -> None:
    assert len(set(sentences.crowd)) == len(sentences.crowd) == PEOPLE - 1


@pytest.mark.parametrize("epsilon", [0.5, 4.0, 8.0, 16.0])
def test_no_release_gives_a_reader_more_belief_than_the_bound(sentences: Sentences, epsilon: float) -> None:
    for _ in range(20):
        view = released(sentences, "ours", epsilon).view()
        assert view["after"] <= view["bound"] * (1 + 1e-6)
        assert view["claimed"] == view["bound"]


def test_the_belief_is_bayes_rule_on_the_codebook_s_weights(sentences: Sentences) -> None:
    rewriter = Rewriter(sentences.model, sentences.tokenizer, mechanism=LearnedCodebook(epsilon=4.0))
    reader = Reader(rewriter, sentences.crowd, threading.Event())
    released = rewriter.release([TEXT])
    symbol = released.item()
    heavy = [symbol in rewriter.encode([text])[0].tolist() for text in (TEXT, *sentences.crowd[:200])]
    weights = [math.exp(4.0) if one else 1.0 for one in heavy]
    rest = [symbol in row for row in rewriter.encode(sentences.crowd[200:]).tolist()]
    total = sum(weights) + sum(math.exp(4.0) if one else 1.0 for one in rest)
    assert reader.view(rewriter.encode([TEXT]), released)["after"] == pytest.approx(weights[0] / total, rel=1e-5)


def test_a_description_that_came_out_true_is_believed_up_to_the_bound(sentences: Sentences) -> None:
    rewriter = Rewriter(sentences.model, sentences.tokenizer, mechanism=Description(epsilon=12.0))
    reader = Reader(rewriter, sentences.crowd, threading.Event())
    assert rewriter.encode([TEXT]).tolist()[0] not in rewriter.encode(sentences.crowd).tolist()
    views = [reader.view(rewriter.encode([TEXT]), rewriter.release([TEXT])) for _ in range(20)]
    # The truth comes out with probability .91: twenty lies in a row have 1e-21.
    assert max(view["after"] for view in views) == pytest.approx(views[0]["bound"], rel=1e-6)


def test_releases_of_the_worst_pair_cross_the_claim_and_not_the_true_epsilon() -> None:
    """At n = 64 and eps = 4 one release stays below 4 with a chance of .22, so 90 of 100 do with one below 1e-40."""
    odds = worst_pair(epsilon=4.0, dim=64)
    assert len(odds) == DRAWS
    assert sum(abs(one) > 4.0 for one in odds) > 10
    assert max(map(abs, odds)) <= 4.0 * 8 * (1 + 1e-6)


def test_in_one_dimension_the_published_claim_holds() -> None:
    assert max(map(abs, worst_pair(epsilon=4.0, dim=1))) <= 4.0 * (1 + 1e-6)


@pytest.mark.parametrize(
    ("probability", "said"),
    [
        (0.0518, "1 guess in 19"),
        (1 / 3, "1 guess in 3"),
        (0.7489, "75 guesses in 100"),
        (0.9951, "996 guesses in 1,000"),
    ],
)
def test_a_bound_in_words_is_never_below_the_bound(probability: float, said: str) -> None:
    assert guesses(probability) == said


def test_epsilon_4_is_one_guess_in_19(sentences: Sentences) -> None:
    shown = released(sentences, "ours", 4.0).shown
    assert "at most 1 guess in 19" in shown["sentence"]


def test_a_false_claim_is_named_with_its_true_epsilon(sentences: Sentences) -> None:
    shown = released(sentences, "original", 4.0).shown
    assert not shown["holds"]
    assert shown["epsilon"] == pytest.approx(4 * math.sqrt(sentences.model.config.latent_dim))
    assert "It is false" in shown["sentence"]


def test_every_stop_of_the_slider_is_a_budget_that_releases_take(sentences: Sentences) -> None:
    assert STOPS[0] == 0.5
    assert STOPS[-1] == 40.0
    for epsilon in (0.5, 10.0, 40.0):
        shown = released(sentences, "ours", epsilon).shown
        assert shown["claimed"] == epsilon


def test_a_release_does_not_wait_until_its_reader_has_read_the_crowd(sentences: Sentences) -> None:
    one = released(sentences, "ours", 3.0)
    assert one.shown["texts"]
    assert not one.reader.ready
    one.view()
    assert one.reader.ready


def test_two_releases_of_one_sentence_have_noise_of_their_own(sentences: Sentences) -> None:
    """Two releases of 400 numbers with Laplace noise are equal with probability below 1e-300."""
    rewriter, _ = sentences._at("sqrt_n", 8.0)
    assert not torch.equal(rewriter.release([TEXT]), rewriter.release([TEXT]))


def test_a_model_without_public_sentences_has_no_crowd(sentences: Sentences, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentences.model.sentences, "utterances", [])
    with pytest.raises(Exception, match="must hold at least 999 public sentences"):
        crowd_of(sentences.model)
