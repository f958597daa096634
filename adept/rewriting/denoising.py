r"""Denoising: what all releases say together, put back into the text of each.

At eps = 4 half of all releases are noise, and because noise has the majority label, it drowns every rare one in its codeword.
The noise's law is public, so a reader of many releases can take it out again: that is inference, not access to records.

*Claim*: the result guarantees what the releases did. *Proof*: everything here is a function of released codewords, released labels
and public numbers; differential privacy is closed under post-processing. In the local model each record was randomised before
anything met another one, so one record still moves only its own release, however many others are read beside it. What is released
here is the pair of codeword and label, and the text is written from both: where labels are copied, the text tells them too, and
where they are randomised, the text's budget is that of the pair.

The estimate: a record (c, u) is released as codeword v with probability Q(v|u) and as label c' with probability R(c'|c); where
both are one symbol (``JointResponse``), as the pair (c', v) with probability B / W, or A / W if c' = c and v is heavy for u: the
sum of B / W and of (A - B) / W times two such factors. So a channel is a list of factors (R, Q), one of them or two.
Expectation maximisation (Dempster, Laird and Rubin 1977; for randomised response, Agrawal and Aggarwal 2001) finds how common each
pair (c, u) is from how often each pair (c', v) was released, twice. First in few numbers, which rare labels need: codewords have
weights pi(u), and what a label means is linear in the latent, p(c|u) = softmax(W u)_c, with a ridge on W. Then with a weight for
each pair, under a Dirichlet prior that takes the first estimate to be worth as many clean records as were released: so what is not
linear shows where there is little noise. Each record's pair (c, u) is then drawn from its posterior, given what it released: text
is written from the drawn codeword, and a randomised label becomes the drawn label, which costs no budget either. What the estimate
has wrong would stand in all texts of a label; so where labels are copied, and a reader can see through noise that is the same for
all of them, half of the texts are written from the released codewords.

Of pure noise nothing can be learned: where Q(v|u) does not depend on u, the posterior of u is pi for every label but for chance.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from adept.errors import ConfigurationError
from adept.mechanisms import Description, JointResponse, LearnedCodebook, Mechanism, RandomizedResponse

# Factors R (L, L), c' in column, and Q (k, k), v in column; the law is the sum of their products.
Channel = list[tuple[Tensor, Tensor]]

STEPS, MOVES = (
    50,
    8,
)  # of expectation maximisation, and of the regression within each, which starts where the last one ended
# LENGTH of a codeword in the regression: the ridge means the same whatever the dimension. The likelihood of releases held out is
# largest at ridges of 3 to 10 on ATIS and HWU64 alike, at eps = 2, 4 and 8. (Validation splits, LSTM decoder, not denoised, with
# ridges of 1, 6 and 12: ATIS at eps = 4, two seeds, .825, .798, .819 and .832; HWU64 at eps = 2, one seed, .342, .399, .413, .367.)
RIDGE, LENGTH = 6.0, 4.0
# Share of texts that are written from the released codeword where labels are copied. (Validation splits, LSTM decoder, with shares
# of 1, 0 and .5: HWU64, two seeds, .318, .325 and .351 at eps = 2, .660, .615 and .654 at 4; ATIS, three seeds, macro-F1 .18, .21
# and .22 at 2, .28, .27 and .32 at 4, accuracy even at 2 and .835, .817, .821 at 4; SNIPS, two seeds, within .01.)
RELEASED = 0.5


@dataclass(frozen=True)
class Posterior:
    """What releases say together: the joint weights of labels and codewords, and the channel that they went through.

    Attributes:
        joint: (L, k) weights of label c and codeword u; they sum to one.
        channel: the law of the released pair, in factors.
    """

    joint: Tensor
    channel: Channel

    def draw(
        self, codewords: Tensor, labels: Tensor, *, samples: int, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Draw ``samples`` pairs of codeword and label, int64 (N, samples) each, from the posterior of each record.

        Args:
            codewords: index of each record's released codeword, int64 (N,).
            labels: index of its released label, int64 (N,).
        """
        size = self.joint.shape[1]
        pairs, index, times = torch.unique(labels * size + codewords, return_inverse=True, return_counts=True)
        drawn = torch.empty((len(codewords), samples), dtype=torch.int64)
        for pair, rows in zip(pairs.tolist(), index.argsort(stable=True).split(times.tolist()), strict=True):
            label, codeword = divmod(pair, size)
            likelihood = sum(answer[:, label, None] * forward[:, codeword] for answer, forward in self.channel)
            weights = self.joint * likelihood  # (L, k)
            chosen = weights.flatten().multinomial(len(rows) * samples, replacement=True, generator=generator)
            drawn[rows] = chosen.reshape(len(rows), samples)
        return drawn % size, drawn // size


def drawn_pairs(
    released: Tensor,
    labels: Sequence[str],
    mechanism: LearnedCodebook,
    known: Sequence[str],
    law: RandomizedResponse | JointResponse | None,
    *,
    samples: int,
) -> tuple[Tensor, Tensor]:
    """Fit to all releases, and draw ``samples`` pairs of codeword and label, int64 (N, samples) each, for every record.

    Beside copied labels, a share RELEASED of the codewords are the released ones.
    """
    posterior = fit(released, labels, mechanism=mechanism, known=known, label_mechanism=law)
    place_of = {label: place for place, label in enumerate(known)}
    generator = torch.Generator()
    generator.seed()
    places = torch.tensor([place_of[label] for label in labels])
    drawn, meant = posterior.draw(released, places, samples=samples, generator=generator)
    if law is None:
        stays = torch.rand(drawn.shape, generator=generator) < RELEASED
        drawn = torch.where(stays, released[:, None], drawn)
    return drawn, meant


def denoisable(mechanism: Mechanism | Description) -> LearnedCodebook:
    """Return a mechanism whose releases can be denoised; others raise ConfigurationError."""
    if not isinstance(mechanism, LearnedCodebook):
        raise ConfigurationError(f"mechanism must be learned_codebook for denoising, got {mechanism.name}")
    return mechanism


def joint_channel(mechanism: LearnedCodebook, law: JointResponse) -> Channel:
    """Return the law of a codeword and a label that are one symbol, for records that are codewords."""
    heavy, light = law.odds
    size, labels = mechanism.count, len(law.labels)
    (block,) = mechanism.layout(mechanism.codewords.shape[1])
    near = torch.zeros((size, size), dtype=torch.float64).scatter_(1, block.nearest(block.codewords), 1.0)
    floor, gain = light / law.total, (heavy - light) / law.total
    everywhere = torch.ones((labels, labels), dtype=torch.float64), torch.full((size, size), floor, dtype=torch.float64)
    return [everywhere, (torch.eye(labels, dtype=torch.float64), gain * near)]


def channel(mechanism: LearnedCodebook) -> Tensor:
    """Return Q (k, k) for records that are codewords: the probability of releasing codeword v in column v of row u."""
    if mechanism.codewords is None:
        raise ConfigurationError("denoising needs a codebook: give codewords, or a model that has some")
    (block,) = mechanism.layout(mechanism.codewords.shape[1])
    heavy, light = block.shape.odds
    weights = torch.full((block.shape.size, block.shape.size), light / heavy, dtype=torch.float64)
    weights.scatter_(1, block.nearest(block.codewords), 1.0)
    return weights / weights.sum(dim=1, keepdim=True)


def response(mechanism: RandomizedResponse | None, labels: int) -> Tensor:
    """Return R (L, L): randomised response, or the identity for labels that were copied."""
    if mechanism is None:
        return torch.eye(labels, dtype=torch.float64)
    keep = float(mechanism.keep_probability)
    wrong = (1 - keep) / (len(mechanism.labels) - 1)
    return torch.full((labels, labels), wrong, dtype=torch.float64).fill_diagonal_(keep)


def nearest_codewords(latents: Tensor, codewords: Tensor) -> Tensor:
    """Return the index (N,) of the codeword (k, n), unit vectors, that each latent (N, n) is nearest to."""
    return torch.cat([(part @ codewords.T).argmax(dim=1) for part in torch.split(latents.to(codewords), 4096)])


def codeword_indices(released: Tensor, mechanism: LearnedCodebook) -> Tensor:
    """Return the index (N,) of the codeword that each release (N, n) is.

    Raises:
        ConfigurationError: a row is no codeword of this mechanism, so that its noise had another law.
    """
    scaled = released.to(mechanism.codewords) / mechanism.clip_norm
    indices = nearest_codewords(scaled, mechanism.codewords)
    if not torch.allclose(mechanism.codewords[indices], scaled, atol=1e-4):
        raise ConfigurationError(
            "released must hold codewords of this mechanism alone: denoise with what released them"
        )
    return indices


def fit(
    released: Tensor,
    labels: Sequence[str],
    *,
    mechanism: LearnedCodebook,
    known: Sequence[str],
    label_mechanism: RandomizedResponse | JointResponse | None = None,
) -> Posterior:
    """Estimate the joint weights of labels and codewords from all releases.

    Args:
        released: index of each record's released codeword, int64 (N,).
        labels: its released label.
        mechanism: what released the codewords.
        known: the public label set.
        label_mechanism: what released the labels, alone or with the codewords; None if they were copied.

    Raises:
        ConfigurationError: the mechanism has no codewords, there is no record, a label is outside the set, the set has a label
            twice, or it is not that of the label mechanism.
    """
    places = {label: place for place, label in enumerate(known)}
    if len(places) != len(known) or (label_mechanism is not None and set(label_mechanism.labels) != set(known)):
        raise ConfigurationError("known must hold every label of the public label set once")
    if not labels:
        raise ConfigurationError("denoising needs at least one record, got none")
    if unknown := set(labels) - places.keys():
        raise ConfigurationError(f"labels must be in the public label set, got {len(unknown)} that are not")
    counts = torch.zeros((len(known), mechanism.count), dtype=torch.float64)
    rows = torch.tensor([places[label] for label in labels])
    counts.index_put_((rows, released), torch.ones(len(rows), dtype=torch.float64), accumulate=True)
    if isinstance(label_mechanism, JointResponse):
        law = joint_channel(mechanism, label_mechanism)
    else:
        law = [(response(label_mechanism, len(known)), channel(mechanism))]
    linear = _linear_estimate(counts, mechanism.codewords, law)
    return Posterior(_free_estimate(counts, linear, law), law)


def _linear_estimate(counts: Tensor, codewords: Tensor, law: Channel) -> Tensor:
    """Return the joint weights (L, k), linear in the codewords, that explain how often each released pair (L, k) was met."""
    features = codewords.to(torch.float64) * LENGTH
    features = torch.cat([features, torch.ones((len(features), 1), dtype=torch.float64)], dim=1)
    slopes = torch.zeros((features.shape[1], len(counts)), dtype=torch.float64)
    slopes[-1] = (counts.sum(dim=1) + 0.5).log()
    weights = torch.full((len(codewords),), 1 / len(codewords), dtype=torch.float64)
    for _ in range(STEPS):
        joint = weights * (features @ slopes).softmax(dim=1).T
        expected = _expected(counts, joint, law)
        weights = expected.sum(dim=0) / expected.sum()
        slopes = _softmax_regression(features, expected.T, start=slopes)
    return weights * (features @ slopes).softmax(dim=1).T


def _free_estimate(counts: Tensor, prior: Tensor, law: Channel) -> Tensor:
    """Return the most probable joint weights (L, k) where a prior estimate counts as much as all releases."""
    joint = prior
    for _ in range(STEPS):
        expected = _expected(counts, joint, law)
        joint = (expected / expected.sum() + prior) / 2
    return joint


def _expected(counts: Tensor, joint: Tensor, law: Channel) -> Tensor:
    """Return how many records of each true pair (L, k) are expected behind the released ones."""
    predicted = torch.stack([answer.T @ joint @ forward for answer, forward in law]).sum(dim=0)
    ratio = torch.where(counts > 0, counts / predicted, 0.0)
    return joint * torch.stack([answer @ ratio @ forward.T for answer, forward in law]).sum(dim=0)


def _softmax_regression(features: Tensor, expected: Tensor, *, start: Tensor) -> Tensor:
    """Maximise sum expected log softmax - ridge over slopes (n + 1, L); the last row, the intercept, is free."""
    slopes = start.clone().requires_grad_()
    optimiser = torch.optim.LBFGS([slopes], max_iter=MOVES, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimiser.zero_grad()
        value = RIDGE / 2 * slopes[:-1].square().sum() - (expected * (features @ slopes).log_softmax(dim=1)).sum()
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimiser.step(loss)  # type: ignore[no-untyped-call]
    return slopes.detach()
