"""The rows of a comparison before anything is computed: each row's recipe is a cell, and a configuration is a list of cells.

A new mechanism needs nothing here. A new *decoder* needs three things: its name in ``adept.comparison.results``, the rule for when
it writes in :func:`decoders`, and one function in ``adept.comparison.decoders``. A new *baseline* without a model is a name in
:func:`baselines`, and what it releases and writes in ``adept.comparison.decoders``. What releases text at once, without a latent,
is an *alternative*: a name in :func:`alternatives`, and a class that ``adept.comparison.alternatives`` builds.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from adept.comparison.config import CompareConfig
from adept.comparison.families import Family, family_of
from adept.comparison.results import (
    ALTERNATIVES,
    DESCRIBED,
    JOINT_RESPONSE,
    LATENTS,
    LOOKUP,
    LSTM,
    NEAREST,
    NONE,
    PROMPTED,
    PUBLIC,
    REDACTED,
    REFERENCES,
    TOKEN_WISE,
    WORDS,
    Row,
)
from adept.mechanisms import BY_NAME, Description, LearnedCodebook

LOGISTIC = "logistic"  # the classifier of latents
IDENTITY, IDENTITY_SAMPLES = "identity", 2  # its texts repeat nothing, so that a classifier reads every one of them
PUBLIC_RECORDS = (50, 100, 200, 400, 800, 1600, 3200)  # labelled public texts: what a break-even is read from


@dataclass(frozen=True)
class Cell:
    """The recipe of one row, its seed aside.

    Attributes:
        mechanism: a mechanism's name, or what stands in its place: ``none``, ``public_only``,
            ``public_<records>``, ``lookup``, or one of ``ALTERNATIVES``.
        budget: the claimed epsilon of text and label together; None where there is none.
        decoder: what reads the release; None for text as it is.
        classifier: what is trained on the result.
        family: the model; None without one. References have a cell for each model.
    """

    mechanism: str
    budget: float | None
    decoder: str | None
    classifier: str
    family: Family | None = None

    @classmethod
    def of(cls, row: Row) -> "Cell":
        """Return a row's recipe."""
        family = None if row.clip is None else Family(row.clip, row.content or "none")
        return cls(row.mechanism, row.claimed_epsilon, row.decoder, row.classifier, family)


def cells(config: CompareConfig) -> list[Cell]:
    """Return every row's recipe: the text itself, the baselines, then model by model its references and its mechanisms."""
    found = [Cell(NONE, None, None, classifier) for classifier in config.classifiers]
    found += baselines(config) if config.baselines else []
    found += alternatives(config) if config.alternatives else []
    families = {family_of(name, config.training): None for name in config.mechanisms}
    for family in sorted(families, key=lambda family: (family.content, family.clip != "l2")):
        for mechanism, budget in _releases(config, family):
            found += _readings(config, family, mechanism, budget)
        found += prompted(config, family) if config.alternatives else []
    return found


def samples_of(config: CompareConfig, cell: Cell) -> int:
    """Return how many texts are written of each record for a cell: ``samples``, at most two without noise, one of a release."""
    if cell.mechanism in ALTERNATIVES:
        return 1
    return min(config.samples, IDENTITY_SAMPLES) if cell.mechanism == IDENTITY else config.samples


def baselines(config: CompareConfig) -> list[Cell]:
    """What has no model of ours: classifiers on the rewriter's labelled public half and on parts of it, and the look-up."""
    public = ([PUBLIC] + [f"public_{records}" for records in PUBLIC_RECORDS]) if config.protocol == "disjoint" else []
    entries: list[tuple[str, float | None, str | None]] = [(name, None, None) for name in public]
    if config.labels != JOINT_RESPONSE:  # no label fits beside the look-up's random codebook
        entries += [(LOOKUP, epsilon, NEAREST) for epsilon in config.epsilons]
    return [Cell(*entry, classifier) for entry in entries for classifier in config.classifiers]


def alternatives(config: CompareConfig) -> list[Cell]:
    """What releases text without a model of ours: word by word at each budget, and redaction, which has none."""
    entries: list[tuple[str, float | None]] = [(name, epsilon) for name in TOKEN_WISE for epsilon in config.epsilons]
    entries.append((REDACTED, None))
    return [Cell(*entry, WORDS, classifier) for entry in entries for classifier in config.classifiers]


def prompted(config: CompareConfig, family: Family) -> list[Cell]:
    """DP-Prompt on a model's decoder, at each budget."""
    return [
        Cell(PROMPTED, epsilon, LSTM, classifier, family)
        for epsilon in config.epsilons
        for classifier in config.classifiers
    ]


def _releases(config: CompareConfig, family: Family) -> Iterator[tuple[str, float | None]]:
    """The references, and every mechanism and budget that a model serves."""
    yield from ((name, None) for name in REFERENCES)
    served = [name for name in config.mechanisms if family_of(name, config.training) == family]
    yield from ((name, epsilon) for name in served for epsilon in config.epsilons)


def _readings(config: CompareConfig, family: Family, mechanism: str, budget: float | None) -> list[Cell]:
    """A cell for each decoder and classifier of one release."""
    return [
        Cell(mechanism, budget, decoder, classifier, family)
        for decoder in decoders(config, mechanism)
        for classifier in ([LOGISTIC] if decoder == LATENTS else config.classifiers)
    ]


def decoders(config: CompareConfig, mechanism: str) -> list[str]:
    """Return what reads a mechanism's release from a model."""
    if issubclass(BY_NAME[mechanism], Description):
        return [DESCRIBED]
    learned = issubclass(BY_NAME[mechanism], LearnedCodebook)
    return [LSTM, *[NEAREST] * (config.baselines and learned), *[LATENTS] * config.baselines]
