"""A statement in words.

Every epsilon and delta in it is rounded up (``guarantee.words``, here and in the mechanisms' own texts), and a probability is a
count of times, never rounded to always (``guarantee.often``); what a model's directory says of itself stands in quotes, reduced to
a plain name (``facts.plain_name``), so that it cannot add a sentence or a line.
"""

import math
from typing import Any

from adept.mechanisms.guarantee import words
from adept.release.facts import plain_name
from adept.release.released import Released
from adept.release.shuffling import Shuffled


def statement_text(statement: Released) -> str:
    """Return what is guaranteed, to whom, and what is not."""
    parts = [statement.guarantee.text, *_labels(statement), composition(statement)]
    if not statement.guarantee.exact:
        parts.append(
            "The release is floating-point arithmetic: the proof covers the formula, not every rounding error."
        )
    if statement.samples > 1:
        parts.append(
            f"The {statement.samples} rewrites of a record share one released {kind(statement)} and cost no further budget."
        )
    if statement.kept_columns:
        parts.append(f"The columns {', '.join(statement.kept_columns)} are copied as they are: they are not private.")
    if statement.shuffled:
        parts.append(_shuffled(statement.shuffled, statement.neighbours))
    parts.append(f"Not hidden: {listed(statement.not_hidden)}.")
    parts.append(origin(statement.training_data))
    if statement.simulated:
        parts.append("This is a simulation with seeded noise: it guarantees nothing.")
    return " ".join(parts)


def composition(statement: Released) -> str:
    """Return what several records of one person, and several releases of one record, come to."""
    people = statement.max_records_per_person
    if math.isinf(statement.epsilon):
        return "Nobody is protected."
    again = "Another run over the same records is another release, and budgets add up."
    if people is None:
        return (
            "Each record is one release; if a person contributed m records, their epsilon and delta are m times as large. "
            f"{again}"
        )
    return (
        f"{_checked(statement)}; by basic composition a person's epsilon is at most "
        f"{words(statement.person_epsilon or 0.0)} and delta at most {words(statement.person_delta or 0.0)}. {again}"
    )


def _checked(statement: Released) -> str:
    """Return how the bound of a person was kept, and which records are then compared."""
    people = statement.max_records_per_person
    if statement.excess == "drop":
        return (
            f"Each person's first {'record was' if people == 1 else f'{people} records were'} kept and all later ones were left "
            "out, so the epsilon of a record compares records of the same person"
        )
    return f"Nobody contributed more than {people} records (checked)"


def _shuffled(shuffled: Shuffled, neighbours: str) -> str:
    """What shuffling adds, and on what conditions."""
    who = (
        "This run shuffled the records"
        if shuffled.here
        else "The user declares that a trusted party shuffles the records"
    )
    return (
        f"{who}. For readers who never see the old order, the file is ({words(shuffled.epsilon)}, {words(shuffled.delta)})-DP for "
        f"replacing one record by another ({neighbours}), as each record is hidden among {shuffled.smallest}; on condition "
        "that nobody contributed more than one record, that the number of records is public, and that no other release of "
        "them, no time and no place in another file tells their order. Whoever sees the old order is bound by the local "
        "guarantee alone."
    )


def listed(facts: list[str]) -> str:
    """Return facts as a list in a sentence."""
    return f"{', '.join(facts[:-1])}, and {facts[-1]}"


def kind(statement: Released) -> str:
    """What is released: a description has no latent, and so no dimensions."""
    return "description" if statement.dim is None else "latent"


def origin(data: dict[str, Any]) -> str:
    """Return where a model comes from, and what that means."""
    name, public = plain_name(data.get("name")), data.get("public") is True
    private = (
        ", and the model can write sentences of it; its codec holds sequences of up to four words that stand in two "
        "different texts of it"
    )
    declared, warning = ("public", "") if public else ("PRIVATE", private)
    packaged = "The model is the one that comes with adept. " if data.get("packaged") else ""
    adapted = (
        f"; {data['examples']} of its texts are examples, declared public by whoever adapted the model, which may be written "
        "word for word"
        if data.get("examples")
        else ""
    )
    return (
        f'{packaged}The model\'s weights, vocabulary and codes come from text named "{name}", declared {declared} by whoever '
        f"trained it{adapted}; this guarantee does not cover the text they were trained on{warning}."
    )


def _labels(statement: Released) -> list[str]:
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
                f"({words(statement.epsilon)}, {words(statement.guarantee.delta)})-LDP."
            ]
        case "randomized_response":
            return [
                "The label is randomised over its public label set with its own epsilon of "
                f"{words(statement.label_budget)}; the pair of text and label is "
                f"({words(statement.epsilon)}, {words(statement.guarantee.delta)})-LDP."
            ]
        case "drop":
            return ["The labels are left out."]
        case _:
            return []
