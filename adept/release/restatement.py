"""Write a statement again from its own facts, so that its sentences can be compared with those that ``adept`` writes."""

import math
from importlib.metadata import version
from typing import Any

from adept.errors import AdeptError
from adept.mechanisms import BY_NAME, JointResponse, LocalRandomizer, RandomizedResponse
from adept.mechanisms.votes import Votes
from adept.release.checker import SENTENCES, Json, Refused, is_ours
from adept.release.shuffling import Shuffled
from adept.release.statement import CentralStatement, PrivacyStatement


def restated(said: Json) -> Json | None:
    """Return the sentences and numbers of a release with the mechanism, options and declared facts of a statement.

    Return None if another version of adept wrote the statement, whose sentences may differ.

    Raises:
        Refused: no release has such facts.
    """
    if not is_ours(said) or said["versions"].get("adept-dp") != version("adept-dp"):
        return None
    try:
        again = (_central if said["trust"] == "central" else _local)(said).to_json()
    except (
        AdeptError,
        LookupError,
        TypeError,
        ValueError,
        ArithmeticError,
        AttributeError,
        RecursionError,
        MemoryError,
    ):
        raise Refused("no release has the mechanism, options and facts of this statement") from None
    return {
        name: again[name]
        for name in (*SENTENCES, "claimed_epsilon", "text_epsilon", "label_epsilon", "sensitivity", "scale")
    }


def _central(said: Json) -> CentralStatement:
    votes = Votes(**said["mechanism_options"])
    labels = said["label_set"]
    return CentralStatement(
        votes=votes,
        records=said["records"],
        label_set=tuple(labels) if labels else None,
        persons=said["unit"] == "person",
        cells=said["size"] // len(labels or (None,)),
        cells_sha256=said["codebook_sha256"],
        stands_out=said["stands_out"],
        **_passed_on(said),
    )


def _local(said: Json) -> PrivacyStatement:
    mechanism, response = _mechanism(said), _response(said)
    joint = JointResponse.of(mechanism, response.labels) if response and said["labels"] == "joint_response" else None
    dim = said["dim"]
    shuffled = (said["shuffled_here"], said["shuffled_records"], said["shuffled_smallest"])
    return PrivacyStatement(
        mechanism=said["mechanism"],
        mechanism_options=said["mechanism_options"],
        guarantee=(joint or mechanism).guarantee(dim),
        dim=dim,
        clip=said["clip"],
        clip_norm=said["clip_norm"],
        records=said["records"],
        samples=said["samples"],
        labels=said["labels"],
        label_response=joint or response,
        kept_columns=said["kept_columns"],
        codebook=said,
        max_records_per_person=said["max_records_per_person"],
        excess=said["excess"] or "refuse",
        shuffled=_read_shuffling(*shuffled, said["central_epsilon"], said["central_delta"])
        if said["trust"] == "shuffled"
        else None,
        **_passed_on(said),
    )


def _read_shuffling(here: bool, records: int, smallest: int, epsilon: float, delta: float) -> Shuffled:
    return Shuffled(here=here, records=records, smallest=smallest, epsilon=epsilon, delta=delta)


def _mechanism(said: Json) -> LocalRandomizer:
    options = {name: math.inf if value == "inf" else value for name, value in said["mechanism_options"].items()}
    return BY_NAME[said["mechanism"]](**options)


def _response(said: Json) -> RandomizedResponse | None:
    """Return the mechanism of randomised labels, which depends on the stated epsilon and label set alone."""
    if said["label_set"] is None:
        return None
    return RandomizedResponse(epsilon=said["label_epsilon"], labels=tuple(said["label_set"]))


def _passed_on(said: Json) -> dict[str, Any]:
    names = (
        "text_column",
        "label_column",
        "training_data",
        "versions",
        "model_sha256",
        "model_files",
        "output_sha256",
        "date",
    )
    return {name: said[name] for name in names}
