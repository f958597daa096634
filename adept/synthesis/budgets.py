"""Smallest part of a file that shows through the noise of a central release, by budget."""

from adept.mechanisms.votes import Votes
from adept.synthesis.cells import default_size
from adept.synthesis.synthesizer import least_standing_out


def share_standing_out(votes: Votes, rows: int, *, texts: int, labels: int) -> float | None:
    """Return the share of ``rows`` from which a cell stands out of the noise; None above all.

    ``texts`` is the number of public texts, which decides the number of cells.
    """
    size = default_size(epsilon=votes.epsilon, sensitivity=votes.sensitivity, labels=labels, texts=texts)
    least = least_standing_out(votes, size * labels)
    return None if least > rows else least / rows
