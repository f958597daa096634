"""``adept compare``: compare mechanisms, budgets and seeds on one data set."""

import sys

from adept.cli.console import progress, show_table
from adept.comparison.comparison import Comparison
from adept.comparison.config import ALL, CompareConfig
from adept.report import trust
from adept.report.page import write


def main(config: CompareConfig) -> None:
    """Compare, write the report, and print the page's first lines, its tables and its path."""
    comparison = trust.TrustComparison(config) if config.trust == ALL else Comparison(config)
    with progress("rows", lambda: comparison.size) as advance:
        for done in comparison.run():
            advance(done)
    report = trust.write(comparison) if isinstance(comparison, trust.TrustComparison) else write(comparison.collect())
    sys.stdout.write("\n".join([*report.findings[:1], *report.warnings, ""]) + "\n")
    for grid in report.tables:
        show_table(grid.title, grid.headings, grid.sections[""])
    sys.stdout.write(f"Report: {report.path}\n")
