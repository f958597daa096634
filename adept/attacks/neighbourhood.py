"""What could have been said: texts that a language model of public text writes, and a search around the likeliest of them.

The language model is of the plainest kind: each word is one that public text has after the same two words, drawn as often as
there.

An edit puts another word in a word's place, takes a word out or puts one in; new words are those that public text has after the
same word. It is kept if it makes the release likelier by more than an edit costs a priori: the logarithm of how many were
tried.
"""

import math
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise

from torch import Tensor

from adept.attacks.likelihood import Known
from adept.data.texts import text_list

TRIED, STEPS = 48, 4
LONGEST = 40  # words of a text that the model writes
ATTEMPTS = 20  # for each text that is wanted: a small model repeats itself


def feasible(texts: Sequence[str], count: int, draw: random.Random) -> list[str]:
    """Return at most ``count`` different texts that public ``texts`` make feasible and do not hold themselves."""
    texts = text_list(texts)
    followers: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for text in texts:
        words = ["", "", *text.split(), ""]
        for first, second, word in zip(words, words[1:], words[2:], strict=False):
            followers[first, second].append(word)
    known, found = set(texts), dict[str, None]()
    for _ in range(ATTEMPTS * count):
        if len(found) == count:
            break
        said = ["", ""]
        while len(said) < LONGEST and (word := draw.choice(followers[said[-2], said[-1]])):
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

    def climb(self, text: str, released: Tensor, view: Callable[[Sequence[str]], Known]) -> str:
        """Return the end of a climb from ``text`` towards a release (n,)."""
        for _ in range(STEPS):
            tried = [text, *sorted({self._edited(text) for _ in range(TRIED)} - {text, ""})]
            scores = view(tried).log_likelihood(released[None])[0]
            best = int(scores.argmax())
            if scores[best] <= scores[0] + math.log(TRIED):
                return text
            text = tried[best]
        return text

    def _edited(self, text: str) -> str:
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
