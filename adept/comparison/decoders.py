"""What is released of the private records, and what reads the release: one function a decoder.

``lstm`` is the model's decoder, ``codec`` writes descriptions in its place; ``nearest`` gives the public utterances with the
nearest latents (``adept.models.network.public_texts``). The decoder ``latents`` writes nothing: a classifier is trained on the
released latents themselves, which shows what decoding loses.

Every decoder sees a release, released labels, public numbers and nothing else. A new one is a function here with an entry in
``DECODERS``; ``adept.comparison.cells`` says when it writes.
"""

import random
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from adept.comparison.alternatives import alternative
from adept.comparison.cells import Cell, samples_of
from adept.comparison.results import ALTERNATIVES, DESCRIBED, LOOKUP, LSTM, NEAREST
from adept.comparison.trial import Trial, family_in, parts
from adept.mechanisms import Codebook
from adept.models.network.public_texts import PublicTexts
from adept.rewriting.pairs import PairCoding
from adept.rewriting.pool import texts_of

RANDOM_TEXTS = 2000

Pairs = Sequence[tuple[str, str | None]]  # text, and its label where that is another than the record's released one


def released(trial: Trial, cell: Cell) -> Tensor:
    """Return the released latents (N, n) of the private records: each is released once, whatever reads the release."""
    return trial.store.released(cell, lambda: _release(trial, cell))


def _release(trial: Trial, cell: Cell) -> Tensor:
    if cell.mechanism == LOOKUP:
        mechanism = Codebook(epsilon=trial.config.text_epsilon(cell.budget or 0.0))
        return mechanism.privatize(torch.from_numpy(trial.linear(trial.private.texts)))
    rewriter = trial.rewriter(cell)
    texts, labels = (parts(rows, rewriter.batch_size) for rows in (trial.private.texts, trial.labels))
    if rewriter.joint:
        return torch.cat([rewriter.release(*pair) for pair in zip(texts, labels, strict=True)])
    return torch.cat([rewriter.release(part) for part in texts])


def read(trial: Trial, cell: Cell, release: Tensor) -> tuple[Tensor, list[str]]:
    """Return what each record's text became, and its released label."""
    coding = trial.rewriter(cell).coding if cell.family else None
    return coding.parted(release) if isinstance(coding, PairCoding) else (release, trial.labels)


def write(trial: Trial, cell: Cell) -> Pairs:
    """Return what a decoder writes from a cell's release, ``samples`` texts a record, or what was released as text."""
    if cell.mechanism in ALTERNATIVES:
        return [(text, None) for text in alternative(trial, cell).privatize(trial.private.texts)]
    return DECODERS[cell.decoder or ""](trial, cell, released(trial, cell))


def lstm(trial: Trial, cell: Cell, release: Tensor) -> Pairs:
    """The model's decoder, or its codec, which sees the release of one record at a time.

    Texts of random latents know of no record: records draw theirs from a few of them, so that they cost little.
    """
    rewriter, samples = trial.rewriter(cell), samples_of(trial.config, cell)
    if cell.mechanism == "random":
        pool = rewriter.write(release[: -(-RANDOM_TEXTS // samples)], samples=samples)
        return random.choices(pool, k=len(release) * samples)
    batches = torch.split(release, rewriter.batch_size)
    return [pair for batch in batches for pair in rewriter.write(batch, samples=samples)]


def nearest(trial: Trial, cell: Cell, release: Tensor) -> Pairs:
    """No decoder: the public utterances nearest to the release, by the model's latents or by linear ones.

    A codeword has as many texts as the model's decoder would write for it.
    """
    most = None
    if cell.mechanism == LOOKUP:
        public = PublicTexts(trial.public.texts, torch.from_numpy(trial.linear(trial.public.texts)))
    else:
        public, most = trial.model(family_in(cell)).public_texts, texts_of(trial.rewriter(cell).mechanism)
    samples, (latents, labels) = trial.config.samples, read(trial, cell, release)
    beside = [label for label in labels for _ in range(samples)]
    return list(zip(public.write(latents, samples=samples, most=most), beside, strict=True))


DECODERS: dict[str, Callable[[Trial, Cell, Tensor], Pairs]] = {
    LSTM: lstm,
    DESCRIBED: lstm,
    NEAREST: nearest,
}
