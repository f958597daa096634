"""The section of a comparison's page that shows how often each attack succeeds."""

from collections.abc import Sequence
from typing import Any

from adept.attacks.attack_game import AttackRow, per_hundred
from adept.comparison.results import AttackedRelease, exceeds
from adept.mechanisms.guarantee import words
from adept.report.table import title

Attack = tuple[AttackedRelease, AttackRow]


def describe_attacks(found: Sequence[AttackedRelease]) -> dict[str, Any]:
    """Return lines of the table, sentences on refuted claims, and warnings of defective mechanisms."""
    found = sorted(found, key=lambda one: one.claimed_epsilon)
    attacks = [(attacked, row) for attacked in found for row in attacked.rows]
    groups: dict[str, list[tuple[list[str], bool]]] = {}
    for attacked, row in attacks:
        groups.setdefault(title(attacked.mechanism), []).append((_cells(attacked, row), row.refutes_any))
    return {"lines": groups, "findings": _findings(attacks), "defects": _defects(attacks)}


def _cells(attacked: AttackedRelease, row: AttackRow) -> list[str]:
    false = exceeds(attacked.epsilon, attacked.claimed_epsilon)
    slots = "" if row.success == "exact" else ", slot values"
    return [
        f"{attacked.claimed_epsilon:g}" + (f" (true {words(attacked.epsilon)})" if false else ""),
        f"{row.detail['candidates']:,} {'private' if row.knows == 'pool' else 'in all'}{slots}",
        f"{_short(row.rate.value)} ({_short(row.rate.low)} to {_short(row.rate.high)})",
        _short(row.claimed_bound),
        _short(row.bound),
        _short(row.optimum),
        _short(row.detail.get("beyond_claim")),
        _verdict(row),
    ]


def _short(share: float | None) -> str:
    return "–" if share is None else per_hundred(share).replace("fewer than", "<")


def _verdict(row: AttackRow) -> str:
    if row.beyond_bound:
        return "beyond the truth: a defect"
    return "claim refuted" if row.refutes_any else "within the claim"


def _describe(attacked: AttackedRelease, row: AttackRow) -> str:
    what = "record" if row.success == "exact" else "record’s slot values"
    crowd = "private utterances" if row.knows == "pool" else "utterances that could have been said"
    among = f"a {what} among {row.detail['candidates']:,} {crowd}"
    return f"{title(attacked.mechanism)}, claimed epsilon {attacked.claimed_epsilon:g}, {among}"


def _findings(attacks: Sequence[Attack]) -> list[str]:
    against: dict[str, str] = {}
    for attacked, row in attacks:
        if row.refutes_any:
            finding = f"What a release gives away ({_describe(attacked, row)}): {_against(row)}."
            against.setdefault(attacked.mechanism, finding)
    if attacks and not against:
        return ["Attacks on single releases found nothing that a claim does not allow, which is no proof."]
    return list(against.values())


def _against(row: AttackRow) -> str:
    allowed = per_hundred(row.claimed_bound)
    right = f"of 100 guesses {per_hundred(row.rate.value)} are right, where the claim allows {allowed}"
    if not (beyond := row.detail.get("beyond_claim")):
        return right
    return f"{right}, and {per_hundred(beyond)} of 100 releases change the odds more than it allows"


def _defects(attacks: Sequence[Attack]) -> list[str]:
    return [
        f"{title(attacked.mechanism)} at epsilon {attacked.claimed_epsilon:g} gave away more than its true epsilon of "
        f"{words(attacked.epsilon)} permits: {row.words} So the mechanism, or the bound, has a defect; do not use it."
        for attacked, row in attacks
        if row.beyond_bound
    ]
