"""The bundled corpus `air_travel`: labelled questions to a travel desk, drawn from a grammar of our own.

Nothing in it was said by a real person, so it needs no network and no licence, and there is any amount of it.
"""

from __future__ import annotations

import hashlib
import random
import tomllib
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from adept.data.air_travel.grammar import Grammar
from adept.errors import ConfigurationError

SHARES: dict[str, float] = {
    "flight": 0.660,
    "airfare": 0.090,
    "ground_service": 0.050,
    "airline": 0.040,
    "abbreviation": 0.030,
    "aircraft": 0.020,
    "flight_time": 0.018,
    "quantity": 0.014,
    "airport": 0.012,
    "distance": 0.010,
    "baggage": 0.010,
    "meal": 0.008,
    "city": 0.008,
    "capacity": 0.008,
    "flight_number": 0.007,
    "ground_fare": 0.006,
    "restriction": 0.005,
    "day_name": 0.004,
}
"""Share of each intent in the corpus unless it is balanced, falling; they sum to one."""

INTENTS: tuple[str, ...] = tuple(SHARES)
"""Every label of the corpus, in order of falling share."""

MAX_TOKENS = 40
"""No utterance is longer than this many tokens."""

GRAMMAR_FILE = Path(__file__).with_name("grammar.toml")


class Utterance(NamedTuple):
    """One record of the corpus."""

    text: str
    intent: str


def generate(
    *, seed: int = 0, train: int = 6000, validation: int = 600, test: int = 1000, balanced: bool = False
) -> dict[str, list[Utterance]]:
    """Draw the corpus, the same for the same arguments on every machine.

    The split in which a text may appear depends on the text alone (`split_of`). So no text is in two splits,
    and no test text is a training text of another seed, size or balance. Within a split, texts repeat as they
    do in real traffic, always with the same label.

    Args:
        seed: a non-negative integer.
        train: number of training utterances.
        validation: number of validation utterances.
        test: number of test utterances.
        balanced: gives every intent the same share, instead of that in `SHARES`. Either way the counts of a
            split follow the shares exactly, but for rounding.

    Returns:
        The splits `train`, `validation` and `test`, each in random order.

    Raises:
        ConfigurationError: if the seed or a size is not a non-negative integer.
    """
    sizes = {"train": train, "validation": validation, "test": test}
    _check_counts({"seed": seed, **sizes})
    shares = dict.fromkeys(INTENTS, 1 / len(INTENTS)) if balanced else SHARES
    quotas = {split: _apportion(size, shares) for split, size in sizes.items()}
    rng = random.Random(seed)
    corpus = _fill(quotas, rng)
    for utterances in corpus.values():
        rng.shuffle(utterances)
    return corpus


def split_of(text: str) -> str:
    """Return the one split in which `text` may appear.

    A hash decides, not a draw, so that texts of different seeds and sizes can be mixed without a leak. Of all
    texts, 75 % are for training, 10 % for validation and 15 % for testing.
    """
    ticket = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") % 20
    return "validation" if ticket < 2 else "test" if ticket < 5 else "train"


def _fill(quotas: Mapping[str, Mapping[str, int]], rng: random.Random) -> dict[str, list[Utterance]]:
    """Draw utterances until every split has as many of each intent as `quotas` says."""
    corpus: dict[str, list[Utterance]] = {split: [] for split in quotas}
    intent_of: dict[str, str] = {}
    for intent in INTENTS:
        missing = Counter({split: quota[intent] for split, quota in quotas.items()})
        while missing.total():
            text = _say(intent, rng)
            split = split_of(text)
            # Intents are written so that they share no text; should one slip in, the first intent keeps it.
            if missing[split] and intent_of.setdefault(text, intent) == intent:
                corpus[split].append(Utterance(text, intent))
                missing[split] -= 1
    return corpus


def _say(intent: str, rng: random.Random) -> str:
    """Draw one utterance of `intent` that is not too long."""
    while True:
        text = _grammar().say(f"say_{intent}", rng)
        if len(text.split()) <= MAX_TOKENS:
            return text


@cache
def _grammar() -> Grammar:
    """Return the grammar in its file; an utterance is a question between an opening and a closing that may be left out."""
    content = tomllib.loads(GRAMMAR_FILE.read_text("utf-8"))
    utterances = {f"say_{intent}": f"[/.2/ <opening>] <ask_{intent}> [/.15/ <closing>]" for intent in INTENTS}
    entries = {
        name: [" ".join(entry.split()) for entry in text.split(",")] for name, text in content["word_lists"].items()
    }
    return Grammar(content["rules"] | utterances, entries)


def _apportion(size: int, shares: Mapping[str, float]) -> dict[str, int]:
    """Split `size` into whole counts in proportion to `shares`, by the method of largest remainders."""
    exact = {intent: size * share for intent, share in shares.items()}
    counts = {intent: int(count) for intent, count in exact.items()}
    by_remainder = sorted(shares, key=lambda intent: counts[intent] - exact[intent])
    for intent in by_remainder[: size - sum(counts.values())]:
        counts[intent] += 1
    return counts


def _check_counts(counts: Mapping[str, int]) -> None:
    """Refuse what is not a non-negative integer."""
    for name, value in counts.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise ConfigurationError(f"{name} must be a non-negative integer, got {value!r}")
