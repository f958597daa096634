"""Colours of the verdicts in the figures of both audits."""

VERDICT_COLOURS = {
    "violated": "#c0392b",
    "not refuted": "#2a9d5c",
    "could not tell": "#e08e0b",
    "not judged": "#7f7f7f",
}
