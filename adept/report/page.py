"""A comparison for people: one HTML page with the figure, tables and examples in it, which needs no network and no scripts.

This module collects what the page says; ``templates/`` says how it looks, and escapes it.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined

from adept.comparison.attacks import CONFIDENCE, Attacked
from adept.comparison.audits import AUDIT_TRIALS, AuditVerdict, describe
from adept.comparison.config import CompareConfig
from adept.comparison.results import Row
from adept.mechanisms import BY_NAME
from adept.mechanisms.choice import MechanismChoice
from adept.mechanisms.guarantee import words
from adept.report import attacks, figure, findings, sections
from adept.report.examples import SHOWN_WORDS, Example, shortened
from adept.report.table import LIGHT_SUPERVISION, METRICS, QUALITY, classifiers, model_title, of, texts, title

FIGURE = "comparison.svg"
CLAIM_HEADINGS = ["mechanism", "claimed and true epsilon", "guarantee at the smallest budget", "audit of that claim"]


@dataclass(frozen=True)
class Claim:
    """What a mechanism claims, beside what is true of it."""

    mechanism: str
    epsilon: float  # the budget that was audited
    title: str
    claimed: str  # every budget once
    true: str  # what is really spent at each, or "" where that is no more
    guarantee: str
    verdict: str
    violated: bool
    command: bool  # can the command line audit it again


def write(
    lines: pd.DataFrame,
    audits: Sequence[AuditVerdict],
    config: CompareConfig,
    directory: Path,
    *,
    examples: Sequence[Example] = (),
    attacked: Sequence[Attacked] = (),
) -> Path:
    """Write ``figures/comparison.svg`` and ``report.html``; returns the page's path.

    Args:
        lines: all rows as one frame (``adept.report.table.table``).
        audits: a verdict on each mechanism.
        examples: records beside their rewrites; none where they must not be shown.
        attacked: what was found out about records from releases; none where nobody asked.
    """
    drawn = figure.draw(lines)
    (directory / "figures").mkdir(exist_ok=True)
    (directory / "figures" / FIGURE).write_text(drawn, "utf-8")
    environment = Environment(
        loader=PackageLoader("adept.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    path = directory / "report.html"
    page = environment.get_template("page.html.jinja")
    embedded = drawn[drawn.index("<svg") :]  # as it was saved, without the prologue, which has no place in HTML
    said = context(lines, audits, config, examples, attacked)
    path.write_text(page.render(figure=embedded, **said), "utf-8")
    return path


def context(
    lines: pd.DataFrame,
    audits: Sequence[AuditVerdict],
    config: CompareConfig,
    examples: Sequence[Example],
    attacked: Sequence[Attacked],
) -> dict[str, Any]:
    """Return what the page says, by the names that its template knows."""
    first = lines[lines.mechanism == "none"].iloc[0]
    return {
        "config": config,
        "version": version("adept-dp"),
        "train_records": first.records,
        "test_records": first.test_records,
        "classifiers": classifiers(lines),
        "findings": [
            findings.headline(lines),
            *findings.broken_claims(lines),
            *attacks.finding(attacked),
            findings.advice(lines),
            *findings.alternatives(lines),
        ],
        "warnings": [*attacks.defects(attacked), *findings.seen_records(config), *findings.lost_in_rewriting(lines)],
        "claims": [claim(audited, lines, config) for audited in audits],
        "claim_headings": CLAIM_HEADINGS,
        "fair": [(classifier, sections.fair(lines, classifier)) for classifier in classifiers(lines)],
        "present": _present(lines),
        "repeats": sections.repeats(lines),
        "by_budget": [(name, sections.by_budget(lines, metric)) for metric, name in METRICS.items()],
        "settings": settings(config),
        "audit_trials": AUDIT_TRIALS,
        "shown_words": SHOWN_WORDS,
        **_examples(examples),
        "attacks": attacks.table(attacked),
        "attack_headings": attacks.HEADINGS,
        "attack_sentences": attacks.sentences(attacked),
        "attack_confidence": CONFIDENCE,
        "given_away": attacks.given_away(attacked),
        "given_away_headings": attacks.GIVEN_AWAY_HEADINGS,
    }


def claim(audited: AuditVerdict, lines: pd.DataFrame, config: CompareConfig) -> Claim:
    """Return a mechanism's claim in words: every budget once, as claimed, and what is really spent where that is more."""
    own = texts(lines)[lambda found: (found.mechanism == audited.mechanism) & found.claimed_epsilon.notna()]
    spent = dict(sorted(zip(own.claimed_epsilon, own.epsilon, strict=True)))
    return Claim(
        mechanism=audited.mechanism,
        epsilon=audited.epsilon,
        title=of(own, "title"),
        claimed=", ".join(f"{epsilon:g}" for epsilon in spent),
        true=", ".join(map(words, spent.values())) if own.false_claim.any() else "",
        guarantee=audited.guarantee or _guarantee(audited, config),
        verdict=describe(audited),
        violated=audited.violated,
        command=not audited.of_text,
    )


def _guarantee(audited: AuditVerdict, config: CompareConfig) -> str:
    choice = MechanismChoice(BY_NAME[audited.mechanism])
    mechanism = choice.build(epsilon=audited.epsilon, clip_norm=config.model.clip_norm)
    return mechanism.guarantee(config.model.latent_dim).text


def _present(lines: pd.DataFrame) -> dict[str, Any]:
    """What the notes under the tables have to explain."""
    return {
        "mechanisms": set(lines.mechanism),
        "decoders": set(lines.decoder[lines["clip"] != ""]),
        "light_supervision": lines.content.isin(LIGHT_SUPERVISION).any(),
        "quality": lines[list(QUALITY)].notna().any(axis=None),
        "break_even": lines.break_even.any(),
    }


def _examples(examples: Sequence[Example]) -> dict[str, Any]:
    """A line a record: the original where it may be shown, then a column a mechanism, ``random`` last."""
    if not examples:
        return {"examples": [], "example_headings": []}
    columns = list(dict.fromkeys(_column(row) for row, _ in examples[0].rewrites))
    columns.sort(key=lambda name: name == "random")
    original = ["original record"] if examples[0].original is not None else []
    return {"examples": [_cells(example, columns) for example in examples], "example_headings": original + columns}


def _cells(example: Example, columns: list[str]) -> list[list[tuple[str, str]]]:
    """For each column its texts, each with what was spent on it."""
    own = [] if example.original is None else [[("", shortened(example.original))]]
    return own + [
        [(_spent(row), shortened(text)) for row, text in example.rewrites if _column(row) == name] for name in columns
    ]


def _column(row: Row) -> str:
    return (
        "random"
        if row.mechanism == "random"
        else title(row.mechanism, row.decoder or "", row.clip or "", row.content or "")
    )


def _spent(row: Row) -> str:
    """A budget as it truly is, beside the claim where that is another; a reference has its model instead."""
    if row.claimed_epsilon is None:
        return model_title(row.clip or "", row.content or "")
    false = row.epsilon > row.claimed_epsilon * (1 + 1e-9)
    return (
        f"claimed eps {row.claimed_epsilon:g}, true {words(row.epsilon)}" if false else f"eps {row.claimed_epsilon:g}"
    )


def settings(config: CompareConfig) -> str:
    """Return a configuration as a recipe (``conf/experiment``) that makes it again."""
    values = {name: value for name, value in asdict(config).items() if name != "output_dir"}
    return "# @package _global_\n" + yaml.safe_dump(values, sort_keys=False, default_flow_style=None, width=100)
