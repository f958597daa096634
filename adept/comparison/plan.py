"""The plan of a comparison: each row's recipe is a cell, and a configuration is a list of cells.

A cell is resolved here, once: no later step asks the configuration what becomes of its labels or how its budget is shared. A new
mechanism needs nothing here. A new decoder, baseline or alternative needs a name below, a line in the function that lists its kind,
and a source in ``adept.comparison.cell``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from adept.comparison.config import (
    CENTRAL,
    COPY,
    JOINT,
    JOINT_RESPONSE,
    RANDOMIZED_RESPONSE,
    REFERENCES,
    SYNTHESIZER,
    CompareConfig,
)
from adept.mechanisms import BY_NAME, LearnedCodebook

NONE, PUBLIC, LOOKUP = "none", "public_only", "lookup"  # in the place of a mechanism: text as it is, and a baseline
LSTM, NEAREST = "lstm", "nearest"  # decoders: of a model, and of the look-up
PUBLIC_TEXTS = "public"  # the decoder of a synthesizer
DESCRIBED = "codec"  # the decoder of descriptions
WORDS = "words"  # no decoder: the release is text already
VOTE = "vote"  # labels that are counted with their texts
TOKEN_WISE = ("token_response", "token_exponential")  # alternatives that replace each word
PROMPTED, REDACTED = "prompt_sampling", "redaction"  # DP-Prompt on our decoder, and rules without a guarantee
ALTERNATIVES = (*TOKEN_WISE, PROMPTED, REDACTED)
IDENTITY, IDENTITY_SAMPLES = "identity", 2  # its texts repeat nothing, so that a classifier reads every one of them


@dataclass(frozen=True)
class ModelKind:
    """One model of a comparison: the set its latents lie in, and what they were trained to say."""

    clip: str
    content: str


@dataclass(frozen=True)
class Cell:
    """The recipe of one row, its seed aside.

    Attributes:
        mechanism: a mechanism's name, or what stands in its place: ``none``, ``public_only``, ``lookup``, or one of
            ``ALTERNATIVES``.
        budget: the claimed epsilon of text and label together; None where there is none.
        decoder: what reads the release; None for text as it is.
        classifier: what is trained on the result.
        model: None without one. References have a cell for each model.
        samples: texts of each record.
        labels: what becomes of the labels in this row.
        label_epsilon: the label's own part of the budget; None if it has none.
        measured: True if the quality of the text is measured too.
    """

    mechanism: str
    budget: float | None
    decoder: str | None
    classifier: str
    model: ModelKind | None = None
    samples: int = 1
    labels: str = COPY
    label_epsilon: float | None = None
    measured: bool = False

    @property
    def text_epsilon(self) -> float:
        """The text's part of the budget; zero without a budget."""
        return 0.0 if self.budget is None else self.budget - (self.label_epsilon or 0.0)


@dataclass(frozen=True)
class Schedule:
    """Everything that a comparison makes.

    Attributes:
        cells: of every seed's rows, in the order of the table.
        attacked: one for each release that is attacked, mechanism by mechanism; none unless it was asked for.
        audited: one for each mechanism that has a claim, at the least budget. Attacks and audits belong to the first seed.
    """

    cells: list[Cell]
    attacked: list[Cell]
    audited: list[Cell]

    @property
    def models(self) -> list[ModelKind | None]:
        """The models in the order of the table, None first for the cells without one."""
        return list(dict.fromkeys(cell.model for cell in self.cells))


def plan_comparison(config: CompareConfig) -> Schedule:
    """Return everything that a comparison makes."""
    cells = _central(config) if config.trust == CENTRAL else _local(config)
    attacked = _attacked(config, cells) if config.attacks else []
    return Schedule(cells, attacked, [] if config.trust == CENTRAL else _audited(config, cells))


def _local(config: CompareConfig) -> list[Cell]:
    """The text itself, the baselines, then model by model its references and its mechanisms."""
    found = _untouched(config, NONE)
    found += _baselines(config) if config.baselines else []
    found += _alternatives(config) if config.alternatives else []
    models = {_model(config, name): None for name in config.mechanisms}
    for model in sorted(models, key=lambda model: (model.content, model.clip != "l2")):
        for name in (*REFERENCES, *config.mechanisms):
            if name in REFERENCES or _model(config, name) == model:
                found += _readings(config, model, name)
        if config.alternatives:
            found += _resolve(config, PROMPTED, LSTM, budgets=config.epsilons, model=model)
    return found


def _central(config: CompareConfig) -> list[Cell]:
    """The text itself, what is written without noise and from an empty file, and a release at each budget."""
    found, model = _untouched(config, NONE), _model(config, LearnedCodebook.name)
    for name in (*REFERENCES, SYNTHESIZER):
        for budget in config.epsilons if name == SYNTHESIZER else (None,):
            found += [
                Cell(name, budget, PUBLIC_TEXTS, classifier, model, labels=VOTE) for classifier in config.classifiers
            ]
    return found


def _attacked(config: CompareConfig, cells: list[Cell]) -> list[Cell]:
    """One cell for each release of a model with a budget, whatever reads it."""
    releases: dict[tuple[object, ...], Cell] = {}
    for cell in cells:
        if cell.model and cell.budget is not None and cell.mechanism not in ALTERNATIVES:
            releases.setdefault((cell.model, cell.mechanism, cell.budget), cell)
    return sorted(releases.values(), key=lambda cell: config.mechanisms.index(cell.mechanism))


def _audited(config: CompareConfig, cells: list[Cell]) -> list[Cell]:
    """A cell at the least budget for each mechanism with a claim: of several models or classifiers the first."""
    least = {cell.mechanism: cell for cell in reversed(cells) if cell.budget == min(config.epsilons)}
    return [least[name] for name in (*config.mechanisms, *ALTERNATIVES) if name in least]


def _model(config: CompareConfig, name: str) -> ModelKind:
    """The model that serves a mechanism: one trained for the l2 ball or the sphere serves every mechanism of either."""
    kind = BY_NAME[name]
    content = config.training.for_mechanism(kind).content.kind
    if kind.serves == {"l1"}:
        return ModelKind("l1", content)
    return ModelKind("l2" if content == "none" else "sphere", content)


def _untouched(config: CompareConfig, name: str) -> list[Cell]:
    return [Cell(name, None, None, classifier) for classifier in config.classifiers]


def _baselines(config: CompareConfig) -> list[Cell]:
    """Cells without a model of ours: a classifier on the rewriter's labelled public half, and the look-up."""
    found = _untouched(config, PUBLIC) if config.protocol == "disjoint" else []
    if config.labels in (JOINT, JOINT_RESPONSE):  # no label fits beside the look-up's random codebook
        return found
    return found + _resolve(config, LOOKUP, NEAREST, budgets=config.epsilons, samples=config.samples)


def _alternatives(config: CompareConfig) -> list[Cell]:
    """Cells that release text without a model of ours: word by word at each budget, and redaction, which has none."""
    found = [cell for name in TOKEN_WISE for cell in _resolve(config, name, WORDS, budgets=config.epsilons)]
    return found + _resolve(config, REDACTED, WORDS, budgets=[None])


def _readings(config: CompareConfig, model: ModelKind, name: str) -> list[Cell]:
    """The cells of one reference or mechanism: every budget and classifier."""
    samples = min(config.samples, IDENTITY_SAMPLES) if name == IDENTITY else config.samples
    decoder = DESCRIBED if BY_NAME[name].randomises == "description" else LSTM
    budgets = [None] if name in REFERENCES else config.epsilons
    return _resolve(config, name, decoder, budgets=budgets, model=model, samples=samples)


def _resolve(
    config: CompareConfig,
    name: str,
    decoder: str,
    *,
    budgets: Sequence[float | None],
    model: ModelKind | None = None,
    samples: int = 1,
) -> list[Cell]:
    """A cell for each budget and classifier. References have no pair to release, and no budget to share."""
    measured, found = config.baselines or config.alternatives, []
    for budget in budgets:
        label_epsilon, labels = config.label_part(budget), config.labels
        alone = labels == RANDOMIZED_RESPONSE and label_epsilon is None
        labels = COPY if alone or (labels == JOINT_RESPONSE and name in REFERENCES) else labels
        found += [
            Cell(name, budget, decoder, classifier, model, samples, labels, label_epsilon, measured)
            for classifier in config.classifiers
        ]
    return found
