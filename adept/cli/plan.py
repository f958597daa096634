"""``adept plan``: say what a release is expected to be worth, before any private record is read."""

from dataclasses import asdict
from shlex import quote

from adept.cli.config import PlanConfig
from adept.cli.console import show, show_lines, show_table, write_json
from adept.data.corpus import read_corpora, read_label_descriptions, read_label_set
from adept.data.texts import USUAL_LABEL_COLUMN, list_few
from adept.data.writing import new_directory
from adept.errors import ConfigurationError, typed_as
from adept.mechanisms.curves import REWRITE, SYNTHESIZE
from adept.report.plan import HEADINGS, PUBLIC_ROWS, Plan, make_plan, write_page
from adept.rewriting.loading import load_model


def main(config: PlanConfig) -> None:
    """Compute the plan, print it and, if asked, write it as a page."""
    directory = new_directory(config.output_dir) if config.output_dir else None
    plan = run(config)
    show_lines([*plan.advice, ""])
    if plan.free:
        show("What is free, without any record", [row.cells for row in plan.free])
        show_lines([""])
    if plan.offers:
        show_table(plan.title, HEADINGS, [offer.cells for offer in plan.offers])
        show_lines([""])
    show_lines([*(f"note: {note}" for note in plan.notes), f"expected_rows: {PUBLIC_ROWS}"])
    if directory:
        write_json(asdict(plan), directory / "result.json")
        show_lines([f"Page: {write_page(plan, directory)}"])


def run(config: PlanConfig) -> Plan:
    """Return the plan; raise AdeptError for a user's mistake. Only public files are read."""
    given = {name: path for name in ("examples", "test") if (path := getattr(config, name)) is not None}
    columns = {"text_column": config.text_column, "label_column": config.label_column, "labelled": True}
    read = read_corpora(dict.fromkeys(given.values(), columns), config)
    public = {name: read[path] for name, path in given.items()}
    labels = list(read_label_set(config.label_set))
    named = sorted({label for corpus in public.values() for label in corpus.labels or []})
    if labels and (outside := set(named) - set(labels)):
        raise ConfigurationError(
            f"label_set must hold the labels of all public texts, but lacks {list_few(outside)}: add them"
        )
    model, tokenizer = load_model(config.model_dir)
    return make_plan(
        labels or named, (model, tokenizer), rows=config.expected_rows, examples=public.get("examples"),
        test=public.get("test"), about=read_label_descriptions(config.label_descriptions, labels),
        most=config.max_records_per_person or 1, is_packaged=model.is_packaged,
        shared={command: list_options(config, command, labels or named) for command in (REWRITE, SYNTHESIZE)},
    )  # fmt: skip


def list_options(config: PlanConfig, command: str, labels: list[str]) -> str:
    """Return the options with which the plan's numbers hold, as one types them into a shell; paths of files stay out."""
    typed, most = typed_as(labels), config.max_records_per_person
    given = {
        "label_set": typed if len(typed) <= 1000 else "@LABELS.txt",  # a longer list is hard to copy
        "label_descriptions": "DESCRIPTIONS.txt" if config.label_descriptions and command == REWRITE else None,
        "model_dir": config.model_dir and "DIR",
        "text_column": typed_as(config.text_column) if config.text_column != "text" else None,
        "label_column": typed_as(config.label_column) if config.label_column != USUAL_LABEL_COLUMN else None,
        "delimiter": config.delimiter and typed_as(config.delimiter),
        "person_column": most and "COLUMN",
        "max_records_per_person": most and str(most),
    }
    return "".join(f" {name}={quote(value)}" for name, value in given.items() if value)
