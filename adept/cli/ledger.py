"""``adept ledger``: what was released before, at what budget, and what it adds up to."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from omegaconf import MISSING

from adept.cli.app import execute
from adept.cli.console import show, show_table
from adept.errors import DataError
from adept.mechanisms.guarantee import words
from adept.release.ledger import Ledger, LedgerEntry, LedgerSum


@dataclass
class LedgerConfig:
    """Configuration of ``adept ledger``."""

    ledger: str = MISSING
    """The file that adept rewrite, synthesize and play keep with ledger=FILE; its name alone will do."""


def run(config: LedgerConfig) -> tuple[list[LedgerEntry], LedgerSum]:
    """Read a ledger; raises AdeptError where there is none."""
    if not Path(config.ledger).is_file():
        raise DataError(f"ledger must be a file, got {config.ledger}: adept rewrite ledger={config.ledger} makes one")
    with closing(Ledger(config.ledger)) as ledger:
        return ledger.entries(), ledger.sum()


def main() -> int:
    """Run ``adept ledger`` from ``sys.argv``."""

    def command(config: LedgerConfig) -> None:
        entries, summed = run(config)
        spent = f"{words(summed.epsilon)}, delta {words(summed.delta)}, in all releases together"
        equal = f"{summed.equal}: their budgets add up as well where they are one person's"
        rows = [("different rows", str(summed.rows)), ("most for one row", spent)]
        if any(entry.counted > 1 for entry in entries):
            rows.append(
                ("what is added up", "replacing one row; a central budget for adding or removing one counts twice")
            )
        show(
            f"{summed.releases} release{'s' * (summed.releases != 1)}",
            rows + [("equal rows in one release", equal)] * (summed.equal > 1),
        )
        headings = ["begun (UTC)", "finished", "mechanism", "epsilon", "times", "delta", "rows", "model", "output"]
        show_table(config.ledger, headings, [_line(entry) for entry in entries])

    return execute("ledger", LedgerConfig, command)


def _line(entry: LedgerEntry) -> list[str]:
    finished = entry.finished or "interrupted, or running"
    numbers = [words(entry.epsilon), str(entry.counted), words(entry.delta), str(entry.rows)]
    return [entry.started, finished, entry.mechanism, *numbers, entry.model_sha256[:12], entry.output]
