"""A page for the person who approves a release: one HTML file without scripts, fit for printing.

*Claim*: the page reveals no more about the records than the statement does. *Proof*. The page is a
function of the statement's fields, of options, of the bounds that all releases in the ledger state
in advance, and of rewrites of public texts. No record of the input contributes to any of these. QED.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from adept.mechanisms.guarantee import CANDIDATES, judge, odds_change, risk, words
from adept.release.statement.provenance import plain_name
from adept.release.statement.wording import FINE_PRINT, SHUFFLING_CONDITIONS

Json = dict[str, Any]
LABEL_TREATMENTS: dict[str | None, str] = {
    "copy": "copied as they are: not private",
    "joint": "written by the model from the same release as the text",
    "joint_response": "released together with the text as one symbol",
    "randomized_response": "randomised with a budget of their own",
    "vote": "counted together with the text: private",
    "drop": "left out",
    None: "none in the file",
}
LABELS_IN_TEXTS = "; a text can tell its label, so leaving the label column out later does not hide the labels"


@dataclass(frozen=True)
class StatedTotal:
    """The sum of the bounds that all releases in a ledger state for one person, whoever was in them.

    ``epsilon`` and ``delta`` are for replacing the person's records; they are None if a release
    does not limit the records of a person.
    """

    releases: int
    epsilon: float | None = None
    delta: float | None = None


def approval_page(
    described: Json,
    examples: Sequence[tuple[str, str]],
    *,
    title: str,
    statement: str,
    about: Sequence[tuple[str, str]] = (),
    total: StatedTotal | None = None,
) -> str:
    """Return the page for approval as HTML.

    Args:
        described: fields of the privacy statement, as read from the statement's file.
        title, statement: file names of the output and of the statement, without directories.
        examples: pairs of a public text and its rewrite; in a central release, "" instead of the
            rewrite.
        about: pairs of a name and a text of the user's own, such as the purpose of the release.
        total: the total of all releases in the ledger; None without a ledger.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("adept.release.statement"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template("approval.html.jinja").render(
        title=title,
        statement=statement,
        said=described,
        central=described["trust"] == "central",
        about=about,
        done=_list_facts(described),
        guarantee=_state_guarantee(described),
        total=_state_total(total),
        exposed=_list_exposed(described),
        fine_print=[fact for fact in described["not_hidden"] if fact in FINE_PRINT],
        examples=examples,
    )


def _list_facts(said: Json) -> list[tuple[str, str]]:
    people, labels = said["max_records_per_person"], said["labels"]
    told = labels == "copy" and said["text_epsilon"] is None
    rows = "rows written" if said["trust"] == "central" else "records rewritten"
    return [
        (rows, f"{said['records']:,}"),
        (
            "mechanism",
            f"{said['mechanism']}, by a model of the text \u201c{plain_name(said['training_data'].get('name'))}\u201d",
        ),
        ("labels", LABEL_TREATMENTS[labels] + LABELS_IN_TEXTS * told),
        ("columns copied as they are", ", ".join(said["kept_columns"]) or "none"),
        ("records of one person", f"at most {people}" if people else "not bounded"),
        ("released", said["date"] or "not yet"),
    ]


def _state_guarantee(said: Json) -> list[str]:
    epsilon = math.inf if said["epsilon"] == "inf" else said["epsilon"]
    if said["holds"] is None:
        claimed = words(said["claimed_epsilon"])
        return [f"Nothing is proved. The epsilon of {claimed} is {said['unproved']['claim']}.", said["composition"]]
    if math.isinf(epsilon):
        return ["Nothing is guaranteed: epsilon is infinite."]
    if said["trust"] == "central":
        return _state_central(said, epsilon)
    pairs, delta = said["neighbours"], said["delta"]
    lines = [f"Epsilon is {words(epsilon)} for each record" + (f", and delta {words(delta)}." if delta else ".")]
    if not delta:
        lines.append(f"Whatever a reader knows, the odds between {pairs} {odds_change(epsilon)}.")
    lines.append(
        f"Suppose a reader has {CANDIDATES:,} candidates for what a record said. They pick the right one in "
        f"{risk(epsilon, delta)}."
    )
    lines += [_judge(said), said["composition"]]
    if said["central_epsilon"] is not None:
        lines.append(
            f"For readers who never see the old order, epsilon is {words(said['central_epsilon'])} and delta "
            f"{words(said['central_delta'])}, as each record is hidden among {said['shuffled_smallest']:,} records. This "
            f"holds under three conditions: {SHUFFLING_CONDITIONS}."
        )
    return lines


def _state_central(said: Json, epsilon: float) -> list[str]:
    change = {"add_or_remove": "took part or not", "replace": "said one thing or another"}[said["neighbours"]]
    return [
        f"Epsilon is {words(epsilon)} for each {said['unit']}, for the file as a whole.",
        f"Whatever a reader knows, the odds that a {said['unit']} {change} {odds_change(epsilon)}.",
        _judge(said),
        said["composition"],
        "Readers must trust whoever held the file and ran the command.",
    ]


def _judge(said: Json) -> str:
    if said["person_epsilon"] is None:
        return f"What this means for one record: {judge(said['epsilon'])}. Nothing is said of a person with several records."
    most = said["max_records_per_person"]
    who = f"a person with at most {most} record{'s' * (most > 1)}, whose epsilon is {words(said['person_epsilon'])}"
    return f"What this means for {who}: {judge(said['person_epsilon'])}."


def _state_total(total: StatedTotal | None) -> str:
    if total is None:
        return "No ledger was kept, so nothing is known of earlier releases."
    listed = f"The ledger lists {total.releases} release{'s' * (total.releases > 1)}, with this one."
    if total.epsilon is None:
        return f"{listed} There is no bound for a person, because not every release limits the records of a person."
    delta = f", and delta {words(total.delta)}" if total.delta else ""
    return (
        f"{listed} For one person, whoever was in them, the releases state at most epsilon {words(total.epsilon)} together{delta}. "
        f"What this means: {judge(total.epsilon)}."
    )


def _list_exposed(said: Json) -> list[str]:
    """Return a phrase for each thing that an attacker can use, the most serious first."""
    wrong = "nobody checked" if said["holds"] is None else "is false: the numbers here are the true ones"
    broken = [] if said["holds"] else [f"the claim of the mechanism, which {wrong}"]
    inexact = [] if said["exact"] or said["holds"] is None else ["rounding errors: the noise is floating point"]
    private = ["the text that the model was trained on, which is PRIVATE"] if said["private_model"] else []
    usable = [fact for fact in said["not_hidden"] if fact not in FINE_PRINT]
    copied = sorted(usable, key=lambda fact: not fact.startswith("each record's"))
    return [*broken, *inexact, *private, *copied]
