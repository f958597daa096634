"""What a release guarantees: a claim, its truth, and the words in which both are stated."""

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """The local differential privacy of one release of one latent: what is claimed beside what is true.

    A mechanism M is (epsilon, delta)-LDP when P[M(x) in S] <= exp(epsilon) P[M(x') in S] + delta for all records x, x' and all sets
    S of outputs (Habernal 2021, Definition 2.3, any two records being neighbours).
    """

    claimed_epsilon: float  # what the mechanism's author says, in nats
    epsilon: float  # what holds: the smallest proven bound, possibly infinite
    delta: float
    holds: bool  # is the claim true, that is epsilon <= claimed_epsilon
    exact: bool  # is the release exact arithmetic, so that the proof covers the program and not only the formula
    sensitivity: float | None  # true largest distance of two clipped latents in the mechanism's norm, in latent units
    scale: float | None  # scale of the noise per coordinate, in latent units
    text: str  # the guarantee in words


def json_number(value: float | None) -> float | str | None:
    """Return ``value`` as JSON can hold it: an infinite epsilon is the string "inf"."""
    return "inf" if value is not None and math.isinf(value) else value


def words(epsilon: float) -> str:
    """Return epsilon for a sentence, with at most four significant digits."""
    return "infinite" if math.isinf(epsilon) else f"{epsilon:.4g}"


@dataclass(frozen=True, kw_only=True)
class PrivacyStatement:
    """The statement beside a rewritten file: every field of ``OUTPUT.privacy.json`` but ``statement``, which is :attr:`text`.

    ``epsilon`` is the true total per record, over what is private under ``neighbours``: with copied labels the neighbours are
    records with the same label, because two records with different labels can be told apart for certain.
    """

    mechanism: str
    guarantee: Guarantee
    dim: int
    clip: str
    clip_norm: float
    records: int
    samples: int
    labels: str | None  # how labels were treated; None where the input has none
    kept_columns: list[str]
    training_data: dict[str, Any]
    versions: dict[str, str]
    simulated: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON values; what does not apply is null, an infinite epsilon is the string "inf"."""
        g = self.guarantee
        return {
            "mechanism": self.mechanism,
            "claimed_epsilon": json_number(g.claimed_epsilon),
            "epsilon": json_number(g.epsilon),
            "text_epsilon": json_number(g.epsilon),
            "label_epsilon": "inf" if self.labels == "copy" else None,
            "delta": g.delta,
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
            "labels": self.labels,
            "kept_columns": self.kept_columns,
            "composition": COMPOSITION,
            "training_data": self.training_data,
            "simulated": self.simulated,
            "versions": self.versions,
            "statement": self.text,
        }

    @property
    def neighbours(self) -> str:
        """Which records cannot be told apart."""
        return "any two records with the same label" if self.labels == "copy" else "any two records"

    @property
    def text(self) -> str:
        """The statement in words: what is guaranteed, to whom, and what is not."""
        parts = [self.guarantee.text]
        if not self.guarantee.exact:
            parts.append(
                "The release is floating-point arithmetic: the proof covers the formula, not every rounding error."
            )
        if self.samples > 1:
            parts.append(
                f"The {self.samples} rewrites of a record share one released latent and cost no further budget."
            )
        if self.labels == "copy":
            parts.append(
                "The labels are copied: they are not private, and the guarantee compares records with the same label only."
            )
        if self.kept_columns:
            parts.append(f"The columns {', '.join(self.kept_columns)} are copied as they are: they are not private.")
        parts.append(COMPOSITION)
        origin = "public" if self.training_data.get("public") else "PRIVATE"
        parts.append(
            f"The model's weights and vocabulary come from {self.training_data.get('name')}, declared {origin}; "
            "this guarantee does not cover the text they were trained on."
        )
        if self.simulated:
            parts.append("This is a simulation with seeded noise: it guarantees nothing.")
        return " ".join(parts)


COMPOSITION = (
    "Each record is one release; whoever contributed m records is protected with m times the epsilon and delta."
)
