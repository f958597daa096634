"""What the rows of one seed share: its halves of the data, its released labels, its models and their rewriters."""

import math
from dataclasses import replace
from pathlib import Path

from adept.comparison.config import JOINT, JOINT_RESPONSE, PAPER, REFERENCES
from adept.comparison.plan import Cell, Family
from adept.comparison.results import Labels
from adept.comparison.store import Store
from adept.data.corpus import Corpus, hold_out
from adept.mechanisms import BY_NAME, Codebook, JointResponse, L1Laplace, LocalRandomizer, RandomizedResponse
from adept.mechanisms.choice import MechanismChoice
from adept.models.autoencoder import Autoencoder
from adept.models.config import MODEL, TrainingData, TrainSpec
from adept.models.tokenizer import Tokenizer
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import Rewriter

LABELS = "labels"  # in the place of a mechanism: whose release the labels are


class Trial:
    """One seed of a comparison.

    Attributes:
        public, private, validation, test: its corpora; ``paper`` trains the rewriter on the very split that it rewrites.
        known: the public label set.
        store: what was kept.
    """

    def __init__(self, store: Store, splits: dict[str, Corpus], seed: int) -> None:
        self.store, self.config, self.seed = store, store.config, seed
        self.validation, self.test, train = splits["validation"], splits["test"], splits["train"]
        if self.config.protocol == PAPER:
            self.public = self.private = train
        else:
            self.public, self.private = hold_out(train, share=0.5, seed=seed)
        self.known = sorted(set(train.labels or []))
        self._labels = {epsilon: self._released_labels(epsilon) for epsilon in (None, *self.config.epsilons)}
        self._models: dict[Family, tuple[Autoencoder, Tokenizer]] = {}

    def labels(self, cell: Cell) -> list[str]:
        """Return those that stand beside a cell's text: as they are, or randomised; others come with their releases."""
        return self._labels[cell.budget]

    def _released_labels(self, epsilon: float | None) -> list[str]:
        """The labels at what they get of a claimed budget, each randomised once, whatever reads it."""
        part, own = self.config.label_part(epsilon), self.private.labels or []
        if part is None:
            return own
        cell = Cell(LABELS, epsilon if self.config.label_share else None, None, "")
        kept = self.store.find(Labels, self.seed, cell)
        if kept is None:
            released = RandomizedResponse(epsilon=part, labels=tuple(self.known)).privatize(own)
            kept = self.store.keep(Labels(released), self.seed, cell)
        return kept.values

    def rewriter(self, cell: Cell) -> Rewriter:
        """Return the rewriter of a cell with a model; references decode as the mechanisms of their model do.

        Raises:
            ValueError: the cell has no model.
        """
        if cell.family is None:
            raise ValueError(f"the cell must have a model, got {cell.mechanism} without one")
        if cell.family not in self._models:
            self._models[cell.family] = load_model(self.directory(cell.family))
        decoding = self.config.decoding
        if decoding.strategy == "auto" and cell.family.content != "none" and self.config.model_dir is None:
            decoding = replace(decoding, strategy="sample")
        mechanism = self._mechanism(cell)
        return Rewriter.for_measurement(*self._models[cell.family], mechanism=mechanism, decoding=decoding)

    def _mechanism(self, cell: Cell) -> LocalRandomizer | JointResponse:
        """A mechanism at what is left of a claimed budget for the text, or for both as one symbol; references have none."""
        config, name = self.config, cell.mechanism if cell.mechanism in BY_NAME else "identity"
        epsilon = math.inf if cell.budget is None else config.text_epsilon(cell.budget)
        text = MechanismChoice(BY_NAME[name]).build(epsilon=epsilon, clip_norm=config.model.clip_norm)
        joint = config.labels == JOINT_RESPONSE and name not in REFERENCES
        return JointResponse.of(text, self.known) if joint else text

    def directory(self, family: Family) -> Path:
        """Where a family's model is: the one that was given, or one that is trained here unless an earlier run did.

        A model that was given serves every family that its clip allows, and the public half is left unread.
        """
        if self.config.model_dir is not None:
            return Path(self.config.model_dir)
        run = self.store.model(self.seed, family)
        if not (run / "done").exists():
            self._train(family, run)
        return run / MODEL

    def _train(self, family: Family, run: Path) -> None:
        """Train a family's model, without the public labels unless it is to write labels."""
        from adept.models.training import train_model  # a trainer takes seconds to import

        config, joint = self.config, self.config.labels == JOINT
        noise = L1Laplace if family.clip == "l1" else Codebook
        spec = TrainSpec(
            clip=family.clip,
            training_data=TrainingData(config.data.name, config.data.public, len(self.public)),
            model=config.model,
            tokenizer=config.tokenizer,
            training=replace(config.training, content=replace(config.training.content, kind=family.content)),
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
