"""Configuration of a comparison, and its plan: *recipes*, one for each row of the table.

A recipe determines all properties of its row. The steps that compute the row read the recipe and not
the configuration. A new mechanism needs no change to this module. A new reference, decoder, baseline or
alternative needs a place in ``_list_rows``, and a function in ``adept.comparison.comparison`` that computes its
texts. The imports at the top load no PyTorch, so help is fast.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import filterfalse
from typing import TYPE_CHECKING

from adept.data.corpus import Columns, DataConfig
from adept.errors import check_between, check_choice, check_integer, refuse
from adept.models.config import DecodingConfig, ModelConfig, TokenizerConfig, TrainerConfig, TrainingConfig
from adept.removed import removal

if TYPE_CHECKING:
    from adept.mechanisms import LocalRandomizer

REFERENCES = ("identity", "random")  # rows of the table that each model has, for comparison
STAND_INS = ("a", "b", "c", "d")  # labels for trials and audits, which see no data
# What public knowledge about the labels gives by itself: texts chosen by their names, test texts compared with the
# names, and the labelled examples to which the model was adapted
NO_RECORDS = ("names", "names_directly", "examples")
WITHOUT_MODEL = ("none", "public_only", *NO_RECORDS)  # references whose text no decoder wrote
TOKEN_WISE = ("token_response", "token_exponential")  # alternatives that replace each word
ALTERNATIVES = (*TOKEN_WISE, "prompt_sampling", "redaction")  # DP-Prompt on our decoder, rules without a guarantee


@dataclass
class FigureConfig:
    """Options of the figures, which are written as svg and pdf, beside a csv with their numbers.

    Attributes:
        width: Width of each figure in inches: a column of a paper has about 3.4. With null, each figure has a width of
            its own.
    """

    width: float | None = None

    def __post_init__(self) -> None:
        if self.width is not None:
            check_between(2.0, 40.0, **{"figure.width": self.width})


@dataclass
class CompareConfig(Columns):
    """Configuration of ``adept compare``.

    What is compared:
        output_dir: Directory for the page, the table and all results. If the directory already holds the same
            comparison, the command continues this comparison.
        mechanisms: Names of the mechanisms to compare, or MODULE:ATTRIBUTE. The comparison always adds the references
            none (the original text), identity (rewriting without noise) and random (texts that do not depend on the
            records). The comparison also adds the accuracy that can be reached with the names of the labels alone. If
            the model was adapted to labelled examples, the comparison also adds the accuracy of a classifier that is
            trained on these examples alone. For each mechanism, it shows what the records add to the best of all that
            reads no record.
        epsilons: Values of epsilon that the mechanisms claim. Each value is the budget of a record with its label. If
            labels are copied, it is the budget of the record's text alone.
        seeds: Seeds, one for each repetition of the comparison. Each repetition computes all results again, with fresh
            noise.
        model_dir: Directory of a model. The word utterances means the model that comes with the package. With null, the
            comparison trains its own models: for each seed, one model for each ball or sphere into which the compared
            mechanisms clip latents.
        label_codewords: Use of the labels' names: off (names are not used) | auto (the table has a further row,
            by_label, in which each rewrite is a public sentence near the name of the record's label). For auto, you
            must also set labels=copy, trust=local, and the model_dir of a model of text of many domains.
        trust: Party that the people behind the records must trust: local (nobody) | central (the holder of the file,
            who releases noisy counts; the options mechanisms and labels are ignored).
        protocol: Records that are rewritten: disjoint (one half of the training split; the model is trained on the
            other half) | paper (the records on which the model is trained; so no guarantee holds).

    Labels and classifiers:
        labels: Treatment of labels: copy (the labels are not private) | joint (the decoder writes a label with each
            text; the training of this decoder needs public labels) | joint_response (the mechanism releases text and
            label together) | randomized_response (the label is released separately; with some probability, a random
            label replaces it).
        label_epsilon: For labels=randomized_response: the epsilon that is spent on the label. The rest of each epsilon
            in epsilons is spent on the text.
        label_share: For labels=randomized_response: the fraction of each epsilon that is spent on the label. Set either
            label_share or label_epsilon, not both.
        classifiers: Classifiers that are trained on the rewrites: any of text, tfidf and lstm.

    Texts, and what else is measured:
        samples: Number of rewrites of each record. All rewrites of a record are written from the same release of the
            record.
        baselines: Measure the quality of the rewrites, and show one more baseline: a classifier that is trained on
            labelled public text.
        alternatives: Also show alternatives to a rewriter: mechanisms that replace each word of a text at random,
            DP-Prompt (which draws the words of a paraphrase; here with adept's decoder), and redaction of words by
            rules.
        attacks: Also attack the releases of each mechanism at each epsilon: an attacker sees a release and guesses the
            record. Only releases of the first seed are attacked.
        examples: Show examples of rewrites even if the data are not public. With public data, the page always shows
            examples.
        processes: Number of processes that compute at the same time. Each process computes all results for one model
            and one seed.
    """

    output_dir: str = "???"
    mechanisms: list[str] = field(default_factory=lambda: ["original", "l1", "sqrt_n"])
    epsilons: list[float] = field(default_factory=lambda: [8.0, 32.0, 128.0, 512.0])
    seeds: list[int] = field(default_factory=lambda: [0, 1, 2])
    model_dir: str | None = None
    label_codewords: str = "off"
    trust: str = "local"
    protocol: str = "disjoint"
    labels: str = "copy"
    label_epsilon: float | None = None
    label_share: float | None = None
    classifiers: list[str] = field(default_factory=lambda: ["text"])
    samples: int = 1
    baselines: bool = False
    alternatives: bool = False
    attacks: bool = False
    examples: bool = False
    processes: int = 1
    data: DataConfig = field(default_factory=DataConfig)
    decoding: DecodingConfig = field(default_factory=DecodingConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    tokenizer: TokenizerConfig = field(default_factory=TokenizerConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    figure: FigureConfig = field(default_factory=FigureConfig)

    def __post_init__(self) -> None:
        from adept.mechanisms import BY_NAME

        super().__post_init__()
        refuse((gone := removal(f"trust={self.trust}"), str(gone)))
        check_choice(("local", "central"), trust=self.trust)
        check_choice(("disjoint", "paper"), protocol=self.protocol)
        for name in self.classifiers:
            check_choice(("text", "tfidf", "lstm"), classifiers=name)
        if self.trust == "central":
            self._check_synthesizer()
            self.mechanisms = ["synthesizer"]
        for name in filterfalse(is_foreign, self.mechanisms if self.trust != "central" else ()):
            check_choice(BY_NAME, mechanisms=name)
        self.mechanisms = [name for name in self.mechanisms if name not in REFERENCES]  # they are always there
        check_choice(("copy", "joint", "joint_response", "randomized_response"), labels=self.labels)
        check_choice(("off", "auto"), label_codewords=self.label_codewords)
        self._check_sizes()
        self._check_labels()
        self._check_mechanisms()

    def _check_sizes(self) -> None:
        lists = ("mechanisms", "epsilons", "seeds", "classifiers")
        refuse(
            *((not getattr(self, name), f"{name} must have at least one entry, got none") for name in lists),
            (
                0 in self.epsilons,
                "epsilons must be positive, got 0: numbers are written with a decimal point, as in [0.5,1]",
            ),
        )
        check_integer(1, 1000, samples=self.samples, processes=self.processes)

    def _check_synthesizer(self) -> None:
        from adept.mechanisms import Votes

        off = ("baselines", "alternatives", "attacks")
        refuse(
            *((getattr(self, name), f"{name} must be false for trust=central, got true") for name in off),
            (self.samples != 1, f"samples must be 1 for trust=central, got {self.samples}"),
        )
        for epsilon in self.epsilons:
            Votes(epsilon=epsilon)
        self.labels, self.label_epsilon, self.label_share = "copy", None, None

    def _check_labels(self) -> None:
        with_text, setting = (
            self.labels in ("joint", "joint_response"),
            (self.labels, self.trust, self.model_dir is None),
        )
        parts = sum(part is not None for part in (self.label_epsilon, self.label_share))
        refuse(
            *(
                (
                    getattr(self, name) and with_text,
                    f"labels must be copy or randomized_response with {name}=true, got {self.labels}: it is about texts alone",
                )
                for name in ("alternatives", "attacks")
            ),
            (
                self.label_codewords == "auto" and setting != ("copy", "local", False),
                "label_codewords must be off unless labels=copy, trust=local and model_dir names a model of broad text, got auto",
            ),
            (
                parts != (self.labels == "randomized_response"),
                "label_epsilon must be given with labels=randomized_response, and only then, or label_share in its place",
            ),
            (
                self.label_epsilon is not None and not 0 < self.label_epsilon < min(self.epsilons),
                f"label_epsilon must be positive and below every epsilon, got {self.label_epsilon}: the rest is for the text",
            ),
            (
                self.labels == "joint" and "description" in self.mechanisms,
                "mechanisms must be on latents for labels=joint, got description, which writes no labels",
            ),
        )
        if self.label_share is not None:
            check_between(0.01, 0.99, label_share=self.label_share)

    def _check_mechanisms(self) -> None:
        from adept.mechanisms import JointResponse

        for name in self.mechanisms if self.trust != "central" else ():
            for epsilon in self.epsilons:
                built = self.mechanism(name, epsilon - (self.label_part(epsilon) or 0.0))
                built.guarantee(self.model.latent_dim)
                if self.labels == "joint_response":
                    JointResponse.of(built, STAND_INS)

    def mechanism(self, name: str, epsilon: float) -> "LocalRandomizer":
        """Return the mechanism called ``name``; ``epsilon`` is the budget of the text alone."""
        from adept.mechanisms.base import MechanismChoice

        return MechanismChoice(find_kind(name)).build(epsilon=epsilon, clip_norm=self.model.clip_norm)

    def label_part(self, epsilon: float | None) -> float | None:
        """Return the part of a claimed epsilon that is spent on the label, or None for no part."""
        if self.label_share is None:
            return self.label_epsilon
        return None if epsilon is None else self.label_share * epsilon


def is_foreign(name: str) -> bool:
    """Return True for MODULE:ATTRIBUTE, a mechanism whose claim nobody checked."""
    return ":" in name


def find_kind(name: str) -> "type[LocalRandomizer]":
    """Return the class of a mechanism: one of adept's, or MODULE:ATTRIBUTE, which is imported."""
    from adept.mechanisms import BY_NAME

    if not is_foreign(name):
        return BY_NAME[name]
    from adept.rewriting.unproved import import_kind

    return import_kind(name)


# --- The plan


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

    mechanism: str  # or what stands in its place: a reference, an alternative, synthesizer or by_label
    budget: float | None  # claimed, of text and label together
    decoder: str | None  # lstm, codec (of descriptions), public (of a synthesizer), words; None for text as it is
    classifier: str
    model: ModelKind | None = None
    samples: int = 1  # texts of each record
    labels: str = "copy"  # as the option, or vote: they are counted with their texts
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
    yield from ((name, None) for name in ("none", "names", "names_directly"))
    if examples:
        yield "examples", None
    if config.baselines and config.protocol == "disjoint":
        yield "public_only", None
    if config.alternatives:
        yield from ((name, None) for name in (*TOKEN_WISE, "redaction"))
    models = {_choose_model(config, name): None for name in config.mechanisms}
    for model in sorted(models, key=lambda model: (model.content, model.clip != "l2")):
        yield from ((name, model) for name in REFERENCES)
        yield from ((name, model) for name in config.mechanisms if _choose_model(config, name) == model)
        if config.alternatives:
            yield "prompt_sampling", model
    if config.label_codewords == "auto":
        yield "by_label", _choose_model(config, "by_label")


def _choose_model(config: CompareConfig, name: str) -> ModelKind:
    from adept.mechanisms import LearnedCodebook

    kind = LearnedCodebook if name in ("synthesizer", "by_label") else find_kind(name)
    content = config.training.for_mechanism(kind).content.kind
    if kind.serves == {"l1"}:
        return ModelKind("l1", content)
    return ModelKind("l2" if content == "none" else "sphere", content)


def _resolve(config: CompareConfig, name: str, model: ModelKind | None) -> list[Recipe]:
    budgets: Sequence[float | None] = [None] if name in (*WITHOUT_MODEL, "redaction", *REFERENCES) else config.epsilons
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
    if config.trust == "central":
        return "public"
    if name in (*TOKEN_WISE, "redaction"):
        return "words"
    return "codec" if name in ("description", "by_label") else "lstm"


def _treat_labels(config: CompareConfig, name: str, budget: float | None) -> tuple[str, float | None]:
    if name in WITHOUT_MODEL:
        return "copy", None
    if config.trust == "central":
        return "vote", None
    labels, label_epsilon = config.labels, config.label_part(budget)
    alone = labels == "randomized_response" and label_epsilon is None
    return "copy" if alone or (labels == "joint_response" and name in REFERENCES) else labels, label_epsilon


def _choose_attacked(config: CompareConfig, recipes: list[Recipe]) -> list[Recipe]:
    """Return the recipes to attack, one for each combination of model, mechanism and epsilon."""
    releases: dict[tuple[object, ...], Recipe] = {}
    for recipe in recipes:
        if recipe.model and recipe.budget is not None and recipe.mechanism not in (*ALTERNATIVES, "by_label"):
            releases.setdefault((recipe.model, recipe.mechanism, recipe.budget), recipe)
    return sorted(releases.values(), key=lambda recipe: config.mechanisms.index(recipe.mechanism))


def _choose_audited(config: CompareConfig, recipes: list[Recipe]) -> list[Recipe]:
    """Return the recipes to audit: for each mechanism, its first recipe at the smallest epsilon."""
    least = {recipe.mechanism: recipe for recipe in reversed(recipes) if recipe.budget == min(config.epsilons)}
    return [least[name] for name in (*config.mechanisms, *ALTERNATIVES) if name in least and name != "synthesizer"]
