"""An estimate is printed before a release, from public text alone."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from adept.data.corpus import Corpus
from adept.mechanisms import Description, JointResponse, LearnedCodebook, LocalRandomizer
from adept.mechanisms.selection import Selection
from adept.models.config import DecodingConfig
from adept.rewriting import expectation as expectations
from adept.rewriting.expectation import (
    Expectation,
    Survival,
    enough_lines,
    expectation,
    expected_lines,
    unseen_figures,
    unseen_line,
)
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import Rewriter


def expected(run: Path, mechanism: LearnedCodebook | Description) -> Expectation:
    found = expectation(Rewriter(*load_model(run), mechanism=mechanism, decoding=DecodingConfig(strategy="nearest")))
    assert found is not None
    return found


def test_more_is_expected_of_a_larger_budget_and_nothing_of_none(topic_run: Path) -> None:
    """At eps = .01, half of 40 texts about travel have the same topic by chance: 36 or more once in ten million."""
    little, much = (expected(topic_run, LearnedCodebook(epsilon=epsilon)) for epsilon in (0.01, 30.0))
    described = expected(topic_run, Description(epsilon=120.0))
    assert little.topic is not None
    assert described.topic is not None
    assert described.topic > 0.9 > little.topic
    assert much.words > much.words_of_others
    assert described.words > 0.4 > 0.2 > described.words_of_others  # the nearest of 200 sentences


def test_the_texts_were_neither_trained_on_nor_are_they_in_the_list(topic_run: Path) -> None:
    sentences = load_model(topic_run)[0].sentences
    assert sentences is not None
    assert len(sentences.held_out) >= 30
    assert not set(sentences.held_out) & set(sentences.utterances)


def test_nothing_is_promised_without_such_texts(topic_run: Path) -> None:
    model, tokenizer = load_model(topic_run)
    assert model.sentences is not None
    model.sentences.held_out = model.sentences.held_out[:3]
    assert expectation(Rewriter(model, tokenizer, mechanism=LearnedCodebook(epsilon=1.0))) is None


def test_public_texts_of_the_users_own_take_the_place_of_the_models(topic_run: Path) -> None:
    rewriter = Rewriter(*load_model(topic_run), mechanism=Description(epsilon=120.0))
    texts = rewriter.model.public_texts[:12]
    own = expectation(rewriter, Corpus(texts))
    assert own is not None
    assert (own.texts, own.words > 0.9) == (12, True)
    strange = expectation(rewriter, Corpus([f"qzx{number} vrrk{number} wqq{number}" for number in range(12)]))
    assert strange is not None
    assert strange.words < own.words
    assert expectation(rewriter, Corpus(texts[:3])) is None


def test_meaning_tells_topics_apart_and_codewords_only_in_another_language(topic_run: Path) -> None:
    model, tokenizer = load_model(topic_run)
    rewriter = Rewriter(model, tokenizer, mechanism=Description(epsilon=120.0))
    strange = Corpus([f"qzx{number} vrrk{number} wqq{number}" for number in range(12)])
    model.codebooks = {32: torch.ones(1, model.config.latent_dim)}  # to which all texts are near
    found, other = expectation(rewriter), expectation(rewriter, strange)
    assert found
    assert found.topic is not None
    assert found.topic_of_others is not None
    assert found.topic > 0.8
    assert found.topic_of_others < found.topic
    assert other
    assert other.topic == other.topic_of_others == 1
    model.codebooks = {}
    found, other = expectation(rewriter), expectation(rewriter, strange)
    assert found
    assert found.topic is not None
    assert other
    assert other.topic is None


def test_a_line_says_which_smaller_budget_writes_the_same_sentences(topic_run: Path) -> None:
    """Of the nearest one of all sentences alone; a record's own sentence comes in 95 of 100 cases from there on."""
    loaded = load_model(topic_run)

    def said(mechanism: LocalRandomizer | JointResponse) -> list[str]:
        return enough_lines(Rewriter(*loaded, mechanism=mechanism))

    least = Selection(epsilon=8.0, size=len(loaded[0].public_texts)).enough_epsilon
    assert said(Description(epsilon=24.0)) == [
        f"{least} writes the same sentences as epsilon 24, and protects more: add epsilon={least}"
    ]
    assert said(Description(epsilon=24.0))[0] in expected_lines(Rewriter(*loaded, mechanism=Description(epsilon=24.0)))
    for mechanism in (
        Description(epsilon=float(least)),
        LearnedCodebook(epsilon=24.0),
        Description(epsilon=9.0, top=3),
    ):
        assert said(mechanism) == []
    pair = JointResponse.of(Description(epsilon=24.0), ["fare", "flight"])
    enough = Selection(epsilon=8.0, size=2 * len(loaded[0].public_texts)).enough_epsilon
    assert f"{enough} writes" in said(pair)[0]


@pytest.mark.parametrize("topic", [None, 0.5])
def test_each_figure_is_a_sentence_beside_what_chance_gives(topic: float | None) -> None:
    figures = Expectation(40, topic, topic and 0.03, 0.25, 0.125, 0.0)
    kept = ["a rewrite keeps its record's topic in 50% of all cases (3% by chance)"] if topic else []
    assert figures.lines == [
        *kept,
        "a rewrite keeps 25% of its record's words (12% by chance)",
        "estimated on 40 public texts, so good to 16%; other text may fare worse",
    ]
    assert "a rewrite is its record word for word in 5% of all cases" in replace(figures, exact=0.05).lines


def test_figures_of_unseen_subjects_lie_between_those_of_measured_budgets(
    topic_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None is said below the least of these, nor of another mechanism or way to write than the packaged model's own."""
    cooking = {4.0: Survival(0.1, 0, 0.2, 0), 8.0: Survival(0.3, 0.02, 0.4, 0.04), 32.0: Survival(0.9, 0.02, 0.6, 0.04)}
    sailing = {**cooking, 32.0: Survival(1.0, 0.02, 0.6, 0.03)}
    sailing[20.0] = Survival(0.7, 0.02, 0.5, 0.03)
    monkeypatch.setattr(expectations, "unseen_figures", lambda: {"cooking": cooking, "sailing": sailing})
    loaded = load_model(topic_run)

    def kept_shares(topic: str, kept: str, chance: str) -> str:
        topics = f"a rewrite keeps its record's topic in {topic} of all cases"
        return f"{topics}, and {kept} of its record's words (by chance up to {chance})"

    def said(mechanism: LocalRandomizer, strategy: str = "nearest") -> str | None:
        line = unseen_line(Rewriter(*loaded, mechanism=mechanism, decoding=DecodingConfig(strategy=strategy)))
        return line and line.partition(": ")[2]

    assert said(LearnedCodebook(epsilon=6.0)) == kept_shares("20%", "30%", "1% and 2%")
    assert said(Description(epsilon=20.0)) == kept_shares("60% to 70%", "50%", "2% and 4%")
    assert said(Description(epsilon=100.0)) == kept_shares("90% to 100%", "60%", "2% and 4%")
    others = LearnedCodebook(epsilon=3.9), Description(epsilon=6.0), LearnedCodebook(epsilon=12.0)
    assert [said(mechanism) for mechanism in others] == [None] * 3
    assert said(LearnedCodebook(epsilon=6.0), "sample") is None  # these keep far less


def test_the_packages_figures_are_of_several_subjects_and_grow_with_the_budget() -> None:
    assert len(unseen_figures()) >= 4
    for row in unseen_figures().values():
        assert set(row) >= {4.0, 8.0, 12.0, 16.0}
        assert all(0 <= share <= 1 for kept in row.values() for share in kept)
        assert row[4.0].words < row[8.0].words < row[16.0].words
        assert all(kept.words > kept.words_of_others for kept in row.values())
