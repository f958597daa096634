"""Steps that ``adept rewrite`` and ``adept synthesize`` share."""

import sys
from collections.abc import Callable
from typing import TypeVar

from adept.cli.config import RewriteConfig, SynthesizeConfig
from adept.cli.console import progress, warn
from adept.cli.process import Interruptible
from adept.data.formats import STANDARD_STREAM
from adept.release.default_ledger import describe_overlap, open_ledger
from adept.release.inputs import Inputs
from adept.release.publication import STATEMENT
from adept.rewriting.foreign_text import foreign_warnings
from adept.rewriting.rewriter import Rewriter
from adept.synthesis.synthesizer import Synthesizer

ReleaseConfig = RewriteConfig | SynthesizeConfig
Stated = TypeVar("Stated")


def run_release(
    config: ReleaseConfig,
    release: Callable[..., Stated],
    *,
    key: bytes | None,
    title: str,
    begin: Callable[[], None] = lambda: None,
) -> Stated:
    """Make a release with its ledger and a progress bar titled ``title``, and return its statement.

    ``release`` takes ``resume``, ``ledger`` and ``progress``; ``begin`` is called whenever records were written.
    """

    def advance(count: int) -> None:
        begin()
        written(count)

    estimate = Inputs.of(config.input, config).estimate
    with open_ledger(config, key, tell=warn) as ledger, progress(title, estimate) as written:
        statement = release(resume=config.resume, ledger=ledger, progress=Interruptible(advance))
        for line in describe_overlap(ledger):
            warn(line)
        return statement


def tell_curator(lines: list[str]) -> None:
    """Print lines that are no part of the release."""
    for line in lines:
        warn(f"not part of the release: {line}")


def foreign_lines(writer: Rewriter | Synthesizer, texts: list[str]) -> list[str]:
    """Return lines about texts that the model was not made for."""
    return foreign_warnings(writer.tokenizer, texts, max_length=writer.model.config.max_length)


def print_lines(config: ReleaseConfig, lines: list[str]) -> None:
    """Print the last lines of a release where they do not mix with its output."""
    stream = sys.stderr if config.output == STANDARD_STREAM else sys.stdout
    stream.writelines(f"{line}\n" for line in lines)


def statement_place(config: ReleaseConfig) -> str | None:
    """Return the file of the statement; None for a dry run, which leaves none."""
    return None if config.dry_run else config.statement or config.output + STATEMENT
