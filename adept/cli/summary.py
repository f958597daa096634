"""What a release came to, in three lines: what was written, what is guaranteed, and what is not private."""

import math
from collections.abc import Iterator
from decimal import Decimal

from adept.mechanisms.guarantee import words
from adept.release.statement import PrivacyStatement

LARGEST = 50.0  # above it the odds have more digits than anyone reads


def summary(statement: PrivacyStatement, *, output: str, place: str | None) -> list[str]:
    """Return the lines.

    Args:
        statement: of the release.
        output: the file that it was written into.
        place: the file of the statement; None for a dry run, which leaves none, so that its text is the third line.
    """
    samples = f", {statement.samples} texts each" if statement.samples > 1 else ""
    by = f"by {statement.mechanism}{samples}"
    done = f"rewritten {by}: {output}" if place else f"would be rewritten {by}: dry run, nothing was released"
    copied = [*(["labels"] if statement.labels == "copy" else []), *statement.kept_columns]
    not_private = f"copied, and not private: {', '.join(copied)}; " if copied else ""
    return [
        f"{statement.records} records {done}",
        f"guaranteed: {'; '.join(_guaranteed(statement))}",
        f"{not_private}the whole statement: {place}" if place else statement.text,
    ]


def _guaranteed(statement: PrivacyStatement) -> Iterator[str]:
    """The budgets, and the odds that they stand for."""
    if math.isinf(statement.epsilon):
        yield "nothing, epsilon is infinite"
        return
    claimed = f" (claimed {words(statement.claimed_epsilon)})" if statement.claimed_epsilon != statement.epsilon else ""
    delta = f", delta {words(statement.guarantee.delta)}" if statement.guarantee.delta else ""
    yield f"epsilon {words(statement.epsilon)}{claimed}{delta}{_parts(statement)}"
    if statement.epsilon >= LARGEST:
        yield f"the odds between {statement.neighbours} may change more than 10^21-fold, so that next to nothing is guaranteed"
    elif not delta:
        odds = Decimal(words(math.exp(statement.epsilon)))
        yield f"the odds between {statement.neighbours} change at most {odds:,f}-fold"
    if statement.person_epsilon is not None:
        yield f"for a person {words(statement.person_epsilon)}, at most {statement.max_records_per_person} records"
    if shuffled := statement.shuffled:
        how = "shuffled here" if shuffled.here else "as declared"
        yield f"hidden among {shuffled.smallest} ({how}): {words(shuffled.epsilon)}, delta {words(shuffled.delta)}"


def _parts(statement: PrivacyStatement) -> str:
    """What text and label spend, where labels are released; those of one symbol do not add up."""
    if statement.label_epsilon is None:
        return ""
    if statement.labels == "joint_response":
        return f" (text alone {words(statement.text_epsilon)}, label alone {words(statement.label_epsilon)})"
    return f" (text {words(statement.guarantee.epsilon)}, label {words(statement.label_budget)})"
