"""The sentences of privacy statements, the data set card, and the page for approval.

The page's own sentences stand in its template, ``templates/approval.html.jinja``.

Every epsilon and delta in the sentences is rounded up (``guarantee.words``). A probability is
written as a number of times out of a total, and never rounded to "always" (``guarantee.often``). A
stranger may have chosen the name of the model's training text. So this name is reduced to plain
characters (``plain_name``) and quoted: it cannot add a sentence or a line.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, Any

from adept.data.reading import READING_EXCEPTIONS
from adept.errors import escape, plain_name
from adept.mechanisms.guarantee import CANDIDATES, judge, odds_change, risk, total, words
from adept.pages import render

if TYPE_CHECKING:
    from adept.release.statement.statement import CentralStatement, PrivacyStatement, Shuffled, Statement

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
NOT_HIDDEN = (
    "the fact that someone took part",
    "how many records there are",
    "the place of a record that ends the run with an error (the record is damaged, lacks a value, has an unknown label, or "
    "exceeds its person's bound)",
    "whether the first record has a label, if no option names the label column (labels are written only if it has one)",
    "the fact that a record was released before, if a ledger refuses the run for this reason",
    "everything that the model learned from its training text",
)
TIME_NOT_HIDDEN = (
    "how long a batch of records takes, if somebody sees when rows are written (the time depends on the lengths and "
    "words of the records, and on which of them are equal or similar)"
)
TELLS_LABEL = (
    "Each text is one of the public sentences that the name of its label selects, so a text can reveal its label: leaving the "
    "label column out later does not hide the labels. For two records with different labels, the text alone has no finite "
    "epsilon."
)
FIRST_LABEL_NOT_HIDDEN = (
    "when a label occurs for the first time, or again after many others, if somebody sees when rows are written (the label's "
    "sentences are selected then)"
)
CENTRAL_NOT_HIDDEN = (
    "the fact that this output was written from a private file",
    "everything that the model learned from its training text",
    "the time that a run takes, if somebody watches it",
    f"a value that damages the whole file ({'; '.join(READING_EXCEPTIONS)})",
)
# Those facts, among the facts that are not hidden, of which an attacker can hardly make use
FINE_PRINT = (*NOT_HIDDEN[2:], TIME_NOT_HIDDEN, FIRST_LABEL_NOT_HIDDEN, *CENTRAL_NOT_HIDDEN[1:])
OTHER_SPELLING = (
    "For a ledger, another spelling of a text is another record, even if the mechanism reads both alike: it does not add up their "
    "budgets."
)
NOTHING_STANDS_OUT = (
    "No count stands out of the noise: at this budget almost nothing can be said about such a file, and the output says little "
    "more than the public texts do."
)


def local_text(statement: "PrivacyStatement") -> str:
    samples, kept, shuffled = statement.samples, ", ".join(statement.kept_columns), statement.shuffled
    kind = "description" if statement.mechanism.radius is None else "latent"
    rewrites = f"The {samples} rewrites of a record share one released {kind}, so they cost no further budget."
    inexact = statement.guarantee.holds is not None and not statement.guarantee.exact
    rounding = "The release uses floating-point arithmetic: the proof covers the formula, but not every rounding error."
    pairs = f"the guarantee compares only {statement.neighbours.removeprefix('any two ')}."
    copied = f"The columns {kept} are copied as they are: they are not private, and {pairs}"
    parts = [
        statement.guarantee.text,
        _labels(statement),
        local_composition(statement),
        rounding if inexact else "",
        rewrites if samples > 1 else "",
        copied if kept else "",
        _describe_shuffling(shuffled, statement) if shuffled else "",
        f"The following is not hidden: {_list_facts(facts_not_hidden(statement))}.",
        origin(statement.training_data),
    ]
    return " ".join(filter(None, parts))


def _person_odds(statement: "PrivacyStatement") -> str:
    if statement.person_delta:
        return ""
    same = statement.neighbours.partition(" with the same ")[2]
    others = f"others with the same {same}" if same else "any others"
    return (
        f"If all records of one person are replaced by {others}, the odds of any output "
        f"{odds_change(statement.person_epsilon or 0.0)}. "
    )


def local_composition(statement: "PrivacyStatement") -> str:
    people = statement.max_records_per_person
    if statement.guarantee.holds is None:
        return "No total of a record or a person is known, because the claim is not checked."
    if math.isinf(statement.epsilon):
        return "Nobody is protected."
    again = f"Another run over the same records is another release, and the budgets add up. {OTHER_SPELLING}"
    if people is None:
        return (
            "Each record is one release. If a person contributed m records, their total epsilon and delta are m times as large. "
            f"{again}"
        )
    return (
        f"{_describe_bound(statement)}. By basic composition, a person's total epsilon is at most "
        f"{words(statement.person_epsilon or 0.0)} and delta at most {words(statement.person_delta or 0.0)}. "
        f"{_person_odds(statement)}{again}"
    )


def _describe_bound(statement: "PrivacyStatement") -> str:
    people, excess, over_limit = statement.max_records_per_person, statement.excess, statement.over_limit
    kept = "record was" if people == 1 else f"{people} records were"
    first = f"Each person's first {kept} kept, and all later ones were left out"
    checked = f"The run checked that nobody contributed more than {people} record{'s' * (people != 1)}"
    sentences = {
        first if excess == "drop" else checked: True,
        "A ledger of earlier releases limits each person's budget, and records of persons without budget were left out": (
            over_limit == "drop"
        ),
        "So the epsilon of a record compares records of the same person": "drop" in (excess, over_limit),
    }
    return ". ".join(sentence for sentence, holds in sentences.items() if holds)


DECLARES_SHUFFLING = "The user declares that a trusted party shuffles the records in groups of at least {}"
SHUFFLING_CONDITIONS = (
    "nobody contributed more than one record, the number of records is public, and the old order is not revealed by another "
    "release, by times, or by another file"
)


def _describe_shuffling(shuffled: "Shuffled", statement: "PrivacyStatement") -> str:
    rows = f", each with all its {statement.samples} rewrites" if statement.samples > 1 else ""
    who = "This run shuffled the records" if shuffled.here else DECLARES_SHUFFLING.format(shuffled.records)
    return (
        f"{who}{rows}. For readers who never see the old order, the file is "
        f"({words(shuffled.epsilon)}, {words(shuffled.delta)})-DP for replacing one record by another "
        f"({statement.neighbours}), because each record is hidden among {shuffled.smallest} records. This holds under three "
        f"conditions: {SHUFFLING_CONDITIONS}. For readers who know the old order, only the local guarantee holds."
    )


def _list_facts(facts: list[str]) -> str:
    return "; ".join(f"({place}) {fact}" for place, fact in enumerate(facts, start=1))


def origin(data: dict[str, Any]) -> str:
    name, public = plain_name(data.get("name")), data.get("public") is True
    packaged = "The model is the one that comes with adept. " if data.get("packaged") else ""
    adapted = (
        f"; {data['examples']} of its texts are examples, declared public by whoever adapted the model. The examples may be "
        "written word for word."
        if data.get("examples")
        else ""
    )
    return (
        f'{packaged}The model\'s weights, vocabulary and codes come from text named "{name}", declared '
        f"{'public' if public else 'PRIVATE'} by whoever trained it{adapted or '.'} This guarantee does not cover that text."
        f"{'' if public else ' The model can write sentences of that text.'}"
    )


def _labels(statement: "PrivacyStatement") -> str:
    pair = f"({words(statement.epsilon)}, {words(statement.guarantee.delta)})-LDP"
    sentences: dict[str | None, str] = {
        "copy": "The labels are copied and not private, and the guarantee compares only records with the same label."
        + (f" {TELLS_LABEL}" if statement.by_label else ""),
        "joint": "The label is written from the same released latent as the text, so the guarantee covers both together.",
        "joint_response": (
            "Label and text were drawn as one symbol: if the label is not the record's own, the text says nothing about the "
            f"record either. The text alone is {words(statement.text_epsilon or 0.0)}-LDP, and the label alone is "
            f"{words(statement.label_epsilon or 0.0)}-LDP. These two do not add up: the pair is {pair}."
        ),
        "randomized_response": (
            "The label is randomised over its public label set, with an epsilon of "
            f"{words(statement.label_budget)} of its own. The pair of text and label is {pair}."
        ),
        "drop": "The labels are left out.",
    }
    return sentences.get(statement.labels, "")


def facts_not_hidden(statement: "PrivacyStatement") -> list[str]:
    most, dropped = statement.max_records_per_person, statement.excess == "drop"
    facts = [
        *((True, fact) for fact in NOT_HIDDEN[:2]),
        (not (statement.shuffled and statement.shuffled.here), "their order"),
        *((True, fact) for fact in NOT_HIDDEN[2:]),
        (dropped, "which records were left out because they exceed their person's bound"),
        (dropped, f"how many records, up to {most}, a person has"),
        (
            statement.over_limit == "drop",
            "which records were left out because earlier releases have used the budget of their persons: the absence of a person "
            "tells that their budget was used",
        ),
        (
            statement.guarantee.holds is None,
            "whatever else the code of the mechanism does with the records, such as storing or sending them",
        ),
        *((True, f"each record's {column}") for column in statement.copied),
        (True, TIME_NOT_HIDDEN),
        (statement.by_label, FIRST_LABEL_NOT_HIDDEN),
    ]
    return [fact for holds, fact in facts if holds]


def central_text(statement: "CentralStatement") -> str:
    both = "Text and label of a record are one vote, so both are private."
    named = ", the public names of the labels, and the model" if statement.label_set else ""
    return " ".join(
        [
            statement.guarantee.text,
            *_rounds(statement),
            central_composition(statement),
            f"For one {statement.guarantee.unit}, the odds of any output {odds_change(statement.epsilon)}.",
            both if statement.label_set else "Labels were left out.",
            "Every text is a public text of the model, and none was copied from a record. The choice of texts, their numbers, and "
            f"their labels depend only on the released counts{named}.",
            *([] if statement.stands_out else [NOTHING_STANDS_OUT]),
            "The guarantee requires trust in whoever held the file.",
            f"The following is not hidden: {_list_facts(list(CENTRAL_NOT_HIDDEN))}.",
            origin(statement.training_data),
        ]
    )


def _rounds(statement: "CentralStatement") -> list[str]:
    votes = statement.votes
    if votes.rounds == 1:
        return []
    first, second = words(total(votes.number_epsilon)), words(total(votes.counts_epsilon))
    return [
        f"There were two rounds, whose budgets add up to this epsilon. The first round spent {first} on the number of counted "
        f"records, with noise of scale {words(votes.number_scale)}. This noisy number decided into how many groups the texts "
        f"were divided. The second round spent {second} on the counts of these groups, with noise of scale {words(votes.scale)}."
    ]


def _who(statement: "CentralStatement") -> str:
    votes, most = statement.votes, statement.votes.votes_per_person
    if not statement.persons:
        return "The guarantee is for one record. If a person contributed m records, their total epsilon is m times as large."
    return (
        "The guarantee is for one person, who is one name in a column that the curator chose. At most "
        f"{most} of a person's records {'was' if most == 1 else 'were'} counted, and all others were left out. If one record "
        "of a person is removed, another of their records may count instead. So "
        f"the epsilon of one record alone is {words(votes.record_epsilon(2))} for adding or removing it, and "
        f"{words(votes.record_epsilon(4))} for replacing it by any other."
    )


def central_composition(statement: "CentralStatement") -> str:
    """Return the protected unit, and the releases to whose epsilon this release adds which amount.

    *Claim*: the sum holds for each pair of records that the local release compares. *Proof*: the local guarantee, at
    epsilon e, and the central one, at ``times_counted`` times its epsilon, hold for replacing one record by the other,
    and independent releases add up (basic composition). If labels or columns are copied, or records are left out, the
    local release compares fewer pairs (``PrivacyStatement.neighbours``), and has no finite epsilon for the others. QED.
    """
    return (
        f"{_who(statement)} The budgets of several central releases of the same records add up, for the same neighbours. Together "
        "with a local release of the same records at epsilon e, the total for replacing one record by any other is "
        f"e + {words(statement.times_counted * statement.epsilon)}, if the number of records is public, and if the local release "
        "copied neither labels nor columns and left no records out. A local release that copied labels or columns, or kept only "
        "each person's first records, compares fewer pairs of records: the total holds for those pairs alone."
    )


def card(statement: "Statement", title: str) -> str:
    """Return a data set card (Markdown) with the statement; ``title`` is the file's name."""
    described = statement.to_json()
    read = "description" if described["dim"] is None else "latent"
    own = f"a {read}" if described["epsilon"] == "inf" else f"a randomised {read}"
    fields = {
        key: value
        for key, value in described.items()
        if isinstance(value, int | float | str) and key not in ("statement", "text_column", "label_column")
    }
    rows = "\n".join(f"| {key.replace('_', ' ')} | {_markdown(value)} |" for key, value in fields.items())
    return (
        f"---\ntags: [{'differential-privacy, ' if described['holds'] else ''}synthetic]\n---\n"
        f"# {plain_name(title)}\n\n## Privacy statement\n\n{_markdown(statement.text)}\n\n| | |\n|---|---|\n{rows}\n\n"
        f"Every text here was written from {'noisy counts' if described['trust'] == 'central' else own}, not copied from a "
        "record. It may be wrong, and it may also be, word for word, what somebody said.\n"
    )


def _markdown(value: object) -> str:
    """Return a value as one line of Markdown that shows its characters: names of columns may hold anything."""
    return re.sub(r"([\\`*\[\]<>&|~$])", r"\\\1", escape(str(value)))


# --- The page for approval


@dataclass(frozen=True)
class StatedTotal:
    """The sum of the bounds that all releases in a ledger state for one person, whoever was in them.

    ``epsilon`` and ``delta`` are for replacing the person's records; they are None if a release
    does not limit the records of a person. ``pairs`` holds the neighbours of those local releases
    that do not compare any two records: the sum holds for pairs that all of them compare.
    """

    releases: int
    epsilon: float | None = None
    delta: float | None = None
    pairs: tuple[str, ...] = ()


def approval_page(
    described: Json,
    examples: Sequence[tuple[str, str]],
    *,
    title: str,
    statement: str,
    about: Sequence[tuple[str, str]] = (),
    total: StatedTotal | None = None,
) -> str:
    """Return the page for the person who approves a release: HTML without scripts, fit for printing.

    *Claim*: the page reveals no more about the records than the statement does. *Proof*. The page is a function of the
    statement's fields, of options, of the bounds that all releases in the ledger state in advance, and of rewrites of
    public texts. No record of the input contributes to any of these. QED.

    Args:
        described: fields of the privacy statement, as read from the statement's file.
        title, statement: file names of the output and of the statement, without directories.
        examples: pairs of a public text and its rewrite; in a central release, "" instead of the rewrite.
        about: pairs of a name and a text of the user's own, such as the purpose of the release.
        total: the total of all releases in the ledger; None without a ledger.
    """
    filters = judge, odds_change, plain_name, quote, risk, words
    exposed = [fact for fact in described["not_hidden"] if fact not in FINE_PRINT]
    given = {"title": title, "statement": statement, "said": described, "about": about, "total": total}
    values = given | dict[str, Any](
        examples=examples,
        central=described["trust"] == "central",
        labels=LABEL_TREATMENTS[described["labels"]],
        candidates=f"{CANDIDATES:,}",
        shuffling_conditions=SHUFFLING_CONDITIONS,
        declared=f"{DECLARES_SHUFFLING.format(described['shuffled_records'])}. ",
        exposed=sorted(exposed, key=lambda fact: not fact.startswith("each record's")),  # the most serious first
        fine_print=[fact for fact in described["not_hidden"] if fact in FINE_PRINT],
    )
    return render("adept.release.statement", "approval.html.jinja", values, filters)
