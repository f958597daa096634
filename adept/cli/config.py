"""Options of the commands, one class each; those of a release: `adept.release.rewrite_options`.

Help prints them, so nothing here imports PyTorch or NumPy.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from adept.cli.help import REQUIRED
from adept.cli.release_config import NEIGHBOURS, LedgerConfig, RewriteConfig, SynthesizeConfig, VerifyConfig
from adept.comparison.config import CompareConfig
from adept.data.corpus import SPLITS, Columns, DataConfig
from adept.data.formats import ReadingOptions
from adept.errors import ConfigurationError
from adept.models.config import (
    BATCH_SIZE,
    DecodingConfig,
    ModelConfig,
    OptimiserConfig,
    TokenizerConfig,
    TrainerConfig,
    TrainingConfig,
)
from adept.ranges import check_choice, check_integer, check_positive

__all__ = ["CompareConfig", "LedgerConfig", "RewriteConfig", "SynthesizeConfig", "VerifyConfig"]  # beside those below

FILE_MEMBERSHIP = "file_membership"
SYNTHESIZER = "synthesizer"
MIN_CLASSIFIERS = 4
HARD_TEXTS = (
    "fares",
    "",
    "i would like to fly from boston to denver on the first monday of june and be back before noon on friday please",
)


@dataclass
class FineTuningConfig(TrainerConfig):
    """Training of the weights on the examples."""

    min_epochs: ClassVar[int] = 0
    max_epochs: int = 0
    """Passes over the examples; 0: none, and adapting takes seconds."""


@dataclass
class AdaptConfig:
    """Configuration of ``adept adapt``."""

    # --- Files
    examples: str | None = None
    """File of public utterances of your domain, of names of things, or a page of help in
    Markdown; the adapted model holds the utterances word for word."""
    label_set: list[str] | None = None
    """Names of your labels, [A,B] or @FILE with one on each line: the model's own sentences
    about them become further examples."""
    public: bool = False
    """Declare that anyone may read the examples; nothing is adapted otherwise."""
    output_dir: str = REQUIRED
    """A new directory for the adapted model."""
    model_dir: str | None = None
    """The model that is adapted; null: the model that comes with the package."""
    text_column: str = "text"
    """The column that holds the text."""
    label_column: str | None = None
    """The column that holds the labels of the examples: where labels are copied, the examples of
    a label then place its codewords, beside its name."""
    seed: int = 0
    """Seed of the clustering that places topics and codewords."""
    trainer: FineTuningConfig = field(default_factory=FineTuningConfig)
    training: OptimiserConfig = field(default_factory=OptimiserConfig)


@dataclass
class AttackConfig(Columns):
    """Configuration of ``adept attack``."""

    # --- What is attacked
    model_dir: str = REQUIRED
    """The model's directory."""
    attack: str = "reconstruction"
    """Aim: reconstruction (the text) | attribute (one property) | membership (among the
    released) | file_membership (a person in a file, by its synthetic records; no data are
    read)."""
    mechanism: Any = None
    """Mechanism that randomises a record; null: the best exact one for the model."""
    epsilon: float | None = None
    """The budget that the mechanism claims."""
    label: str | None = None
    """With mechanism.by_label=true: the label whose codewords all records are released with."""
    output_dir: str = REQUIRED
    """A new directory for result.json and attack.svg."""

    # --- How it is attacked
    private: str = "test"
    """Split of secret records: train | validation | test; the attacker has the train split."""
    records: int = 1000
    """Number of records drawn from the private split; for membership, those that may take part;
    for file_membership, the number of releases."""
    candidates: int = 10_000
    """For reconstruction: number of texts among which the attacker looks for the record."""
    attribute: str = "label"
    """For attribute: property to guess, label or the name of a slot."""
    models: int = 16
    """For membership: number of classifiers to attack."""
    confidence: float = 0.999
    """Confidence of all intervals together."""
    seed: int = 0
    """Seed of the choice of records; releases have fresh noise."""
    batch_size: int = BATCH_SIZE
    """Records that are rewritten at a time."""
    data: DataConfig = field(default_factory=DataConfig)
    decoding: DecodingConfig = field(default_factory=DecodingConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(("reconstruction", "attribute", "membership", FILE_MEMBERSHIP), attack=self.attack)
        check_choice(SPLITS, private=self.private)
        if not 0 < self.confidence < 1:
            raise ConfigurationError(f"confidence must be between 0 and 1, got {self.confidence}")
        check_integer(1, 1_000_000, records=self.records, candidates=self.candidates)
        check_integer(MIN_CLASSIFIERS, 10_000, models=self.models)


@dataclass
class AuditConfig:
    """Configuration of ``adept audit``."""

    # --- What is audited
    mechanism: Any = REQUIRED
    """The mechanism, or MODULE:ATTRIBUTE for anyone's class, object or function."""
    target: str = "mechanism"
    """Subject of the audit: mechanism (latent to latent) | rewriter (text to text, by model_dir
    or anyone's) | synthesizer (file to file, by a model that holds public texts)."""
    epsilon: float | None = None
    """Claimed epsilon to test; random and identity need none."""
    dim: int = 64
    """Dimensions of a latent; target=rewriter takes the model's."""
    model_dir: str | None = None
    """Model directory for target=rewriter or synthesizer (null: the packaged model)."""
    neighbours: str = NEIGHBOURS[0]
    """For target=synthesizer: difference of two files in one person: add_or_remove | replace."""
    max_records_per_person: int = 2
    """For target=synthesizer: number of a person's records that count."""
    texts: list[str] = field(default_factory=lambda: list(HARD_TEXTS))
    """For target=rewriter: texts to compare; the defaults are hard to hide from each other."""
    label: str | None = None
    """For target=rewriter and mechanism.by_label=true: the label of all texts."""
    foreign: str | None = None
    """Anyone's mechanism as MODULE:ATTRIBUTE; mechanism=MODULE:ATTRIBUTE means the same."""
    alphabet: int | None = None
    """For anyone's mechanism on the numbers 0 to K-1: K."""
    memoised: bool = False
    """Declare that anyone's mechanism has a memory: it repeats a record's earlier release, or
    its budget runs out."""
    randomness: str = "mechanism"
    """Who seeds the noise of anyone's mechanism: mechanism | caller (noise that a seed repeats
    is then only a note)."""
    reports: int = 1
    """Number of reports of one record to judge together; they may spend this many times epsilon
    (memoised: epsilon).
    """

    # --- How it is tested
    trials: int = 10_000
    """Releases of each input."""
    confidence: float = 0.999
    """Probability that a sound mechanism passes all checks together."""
    output_dir: str | None = None
    """A new directory for result.json; null: the result is only shown."""
    verbose: bool = False
    """Also show the table of checks and the limits of the audit."""

    def __post_init__(self) -> None:
        check_choice(("mechanism", "rewriter", SYNTHESIZER), target=self.target)
        if self.target == "rewriter" and self.model_dir is None and self.foreign is None:
            raise ConfigurationError("model_dir must be given for target=rewriter, got none")
        check_choice(NEIGHBOURS, neighbours=self.neighbours)
        if len(set(self.texts)) < 2:
            raise ConfigurationError(f"texts must be at least two different ones, got {len(set(self.texts))}")


@dataclass
class EvaluateConfig(ReadingOptions):
    """Configuration of ``adept evaluate``."""

    # --- Columns of both files
    text_column: str | None = None
    """The text's column; null: the one in the statement beside train, or else text."""
    label_column: str | None = None
    """The label's column; null: the one in the statement beside train, or else intent."""

    # --- What is evaluated
    train: Any = REQUIRED
    """File to train an intent classifier on, such as a rewritten one; or several, with what each adds."""
    test: str = REQUIRED
    """File of original text to test the classifier on."""
    reference: str | None = None
    """File of the original records behind train: their accuracy is shown beside."""
    examples: str | None = None
    """File of public examples with labels: the accuracy of these alone is shown beside."""
    classifier: str = "tfidf"
    """The classifier: tfidf (seconds) | lstm."""
    noisy_labels: bool | None = None
    """True if the training labels are randomised; null: as the file's statement says."""
    seed: int = 0
    """Seed of the classifier and of the bootstrap intervals."""
    output_dir: str | None = None
    """A new directory for result.json; null: the result is only shown."""


@dataclass
class PlayConfig:
    """Configuration of ``adept play``."""

    # --- What is shown
    model_dir: str | None = None
    """The model's directory; null: the model that comes with the package."""
    runs: str = "runs"
    """The directory whose comparisons, audits and attacks are shown."""
    ledger: str | None = "~/.local/state/adept/play.ledger"
    """A file that remembers released rows; null: nothing is remembered."""

    # --- Where
    host: str = "127.0.0.1"
    """The address to serve at; any but this machine's own needs a token."""
    port: int = 8000
    """The port to serve at, or the next free one."""
    token: str | None = None
    """Secret that every request must bring; needed if other machines can reach the host."""
    browser: bool = True
    """Open the page in a browser, if there is a terminal."""


@dataclass
class StudyConfig(Columns):
    """Configuration of ``adept study``."""

    # --- Study; null means the study's own value, and options that it does not use must stay null
    study: str = "sensitivity"
    """Name: sensitivity | sanity_check | randomized_response | mechanisms | limits | zoo | wild."""
    output_dir: str = REQUIRED
    """A new directory for the table, the figure and result.json."""
    trials: int | None = None
    """Pairs (sensitivity), runs (sanity_check), records (mechanisms), releases (zoo, wild)."""
    records: list[int] | None = None
    """For randomized_response: numbers of people."""
    dims: list[int] | None = None
    """Dimensions of the latent."""
    epsilons: list[float] | None = None
    """Budgets."""
    mechanisms: list[str] | None = None
    """Some of the study's mechanisms; for wild: packages, by their file names in audits/."""
    environments: str | None = None
    """For wild: directory of the packages' environments; null: in the user's cache."""
    clip_norm: float | None = None
    """For sensitivity: the radius C of the simulated latents."""
    seed: int | None = None
    """Seed of the simulation."""
    model_dir: str | None = None
    """For sensitivity: also measure this model's latents, of the data's training split."""
    data: DataConfig = field(default_factory=DataConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        from adept.studies.catalogue import STUDIES  # seconds to import

        check_choice(STUDIES, study=self.study)
        for name in ("records", "dims", "epsilons", "mechanisms"):
            if getattr(self, name) == []:
                raise ConfigurationError(f"{name} must be null or have at least one value, got []")
        check_integer(1, 10_000, **{f"dims[{i}]": dim for i, dim in enumerate(self.dims or [])})
        check_positive(**{f"epsilons[{i}]": epsilon for i, epsilon in enumerate(self.epsilons or [])})
        if self.clip_norm is not None:
            check_positive(clip_norm=self.clip_norm)


@dataclass
class TrainingDataConfig:
    """Declarations about the training text."""

    public: bool | None = None
    """True if the training text is public; null: as the data set says (own files: private)."""


@dataclass
class TrainConfig(Columns):
    """Configuration of ``adept train``."""

    # --- What is trained, and where it goes
    output_dir: str | None = None
    """A new directory for the model; it must be given, unless a run is continued."""
    resume_from: str | None = None
    """The directory of an interrupted run, which is continued there."""
    mechanism: Any = REQUIRED
    """Mechanism for which the model is trained: it sets the clip and, with training.epsilon, the
    noise.
    """
    labels: str = "drop"
    """Output of the decoder: drop (text alone) | joint (text and label, from one latent)."""
    seed: int = 0
    """Seed of weights, batches and dropout; the same seed gives the same model on this machine."""
    data: DataConfig = field(default_factory=DataConfig)
    training_data: TrainingDataConfig = field(default_factory=TrainingDataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    tokenizer: TokenizerConfig = field(default_factory=TokenizerConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.output_dir is None and self.resume_from is None:
            raise ConfigurationError("output_dir must be given, got nothing: add output_dir=... or resume_from=RUN_DIR")
        check_choice(("drop", "joint"), labels=self.labels)
        check_integer(0, 2**32 - 1, seed=self.seed)
