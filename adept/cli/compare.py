"""``adept compare``: mechanisms x budgets x seeds on one data set, with a table, a figure and a page."""

import sys

from adept.cli.app import execute
from adept.cli.console import progress, show_table
from adept.comparison.config import CompareConfig
from adept.comparison.run import Comparison
from adept.report.page import Report, write


def run(config: CompareConfig) -> Report:
    """Compare, and write the report. Raises AdeptError for what the user can mend."""
    comparison = Comparison(config)
    rows = len(comparison.plan.cells) * len(config.seeds)  # or a few too many, where there is little public text
    with progress("rows", lambda: rows) as told:
        for done in comparison.run():
            told(done)
    return write(comparison.collect())


def show(report: Report) -> None:
    """Print what the page says first, the tables after it, and where the page is."""
    sys.stdout.write("\n".join([report.findings[0], *report.warnings, ""]) + "\n")
    for grid in report.tables:
        show_table(grid.title, grid.headings, grid.sections[0].lines)
    sys.stdout.write(f"Report: {report.path}\n")


def main() -> int:
    """Run ``adept compare`` from ``sys.argv``."""
    return execute("compare", CompareConfig, lambda config: show(run(config)))
