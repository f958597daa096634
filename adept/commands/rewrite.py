"""``adept rewrite``: write private text from a file of utterances, and state beside it what is guaranteed."""

import sys
from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING

from adept.config import execute
from adept.files import STANDARD_STREAM
from adept.model import DecodingConfig
from adept.privacy import PrivacyStatement, words
from adept.results import show
from adept.rewriting import FileOptions, Rewriter, check_fit, check_release, load_model, rewrite_file


@dataclass
class RewriteConfig:
    """Configuration of ``adept rewrite``."""

    model_dir: str = MISSING
    input: str = MISSING
    output: str = MISSING
    mechanism: Any = MISSING  # a MechanismChoice
    epsilon: float | None = None  # who releases data chooses the budget: there is no default
    text_column: str = "text"
    label_column: str | None = None  # null: the column "intent" where there is one
    labels: str = "copy"  # copy | drop
    keep_columns: list[str] = field(default_factory=list)
    samples: int = 1  # rewrites of each record, all from its one released latent
    format: str | None = None  # of standard input and output
    statement: str | None = None  # null: OUTPUT.privacy.json
    decoding: DecodingConfig = field(default_factory=DecodingConfig)
    batch_size: int = 256
    accept_broken_claim: bool = False
    accept_inexact: bool = False


def run(config: RewriteConfig) -> PrivacyStatement:
    """Rewrite a file; raises AdeptError for what the user can mend."""
    options = FileOptions(
        text_column=config.text_column,
        label_column=config.label_column,
        labels=config.labels,
        keep_columns=config.keep_columns,
        samples=config.samples,
        format=config.format,
    )
    model, tokenizer = load_model(config.model_dir)
    check_fit(model, config.mechanism.kind)
    mechanism = config.mechanism.build(epsilon=config.epsilon, clip_norm=model.config.clip_norm)
    rewriter = Rewriter(model, tokenizer, mechanism=mechanism, decoding=config.decoding, batch_size=config.batch_size)
    check_release(
        rewriter.guarantee,
        accept_broken_claim=config.accept_broken_claim,
        accept_inexact=config.accept_inexact,
    )
    return rewrite_file(rewriter, config.input, config.output, options=options, statement_path=config.statement)


def main() -> int:
    """Run ``adept rewrite`` from ``sys.argv``."""

    def command(config: RewriteConfig) -> None:
        statement = run(config)
        guarantee = statement.guarantee
        rows = [
            ("records", f"{statement.records}, {statement.samples} rewrite(s) each"),
            ("mechanism", f"{statement.mechanism}, latent of {statement.dim} dimensions"),
            (
                "epsilon",
                f"{words(guarantee.epsilon)} (claimed {words(guarantee.claimed_epsilon)}), delta {guarantee.delta:g}",
            ),
            ("neighbours", statement.neighbours),
            ("statement", statement.text),
        ]
        show(config.output, rows, stderr=config.output == STANDARD_STREAM)
        if not statement.training_data["public"]:
            sys.stderr.write(
                "adept: warning: the model was trained on text declared private; its weights are not covered\n"
            )

    return execute("rewrite", RewriteConfig, command)
