"""The content of a comparison's HTML page; the templates determine how the page looks."""

import math
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import mean
from typing import Any

from adept.attacks.attack_game import AttackRow, per_hundred
from adept.comparison.comparison import ATTACK_CONFIDENCE, AUDIT_TRIALS
from adept.comparison.config import ALTERNATIVES, CompareConfig, is_foreign
from adept.comparison.results import AttackedRelease, AuditVerdict, Example, ResultRow, Results, exceeds
from adept.data.writing import write_table
from adept.errors import flatten, typed_as
from adept.evaluation.record_free import describe_variation
from adept.mechanisms.guarantee import words
from adept.pages import render
from adept.plotting import as_wide_as
from adept.report import figures
from adept.report.table import (
    MAJORITY,
    METRICS,
    OTHERS,
    QUALITY,
    ComparisonTable,
    Curve,
    Grid,
    Line,
    name_model,
    table,
    title,
)

ABSENT = "–"


@dataclass(frozen=True)
class Report:
    """The path of a written page, and the tables, findings and warnings that a command prints."""

    path: Path
    tables: list[Grid]  # a line a mechanism, a column a budget
    findings: list[str]
    warnings: list[str]


def write(results: Results) -> Report:
    """Write ``report.html`` and ``figures/`` into the directory of each comparison."""
    directory, lines = Path(results.config.output_dir), table(results.rows)
    with as_wide_as(results.config.figure.width):
        drawn = {"comparison": figures.draw(lines), "headline": figures.draw_headline(lines)}
    (directory / "figures").mkdir(exist_ok=True)
    for name, figure in drawn.items():
        figure.save(directory / "figures" / name)
        write_table(figures.list_points(lines, headline=name == "headline"), directory / "figures" / f"{name}.csv")
    said, path = context(results, lines), directory / "report.html"
    embedded = {name: svg[svg.index("<svg") :] for name, svg in drawn.items()}  # HTML has no place for a prologue
    path.write_text(render("adept.report", "page.html.jinja", {"figures": embedded, **said}), "utf-8")
    return Report(path, [budget_grid(lines, metric) for metric in METRICS], said["findings"], said["warnings"])


def context(results: Results, lines: ComparisonTable) -> dict[str, Any]:
    """Return all values that the page shows, under the names that its template uses."""
    config, attacked = results.config, describe_attacks(results.attacks)
    first = next(line.row for line in lines.texts if line.row.mechanism == "none")
    return {
        "config": config,
        "version": version("adept-dp"),
        "train_records": first.train_records,
        "test_records": first.test_records,
        "findings": [state_point(lines), *attacked["findings"], advise(lines)],
        "warnings": [
            *attacked["defects"],
            *warn_of_seen_records(config),
            *warn_of_short_training(config, lines),
            *warn_of_losses(lines),
            *warn_of_small_files(lines),
            *warn_of_flat_parts(lines),
        ],
        "claims": [describe_claim(audited, lines) for audited in results.audits],
        "fair": [fair_grid(lines, classifier) for classifier in lines.classifiers],
        "present": {line.row.mechanism for line in lines.lines},
        "flat": any(map(_is_flat, lines.lines)),
        "quality": any(line.measures[name] is not None for line in lines.lines for name in QUALITY),
        "command_line": command_of(config),
        "audit_trials": AUDIT_TRIALS,
        "shown_words": 25,
        **_examples(results.examples),
        "attacks": attacked,
        "attack_confidence": ATTACK_CONFIDENCE,
    }


def describe_claim(audited: AuditVerdict, lines: ComparisonTable) -> dict[str, Any]:
    """Return a mechanism's claimed and true epsilons, and the audit's verdict on the claim."""
    curves = [curve for curve in lines.curves if curve.mechanism == audited.mechanism]
    spent = dict(sorted((epsilon, line.row.epsilon) for curve in curves for epsilon, line in curve.at.items()))
    true = spent.values() if any(curve.false_claim for curve in curves) else ()  # elsewhere the claim itself is true
    return {
        "audited": audited,
        "title": curves[0].title,
        "claimed": ", ".join(f"{epsilon:g}" for epsilon in spent),
        "true": "not checked" if is_foreign(audited.mechanism) else ", ".join(map(words, true)),
        "verdict": verdict(audited),
        "command": audited.mechanism not in ALTERNATIVES,  # the command line can audit it again
    }


def verdict(audited: AuditVerdict) -> str:
    certified = f"certified epsilon at least {words(audited.certified_epsilon, lower=True)}"
    found = f"violation found; {certified}: {audited.evidence}"
    return found if audited.violated else f"no violation found, which is no proof; {certified}"


def describe_attacks(found: Sequence[AttackedRelease]) -> dict[str, Any]:
    """Return lines of the table, sentences on refuted claims, and warnings of defective mechanisms."""
    attacks = [
        (attacked, row) for attacked in sorted(found, key=lambda one: one.claimed_epsilon) for row in attacked.rows
    ]
    groups: dict[str, list[tuple[list[str], bool]]] = {}
    refuted: dict[str, str] = {}
    for attacked, row in attacks:
        groups.setdefault(title(attacked.mechanism), []).append((_attack_cells(attacked, row), row.refutes_any))
        if row.refutes_any:
            refuted.setdefault(attacked.mechanism, _refutation(attacked, row))
    harmless = ["Attacks on single releases found nothing that a claim does not allow, which is no proof."]
    defects = [
        f"{title(attacked.mechanism)} at epsilon {attacked.claimed_epsilon:g} gave away more than its true epsilon of "
        f"{words(attacked.epsilon)} permits: {row.words} So the mechanism, or the bound, has a defect; do not use it."
        for attacked, row in attacks
        if row.beyond_bound
    ]
    return {
        "lines": groups,
        "findings": list(refuted.values()) or harmless[: len(attacks)],
        "defects": defects,
        "slots": any(row.success != "exact" for _, row in attacks),
    }


def _attack_cells(attacked: AttackedRelease, row: AttackRow) -> list[str]:
    false = exceeds(attacked.epsilon, attacked.claimed_epsilon)
    slots = "" if row.success == "exact" else ", slot values"
    return [
        f"{attacked.claimed_epsilon:g}" + (f" (true {words(attacked.epsilon)})" if false else ""),
        f"{row.detail['candidates']:,} {'private' if row.knows == 'pool' else 'in all'}{slots}",
        f"{_of_hundred(row.rate.value)} ({_of_hundred(row.rate.low, True)} to {_of_hundred(row.rate.high, False)})",
        *(_of_hundred(each, False) for each in (row.claimed_bound, row.bound)),
        *map(_of_hundred, (row.optimum, row.detail.get("beyond_claim"))),
        "beyond the truth: a defect"
        if row.beyond_bound
        else "claim refuted"
        if row.refutes_any
        else "within the claim",
    ]


def _of_hundred(share: float | None, lower: bool | None = None) -> str:
    return ABSENT if share is None else per_hundred(share, lower=lower).replace("fewer than", "<")


def _refutation(attacked: AttackedRelease, row: AttackRow) -> str:
    what = "record" if row.success == "exact" else "record’s slot values"
    crowd = "private utterances" if row.knows == "pool" else "utterances that could have been said"
    finding = (
        f"What a release gives away ({title(attacked.mechanism)}, claimed epsilon {attacked.claimed_epsilon:g}, "
        f"a {what} among {row.detail['candidates']:,} {crowd}): of 100 guesses {per_hundred(row.rate.value)} are right, "
        f"where the claim allows {per_hundred(row.claimed_bound, lower=False)}"
    )
    if beyond := row.detail.get("beyond_claim"):
        finding += f", and {per_hundred(beyond)} of 100 releases change the odds more than it allows"
    return f"{finding}."


def _examples(examples: Sequence[Example]) -> dict[str, Any]:
    named = dict.fromkeys(title(row.mechanism) for example in examples[:1] for row, _ in example.rewrites)
    columns = sorted(named, key=lambda name: name == "random")
    lines = []
    for example in examples:
        shown = [(title(row.mechanism), (_spent(row), text)) for row, text in example.rewrites]
        own = [] if example.original is None else [[("", example.original)]]
        lines.append(own + [[cell for column, cell in shown if column == name] for name in columns])
    original = ["original record"] if examples and examples[0].original is not None else []
    return {"examples": lines, "example_headings": original + columns}


def _spent(row: ResultRow) -> str:
    if row.claimed_epsilon is None:
        return name_model(row)
    if exceeds(row.epsilon, row.claimed_epsilon):
        return f"claimed eps {row.claimed_epsilon:g}, true {words(row.epsilon)}"
    return f"eps {row.claimed_epsilon:g}"


def command_of(config: CompareConfig) -> str:
    """Return a command line, one option a line, that repeats the comparison in a directory OUT."""
    given = flatten({"output_dir": ""} | asdict(config) | {"output_dir": "OUT"})
    options = (f"{name}={shlex.quote(typed_as(value))}" for name, value in given.items())
    return " \\\n  ".join(["adept compare", *options])


def budget_grid(table: ComparisonTable, metric: str) -> Grid:
    """Return a table of accuracy or macro-F1: a line per mechanism, and a column per epsilon."""
    cells = []
    for curve in table.curves:
        found = [curve.at.get(epsilon) for epsilon in table.budgets]
        cells.append([curve.title, *("" if line is None else str(getattr(line, metric)) for line in found)])
        if curve.false_claim:
            cells.append(["  its true epsilon", *("" if line is None else words(line.row.epsilon) for line in found)])
        if metric == "accuracy":
            gains = [line.above_floor if line else None for line in found]
            cells.append(["  added by the records", *(f"{gain.mean:+.3f}" if gain else "" for gain in gains)])
    cells += [[title(name), *[str(level)] * len(table.budgets)] for name, level in table.levels[metric].items()]
    return Grid(METRICS[metric], ["claimed epsilon", *(f"{epsilon:g}" for epsilon in table.budgets)], {"": cells})


def fair_grid(table: ComparisonTable, classifier: str) -> Grid:
    """Return a table of the results with one classifier: a row for each mechanism and epsilon."""
    chosen = [line for line in table.lines if line.row.classifier == classifier]
    quality = [name for name in QUALITY if any(line.measures[name] is not None for line in chosen)]
    found: dict[str, list[list[str]]] = {"without a model": []}
    for line in chosen:
        found.setdefault(line.model or "without a model", []).append(_fair_line(line, quality))
    measures = [*METRICS.values(), "added by the records", *(QUALITY[name] for name in quality)]
    last = [MAJORITY, ABSENT, "0", table.levels["accuracy"][MAJORITY].spread, *[ABSENT] * (2 + len(quality))]
    found["without a model"].append(last)
    return Grid(classifier, ["text by", "claimed eps", "true eps", *measures], found)


def _fair_line(line: Line, quality: list[str]) -> list[str]:
    claimed = ABSENT if line.row.claimed_epsilon is None else f"{line.row.claimed_epsilon:g}"
    claimed += f" (as {line.row.enough})" if _is_flat(line) else ""
    return [
        *(line.title, claimed, words(line.row.epsilon) if line.row.epsilon else "0"),
        *(getattr(line, metric).spread for metric in METRICS),
        ABSENT if line.above_floor is None else line.above_floor.spread,
        *(
            _mean_cell(line.measures[name])
            + ("" if (other := line.measures.get(OTHERS.get(name, ""))) is None else f" ({_mean_cell(other)})")
            for name in quality
        ),
    ]


def _mean_cell(value: float | None) -> str:
    if value is None:
        return ABSENT
    return f"{value:.0f}" if value >= 100 else f"{value:#.3g}"


def state_point(table: ComparisonTable) -> str:
    """Return the main finding of the comparison, in two to four sentences."""
    idle, best = name_idle_budgets(table), find_best(table)
    broken = next((curve for curve in table.curves if curve.mechanism == "original"), None)
    compared = [epsilon for epsilon in broken.at if epsilon in best.at] if broken and best else []
    if broken is None or best is None or not compared:
        text, level = (mean(_means(table, name)) for name in ("none", "random"))
        return (
            f"{idle}The text itself reaches an accuracy of {text:.3f}, and texts that a decoder writes from random latents "
            f"reach {level:.3f}. A mechanism's merit is what its records add to the best reference that reads no record."
        )
    reached = {epsilon: (broken.at[epsilon].accuracy.mean, best.at[epsilon].accuracy.mean) for epsilon in compared}
    claimed = max(compared, key=lambda epsilon: reached[epsilon][0] - reached[epsilon][1])
    chance = best.random.accuracy.mean if best.random else max(_means(table, "random"))
    return (
        f"{idle}At a claimed epsilon of {claimed:g} the original reaches an accuracy of {reached[claimed][0]:.3f} "
        f"and the best mechanism whose claim holds ({best.title}) {reached[claimed][1]:.3f}; text that knows "
        f"nothing of the records reaches {chance:.3f}. But the original's claim is false: it adds noise as if two clipped "
        "latents were never farther apart than 2C, but in n dimensions they can be sqrt(n) times as far. There it truly "
        f"spends epsilon {words(broken.at[claimed].row.epsilon)}."
    )


def _means(table: ComparisonTable, mechanism: str) -> list[float]:
    return [line.accuracy.mean for line in table.texts if line.row.mechanism == mechanism]


def warn_of_seen_records(config: CompareConfig) -> list[str]:
    """Return a warning if the model was trained on the same records that it rewrites."""
    learned = {"codec": {"description"}, "codebook": {"codebook", "learned_codebook"}}  # which these mechanisms use
    used = [word for word, names in learned.items() if names & set(config.mechanisms)]
    public = f", and its {' and '.join(used)} {'is' if len(used) == 1 else 'are'} not public" if used else ""
    warning = (
        "No guarantee of this page holds for its records, because the rewriter was trained on them (protocol paper). With any "
        f"mechanism, the text of one record may hold what the model learned from another{public}."
    )
    return [warning] if config.protocol == "paper" else []


def warn_of_short_training(config: CompareConfig, table: ComparisonTable) -> list[str]:
    """Return a warning if the training was too short for a comparison of mechanisms."""
    decoded = [line for line in table.texts if line.row.decoder == "lstm" and config.model_dir is None]
    identity = {line.model: line.accuracy.mean for line in decoded if line.row.mechanism == "identity"}
    low = [
        f"random reaches {line.accuracy} ({line.model}), less than the majority label with {line.majority}"
        for line in decoded
        if line.row.mechanism == "random" and line.accuracy.mean + _error(line) < line.majority.mean
    ]
    above = [
        f"{line.title} at epsilon {line.row.claimed_epsilon:g} reaches {line.accuracy}, more than its model without noise "
        f"(identity) with {identity[line.model]:.3f}"
        for line in decoded
        if line.row.claimed_epsilon and line.accuracy.mean - _error(line) > identity.get(line.model, math.inf)
    ]
    short = "; ".join([*low, *above[:1]])
    advice = "Train longer (trainer.max_epochs) before you compare mechanisms."
    return [f"Training was too short to judge: {short}. {advice}"] if short else []


def _error(line: Line) -> float:
    """Return twice the standard error of a line's accuracy, from the number of test records."""
    return 2 * math.sqrt(line.accuracy.mean * (1 - line.accuracy.mean) / line.row.test_records)


def warn_of_losses(table: ComparisonTable) -> list[str]:
    """Return a warning if rewriting reduces the accuracy a lot even without any noise."""
    [text] = _means(table, "none")
    identity = [line for line in table.texts if line.row.mechanism == "identity"]
    lost = ", ".join(f"{line.accuracy} ({line.model})" for line in identity if line.accuracy.mean < 0.8 * text)
    warning = (
        f"The rewriter itself loses much of the text: without any noise (identity) the accuracy is {lost}, that of the text "
        f"{text:.3f}. No budget gives it back; more dimensions, topics or longer training may."
    )
    return [warning] if lost else []


def name_idle_budgets(table: ComparisonTable) -> str:
    """Return a sentence on the budgets at which records add nothing to what is free; "" if there are none."""
    idle: dict[str, dict[str, list[str]]] = {}  # budgets by what is free, then by mechanism
    for curve in table.curves:
        for epsilon, line in curve.at.items():
            if line.above_floor and line.above_floor.low <= 0:
                free = f"{title(line.floor or '')}: {line.accuracy.mean - line.above_floor.mean:.3f}"
                idle.setdefault(free, {}).setdefault(curve.title, []).append(f"{epsilon:g}")
    named = {free: [f"{name} at {', '.join(at)}" for name, at in found.items()] for free, found in idle.items()}
    listed = "; ".join(f"{' and '.join(found)} ({free})" for free, found in named.items())
    larger = " A larger public encoder may get more from names." if "name" in listed else ""
    said = f"These budgets add nothing that can be shown to what is free without any record: {listed}.{larger} "
    return said if idle else ""


def warn_of_small_files(table: ComparisonTable) -> list[str]:
    """Return a warning if so few records are released that the accuracy of one release says little."""
    best, original = find_best(table), next(line for line in table.texts if line.row.mechanism == "none")
    if best is None or (variation := describe_variation(original.row.train_records)) is None:
        return []
    seen = [
        f"{line.extremes[0]:.3f} to {line.extremes[1]:.3f} at {epsilon:g}"
        for epsilon, line in best.at.items()
        if line.accuracy.seeds > 1
    ]
    shown = f" Here, single releases by {best.title} have {', '.join(seen)}." if seen else ""
    return [f"{variation[0].upper()}{variation[1:]}.{shown}"]


def warn_of_flat_parts(table: ComparisonTable) -> list[str]:
    """Return a warning for each mechanism of which a smaller budget writes the same texts."""
    return [
        f"{line.title} writes the same sentences at epsilon {line.row.claimed_epsilon:g} as at {line.row.enough}, where it "
        "protects more."
        for line in table.texts
        if _is_flat(line)
    ]


def _is_flat(line: Line) -> bool:
    claimed, enough = line.row.claimed_epsilon, line.row.enough
    return claimed is not None and enough is not None and claimed > enough


def advise(table: ComparisonTable) -> str:
    """Return a sentence that recommends the best mechanism whose claim holds."""
    best = find_best(table)
    if best is None:
        return "No mechanism of this comparison can be used: none has a claim that holds."
    last = best.at.get(table.budgets[-1])
    opening = f"{best.title}, the best here of those whose claim holds"
    if last is not None and last.above_floor is not None and last.above_floor.low <= 0:
        opening = f"nothing of this. Even {opening}, may be no better than {title(last.floor or '')}"
    reached = " and ".join(_describe_accuracy(best.at[epsilon]) for epsilon in sorted({min(best.at), max(best.at)}))
    return f"What to use: {opening}. Its accuracy is {reached}."


def _describe_accuracy(line: Line) -> str:
    gain = line.above_floor
    beside = (
        f" ({abs(gain.mean):.3f} {'above' if gain.mean >= 0 else 'below'} {title(line.floor or '')})" if gain else ""
    )
    return f"{line.accuracy} at epsilon {line.row.claimed_epsilon:g}{beside}"


def find_best(table: ComparisonTable) -> Curve | None:
    """Return the curve with the highest mean accuracy among the mechanisms whose claims hold."""
    return max(
        (curve for curve in table.curves if curve.holds),
        key=lambda curve: (len(curve.at), mean(line.accuracy.mean for line in curve.at.values())),
        default=None,
    )
