"""Attackers that have less than the private texts: a language model of public text, a search around it, and the rewrite alone.

The language model is of the plainest kind: each word is one that public text has after the same two words, drawn as often as
there. A search edits the likeliest public text: another word, one less or one more, where new words are those that public
text has after the same word. An edit is kept if it makes the release likelier by more than an edit costs a priori: the
logarithm of how many were tried.

Who sees the rewrite alone lets the public encoder read it again. The distribution of the text given a candidate is an
integral over releases that nobody can write down. Its stand-in: the candidates that lie nearest to what the encoder reads
give a short list, and of those the one is named whose own latent (for a codebook, its nearest codeword) makes the decoder
write this text most likely. Of descriptions the codec describes the text again, and finds its number but for a few sentences
that another one with the same words is as near to.
"""

import math
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor

from adept.attacks.likelihood import Candidates, guess
from adept.data.texts import text_list
from adept.mechanisms import Codebook
from adept.models.autoencoder import pad
from adept.models.decoding import likelihood as text_likelihood
from adept.rewriting.rewriter import Rewriter

EDITS_PER_STEP, MAX_STEPS = 48, 4
MAX_WORDS = 40  # of a text that the model writes
ATTEMPTS_PER_TEXT = 20  # a small model repeats itself
SHORTLIST, BATCH_ROWS = 8, 256


def write_feasible(texts: Sequence[str], count: int, draw: random.Random) -> list[str]:
    """Return at most ``count`` different texts that public ``texts`` make feasible and do not hold themselves."""
    texts = text_list(texts)
    followers: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for text in texts:
        words = ["", "", *text.split(), ""]
        for first, second, word in zip(words, words[1:], words[2:], strict=False):
            followers[first, second].append(word)
    known, found = set(texts), dict[str, None]()
    for _ in range(ATTEMPTS_PER_TEXT * count):
        if len(found) == count:
            break
        said = ["", ""]
        while len(said) < MAX_WORDS and (word := draw.choice(followers[said[-2], said[-1]])):
            said.append(word)
        if (text := " ".join(said[2:])) not in known:
            found[text] = None
    return list(found)


class Neighbourhood:
    """The edits that public text offers.

    Args:
        texts: public.
        draw: which edits are tried.
    """

    def __init__(self, texts: Sequence[str], draw: random.Random) -> None:
        self._draw = draw
        followers: defaultdict[str, set[str]] = defaultdict(set)
        for text in text_list(texts):
            words = ["", *text.split()]
            for before, word in pairwise(words):
                followers[before].add(word)
        self._followers = {before: sorted(words) for before, words in followers.items()}

    def climb(self, text: str, released: Tensor, view: Callable[[Sequence[str]], Candidates]) -> str:
        """Return the end of a climb from ``text`` towards a release (n,)."""
        for _ in range(MAX_STEPS):
            tried = [text, *sorted({self._edit(text) for _ in range(EDITS_PER_STEP)} - {text, ""})]
            scores = view(tried).log_likelihood(released[None])[0]
            best = int(scores.argmax())
            if scores[best] <= scores[0] + math.log(EDITS_PER_STEP):
                return text
            text = tried[best]
        return text

    def _edit(self, text: str) -> str:
        words = text.split()
        place = self._draw.randrange(len(words) + 1)
        before = words[place - 1] if place else ""
        offered = self._followers.get(before, [])
        kind = self._draw.randrange(4)
        if kind == 0 and len(words) > 1:
            return " ".join(words[:place] + words[place + 1 :])
        if not offered:
            return text
        new = self._draw.choice(offered)
        return " ".join([*words[:place], new, *words[place + (kind > 1) :]])


def name_from_text(rewriter: Rewriter, released: Tensor, texts: list[str], candidates: Candidates) -> Tensor:
    """Write a text from each release (m, .), and return which candidate (m,) it is taken to come from."""
    written = [text for text, _ in rewriter.write(released)]
    own, read = rewriter.encode(texts).cpu(), rewriter.encode(written).cpu()
    if not candidates.dim:
        flat = torch.full((len(texts),), 1 / len(texts), dtype=torch.float64)
        return guess(candidates, read[:, :2], prior=flat).best  # the nearest sentence is the text itself
    unit = torch.nn.functional.normalize
    count = min(SHORTLIST, len(texts))
    nearest = [(unit(part) @ unit(own).T).topk(count, dim=1).indices for part in torch.split(read, BATCH_ROWS)]
    points = _noiseless(rewriter, own)
    rows = rewriter.tokenizer.encode(written, max_length=rewriter.model.config.max_length)

    def likelihood(chosen: Tensor) -> Tensor:
        starts = range(0, len(rows), BATCH_ROWS)
        return torch.cat(
            [
                text_likelihood(rewriter.model, points[chosen[i : i + BATCH_ROWS]], pad(rows[i : i + BATCH_ROWS]))
                for i in starts
            ]
        )

    return rerank(torch.cat(nearest), likelihood)


def rerank(shortlist: Tensor, likelihood: Callable[[Tensor], Tensor]) -> Tensor:
    """Return of each row of shortlisted candidates (m, s) the one under which the text is likeliest.

    Args:
        shortlist: candidates (m, s).
        likelihood: candidates, one for each text (m,), to ln p(text | candidate) (m,).
    """
    scores = torch.stack([likelihood(shortlist[:, place]) for place in range(shortlist.shape[1])], dim=1)
    return shortlist.gather(1, scores.argmax(dim=1, keepdim=True))[:, 0]


def _noiseless(rewriter: Rewriter, latents: Tensor) -> Tensor:
    """The likeliest release of each candidate: its latent, or the codeword nearest to it."""
    mechanism = rewriter.mechanism
    if not isinstance(mechanism, Codebook):
        return latents
    dim, chosen = latents.shape[1], []
    blocks = mechanism.layout(dim)
    for block, part in zip(blocks, torch.split(latents, [b.shape.dim for b in blocks], dim=1), strict=True):
        nearest = (part.float() @ block.codewords.T).argmax(dim=1)
        chosen.append(block.codewords[nearest] * (mechanism.clip_norm * (block.shape.dim / dim) ** 0.5))
    return torch.cat(chosen, dim=1).to(latents.dtype)
