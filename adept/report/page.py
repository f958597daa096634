"""A comparison for people: one HTML page with the figure, tables and examples in it, which needs no network and no scripts.

This module collects what the page says; ``templates/`` says how it looks, and escapes it.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined

from adept.comparison.attacks import CONFIDENCE
from adept.comparison.audits import AUDIT_TRIALS
from adept.comparison.config import CompareConfig
from adept.comparison.results import ALTERNATIVES, AuditVerdict, Example, Results, Row
from adept.mechanisms import BY_NAME
from adept.mechanisms.choice import MechanismChoice
from adept.mechanisms.guarantee import words
from adept.report import attacks, figure, findings, headline
from adept.report.sections import Grid, grids
from adept.report.table import QUALITY, Table, model_title, table, title

FIGURE, HEADLINE = "comparison.svg", "headline.svg"
SHOWN_WORDS = 25  # of a text
CLAIM_HEADINGS = ["mechanism", "claimed and true epsilon", "guarantee at the smallest budget", "audit of that claim"]


@dataclass(frozen=True)
class Report:
    """A page, and what of it is said on a terminal too.

    Attributes:
        path: of the page.
        tables: text of the model's decoder at every budget, a table for each metric.
        findings: the point of the comparison first.
        warnings: what must be known before any number is believed.
    """

    path: Path
    tables: list[Grid]
    findings: list[str]
    warnings: list[str]


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


def write(results: Results) -> Report:
    """Write ``report.html``, its figure, and a smaller one for elsewhere (``figures/*.svg``) into a comparison's directory."""
    directory, lines = Path(results.config.output_dir), table(results.rows)
    drawn = {FIGURE: figure.draw(lines), HEADLINE: headline.draw(lines)}
    (directory / "figures").mkdir(exist_ok=True)
    for name, svg in drawn.items():
        (directory / "figures" / name).write_text(svg, "utf-8")
    said = context(results, lines)
    environment = Environment(
        loader=PackageLoader("adept.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    path = directory / "report.html"
    page = environment.get_template("page.html.jinja")
    # As they were saved, without the prologue, which has no place in HTML.
    embedded = {name.removesuffix(".svg"): svg[svg.index("<svg") :] for name, svg in drawn.items()}
    path.write_text(page.render(figures=embedded, **said), "utf-8")
    return Report(path, said["grids"].by_budget, said["findings"], said["warnings"])


def context(results: Results, lines: Table) -> dict[str, Any]:
    """Return what the page says, by the names that its template knows."""
    config, attacked = results.config, attacks.section(results.attacks)
    first = next(line for line in lines.texts if line.mechanism == "none")
    return {
        "config": config,
        "version": version("adept-dp"),
        "train_records": first.records,
        "test_records": first.test_records,
        "findings": findings.findings(lines, attacked.findings),
        "warnings": [*attacked.defects, *findings.warnings(lines, config)],
        "claims": [claim(audited, lines, config) for audited in results.audits],
        "claim_headings": CLAIM_HEADINGS,
        "grids": grids(lines),
        "present": _present(lines),
        "settings": settings(config),
        "audit_trials": AUDIT_TRIALS,
        "shown_words": SHOWN_WORDS,
        **_examples(results.examples),
        "attacks": attacked,
        "attack_headings": attacks.HEADINGS,
        "attack_confidence": CONFIDENCE,
        "given_away_headings": attacks.GIVEN_AWAY_HEADINGS,
    }


def claim(audited: AuditVerdict, lines: Table, config: CompareConfig) -> Claim:
    """Return a mechanism's claim in words: every budget once, as claimed, and what is really spent where that is more."""
    own = [line for line in lines.texts if line.mechanism == audited.mechanism and line.claimed_epsilon is not None]
    spent = dict(sorted((line.claimed_epsilon or 0.0, line.epsilon) for line in own))
    return Claim(
        mechanism=audited.mechanism,
        epsilon=audited.epsilon,
        title=own[0].title,
        claimed=", ".join(f"{epsilon:g}" for epsilon in spent),
        true=", ".join(map(words, spent.values())) if any(line.false_claim for line in own) else "",
        guarantee=audited.guarantee or _guarantee(audited, config),
        verdict=verdict(audited),
        violated=audited.violated,
        command=audited.mechanism not in ALTERNATIVES,
    )


def verdict(audited: AuditVerdict) -> str:
    """Return an audit's verdict in words."""
    certified = f"certified epsilon at least {audited.certified_epsilon:.3g}"
    if audited.violated:
        return f"violation found: {audited.evidence}; {certified}"
    return f"no violation found, which is no proof; {certified}"


def _guarantee(audited: AuditVerdict, config: CompareConfig) -> str:
    choice = MechanismChoice(BY_NAME[audited.mechanism])
    mechanism = choice.build(epsilon=audited.epsilon, clip_norm=config.model.clip_norm)
    return mechanism.guarantee(config.model.latent_dim).text


def _present(table: Table) -> dict[str, Any]:
    """What the notes under the tables have to explain."""
    lines = table.lines
    return {
        "mechanisms": {line.mechanism for line in lines},
        "decoders": {line.decoder for line in lines if line.clip},
        "quality": any(line.measures[name] is not None for line in lines for name in QUALITY),
        "break_even": any(line.break_even for line in lines),
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
    own = [] if example.original is None else [[("", example.original)]]
    return own + [[(_spent(row), text) for row, text in example.rewrites if _column(row) == name] for name in columns]


def _column(row: Row) -> str:
    return "random" if row.mechanism == "random" else title(row.mechanism, row.decoder or "", row.clip or "")


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
