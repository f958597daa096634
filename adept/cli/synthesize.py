"""``adept synthesize``: write synthetic records from a whole file under a central guarantee, and state what is guaranteed."""

import sys
from dataclasses import fields

from adept.cli.app import execute
from adept.cli.config import SynthesizeConfig
from adept.cli.console import progress, warn
from adept.cli.process import Interruptible
from adept.data.files import STANDARD_STREAM
from adept.data.labels import read_label_set
from adept.errors import ConfigurationError
from adept.mechanisms.guarantee import words
from adept.mechanisms.votes import ADD_OR_REMOVE
from adept.release.central import TallyNotes, check_label_set, preview_central, synthesize_file
from adept.release.config import CentralOptions
from adept.release.default_ledger import describe_overlap, find_key, open_ledger
from adept.release.inputs import Inputs
from adept.release.publication import STATEMENT
from adept.release.statement import CentralStatement
from adept.rewriting.foreign_text import first_texts, look_at
from adept.synthesis.synthesizer import Synthesizer


def run(config: SynthesizeConfig) -> CentralStatement:
    """Synthesize a file; raises AdeptError for what the user can mend."""
    options = CentralOptions(**{option.name: getattr(config, option.name) for option in fields(CentralOptions)})
    check_label_set(options, bool(config.label_set))
    if config.epsilon is None:
        raise ConfigurationError("epsilon must be given, got nothing: add epsilon=1")
    synthesizer = Synthesizer.from_pretrained(
        config.model_dir,
        epsilon=config.epsilon,
        label_set=read_label_set(config.label_set),
        neighbours=config.neighbours,
        max_records_per_person=config.max_records_per_person or 1,
        cells=config.cells,
        accept_private_model=config.accept_private_model,
    )
    if config.dry_run:
        statement = preview_central(synthesizer, config.input, config.output, options=options, tell=_tell)
        _tell_foreign(config, synthesizer)
        return statement
    with (
        open_ledger(config, find_key(config), tell=warn) as ledger,
        progress("counting", Inputs.of(config.input, config).estimate) as read,
    ):
        statement = synthesize_file(
            synthesizer,
            config.input,
            config.output,
            options=options,
            resume=config.resume,
            ledger=ledger,
            progress=Interruptible(read),
            tell=_tell,
        )
        for line in describe_overlap(ledger):
            warn(line)
        return statement


def _tell(notes: TallyNotes) -> None:
    """Tell the curator what the release must not."""
    _write_private(notes.lines)


def _tell_foreign(config: SynthesizeConfig, synthesizer: Synthesizer) -> None:
    """Tell the curator of a dry run, which releases nothing, about texts that the model was not made for."""
    inputs = Inputs.of(config.input, config)
    if inputs.repeatable:
        texts = first_texts(inputs.records(tolerant=True), config.text_column)
        _write_private(look_at(synthesizer.tokenizer, texts, max_length=synthesizer.model.config.max_length).lines)


def _write_private(lines: list[str]) -> None:
    sys.stderr.writelines(f"adept: not part of the release: {line}\n" for line in lines)


def summary(statement: CentralStatement, *, output: str, place: str | None) -> list[str]:
    """Return what was written, what is guaranteed, and where it is stated; ``place`` is None for a dry run."""
    protected = f"epsilon {words(statement.epsilon)} for each {statement.unit}"
    most = statement.votes.votes_per_person
    persons = f", of whom at most {most} record{'s' * (most > 1)} counted" if statement.persons else ""
    relation = "adding or removing it" if statement.votes.neighbours == ADD_OR_REMOVE else "replacing it"
    count = "as many" if statement.records is None else str(statement.records)
    done = f"{count} synthetic records" + (f": {output}" if place else " as asked for, or as the noisy counts say")
    return [
        done if place else f"would write {done}: dry run, nothing was released",
        f"guaranteed: {protected}{persons}, central, for {relation}; labels {'private' if statement.label_set else 'left out'}",
        f"the whole statement: {place}" if place else statement.text,
    ]


def main() -> int:
    """Run ``adept synthesize`` from ``sys.argv``."""

    def command(config: SynthesizeConfig) -> None:
        statement = run(config)
        place = None if config.dry_run else config.statement or config.output + STATEMENT
        stream = sys.stderr if config.output == STANDARD_STREAM else sys.stdout
        stream.writelines(f"{line}\n" for line in summary(statement, output=config.output, place=place))
        if not statement.stands_out:
            stream.write("at this budget next to nothing can be said: no count stands out of the noise\n")
        if not statement.training_data["public"]:
            sys.stderr.write("adept: warning: the model was trained on text declared private; no epsilon covers it\n")

    return execute("synthesize", command)
