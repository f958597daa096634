"""The statement beside a rewritten file: every field of ``OUTPUT.privacy.json``, and the same in words."""

import math
from dataclasses import dataclass
from typing import Any

from adept.mechanisms.guarantee import Guarantee, json_number, total, words


@dataclass(frozen=True, kw_only=True)
class PrivacyStatement:
    """The statement beside a rewritten file: every field of ``OUTPUT.privacy.json``, and :attr:`text` in words.

    ``epsilon`` is the true total per record, over what is private under ``neighbours``: with copied labels the neighbours are
    records with the same label, because two records with different labels can be told apart for certain.
    """

    mechanism: str
    mechanism_options: dict[str, Any]  # every field of the mechanism, so that its law can be written down again
    guarantee: Guarantee  # of the released latent, and so of the text
    dim: int
    clip: str
    clip_norm: float
    records: int
    samples: int
    labels: str | None  # how labels were treated; None where the input has none
    label_epsilon: float | None  # budget of randomised labels, spent beside that of the text
    kept_columns: list[str]
    training_data: dict[str, Any]
    versions: dict[str, str]
    max_records_per_person: int | None = None  # what a person column was checked against; None without one
    denoised: bool = False  # whether the noise was taken out of all releases together before anything was written
    simulated: bool = False

    @property
    def epsilon(self) -> float:
        """The true total per record."""
        return total(self.guarantee.epsilon, self.label_epsilon or 0.0)

    @property
    def text_epsilon(self) -> float:
        """The true total of the text alone, for any two records; denoised text is written from released labels too."""
        if not self.denoised:
            return self.guarantee.epsilon
        return math.inf if self.labels == "copy" else self.epsilon

    @property
    def person_epsilon(self) -> float | None:
        """The true total per person, where a person column was checked (basic composition)."""
        return total(*[self.epsilon] * self.max_records_per_person) if self.max_records_per_person else None

    @property
    def neighbours(self) -> str:
        """Which records cannot be told apart: what is copied tells records apart for certain."""
        copied = [*(["label"] if self.labels == "copy" else []), *self.kept_columns]
        return f"any two records with the same {' and '.join(copied)}" if copied else "any two records"

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON values; what does not apply is null, an infinite epsilon is the string "inf"."""
        g, people = self.guarantee, self.max_records_per_person
        return {
            "mechanism": self.mechanism,
            "mechanism_options": self.mechanism_options,
            "claimed_epsilon": json_number(total(g.claimed_epsilon, self.label_epsilon or 0.0)),
            "epsilon": json_number(self.epsilon),
            "text_epsilon": json_number(self.text_epsilon),
            "label_epsilon": "inf" if self.labels == "copy" else self.label_epsilon,
            "delta": g.delta,
            "person_epsilon": json_number(self.person_epsilon),
            "person_delta": people * g.delta if people else None,
            "max_records_per_person": people,
            "holds": g.holds,
            "exact": g.exact,
            "sensitivity": json_number(g.sensitivity),
            "scale": json_number(g.scale),
            "dim": self.dim,
            "clip": self.clip,
            "clip_norm": self.clip_norm,
            "unit": "record",
            "neighbours": self.neighbours,
            "records": self.records,
            "samples": self.samples,
            "denoised": self.denoised,
            "labels": self.labels,
            "kept_columns": self.kept_columns,
            "composition": self._composition,
            "training_data": self.training_data,
            "simulated": self.simulated,
            "versions": self.versions,
            "statement": self.text,
        }

    @property
    def text(self) -> str:
        """The statement in words: what is guaranteed, to whom, and what is not."""
        parts = [self.guarantee.text, *self._label_text(), self._composition]
        if not self.guarantee.exact:
            parts.append(
                "The release is floating-point arithmetic: the proof covers the formula, not every rounding error."
            )
        if self.samples > 1 and not self.denoised:
            parts.append(
                f"The {self.samples} rewrites of a record share one released latent and cost no further budget."
            )
        if self.denoised:
            parts.append(self._denoised_text)
        if self.kept_columns:
            parts.append(f"The columns {', '.join(self.kept_columns)} are copied as they are: they are not private.")
        origin = "public" if self.training_data.get("public") else "PRIVATE"
        parts.append(
            f"The model's weights and vocabulary come from {self.training_data.get('name')}, declared {origin}; "
            "this guarantee does not cover the text they were trained on."
        )
        if self.simulated:
            parts.append("This is a simulation with seeded noise: it guarantees nothing.")
        return " ".join(parts)

    @property
    def _denoised_text(self) -> str:
        label = (
            "with its own label, so that the text tells the label even without its column"
            if self.labels == "copy"
            else "and its label is drawn with it: written labels do not follow randomised response, and must not be corrected again"
        )
        return (
            "All releases and released labels were read together before anything was written, which is post-processing of them and "
            "costs no further budget. No text is decoded from its record's codeword alone: its codeword is drawn from what all "
            f"releases say together, {label}."
        )

    def _label_text(self) -> list[str]:
        match self.labels:
            case "copy":
                return [
                    "The labels are copied: they are not private, and the guarantee compares records with the same label only."
                ]
            case "joint":
                return [
                    "The label is written from the same released latent as the text, so the guarantee is for the pair of both."
                ]
            case "randomized_response":
                return [
                    "The label is randomised over its public label set with its own epsilon of "
                    f"{words(self.label_epsilon or 0.0)}; the pair of text and label is "
                    f"({words(self.epsilon)}, {self.guarantee.delta:g})-LDP."
                ]
            case "drop":
                return ["The labels are left out."]
            case _:
                return []

    @property
    def _composition(self) -> str:
        people = self.max_records_per_person
        if math.isinf(self.epsilon):
            return "Nobody is protected."
        again = "Another run over the same records is another release, and budgets add up."
        if people is None:
            return f"Each record is one release; whoever contributed m records is protected with m times epsilon and delta. {again}"
        return (
            f"Nobody contributed more than {people} records (checked); by basic composition a person's epsilon is at most "
            f"{words(self.person_epsilon or 0.0)} and delta at most {people * self.guarantee.delta:g}. {again}"
        )

    def card(self, title: str) -> str:
        """Return a dataset card in Markdown, for people who get the file without its history."""
        fields = {
            key: value
            for key, value in self.to_json().items()
            if isinstance(value, int | float | str) and key != "statement"
        }
        rows = "\n".join(f"| {key.replace('_', ' ')} | {value} |" for key, value in fields.items())
        return (
            "---\ntags: [differential-privacy, synthetic]\n---\n"
            f"# {title}\n\n## Privacy statement\n\n{self.text}\n\n| | |\n|---|---|\n{rows}\n\n"
            "Every text here was written by a decoder from randomised vectors. It is not what anyone said, and it may be wrong.\n"
        )
