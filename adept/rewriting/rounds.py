r"""Two rounds: the first records say where a collection lies, and the others are released with codewords placed there.

A model of many domains has codewords for all of them, and a collection needs those of its own. Nobody has to know its domain
beforehand: the released codewords of the first records tell how common each codeword is, and the second round's topics and
codewords are drawn from the public texts that lie where those do.

*Claim*: if every release is eps-LDP, the two rounds together are: for each record, whatever the other records are, all that is
released and written is at most e^eps times as likely from it as from any other record in its place. *Proof*. Which records belong
to the first round is decided by their places alone. Let r be the first round's releases. The second round's mechanism M_r is a
function of r, of the model and of a fixed seed: :func:`second_round` is given nothing else. (1) A record of the first
round is released once, by a mechanism that is fixed; all else that happens depends on it through that release alone, as the
other records are what they are, and is post-processing of it. (2) A record of the second round has no part in r. Given r its one
release, by M_r, is eps-LDP, because a learned codebook is for every choice of codewords; the ratio is at most e^eps given
each r, and so on average over r. QED. (In the words of Duchi, Jordan and Wainwright 2018, "Minimax optimal procedures for locally
private estimation": the protocol is sequentially interactive.) Of a person's several records the budgets add up as ever: basic
composition allows each mechanism to be chosen by what was released before.

*The estimate*: let Q(v|u) be the probability that a record whose nearest codeword is u is released as v. Expectation maximisation
finds weights pi(u) that make the releases likely, from equal ones on and for a few steps only: each step sharpens, and what many
steps find is the noise of a few hundred releases. A codeword's weight is shared by the public texts that are nearest to it.
"""

import math
from fractions import Fraction

import torch
from torch import Tensor

from adept.errors import ConfigurationError
from adept.mechanisms import LearnedCodebook
from adept.models.adaptation.examples import own_texts
from adept.models.adaptation.placing import place
from adept.models.network.public_texts import encode_public
from adept.rewriting.denoising import channel, nearest_codewords
from adept.rewriting.rewriter import Rewriter

STEPS = 10  # of expectation maximisation
SIZE = 2048  # codewords of the second round, at most


def check_rounds(rewriter: Rewriter) -> LearnedCodebook:
    """Return the mechanism of a rewriter that can begin two rounds.

    Raises:
        ConfigurationError: its mechanism is no learned codebook, or it does not answer releases with public texts.
        ModelError: its model has no topics, writes labels, or holds no public texts.
    """
    mechanism = rewriter.mechanism
    if rewriter.joint or not isinstance(mechanism, LearnedCodebook):
        found = (rewriter.joint or mechanism).name
        raise ConfigurationError(
            f"mechanism must be learned_codebook for two rounds, got {found}: leave adapt_share and adapt_records out"
        )
    own_texts(rewriter.model)
    if rewriter.decoding.strategy != "nearest":
        raise ConfigurationError(
            f"decoding.strategy must be nearest for two rounds, got {rewriter.decoding.strategy}: public texts are what is placed"
        )
    return mechanism


def round_size(share: float, records: int) -> int:
    """Return how many of so many records the first round has: a share of them, as it is written in decimals, rounded up."""
    return math.ceil(Fraction(str(share)) * records)


def second_round(first: Rewriter, released: list[int]) -> Rewriter:
    """Return the rewriter of the second round.

    Args:
        first: that of the first round.
        released: the numbers of the codewords that the first round released: all that is known of its records.
    """
    mechanism = check_rounds(first)
    model, tokenizer = first.model, first.tokenizer
    texts = encode_public(model, tokenizer, own_texts(model)).cpu()
    nearest = nearest_codewords(texts, mechanism.codewords)
    weights = frequencies(released, mechanism) / nearest.bincount(minlength=mechanism.count).clamp(min=1)
    placed = place(model, tokenizer, weights[nearest], size=SIZE)
    (codewords,) = placed.codebooks.values()
    second = LearnedCodebook(epsilon=mechanism.epsilon, clip_norm=mechanism.clip_norm, codewords=codewords)
    rewriter = Rewriter(placed, tokenizer, mechanism=second, decoding=first.decoding, batch_size=first.batch_size)
    rewriter.measurement = first.measurement
    return rewriter


def frequencies(released: list[int], mechanism: LearnedCodebook) -> Tensor:
    """Return how common each codeword is among records, (k,) that sum to one, by what was released of them."""
    forward = channel(mechanism)
    counts = torch.bincount(torch.tensor(released), minlength=mechanism.count).to(forward)
    weights = torch.full_like(counts, 1 / mechanism.count)
    for _ in range(STEPS):
        expected = weights * (forward @ torch.where(counts > 0, counts / (weights @ forward), 0.0))
        weights = expected / expected.sum()
    return weights
