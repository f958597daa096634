"""``adept compare``: mechanisms x budgets x seeds on one data set, with a table, a figure and a page."""

import sys
from functools import partial
from pathlib import Path

import pandas as pd

from adept.cli.app import execute
from adept.cli.console import progress, show_table
from adept.comparison.attacks import attacks
from adept.comparison.audits import verdict, verdicts
from adept.comparison.run import CompareConfig, compare, planned
from adept.report import findings, page
from adept.report.examples import examples
from adept.report.sections import by_budget
from adept.report.table import METRICS, table


def run(config: CompareConfig) -> pd.DataFrame:
    """Compare, and write the report; returns the table that it was made from. Raises AdeptError for what the user can mend."""
    with progress("rows", lambda: planned(config)) as done:
        audits = [partial(verdict, name, config) for name in config.mechanisms]
        rows = compare(config, progress=done, beside=audits)
    lines = table(rows)
    audited, attacked, shown = verdicts(config), attacks(config), examples(config, rows)
    page.write(lines, audited, config, Path(config.output_dir), examples=shown, attacked=attacked)
    return lines


def main() -> int:
    """Run ``adept compare`` from ``sys.argv``."""

    def command(config: CompareConfig) -> None:
        lines = run(config)
        for metric, title in METRICS.items():
            grid = by_budget(lines, metric)
            show_table(title, grid.headings, grid.sections[0].lines)
        said = [findings.headline(lines), *findings.lost_in_rewriting(lines)]
        sys.stdout.write("\n".join([*said, f"Report: {Path(config.output_dir) / 'report.html'}"]) + "\n")

    return execute("compare", CompareConfig, command)
