"""A statement in words, and the card for people who get a file without its history.

What a statement says of numbers is rounded up (``guarantee.words``); what a model's directory says of itself stands in quotes,
reduced to a plain name (``facts.plain_name``), so that it cannot add a sentence or a line.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from adept.mechanisms.guarantee import words
from adept.release.facts import plain_name

if TYPE_CHECKING:
    from adept.release.statement import PrivacyStatement


def statement_text(statement: PrivacyStatement) -> str:
    """Return what is guaranteed, to whom, and what is not."""
    parts = [statement.guarantee.text, *_labels(statement), composition(statement)]
    if not statement.guarantee.exact:
        parts.append(
            "The release is floating-point arithmetic: the proof covers the formula, not every rounding error."
        )
    if statement.samples > 1:
        parts.append(
            f"The {statement.samples} rewrites of a record share one released {_kind(statement)} and cost no further budget."
        )
    if statement.kept_columns:
        parts.append(f"The columns {', '.join(statement.kept_columns)} are copied as they are: they are not private.")
    if statement.shuffled:
        parts.append(statement.shuffled.text(statement.neighbours))
    parts.append(f"Not hidden: {_listed(statement.not_hidden)}, and may depend on its words.")
    parts.append(_origin(statement))
    if statement.simulated:
        parts.append("This is a simulation with seeded noise: it guarantees nothing.")
    return " ".join(parts)


def composition(statement: PrivacyStatement) -> str:
    """Return what several records of one person, and several releases of one record, come to."""
    people = statement.max_records_per_person
    if math.isinf(statement.epsilon):
        return "Nobody is protected."
    again = "Another run over the same records is another release, and budgets add up."
    if people is None:
        return f"Each record is one release; whoever contributed m records is protected with m times epsilon and delta. {again}"
    return (
        f"Nobody contributed more than {people} records (checked); by basic composition a person's epsilon is at most "
        f"{words(statement.person_epsilon or 0.0)} and delta at most {people * statement.guarantee.delta:g}. {again}"
    )


def card(statement: PrivacyStatement, title: str) -> str:
    """Return a dataset card in Markdown, for people who get the file without its history."""
    fields = {
        key: value
        for key, value in statement.to_json().items()
        if isinstance(value, int | float | str) and key != "statement"
    }
    rows = "\n".join(f"| {key.replace('_', ' ')} | {value} |" for key, value in fields.items())
    return (
        "---\ntags: [differential-privacy, synthetic]\n---\n"
        f"# {plain_name(title)}\n\n## Privacy statement\n\n{statement.text}\n\n| | |\n|---|---|\n{rows}\n\n"
        f"Every text here was written from a randomised {_kind(statement)}, not copied from its record. It may be wrong, and it "
        "may also be, word for word, what its record, or somebody else, said.\n"
    )


def _listed(facts: list[str]) -> str:
    return f"{', '.join(facts[:-1])}, and {facts[-1]}"


def _kind(statement: PrivacyStatement) -> str:
    """What is released: a description has no latent, and so no dimensions."""
    return "description" if statement.dim is None else "latent"


def _origin(statement: PrivacyStatement) -> str:
    name, public = plain_name(statement.training_data.get("name")), statement.training_data.get("public") is True
    private = (
        ", and the model can write sentences of it; its codec holds sequences of up to four words that stand in two "
        "different texts of it"
    )
    declared, warning = ("public", "") if public else ("PRIVATE", private)
    packaged = "The model is the one that comes with adept. " if statement.training_data.get("packaged") else ""
    return (
        f'{packaged}The model\'s weights, vocabulary and codes come from text named "{name}", declared {declared}; '
        f"this guarantee does not cover the text they were trained on{warning}."
    )


def _labels(statement: PrivacyStatement) -> list[str]:
    match statement.labels:
        case "copy":
            return [
                "The labels are copied: they are not private, and the guarantee compares records with the same label only."
            ]
        case "joint":
            return [
                "The label is written from the same released latent as the text, so the guarantee is for the pair of both."
            ]
        case "joint_response":
            return [
                "Label and text were drawn as one symbol: a label that is not the record's own stands beside a text that says "
                f"nothing of the record either. The text alone is {words(statement.text_epsilon)}-LDP, the label alone "
                f"{words(statement.label_epsilon or 0.0)}-LDP; these do not add up, and the pair is "
                f"({words(statement.epsilon)}, {statement.guarantee.delta:g})-LDP."
            ]
        case "randomized_response":
            return [
                "The label is randomised over its public label set with its own epsilon of "
                f"{words(statement.label_budget)}; the pair of text and label is "
                f"({words(statement.epsilon)}, {statement.guarantee.delta:g})-LDP."
            ]
        case "drop":
            return ["The labels are left out."]
        case _:
            return []
