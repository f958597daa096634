"""Redaction by rules: what looks like a number, a name or an address becomes a tag. It guarantees nothing.

It is here because it is what many would do. A record with nothing unusual in it comes back as it was, and what stands around a tag
often tells what was there; so no epsilon is finite.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from adept.data.texts import text_list
from adept.mechanisms.guarantee import Guarantee

NUMBER, ADDRESS, NAME, RARE = "[NUMBER]", "[ADDRESS]", "[NAME]", "[RARE]"
FEWEST_TEXTS = 5  # a word of fewer public texts is rare
NUMBER_WORDS = frozenset([
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty", "thirty", "forty", "fifty", "sixty",
    "seventy", "eighty", "ninety", "hundred", "thousand", "million",
])  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Redaction:
    """Numbers, addresses, capitalised and rare words become tags. No guarantee.

    Attributes:
        common: the words that are kept, in lower case, from public text.
    """

    common: frozenset[str]
    name: ClassVar[str] = "redaction"
    epsilon: ClassVar[float] = math.inf
    delta: ClassVar[float] = 0.0

    @classmethod
    def from_public(cls, texts: Iterable[str]) -> "Redaction":
        """Keep the words of at least `FEWEST_TEXTS` public texts."""
        counts = Counter(word for text in text_list(texts) for word in {_bare(word) for word in text.split()})
        return cls(common=frozenset(word for word, texts_of in counts.items() if texts_of >= FEWEST_TEXTS))

    def privatize(self, texts: Sequence[str]) -> list[str]:
        """Return the texts with tags in them."""
        return [
            " ".join(self._word(word, first=not place) for place, word in enumerate(t.split()))
            for t in text_list(texts)
        ]

    def _word(self, word: str, *, first: bool) -> str:
        bare = _bare(word)
        if "@" in word or "://" in word or bare.startswith("www."):
            return ADDRESS
        if any(character.isdigit() for character in bare) or bare in NUMBER_WORDS:
            return NUMBER
        if word[:1].isupper() and not first and len(bare) > 1:
            return NAME
        return word if bare in self.common or not bare else RARE

    def guarantee(self) -> Guarantee:
        """Return what redaction guarantees: nothing."""
        return Guarantee.pure(
            epsilon=math.inf, exact=True, text="No privacy: words that no rule knows are released as they are."
        )


def _bare(word: str) -> str:
    return re.sub(r"^\W+|\W+$", "", word.lower())
