"""Every entry point that takes texts has the one rule for them: whoever adds one without it adds a failure here."""

import importlib
import inspect
import pkgutil
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from adept.attacks import membership, reconstruction
from adept.data.corpus import Corpus
from adept.errors import DataError
from adept.evaluation import classifiers, lstm_classifier, metrics
from adept.evaluation.text_classifier import EncoderClassifier
from adept.mechanisms import LearnedCodebook
from adept.mechanisms.central_counts import Votes
from adept.models import label_names
from adept.models.sentence_encoder import SentenceEncoder
from adept.models.sentences import meanings
from adept.release.rewrite_frame import rewrite_frame
from adept.rewriting.alternatives import PromptSampling, Redaction, WordByWord, public_logits
from adept.rewriting.expectation import foreign_warnings
from adept.rewriting.rewriter import Rewriter
from adept.synthesis.synthesizer import Synthesizer

PACKAGES = ["release", "rewriting", "synthesis", "evaluation", "attacks", "audit"]
MODULES = [
    "data.corpus",
    "models.label_names",
    "models.sentence_encoder",
    "models.sentences.meanings",
    "models.sentences.sentence_list",
    "models.tokenizer",
]
NAMES = {"texts", "X", "frame"}
BAD: dict[str, Any] = {
    "string": "play jazz",
    "frame": pd.DataFrame({"a": ["jazz"], "b": [1]}),
    "None": None,
    "number": 3,
}


@dataclass
class Given:
    """Objects that the calls need, made on first use."""

    run: Path
    directory: Path

    @cached_property
    def rewriter(self) -> Rewriter:
        return Rewriter.from_pretrained(self.run, mechanism=LearnedCodebook(epsilon=8.0))

    @cached_property
    def synthesizer(self) -> Synthesizer:
        return Synthesizer.from_pretrained(self.run, cells=2)

    @property
    def model(self) -> Any:
        return self.rewriter.model, self.rewriter.tokenizer


TRAIN = Corpus(["play jazz", "stop"] * 4, ["music", "stop"] * 4)
READER = membership.TextReader(TRAIN.texts, TRAIN.labels or [])
CALLS: dict[str, Callable[[Given, Any], object]] = {
    "attacks.reconstruction.write_feasible": lambda given, bad: reconstruction.write_feasible(bad, 1, random.Random(0)),
    "attacks.membership.TextReader.__init__": lambda given, bad: membership.TextReader(bad, ["a", "b"]),
    "attacks.membership.TextReader.confidence": lambda given, bad: READER.confidence(bad, ["music"]),
    "attacks.reconstruction.gather_candidates": lambda given, bad: reconstruction.gather_candidates(bad),
    "attacks.reconstruction.view": lambda given, bad: reconstruction.view(given.rewriter, bad),
    "data.corpus.Corpus.__init__": lambda given, bad: Corpus(bad),
    "evaluation.classifiers.predict": lambda given, bad: classifiers.predict(TRAIN, bad, classifier="tfidf"),
    "models.label_names.label_by_names": lambda given, bad: label_names.label_by_names(["music"], bad),
    "evaluation.text_classifier.LinearClassifier.predict": lambda given, bad: EncoderClassifier(TRAIN).predict(bad),
    "evaluation.lstm_classifier.predict_lstm": lambda given, bad: lstm_classifier.predict_lstm(TRAIN, bad, seed=0),
    "evaluation.metrics.NgramModel.__init__": lambda given, bad: metrics.NgramModel(bad, order=2),
    "evaluation.metrics.NgramModel.perplexity": lambda given, bad: metrics.NgramModel(TRAIN.texts, order=2).perplexity(
        bad
    ),
    "models.sentence_encoder.SentenceEncoder.encode": lambda given, bad: SentenceEncoder.load().encode(bad),
    "models.sentences.meanings.meanings_of": lambda given, bad: meanings.meanings_of(bad),
    "models.sentences.meanings.mean_meaning": lambda given, bad: meanings.mean_meaning(bad),
    "models.sentences.sentence_list.SentenceList.nearest": lambda given, bad: given.rewriter.model.sentences.nearest(  # type: ignore[union-attr]
        bad, size=2
    ),
    "models.tokenizer.Tokenizer.encode": lambda given, bad: given.rewriter.tokenizer.encode(bad, max_length=4),
    "release.rewrite_frame.rewrite_frame": lambda given, bad: rewrite_frame(
        bad, statement=given.directory / "s", model_dir=given.run, epsilon=8
    ),
    "rewriting.alternatives.PromptSampling.privatize": lambda given, bad: PromptSampling(
        epsilon=8.0, model=given.model[0], tokenizer=given.model[1], length=4, logits=(0.0, 1.0)
    ).privatize(bad),
    "rewriting.alternatives.public_logits": lambda given, bad: public_logits(*given.model, bad),
    "rewriting.alternatives.Redaction.from_public": lambda given, bad: Redaction.from_public(bad),
    "rewriting.alternatives.Redaction.privatize": lambda given, bad: Redaction(common=frozenset()).privatize(bad),
    "rewriting.alternatives.WordByWord.privatize": lambda given, bad: WordByWord.privatize(None, bad),  # type: ignore[arg-type]
    "rewriting.expectation.foreign_warnings": lambda given, bad: foreign_warnings(
        given.rewriter.tokenizer, bad, max_length=4
    ),
    "rewriting.rewriter.Rewriter.rewrite": lambda given, bad: given.rewriter.rewrite(bad),
    "rewriting.rewriter.Rewriter.rewrite_pairs": lambda given, bad: given.rewriter.rewrite_pairs(bad),
    "rewriting.rewriter.Rewriter.encode": lambda given, bad: given.rewriter.encode(bad),
    "rewriting.rewriter.Rewriter.release": lambda given, bad: given.rewriter.release(bad),
    "synthesis.synthesizer.Synthesizer.__init__": lambda given, bad: Synthesizer(
        *given.model, votes=Votes(epsilon=1.0), texts=bad if bad is not None else 0
    ),
    "synthesis.synthesizer.Synthesizer.synthesize": lambda given, bad: given.synthesizer.synthesize(bad),
}
WITHOUT = {
    "attacks.reconstruction.Pool.__init__": "made by gather_candidates",
    "attacks.reconstruction.name_from_text": "reads what play has written",
    "evaluation.text_classifier.count_ngrams": "called by the classifiers",
    "evaluation.record_free.FreeRow.__init__": "counts texts",
    "models.sentence_encoder.reads_as_english": "reads a Corpus",
    "models.sentence_encoder.share_alike": "reads a Corpus, and what a rewriter wrote",
    "audit.subject.target.Rewriting.privatize": "called by audit.run with the texts of its pairs",
    "models.sentence_encoder.SentenceEncoder.sums": "called by encode with checked texts",
    "models.sentences.meanings.ListedTexts.of": "stores texts as words",
    "models.sentences.meanings.WordWeights.__init__": "counts texts",
    "models.sentences.meanings.WordWeights.of": "learns from texts as words",
    "models.sentences.meanings.tabulate": "reads texts as words",
    "models.sentences.sentence_list.SentenceList.of": "learns from a Corpus",
    "models.sentences.sentence_list.SentenceList.of_broad_text": "learns from a Corpus",
    "rewriting.alternatives.learn_word_vectors": "learns from a Corpus",
    "models.tokenizer.Tokenizer.train": "learns from a Corpus",
    "models.tokenizer.Tokenizer.with_words": "learns from a Corpus",
    "release.rewrite_frame.Table.__init__": "made by table_of",
    "rewriting.alphabets.Alphabet.encode": "called by Rewriter with checked texts",
    "rewriting.alphabets.Alphabet.heavy": "called by Rewriter with checked texts",
    "rewriting.alphabets.Codewords.heavy": "called by Rewriter with checked texts",
    "rewriting.alphabets.Latents.encode": "called by Rewriter with checked texts",
    "rewriting.alphabets.Pairs.heavy": "called by Rewriter with checked texts",
    "rewriting.alphabets.Sentences.heavy": "called by Rewriter with checked texts",
    "rewriting.cells.Cell.heavy": "called by Rewriter with checked texts",
    "rewriting.cells.Cells.heavy": "called by Rewriter with checked texts",
    "rewriting.cells.LabelCells.pair_nearest": "called by Cells.label_public",
    "rewriting.cells.Cells.label_public": "reads public texts of the model, or of a Corpus",
    "rewriting.expectation.Expectation.__init__": "counts texts",
    "synthesis.votes.PublicCells.vote": "called by Synthesizer with texts alone",
    "synthesis.votes.PublicCells.of": "called by Synthesizer with texts alone",
    "synthesis.votes.WeightedTexts.__init__": "made of checked texts",
    "synthesis.votes.WeightedTexts.alike": "made of checked texts",
    "synthesis.votes.largest_size": "counts texts",
    "synthesis.synthesizer.share_standing_out": "counts texts",
    "rewriting.expectation.short_texts": "reads public texts of the model, or of a Corpus",
    "synthesis.synthesizer.Synthesizer.vote": "reads files whose rows must not make it raise",
    "release.rewrite_frame.table_of": "called by rewrite_frame",
}


@pytest.fixture(scope="module")
def given(topic_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Given:
    return Given(topic_run, tmp_path_factory.mktemp("given"))


def takes_texts(package: str) -> Iterator[str]:
    """Return the names of public callables with a parameter for texts, of a module and of the modules inside."""
    module = importlib.import_module(f"adept.{package}")
    for found in pkgutil.iter_modules(getattr(module, "__path__", []), f"{package}."):
        yield from takes_texts(found.name)
    for name, member in vars(module).items():
        if name.startswith("_") or getattr(member, "__module__", None) != module.__name__:
            continue
        parts = {f".{part}": value for part, value in vars(member).items()} if inspect.isclass(member) else {"": member}
        for part, value in parts.items():
            function = getattr(value, "__func__", value)
            hidden = part.startswith("._") and part not in (".__init__", ".__call__")
            if inspect.isfunction(function) and not hidden and NAMES & inspect.signature(function).parameters.keys():
                yield f"{package}.{name}{part}"


def test_every_public_callable_that_takes_texts_is_tried_here() -> None:
    found = {name for package in [*PACKAGES, *MODULES] for name in takes_texts(package)}
    assert found == {*CALLS, *WITHOUT}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("name", CALLS)
def test_a_string_a_frame_none_and_a_number_are_no_texts(name: str, kind: str, given: Given) -> None:
    with pytest.raises(DataError) as caught:
        CALLS[name](given, BAD[kind])
    assert "jazz" not in str(caught.value)
    assert not list(given.directory.iterdir())
