"""Names of things and labels stand for the model's own sentences about them."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import travel
from broad import meaning_of_words

from adept.errors import ModelError
from adept.models import adapt as nearby
from adept.models import label_names
from adept.models.adapt import nearest_first, read_page
from adept.models.label_names import sentences_about
from adept.models.sentences import sentence_list
from adept.models.sentences.meanings import meanings_of, words_of
from adept.models.sentences.sentence_list import SentenceList, load_sentences, save_sentences
from adept.models.tokenizer import join_words
from adept.models.untrusted_files import DESCRIPTION, ModelFiles


@pytest.fixture(scope="module")
def sentences() -> SentenceList:
    texts = travel.texts(3000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentence_list, "MAX_UTTERANCES", 200)
        return SentenceList.of_broad_text(texts)


def all_texts(sentences: SentenceList) -> list[str]:
    return [
        *map(join_words, sentences.utterances),
        *(join_words(sentences.listed[place]) for place in range(len(sentences.listed))),
    ]


def read(texts: Iterable[str]) -> np.ndarray:
    """Return the meanings (N, d) of public sentences, from their definition."""
    return np.array([meaning_of_words(words_of(text)) for text in texts])


def test_a_page_is_its_headings_and_sentences() -> None:
    page = "# Lost cards\n\n- Call us at once. **We** block [the card](https://x.test/a).\n\n```\ncode here\n```\n| a | b |\n"
    assert read_page(page) == ["Lost cards", "Call us at once.", "We  block the card.", "a   b"]


def test_sentences_about_a_term_mean_what_it_means(sentences: SentenceList, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their products with the term are the largest of all."""
    monkeypatch.setattr(label_names, "MAX_SENTENCES", 300)
    found = sentences_about(sentences, ["cheap_fares"])
    assert len(found) == label_names.MAX_SENTENCES
    assert set(found) <= set(all_texts(sentences))
    [term] = meanings_of(["cheap fares"]).astype(int)
    left_out = sorted(set(all_texts(sentences)) - set(found))
    assert (read(found) @ term).min() >= (read(left_out) @ term).max()


def test_every_term_has_sentences(sentences: SentenceList, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_names, "MAX_SENTENCES", 20)
    found = sentences_about(sentences, ["meal", "pilot", "luggage", "", "meal"])
    assert label_names.MIN_PER_TERM < len(found) <= 3 * label_names.MIN_PER_TERM
    assert sum("meal" in text for text in found) >= label_names.MIN_PER_TERM // 2


def test_the_nearest_sentences_come_first_others_by_chance_and_none_is_lost(sentences: SentenceList) -> None:
    texts = ["is a meal served", "vegetarian food please"]
    first, second, others = nearest_first(sentences, texts, most=50, besides=20)
    assert (len(first), len(second)) == (50, 20)
    assert second == [words for words in sentences.utterances if words not in first][:20]
    listed = [join_words(others[place]) for place in range(len(others))]
    assert sorted([*map(join_words, [*first, *second]), *listed]) == sorted(all_texts(sentences))
    asked = meanings_of(texts).astype(int)
    left = [*map(join_words, second), *listed]
    nearness = [(read(some) @ asked.T).max(axis=1) for some in ([*map(join_words, first)], left)]
    assert nearness[0].min() >= nearness[1].max()


def test_sentences_of_a_model_that_was_adapted_to_other_words_are_listed_with_them(sentences: SentenceList) -> None:
    adapted = replace(sentences, utterances=[("reboot", "the", "router"), *sentences.utterances])
    _, _, others = nearest_first(adapted, ["is a meal served"], most=50)
    assert others[0] == ("reboot", "the", "router")
    assert len(others) == len(adapted) - 50


def test_a_model_of_too_many_words_is_not_adapted_again(
    sentences: SentenceList, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nearby, "MAX_LISTED_WORDS", 10)
    with pytest.raises(ModelError, match="over 10 different words: adapt the model that it was adapted from"):
        nearest_first(sentences, ["is a meal served"], most=5)


def test_texts_listed_by_another_models_words_are_saved_with_them(sentences: SentenceList, tmp_path: Path) -> None:
    small = SentenceList.of(["is a meal served", "a meal is served", "no meal is served"])
    mixed = replace(small, listed=sentences.listed, is_broad=True)
    save_sentences(mixed, tmp_path)
    loaded = load_sentences(ModelFiles(tmp_path, DESCRIPTION))
    assert all_texts(loaded) == all_texts(mixed)


def test_a_model_without_sentences_has_none_about_a_term() -> None:
    with pytest.raises(ModelError, match="broad"):
        sentences_about(SentenceList.of(["is a meal served", "a meal is served"]), ["meal"])
