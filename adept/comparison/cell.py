"""From a cell to its row: records are released, texts are written from the release, and a classifier learns from these.

A source says where a cell's texts come from. It resolves mechanism, model and rewriter when it is opened. ``lstm`` is the model's
decoder, ``codec`` writes descriptions in its place; ``nearest`` gives the public utterances with the nearest latents
(``adept.models.codebooks``). The decoder ``latents`` writes nothing: a classifier is trained on the released latents
themselves, which shows what decoding loses. ``words`` is text that was released as it is, by what a user might take instead of a
rewriter of ours. Every decoder sees a release, released labels, public text and numbers, and nothing else.
"""

import math
import random
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from adept.comparison.config import COPY, JOINT, JOINT_RESPONSE, SYNTHESIZER
from adept.comparison.plan import (
    ALTERNATIVES,
    LATENTS,
    LOOKUP,
    NEAREST,
    NONE,
    PROMPTED,
    PUBLIC_TEXTS,
    REDACTED,
    VOTE,
    Cell,
)
from adept.comparison.results import ReleasedRecords, ResultRow, WrittenTexts
from adept.comparison.trial import Trial
from adept.data.corpus import Corpus, hold_out
from adept.evaluation import metrics
from adept.evaluation.classifiers import Evaluation, evaluate, evaluate_latents
from adept.evaluation.linear_latents import LINEAR_DIM
from adept.mechanisms import Codebook, Votes
from adept.models.decoding import PublicTexts
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
from adept.synthesis.synthesizer import Release, Synthesizer

RANDOM_TEXTS = 2000  # texts that are written of random latents; records draw theirs from these

TextMechanism = TokenResponse | TokenExponential | PromptSampling | Redaction


def row_of(trial: Trial, cell: Cell) -> ResultRow | None:
    """Return a cell's row, kept or made; None if it asks for more labelled public text than there is."""
    row = trial.store.find(ResultRow, trial.seed, cell)
    if row is None:
        source = open_source(trial, cell)
        if (learned := source.learned_from()) is None:
            return None
        row = trial.store.keep(_row(source, _evaluate(trial, cell, learned)), trial.seed, cell)
    if cell.measured and row.overlap is None:
        written = trial.store.find(WrittenTexts, trial.seed, cell) or open_source(trial, cell).written()
        row = trial.store.keep(replace(row, **_quality(trial, written.texts[:: cell.samples])), trial.seed, cell)
    return row


class Latents(NamedTuple):
    """Released latents (N, n) with their labels, and the latents (M, n) of the test records."""

    released: Tensor
    labels: list[str]
    test: Tensor


class Source:
    """Where the texts of a cell come from: here the private records, or public ones with their labels.

    Attributes:
        spent: columns of the row: the true budget of text and label together, the dimensions and the model.
    """

    spent: dict[str, Any]

    def __init__(self, trial: Trial, cell: Cell) -> None:
        self.trial, self.cell = trial, cell
        self.spent = {"epsilon": math.inf if cell.mechanism == NONE else 0.0}

    def learned_from(self) -> Corpus | Latents | None:
        """Return what a classifier learns from; None if the cell asks for more labelled public text than there is."""
        public, records = self.trial.public, self.cell.mechanism.removeprefix("public_")
        if self.cell.mechanism == NONE:
            return self.trial.private
        if not records.isdecimal():
            return public
        share = int(records) / len(public)
        return hold_out(public, share=share, seed=self.trial.seed)[1] if share < 1 else None

    def write(self) -> list[Pair]:
        """Write texts, each with its label where that is another than the record's released one."""
        raise NotImplementedError(f"{self.cell.mechanism} is text as it is")

    def written(self) -> WrittenTexts:
        """Return texts with their labels, and the records that were written a second, released where that was to be done too."""
        store, seed = self.trial.store, self.trial.seed
        if (kept := store.find(WrittenTexts, seed, self.cell)) is not None:
            return kept
        begin = time.monotonic()
        pairs = self.write()
        speed = len(self.trial.private) / (time.monotonic() - begin)
        return store.keep(WrittenTexts([text for text, _ in pairs], self._labels(pairs), speed), seed, self.cell)

    def _labels(self, pairs: list[Pair]) -> list[str]:
        if self.cell.labels == VOTE:
            return [str(label) for _, label in pairs]
        beside = self.repeated(self.trial.labels(self.cell))
        return [given if own is None else own for (_, own), given in zip(pairs, beside, strict=True)]

    def repeated(self, labels: Sequence[str]) -> list[str]:
        """Return labels of records as those of their texts."""
        return [label for label in labels for _ in range(self.cell.samples)]


class Writer(Source):
    """Where texts are written that are kept."""

    def learned_from(self) -> Corpus | Latents:
        """Return the texts with their labels."""
        written = self.written()
        self.spent["records_per_second"] = written.records_per_second
        return Corpus(written.texts, written.labels)


class Alternative(Writer):
    """Text that is released at once, by what might be used instead."""

    def __init__(self, trial: Trial, cell: Cell) -> None:
        super().__init__(trial, cell)
        self.mechanism = self._build()
        promise = self.mechanism.guarantee()
        self.spent = {
            "epsilon": promise.epsilon + (cell.label_epsilon or 0.0),
            "holds": promise.holds and trial.unseen,
        }

    def _build(self) -> TextMechanism:
        """Build the mechanism, whose budget is shared by all positions of a record."""
        texts = self.trial.public.texts
        if self.cell.mechanism == REDACTED:
            return Redaction.from_public(texts)
        if self.cell.mechanism == PROMPTED:
            return self._build_prompted(texts)
        kind = TokenResponse if self.cell.mechanism == TokenResponse.name else TokenExponential
        length = common_length([len(text.split()) for text in texts])
        return kind(epsilon=self.cell.text_epsilon, public=self.trial.words, length=length)

    def _build_prompted(self, texts: list[str]) -> PromptSampling:
        rewriter = self.trial.identity(self.cell)
        model, tokenizer = rewriter.model, rewriter.tokenizer
        rows = tokenizer.encode(texts, max_length=model.config.max_length)
        return PromptSampling(
            epsilon=self.cell.text_epsilon,
            model=model,
            tokenizer=tokenizer,
            length=min(common_length([len(row) for row in rows]), model.config.max_length),
            logits=public_logits(model, tokenizer, texts),
        )

    def write(self) -> list[Pair]:
        """Release the texts."""
        return [(text, None) for text in self.mechanism.privatize(self.trial.private.texts)]


class Released(Writer):
    """Texts that are written from released rows: here the public ones that are nearest to released linear latents (look-up)."""

    def __init__(self, trial: Trial, cell: Cell) -> None:
        super().__init__(trial, cell)
        self.spent = {"epsilon": cell.budget, "dim": LINEAR_DIM, "holds": trial.unseen}

    def released(self) -> Tensor:
        """Return the released rows (N, n) of the private records: each is released once, whatever reads the release."""
        store, seed = self.trial.store, self.trial.seed
        kept = store.find(ReleasedRecords, seed, self.cell)
        return (kept or store.keep(ReleasedRecords(self.release()), seed, self.cell)).rows

    def release(self) -> Tensor:
        """Release a row (N, n) for each private record."""
        return Codebook(epsilon=self.cell.text_epsilon).privatize(self.trial.linear_latents[1])

    def write(self) -> list[Pair]:
        """Quote public texts."""
        return self.nearest(self.trial.linear_latents[0], self.released(), self.trial.labels(self.cell), most=None)

    def nearest(self, latents: Tensor, rows: Tensor, labels: list[str], *, most: int | None) -> list[Pair]:
        """Return the public texts whose latents are nearest to each row, at most so many different ones, with the labels."""
        found = PublicTexts(self.trial.public.texts, latents).write(rows, samples=self.cell.samples, most=most)
        return list(zip(found, self.repeated(labels), strict=True))


class Rewritten(Released):
    """What a rewriter releases, and what its decoder, its codec, public texts or a classifier make of it."""

    def __init__(self, trial: Trial, cell: Cell) -> None:
        super().__init__(trial, cell)
        self.rewriter = trial.rewriter(cell)
        promise = self.rewriter.guarantee
        self.spent = {
            "epsilon": promise.epsilon + (cell.label_epsilon or 0.0),
            "delta": promise.delta,
            "holds": promise.holds and trial.unseen,
            "dim": self.rewriter.model.config.latent_dim,
        }

    def release(self) -> Tensor:
        """Release the private records, with their labels where these are part of it."""
        labels: list[str | None] | None = None
        if self.cell.labels in (JOINT, JOINT_RESPONSE):
            known = self.rewriter.coding.labels
            labels = [label if label in known else None for label in self.trial.labels(self.cell)]
        return self.rewriter.release(self.trial.private.texts, labels)

    def learned_from(self) -> Corpus | Latents:
        """Return the texts, or the released latents themselves."""
        if self.cell.decoder != LATENTS:
            return super().learned_from()
        return Latents(*self._parted(), self.trial.latents(self.cell, self.trial.test))

    def _parted(self) -> tuple[Tensor, list[str]]:
        """What each record's text became, and the label that stands beside it."""
        rows, coding = self.released(), self.rewriter.coding
        return coding.split_labels(rows) if isinstance(coding, PairCoding) else (rows, self.trial.labels(self.cell))

    def write(self) -> list[Pair]:
        """Write by decoder or codec, which see the release of one record at a time, or quote public texts.

        Texts of random latents know of no record: records draw theirs from a few of them, so that they cost little.
        """
        rewriter, samples = self.rewriter, self.cell.samples
        if self.cell.decoder == NEAREST:  # a codeword has as many texts as the model's decoder would write for it
            latents = self.trial.latents(self.cell, self.trial.public)
            return self.nearest(latents, *self._parted(), most=texts_of(rewriter.mechanism))
        rows = self.released()
        if self.cell.mechanism == "random":
            pool = rewriter.write(rows[: -(-RANDOM_TEXTS // samples)], samples=samples)
            return random.choices(pool, k=len(rows) * samples)
        batches = torch.split(rows, rewriter.batch_size)
        return [pair for batch in batches for pair in rewriter.write(batch, samples=samples)]


class Synthesized(Writer):
    """Synthetic records from the private half, at a budget, without noise (``identity``), or from an empty file (``random``).

    References have the codewords of the largest budget.
    """

    def __init__(self, trial: Trial, cell: Cell) -> None:
        super().__init__(trial, cell)
        texts = trial.public.texts if trial.config.model_dir is None else None
        # It is measured, and not handed out, so that a model of text that nobody declared public will do.
        self.synthesizer = Synthesizer(
            *trial.model(cell),
            votes=Votes(epsilon=cell.budget or max(trial.config.epsilons)),
            label_set=trial.label_set,
            texts=texts,
            accept_private_model=True,
        )
        self.spent = {
            "epsilon": 0.0 if cell.mechanism == "random" else math.inf if cell.budget is None else cell.budget
        }

    def write(self) -> list[Pair]:
        """Write synthetic records, as many as the counts say."""
        private, synthesizer = self.trial.private, self.synthesizer
        if self.cell.mechanism == "random":
            return synthesizer.synthesize([], [], rows=len(private))
        if self.cell.mechanism == SYNTHESIZER:
            return synthesizer.synthesize(private.texts, private.labels)
        tally = synthesizer.tally()
        tally.add(synthesizer.vote(private.texts, private.labels))
        return list(synthesizer.write(Release(tally.counts.reshape(synthesizer.cells.size, -1))))


def open_source(trial: Trial, cell: Cell) -> Source:
    """Return the source of a cell's texts; a model that it needs is trained, unless an earlier run did."""
    if cell.decoder is None:
        return Source(trial, cell)
    if cell.decoder == PUBLIC_TEXTS:
        return Synthesized(trial, cell)
    if cell.mechanism in ALTERNATIVES:
        return Alternative(trial, cell)
    return (Released if cell.mechanism == LOOKUP else Rewritten)(trial, cell)


def _evaluate(trial: Trial, cell: Cell, learned: Corpus | Latents) -> Evaluation:
    """Test on clean text what a classifier learns."""
    noisy = cell.labels not in (COPY, VOTE)
    if not isinstance(learned, Corpus):
        return evaluate_latents(*learned, trial.test.labels or [], noisy_labels=noisy)
    return evaluate(
        learned,
        trial.test,
        classifier=cell.classifier,
        seed=trial.seed,
        samples=cell.samples,
        noisy_labels=noisy,
    )


def _quality(trial: Trial, rewrites: list[str]) -> dict[str, Any]:
    """Measure the first rewrite of each record."""
    other = [*trial.validation.texts, *trial.test.texts]
    return metrics.measure(trial.private, rewrites, trained_on=trial.public.texts, other=other)


def _row(source: Source, evaluation: Evaluation) -> ResultRow:
    trial, cell = source.trial, source.cell
    defaults = {"delta": 0.0, "dim": trial.config.model.latent_dim, "records_per_second": None}
    return ResultRow(
        data=trial.config.data.name,
        protocol=trial.config.protocol,
        mechanism=cell.mechanism,
        decoder=cell.decoder,
        claimed_epsilon=cell.budget,
        label_epsilon=cell.label_epsilon,
        seed=trial.seed,
        classifier=cell.classifier,
        labels=cell.labels,
        samples=cell.samples,
        clip=cell.model.clip if cell.model else None,
        content=cell.model.content if cell.model else None,
        accuracy=evaluation.accuracy.value,
        macro_f1=evaluation.macro_f1.value,
        majority_accuracy=evaluation.majority_accuracy,
        train_records=evaluation.train_records,
        test_records=evaluation.test_records,
        **defaults | source.spent,
    )
