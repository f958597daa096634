"""The zoo's verdicts: every reading of every claim, put to `adept.audit`; as rows, a table and a figure."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

from adept import audit
from adept.audit import Claim, NotJudged, Verdict
from adept.errors import ConfigurationError
from adept.plotting import INK, Table, drawing
from adept.studies.zoo.exhibits import ClaimReading, Exhibit, exhibits

TRIALS = 20_000
NAMES = (
    *("ADePT", "DPText", "DP-BART", "DP-Rewrite, program", "DP-Prompt", "DP-Prompt, length of the record"),
    *("SanText", "CMP", "Mahalanobis", "Vickrey", "TEM", "SanText+", "CusText", "RANTEXT"),
)
CONFIDENCE = 0.999
COLOURS = {"violated": "#c0392b", "not refuted": "#2a9d5c", "not judged": "#7f7f7f"}
SHOWN_CHARACTERS = 44  # of a record in the table


@dataclass(frozen=True, kw_only=True)
class ZooRow(ClaimReading):
    """One reading of one claim, and what the audit says of it."""

    expected: str  # "holds" or "false", stated before the audit
    verdict: str  # "violated", "not refuted" or "not judged"
    certified_epsilon: float
    failed: str  # the checks that find a violation
    first: str
    second: str
    seconds: float

    @property
    def as_expected(self) -> bool:
        return self.verdict == ("not refuted" if self.expected == "holds" else "violated")


def run(*, mechanisms: tuple[str, ...] = NAMES, trials: int = TRIALS) -> Iterator[ZooRow]:
    """Audit every reading at confidence 0.999, with ``trials`` releases of each of two records.

    Raises:
        ConfigurationError: there is no exhibit of that name.
    """
    found = exhibits()
    if unknown := set(mechanisms) - {exhibit.mechanism for exhibit in found}:
        raise ConfigurationError(f"mechanisms must be of {', '.join(NAMES)}, got {', '.join(sorted(unknown))}")
    for name in mechanisms:
        yield from (_row(exhibit, trials) for exhibit in found if exhibit.mechanism == name)


def _row(exhibit: Exhibit, trials: int) -> ZooRow:
    started, mechanism = time.monotonic(), exhibit.make()
    try:
        claim = Claim(mechanism, epsilon=exhibit.epsilon)
        result = audit.run(claim, pairs=[exhibit.pair], trials=trials, confidence=CONFIDENCE)
    except NotJudged as failure:
        result = failure.result
    return ZooRow(
        **{field.name: getattr(exhibit, field.name) for field in fields(ClaimReading)},
        expected="holds" if exhibit.holds else "false",
        verdict=result.outcome,
        certified_epsilon=result.certified_epsilon,
        failed=" ".join(check.name for check in result.checks if check.verdict is Verdict.FAILED),
        first=exhibit.pair[0],
        second=exhibit.pair[1],
        seconds=time.monotonic() - started,
    )


def tables(rows: Sequence[ZooRow]) -> list[Table]:
    """Return a table of the papers' own claims, and one of their numbers read per record."""
    headings = ["mechanism", "unit", "claimed", "true", "verdict", "certified", "pair that was tried", "why"]
    titles = {
        True: "Claims, each for its own unit (confidence 0.999)",
        False: "What nobody claims: the same number, read as epsilon of a whole record, or of any two words",
    }
    return [
        (title, headings, [_line(row) for row in rows if row.claimed is claimed])
        for claimed, title in titles.items()
        if any(row.claimed is claimed for row in rows)
    ]


def _line(row: ZooRow) -> list[str]:
    shown = [text[:SHOWN_CHARACTERS] + "..." * (len(text) > SHOWN_CHARACTERS) for text in (row.first, row.second)]
    found = [row.verdict, f"{row.certified_epsilon:.2f}", " / ".join(shown), row.why]
    return [row.mechanism, row.unit, f"{row.epsilon:.3g}", row.true_epsilon, *found]


def draw(rows: Sequence[ZooRow]) -> str:
    """Draw the certified epsilon of every reading as a bar, the claimed one as a line."""
    shown = sorted(rows, key=lambda row: (not row.claimed, row.verdict != "violated"))
    with drawing(1, 1, size=(9.5, 0.36 * len(shown) + 1.4)) as opened:
        axis = opened.axes[0][0]
        for place, row in enumerate(reversed(shown)):
            style = {"color": COLOURS[row.verdict], "alpha": 1.0 if row.claimed else 0.45}
            axis.barh(place, row.certified_epsilon, height=0.62, **style)
            axis.plot([row.epsilon] * 2, [place - 0.4, place + 0.4], color=INK, lw=1.6)
        labels = [f"{row.mechanism} ({row.unit}{'' if row.claimed else '; not claimed'})" for row in reversed(shown)]
        axis.set_yticks(range(len(shown)), labels, fontsize=9)
        axis.set_xlabel("epsilon: certified by the audit (bar), claimed (line)")
        for verdict, colour in COLOURS.items():
            if any(row.verdict == verdict for row in shown):
                axis.barh(0, 0, color=colour, label=verdict)
        axis.legend(frameon=False, loc="lower right")
    return opened.svg
