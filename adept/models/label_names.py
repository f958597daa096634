"""Names of labels as words, and their likeness in meaning to public sentences.

A name is split at underscores, hyphens, capitals and digits. Its meaning is that of its words by
the public lexicon (``adept.models.codec.meaning``). Everything here is a function of the names and
the public model.
"""

import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from adept.models.adapt import read_meanings, spell_out
from adept.models.codec.codec import Codec
from adept.models.codec.meaning import multiply_all
from adept.models.lexicon import Lexicon

MIN_LETTERS = 3  # of a word that can say what a label means: codes have shorter ones
BATCH_NAMES = 16  # whose products with all sentences are computed together
DIGITS = re.compile(r"(?<=[^\d\W])(?=\d)|(?<=\d)(?=[^\d\W])")


def words_of_name(name: str, lexicon: Lexicon) -> tuple[str, ...]:
    """Return the words of a label's name, numbers aside; none without a known word of MIN_LETTERS."""
    spelled = spell_out(name).split()
    parts = [part for word in spelled for part in ([word] if word in lexicon.places else DIGITS.split(word))]
    words = tuple(part for part in parts if not part.isdigit())
    return words if any(len(word) >= MIN_LETTERS and word in lexicon.places for word in words) else ()


def spell_names(codec: Codec, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the words of each name (``words_of_name``)."""
    lexicon = codec.lexicon or Lexicon.load()
    return [words_of_name(name, lexicon) for name in names]


def compare_names(codec: Codec, spelled: Sequence[tuple[str, ...]]) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Yield each name's place and its products (N,) with all sentences' meanings; none without words."""
    meanings, table = read_meanings(codec)
    named = [place for place, words in enumerate(spelled) if words]
    for start in range(0, len(named), BATCH_NAMES):
        part = named[start : start + BATCH_NAMES]
        yield from zip(part, multiply_all(meanings.of(spelled[place] for place in part), table), strict=True)
