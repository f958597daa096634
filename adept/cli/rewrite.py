"""``adept rewrite``: write private text from a file of utterances, and state beside it what is guaranteed."""

import math
import sys
from collections.abc import Callable
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING

from adept.cli.app import execute
from adept.cli.console import progress, show
from adept.cli.process import signalled
from adept.data.corpus import Columns
from adept.data.files import STANDARD_STREAM
from adept.errors import DataError
from adept.mechanisms.guarantee import words
from adept.models.network.decoding import DecodingConfig
from adept.release.columns import ReleaseOptions
from adept.release.inputs import Inputs
from adept.release.ledger import Ledger
from adept.release.secret import secret_key
from adept.release.service import Budget, label_response, open_rewriter, preview_file, release_file
from adept.release.shuffling import Shuffled
from adept.release.statement import PrivacyStatement
from adept.rewriting.expectation import Expectation, expectation
from adept.rewriting.rewriter import BATCH_SIZE, Rewriter


@dataclass
class RewriteConfig(Columns):
    """Configuration of ``adept rewrite``."""

    model_dir: str | None = None  # null: the model that comes with the package
    input: str = MISSING
    output: str = MISSING
    mechanism: Any = None  # a MechanismChoice; null: the best exact one that the model serves
    epsilon: float | None = (
        None  # whoever releases data chooses the budget: there is no default; joint_response: of both
    )
    labels: str = "copy"  # copy | joint | joint_response | randomized_response | drop
    label_epsilon: float | None = None  # budget of randomized_response, spent beside epsilon
    label_set: list[str] | None = (
        None  # public labels that randomised ones are among; null: those that the model writes
    )
    keep_columns: list[str] = field(default_factory=list)
    samples: int = 1  # rewrites of each record, all from its one released latent
    shuffle: bool = False  # write the records in an order that nobody knows, when all are released
    shuffled_records: int | None = (
        None  # how many records a trusted party shuffles before anyone reads the file: you declare it
    )
    central_delta: float | None = None  # of the guarantee for shuffled records; null: 1e-6, or a tenth of 1 / n
    person_column: str | None = None  # who contributed a record; not written
    max_records_per_person: int | None = None
    epsilon_per: str = "record"  # record: a person's total is stated; person: each record gets an equal share
    card: bool = False  # a dataset card, OUTPUT.card.md
    resume: bool = False  # continue a release that was interrupted; where there is none, begin one
    dry_run: bool = False  # check everything, count the records, say what would be released, and release nothing
    ledger: str | None = None  # where released rows are known from; rows that are in it are refused
    again: bool = False  # release rows of the ledger again: budgets add up
    key: str | None = None  # secret of the digests in journal and ledger; null: ~/.config/adept/key
    flush_every: int | None = None  # records after which standard output is flushed; null: after each batch
    engine: str = "local"  # local, or ray: on the cluster that RAY_ADDRESS names, or in processes on this machine
    workers: int | None = None  # processes of engine=ray; null: one for each CPU of the cluster
    format: str | None = None  # of standard input and output
    statement: str | None = None  # null: OUTPUT.privacy.json
    decoding: DecodingConfig = field(default_factory=DecodingConfig)
    batch_size: int = BATCH_SIZE
    accept_broken_claim: bool = False
    accept_inexact: bool = False
    accept_private_model: bool = False


def run(config: RewriteConfig) -> PrivacyStatement:
    """Rewrite a file; raises AdeptError for what the user can mend."""
    budget = Budget(
        epsilon=config.epsilon,
        label_epsilon=config.label_epsilon,
        per=config.epsilon_per,
        max_records_per_person=config.max_records_per_person,
    )
    rewriter = open_rewriter(
        config.model_dir,
        budget=budget,
        mechanism=config.mechanism,
        decoding=config.decoding,
        batch_size=config.batch_size,
        joint_labels=(config.label_set or []) if config.labels == "joint_response" else None,
        accept_broken_claim=config.accept_broken_claim,
        accept_inexact=config.accept_inexact,
        accept_private_model=config.accept_private_model,
    )
    options = _options(config, budget, rewriter)
    tell = _Once(expectation(rewriter), rewriter.guarantee.epsilon)
    if config.dry_run:
        place = config.statement
        statement = preview_file(rewriter, config.input, config.output, options=options, statement_path=place)
    else:
        statement = _release(config, rewriter, options, tell)
    tell()
    return statement


def _release(
    config: RewriteConfig, rewriter: Rewriter, options: ReleaseOptions, tell: Callable[[], None]
) -> PrivacyStatement:
    """Release a file, and tell what to expect of it before the first record is counted."""
    key = _key(config)
    with (
        closing(Ledger(config.ledger, key=key, again=config.again)) if config.ledger else nullcontext() as ledger,
        progress("rewriting", Inputs.of(config.input, config.format).estimate) as written,
    ):

        def told(count: int) -> None:
            if signalled():
                raise KeyboardInterrupt  # the first one may have come where no exception can be raised
            tell()
            written(count)

        return release_file(
            rewriter,
            config.input,
            config.output,
            options=options,
            statement_path=config.statement,
            resume=config.resume,
            key=key,
            ledger=ledger,
            progress=told,
        )


class _Once:
    """Says what to expect, worked out before the first release, as soon as nothing of the file is refused any more."""

    def __init__(self, expected: Expectation | None, epsilon: float) -> None:
        self._line = f"adept: at epsilon {words(epsilon)} {expected.line}\n" if expected else ""

    def __call__(self) -> None:
        sys.stderr.write(self._line)
        self._line = ""


def _options(config: RewriteConfig, budget: Budget, rewriter: Rewriter) -> ReleaseOptions:
    """What of the file reaches the output."""
    randomised = config.labels == "randomized_response"
    return ReleaseOptions(
        text_column=config.text_column,
        label_column=config.label_column,
        labels=config.labels,
        label_response=label_response(budget, config.label_set or rewriter.tokenizer.labels) if randomised else None,
        keep_columns=config.keep_columns,
        samples=config.samples,
        format=config.format,
        person_column=config.person_column,
        max_records_per_person=config.max_records_per_person,
        card=config.card,
        flush_every=config.flush_every,
        shuffle=config.shuffle,
        shuffled_records=config.shuffled_records,
        central_delta=config.central_delta,
        engine=config.engine,
        workers=config.workers,
    )


def _key(config: RewriteConfig) -> bytes | None:
    """The key of digests; a plain release does without one where none can be kept, and cannot be resumed then."""
    try:
        return secret_key(config.key)
    except DataError:
        if config.key or config.ledger or config.resume:
            raise
        return None


def main() -> int:
    """Run ``adept rewrite`` from ``sys.argv``."""

    def command(config: RewriteConfig) -> None:
        statement = run(config)
        done = f"{config.output} (dry run: nothing was released)" if config.dry_run else config.output
        show(done, summary(statement), stderr=config.output == STANDARD_STREAM)
        if math.isinf(statement.epsilon):
            sys.stderr.write(f"adept: warning: {statement.mechanism} protects nothing, and no epsilon changes that\n")
        if not statement.training_data["public"]:
            sys.stderr.write(
                "adept: warning: the model was trained on text declared private; its weights are not covered\n"
            )

    return execute("rewrite", RewriteConfig, command)


def _central(shuffled: Shuffled) -> str:
    """The central guarantee, for the table."""
    return (
        f"{words(shuffled.epsilon)}, delta {shuffled.delta:g}, hidden among {shuffled.smallest} "
        f"({'shuffled here' if shuffled.here else 'as declared'})"
    )


def summary(statement: PrivacyStatement) -> list[tuple[str, str]]:
    """What was released, at what total budget, as a table."""
    joint = statement.labels == "joint_response"  # the halves of one symbol do not add up
    text, alone = (statement.text_epsilon, " alone") if joint else (statement.guarantee.epsilon, "")
    label = statement.label_epsilon if joint else statement.label_budget
    parts = (
        "" if statement.label_epsilon is None else f"; text{alone} {words(text)} and label{alone} {words(label or 0.0)}"
    )
    spent = f"{words(statement.epsilon)} (claimed {words(statement.claimed_epsilon)}{parts})"
    person = statement.person_epsilon
    latent = "" if statement.dim is None else f", latent of {statement.dim} dimensions"
    return [
        ("records", f"{statement.records}, {statement.samples} rewrite(s) each"),
        ("mechanism", f"{statement.mechanism}{latent}"),
        ("epsilon", f"{spent}, delta {statement.guarantee.delta:g}"),
        *(
            []
            if person is None
            else [("per person", f"{words(person)}, at most {statement.max_records_per_person} records")]
        ),
        ("neighbours", statement.neighbours),
        *([] if statement.shuffled is None else [("central epsilon", _central(statement.shuffled))]),
        ("statement", statement.text),
    ]
