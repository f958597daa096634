"""The table of ``trust=all``: curves at true epsilons, and a line for each kind of trust."""

import pytest

from adept.comparison.trust import TrustRow
from adept.report import trust

EPSILONS = [0.5, 2.0, 8.0]
MADE = {
    ("central", "synthesizer", "private"): (1.0, (0.6, 0.7, 0.8)),
    ("shuffled", "learned_codebook", "private"): (0.25, (0.1, 0.4, 0.75)),
    ("local", "learned_codebook", "private"): (1.0, (0.1, 0.4, 0.75)),
    ("shuffled", "learned_codebook", "copied"): (0.9, (0.2, 0.5, 0.78)),
    ("local", "learned_codebook", "copied"): (1.0, (0.2, 0.5, 0.78)),
    ("local", "original", "private"): (1.0, (0.02, 0.02, 0.03)),
}


def row(kind: str, mechanism: str, labels: str, epsilon: float | None, accuracy: float, seed: int = 0) -> TrustRow:
    return TrustRow(
        data="d",
        trust=kind,
        mechanism=mechanism,
        labels=labels,
        epsilon=epsilon,
        delta=1e-6 if kind == "shuffled" else 0.0,
        claimed_epsilon=epsilon,
        records=100 if kind == "shuffled" else None,
        seed=seed,
        accuracy=accuracy,
        macro_f1=accuracy,
    )


def made() -> list[TrustRow]:
    """Two seeds, .02 apart."""
    references = [
        row("reference", name, labels, None, accuracy)
        for name, accuracy in (("none", 0.9), ("random", 0.02))
        for labels in ("private", "copied")
    ]
    rows = [
        row(*key, factor * epsilon, accuracy + 0.02 * seed, seed)
        for key, (factor, accuracies) in MADE.items()
        for epsilon, accuracy in zip(EPSILONS, accuracies, strict=True)
        for seed in (0, 1)
    ]
    return [*references, *rows]


def test_curves_are_means_at_true_budgets_private_labels_first() -> None:
    found = trust.trace_curves(made())
    assert [(curve.trust, curve.mechanism, curve.labels) for curve in found] == [
        *[key for key in MADE if key[2] == "private"],
        *[key for key in MADE if key[2] == "copied"],
    ]
    assert [epsilon for epsilon, *_ in found[1].points] == [0.125, 0.5, 2.0]
    assert [middle for _, _, middle, _ in found[0].points] == pytest.approx([0.61, 0.71, 0.81])
    assert found[0].points[0][1:] == pytest.approx((0.6, 0.61, 0.62))


def test_the_table_says_at_which_central_epsilon_a_shuffled_file_is_as_good() -> None:
    grid = trust.accuracy_grid(made())
    assert grid.headings == ["true epsilon", "labels", "0.5", "2", "8"]
    lines = {(line[0], line[1]): line[2:] for line in grid.sections[""]}
    assert lines["central", "private"] == ["0.610", "0.710", "0.810"]
    assert lines["shuffled", "private"] == ["0.110 at 0.125", "0.410 at 0.5", "0.760 at 2"]
    assert lines["the text itself", ""] == ["0.900"] * 3


def test_several_local_mechanisms_are_told_apart() -> None:
    more = [row("local", "description", "private", epsilon, 0.3) for epsilon in EPSILONS]
    names = {line[0] for line in trust.accuracy_grid([*made(), *more]).sections[""]}
    assert {"local, learned_codebook", "local, description"} <= names
