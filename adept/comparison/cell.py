"""From a cell to its row: records are released, texts are written from the release, and a classifier learns from these.

A source says where a cell's texts come from. It resolves mechanism, model and rewriter when it is opened. ``lstm`` is the
model's decoder, ``codec`` writes descriptions in its place; ``nearest`` quotes public utterances (look-up). ``words`` is
text that was released as it is, by what a user might take instead of a rewriter of ours. Every decoder sees a release,
released labels, public text and numbers, and nothing else.
"""

import math
import random
import time
from dataclasses import replace
from typing import Any

import torch

from adept.comparison.config import COPY, JOINT, JOINT_RESPONSE, SYNTHESIZER
from adept.comparison.plan import (
    ALTERNATIVES,
    LOOKUP,
    NONE,
    PROMPTED,
    PUBLIC_TEXTS,
    REDACTED,
    VOTE,
    Cell,
)
from adept.comparison.results import ResultRow, WrittenTexts
from adept.comparison.trial import Trial
from adept.data.corpus import Corpus
from adept.evaluation import metrics
from adept.evaluation.classifiers import evaluate
from adept.evaluation.linear_latents import LINEAR_DIM, linear_latents
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
from adept.rewriting.coding import Pair
from adept.synthesis.synthesizer import Synthesizer

RANDOM_TEXTS = 2000  # texts that are written of random latents; records draw theirs from these

TextMechanism = TokenResponse | TokenExponential | PromptSampling | Redaction


def row_of(trial: Trial, cell: Cell) -> ResultRow:
    """Return a cell's row, kept or made, with the quality of its text if that is measured."""
    row = trial.store.find(ResultRow, trial.seed, cell)
    if row is None:
        row = trial.store.keep(_make_row(open_source(trial, cell)), trial.seed, cell)
    if cell.measured and row.overlap is None:
        written = trial.store.find(WrittenTexts, trial.seed, cell) or open_source(trial, cell).written()
        row = trial.store.keep(replace(row, **_quality(trial, written.texts[:: cell.samples])), trial.seed, cell)
    return row


class TextSource:
    """The origin of a cell's texts: here the private records, or public ones with their labels.

    Attributes:
        spent: columns of the row: the true budget of text and label together, the dimensions and the model.
    """

    spent: dict[str, Any]

    def __init__(self, trial: Trial, cell: Cell) -> None:
        self.trial, self.cell = trial, cell
        self.spent = {"epsilon": math.inf if cell.mechanism == NONE else 0.0}

    def learned_from(self) -> Corpus:
        """Return what a classifier learns from."""
        return self.trial.private if self.cell.mechanism == NONE else self.trial.public

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
        beside = [label for label in self.trial.labels(self.cell) for _ in range(self.cell.samples)]
        return [given if own is None else own for (_, own), given in zip(pairs, beside, strict=True)]


class TextWriter(TextSource):
    """A source that writes texts, which are kept."""

    def learned_from(self) -> Corpus:
        """Return the texts with their labels."""
        written = self.written()
        self.spent["records_per_second"] = written.records_per_second
        return Corpus(written.texts, written.labels)


class Alternative(TextWriter):
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
        model, tokenizer = self.trial.model(self.cell)
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


class LookUp(TextWriter):
    """The public texts that are nearest to released linear latents, without a model of ours."""

    def __init__(self, trial: Trial, cell: Cell) -> None:
        super().__init__(trial, cell)
        self.spent = {"epsilon": cell.budget, "dim": LINEAR_DIM, "holds": trial.unseen}

    def write(self) -> list[Pair]:
        """Release the latents, and quote public texts."""
        encode = linear_latents(self.trial.public, seed=self.trial.seed)
        public, private = (torch.from_numpy(encode(corpus.texts)) for corpus in (self.trial.public, self.trial.private))
        released = Codebook(epsilon=self.cell.text_epsilon).privatize(private)
        texts = PublicTexts(self.trial.public.texts, public).write(released, samples=self.cell.samples)
        return [(text, None) for text in texts]


class Rewritten(TextWriter):
    """Rewrites of a rewriter: each record is released once."""

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

    def write(self) -> list[Pair]:
        """Release the private records, with their labels where these are part of it, and write from each release.

        Texts of random latents know of no record: records draw theirs from a few of them, so that they cost little.
        """
        texts, samples = self.trial.private.texts, self.cell.samples
        labels: list[str | None] | None = None
        if self.cell.labels in (JOINT, JOINT_RESPONSE):
            known = self.rewriter.coding.labels
            labels = [label if label in known else None for label in self.trial.labels(self.cell)]
        if self.cell.mechanism == "random":
            few = slice(-(-RANDOM_TEXTS // samples))
            pool = self.rewriter.rewrite_pairs(texts[few], labels and labels[few], samples=samples)
            return random.choices(pool, k=len(texts) * samples)
        return self.rewriter.rewrite_pairs(texts, labels, samples=samples)


class Synthesized(TextWriter):
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
        return list(synthesizer.write(tally.counts.reshape(synthesizer.cells.size, -1)))


def open_source(trial: Trial, cell: Cell) -> TextSource:
    """Return the source of a cell's texts; a model that it needs is trained, unless an earlier run did."""
    if cell.decoder is None:
        return TextSource(trial, cell)
    if cell.decoder == PUBLIC_TEXTS:
        return Synthesized(trial, cell)
    if cell.mechanism in ALTERNATIVES:
        return Alternative(trial, cell)
    return (LookUp if cell.mechanism == LOOKUP else Rewritten)(trial, cell)


def _quality(trial: Trial, rewrites: list[str]) -> dict[str, Any]:
    """Measure the first rewrite of each record."""
    other = [*trial.validation.texts, *trial.test.texts]
    return metrics.measure(trial.private, rewrites, trained_on=trial.public.texts, other=other)


def _make_row(source: TextSource) -> ResultRow:
    """Test on clean text what a classifier learns."""
    trial, cell = source.trial, source.cell
    evaluation = evaluate(
        source.learned_from(),
        trial.test,
        classifier=cell.classifier,
        seed=trial.seed,
        samples=cell.samples,
        noisy_labels=cell.labels not in (COPY, VOTE),
    )
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
