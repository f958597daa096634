"""The zoo as a table and a figure: what is claimed, for what unit, and what an audit certifies."""

from collections.abc import Sequence

from adept.plotting import INK, Table, drawing
from adept.studies.zoo import ZooRow

COLOURS = {"violated": "#c0392b", "not refuted": "#2a9d5c", "not judged": "#7f7f7f"}
LONGEST = 44  # characters of a record in the table


def tables(rows: Sequence[ZooRow]) -> list[Table]:
    """Two tables: the papers' own claims, and what their numbers would mean per record."""
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
    pair = " / ".join(f"{text[:LONGEST]}{'...' if len(text) > LONGEST else ''}" for text in (row.first, row.second))
    return [
        row.mechanism,
        row.unit,
        f"{row.epsilon:.3g}",
        row.true_epsilon,
        row.verdict,
        f"{row.certified_epsilon:.2f}",
        pair,
        row.why,
    ]


def draw(rows: Sequence[ZooRow]) -> str:
    """Draw the certified epsilon of every reading as a bar, the claimed one as a line: beyond it, the claim is refuted."""
    shown = sorted(rows, key=lambda row: (not row.claimed, row.verdict != "violated"))
    with drawing(1, 1, size=(9.5, 0.36 * len(shown) + 1.4)) as opened:
        axis = opened.axes[0][0]
        for place, row in enumerate(reversed(shown)):
            axis.barh(
                place,
                row.certified_epsilon,
                color=COLOURS[row.verdict],
                alpha=1.0 if row.claimed else 0.45,
                height=0.62,
            )
            axis.plot([row.epsilon] * 2, [place - 0.4, place + 0.4], color=INK, lw=1.6)
        labels = [f"{row.mechanism} ({row.unit}{'' if row.claimed else '; not claimed'})" for row in reversed(shown)]
        axis.set_yticks(range(len(shown)), labels, fontsize=9)
        axis.set_xlabel("epsilon: certified by the audit (bar), claimed (line)")
        for verdict, colour in COLOURS.items():
            if any(row.verdict == verdict for row in shown):
                axis.barh(0, 0, color=colour, label=verdict)
        axis.legend(frameon=False, loc="lower right")
    return opened.svg
