"""A comparison for people: a table, a figure, and one HTML page that holds both and needs no network."""

import html
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import matplotlib
from scipy.stats import t as student

from adept.comparison import ENDS, CompareConfig, Row
from adept.mechanisms import BY_NAME
from adept.privacy import words
from adept.studies.figures import COLOURS, NAMES
from adept.verdicts import AuditVerdict, describe

matplotlib.use("Agg")
import matplotlib.pyplot as plt

FIGURE = "comparison.svg"
METRICS = {"accuracy": "accuracy", "macro_f1": "macro-F1"}


@dataclass(frozen=True)
class Figure:
    """The mean over seeds and its 95 % Student interval (equal to the mean for a single seed)."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3f}"


def figure_of(values: Sequence[float]) -> Figure:
    """Return mean and interval over seeds."""
    centre = mean(values)
    spread = (
        float(student.ppf(0.975, len(values) - 1)) * stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    )
    return Figure(centre, max(0.0, centre - spread), min(1.0, centre + spread))


def select(rows: Iterable[Row], metric: str, **wanted: Any) -> list[float]:
    """Return a metric of the rows whose fields have the wanted values."""
    return [getattr(row, metric) for row in rows if all(getattr(row, key) == value for key, value in wanted.items())]


def levels(rows: list[Row], metric: str) -> dict[str, Figure]:
    """The levels that every curve is read against; ``random`` and ``identity`` of each model."""
    clips = sorted({row.clip for row in rows if row.clip}, reverse=True)
    result = {"none": figure_of(select(rows, metric, mechanism="none"))}
    for end in ENDS:
        for clip in clips:
            name = end if len(clips) == 1 else f"{end} ({clip} model)"
            result[name] = figure_of(select(rows, metric, mechanism=end, clip=clip))
    if metric == "accuracy":
        result["always the commonest label"] = figure_of([row.majority_accuracy for row in rows])
    return result


def budgets(rows: list[Row]) -> list[float]:
    """The claimed budgets, ascending."""
    return sorted({row.claimed_epsilon for row in rows if row.claimed_epsilon is not None})


def mechanisms(rows: list[Row]) -> list[str]:
    """The mechanisms with a budget, in the order of the library."""
    present = {row.mechanism for row in rows if row.claimed_epsilon is not None}
    return [name for name in BY_NAME if name in present]


def table(rows: list[Row], metric: str) -> tuple[list[str], list[list[str]]]:
    """Return headings and lines: a line a mechanism, a column a claimed budget, then the levels."""
    epsilons = budgets(rows)
    lines = []
    for name in mechanisms(rows):
        cells = [select(rows, metric, mechanism=name, claimed_epsilon=epsilon) for epsilon in epsilons]
        lines.append([NAMES.get(name, name), *(str(figure_of(cell)) if cell else "" for cell in cells)])
        if any(row.mechanism == name and row.epsilon > (row.claimed_epsilon or 0) * (1 + 1e-9) for row in rows):
            true = [next(iter(select(rows, "epsilon", mechanism=name, claimed_epsilon=e)), math.nan) for e in epsilons]
            lines.append(["  its true epsilon", *(words(epsilon) for epsilon in true)])
    for name, level in levels(rows, metric).items():
        lines.append([name, *[str(level)] * len(epsilons)])
    return ["claimed epsilon", *(f"{epsilon:g}" for epsilon in epsilons)], lines


def draw(rows: list[Row]) -> str:
    """Return the figure as SVG: accuracy and macro-F1 over the claimed epsilon, the original's true epsilon above."""
    with plt.rc_context({"font.size": 10, "svg.fonttype": "none", "axes.spines.right": False}):
        figure, axes = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
        for axis, (metric, title) in zip(axes, METRICS.items(), strict=True):
            _draw_metric(axis, rows, metric, title)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
        stream = io.StringIO()
        figure.savefig(stream, format="svg")
        plt.close(figure)
    return stream.getvalue()


def _draw_metric(axis: Any, rows: list[Row], metric: str, title: str) -> None:
    epsilons = budgets(rows)
    for name in mechanisms(rows):
        points = [figure_of(select(rows, metric, mechanism=name, claimed_epsilon=epsilon)) for epsilon in epsilons]
        means = [point.mean for point in points]
        errors = [[p.mean - p.low for p in points], [p.high - p.mean for p in points]]
        style = "--" if name in NAMES else "-"
        axis.errorbar(
            epsilons,
            means,
            errors,
            label=NAMES.get(name, name),
            color=COLOURS[name],
            ls=style,
            marker="o",
            ms=4,
            capsize=3,
        )
    styles = {"none": ("#222", "-"), "identity": ("#888", "-"), "random": ("#888", ":"), "always": ("#bbb", "-.")}
    for name, level in levels(rows, metric).items():
        colour, style = styles[name.split(" ")[0]]
        axis.axhline(level.mean, color=colour, ls=style, lw=1.2, label=name)
    axis.set_xscale("log", base=2)
    axis.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axis.set(xlabel="claimed epsilon (true for all but the dashed lines)", ylabel=title)
    if "original" in mechanisms(rows):
        root = math.sqrt(rows[0].dim)
        above = axis.secondary_xaxis("top", functions=(lambda x: x * root, lambda x: x / root))
        above.set_xscale("log", base=2)
        above.set_xticks([e * root for e in epsilons], [f"{e * root:.4g}" for e in epsilons])
        above.set_xlabel("true epsilon of the original", color=COLOURS["original"])
        above.tick_params(colors=COLOURS["original"])


def headline(rows: list[Row]) -> str:
    """Return the point of the comparison in a sentence or two, from its own numbers."""
    names = mechanisms(rows)
    sound = [name for name in names if name not in NAMES]
    if "original" not in names or not sound:
        return "What each mechanism keeps of the text's use, as its distance above the random row."

    def at(name: str, epsilon: float) -> float:
        return mean(select(rows, "accuracy", mechanism=name, claimed_epsilon=epsilon))

    def gap(epsilon: float) -> float:
        return at("original", epsilon) - max(at(name, epsilon) for name in sound)

    epsilon = max(budgets(rows), key=gap)
    best = max(sound, key=lambda name: at(name, epsilon))
    true = select(rows, "epsilon", mechanism="original", claimed_epsilon=epsilon)[0]
    chance = mean(select(rows, "accuracy", mechanism="random"))
    return (
        f"At a claimed epsilon of {epsilon:g} the original reaches an accuracy of {at('original', epsilon):.3f} and the best "
        f"sound mechanism ({best}) {at(best, epsilon):.3f}; text that knows nothing of the records reaches {chance:.3f}. "
        f"But the original's claim is false: what it really spends there is epsilon {words(true)}."
    )


def write(rows: list[Row], audits: list[AuditVerdict], config: CompareConfig, directory: Path) -> Path:
    """Write ``figures/comparison.svg`` and ``report.html``; returns the page's path."""
    svg = draw(rows)
    (directory / "figures").mkdir(exist_ok=True)
    (directory / "figures" / FIGURE).write_text(svg, "utf-8")
    page = directory / "report.html"
    page.write_text(_page(rows, audits, config, svg[svg.index("<svg") :]), "utf-8")
    return page


def command_line(config: CompareConfig) -> str:
    """Return a command that makes the same comparison."""

    def listed(values: Sequence[Any]) -> str:
        return "[" + ",".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values) + "]"

    path = f" data.path={config.data.path}" if config.data.path else ""
    return (
        f"adept compare data={config.data.name}{path} protocol={config.protocol} mechanisms={listed(config.mechanisms)} "
        f"epsilons={listed(config.epsilons)} seeds={listed(config.seeds)} model.latent_dim={config.model.latent_dim} "
        f"trainer.max_epochs={config.trainer.max_epochs} samples={config.samples} output_dir=DIR"
    )


def _page(rows: list[Row], audits: list[AuditVerdict], config: CompareConfig, svg: str) -> str:
    escape = html.escape
    seen = {"paper": "the very text that it rewrites", "disjoint": "other text, without labels"}[config.protocol]
    tables = "".join(f"<h3>{title}</h3>{_html_table(*table(rows, metric))}" for metric, title in METRICS.items())
    claims = _html_table(
        ["mechanism", f"guarantee of a release at {config.model.latent_dim} dimensions", "audit of the claim"],
        [[NAMES.get(v.mechanism, v.mechanism), _claim(v, config), describe(v)] for v in audits],
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>adept: {escape(config.data.name)}, protocol {escape(config.protocol)}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222; }}
figure {{ margin: 1.5rem 0; overflow-x: auto; }} svg {{ width: 100%; min-width: 34rem; height: auto; }}
.wide {{ overflow-x: auto; }} table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .3rem .7rem; text-align: left; border-bottom: 1px solid #ddd; vertical-align: top; }}
td + td {{ white-space: normal; }} pre {{ white-space: pre-wrap; background: #f4f4f4; padding: .8rem; }}
.lead {{ font-size: 1.15rem; }} caption, figcaption, .small {{ color: #555; font-size: .9rem; }}
@media print {{ body {{ margin: 0; max-width: none; }} }}
</style></head><body>
<h1>Private rewriting of {escape(config.data.name)}</h1>
<p class="lead">{escape(headline(rows))}</p>
<figure>{svg}<figcaption>A classifier is trained on the rewritten text and tested on the untouched test split. Bars are 95 %
intervals over {len(config.seeds)} seed(s). A mechanism's merit is its distance above <em>random</em>, which is what the same
decoder writes when it knows nothing of the record.</figcaption></figure>
<h2>In numbers</h2>{tables}
<p class="small"><b>none</b>: the text itself. <b>identity</b>: the rewriter without noise. <b>random</b>: the same decoder
on random latents. Protocol {escape(config.protocol)}: the rewriter was trained on {seen}. Labels are copied, and so not
private.</p>
<h2>Claims and verdicts</h2>{claims}
<h2>Made by</h2><pre>{escape(command_line(config))}</pre>
</body></html>
"""


def _claim(audited: AuditVerdict, config: CompareConfig) -> str:
    mechanism = BY_NAME[audited.mechanism](epsilon=audited.epsilon, clip_norm=config.model.clip_norm)
    return mechanism.guarantee(config.model.latent_dim).text


def _html_table(headings: list[str], lines: list[list[str]]) -> str:
    def cells(tag: str, line: list[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in line) + "</tr>"

    return (
        f'<div class="wide"><table>{cells("th", headings)}{"".join(cells("td", line) for line in lines)}</table></div>'
    )
