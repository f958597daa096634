"""What a comparison answers: one row of its table, and the names that its columns know.

A new column is a field of :class:`Row`, at the end and with a default, so that rows which were kept before it can still be read.
What measures text goes into ``adept.comparison.quality``; nothing else has to know of it but the page that shows it.
"""

from dataclasses import asdict, dataclass
from typing import Any

from adept.mechanisms.guarantee import json_number

NONE, PUBLIC, LOOKUP = "none", "public_only", "lookup"  # in the place of a mechanism: text as it is, and a baseline
REFERENCES = ("identity", "random")  # with ``none`` the rows between which every mechanism lies
LSTM, NEAREST, LATENTS = "lstm", "nearest", "latents"  # decoders
JOINT_RESPONSE = "joint_response"  # labels that are one symbol with the text; references have theirs as they are then
DESCRIBED = "codec"  # what writes descriptions
WORDS = "words"  # no decoder: the release is text already
TOKEN_WISE = ("token_response", "token_exponential")  # what might be taken instead: word by word
PROMPTED, REDACTED = "prompt_sampling", "redaction"  # the same on our decoder; and by rules, without a guarantee
ALTERNATIVES = (*TOKEN_WISE, PROMPTED, REDACTED)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of ``results.csv``; what does not apply is None."""

    data: str
    protocol: str
    mechanism: str
    decoder: str | None = None  # lstm, codec, nearest, latents or words
    claimed_epsilon: float | None  # None: the row has no budget
    epsilon: float  # true, of text and label together where labels are randomised
    label_epsilon: float | None = None
    delta: float
    dim: int
    seed: int
    classifier: str
    labels: str
    samples: int
    accuracy: float
    macro_f1: float
    records_per_second: float | None
    clip: str | None  # of the model that wrote the text
    content: str | None = None  # the topics that its latents were trained towards
    majority_accuracy: float
    train_records: int
    test_records: int
    overlap: float | None = None  # of a rewrite's words with its record's
    bleu: float | None = None
    distinct: float | None = None
    perplexity: float | None = None  # under a bigram model of the private originals
    verbatim_own: float | None = None
    verbatim_chance: float | None = None
    verbatim_public: float | None = None
    slots: float | None = None  # share of the slot values of a record that stand in its rewrite
    slots_other: float | None = None  # the same in another record's rewrite, as all that end so
    words: float | None = None  # F1 of a rewrite's words with its record's
    words_other: float | None = None
    exact: float | None = None  # word for word, case and white space aside
    exact_other: float | None = None
    fluency: float | None = None  # perplexity under a trigram model of other public text, relative to the records' own
    holds: bool | None = (
        None  # is the claim true of these records: never with protocol=paper, whose model has seen them
    )

    def plain(self) -> dict[str, Any]:
        """Return the fields as JSON can hold them."""
        return {**asdict(self), "epsilon": json_number(self.epsilon)}

    @classmethod
    def from_plain(cls, values: dict[str, Any]) -> "Row":
        """Return the row that ``plain`` came from."""
        return cls(**{**values, "epsilon": float(values["epsilon"])})
