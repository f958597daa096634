"""``adept compare``: mechanisms x budgets x seeds on one data set, with a table, a figure and a page."""

import sys
from pathlib import Path

from rich.progress import Progress

from adept.cli.app import execute
from adept.cli.console import show_table
from adept.comparison.audits import verdicts
from adept.comparison.run import CompareConfig, Row, compare, planned
from adept.report import findings, page, table
from adept.report.examples import examples


def run(config: CompareConfig) -> list[Row]:
    """Compare, and write the report; raises AdeptError for what the user can mend."""
    with Progress(disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("rows", total=planned(config))
        rows = compare(config, progress=lambda done: progress.update(task, completed=done))
    page.write(rows, verdicts(config), config, Path(config.output_dir), examples=examples(config, rows))
    return rows


def main() -> int:
    """Run ``adept compare`` from ``sys.argv``."""

    def command(config: CompareConfig) -> None:
        rows = run(config)
        for metric, title in table.METRICS.items():
            show_table(title, *table.table(rows, metric))
        sys.stdout.write(f"{findings.headline(rows)}\nReport: {Path(config.output_dir) / 'report.html'}\n")

    return execute("compare", CompareConfig, command)
