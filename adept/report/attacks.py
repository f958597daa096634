"""What attacks found, for a comparison's page: of 100 guesses so many are right, beside what claim and truth allow.

A rate whose whole interval lies above a bound refutes it. A claim can be refuted without that: a release that moves the odds
between two records further than e^epsilon breaks the promise, however seldom the guess is right.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from adept.attacks.reconstruction_game import GivenAway
from adept.attacks.result import per_hundred
from adept.comparison.results import Attacked, AttackLine
from adept.mechanisms.guarantee import words
from adept.report.table import title

HEADINGS = (
    "claimed epsilon",
    "among",
    "right of 100 (interval)",
    "the claim allows",
    "possible in truth",
    "best possible",
    "of 100 releases beyond the claim",
    "verdict",
)
GIVEN_AWAY_HEADINGS = ("record", "given away by", "attacker's certainty", "the claim allows")
ROUNDING = 1e-6  # of probabilities that were summed in another order


@dataclass(frozen=True)
class Shown:
    """A line of the table: its cells, and whether the last one speaks against the claim."""

    cells: list[str]
    refuted: bool


@dataclass(frozen=True)
class Section:
    """What a page says of attacks.

    Attributes:
        lines: of the table, under each mechanism's title.
        sentences: the odds in words, for each mechanism.
        findings: a sentence on each claim that an attack refutes.
        defects: a warning for each attack that is better than the true epsilon permits.
        given_away: records that were given away beyond a claim, as cells.
    """

    lines: list[tuple[str, list[Shown]]]
    sentences: list[str]
    findings: list[str]
    defects: list[str]
    given_away: list[list[str]]


def section(found: Sequence[Attacked]) -> Section:
    """Return what a page says of the attacks of a comparison; nothing where there were none."""
    groups: dict[str, list[Shown]] = {}
    for line in _lines(found):
        groups.setdefault(_title(line), []).append(Shown(_cells(line), refuted(line)))
    return Section(list(groups.items()), _sentences(found), _findings(found), _defects(found), _given_away(found))


def refuted(line: AttackLine) -> bool:
    """Did the attack show that a claim is false."""
    return line.refutes_claim or line.beyond_bound or bool(line.beyond_claim)


def _cells(line: AttackLine) -> list[str]:
    false = line.epsilon > line.claimed_epsilon * (1 + 1e-9)
    return [
        f"{line.claimed_epsilon:g}" + (f" (true {words(line.epsilon)})" if false else ""),
        _among(line),
        f"{_short(line.rate)} ({_short(line.low)} to {_short(line.high)})",
        _short(line.claimed_bound),
        _short(line.bound),
        "–" if line.optimum is None else _short(line.optimum),
        "–" if line.beyond_claim is None else _short(line.beyond_claim),
        _verdict(line),
    ]


def _among(line: AttackLine) -> str:
    slots = "" if line.success == "exact" else ", slot values"
    return f"{line.candidates:,} {'private' if line.knows == 'pool' else 'in all'}{slots}"


def _short(share: float) -> str:
    return per_hundred(share).replace("fewer than", "<")


def _verdict(line: AttackLine) -> str:
    if line.beyond_bound:
        return "beyond the truth: a defect"
    return "claim refuted" if refuted(line) else "within the claim"


def _sentences(found: Sequence[Attacked]) -> list[str]:
    """The odds in words, for each mechanism at its least budget: of a guess that refutes the claim, else of the first."""
    least: dict[str, AttackLine] = {}
    for line in sorted(_lines(found), key=lambda line: (line.claimed_epsilon, not line.refutes_claim)):
        least.setdefault(_title(line), line)
    chosen = [least[name] for name in dict.fromkeys(map(_title, _lines(found)))]
    return [f"{_attack(line)}: {line.words[0].lower()}{line.words[1:]}" for line in chosen]


def _attack(line: AttackLine) -> str:
    what = "record" if line.success == "exact" else "record’s slot values"
    crowd = "private utterances" if line.knows == "pool" else "utterances that could have been said"
    return f"{_title(line)}, claimed epsilon {line.claimed_epsilon:g}, a {what} among {line.candidates:,} {crowd}"


def _findings(found: Sequence[Attacked]) -> list[str]:
    """A sentence on each claim that an attack refutes, at the least budget where it does; none if there was no attack."""
    against: dict[str, AttackLine] = {}
    for line in sorted(filter(refuted, _lines(found)), key=lambda line: line.claimed_epsilon):
        against.setdefault(_title(line), line)
    if found and not against:
        return ["Attacks on single releases found nothing that a claim does not allow, which is no proof."]
    return [f"What a release gives away ({_attack(line)}): {_against(line)}." for line in against.values()]


def _against(line: AttackLine) -> str:
    right = (
        f"of 100 guesses {per_hundred(line.rate)} are right, where the claim allows {per_hundred(line.claimed_bound)}"
    )
    if not line.beyond_claim:
        return right
    return f"{right}, and {per_hundred(line.beyond_claim)} of 100 releases move odds further than it allows"


def _defects(found: Sequence[Attacked]) -> list[str]:
    """A warning for each attack that is better than the true epsilon permits."""
    return [
        f"{_title(line)} at epsilon {line.claimed_epsilon:g} gave away more than its true epsilon of {words(line.epsilon)} "
        f"permits: {line.words} So the mechanism, or the bound, has a defect; do not use it."
        for line in _lines(found)
        if line.beyond_bound
    ]


def _given_away(found: Sequence[Attacked]) -> list[list[str]]:
    """The records that each mechanism gave away beyond its claim, at the least budget where it did, as cells."""
    shown: dict[str, list[list[str]]] = {}
    for one in sorted(found, key=lambda one: one.lines[0].claimed_epsilon):
        line = one.lines[0]
        beyond = [away for away in one.given_away if refuted(line) and away.certainty > away.allowed + ROUNDING]
        if beyond:
            by = f"{_title(line)}, claimed epsilon {line.claimed_epsilon:g}"
            shown.setdefault(_title(line), [_given_away_cells(away, by) for away in beyond])
    return [cells for records in shown.values() for cells in records]


def _given_away_cells(away: GivenAway, by: str) -> list[str]:
    return [away.text, by, f"{per_hundred(away.certainty)} %", f"at most {per_hundred(away.allowed)} %"]


def _lines(found: Sequence[Attacked]) -> list[AttackLine]:
    return [line for one in found for line in one.lines]


def _title(line: AttackLine) -> str:
    return title(line.mechanism, "", line.clip)
