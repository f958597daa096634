"""Record-free references: accuracies that public knowledge reaches by itself, and what records add to them.

A reference is *record-free* if it reads no private record: the label whose name is nearest by the
sentence encoder, a classifier of public examples or, if labels are copied, the commonest label. A
release is worth only what it adds to the best of them. Other public encoders, larger than ours, may
know more from the names of labels.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adept.data.corpus import Corpus
from adept.evaluation.classifiers import Evaluation, score
from adept.evaluation.metrics import ConfidenceInterval, gain_in_hits
from adept.models.names import label_by_names

NEAREST_NAME, COMMONEST_LABEL, EXAMPLES = "nearest_name", "commonest_label", "examples"
TITLES = {
    NEAREST_NAME: "the label with the nearest name",
    COMMONEST_LABEL: "always the commonest label",
    EXAMPLES: "public examples alone",
}
LARGER_ENCODER = "A larger free encoder may have more than ours has from the names of labels."

# Records of a small file, and two standard errors of one release's accuracy, times the root of the number of records
SMALL_RECORDS, RELEASE_SPREAD = 1000, 0.8


def describe_variation(records: int) -> str | None:
    """Return a clause on how much the accuracy of one release of few records varies; None if they are not few."""
    if not 0 < records < SMALL_RECORDS:
        return None
    spread = RELEASE_SPREAD / math.sqrt(records)
    return (
        f"the accuracy of one release of a small file varies: with {records} records, another release may have about "
        f"{spread:.2f} more or less"
    )


@dataclass(frozen=True)
class AddedByRecords:
    """The gain in accuracy over the best record-free reference."""

    name: str  # of the reference, a key of TITLES
    free: float  # accuracy of the reference
    gain: ConfidenceInterval

    @property
    def verdict(self) -> str:
        """Return "" if the records add something, and otherwise a clause that says they do not."""
        if self.gain.low > 0:
            return ""
        shown = "" if self.gain.value <= 0 else " that this test can show"
        return f"the records add nothing{shown}; {TITLES[self.name]}, which is free, has {self.free:.3f}"


def measure_references(labels: Sequence[str], test: Corpus, *, copied: bool) -> dict[str, Evaluation]:
    """Return the record-free references that need no file but the test.

    Args:
        labels: the labels of the training records.
        copied: if True, labels are copied, so their frequencies are public.
    """
    found = {}
    if (nearest := label_by_names(sorted(set(labels)), test.texts)) is not None:
        found[NEAREST_NAME] = score(nearest, test, learned=[], majority=labels)
    if copied:
        [(commonest, _)] = Counter(labels).most_common(1)
        found[COMMONEST_LABEL] = score([commonest] * len(test), test, learned=[], majority=labels)
    return found


def compare_with_free(found: Evaluation, others: Mapping[str, Evaluation]) -> AddedByRecords | None:
    """Compare a classifier with the best record-free reference among others; None if there is none."""
    free = {name: other for name, other in others.items() if name in TITLES}
    if not free:
        return None
    best = max(free, key=lambda name: free[name].accuracy.value)
    return AddedByRecords(best, free[best].accuracy.value, gain_in_hits(found.hits, free[best].hits))
