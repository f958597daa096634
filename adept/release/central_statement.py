"""The statement beside synthetic records: what is guaranteed, to whom, and nothing that tells of one record.

Every field is a public option, or computed from released counts: no number of records that were read, no digest of the input, and
no time that a run took. The date is that of the day on which it began.
"""

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from adept.mechanisms.certificate import Part, laplace_part
from adept.mechanisms.guarantee import Guarantee, words
from adept.mechanisms.votes import COUNTS_MOVED, Votes
from adept.release.checker import STATEMENT_VERSION, statement_sha256
from adept.release.wording import listed, origin

NOT_HIDDEN = (
    "that a file was read and this was written from it",
    "what the model learned from its training text",
    "how long a run takes, for whoever watches it",
    "a value that damages the whole file: a quote in a csv file that is never closed hides the rows after it, and a damaged page "
    "of a parquet file, a damaged compressed file or a value too large for the memory ends the run",
)
NOTHING = (
    "No count stands out of what noise alone makes: at this budget next to nothing can be said about such a file, and what is "
    "written says little more than the public texts do."
)
LOCAL = (
    "dim", "clip", "clip_norm", "top", "label_keep_probability", "shuffled_here", "shuffled_records", "shuffled_smallest",
    "central_epsilon", "central_delta",
)  # fmt: skip
"""Fields of a statement about local releases."""


@dataclass(frozen=True, kw_only=True)
class CentralStatement:
    """A central release of a whole file.

    Attributes:
        votes: the mechanism that released the counts.
        records: number of synthetic records; None before they are written.
        label_set: public labels; None if labels were left out.
        persons: True if a column names each record's person.
        cells: number K of codewords.
        cells_sha256: digest of the codewords.
        training_data: origin of the model's text.
        model_sha256: digest of the weights.
        model_files: digests of the model directory's files; None for a model without files.
        versions: versions of the programs that drew and wrote the records.
        date: the day on which the run began.
        output_sha256: digest of the output.
        stands_out: True if any released count exceeds what noise alone would give.
        text_column: the text's column in the output.
        label_column: the label's column in the output; None if labels were left out.
    """

    votes: Votes
    records: int | None
    label_set: tuple[str, ...] | None
    persons: bool
    cells: int
    cells_sha256: str
    training_data: dict[str, Any]
    model_sha256: str
    versions: dict[str, str]
    date: str
    output_sha256: str | None = None
    stands_out: bool = True
    text_column: str | None = None
    label_column: str | None = None
    model_files: dict[str, str] | None = None

    @property
    def mechanism(self) -> str:
        """What released the counts."""
        return self.votes.name

    @property
    def guarantee(self) -> Guarantee:
        """That of a person, or of a record where there are no persons."""
        return self.votes.guarantee(persons=self.persons)

    @property
    def epsilon(self) -> float:
        """The budget of a person, or of a record."""
        return self.votes.epsilon

    @property
    def delta(self) -> float:
        """None is spent."""
        return 0.0

    @property
    def unit(self) -> str:
        """Whom the guarantee protects."""
        return "person" if self.persons else "record"

    @property
    def counted(self) -> int:
        """Return how many times epsilon counts at most, for replacing one record and for replacing a person.

        Replacing is removing and adding. If a person's record is removed, their next one counts: up to 4 counts change
        (``adept.mechanisms.votes``), and one epsilon covers a change of ``sensitivity``.
        """
        person = 2 // COUNTS_MOVED[self.votes.neighbours]
        return max(person, -(-4 // self.votes.sensitivity)) if self.persons else person

    @property
    def certificate(self) -> list[Part]:
        """Sensitivity and scale of the counts, from which epsilon follows."""
        scale, epsilon = self.votes.scale, Fraction(self.votes.epsilon)
        return [laplace_part("counts", epsilon=epsilon, sensitivity=self.votes.sensitivity, scale=scale)]

    @property
    def text(self) -> str:
        """The statement in words."""
        return " ".join(
            [
                self.guarantee.text,
                self._who(),
                "Text and label of a record are one vote, so that both are private."
                if self.label_set
                else "Labels were left out.",
                "Every text here is a public text of the model, and none was copied from a record; which of them stand here, "
                "how often and with what label follows from the released counts alone.",
                *([] if self.stands_out else [NOTHING]),
                self.composition,
                f"The guarantee asks to trust whoever held the file. Not hidden: {listed(list(NOT_HIDDEN))}.",
                origin(self.training_data),
            ]
        )

    def _who(self) -> str:
        """Return whom the guarantee protects, and how many records of a person were counted."""
        most = self.votes.votes_per_person
        if not self.persons:
            return (
                "The guarantee is for one record: if a person contributed m records, their epsilon is m times as large."
            )
        return (
            "The guarantee is for one person, that is, one name in a column that the curator chose. At most "
            f"{most} of a person's records {'was' if most == 1 else 'were'} counted, and all others were left out. If one record "
            "of a person is removed, another of their records may count instead. So "
            f"the epsilon of one record alone is {words(self.votes.record_epsilon(2))} for adding or removing it, and "
            f"{words(self.votes.record_epsilon(4))} for replacing it by any other."
        )

    @property
    def composition(self) -> str:
        """The total budget of several releases of the same records."""
        both = (
            "Together with a local release of the same records at epsilon e, the budget is e + "
            f"{words(self.counted * self.epsilon)} for replacing one record, if the number of records is public"
        )
        return f"Budgets of central releases of the same records add up, for the same neighbours. {both}."

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON values, and the certificate with their digest."""
        described = self._fields() | {"certificate": {"parts": self.certificate}}
        described["certificate"]["statement_sha256"] = statement_sha256(described)
        return described

    def _fields(self) -> dict[str, Any]:
        """The fields as JSON values; what does not apply is null."""
        guarantee, votes = self.guarantee, self.votes
        return {
            "statement_version": STATEMENT_VERSION,
            "mechanism": self.mechanism,
            "mechanism_options": asdict(votes),
            "claimed_epsilon": guarantee.claimed_epsilon,
            "epsilon": guarantee.epsilon,
            "text_epsilon": votes.epsilon,
            "label_epsilon": votes.epsilon if self.label_set else None,
            "delta": self.delta,
            "person_epsilon": votes.epsilon if self.persons else None,
            "person_delta": self.delta if self.persons else None,
            "max_records_per_person": votes.votes_per_person if self.persons else None,
            "holds": guarantee.holds,
            "exact": guarantee.exact,
            "private_model": self.training_data.get("public") is not True,
            "sensitivity": guarantee.sensitivity,
            "scale": guarantee.scale,
            "size": self.cells * len(self.label_set or (None,)),
            "codebook_sha256": self.cells_sha256,
            "unit": self.unit,
            "neighbours": votes.neighbours,
            "not_hidden": list(NOT_HIDDEN),
            "trust": "central",
            "records": self.records,
            "samples": 1,
            "labels": "vote" if self.label_set else "drop",
            "label_set": list(self.label_set) if self.label_set else None,
            "text_column": self.text_column,
            "label_column": self.label_column,
            "kept_columns": [],
            "stands_out": self.stands_out,
            "composition": self.composition,
            "training_data": self.training_data,
            "model_sha256": self.model_sha256,
            "model_files": self.model_files,
            "output_sha256": self.output_sha256,
            "date": self.date,
            "simulated": False,
            "versions": self.versions,
            "statement": self.text,
            **dict.fromkeys(LOCAL),
        }
