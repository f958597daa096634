"""The guarantee for a file whose records are shuffled, by this run or by somebody else.

A *release* is the randomised value from which the texts of a record are written. A shuffled file
hides from which record each row comes. So the guarantee for the file as a whole (the *central*
guarantee) is stronger than the guarantee for a single release. ``adept.mechanisms.shuffling``
proves the central guarantee for every function of the *unordered* releases and of coins (random
choices) that nobody can guess.

*Claim*: a shuffled file is a function of the unordered releases and of coins that nobody can guess.
If labels are copied, the file is a function of the pairs (release, label), without their order, and
of coins that nobody can guess.

*Reason* (the proof is in ``docs/proofs.md``): ``shuffle=true`` permutes the releases, each with its
label, before any text is written. With ``shuffled_records=N``, somebody else permutes the rows, and
each row is a function of its record's release, of coins used for no other row, and of pools that are
the same for all rows; releases with several candidates, the only exception, are refused.

*Unit*: every number of shuffling counts records, and never rows. With ``samples=k``, the k rows of
a record are written from one release, so N records of k rows each are N unordered releases, and the
guarantee is that of N records. ``shuffled_records=N`` declares *groups* of at least N records, each
record with all its rows. A record is hidden in its own group, and more records never weaken the
guarantee. A shorter last group would break the declaration: its records must join another group.

Apart from its text and its label, a row must not hold anything about its record, so kept columns
are refused. The journal, with which an interrupted run can continue, holds the releases in the
order of the input. The journal is removed when the output is complete, but its blocks may stay on
the disk. Against somebody who reads the journal, each record has only its local guarantee.

If labels are copied, a record is hidden only among the records with the same label. So the label
with the fewest records determines the guarantee. Suppose that labels are copied, and that the user
declares that only some of the file's records are shuffled together. Then a record may be the only
one with its label among these records, so no record counts as hidden.
"""

from dataclasses import dataclass

from adept.data.formats import STANDARD_STREAM
from adept.errors import ConfigurationError
from adept.mechanisms import LocalRandomizer
from adept.mechanisms.shuffling import central_epsilon, draws_of
from adept.release.records.columns import ReleaseOptions
from adept.rewriting.rewriter import Rewriter

MAX_DELTA, MAX_DELTA_SHARE = 1e-6, 0.1  # the usual central delta: at most this, and at most this share of 1 / n


@dataclass(frozen=True, kw_only=True)
class Shuffled:
    """The guarantee of a shuffled file for readers who see its records only in their new order.

    The attributes are, in order, the fields ``verify.SHUFFLED`` of a statement.

    Attributes:
        here: True if this run shuffled the file; False if somebody else shuffles it.
        records: least number of records that are shuffled together.
        smallest: smallest number of records among which a record is hidden.
        epsilon, delta: the central guarantee for replacing one record.
    """

    here: bool
    records: int
    smallest: int
    epsilon: float
    delta: float


def check_shuffling(rewriter: Rewriter, target: str, options: ReleaseOptions) -> None:
    """Raise ConfigurationError for a shuffled release that this module's proof does not cover."""
    if not options.shuffled:
        return
    draws_of(rewriter.mechanism, dim=rewriter.model.config.latent_dim, labels=options.response)
    if options.shuffle and options.shuffled_records is not None:
        raise ConfigurationError(
            "shuffled_records must be left out for shuffle=true, which shuffles all records together: give one of the two"
        )
    if options.keep_columns:
        raise ConfigurationError("keep_columns must be empty for shuffled records: a kept column can reveal the order")
    if (options.max_records_per_person or 1) > 1:
        raise ConfigurationError(
            f"max_records_per_person must be 1 for shuffled records, got {options.max_records_per_person}: "
            "set it to 1, with excess=drop, or do without shuffling"
        )
    if not options.shuffle and rewriter.decoding.candidates > 1:
        raise ConfigurationError(
            f"decoding.candidates must be 1 for shuffled_records, got {rewriter.decoding.candidates}: by rounding, the best one "
            "may depend on the old order"
        )
    if options.shuffle and target == STANDARD_STREAM:
        raise ConfigurationError("output must be a file for shuffle=true: a stream is read at once, in the old order")


def find_shuffled(
    mechanism: LocalRandomizer, options: ReleaseOptions, *, dim: int, records: int, smallest: int
) -> Shuffled | None:
    """Return the guarantee from shuffling, or None if nobody shuffles or no record was released."""
    if not options.shuffled or not smallest:
        return None
    together = min(records, options.shuffled_records or records)
    if together < records and smallest < records:
        smallest = 1
    hidden = min(smallest, together)
    delta = options.central_delta or min(MAX_DELTA, MAX_DELTA_SHARE / hidden)
    draws = draws_of(mechanism, dim=dim, labels=options.response)
    central = central_epsilon(draws, records=hidden, delta=delta)
    return Shuffled(here=options.shuffle, records=together, smallest=hidden, epsilon=central, delta=delta)
