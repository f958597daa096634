"""DP-SGD on a decoder, as a baseline: what a public decoder writes for each label, once private texts have taught it what they are.

    pip install -c constraints.txt ".[dp-sgd]"
    python benchmarks/dp_sgd.py corpus.jsonl validation.jsonl [epsilon]    # every setting below, on validation text

An LSTM decoder learns from the public texts, unlabelled, to write a text from its features (those of the synthesizer's cells, their
first principal components). Then every label gets a vector in the place of features, and the private pairs of label and text
teach these vectors by DP-SGD (Abadi et al. 2016), with or without the decoder's own weights: each example's gradient is clipped to
l2 norm C, the sum over a Poisson sample gets N(0, (sigma C)^2), and is divided by a public number. What is written is sampled by
label; how often each label is, is a histogram with Laplace noise, LABELS_SHARE of epsilon.

(epsilon, delta)-DP for adding or removing a record: sampling rate, steps and denominator are functions of the number of *public*
texts; sigma is calibrated with the privacy loss distributions of dp-accounting. Gradients, clipping and noise are those of
Opacus, in floating point and from seeded generators, so that `exact` is false and this script guarantees nothing.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from adept.data.corpus import Corpus, hold_out, read_corpus
from adept.evaluation.classifiers import evaluate
from adept.mechanisms import Votes
from adept.models.lightning import length_batches
from adept.models.lstm_autoencoder import pad
from adept.models.tokenizer import END, PAD, START, UNKNOWN, Tokenizer
from adept.rewriting.loading import load_model
from adept.synthesis.synthesizer import Synthesizer

DELTA, LABELS_SHARE = 1e-6, 0.1
DIM, WORDS, HIDDEN, LENGTH = 64, 96, 128, 30  # of features, of words, of the decoder; words of a text
EPOCHS, WRITTEN, AT_ONCE = 8, 10_000, 64
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """Settings that are chosen on validation text.

    Attributes:
        weights: does the decoder learn too, or the labels' vectors alone.
        epochs: passes over the data, in expectation.
        rate: the share of the records in a step, in expectation.
        step, clip: the optimiser's step size, and C.
        temperature: of what is written.
    """

    weights: bool = False
    epochs: float = 5.0
    rate: float = 0.1
    step: float = 0.1
    clip: float = 0.5
    temperature: float = 0.8

    @property
    def steps(self) -> int:
        return round(self.epochs / self.rate)


SETTINGS = [
    Setting(),
    Setting(step=0.03),
    Setting(step=0.3),
    Setting(clip=0.1),
    Setting(epochs=10.0),
    Setting(clip=0.02),
    Setting(rate=0.2),
    Setting(weights=True, step=0.01, clip=1.0, epochs=2.0),
]
CHOSEN = SETTINGS[0]


class Decoder(nn.Module):
    """Writes a text from a condition (B, DIM): an LSTM that reads it beside every word.

    Args:
        words: how many there are.
        lstm: nn.LSTM, or Opacus's, which has the same weights, a gradient for each example, and takes many times as long.
    """

    def __init__(self, words: int, lstm: type[nn.Module] = nn.LSTM) -> None:
        super().__init__()
        self.words = nn.Embedding(words, WORDS, padding_idx=PAD)
        self.lstm = lstm(WORDS + DIM, HIDDEN, batch_first=True)
        self.out = nn.Linear(HIDDEN, words)

    def forward(self, tokens: Tensor, conditions: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        beside = conditions[:, None].expand(-1, tokens.shape[1], -1)
        states, state = self.lstm(torch.cat([self.words(tokens), beside], dim=-1), state)
        return self.out(states), state


class Labelled(nn.Module):
    """A decoder whose condition is the vector of a label, at first the zero of all."""

    def __init__(self, decoder: Decoder, labels: int) -> None:
        super().__init__()
        self.vectors, self.decoder = nn.Embedding(labels, DIM), decoder
        nn.init.zeros_(self.vectors.weight)

    def forward(self, tokens: Tensor, labels: Tensor) -> Tensor:
        return losses(self.decoder(shifted(tokens), self.vectors(labels))[0], tokens)


def shifted(tokens: Tensor) -> Tensor:
    """Return the token that is read before each token."""
    return torch.cat([torch.full_like(tokens[:, :1], START), tokens[:, :-1]], dim=1)


def losses(logits: Tensor, tokens: Tensor) -> Tensor:
    """The negative log likelihood (B,) of each text, by its words."""
    each = nn.functional.cross_entropy(logits.transpose(1, 2), tokens, ignore_index=PAD, reduction="none")
    return each.sum(dim=1) / (tokens != PAD).sum(dim=1)


class Public:
    """Words, features and a decoder that are learned from public texts alone."""

    def __init__(self, made: Synthesizer, seed: int) -> None:
        torch.manual_seed(seed)
        self.tokenizer = Tokenizer.train(made.cells.texts)
        centred = made.cells.features - made.cells.features.mean(axis=0)
        parts = np.linalg.svd(centred, full_matrices=False)[2][:DIM]
        found = centred @ parts.T
        self.features = torch.tensor(found / found.std(), dtype=torch.float32)
        self.rows = self.encode(made.cells.texts)
        self.decoder = Decoder(len(self.tokenizer))
        self._learn()

    def encode(self, texts: list[str]) -> list[list[int]]:
        return self.tokenizer.encode(texts, max_length=LENGTH)

    def _learn(self) -> None:
        """One text in ten is without features, so that the decoder knows what to write where nothing is known."""
        optimizer = torch.optim.Adam(self.decoder.parameters(), lr=3e-3)
        for epoch in range(EPOCHS):
            for places in length_batches([len(row) for row in self.rows], batch_size=AT_ONCE, seed=epoch):
                batch, tokens = torch.tensor(places), pad([self.rows[place] for place in places])
                known = (torch.rand(len(batch), 1) > 0.1).float()
                loss = losses(self.decoder(shifted(tokens), self.features[batch] * known)[0], tokens).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()


def adapted(public: Public, private: Corpus, labels: list[str], setting: Setting, *, epsilon: float) -> Labelled:
    """Teach a copy of the public decoder which label says what, by DP-SGD."""
    from opacus.layers import DPLSTM

    decoder = Decoder(len(public.tokenizer), DPLSTM if setting.weights else nn.LSTM)
    for name, part in decoder.named_children():  # Opacus's LSTM reads nn.LSTM's weights where it is asked itself
        part.load_state_dict(public.decoder.get_submodule(name).state_dict())
    for name, weights in decoder.named_parameters():
        weights.requires_grad = setting.weights and name.startswith("lstm")  # words stay as they are: most are rare
    model = Labelled(decoder, len(labels))
    rows, owns = public.encode(private.texts), torch.tensor([labels.index(label) for label in private.labels or []])
    learned = [weights for weights in model.parameters() if weights.requires_grad]
    sampled, optimizer = made_private(
        model,
        torch.optim.Adam(learned, lr=setting.step),
        noise=noise(epsilon, setting.rate, setting.steps),
        clip=setting.clip,
        denominator=round(setting.rate * len(public.rows)),
    )
    for _ in range(setting.steps):
        drawn = torch.nonzero(torch.rand(len(rows)) < setting.rate).flatten().tolist()  # as good as never empty
        drawn.sort(key=lambda number: len(rows[number]))
        parts = [drawn[start : start + AT_ONCE] for start in range(0, len(drawn), AT_ONCE)]
        private_step(sampled, optimizer, [(pad([rows[number] for number in part]), owns[part]) for part in parts])
    return model


def made_private(
    model: nn.Module, optimizer: torch.optim.Optimizer, *, noise: float, clip: float, denominator: int
) -> tuple[Any, Any]:
    """Return a model with a gradient for each example, and an optimiser that clips these and adds noise to their sum."""
    from opacus.grad_sample import GradSampleModule
    from opacus.optimizers import DPOptimizer

    options = {"noise_multiplier": noise, "max_grad_norm": clip, "expected_batch_size": denominator}
    return GradSampleModule(model, loss_reduction="sum"), DPOptimizer(optimizer, **options)


def private_step(sampled: Any, optimizer: Any, parts: list[tuple[Tensor, Tensor]]) -> None:
    """Take one step for one Poisson sample, part by part: gradients are clipped one by one, noise is added once."""
    for place, part in enumerate(parts, start=1):
        sampled(*part).sum().backward()
        optimizer.signal_skip_step(do_skip=place < len(parts))
        optimizer.step()
        optimizer.zero_grad()


@cache
def noise(epsilon: float, rate: float, steps: int) -> float:
    """Return the noise multiplier at which so many steps are (epsilon, DELTA)-DP."""
    from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent, SelfComposedDpEvent, calibrate_dp_mechanism
    from dp_accounting.pld import PLDAccountant

    def event(sigma: float) -> SelfComposedDpEvent:
        return SelfComposedDpEvent(PoissonSampledDpEvent(rate, GaussianDpEvent(sigma)), steps)

    return float(calibrate_dp_mechanism(PLDAccountant, event, epsilon, DELTA, tol=1e-3))


def shares(private: Corpus, labels: list[str], *, epsilon: float) -> Floats:
    """The labels' shares, from counts with Laplace noise."""
    counts = np.array([(private.labels or []).count(label) for label in labels], dtype=np.float64)
    noisy = np.maximum(counts + np.random.default_rng().laplace(0.0, 1 / epsilon, len(labels)), 0.0)
    return np.asarray(noisy / noisy.sum() if noisy.sum() else np.full(len(labels), 1 / len(labels)))


@torch.inference_mode()
def written(model: Labelled, labels: Tensor, *, temperature: float) -> Iterator[list[int]]:
    """Sample a text of each label."""
    for part in labels.split(1000):
        conditions, state = model.vectors(part), None
        token = torch.full((len(part), 1), START)
        tokens, ended = [], torch.zeros(len(part), 1, dtype=torch.bool)
        for _ in range(LENGTH):
            logits, state = model.decoder(token, conditions, state)
            logits = logits[:, 0] / temperature
            logits[:, [PAD, START, UNKNOWN]] = -torch.inf
            token = torch.multinomial(logits.softmax(dim=-1), 1)
            tokens.append(token)
            ended |= token == END
            if ended.all():
                break
        yield from torch.cat(tokens, dim=1).tolist()


def synthetic(public: Public, private: Corpus, labels: list[str], setting: Setting, *, epsilon: float) -> Corpus:
    """Return texts with labels: (epsilon, DELTA)-DP for adding or removing a private record."""
    model = adapted(public, private, labels, setting, epsilon=(1 - LABELS_SHARE) * epsilon)
    chances = torch.tensor(shares(private, labels, epsilon=LABELS_SHARE * epsilon))
    drawn = torch.multinomial(chances, WRITTEN, replacement=True)
    texts = public.tokenizer.decode(list(written(model, drawn, temperature=setting.temperature)))
    return Corpus(texts, [labels[place] for place in drawn.tolist()])


def main() -> None:
    train, validation = read_corpus(sys.argv[1]), read_corpus(sys.argv[2])
    epsilon, labels = float(sys.argv[3]) if len(sys.argv) > 3 else 1.0, sorted(set(train.labels or []))
    known, private = hold_out(train, share=0.5, seed=0)
    made = Synthesizer(*load_model(), votes=Votes(epsilon=epsilon), label_set=labels, texts=known.texts)
    public = Public(made, 0)
    for setting in SETTINGS:
        found = evaluate(synthetic(public, private, labels, setting, epsilon=epsilon), validation)
        said = {"setting": repr(setting), "accuracy": found.accuracy.value, "macro_f1": found.macro_f1.value}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
