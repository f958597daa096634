"""``adept rewrite``: write private text from a file of utterances, and state beside it what is guaranteed."""

import math
import os
import sys
from collections.abc import Callable
from pathlib import Path

from adept.cli.app import execute
from adept.cli.config import RewriteConfig
from adept.cli.console import progress, warn
from adept.cli.process import Interruptible
from adept.cli.summary import summary
from adept.data.corpus import find_label_column, read_corpus
from adept.data.files import STANDARD_STREAM
from adept.data.labels import read_label_set
from adept.errors import ConfigurationError, DataError
from adept.release.columns import CheckedRecords, ReleaseOptions
from adept.release.default_ledger import describe_overlap, find_key, open_ledger
from adept.release.inputs import Inputs
from adept.release.publication import STATEMENT, Publication
from adept.release.service import open_release, preview_file, release_file
from adept.release.statement import PrivacyStatement
from adept.rewriting.expectation import MIN_TEXTS, expected_lines
from adept.rewriting.foreign_text import FIRST_TEXTS, first_texts, look_at
from adept.rewriting.loading import is_packaged
from adept.rewriting.rewriter import Rewriter


def run(config: RewriteConfig) -> PrivacyStatement:
    """Rewrite a file; raises AdeptError for what the user can mend."""
    config.label_set = list(read_label_set(config.label_set))
    rewriter, options = open_release(config)
    inputs, notes = Inputs.of(config.input, config), list[CheckedRecords]()
    expected = expected_lines(rewriter, _public_texts(config, inputs), packaged=is_packaged(config.model_dir))
    first = first_texts(iter(inputs.first_records(FIRST_TEXTS)), config.text_column)
    tell = _Once([*expected, *_label_lines(config, inputs), *_foreign_lines(rewriter, first)])
    if config.dry_run:
        statement = preview_file(rewriter, config.input, config.output, options=options, tell=notes.append)
    else:
        statement = _release(config, rewriter, options, tell, notes)
    tell()
    for checked in notes:
        foreign = [] if inputs.repeatable else _foreign_lines(rewriter, checked.first_texts)
        _Once([*foreign, *map(_private, checked.lines)])()
    return statement


def _foreign_lines(rewriter: Rewriter, texts: list[str]) -> list[str]:
    """Return lines about texts that the model was not made for."""
    found = look_at(rewriter.tokenizer, texts, max_length=rewriter.model.config.max_length)
    return [_private(line) for line in found.lines]


def _private(line: str) -> str:
    """Mark a line as one for the curator alone."""
    return f"not part of the release: {line}"


def _warn_of_leftovers(config: RewriteConfig) -> None:
    """Say what a complete release has left behind: its ledger could not be told, or a file could not be removed."""
    if left := Publication.of(config.output, config.statement, card=config.card).leftovers:
        sys.stderr.write(
            f"adept: warning: {config.output} is complete, but {', '.join(map(str, left))} could not be removed, or the ledger "
            "not be told: the same command with resume=true tidies up\n"
        )


def _release(
    config: RewriteConfig,
    rewriter: Rewriter,
    options: ReleaseOptions,
    tell: Callable[[], None],
    notes: list[CheckedRecords],
) -> PrivacyStatement:
    """Release a file, tell what to expect of it before the first record is counted, and collect notes."""
    key = find_key(config, needed=config.resume)

    def advance(count: int) -> None:
        tell()
        written(count)

    with (
        open_ledger(config, key, tell=warn) as ledger,
        progress("rewriting", Inputs.of(config.input, config).estimate) as written,
    ):
        statement = release_file(
            rewriter,
            config.input,
            config.output,
            options=options,
            resume=config.resume,
            key=key,
            ledger=ledger,
            progress=Interruptible(advance),
            tell=notes.append,
        )
        for line in describe_overlap(ledger):
            warn(line)
        return statement


def _label_lines(config: RewriteConfig, inputs: Inputs) -> list[str]:
    """Return a line if a file may have labels under another name than the usual one, where nobody looks for them."""
    asked = config.labels != "copy" or config.label_column or config.output.endswith((".txt", ".txt.gz"))
    first = {} if asked else next(iter(inputs.first_records(1)), {})
    others = first.keys() - {config.text_column, config.person_column, *config.keep_columns}
    if not others or find_label_column(first, None):
        return []
    return ["no labels are written, as no column is called intent: label_column=NAME copies those of another one"]


def _public_texts(config: RewriteConfig, inputs: Inputs) -> list[str] | None:
    """The public texts that the user wants to know the fate of.

    Raises:
        ConfigurationError: they are not declared public, or are what is to be released: what survives of records is a release.
    """
    if config.expect is None:
        return None
    if config.public is not True:
        raise ConfigurationError(
            "public must be true with expect, got false: what survives of these texts is shown, which is no private release of "
            "them; add public=true if anyone may read them"
        )
    if config.expect == STANDARD_STREAM or any(_same(config.expect, name) for name in inputs.locations):
        raise ConfigurationError(
            "expect must be a file of public texts, got the input: what survives of private records would be a release of its own"
        )
    texts = read_corpus(config.expect, text_column=config.text_column, labelled=False).texts
    if len(texts) < MIN_TEXTS:
        raise DataError(f"expect must hold at least {MIN_TEXTS} texts, got {len(texts)}: write down more")
    return texts


def _same(one: str, other: str) -> bool:
    """Whether two names are one file; that of standard input is the file that was redirected to it."""
    try:
        return os.path.samestat(Path(one).stat(), os.fstat(0) if other == STANDARD_STREAM else Path(other).stat())
    except OSError:  # whoever reads them says what is wrong
        return False


class _Once:
    """Says what to expect, worked out before the first release, as soon as nothing of the file is refused any more."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines

    def __call__(self) -> None:
        sys.stderr.writelines(f"adept: {line}\n" for line in self._lines)
        self._lines = []


def main() -> int:
    """Run ``adept rewrite`` from ``sys.argv``."""

    def command(config: RewriteConfig) -> None:
        statement = run(config)
        place = None if config.dry_run else config.statement or config.output + STATEMENT
        stream = sys.stderr if config.output == STANDARD_STREAM else sys.stdout
        stream.writelines(f"{line}\n" for line in summary(statement, output=config.output, place=place))
        if not config.dry_run:
            _warn_of_leftovers(config)
        if math.isinf(statement.epsilon):
            sys.stderr.write(f"adept: warning: {statement.mechanism} protects nothing, and no epsilon changes that\n")
        if not statement.training_data["public"]:
            sys.stderr.write(
                "adept: warning: the model was trained on text declared private; its weights are not covered\n"
            )

    return execute("rewrite", command)
