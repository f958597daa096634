"""Listed texts: the stored texts of a codec that are not utterances.

In a codec of broad text, the listed texts are sentences of this text. In any other codec, the
listed texts are those that are likeliest under its language model. A text of probability p costs
-log2(p) bits. The search for texts that cost at most a given number of bits begins with the empty
text. It extends each unfinished text by every word after which the estimated cost of the whole text
is within this limit. To estimate what the rest of an unfinished text costs, the search takes its
last two words. The rest is estimated to cost as much as the cheapest continuation of these two
words in a training text. If no training text contains the two words side by side, the estimate uses
the last word only.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from adept.models.language_model.ngram_mixture import CONTEXT_WORDS, LanguageModel
from adept.models.language_model.vocabulary import END_NUMBER, MAX_WORDS, UNKNOWN_NUMBER

FIRST_BITS, STEP_BITS = 14.0, 3.0  # bits of texts at first, and their growth until many texts are found
MANY_SHARE, AIM_FACTOR = 64, 1.05  # many: one in MANY_SHARE of the wanted texts; factor by which to aim higher
MAX_GROWTH_BITS = 1.2  # largest growth in bits for twice as many texts
MAX_BITS = 60.0  # bits that texts may cost
MAX_PREFIXES = 1 << 22  # prefixes that are read in all: unusual text must not take hours
TABLE_ENTRIES = 1 << 19  # entries of a table of prefixes and words that is computed at once
MAX_LISTED_WORDS = 1 << 15  # words of a vocabulary whose texts can be stored as 16-bit numbers

Words = tuple[str, ...]
Prefixes = tuple[Tensor, Tensor]


class ListedTexts:
    """Texts that are stored as the numbers of their words, and the group of each text.

    The array ``flat`` holds all texts, each followed by a 0; ``words`` holds the word for each
    number. Texts in the same group have similar meanings.
    """

    def __init__(
        self,
        words: Sequence[str] = (),
        flat: NDArray[np.int16] | None = None,
        groups: NDArray[np.int16] | None = None,
    ) -> None:
        self.words = words
        self.flat = np.zeros(0, dtype=np.int16) if flat is None else flat
        self.ends = np.flatnonzero(self.flat == 0)
        self.groups = np.zeros(len(self.ends), dtype=np.int16) if groups is None else groups

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, place: int) -> Words:
        start = self.ends[place - 1] + 1 if place else 0
        return tuple(self.words[number] for number in self.flat[start : self.ends[place]].tolist())

    def first(self, count: int) -> "ListedTexts":
        return ListedTexts(self.words, self.flat[: self.ends[count - 1] + 1 if count else 0], self.groups[:count])


@torch.inference_mode()
def list_likely(model: LanguageModel, utterances: Sequence[Words], *, count: int) -> ListedTexts:
    """Return the likeliest texts that are not utterances, the likeliest text first.

    The utterances and the list together are ``count`` texts. They are fewer if the search stops
    early, after MAX_PREFIXES unfinished texts or at MAX_BITS bits. The list is empty if the
    vocabulary has more than MAX_LISTED_WORDS words. ``model`` must have been learned from the
    utterances.
    """
    if len(model.vocabulary.words) > MAX_LISTED_WORDS:
        return ListedTexts()
    texts = [model.vocabulary.encode(words) for words in utterances]
    search = _Search(model, texts)
    bits, step, found, listed = FIRST_BITS, 0.0, 0, list[tuple[NDArray[np.float32], NDArray[np.int16]]]()
    while found < count and search.unread > 0 and bits < MAX_BITS:
        bits += step
        listed, before = list(search.within(bits)), found
        found = sum(len(costs) for costs, _ in listed)
        doubled = step / math.log2(found / before) if found > before > 0 else 1.0
        many = found * MANY_SHARE > count
        step = min(MAX_GROWTH_BITS, doubled) * math.log2(AIM_FACTOR * count / found) if many else STEP_BITS
    costs = np.concatenate([np.zeros(0, dtype=np.float32), *(part for part, _ in listed)])
    rows, said = [row for _, part in listed for row in part], set(map(tuple, texts))
    likely = ((*rows[place].tolist(), END_NUMBER) for place in np.argsort(costs, kind="stable")[:count])
    kept = [row for row in likely if row not in said][: count - len(utterances)]
    return ListedTexts(model.vocabulary.words, np.array([number for row in kept for number in row], dtype=np.int16))


class _Search:
    """A search for texts that cost few bits, by batches of unfinished texts of equal length.

    A batch of B texts of length L holds the numbers of their words (B, L) and their costs (B,).
    """

    def __init__(self, model: LanguageModel, texts: Sequence[Sequence[int]]) -> None:
        self.model, self.size = model, len(model.vocabulary.words)
        self.batch, self.unread = max(64, TABLE_ENTRIES // self.size), MAX_PREFIXES
        self.after_word, self.pairs, self.after_pair = self._learn_rests(texts)

    def within(self, bits: float) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int16]]]:
        """Yield the costs (M,) and word numbers (M, L) of texts that cost at most ``bits`` bits."""
        waiting: dict[int, list[Prefixes]] = {0: [(torch.zeros((1, 0), dtype=torch.int64), torch.zeros(1))]}
        while waiting and self.unread > 0:
            full = [length for length, parts in waiting.items() if sum(len(part[1]) for part in parts) >= self.batch]
            length = max(full) if full else min(waiting)
            words, spent = self._take(waiting[length])
            self.unread -= len(spent)
            shares = next_shares(self.model, words)
            costs = spent - shares[:, END_NUMBER].log2()
            ended = costs <= bits
            if length and bool(ended.any()):
                yield costs[ended].numpy(), words[ended].numpy().astype(np.int16)
            if length + 1 < MAX_WORDS:
                waiting.setdefault(length + 1, []).extend(self._append(words, spent, shares, bits))
            waiting = {length: parts for length, parts in waiting.items() if parts}

    def _take(self, waiting: list[Prefixes]) -> Prefixes:
        parts, count = [waiting.pop()], 0
        while waiting and (count := count + len(parts[-1][1])) + len(waiting[-1][1]) <= self.batch:
            parts.append(waiting.pop())
        words, bits = zip(*parts, strict=True)
        return torch.cat(words), torch.cat(bits)

    def _append(self, prefixes: Tensor, spent: Tensor, shares: Tensor, bits: float) -> Iterator[Prefixes]:
        shares[:, [END_NUMBER, UNKNOWN_NUMBER]] = 0.0
        enough = shares * torch.exp2(-self.after_word) >= torch.exp2(spent - bits)[:, None]
        rows, words = enough.nonzero(as_tuple=True)
        before = prefixes[rows, -1] if prefixes.shape[1] else torch.full_like(rows, self.size)
        costs = spent[rows] - shares[rows, words].log2()
        kept = costs + self._cost_after(before, words) <= bits
        parts = (torch.split(part[kept], self.batch) for part in (rows, words, costs))
        for row, word, cost in zip(*parts, strict=True):
            yield torch.cat([prefixes[row], word[:, None]], dim=1), cost

    def _cost_after(self, before: Tensor, words: Tensor) -> Tensor:
        keys = before * self.size + words
        places = torch.searchsorted(self.pairs, keys).clamp_max(len(self.pairs) - 1)
        return torch.where(self.pairs[places] == keys, self.after_pair[places], self.after_word[words])

    def _learn_rests(self, texts: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor, Tensor]:
        """Return the least cost of the rest of a training text after each word and each word pair.

        The results are the least costs (V,) of the rest after each word, the keys (P,) of the pairs
        of neighbouring words in the texts, and the least costs (P,) after each pair.
        """
        by_length: dict[int, list[Sequence[int]]] = {}
        for text in dict.fromkeys(map(tuple, texts)):
            by_length.setdefault(len(text), []).append(text)
        parts = (part for rows in by_length.values() for part in torch.split(torch.tensor(rows), self.batch))
        before, words, rests = (torch.cat(part) for part in zip(*map(self._weigh_rests, parts), strict=True))
        after_word = torch.zeros(self.size).scatter_reduce(0, words, rests, "amin", include_self=False)
        pairs, index = torch.unique(before * self.size + words, return_inverse=True)
        return after_word, pairs, torch.zeros(len(pairs)).scatter_reduce(0, index, rests, "amin", include_self=False)

    def _weigh_rests(self, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return three arrays (B * L,) with one entry for each word of B texts of L words.

        They hold the word before the word, the word itself, and the cost of all words after it.
        """
        costs = [torch.zeros(len(rows))]
        for place in range(rows.shape[1]):
            shares = next_shares(self.model, rows[:, :place])
            costs.append(costs[-1] - shares.gather(1, rows[:, place : place + 1])[:, 0].log2())
        spent = torch.stack(costs[1:], dim=1)
        before = torch.cat([torch.full_like(rows[:, :1], self.size), rows[:, :-1]], dim=1)
        return before.flatten(), rows.flatten(), (spent[:, -1:] - spent).flatten()


def next_shares(model: LanguageModel, words: Tensor) -> Tensor:
    """Return the probabilities (B, V) of all next words after each of B unfinished texts (B, L)."""
    from adept.models.language_model.next_word import shares_after  # machine code, slow to import

    before = torch.full((len(words), CONTEXT_WORDS), len(model.vocabulary.words))
    windows = torch.cat([before, words], dim=1)[:, -CONTEXT_WORDS:].contiguous()
    return torch.from_numpy(shares_after(model.tables, windows.numpy()))
