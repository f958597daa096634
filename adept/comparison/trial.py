"""What the rows of one seed share: its halves of the data, its released labels, its models and their rewriters."""

import math
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from adept.comparison.cells import Cell
from adept.comparison.config import PAPER, CompareConfig
from adept.comparison.families import Family, trained
from adept.comparison.results import JOINT_RESPONSE, REFERENCES
from adept.comparison.store import Store
from adept.data.corpus import Corpus, hold_out
from adept.evaluation.metrics import BigramModel, TrigramModel
from adept.evaluation.nearest import linear_latents
from adept.mechanisms import BY_NAME, Identity, JointResponse, LocalRandomizer, RandomizedResponse
from adept.mechanisms.choice import MechanismChoice
from adept.models.network.autoencoder import Autoencoder
from adept.models.network.public_texts import PublicTexts
from adept.models.tokenizer.tokenizer import Tokenizer
from adept.models.topics.word_vectors import Words, word_vectors
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import Rewriter

if TYPE_CHECKING:
    from adept.evaluation.nearest import Encoder

WORDS_KNOWN, WORD_DIM = 1000, 64  # public words of the mechanisms that go word by word


class Model:
    """One trained model of a seed, and what several rows want from it; nothing is loaded before it is asked for."""

    def __init__(self, directory: Path, *, clip_norm: float, public: Corpus, test: Corpus) -> None:
        self.directory, self.clip_norm, self.public, self.test = directory, clip_norm, public, test

    @cached_property
    def loaded(self) -> tuple[Autoencoder, Tokenizer]:
        """The model and its tokenizer."""
        return load_model(self.directory)

    @cached_property
    def public_texts(self) -> PublicTexts:
        """The public utterances by their latents."""
        return PublicTexts(self.public.texts, self._encode(self.public.texts))

    @cached_property
    def test_latents(self) -> Tensor:
        """The latents (N, n) of the test records."""
        return self._encode(self.test.texts)

    def _encode(self, texts: list[str]) -> Tensor:
        rewriter = Rewriter.for_measurement(*self.loaded, mechanism=Identity(clip_norm=self.clip_norm))
        return torch.cat([rewriter.encode(part) for part in parts(texts, rewriter.batch_size)])


class Trial:
    """One seed of a comparison.

    Attributes:
        public, private, validation, test: its corpora; ``paper`` trains the rewriter on the very split that it rewrites.
        known: the public label set.
        store: what was kept of this seed.
    """

    def __init__(self, config: CompareConfig, splits: dict[str, Corpus], seed: int) -> None:
        self.config, self.seed = config, seed
        self.store = Store(Path(config.output_dir), seed)
        self.validation, self.test = splits["validation"], splits["test"]
        train = splits["train"]
        if config.protocol == PAPER:
            self.public = self.private = train
        else:
            self.public, self.private = hold_out(train, share=0.5, seed=seed)
        self.known = sorted(set(train.labels or []))
        self._models: dict[Family, Model] = {}

    @property
    def label_mechanism(self) -> RandomizedResponse | None:
        """What releases the labels; None where they are copied."""
        budget = self.config.label_epsilon
        return None if budget is None else RandomizedResponse(epsilon=budget, labels=tuple(self.known))

    @cached_property
    def labels(self) -> list[str]:
        """The labels that stand beside the text: as they are, or each randomised once; joint ones come with their releases."""
        mechanism, own = self.label_mechanism, self.private.labels or []
        return own if mechanism is None else self.store.labels(lambda: mechanism.privatize(own))

    @cached_property
    def language(self) -> BigramModel:
        """A model of the private texts."""
        return BigramModel(self.private.texts)

    @cached_property
    def other(self) -> TrigramModel:
        """A model of text that is neither private nor what the rewriter was trained on."""
        return TrigramModel([*self.validation.texts, *self.test.texts])

    @cached_property
    def linear(self) -> "Encoder":
        """The encoder of the look-up, which is fitted on public text and has no network."""
        return linear_latents(self.public, seed=self.seed)

    @cached_property
    def public_words(self) -> Words:
        """The public words, and vectors that are computed from public text."""
        return word_vectors(self.public.texts, size=WORDS_KNOWN, dim=WORD_DIM)

    def model(self, family: Family) -> Model:
        """Return a family's model, trained here unless an earlier run did."""
        if family not in self._models:
            corpora = {"public": self.public, "validation": self.validation}
            directory = trained(family, self.config, **corpora, run=self.store.model(family), seed=self.seed)
            radius = self.config.model.clip_norm
            self._models[family] = Model(directory, clip_norm=radius, public=self.public, test=self.test)
        return self._models[family]

    def mechanism(self, name: str, budget: float | None) -> LocalRandomizer | JointResponse:
        """Return a mechanism at what is left of a claimed budget for the text, or for both as one symbol; references have none."""
        epsilon = math.inf if budget is None else self.config.text_epsilon(budget)
        text = MechanismChoice(BY_NAME[name]).build(epsilon=epsilon, clip_norm=self.config.model.clip_norm)
        joint = self.config.labels == JOINT_RESPONSE and name not in REFERENCES
        return JointResponse.of(text, self.known) if joint else text

    def rewriter(self, cell: Cell) -> Rewriter:
        """Return the rewriter of a cell with a model; references decode as the mechanisms of their model do."""
        family = family_in(cell)
        decoding = self.config.decoding
        if decoding.strategy == "auto" and family.content != "none" and self.config.model_dir is None:
            decoding = replace(decoding, strategy="sample")
        mechanism = self.mechanism(cell.mechanism, cell.budget)
        return Rewriter.for_measurement(*self.model(family).loaded, mechanism=mechanism, decoding=decoding)


def family_in(cell: Cell) -> Family:
    """Return a cell's model, which must have one."""
    if cell.family is None:
        raise ValueError(f"the cell must have a model, got {cell.mechanism} without one")
    return cell.family


def parts(texts: list[str], size: int) -> list[list[str]]:
    """Return texts, or labels, in parts of ``size``."""
    return [texts[start : start + size] for start in range(0, len(texts), size)]
