"""``adept compare``: mechanisms x budgets x seeds on one data set, with a table, a figure and a page."""

import sys
from pathlib import Path

from rich.progress import Progress

from adept import findings, page, report
from adept.comparison import CompareConfig, Row, compare
from adept.config import execute
from adept.examples import examples
from adept.results import show_table
from adept.verdicts import verdicts


def run(config: CompareConfig) -> list[Row]:
    """Compare, and write the report; raises AdeptError for what the user can mend."""
    with Progress(disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("seeds", total=len(config.seeds))
        rows = compare(config, progress=lambda done: progress.update(task, completed=done))
    page.write(rows, verdicts(config), config, Path(config.output_dir), examples=examples(config, rows))
    return rows


def main() -> int:
    """Run ``adept compare`` from ``sys.argv``."""

    def command(config: CompareConfig) -> None:
        rows = run(config)
        for metric, title in report.METRICS.items():
            show_table(title, *report.table(rows, metric))
        sys.stdout.write(f"{findings.headline(rows)}\nReport: {Path(config.output_dir) / 'report.html'}\n")

    return execute("compare", CompareConfig, command)
