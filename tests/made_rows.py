"""Rows of a comparison with figures that are easy to tell apart, for tests of what is made of them."""

from dataclasses import replace
from typing import Any

from adept.attacks.attack_game import AttackRow, Rate
from adept.comparison.config import ModelKind
from adept.comparison.results import AttackedRelease, ResultRow

BASE = ResultRow(
    data="atis",
    protocol="disjoint",
    mechanism="none",
    claimed_epsilon=None,
    epsilon=float("inf"),
    delta=0.0,
    dim=16,
    seed=0,
    classifier="tfidf",
    labels="copy",
    samples=1,
    accuracy=0.9,
    macro_f1=0.5,
    records_per_second=None,
    clip=None,
    majority_accuracy=0.55,
    train_records=2000,
    test_records=10,
)
BUDGETS = (8.0, 64.0)


def made(mechanism: str, accuracy: float, epsilon: float | None = None, **fields: Any) -> ResultRow:
    """A row of text that a model with an l2 clip wrote, its true epsilon being the claimed one, or zero."""
    model = {"clip": "l2", "content": "none", "decoder": "lstm"}
    budget = {"claimed_epsilon": epsilon, "epsilon": epsilon or 0.0}
    return replace(BASE, mechanism=mechanism, accuracy=accuracy, **{**model, **budget, **fields})


def make_rows() -> list[ResultRow]:
    """The original and its correction over one model: three seeds, two budgets, both ends."""
    rows = []
    for seed in (0, 1, 2):
        rows += [
            replace(BASE, seed=seed),
            made("identity", 0.88, seed=seed, epsilon=None),
            made("random", 0.6, seed=seed),
        ]
        for epsilon, original, corrected in zip(BUDGETS, (0.8, 0.87), (0.61, 0.7), strict=True):
            rows.append(replace(made("original", original + 0.01 * seed, epsilon, seed=seed), epsilon=4 * epsilon))
            rows.append(made("sqrt_n", corrected, epsilon, seed=seed))
    return rows


def make_kept(*, slots: bool = True) -> list[ResultRow]:
    """The mixed rows with what their text keeps of a record: more with the budget, slots (where there are such) before words."""

    def measured(row: ResultRow) -> ResultRow:
        if row.decoder is None:
            return row
        words = min(1.0, row.accuracy * min(row.epsilon, 64.0) / 64)
        found = {"words": words, "words_other": 0.1, "exact": words / 4, "exact_other": 0.01, "fluency": 0.75}
        return replace(row, **found, **({"slots": words / 2, "slots_other": 0.05} if slots else {}))

    return [measured(row) for row in make_mixed()]


def make_mixed() -> list[ResultRow]:
    """The same beside what must not be mixed with it: a second model and a second classifier."""
    topics = {"clip": "sphere", "content": "topics"}
    rows = [
        *make_rows(),
        replace(BASE, mechanism="public_only", accuracy=0.85, epsilon=0.0, majority_accuracy=0.1),
        made("random", 0.2, **topics),
        made("identity", 0.87, **topics),
    ]
    for epsilon in BUDGETS:
        rows.append(made("learned_codebook", 0.75, epsilon, **topics))
    return rows + [
        replace(row, classifier="lstm", accuracy=row.accuracy / 2) for row in rows if row.classifier == "tfidf"
    ]


def attacked(
    mechanism: str,
    *,
    epsilon: float,
    right: int = 80,
    bound: float = 0.97,
    claimed_bound: float = 0.03,
    **detail: float,
) -> AttackedRelease:
    """An attack on 100 releases of a mechanism that claims 8, by default refuted: 80 are named where the claim allows 3."""
    row = AttackRow(
        attack="reconstruction",
        knows="pool",
        success="exact",
        rate=Rate.of(right, 100, confidence=0.9999),
        without_release=0.01,
        bound=bound,
        claimed_bound=claimed_bound,
        optimum=None,
        detail={"candidates": 1200, **detail},
    )
    return AttackedRelease(
        mechanism=mechanism,
        model=ModelKind("l2", "none"),
        claimed_epsilon=8.0,
        epsilon=epsilon,
        delta=0.0,
        rows=[row],
    )
