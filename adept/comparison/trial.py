"""One seed of a comparison: data, labels, models and rewriters that several rows share."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from adept.comparison.config import BY_LABEL, JOINT, JOINT_RESPONSE, PAPER
from adept.comparison.plan import Cell, ModelKind
from adept.comparison.results import ReleasedLabels
from adept.comparison.store import Store, Stored
from adept.data.corpus import Corpus, hold_out
from adept.errors import ConfigurationError, ModelError
from adept.mechanisms import Codebook, Description, JointResponse, L1Laplace, RandomizedResponse
from adept.models.config import TrainingData, TrainSpec
from adept.models.saved_model import Autoencoder
from adept.models.sentences.sentence_list import SentenceList
from adept.models.tokenizer import Tokenizer
from adept.rewriting.alternatives import WordVectors, learn_word_vectors
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import Rewriter


class Trial:
    """One seed of a comparison, with the data, labels, models and rewriters of its rows.

    If ``unseen`` is False, models were trained on the private records, so no privacy claim holds.
    ``examples`` are pairs of text and label to which the model was adapted.
    """

    def __init__(
        self, store: Store, splits: dict[str, Corpus], seed: int, examples: Sequence[tuple[str, str]] = ()
    ) -> None:
        self.store, self.config, self.seed = store, store.config, seed
        self.examples = Corpus([text for text, _ in examples], [label for _, label in examples])
        self.validation, self.test, train = splits["validation"], splits["test"], splits["train"]
        self.unseen = self.config.protocol != PAPER
        self.public, self.private = hold_out(train, share=0.5, seed=seed) if self.unseen else (train, train)
        self.label_set = sorted(set(train.labels or []))
        self._models: dict[ModelKind, tuple[Autoencoder, Tokenizer]] = {}

    def obtain(self, kind: type[Stored], cell: Cell, make: Callable[["Trial", Cell], Stored]) -> Stored:
        """Return the result for a row of the table; if it is not stored, compute and store it."""
        kept = self.store.find(kind, self.seed, cell)
        return self.store.keep(make(self, cell), self.seed, cell) if kept is None else kept

    def labels(self, cell: Cell) -> list[str]:
        """Return the private records' labels, randomised if the row has a budget for labels."""
        own = self.private.labels or []
        if cell.label_epsilon is None:
            return own
        response = RandomizedResponse(epsilon=cell.label_epsilon, labels=tuple(self.label_set))
        return self.obtain(ReleasedLabels, cell, lambda *_: ReleasedLabels(response.privatize(own))).values

    def rewriter(self, cell: Cell) -> Rewriter:
        """Return the rewriter for a row of the table, which must be a row with a model."""
        config, (model, tokenizer), decoding = self.config, self.model(cell), self.config.decoding
        if decoding.strategy == "auto" and model_kind(cell).content != "none" and config.model_dir is None:
            decoding = replace(decoding, strategy="sample")
        if cell.mechanism == BY_LABEL:
            plain = Rewriter.for_measurement(model, tokenizer, mechanism=Description(epsilon=cell.text_epsilon))
            if plain.by_label() is plain:
                raise ConfigurationError(
                    "model_dir must be a model of broad text that was not adapted for label_codewords=auto: use off"
                )
            return plain.by_label()
        text = config.mechanism(cell.mechanism, math.inf if cell.budget is None else cell.text_epsilon)
        mechanism = JointResponse.of(text, self.label_set) if cell.labels == JOINT_RESPONSE else text
        return Rewriter.for_measurement(model, tokenizer, mechanism=mechanism, decoding=decoding)

    def model(self, cell: Cell) -> tuple[Autoencoder, Tokenizer]:
        """Return the model and the tokenizer for a row of the table; train the model if necessary."""
        kind = model_kind(cell)
        if kind not in self._models:
            run = self.store.model(self.seed, kind)
            if self.config.model_dir is None and not (run / "done").exists():
                self._train(kind, run)
            self._models[kind] = load_model(self.config.model_dir or run)
        return self._models[kind]

    def _train(self, model: ModelKind, run: Path) -> None:
        from adept.models.training import train_model  # a trainer takes seconds to import

        config, joint = self.config, self.config.labels == JOINT
        noise = L1Laplace if model.clip == "l1" else Codebook
        spec = TrainSpec(
            clip=model.clip,
            training_data=TrainingData(config.data.name, config.data.public, len(self.public)),
            model=config.model,
            tokenizer=config.tokenizer,
            training=replace(config.training, content=replace(config.training.content, kind=model.content)),
            trainer=config.trainer,
            mechanism=lambda epsilon: noise(epsilon=epsilon, clip_norm=config.model.clip_norm),
            seed=self.seed,
            joint_labels=joint,
        )
        public, held_out = Corpus(self.public.texts), Corpus(self.validation.texts)
        if joint:
            known = set(self.public.labels or [])
            places = [place for place, label in enumerate(self.validation.labels or []) if label in known]
            public, held_out = self.public, self.validation.take(places)
        train_model(public, held_out, spec, output_dir=run)
        (run / "done").touch()

    @cached_property
    def broad_sentences(self) -> SentenceList:
        """The packaged model's sentences, which come from public text about many topics."""
        model, _ = load_model()
        if model.sentences is None:
            raise ModelError("the packaged model must list sentences: install adept again")
        return model.sentences

    @cached_property
    def words(self) -> WordVectors:
        """Frequent words of the public text, with vectors computed from this text."""
        return learn_word_vectors(self.public.texts, size=1000, dim=64)


def model_kind(cell: Cell) -> ModelKind:
    """Return the kind of a row's model; raise ValueError if the row has no model."""
    if cell.model is None:
        raise ValueError(f"the cell must have a model, got {cell.mechanism} without one")
    return cell.model
