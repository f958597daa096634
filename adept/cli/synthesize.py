"""``adept synthesize``: write synthetic records from noisy counts of a file's topics and labels."""

import math
from functools import partial

from adept.cli.config import SynthesizeConfig
from adept.cli.console import warn
from adept.cli.rewrite import print_lines, run_release, statement_place, tell_curator, wrap_statement
from adept.data.corpus import read_label_set
from adept.errors import ConfigurationError
from adept.mechanisms.central_counts import ADD_OR_REMOVE
from adept.mechanisms.guarantee import odds_change, words
from adept.mechanisms.policy import ROWS_PER_RECORD
from adept.release.flow.central import CentralRun, check_label_set, prepare_synthesis
from adept.release.records import Inputs
from adept.release.statement.statement import CentralStatement
from adept.rewriting.expectation import PLAN, first_texts, foreign_warnings
from adept.synthesis.labels import spell_label_set
from adept.synthesis.synthesizer import Synthesizer, share_standing_out
from adept.synthesis.votes import Tally


def main(config: SynthesizeConfig) -> None:
    """Write synthetic records, and print which files were written and which guarantee holds."""
    config.check_dry_run()
    config.label_set = list(read_label_set(config.label_set))
    statement = run(config, Inputs.of(config.input, config))
    lines = summary(statement, output=config.output, place=statement_place(config))
    if not statement.stands_out:
        lines.append("at this budget next to nothing can be said: no count stands out of the noise")
    print_lines(config, lines)
    if not statement.training_data["public"]:
        warn("warning: the model was trained on text declared private; no epsilon covers it")


def run(config: SynthesizeConfig, inputs: Inputs) -> CentralStatement:
    """Write synthetic records and return the statement; raise AdeptError for a user's mistake."""
    check_label_set(config, bool(config.label_set))
    if config.epsilon is None:
        raise ConfigurationError("epsilon must be given, got nothing: add epsilon=1")
    synthesizer = Synthesizer.from_pretrained(
        config.model_dir, epsilon=config.epsilon, label_set=config.label_set or (), neighbours=config.neighbours,
        max_records_per_person=config.max_records_per_person or 1, cells=config.cells,
        accept_private_model=config.accept_private_model,
    )  # fmt: skip
    planned = config.label_set and config.labels != "drop" and synthesizer.model.is_packaged
    for line in [*([PLAN] if planned else []), *_share_lines(config, synthesizer)]:
        warn(line)

    def tell(notes: Tally) -> None:
        tell_curator(notes.lines)
        if config.label_set and config.rows is None:
            warn(
                f"up to {ROWS_PER_RECORD} rows for each of a noisy number of records, for classifiers: rows=N sets how many"
            )

    prepare = partial(prepare_synthesis, synthesizer, config.input, config.output, options=config)
    statement = run_release(config, prepare, CentralRun, inputs, title="counting", tell=tell)
    if config.dry_run and inputs.repeatable:  # nothing is released, so the curator may learn of foreign texts
        texts = first_texts(inputs.records(tolerant=True), config.text_column)
        tell_curator(foreign_warnings(synthesizer.tokenizer, texts, max_length=synthesizer.model.config.max_length))
    return statement


def _share_lines(config: SynthesizeConfig, synthesizer: Synthesizer) -> list[str]:
    """Return a sentence on the share of the expected rows from which a count stands out; [] without expected rows."""
    rows = config.expected_rows
    if rows is None:
        return []
    labels = len(synthesizer.labels)
    named = any(spell_label_set(synthesizer.model.sentences, synthesizer.labels))
    texts = len(synthesizer.model.public_texts)
    share = share_standing_out(synthesizer.votes, rows, texts=texts, labels=labels, named=named)
    counted = "a topic with its label" if labels > 1 else "a topic"
    rounded = 0.0 if share is None else math.ceil(share * 10_000) / 100
    from_ = "in no case" if share is None else f"from {rounded:g} % of the rows on"
    return [f"of {rows:,} rows, {counted} stands out from the noise {from_}; the rest is guessed from public text"]


def summary(statement: CentralStatement, *, output: str, place: str | None) -> list[str]:
    """Return lines about the release; ``place`` is the statement's file, or None in a dry run."""
    relation = "adding or removing" if statement.votes.neighbours == ADD_OR_REMOVE else "replacing"
    protected = f"epsilon {words(statement.epsilon)} for {relation} a {statement.guarantee.unit}"
    most = statement.votes.votes_per_person
    persons = f", of whom at most {most} record{'s' * (most > 1)} counted" if statement.persons else ""
    count = "as many" if statement.records is None else str(statement.records)
    done = f"{count} synthetic records" + (f": {output}" if place else " as asked for, or as the noisy counts say")
    return [
        done if place else f"would write {done}: dry run, nothing was released",
        f"guaranteed: {protected}{persons}; labels {'private' if statement.label_set else 'left out'}; "
        "central: whoever holds the file must be trusted",
        f"the odds of any output {odds_change(statement.epsilon)}",
        *([f"the whole statement: {place}"] if place else wrap_statement(statement.text)),
    ]
