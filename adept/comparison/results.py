"""What a comparison answers: the rows of its table, audits, attacks and examples, and the names that rows go by.

A new column is a field of :class:`Row`, at the end and with a default, so that rows which were kept before it can still be read.
What measures text goes into ``adept.evaluation.quality``; nothing else has to know of it but the page that shows it.
"""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from adept.attacks.reconstruction_game import GivenAway
from adept.comparison.config import CompareConfig

NONE, PUBLIC, LOOKUP = "none", "public_only", "lookup"  # in the place of a mechanism: text as it is, and a baseline
LSTM, NEAREST, LATENTS = "lstm", "nearest", "latents"  # decoders
PUBLIC_TEXTS = "public"  # what a synthesizer writes
VOTE = "vote"  # labels that are counted with their texts
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
    content_words: float | None = None  # the same, words weighed by how few records hold them
    content_words_other: float | None = None
    exact: float | None = None  # word for word, case and white space aside
    exact_other: float | None = None
    fluency: float | None = None  # perplexity under a trigram model of other public text, relative to the records' own
    holds: bool | None = None  # is the claim true of these records: never with protocol=paper, whose model saw them


@dataclass(frozen=True)
class Labels:
    """The released labels of the private records."""

    values: list[str]


@dataclass(frozen=True)
class Released:
    """What was released of the private records: a row (N, n) each, once, whatever reads it."""

    rows: Tensor


@dataclass(frozen=True)
class Written:
    """What was written for a cell: texts, their labels, and how many records were written a second."""

    texts: list[str]
    labels: list[str]
    records_per_second: float

    def __post_init__(self) -> None:
        if len(self.texts) != len(self.labels):
            raise ValueError("texts and labels must be equally many")


@dataclass(frozen=True)
class Quality:
    """What was measured of the texts of a cell: fields of its row, by name (``adept.evaluation.quality``)."""

    columns: dict[str, Any]


@dataclass(frozen=True)
class AuditVerdict:
    """What an audit says of a mechanism's claim at the comparison's smallest budget."""

    mechanism: str
    epsilon: float
    violated: bool
    certified_epsilon: float
    evidence: str  # of the first failed check
    guarantee: str = ""  # in words, where only who has the public text can say it


@dataclass(frozen=True, kw_only=True)
class AttackLine:
    """One line of ``attacks.csv``: what one attack on one mechanism at one budget came to.

    Attributes:
        claimed_epsilon, epsilon, delta: of the text alone, where labels have a share of the budget.
        clip, content: of the model.
        knows: pool, the private utterances by their frequency, or crowd, all that could have been said, equally likely.
        success: exact, or good enough: the same slot values.
        candidates: different utterances among which a secret stands.
        rate, low, high: the share of right guesses, and its interval.
        without_release: what the best guess without a release reaches.
        claimed_bound, bound: what no attack exceeds if the claim holds, and in truth.
        optimum: what the best attack reaches exactly; None where releases are not from a finite alphabet.
        beyond_claim: share of the releases that moved odds further than the claim allows; None with a delta, which allows some.
        largest_odds: how far odds moved at most, in nats; None where nobody looked.
        refutes_claim, beyond_bound: is the whole interval above the bound.
        words: the same in a sentence.
    """

    mechanism: str
    claimed_epsilon: float
    epsilon: float
    delta: float
    clip: str
    content: str
    knows: str
    success: str
    candidates: int
    records: int
    confidence: float
    rate: float
    low: float
    high: float
    without_release: float
    claimed_bound: float
    bound: float
    optimum: float | None
    beyond_claim: float | None
    largest_odds: float | None
    refutes_claim: bool
    beyond_bound: bool
    words: str


@dataclass(frozen=True)
class Attacked:
    """What was found out about records from releases of one mechanism at one budget.

    Attributes:
        lines: one attack on one success each.
        given_away: records that were named right, the surest first; none of data that are not public.
    """

    lines: list[AttackLine]
    given_away: list[GivenAway]


@dataclass(frozen=True)
class Example:
    """A record, or None where it must not be shown, and the text of each row that stands for it."""

    original: str | None
    rewrites: list[tuple[Row, str]]


@dataclass(frozen=True)
class Results:
    """A comparison's answer: all that its report is made of.

    Attributes:
        config: what was asked.
        rows: seed by seed, in the order of the plan.
        audits: a verdict on each mechanism that has a claim.
        attacks: what was found out of records from each mechanism's releases; none unless it was asked for.
        examples: records beside their rewrites; none where they must not be shown.
    """

    config: CompareConfig
    rows: list[Row]
    audits: list[AuditVerdict]
    attacks: list[Attacked]
    examples: list[Example]
