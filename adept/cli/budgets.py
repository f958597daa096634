"""The table of budgets that ``dry_run=true`` prints if no ``epsilon`` is given.

All numbers in the table are computed from public texts. Of the input file, only the names of its
columns are read.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from adept.cli.config import RewriteConfig, SynthesizeConfig
from adept.cli.console import show_table
from adept.cli.process import show_lines
from adept.data.column_names import RequiredColumns
from adept.data.corpus import Corpus, find_label_column
from adept.data.formats import STANDARD_STREAM, Record
from adept.data.reading import declared_columns
from adept.errors import DataError
from adept.mechanisms.central_counts import COUNTS_MOVED, Votes
from adept.mechanisms.guarantee import total
from adept.mechanisms.odds import risk
from adept.mechanisms.policy import MAX_EXAMPLES_EPSILON, SYNTHETIC_ROWS
from adept.models.saved_model import Autoencoder
from adept.release.flow.local import choose_writer, open_release
from adept.release.records.columns import ReleaseOptions
from adept.release.records.inputs import Inputs
from adept.rewriting.expectation import (
    ADVICE,
    LABELLED,
    NO_ESTIMATE,
    QUESTION,
    SHARE_HEADINGS,
    TABLE_BUDGETS,
    Budget,
    above_names_line,
    by_label_lines,
    choose_measured,
    floor_lines,
    preview_budgets,
)
from adept.rewriting.loading import is_packaged, label_mechanism, load_model
from adept.rewriting.rewriter import Rewriter
from adept.synthesis.prior import spell_label_set
from adept.synthesis.synthesizer import share_standing_out

TEXT_ENDINGS = ".txt", ".txt.gz"  # of outputs that hold no labels
TITLE = "Which epsilon? Of {} nothing was read beyond its header; all figures come from public text."


def show_rewrite_budgets(config: RewriteConfig, inputs: Inputs, public: Corpus | None) -> None:
    """Print, for each epsilon, how well a record is hidden and how much of a text is kept."""
    loaded, labelled = load_model(config.model_dir), has_labels(config, _read_header(config, inputs))

    def opened(epsilon: float) -> tuple[Rewriter, ReleaseOptions]:
        output = config.output or STANDARD_STREAM  # to which nothing is written
        return open_release(replace(config, epsilon=epsilon, output=output), loaded)

    def measured(epsilon: float) -> Rewriter:
        rewriter, options = opened(epsilon)
        return choose_measured(rewriter, choose_writer(rewriter, options, has_labels=labelled), public)

    rewriter, options = opened(TABLE_BUDGETS[0])
    _check_header(inputs, options.required)
    least = choose_writer(rewriter, options, has_labels=labelled)
    labels = _label_lines(config, least, public) if labelled else []
    rows = list(preview_budgets(measured, public))
    most = 1 if config.epsilon_per == "person" else config.max_records_per_person or 1
    person = [f"a person with {most} records in"] if most > 1 else []
    lines = [[f"{row.epsilon:g}", *_risks(row, options, most), *row.shares] for row in rows]
    show_table(TITLE.format(config.input), ["epsilon", QUESTION, *person, *SHARE_HEADINGS], lines)
    if texts := [text for text, _ in rows[-1].examples]:
        rewrites = [[f"{row.epsilon:g}", *(rewrite for _, rewrite in row.examples)] for row in rows]
        show_table("Public sentences, and one rewrite of each", ["epsilon", *texts], rewrites)
    note, counts = NO_ESTIMATE, [row.kept.texts for row in rows if row.kept]
    if counts:
        good = f"good to {min(counts) ** -0.5:.0%}"
        note = f"estimated on {min(counts)} public texts, so {good}; other text may fare worse"
    show_lines([f"{note}.", f"{ADVICE}.", *labels])


def show_synthesize_budgets(config: SynthesizeConfig, inputs: Inputs) -> None:
    """Print, for each epsilon, how frequent a topic must be to stand out from the noise."""
    _check_header(inputs, config.required if config.label_set else RequiredColumns(()))
    sizes = (config.expected_rows,) if config.expected_rows else (1_000, 10_000, 100_000)
    model, labels = load_model(config.model_dir)[0], max(1, len(config.label_set or ()))
    named = any(spell_label_set(model.sentences, config.label_set or ()))
    stand_out = partial(share_standing_out, texts=len(model.public_texts), labels=labels, named=named)
    lines = []
    for epsilon in TABLE_BUDGETS:
        votes = Votes(
            epsilon=epsilon, neighbours=config.neighbours, votes_per_person=config.max_records_per_person or 1
        )
        shares = [stand_out(votes, rows) for rows in sizes]
        replaced = epsilon * 2 / COUNTS_MOVED[config.neighbours]  # one person's rows by another's
        lines.append([f"{epsilon:g}", risk(replaced), *("none" if s is None else f"{s:.2%} of them" for s in shares)])
    headings = ["epsilon", QUESTION, *(f"{rows:,} rows: a count stands out from" for rows in sizes)]
    show_table(TITLE.format(config.input), headings, lines)
    counted = "a topic with its label" if labels > 1 else "a topic; label_set=[A,B] counts it with each label"
    names = synthetic_floor(config, model, TABLE_BUDGETS)
    show_lines(
        f"{line}." for line in (f"each count is for {counted}; the rest is guessed from public text", *names, ADVICE)
    )


def synthetic_floor(config: SynthesizeConfig, model: Autoencoder, epsilons: Sequence[float]) -> list[str]:
    """Return a list with one sentence: how many rows a file needs for useful synthetic records.

    The synthetic records of a file with at least this number of rows are expected to teach a
    classifier more than a free sentence encoder knows from the labels' names. Return [] without
    labels, for a model other than the packaged one, or if the labels' names cannot be used.
    """
    labels = config.label_set or ()
    if config.labels == "drop" or not is_packaged(model.files) or not any(spell_label_set(model.sentences, labels)):
        return []
    most = config.max_records_per_person or 1
    votes = (Votes(epsilon=epsilon, neighbours=config.neighbours, votes_per_person=most) for epsilon in epsilons)
    factor, power = SYNTHETIC_ROWS
    rows = {own.epsilon: factor * len(labels) * (own.sensitivity / own.epsilon) ** power for own in votes}
    return [above_names_line("synthetic records", "the file", rows)]


def _check_header(inputs: Inputs, required: RequiredColumns) -> None:
    for location in inputs.locations:
        if location != STANDARD_STREAM and not Path(location).exists():
            raise DataError(f"cannot read {location}, for it does not exist: correct its name")
    inputs.check_columns(required)


def _risks(row: Budget, options: ReleaseOptions, most: int) -> list[str]:
    guarantee, response = row.guarantee, options.response
    label = response.guarantee().epsilon if response and options.labels == "randomized_response" else 0.0
    return [
        risk(total(guarantee.epsilon, label, times=times), total(guarantee.delta, times=times))
        for times in dict.fromkeys((1, most))
    ]


def _label_lines(config: RewriteConfig, writer: Rewriter, public: Corpus | None) -> list[str]:
    always = label_mechanism(writer.model, epsilon=TABLE_BUDGETS[-1])
    below = "" if always else f"below epsilon {MAX_EXAMPLES_EPSILON:g}, "
    lines = [f"{below}{line}" for line in by_label_lines(writer, public)]
    lines += floor_lines(writer, TABLE_BUDGETS)
    if config.labels == "copy":
        lines.append(
            "labels are copied, and not private: labels=joint_response label_set=[A,B] covers them by the same epsilon"
        )
    return [f"{line}." for line in lines]


def _read_header(config: RewriteConfig, inputs: Inputs) -> Record:
    """Return a record whose keys are the names of the input's columns; all values are None.

    The names of the columns of JSON files and of standard input are not known. The only key is then
    the label column if a label set is given; otherwise, the record is empty.
    """
    declared = [declared_columns(name, inputs.options) for name in inputs.locations] if inputs.repeatable else [None]
    names = None if None in declared else [name for names in declared for name in names or []]
    return dict.fromkeys(names if names is not None else [config.label_column or "intent"] if config.label_set else [])


def has_labels(config: RewriteConfig, first: Record) -> bool:
    """Return True if the output gets labels from the input: copied, or released with the text."""
    written = config.labels in LABELLED and not config.output.endswith(TEXT_ENDINGS)
    return written and find_label_column(first, config.label_column) is not None
