"""``adept compare``: compare mechanisms at several budgets on one data set, with several seeds."""

import sys

from adept.cli.console import progress, show_table
from adept.comparison.config import ALL, CompareConfig
from adept.comparison.run_comparison import Comparison
from adept.report.page import write
from adept.report.trust_comparison import TrustComparison
from adept.report.trust_comparison import write as write_trust


def main(config: CompareConfig) -> None:
    """Run the comparison, write its report, and print the main findings and tables."""
    comparison = TrustComparison(config) if config.trust == ALL else Comparison(config)
    with progress("rows", lambda: comparison.size) as advance:
        for done in comparison.run():
            advance(done)
    report = write_trust(comparison) if isinstance(comparison, TrustComparison) else write(comparison.collect())
    sys.stdout.write("\n".join([*report.findings[:1], *report.warnings, ""]) + "\n")
    for grid in report.tables:
        show_table(grid.title, grid.headings, grid.sections[""])
    sys.stdout.write(f"Report: {report.path}\n")
