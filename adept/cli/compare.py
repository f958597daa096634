"""``adept compare``: mechanisms x budgets x seeds on one data set, with a table, a figure and a page."""

import sys

from adept.cli.app import execute
from adept.cli.console import progress, show_table
from adept.comparison.config import ALL, CompareConfig
from adept.comparison.run import Comparison
from adept.report import trust
from adept.report.page import Report, write


def run(config: CompareConfig) -> Report:
    """Compare, and write the report. Raises AdeptError for what the user can mend."""
    if config.trust == ALL:
        parts = trust.TrustComparison(config)
        _advance(parts)
        return trust.write(parts)
    comparison = Comparison(config)
    _advance(comparison)
    return write(comparison.collect())


def _advance(comparison: Comparison | trust.TrustComparison) -> None:
    """Make what is not there yet, with a progress bar on a terminal."""
    with progress("rows", lambda: comparison.size) as told:
        for done in comparison.run():
            told(done)


def show(report: Report) -> None:
    """Print what the page says first, the tables after it, and where the page is."""
    sys.stdout.write("\n".join([*report.findings[:1], *report.warnings, ""]) + "\n")
    for grid in report.tables:
        show_table(grid.title, grid.headings, grid.sections[0].lines)
    sys.stdout.write(f"Report: {report.path}\n")


def main() -> int:
    """Run ``adept compare`` from ``sys.argv``."""
    return execute("compare", lambda config: show(run(config)))
