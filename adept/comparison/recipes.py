"""The plan of a comparison: *recipes*, one for each row of the table.

A recipe determines all properties of its row. The steps that compute the row read the recipe and not
the configuration of the comparison. A new mechanism needs no change to this module. A new
reference, decoder, baseline or alternative needs a name in this module, a place in ``_list_rows``,
and a function in ``adept.comparison.trial`` that computes its texts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from adept.comparison.config import (
    AUTO,
    BY_LABEL,
    CENTRAL,
    COPY,
    JOINT_RESPONSE,
    RANDOMIZED_RESPONSE,
    REFERENCES,
    SYNTHESIZER,
    CompareConfig,
    find_kind,
)
from adept.mechanisms import LearnedCodebook

NONE, PUBLIC = "none", "public_only"  # in the place of a mechanism
NAMES, NAMES_DIRECTLY = "names", "names_directly"  # texts chosen by label names, and test texts compared with the names
EXAMPLES = "examples"  # the labelled examples to which the model was adapted
NO_RECORDS = (NAMES, NAMES_DIRECTLY, EXAMPLES)  # references that public knowledge about the labels gives by itself
LSTM = "lstm"  # the decoder of a model
PUBLIC_TEXTS = "public"  # the decoder of a synthesizer
DESCRIBED = "codec"  # the decoder of descriptions
WORDS = "words"  # no decoder: the release is text already
VOTE = "vote"  # labels that are counted with their texts
TOKEN_WISE = ("token_response", "token_exponential")  # alternatives that replace each word
PROMPTED, REDACTED = "prompt_sampling", "redaction"  # DP-Prompt on our decoder, and rules without a guarantee
ALTERNATIVES = (*TOKEN_WISE, PROMPTED, REDACTED)
WITHOUT_MODEL = (NONE, PUBLIC, *NO_RECORDS)  # references whose text no decoder wrote


@dataclass(frozen=True)
class ModelKind:
    """A kind of model: the set into which latents are clipped, and what their coordinates mean.

    ``content`` is "topics" if each coordinate of a latent stands for a topic, and otherwise "none".
    """

    clip: str
    content: str


@dataclass(frozen=True)
class Recipe:
    """The recipe for one row of the table; the recipe is the same for every seed."""

    mechanism: str  # or what stands in its place
    budget: float | None  # claimed, of text and label together
    decoder: str | None  # None for text as it is
    classifier: str
    model: ModelKind | None = None
    samples: int = 1  # texts of each record
    labels: str = COPY
    label_epsilon: float | None = None  # the label's own part of the budget
    measured: bool = False  # True to measure the quality of the texts, too

    @property
    def text_epsilon(self) -> float:
        """The part of the row's epsilon that the text gets; zero if the row has no epsilon."""
        return 0.0 if self.budget is None else self.budget - (self.label_epsilon or 0.0)


@dataclass(frozen=True)
class Schedule:
    """The recipes for all rows of a comparison, for its attacks and for its audits."""

    recipes: list[Recipe]  # of every seed's rows, in the order of the table
    attacked: list[Recipe]  # one for each release
    audited: list[Recipe]  # one for each mechanism

    @property
    def models(self) -> list[ModelKind | None]:
        """The kinds of models, in the order of the table; None stands for rows without a model."""
        return list(dict.fromkeys(recipe.model for recipe in self.recipes))


def plan_comparison(config: CompareConfig, *, examples: bool = False) -> Schedule:
    """Return the recipes for all rows, for all attacks and for all audits of a comparison.

    ``examples`` is True if the model was adapted to labelled examples.
    """
    recipes = [recipe for name, model in _list_rows(config, examples) for recipe in _resolve(config, name, model)]
    return Schedule(
        recipes, _choose_attacked(config, recipes) if config.attacks else [], _choose_audited(config, recipes)
    )


def _list_rows(config: CompareConfig, examples: bool) -> Iterator[tuple[str, ModelKind | None]]:
    yield from ((name, None) for name in (NONE, NAMES, NAMES_DIRECTLY))
    if examples:
        yield EXAMPLES, None
    if config.baselines and config.protocol == "disjoint":
        yield PUBLIC, None
    if config.alternatives:
        yield from ((name, None) for name in (*TOKEN_WISE, REDACTED))
    models = {_choose_model(config, name): None for name in config.mechanisms}
    for model in sorted(models, key=lambda model: (model.content, model.clip != "l2")):
        yield from ((name, model) for name in REFERENCES)
        yield from ((name, model) for name in config.mechanisms if _choose_model(config, name) == model)
        if config.alternatives:
            yield PROMPTED, model
    if config.label_codewords == AUTO:
        yield BY_LABEL, _choose_model(config, BY_LABEL)


def _choose_model(config: CompareConfig, name: str) -> ModelKind:
    kind = LearnedCodebook if name in (SYNTHESIZER, BY_LABEL) else find_kind(name)
    content = config.training.for_mechanism(kind).content.kind
    if kind.serves == {"l1"}:
        return ModelKind("l1", content)
    return ModelKind("l2" if content == "none" else "sphere", content)


def _resolve(config: CompareConfig, name: str, model: ModelKind | None) -> list[Recipe]:
    budgets: Sequence[float | None] = [None] if name in (*WITHOUT_MODEL, REDACTED, *REFERENCES) else config.epsilons
    decoder = _choose_decoder(config, name)
    samples = 1 if decoder is None or name in ALTERNATIVES else config.samples
    samples = min(samples, 2) if name == "identity" else samples  # more would repeat texts
    measured = decoder is not None and (config.baselines or config.alternatives)
    return [
        Recipe(name, budget, decoder, classifier, model, samples, *_treat_labels(config, name, budget), measured)
        for budget in budgets
        for classifier in config.classifiers
    ]


def _choose_decoder(config: CompareConfig, name: str) -> str | None:
    if name in WITHOUT_MODEL:
        return None
    if config.trust == CENTRAL:
        return PUBLIC_TEXTS
    if name in (*TOKEN_WISE, REDACTED):
        return WORDS
    return DESCRIBED if name in ("description", BY_LABEL) else LSTM


def _treat_labels(config: CompareConfig, name: str, budget: float | None) -> tuple[str, float | None]:
    if name in WITHOUT_MODEL:
        return COPY, None
    if config.trust == CENTRAL:
        return VOTE, None
    labels, label_epsilon = config.labels, config.label_part(budget)
    alone = labels == RANDOMIZED_RESPONSE and label_epsilon is None
    return COPY if alone or (labels == JOINT_RESPONSE and name in REFERENCES) else labels, label_epsilon


def _choose_attacked(config: CompareConfig, recipes: list[Recipe]) -> list[Recipe]:
    """Return the recipes to attack, one for each combination of model, mechanism and epsilon."""
    releases: dict[tuple[object, ...], Recipe] = {}
    for recipe in recipes:
        if recipe.model and recipe.budget is not None and recipe.mechanism not in (*ALTERNATIVES, BY_LABEL):
            releases.setdefault((recipe.model, recipe.mechanism, recipe.budget), recipe)
    return sorted(releases.values(), key=lambda recipe: config.mechanisms.index(recipe.mechanism))


def _choose_audited(config: CompareConfig, recipes: list[Recipe]) -> list[Recipe]:
    """Return the recipes to audit: for each mechanism, its first recipe at the smallest epsilon."""
    least = {recipe.mechanism: recipe for recipe in reversed(recipes) if recipe.budget == min(config.epsilons)}
    return [least[name] for name in (*config.mechanisms, *ALTERNATIVES) if name in least and name != SYNTHESIZER]
