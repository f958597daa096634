"""A comparison for people: one HTML page with the figure, tables and examples in it, which needs no network and no scripts."""

from collections.abc import Sequence
from html import escape
from importlib.metadata import version
from pathlib import Path

from adept.comparison.audits import AuditVerdict, describe
from adept.comparison.config import CompareConfig
from adept.comparison.results import Row
from adept.mechanisms import BY_NAME
from adept.mechanisms.guarantee import words
from adept.report import figure as curves
from adept.report.captions import REPEATS_NOTE, SHOWN_WORDS, examples_note, glossary, labels_note
from adept.report.examples import Example
from adept.report.figure import Line
from adept.report.findings import advice, broken_claims, headline
from adept.report.overrides import audit_command, compare_command
from adept.report.table import (
    METRICS,
    Section,
    Source,
    classifiers,
    fair_table,
    false_claim,
    model_name,
    repeats,
    table,
    text_rows,
)

FIGURE = "comparison.svg"
DASHES = {"-": "", "--": "6 3", ":": "2 3", "-.": "7 2 2 2"}
PROTOCOL_WORDS = {"paper": "the very text that it rewrites", "disjoint": "other text of the same kind"}
STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 1.5rem auto; padding: 0 1rem; color: #222;
  background: #fff; overflow-wrap: break-word; }
h1 { line-height: 1.2; margin-bottom: .2rem; } h2 { margin-top: 2.2rem; } p.small, figcaption, li.key { color: #555; }
p.small, figcaption { font-size: .9em; }
figure { margin: 1rem 0; } .panels { display: flex; flex-wrap: wrap; gap: .5rem; }
.panels > svg { flex: 1 1 19rem; min-width: 0; max-width: 100%; height: auto; }
ul.legend { display: flex; flex-wrap: wrap; gap: .1rem 1.2rem; list-style: none; padding: 0; margin: .4rem 0; font-size: .9em; }
ul.legend svg { vertical-align: middle; margin-right: .4rem; }
.minute { border-left: 4px solid #2a9d5c; padding: .1rem 0 .1rem 1rem; } .bad { color: #a5281b; font-weight: 600; }
.wide { overflow-x: auto; } table { border-collapse: separate; border-spacing: 0; font-size: .9rem;
  font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .55rem; text-align: left; border-bottom: 1px solid #ddd; vertical-align: top; }
thead th { vertical-align: bottom; border-bottom: 2px solid #888; }
tbody th[scope=rowgroup] { padding-top: .9rem; color: #555; }
.numbers td + td { white-space: nowrap; } .numbers td:first-child, .numbers thead th:first-child { min-width: 10rem; }
.examples { table-layout: fixed; width: 100%; min-width: 44rem; } .examples p { margin: 0 0 .4rem; } .examples b { color: #555; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #f4f4f4; padding: .8rem; font-size: .85rem; }
@media screen and (max-width: 44rem) {
  h1 { font-size: 1.5rem; }
  .numbers { font-size: .85rem; } .numbers th, .numbers td { padding: .25rem .35rem; }
  .numbers td:first-child, .numbers thead th:first-child { position: sticky; left: 0; background: #fff;
    min-width: 6rem; max-width: 8.5rem; }
  .stack { min-width: 0; } .stack thead { display: none; } .stack, .stack tbody, .stack tr, .stack td { display: block; }
  .stack tr { border-bottom: 2px solid #888; padding: .6rem 0; } .stack td { border: 0; padding: .15rem 0; }
  .stack td::before { content: attr(data-label); display: block; color: #555; font-size: .8rem; }
}
@media print {
  @page { margin: 12mm; }
  body { font-size: 10pt; margin: 0; padding: 0; max-width: none; }
  .wide { overflow: visible; } table { font-size: 7.5pt; } th, td { padding: .12rem .25rem; }
  .examples { min-width: 0; } .numbers td:first-child, .numbers thead th:first-child { min-width: 0; }
  pre { background: none; border: 1px solid #888; font-size: 7.5pt; } .panels { flex-wrap: nowrap; }
  figure, tr, pre, .minute, .keep { break-inside: avoid; } h2, h3 { break-after: avoid; } thead { display: table-header-group; }
}
"""


def write(
    rows: list[Row],
    audits: list[AuditVerdict],
    config: CompareConfig,
    directory: Path,
    *,
    examples: Sequence[Example] = (),
) -> Path:
    """Write ``figures/comparison.svg`` and ``report.html``; returns the page's path."""
    (directory / "figures").mkdir(exist_ok=True)
    (directory / "figures" / FIGURE).write_text(curves.draw(rows), "utf-8")
    path = directory / "report.html"
    path.write_text(page(rows, audits, config, examples), "utf-8")
    return path


def page(rows: list[Row], audits: list[AuditVerdict], config: CompareConfig, examples: Sequence[Example] = ()) -> str:
    """Return the page: the figure first, then what it says, then the numbers and how they were made."""
    name = escape(config.data.name)
    parts = [
        f"<h1>Private rewriting of {name}</h1>",
        _subtitle(rows, config),
        _figure(rows, config),
        _minute(rows),
        _claims(rows, audits, config),
        *(_fair(rows, classifier, config) for classifier in classifiers(rows)),
        _examples(examples, config),
        _repeats(rows),
        _budgets(rows),
        _made_by(audits, config),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>adept: {name}, protocol {escape(config.protocol)}</title><style>{STYLE}</style></head><body>\n"
        + "\n".join(part for part in parts if part)
        + "\n</body></html>\n"
    )


def _subtitle(rows: list[Row], config: CompareConfig) -> str:
    seeds = "one seed" if len(config.seeds) == 1 else f"{len(config.seeds)} seeds"
    records = next(row.train_records for row in rows if row.mechanism == "none")
    return (
        f'<p class="small">Protocol {escape(config.protocol)}: the rewriter was trained on {PROTOCOL_WORDS[config.protocol]}. '
        f"{records} private records, {rows[0].test_records} test records, {seeds}, latents of {config.model.latent_dim} "
        f"dimensions, {config.samples} text{'s' * (config.samples > 1)} a record.</p>"
    )


def _figure(rows: list[Row], config: CompareConfig) -> str:
    looks = [*curves.curve_lines(rows).values(), *curves.level_lines(rows).values()]
    legend = "".join(f"<li>{_swatch(line)}{escape(line.label)}</li>" for line in looks)
    bars = f" Bars are 95 % intervals over {len(config.seeds)} seeds." if len(config.seeds) > 1 else ""
    return (
        f'<figure><div class="panels">{"".join(curves.panels(rows).values())}</div><ul class="legend">{legend}</ul>'
        f"<figcaption>A classifier ({escape(classifiers(rows)[0])}) is trained on the rewritten text and tested on the untouched "
        f"test split.{bars} A mechanism's merit is its distance above <em>random</em>, which is what the same decoder writes "
        "when it knows nothing of the record.</figcaption></figure>"
    )


def _swatch(line: Line) -> str:
    return (
        '<svg width="30" height="8" aria-hidden="true"><line x1="0" y1="4" x2="30" y2="4" '
        f'stroke="{line.colour}" stroke-width="{line.width}" stroke-dasharray="{DASHES[line.dash]}"/></svg>'
    )


def _minute(rows: list[Row]) -> str:
    sentences = [headline(rows), *broken_claims(rows), advice(rows)]
    return f'<h2>In a minute</h2><div class="minute">{"".join(f"<p>{escape(text)}</p>" for text in sentences)}</div>'


def _claims(rows: list[Row], audits: list[AuditVerdict], config: CompareConfig) -> str:
    headings = ["mechanism", "claimed and true epsilon", "guarantee at the smallest budget", "audit of that claim"]
    texts = text_rows(rows)
    lines = []
    for audited in audits:
        own = [row for row in texts if row.mechanism == audited.mechanism and row.claimed_epsilon is not None]
        name = Source.of(own[0]).name
        verdict = (
            f'<span class="bad">{escape(describe(audited))}</span>' if audited.violated else escape(describe(audited))
        )
        lines.append([escape(name), _claimed_and_true(own), escape(_guarantee(audited, config)), verdict])
    return f"<h2>Claims and verdicts</h2>{_stack(headings, lines)}<p class='small'>{labels_note(config)}</p>"


def _claimed_and_true(rows: list[Row]) -> str:
    """Every budget once: as claimed, and what is really spent where that is more."""
    pairs = sorted({(row.claimed_epsilon or 0.0, row.epsilon) for row in rows})
    claimed = ", ".join(f"{claim:g}" for claim, _ in pairs)
    if not false_claim(rows):
        return f"claimed {claimed}: true"
    true = ", ".join(words(epsilon) for _, epsilon in pairs)
    return f'claimed {claimed}: <span class="bad">false, truly {true}</span>'


def _guarantee(audited: AuditVerdict, config: CompareConfig) -> str:
    mechanism = BY_NAME[audited.mechanism](epsilon=audited.epsilon, clip_norm=config.model.clip_norm)
    return mechanism.guarantee(config.model.latent_dim).text


def _fair(rows: list[Row], classifier: str, config: CompareConfig) -> str:
    several = f", classifier {escape(classifier)}" if len(classifiers(rows)) > 1 else ""
    title = f"Fair table: {escape(config.data.name)}, protocol {escape(config.protocol)}{several}"
    return f"<h2>{title}</h2>{_numbers(*fair_table(rows, classifier))}<p class='small'>{glossary(rows)}</p>"


def _examples(examples: Sequence[Example], config: CompareConfig) -> str:
    if not examples:
        return ""
    columns = list(dict.fromkeys(_column(row) for row, _ in examples[0].rewrites))
    columns = [name for name in columns if name != "random"] + [name for name in columns if name == "random"]
    lines = []
    for example in examples:
        cells = [_cell([(row, text) for row, text in example.rewrites if _column(row) == name]) for name in columns]
        lines.append(([] if example.original is None else [_text(example.original)]) + cells)
    headings = ([] if examples[0].original is None else ["original record"]) + columns
    return f"<h2>Examples</h2>{_stack(headings, lines, kind='examples')}<p class='small'>{examples_note(config, len(lines))}</p>"


def _column(row: Row) -> str:
    return "random" if row.mechanism == "random" else Source.of(row).name


def _cell(rewrites: list[tuple[Row, str]]) -> str:
    return "".join(f"<p><b>{escape(_spent(row))}:</b> {_text(text)}</p>" for row, text in rewrites)


def _spent(row: Row) -> str:
    """A budget as it truly is, beside the claim where that is another; an end has its model instead."""
    if row.claimed_epsilon is None:
        return model_name(Source.of(row))
    claim = f"claimed eps {row.claimed_epsilon:g}"
    return f"{claim}, true {words(row.epsilon)}" if false_claim([row]) else f"eps {row.claimed_epsilon:g}"


def _text(text: str) -> str:
    kept = text.split()[:SHOWN_WORDS]
    return escape(" ".join(kept) + " …" * (len(text.split()) > len(kept))) or "(empty)"


def _repeats(rows: list[Row]) -> str:
    headings, sections = repeats(rows)
    if not sections:
        return ""
    return f"<h2>Word for word</h2>{_numbers(headings, sections)}<p class='small'>{REPEATS_NOTE}</p>"


def _budgets(rows: list[Row]) -> str:
    parts = []
    for metric, title in METRICS.items():
        headings, lines = table(rows, metric)
        parts.append(f'<div class="keep"><h3>{title}</h3>{_numbers(headings, [Section("", lines)])}</div>')
    return f"<h2>Budget by budget</h2>{''.join(parts)}<p class='small'>Text of the model's decoder, and of the look-up.</p>"


def _made_by(audits: list[AuditVerdict], config: CompareConfig) -> str:
    commands = [compare_command(config), *(audit_command(audited, config) for audited in audits)]
    return (
        f"<h2>Made by</h2><pre>{escape(chr(10).join(commands))}</pre><p class='small'>adept {escape(version('adept-dp'))}. Noise "
        "comes from the operating system and has no seed, so another run gives other texts and much the same figures.</p>"
    )


def _numbers(headings: list[str], sections: list[Section]) -> str:
    """A table of figures, which scrolls in its own box where it is too wide; a body for each section."""
    bodies = []
    for section in sections:
        title = (
            f'<tr><th scope="rowgroup" colspan="{len(headings)}">{escape(section.title)}</th></tr>'
            if section.title
            else ""
        )
        lines = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>" for line in section.lines)
        bodies.append(f"<tbody>{title}{lines}</tbody>")
    return f'<div class="wide"><table class="numbers">{_head(headings)}{"".join(bodies)}</table></div>'


def _stack(headings: list[str], lines: list[list[str]], *, kind: str = "") -> str:
    """A table of HTML cells whose lines become blocks on a phone."""
    rows = [
        "".join(f'<td data-label="{escape(name)}">{cell}</td>' for name, cell in zip(headings, line, strict=True))
        for line in lines
    ]
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f'<div class="wide"><table class="stack {kind}">{_head(headings)}<tbody>{body}</tbody></table></div>'


def _head(headings: list[str]) -> str:
    cells = [escape(name).replace("_", "_<wbr>") for name in headings]
    return f"<thead><tr>{''.join(f'<th>{cell}</th>' for cell in cells)}</tr></thead>"
