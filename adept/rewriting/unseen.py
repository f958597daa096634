"""What the packaged model keeps of subjects that it has not read, to be said before a release.

The figures stand in the package. They are those of a model of the same recipe that was trained without these subjects, measured on
public text of them (``benchmarks/domains.py``); no record is read, and none is released.
"""

import json
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from adept.rewriting.loading import best_exact, packaged_directory
from adept.rewriting.rewriter import Rewriter

FILE = "unseen.json"


class Kept(NamedTuple):
    """Shares of rewrites that are about their record's topic and of words that they keep; both also for another's rewrite."""

    topic: float
    topic_of_others: float
    words: float
    words_of_others: float


@cache
def figures() -> dict[str, dict[float, Kept]]:
    """What is kept, by subject and epsilon."""
    table = json.loads((packaged_directory() / FILE).read_text("utf-8"))
    return {subject: {float(epsilon): Kept(*kept) for epsilon, kept in row.items()} for subject, row in table.items()}


def unseen_line(rewriter: Rewriter) -> str | None:
    """Return what a rewriter with the packaged model keeps, in words.

    It is None for a budget below those that were measured, and for another mechanism than the model's own at this budget.
    """
    epsilon = rewriter.guarantee.epsilon
    own = best_exact(rewriter.model, epsilon=epsilon).name == rewriter.mechanism.name
    if rewriter.joint or not own or epsilon < min(min(row) for row in figures().values()):
        return None
    kept = {subject: _between(row, epsilon) for subject, row in figures().items()}
    said = ", ".join(f"{subject} {part.topic:.0%} and {part.words:.0%}" for subject, part in kept.items())
    most = [max(getattr(part, name) for part in kept.values()) for name in ("topic_of_others", "words_of_others")]
    return (
        f"rewrites keep the topic and the words of subjects that such a model had not read: {said} "
        f"(by chance up to {most[0]:.0%} and {most[1]:.0%})"
    )


def _between(row: dict[float, Kept], epsilon: float) -> Kept:
    """The figures at a budget, in a straight line between the measured ones; above all of these the last ones."""
    for (low, here), (high, there) in pairwise(sorted(row.items())):
        if epsilon <= high:
            share = (epsilon - low) / (high - low)
            return Kept(*(a + share * (b - a) for a, b in zip(here, there, strict=True)))
    return row[max(row)]
