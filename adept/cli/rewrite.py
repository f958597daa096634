"""``adept rewrite``: rewrite the texts of a file, and write a statement of the guarantee."""

import math
import os
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from adept.cli.config import RewriteConfig, SynthesizeConfig
from adept.cli.console import progress, show_lines, warn
from adept.cli.process import Interruptible
from adept.data.corpus import Corpus, read_corpus, read_label_set
from adept.data.formats import STANDARD_STREAM, STATEMENT, ending_of, format_of_name
from adept.data.reading import ReadingOptions, read_records
from adept.data.texts import USUAL_LABEL_COLUMN, find_label_column, list_names
from adept.errors import DataError, refuse
from adept.mechanisms.guarantee import MAX_STATED_EPSILON, odds_change, words
from adept.release.flow.local import LocalRun, choose_writer, open_release, prepare_file
from adept.release.flow.publication import Publication
from adept.release.flow.steps import Plan, Run, Stated, Tell, preview, release
from adept.release.ledger.claims import NO_LIMIT
from adept.release.ledger.default import describe_overlap, find_key, open_ledger
from adept.release.records import CheckedRecords, Inputs
from adept.release.statement.statement import PrivacyStatement
from adept.rewriting.expectation import FIRST_TEXTS, LABELLED, MIN_TEXTS, expected_lines, first_texts, foreign_warnings

ReleaseConfig = RewriteConfig | SynthesizeConfig


def main(config: RewriteConfig) -> None:
    """Rewrite a file, and print which files were written and which guarantee holds."""
    config.check_dry_run()
    config.label_set = list(read_label_set(config.label_set))
    inputs = Inputs.of(config.input, config)
    statement = run(config, inputs, _public_texts(config, inputs))
    print_lines(config, summary(statement, output=config.output, place=statement_place(config)))
    for line in _warnings(config, statement):
        warn(f"warning: {line}")


def run(config: RewriteConfig, inputs: Inputs, public: Corpus | None) -> PrivacyStatement:
    """Rewrite a file and return its privacy statement; raise AdeptError for a user's mistake."""
    rewriter, options = open_release(config)
    options = replace(options, public_texts=public)
    warnings_about = partial(foreign_warnings, rewriter.tokenizer, max_length=rewriter.model.config.max_length)
    as_txt = ending_of(config.output) == "txt"
    first = inputs.first_records(FIRST_TEXTS)
    columns = dict.fromkeys(name for record in first for name in record)
    label = find_label_column(columns, config.label_column)
    labelled = label is not None and config.labels in LABELLED and not as_txt
    writer = choose_writer(rewriter, options, has_labels=labelled)
    private = warnings_about(first_texts(first, config.text_column))
    lines = [
        *expected_lines(writer, public, labelled=labelled),
        *_column_lines(config, columns, label, as_txt=as_txt),
    ]
    notes: list[CheckedRecords] = []

    @cache  # once, as soon as nothing of the file is refused any more
    def tell() -> None:
        for line in lines:
            warn(line)
        tell_curator(private)

    prepare = partial(prepare_file, rewriter, config.input, config.output, options=options)
    statement = run_release(
        config, prepare, LocalRun, inputs, title="rewriting", tell=notes.append, begin=tell, needs_key=config.resume
    )
    tell()
    for checked in notes:
        tell_curator([] if inputs.repeatable else warnings_about(checked.first_texts))
        tell_curator(checked.lines)
    return statement


def _column_lines(config: RewriteConfig, columns: Iterable[str], label: str | None, *, as_txt: bool) -> list[str]:
    others = [name for name in columns if name not in (config.text_column, config.person_column, *config.keep_columns)]
    asked = config.labels != "copy" or config.label_column or as_txt
    dropped = [name for name in others if name != label]
    lines = {
        "no labels are written, as no column is called intent: label_column=NAME copies those of another one": (
            others and not asked and not label
        ),
        f"dropped columns: {list_names(dropped)}; if one of them names a person, add person_column=NAME "
        "max_records_per_person=N": dropped and config.person_column is None,
    }
    return [line for line, holds in lines.items() if holds]


def _public_texts(config: RewriteConfig, inputs: Inputs) -> Corpus | None:
    if config.expect is None:
        return None
    is_input = any(_same(config.expect, name) for name in inputs.locations)
    refuse(
        (
            config.public is not True,
            "public must be true with expect, got false: the figures shown about these texts are not private; add public=true "
            "if anyone may read them",
        ),
        (
            config.expect == STANDARD_STREAM or is_input,
            "expect must be a file of public texts, got the input: figures about private records would be a release of their own",
        ),
    )
    label = config.label_column or USUAL_LABEL_COLUMN
    reading = ReadingOptions(
        format=format_of_name(config.expect) or config.format, delimiter=config.delimiter, columns=config.columns
    )
    labelled = config.labels == "copy" and any(label in one for one in read_records(config.expect, options=reading))
    public = read_corpus(
        config.expect, text_column=config.text_column, label_column=label, labelled=labelled, options=reading
    )
    if len(public) < MIN_TEXTS:
        raise DataError(f"expect must hold at least {MIN_TEXTS} texts, got {len(public)}: write down more")
    return public


def _same(one: str, other: str) -> bool:
    try:
        return os.path.samestat(Path(one).stat(), os.fstat(0) if other == STANDARD_STREAM else Path(other).stat())
    except OSError:  # whoever reads them says what is wrong
        return False


def summary(statement: PrivacyStatement, *, output: str, place: str | None) -> list[str]:
    """Return lines about the release; ``place`` is the statement's file, or None in a dry run."""
    by = f"by {statement.mechanism.name}" + (f", {statement.samples} texts each" if statement.samples > 1 else "")
    done = f"rewritten {by}: {output}" if place else f"would be rewritten {by}: dry run, nothing was released"
    labels = "labels (a text can tell them too)" if statement.by_label else "labels"
    copied = [*([labels] if statement.labels == "copy" else []), *statement.kept_columns]
    not_private = f"copied, and not private: {', '.join(copied)}; " if copied else ""
    return [
        f"{statement.records} records {done}",
        f"guaranteed: {'; '.join(_guaranteed(statement))}",
        *_person_lines(statement),
        *([f"{not_private}the whole statement: {place}"] if place else wrap_statement(statement.text)),
    ]


def wrap_statement(text: str) -> list[str]:
    """Return the lines of a statement that a dry run prints below the numbers."""
    return ["", "the statement would read:", *textwrap.wrap(text, 100, break_on_hyphens=False)]


def _guaranteed(statement: PrivacyStatement) -> Iterator[str]:
    if unproved := statement.mechanism.unproved:
        yield f"nothing; epsilon {words(statement.claimed_epsilon)} is {unproved['claim']}"
        return
    if math.isinf(statement.epsilon):
        yield "nothing, epsilon is infinite"
        return
    claimed = f" (claimed {words(statement.claimed_epsilon)})" if statement.claimed_epsilon != statement.epsilon else ""
    delta = f", delta {words(statement.guarantee.delta)}" if statement.guarantee.delta else ""
    yield f"epsilon {words(statement.epsilon)}{claimed}{delta}{_parts(statement)}"
    if not delta or statement.epsilon >= MAX_STATED_EPSILON:
        yield f"the odds between {statement.neighbours} {odds_change(statement.epsilon)}"
    if shuffled := statement.shuffled:
        how, hidden = "shuffled here" if shuffled.here else "as declared", f"a record hides among {shuffled.smallest:,}"
        yield f"central epsilon {words(shuffled.epsilon)}, delta {words(shuffled.delta)}, as {hidden} ({how})"


def _person_lines(statement: PrivacyStatement) -> list[str]:
    total, most = statement.person_epsilon, statement.max_records_per_person
    if total is None or math.isinf(total):
        return []
    changed = f", delta {words(delta)}" if (delta := statement.person_delta) else f"; the odds {odds_change(total)}"
    return [f"for a person with at most {most} record{'s' * (most != 1)}: epsilon {words(total)}{changed}"]


def _parts(statement: PrivacyStatement) -> str:
    if statement.label_epsilon is None:
        return ""
    if statement.labels == "joint_response":
        return f" (text alone {words(statement.text_epsilon or 0.0)}, label alone {words(statement.label_epsilon)})"
    return f" (text {words(statement.guarantee.epsilon)}, label {words(statement.label_budget)})"


def _warnings(config: RewriteConfig, statement: PrivacyStatement) -> Iterator[str]:
    publication = Publication.of(config.output, config.statement, card=config.card, report=config.report)
    if not config.dry_run and (left := publication.leftovers):
        yield (
            f"{config.output} is complete, but {left} could not be removed, or the ledger not be told: "
            "the same command with resume=true tidies up"
        )
    if statement.mechanism.unproved:
        yield f"nobody checked the claim of {statement.mechanism.name}: adept audit can refute it, and never prove it"
    elif math.isinf(statement.epsilon):
        yield f"{statement.mechanism.name} protects nothing, and no epsilon changes that"
    if not statement.training_data["public"]:
        yield "the model was trained on text declared private; its weights are not covered"


def run_release(
    config: ReleaseConfig,
    prepare: Callable[..., tuple[Publication, Callable[[], Plan[Stated]]]],
    run_class: Callable[..., Run[Stated]],
    inputs: Inputs,
    *,
    title: str,
    tell: Tell,
    begin: Callable[[], None] = lambda: None,
    needs_key: bool = False,
) -> Stated:
    """Release a file with an open ledger and a progress bar; a dry run reads the ledger and changes no file.

    ``prepare`` returns the first two arguments of ``release``, ``begin`` is called before each step, and
    ``needs_key`` refuses a release without a stored key.
    """
    dry, resume = config.dry_run, config.resume
    key = find_key(config, needed=needs_key and not dry, read_only=dry)
    with open_ledger(config, key, tell=warn, read_only=dry) as ledger:
        refuse((dry and ledger is None and getattr(config, "over_limit", None) == "drop", NO_LIMIT))
        prepared = prepare(ledger=ledger)
        if dry:
            stated = preview(*prepared, tell, resume=resume, ledger=ledger)
        else:
            with progress(title, inputs.estimate) as advance:
                steps = Interruptible(advance, begin)
                stated = release(*prepared, run_class, resume=resume, key=key, ledger=ledger, progress=steps, tell=tell)
        tell_curator(describe_overlap(ledger))
        return stated


def tell_curator(lines: list[str]) -> None:
    """Print to stderr lines that only the holder of the private file may read."""
    for line in lines:
        warn(f"not part of the release: {line}")


def print_lines(config: ReleaseConfig, lines: list[str]) -> None:
    """Print lines to stdout, or to stderr if stdout holds the output."""
    show_lines(lines, to_stderr=config.output == STANDARD_STREAM)


def statement_place(config: ReleaseConfig) -> str | None:
    """Return the path of the privacy statement; None for a dry run, which writes no statement."""
    return None if config.dry_run else config.statement or config.output + STATEMENT
