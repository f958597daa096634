"""The statement beside a rewritten file: every field of ``OUTPUT.privacy.json``."""

from dataclasses import dataclass
from typing import Any

from adept.mechanisms.guarantee import json_number
from adept.release.checker import STATEMENT_VERSION, statement_sha256
from adept.release.facts import label_facts
from adept.release.released import Released
from adept.release.wording import composition, statement_text


@dataclass(frozen=True, kw_only=True)
class PrivacyStatement(Released):
    """What was released, as JSON and in words."""

    @property
    def text(self) -> str:
        """The statement in words: what is guaranteed, to whom, and what is not."""
        return statement_text(self)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON values, and the certificate with their digest."""
        described = {"statement_version": STATEMENT_VERSION} | self._fields()
        if self.certificate:
            described["certificate"] = {"parts": self.certificate}
            described["certificate"]["statement_sha256"] = statement_sha256(described)
        return described

    def _fields(self) -> dict[str, Any]:
        """The fields as JSON values; what does not apply is null, an infinite epsilon is the string "inf"."""
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
            "person_delta": self.person_delta,
            "max_records_per_person": people,
            "excess": self.excess if people else None,
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
            "trust": self.trust,
            "records": self.records,
            "shuffled_here": self.shuffled.here if self.shuffled else None,
            "shuffled_records": self.shuffled.records if self.shuffled else None,
            "shuffled_smallest": self.shuffled.smallest if self.shuffled else None,
            "central_epsilon": self.shuffled.epsilon if self.shuffled else None,
            "central_delta": self.shuffled.delta if self.shuffled else None,
            **{
                name: getattr(self, name)
                for name in ("samples", "labels", "text_column", "label_column", "kept_columns")
            },
            **label_facts(self.label_response),
            "composition": composition(self),
            "training_data": self.training_data,
            **{name: getattr(self, name) for name in ("model_sha256", "model_files", "output_sha256")},
            **{name: getattr(self, name) for name in ("date", "simulated", "versions")},
            "statement": self.text,
            "certificate": None,
        }
