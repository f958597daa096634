"""Records of the bundled corpus for tests: consecutive texts, and equally many records of each intent."""

import random
from collections import defaultdict
from itertools import chain, cycle, islice

from adept.data.corpus import Corpus, DataConfig, load


def texts(count: int, *, start: int = 0, split: str = "train") -> list[str]:
    """Return ``count`` consecutive texts of a split."""
    return load(DataConfig())[split].texts[start : start + count]


def balanced(train: int, validation: int, test: int) -> dict[str, Corpus]:
    """Return splits with equally many records of each intent, but for rounding; those of rare intents repeat."""
    counts = {"train": train, "validation": validation, "test": test}
    return {split: _balanced(corpus, counts[split]) for split, corpus in load(DataConfig()).items()}


def _balanced(corpus: Corpus, count: int) -> Corpus:
    places: dict[str, list[int]] = defaultdict(list)
    for place, label in enumerate(corpus.labels or []):
        places[label].append(place)
    chosen = list(islice(chain.from_iterable(zip(*map(cycle, places.values()), strict=False)), count))
    return corpus.take(random.Random(0).sample(chosen, count))
