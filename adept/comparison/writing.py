"""What is released of the private records for a cell, and what is written from the release: what a classifier learns from.

``lstm`` is the model's decoder, ``codec`` writes descriptions in its place; ``nearest`` gives the public utterances with the
nearest latents (``adept.models.codebooks``). The decoder ``latents`` writes nothing: a classifier is trained on the
released latents themselves, which shows what decoding loses. ``words`` is text that was released as it is, by what a user might
take instead of a rewriter of ours; all that these need to know beside the record is read from public text.

Every decoder sees a release, released labels, public numbers and nothing else. A new one is a case in :meth:`Writer._pairs`;
``adept.comparison.plan`` says when it writes.
"""

import math
import random
import time
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor

from adept.comparison.central import synthesized
from adept.comparison.config import COPY, JOINT, JOINT_RESPONSE, PAPER, RANDOMIZED_RESPONSE, REFERENCES
from adept.comparison.plan import IDENTITY, Cell, Family
from adept.comparison.results import (
    ALTERNATIVES,
    LATENTS,
    LOOKUP,
    NEAREST,
    NONE,
    PROMPTED,
    PUBLIC_TEXTS,
    REDACTED,
    VOTE,
    Released,
    Written,
)
from adept.comparison.trial import Trial
from adept.data.corpus import Corpus, hold_out
from adept.evaluation.nearest import LINEAR_DIM, linear_latents
from adept.mechanisms import Codebook
from adept.models.decoding import PublicTexts
from adept.models.word_vectors import Words, word_vectors
from adept.rewriting.alternatives import (
    PromptSampling,
    Redaction,
    TokenExponential,
    TokenResponse,
    common_length,
    public_logits,
)
from adept.rewriting.coding import Pair, PairCoding
from adept.rewriting.latents import texts_of

RANDOM_TEXTS = 2000
WORDS_KNOWN, WORD_DIM = 1000, 64  # public words of the mechanisms that go word by word

TextMechanism = TokenResponse | TokenExponential | PromptSampling | Redaction


class Latents(NamedTuple):
    """Released latents (N, n) with their labels, and the latents (M, n) of the test records."""

    released: Tensor
    labels: list[str]
    test: Tensor


class Material(NamedTuple):
    """What a classifier learns from.

    Attributes:
        data: texts with labels, or latents.
        labels: where the labels come from; others than copied ones may be wrong.
        columns: what the row says of the release: its budget, its model, its speed.
    """

    data: Corpus | Latents
    labels: str
    columns: dict[str, Any]


class Writer:
    """Releases and writes for the cells of one seed, and keeps at hand what several of them need."""

    def __init__(self, trial: Trial) -> None:
        self.trial, self.config = trial, trial.config
        self._latents: dict[tuple[str, Family], Tensor] = {}

    def material(self, cell: Cell) -> Material | None:
        """Return what a cell's classifier learns from; None where it asks for more labelled public text than there is."""
        if cell.decoder is None:
            return self._as_it_is(cell)
        if cell.decoder == PUBLIC_TEXTS:
            written, columns = synthesized(self.trial, cell)
            return Material(Corpus(written.texts, written.labels), VOTE, columns)
        labels = self._treatment(cell)
        if cell.decoder == LATENTS:
            released = self._parted(cell, self._released(cell))
            test = self._encoded(cell, "test", self.trial.test.texts)
            return Material(Latents(*released, test), labels, self._spent(cell))
        written = self.written(cell)
        columns = {"records_per_second": written.records_per_second, **self._spent(cell)}
        return Material(Corpus(written.texts, written.labels), labels, columns)

    def _treatment(self, cell: Cell) -> str:
        """What became of a cell's labels: references have no pair to release, and no budget to share."""
        labels = self.config.labels
        alone = labels == RANDOMIZED_RESPONSE and self.config.label_part(cell.budget) is None
        return COPY if alone or (cell.mechanism in REFERENCES and labels == JOINT_RESPONSE) else labels

    def _as_it_is(self, cell: Cell) -> Material | None:
        """The private records, or public ones with their labels."""
        public, columns = self.trial.public, {"epsilon": 0.0, "label_epsilon": None}
        if cell.mechanism == NONE:
            return Material(self.trial.private, COPY, {**columns, "epsilon": math.inf})
        if (records := cell.mechanism.removeprefix("public_")).isdecimal():
            if int(records) >= len(public):
                return None
            public = hold_out(public, share=int(records) / len(public), seed=self.trial.seed)[1]
        return Material(public, COPY, columns)

    def _spent(self, cell: Cell) -> dict[str, Any]:
        """A row's true budget, of text and label together, and its model."""
        unseen = self.config.protocol != PAPER  # a model that was fitted to the records is no function of public text
        if cell.mechanism == LOOKUP:
            return {"epsilon": cell.budget, "dim": LINEAR_DIM, "holds": unseen}
        labels = self.config.label_part(cell.budget) or 0.0
        model = {"clip": cell.family.clip, "content": cell.family.content} if cell.family else {}
        if cell.mechanism in ALTERNATIVES:
            promise = self.alternative(cell).guarantee()
            return {"epsilon": promise.epsilon + labels, "holds": promise.holds and unseen, **model}
        rewriter = self.trial.rewriter(cell)
        promise = rewriter.guarantee
        dim = rewriter.model.config.latent_dim
        spent = {"epsilon": promise.epsilon + labels, "delta": promise.delta, "holds": promise.holds and unseen}
        return {**spent, "dim": dim, **model}

    def _released(self, cell: Cell) -> Tensor:
        """The released rows (N, n) of the private records: each is released once, whatever reads the release."""
        store, seed = self.trial.store, self.trial.seed
        kept = store.find(Released, seed, cell) or store.keep(Released(self._release(cell)), seed, cell)
        return kept.rows

    def _release(self, cell: Cell) -> Tensor:
        if cell.mechanism == LOOKUP:
            mechanism = Codebook(epsilon=self.config.text_epsilon(cell.budget or 0.0))
            return mechanism.privatize(self._linear[1])
        rewriter, texts = self.trial.rewriter(cell), self.trial.private.texts
        labels: list[str | None] | None = None
        if rewriter.joint or self.config.labels == JOINT:
            labels = [label if label in rewriter.coding.labels else None for label in self.trial.labels(cell)]
        parts = [slice(start, start + rewriter.batch_size) for start in range(0, len(texts), rewriter.batch_size)]
        return torch.cat([rewriter.release(texts[part], labels and labels[part]) for part in parts])

    def _parted(self, cell: Cell, release: Tensor) -> tuple[Tensor, list[str]]:
        """What each record's text became, and the label that stands beside it."""
        coding = self.trial.rewriter(cell).coding if cell.family else None
        return coding.parted(release) if isinstance(coding, PairCoding) else (release, self.trial.labels(cell))

    def written(self, cell: Cell) -> Written:
        """Return texts with their labels, and the records that were written a second, released where that was to be done too."""
        store, seed = self.trial.store, self.trial.seed
        if (kept := store.find(Written, seed, cell)) is not None:
            return kept
        if cell.family:
            self.trial.rewriter(cell)  # whoever is the first to need a model would be timed with its training
        begin = time.monotonic()
        pairs = self._pairs(cell)
        speed = len(self.trial.private) / (time.monotonic() - begin)
        beside = [label for label in self.trial.labels(cell) for _ in range(cell.samples)]
        labels = [given if own is None else own for (_, own), given in zip(pairs, beside, strict=True)]
        return store.keep(Written([text for text, _ in pairs], labels, speed), seed, cell)

    def _pairs(self, cell: Cell) -> list[Pair]:
        """Texts, each with its label where that is another than the record's released one."""
        if cell.mechanism in ALTERNATIVES:
            return [(text, None) for text in self.alternative(cell).privatize(self.trial.private.texts)]
        return (self._nearest if cell.decoder == NEAREST else self._decoded)(cell, self._released(cell))

    def _decoded(self, cell: Cell, release: Tensor) -> list[Pair]:
        """What the model's decoder writes, or its codec, which sees the release of one record at a time.

        Texts of random latents know of no record: records draw theirs from a few of them, so that they cost little.
        """
        rewriter, samples = self.trial.rewriter(cell), cell.samples
        if cell.mechanism == "random":
            pool = rewriter.write(release[: -(-RANDOM_TEXTS // samples)], samples=samples)
            return random.choices(pool, k=len(release) * samples)
        batches = torch.split(release, rewriter.batch_size)
        return [pair for batch in batches for pair in rewriter.write(batch, samples=samples)]

    def _nearest(self, cell: Cell, release: Tensor) -> list[Pair]:
        """The public utterances nearest to the release, by the model's latents or by linear ones.

        A codeword has as many texts as the model's decoder would write for it.
        """
        texts, most = self.trial.public.texts, None
        if cell.mechanism == LOOKUP:
            latents = self._linear[0]
        else:
            latents, most = self._encoded(cell, "public", texts), texts_of(self.trial.rewriter(cell).mechanism)
        rows, labels = self._parted(cell, release)
        beside = [label for label in labels for _ in range(cell.samples)]
        found = PublicTexts(texts, latents).write(rows, samples=cell.samples, most=most)
        return list(zip(found, beside, strict=True))

    def _encoded(self, cell: Cell, name: str, texts: list[str]) -> Tensor:
        """The latents (N, n) of public texts under a cell's model."""
        identity = replace(cell, mechanism=IDENTITY, budget=None)
        key = name, identity.family or Family("", "")
        if key not in self._latents:
            rewriter = self.trial.rewriter(identity)
            parts = range(0, len(texts), rewriter.batch_size)
            self._latents[key] = torch.cat([rewriter.encode(texts[i : i + rewriter.batch_size]) for i in parts])
        return self._latents[key]

    @cached_property
    def _linear(self) -> tuple[Tensor, Tensor]:
        """Latents of the look-up, of public and of private texts: fitted on public text, without a network."""
        encode = linear_latents(self.trial.public, seed=self.trial.seed)
        return torch.from_numpy(encode(self.trial.public.texts)), torch.from_numpy(encode(self.trial.private.texts))

    @cached_property
    def _words(self) -> Words:
        """The public words, and vectors that are computed from public text."""
        return word_vectors(self.trial.public.texts, size=WORDS_KNOWN, dim=WORD_DIM)

    def alternative(self, cell: Cell) -> TextMechanism:
        """Return a cell's mechanism on texts: what is left of its budget for the text, shared by all positions of a record."""
        texts = self.trial.public.texts
        if cell.mechanism == REDACTED:
            return Redaction.from_public(texts)
        epsilon = self.config.text_epsilon(cell.budget or 0.0)
        if cell.mechanism == PROMPTED:
            return self._prompted(cell, epsilon)
        kind = TokenResponse if cell.mechanism == TokenResponse.name else TokenExponential
        length = common_length([len(text.split()) for text in texts])
        return kind(epsilon=epsilon, public=self._words, length=length)

    def _prompted(self, cell: Cell, epsilon: float) -> PromptSampling:
        rewriter = self.trial.rewriter(replace(cell, mechanism=IDENTITY, budget=None))
        model, tokenizer, texts = rewriter.model, rewriter.tokenizer, self.trial.public.texts
        rows = tokenizer.encode(texts, max_length=model.config.max_length)
        return PromptSampling(
            epsilon=epsilon,
            model=model,
            tokenizer=tokenizer,
            length=min(common_length([len(row) for row in rows]), model.config.max_length),
            logits=public_logits(model, tokenizer, texts),
        )
