"""The statement beside a rewritten file: every field of ``OUTPUT.privacy.json``; ``adept.release.wording`` says it in words."""

from dataclasses import dataclass, field
from typing import Any

from adept.mechanisms import JointResponse, RandomizedResponse
from adept.mechanisms.guarantee import Guarantee, json_number, total
from adept.release.facts import label_facts
from adept.release.shuffling import Shuffled
from adept.release.wording import composition, statement_text

ORDER = "their order"
NOT_HIDDEN = (
    "that someone took part",
    "how many records there are",
    ORDER,
    "the time that a record takes to be rewritten, which tells how long it is",
)


@dataclass(frozen=True, kw_only=True)
class PrivacyStatement:
    """The statement beside a rewritten file: every field of ``OUTPUT.privacy.json``, and :attr:`text` in words.

    ``epsilon`` is the true total per record, over what is private under ``neighbours``: with copied labels the neighbours are
    records with the same label, because two records with different labels can be told apart for certain.
    """

    mechanism: str
    mechanism_options: dict[str, Any]  # every field of the mechanism, so that its law can be written down again
    guarantee: Guarantee  # of the released latent, and so of the text; of text and label where they are one symbol
    dim: int | None
    clip: str | None
    clip_norm: float | None
    records: int
    samples: int
    labels: str | None  # how labels were treated; None where the input has none
    label_response: RandomizedResponse | JointResponse | None  # what randomised labels, beside the text or with it
    kept_columns: list[str]
    training_data: dict[str, Any]
    versions: dict[str, str]
    codebook: dict[str, Any] = field(default_factory=dict)  # size, top and codebook_sha256, as realised
    model_sha256: str | None = None
    output_sha256: str | None = None
    date: str | None = None  # when the release was finished, UTC
    max_records_per_person: int | None = None  # what a person column was checked against; None without one
    shuffled: Shuffled | None = None  # what is hidden further by a new order; None where records keep theirs
    simulated: bool = False

    @property
    def label_epsilon(self) -> float | None:
        """The true epsilon of the written label alone, where labels are released."""
        law = self.label_response
        return law.label_epsilon if isinstance(law, JointResponse) else self.label_budget or None

    @property
    def label_budget(self) -> float:
        """What labels spend beside the guarantee: nothing where it is that of the pair, or where they are not released."""
        response = self.label_response
        return response.guarantee().epsilon if response and not isinstance(response, JointResponse) else 0.0

    @property
    def epsilon(self) -> float:
        """The true total per record."""
        return total(self.guarantee.epsilon, self.label_budget)

    @property
    def claimed_epsilon(self) -> float:
        """What the mechanisms' authors say the total is."""
        return total(self.guarantee.claimed_epsilon, self.label_budget)

    @property
    def text_epsilon(self) -> float:
        """The true total of the text alone, for any two records."""
        law = self.label_response
        return law.text_epsilon if isinstance(law, JointResponse) else self.guarantee.epsilon

    @property
    def person_epsilon(self) -> float | None:
        """The true total per person, where a person column was checked (basic composition); summed exactly, rounded up once."""
        people = self.max_records_per_person
        return total(self.guarantee.epsilon, self.label_budget, times=people) if people else None

    @property
    def neighbours(self) -> str:
        """Which records cannot be told apart: what is copied tells records apart for certain."""
        copied = [*(["label"] if self.labels == "copy" else []), *self.kept_columns]
        return f"any two records with the same {' and '.join(copied)}" if copied else "any two records"

    @property
    def not_hidden(self) -> list[str]:
        """What nobody promises to hide; the order only where this run shuffled it away."""
        return [fact for fact in NOT_HIDDEN if fact != ORDER or not (self.shuffled and self.shuffled.here)]

    @property
    def text(self) -> str:
        """The statement in words: what is guaranteed, to whom, and what is not."""
        return statement_text(self)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON values; what does not apply is null, an infinite epsilon is the string "inf"."""
        g, people = self.guarantee, self.max_records_per_person
        return {
            "mechanism": self.mechanism,
            "mechanism_options": self.mechanism_options,
            "claimed_epsilon": json_number(self.claimed_epsilon),
            "epsilon": json_number(self.epsilon),
            "text_epsilon": json_number(self.text_epsilon),
            "label_epsilon": "inf" if self.labels == "copy" else self.label_epsilon,
            "delta": g.delta,
            "person_epsilon": json_number(self.person_epsilon),
            "person_delta": people * g.delta if people else None,
            "max_records_per_person": people,
            "holds": g.holds,
            "exact": g.exact,
            "private_model": self.training_data.get("public") is not True,
            "sensitivity": json_number(g.sensitivity),
            "scale": json_number(g.scale),
            "dim": self.dim,
            "clip": self.clip,
            "clip_norm": self.clip_norm,
            **{key: self.codebook.get(key) for key in ("size", "top", "codebook_sha256")},
            "unit": "record",
            "neighbours": self.neighbours,
            "not_hidden": self.not_hidden,
            "records": self.records,
            "shuffled_here": self.shuffled.here if self.shuffled else None,
            "shuffled_records": self.shuffled.records if self.shuffled else None,
            "shuffled_smallest": self.shuffled.smallest if self.shuffled else None,
            "central_epsilon": self.shuffled.epsilon if self.shuffled else None,
            "central_delta": self.shuffled.delta if self.shuffled else None,
            "samples": self.samples,
            "labels": self.labels,
            **label_facts(self.label_response),
            "kept_columns": self.kept_columns,
            "composition": composition(self),
            "training_data": self.training_data,
            "model_sha256": self.model_sha256,
            "output_sha256": self.output_sha256,
            "date": self.date,
            "simulated": self.simulated,
            "versions": self.versions,
            "statement": self.text,
        }
