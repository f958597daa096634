"""The plan of a comparison, before anything is computed: each row's recipe is a cell, and a configuration is a list of cells.

A new mechanism needs nothing here. A new *decoder* needs three things: its name in ``adept.comparison.results``, the rule for when
it writes in :func:`_decoders`, and a case in ``adept.comparison.writing``. A new *baseline* without a model is a name in
:func:`_baselines`, and what it releases and writes in ``adept.comparison.writing``. What releases text at once, without a latent,
is an *alternative*: a name in :func:`_alternatives`, and a class that ``adept.comparison.writing`` builds.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from adept.comparison.config import CENTRAL, JOINT, JOINT_RESPONSE, REFERENCES, SYNTHESIZER, CompareConfig
from adept.comparison.results import (
    ALTERNATIVES,
    DESCRIBED,
    LATENTS,
    LOOKUP,
    LSTM,
    NEAREST,
    NONE,
    PROMPTED,
    PUBLIC,
    PUBLIC_TEXTS,
    REDACTED,
    TOKEN_WISE,
    WORDS,
)
from adept.mechanisms import BY_NAME, LearnedCodebook

LOGISTIC = "logistic"  # the classifier of latents
IDENTITY, IDENTITY_SAMPLES = "identity", 2  # its texts repeat nothing, so that a classifier reads every one of them
PUBLIC_RECORDS = (50, 100, 200, 400, 800, 1600, 3200)  # labelled public texts: what a break-even is read from


@dataclass(frozen=True)
class Family:
    """One model of a comparison: the set its latents lie in, and what they were trained to say."""

    clip: str
    content: str


@dataclass(frozen=True)
class Cell:
    """The recipe of one row, its seed aside.

    Attributes:
        mechanism: a mechanism's name, or what stands in its place: ``none``, ``public_only``, ``public_<records>``, ``lookup``, or
            one of ``ALTERNATIVES``.
        budget: the claimed epsilon of text and label together; None where there is none.
        decoder: what reads the release; None for text as it is.
        classifier: what is trained on the result.
        family: the model; None without one. References have a cell for each model.
        samples: texts of each record.
    """

    mechanism: str
    budget: float | None
    decoder: str | None
    classifier: str
    family: Family | None = None
    samples: int = 1


@dataclass(frozen=True)
class Part:
    """What is made in one go, by one process: rows of one seed and model, and what else is found out with them.

    Attributes:
        seed: of the rows.
        cells: whose rows are made.
        attacked: cells whose releases are attacked.
        audited: cells whose mechanism's claim is audited.
    """

    seed: int
    cells: tuple[Cell, ...] = ()
    attacked: tuple[Cell, ...] = ()
    audited: tuple[Cell, ...] = ()


@dataclass(frozen=True)
class Plan:
    """Everything that a comparison makes.

    Attributes:
        config: what was asked.
        cells: of every seed's rows, in the order of the table.
        attacked: one for each release that is attacked, mechanism by mechanism; none unless it was asked for.
        audited: one for each mechanism that has a claim, at the least budget.
        parts: the same, as it is made: seed by seed and model by model, then the audits that need no model.
    """

    config: CompareConfig
    cells: list[Cell]
    attacked: list[Cell]
    audited: list[Cell]
    parts: list[Part]


def planned(config: CompareConfig) -> Plan:
    """Return the plan of a comparison."""
    cells, first = _central(config) if config.trust == CENTRAL else _cells(config), config.seeds[0]
    attacked = _attacked(cells) if config.attacks else []
    attacked.sort(key=lambda cell: config.mechanisms.index(cell.mechanism))
    audited = [] if config.trust == CENTRAL else _audited(config, cells)
    of_text = [cell for cell in audited if cell.mechanism in ALTERNATIVES]  # they need the public text, or a model
    parts = [
        Part(
            seed,
            tuple(cell for cell in cells if cell.family == family),
            tuple(cell for cell in attacked if cell.family == family and seed == first),
            tuple(cell for cell in of_text if cell.family == family and seed == first),
        )
        for seed in config.seeds
        for family in dict.fromkeys(cell.family for cell in cells)
    ]
    parts += [Part(first, audited=(cell,)) for cell in audited if cell not in of_text]
    return Plan(config, cells, attacked, audited, parts)


def _cells(config: CompareConfig) -> list[Cell]:
    """Every row's recipe: the text itself, the baselines, then model by model its references and its mechanisms."""
    found = [Cell(NONE, None, None, classifier) for classifier in config.classifiers]
    found += _baselines(config) if config.baselines else []
    found += _alternatives(config) if config.alternatives else []
    families = {_family(config, name): None for name in config.mechanisms}
    for family in sorted(families, key=lambda family: (family.content, family.clip != "l2")):
        for mechanism, budget in _releases(config, family):
            found += _readings(config, family, mechanism, budget)
        found += _prompted(config, family) if config.alternatives else []
    return found


def _central(config: CompareConfig) -> list[Cell]:
    """The text itself, what is written without noise and from an empty file, and a release at each budget."""
    entries: list[tuple[str, float | None]] = [(name, None) for name in REFERENCES]
    entries += [(SYNTHESIZER, epsilon) for epsilon in config.epsilons]
    family = _family(config, LearnedCodebook.name)
    none = [Cell(NONE, None, None, classifier) for classifier in config.classifiers]
    return none + [Cell(*entry, PUBLIC_TEXTS, name, family) for entry in entries for name in config.classifiers]


def _attacked(cells: list[Cell]) -> list[Cell]:
    """Of all cells one for each release of a model with a budget, whatever reads it."""
    releases = {
        (cell.family, cell.mechanism, cell.budget): cell
        for cell in reversed(cells)
        if cell.family is not None and cell.budget is not None and cell.mechanism not in ALTERNATIVES
    }
    return list(reversed(releases.values()))


def _audited(config: CompareConfig, cells: list[Cell]) -> list[Cell]:
    """A cell at the least budget for each mechanism with a claim: of several models or classifiers the first."""
    least = {cell.mechanism: cell for cell in reversed(cells) if cell.budget == min(config.epsilons)}
    return [least[name] for name in (*config.mechanisms, *ALTERNATIVES) if name in least]


def _family(config: CompareConfig, name: str) -> Family:
    """The model that serves a mechanism: one trained for the l2 ball or the sphere serves every mechanism of either."""
    kind = BY_NAME[name]
    content = config.training.for_mechanism(kind).content.kind
    if kind.serves == {"l1"}:
        return Family("l1", content)
    return Family("l2" if content == "none" else "sphere", content)


def _baselines(config: CompareConfig) -> list[Cell]:
    """What has no model of ours: classifiers on the rewriter's labelled public half and on parts of it, and the look-up."""
    public = ([PUBLIC] + [f"public_{records}" for records in PUBLIC_RECORDS]) if config.protocol == "disjoint" else []
    found = [Cell(name, None, None, classifier) for name in public for classifier in config.classifiers]
    if config.labels in (JOINT, JOINT_RESPONSE):  # no label fits beside the look-up's random codebook
        return found
    return found + [
        Cell(LOOKUP, epsilon, NEAREST, classifier, samples=config.samples)
        for epsilon in config.epsilons
        for classifier in config.classifiers
    ]


def _alternatives(config: CompareConfig) -> list[Cell]:
    """What releases text without a model of ours: word by word at each budget, and redaction, which has none."""
    entries: list[tuple[str, float | None]] = [(name, epsilon) for name in TOKEN_WISE for epsilon in config.epsilons]
    entries.append((REDACTED, None))
    return [Cell(*entry, WORDS, classifier) for entry in entries for classifier in config.classifiers]


def _prompted(config: CompareConfig, family: Family) -> list[Cell]:
    """DP-Prompt on a model's decoder, at each budget."""
    return [
        Cell(PROMPTED, epsilon, LSTM, classifier, family)
        for epsilon in config.epsilons
        for classifier in config.classifiers
    ]


def _releases(config: CompareConfig, family: Family) -> Iterator[tuple[str, float | None]]:
    """The references, and every mechanism and budget that a model serves."""
    yield from ((name, None) for name in REFERENCES)
    served = [name for name in config.mechanisms if _family(config, name) == family]
    yield from ((name, epsilon) for name in served for epsilon in config.epsilons)


def _readings(config: CompareConfig, family: Family, mechanism: str, budget: float | None) -> list[Cell]:
    """A cell for each decoder and classifier of one release."""
    samples = min(config.samples, IDENTITY_SAMPLES) if mechanism == IDENTITY else config.samples
    return [
        Cell(mechanism, budget, decoder, classifier, family, samples)
        for decoder in _decoders(config, mechanism)
        for classifier in ([LOGISTIC] if decoder == LATENTS else config.classifiers)
    ]


def _decoders(config: CompareConfig, mechanism: str) -> list[str]:
    """What reads a mechanism's release from a model; labels that the decoder writes are nobody else's to read."""
    if BY_NAME[mechanism].randomises == "description":
        return [DESCRIBED]
    if config.labels == JOINT or not config.baselines:
        return [LSTM]
    return [LSTM, *[NEAREST] * issubclass(BY_NAME[mechanism], LearnedCodebook), LATENTS]
