"""``adept compare``: compare mechanisms at several budgets on one data set, with several seeds."""

from adept.cli.console import progress, show_lines, show_table, warn
from adept.comparison.comparison import Comparison
from adept.comparison.config import CompareConfig
from adept.report.page import write


def main(config: CompareConfig) -> None:
    """Run the comparison, write its report, and print the main findings and tables."""
    comparison = Comparison(config)
    for note in comparison.notes:
        warn(f"note: {note}")
    with progress("rows", lambda: comparison.size) as advance:
        for done in comparison.run():
            advance(done)
    report = write(comparison.collect())
    show_lines([*report.findings[:1], *report.warnings, ""])
    for grid in report.tables:
        show_table(grid.title, grid.headings, grid.sections[""])
    show_lines([f"Report: {report.path}"])
