"""Attacks, for a comparison's page: of 100 guesses so many are right, beside what claim and truth allow.

A rate whose whole interval lies above a bound refutes it. A claim can be refuted without that: a release that moves the odds
between two records further than e^epsilon breaks the promise, however seldom the guess is right.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from adept.attacks.game import AttackRow, GivenAway, per_hundred
from adept.comparison.results import AttackedRelease
from adept.mechanisms.guarantee import words
from adept.report.table import title

ROUNDING = 1e-6  # of probabilities that were summed in another order

Attack = tuple[AttackedRelease, AttackRow]


@dataclass(frozen=True)
class AttackSection:
    """The page's section on attacks.

    Attributes:
        lines: cells of the table, and True if the last one speaks against the claim, under each mechanism's title.
        sentences: the odds in words, for each mechanism.
        findings: a sentence on each claim that an attack refutes.
        defects: a warning for each attack that is better than the true epsilon permits.
        given_away: records that were given away beyond a claim, as cells.
    """

    lines: list[tuple[str, list[tuple[list[str], bool]]]]
    sentences: list[str]
    findings: list[str]
    defects: list[str]
    given_away: list[list[str]]


def section(found: Sequence[AttackedRelease]) -> AttackSection:
    """Return the section on the attacks of a comparison; empty if there were none."""
    attacks = [(attacked, row) for attacked in found for row in attacked.rows]
    groups: dict[str, list[tuple[list[str], bool]]] = {}
    for attacked, row in attacks:
        groups.setdefault(_title(attacked), []).append((_cells(attacked, row), is_refuted(row)))
    return AttackSection(
        list(groups.items()), _sentences(attacks), _findings(attacks), _defects(attacks), _given_away(found)
    )


def is_refuted(row: AttackRow) -> bool:
    """Return True if the attack showed that a claim is false."""
    return row.refutes_claim or row.beyond_bound or bool(row.detail.get("beyond_claim"))


def _cells(attacked: AttackedRelease, row: AttackRow) -> list[str]:
    false = attacked.epsilon > attacked.claimed_epsilon * (1 + 1e-9)
    slots, beyond = "" if row.success == "exact" else ", slot values", row.detail.get("beyond_claim")
    return [
        f"{attacked.claimed_epsilon:g}" + (f" (true {words(attacked.epsilon)})" if false else ""),
        f"{row.detail['candidates']:,} {'private' if row.knows == 'pool' else 'in all'}{slots}",
        f"{_short(row.rate.value)} ({_short(row.rate.low)} to {_short(row.rate.high)})",
        _short(row.claimed_bound),
        _short(row.bound),
        _short(row.optimum),
        _short(beyond),
        _verdict(row),
    ]


def _short(share: float | None) -> str:
    return "–" if share is None else per_hundred(share).replace("fewer than", "<")


def _verdict(row: AttackRow) -> str:
    if row.beyond_bound:
        return "beyond the truth: a defect"
    return "claim refuted" if is_refuted(row) else "within the claim"


def _sentences(attacks: Sequence[Attack]) -> list[str]:
    """The odds in words, for each mechanism at its least budget: of a guess that refutes the claim, else of the first."""
    least: dict[str, str] = {}
    for attacked, row in sorted(attacks, key=lambda one: (one[0].claimed_epsilon, not one[1].refutes_claim)):
        least.setdefault(_title(attacked), f"{_attack(attacked, row)}: {row.words[0].lower()}{row.words[1:]}")
    return [least[name] for name in dict.fromkeys(_title(attacked) for attacked, _ in attacks)]


def _attack(attacked: AttackedRelease, row: AttackRow) -> str:
    what = "record" if row.success == "exact" else "record’s slot values"
    crowd = "private utterances" if row.knows == "pool" else "utterances that could have been said"
    among = f"a {what} among {row.detail['candidates']:,} {crowd}"
    return f"{_title(attacked)}, claimed epsilon {attacked.claimed_epsilon:g}, {among}"


def _findings(attacks: Sequence[Attack]) -> list[str]:
    """A sentence on each claim that an attack refutes, at the least budget where it does; none if there was no attack."""
    against: dict[str, str] = {}
    for attacked, row in sorted(attacks, key=lambda one: one[0].claimed_epsilon):
        if is_refuted(row):
            finding = f"What a release gives away ({_attack(attacked, row)}): {_against(row)}."
            against.setdefault(_title(attacked), finding)
    if attacks and not against:
        return ["Attacks on single releases found nothing that a claim does not allow, which is no proof."]
    return list(against.values())


def _against(row: AttackRow) -> str:
    allowed = per_hundred(row.claimed_bound)
    right = f"of 100 guesses {per_hundred(row.rate.value)} are right, where the claim allows {allowed}"
    if not (beyond := row.detail.get("beyond_claim")):
        return right
    return f"{right}, and {per_hundred(beyond)} of 100 releases move odds further than it allows"


def _defects(attacks: Sequence[Attack]) -> list[str]:
    return [
        f"{_title(attacked)} at epsilon {attacked.claimed_epsilon:g} gave away more than its true epsilon of "
        f"{words(attacked.epsilon)} permits: {row.words} So the mechanism, or the bound, has a defect; do not use it."
        for attacked, row in attacks
        if row.beyond_bound
    ]


def _given_away(found: Sequence[AttackedRelease]) -> list[list[str]]:
    """The records that each mechanism gave away beyond its claim, at the least budget where it did, as cells."""
    shown: dict[str, list[list[str]]] = {}
    for attacked in sorted(found, key=lambda one: one.claimed_epsilon):
        by = f"{_title(attacked)}, claimed epsilon {attacked.claimed_epsilon:g}"
        beyond = [away for away in attacked.given_away if away.certainty > away.allowed + ROUNDING]
        if beyond and is_refuted(attacked.rows[0]):
            shown.setdefault(_title(attacked), [_given_away_cells(away, by) for away in beyond])
    return [cells for records in shown.values() for cells in records]


def _given_away_cells(away: GivenAway, by: str) -> list[str]:
    return [away.text, by, f"{per_hundred(away.certainty)} %", f"at most {per_hundred(away.allowed)} %"]


def _title(attacked: AttackedRelease) -> str:
    return title(attacked.mechanism)
