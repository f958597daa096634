"""An attacker who sees the rewritten text alone: it is read by the public encoder again, and ranked by the decoder's likelihood.

The distribution of the text given a candidate is an integral over releases that nobody can write down. Its stand-in: how near the
candidate lies to what the encoder reads of the text gives a short list, and of those the candidate is named whose own latent
(for a codebook, its nearest codeword) makes the decoder write this text most likely. Of descriptions the codec
describes the text again, and finds its number but for a few sentences that another one with the same words is as near to.
"""

import torch
from torch import Tensor

from adept.attacks.likelihood import Known
from adept.attacks.reconstruction import guess, reranked
from adept.mechanisms import Codebook
from adept.models.autoencoder import pad
from adept.rewriting.rewriter import Rewriter

SHORTLIST, ROWS = 8, 256


def name_from_text(rewriter: Rewriter, released: Tensor, texts: list[str], candidates: Known) -> Tensor:
    """Write a text from each release (m, .), and return which candidate (m,) it is taken to come from."""
    written = [text for text, _ in rewriter.write(released)]
    own, read = _encoded(rewriter, texts), _encoded(rewriter, written)
    if not candidates.dim:
        flat = torch.full((len(texts),), 1 / len(texts), dtype=torch.float64)
        return guess(candidates, read[:, :2], prior=flat).best  # the nearest sentence is the text itself
    unit = torch.nn.functional.normalize
    count = min(SHORTLIST, len(texts))
    shortlist = torch.cat([(unit(part) @ unit(own).T).topk(count, dim=1).indices for part in torch.split(read, ROWS)])
    points = _points(rewriter, own)
    rows = rewriter.tokenizer.encode(written, max_length=rewriter.model.config.max_length)

    def likelihood(chosen: Tensor) -> Tensor:
        parts = range(0, len(rows), ROWS)
        return torch.cat(
            [rewriter.model.likelihood(points[chosen[i : i + ROWS]], pad(rows[i : i + ROWS])) for i in parts]
        )

    return reranked(shortlist, likelihood)


def _encoded(rewriter: Rewriter, texts: list[str]) -> Tensor:
    size = rewriter.batch_size
    return torch.cat([rewriter.encode(texts[start : start + size]).cpu() for start in range(0, len(texts), size)])


def _points(rewriter: Rewriter, latents: Tensor) -> Tensor:
    """What would be released of each candidate if chance were kind: its latent, or the codeword nearest to it."""
    mechanism = rewriter.mechanism
    if not isinstance(mechanism, Codebook):
        return latents
    dim, chosen = latents.shape[1], []
    blocks = mechanism.layout(dim)
    for block, part in zip(blocks, torch.split(latents, [b.shape.dim for b in blocks], dim=1), strict=True):
        nearest = (part.float() @ block.codewords.T).argmax(dim=1)
        chosen.append(block.codewords[nearest] * (mechanism.clip_norm * (block.shape.dim / dim) ** 0.5))
    return torch.cat(chosen, dim=1).to(latents.dtype)
