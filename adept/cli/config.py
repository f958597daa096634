"""Options of the commands, in one class for each command.

Help prints them, so nothing here imports PyTorch or NumPy. The options of a release are in
``adept.release.rewrite_options``.
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
    """Number of training passes over the examples; with 0 no weights are trained, and adapting
    takes seconds."""


@dataclass
class AdaptConfig:
    """Configuration of ``adept adapt``."""

    # --- Files
    examples: str | None = None
    """File of public examples from your domain: utterances, names of things, or a help page in
    Markdown. The adapted model stores the utterances word for word."""
    label_set: list[str] | None = None
    """Names of your labels: [A,B], or @FILE with one name on each line. The model's own sentences
    about these names become further examples."""
    public: bool = False
    """Declare that anyone may read the examples; without this declaration no model is adapted."""
    output_dir: str = REQUIRED
    """A new directory for the adapted model."""
    model_dir: str | None = None
    """The model to adapt; null: the model that comes with the package."""
    text_column: str = "text"
    """The column that holds the text."""
    label_column: str | None = None
    """The column that holds the labels of the examples. When a release copies labels, codewords for
    a label are then chosen near these examples, and not only near the label's name."""
    seed: int = 0
    """Seed of the clustering that computes topics and codewords."""
    trainer: FineTuningConfig = field(default_factory=FineTuningConfig)
    training: OptimiserConfig = field(default_factory=OptimiserConfig)


@dataclass
class AttackConfig(Columns):
    """Configuration of ``adept attack``."""

    # --- What is attacked
    model_dir: str = REQUIRED
    """The model's directory."""
    attack: str = "reconstruction"
    """Aim of the attacker: reconstruction (find the text) | attribute (guess one property) |
    membership (tell if a record was released) | file_membership (tell from synthetic records if a
    person was in the file; reads no data)."""
    mechanism: Any = None
    """Mechanism that randomises a record (null: the best one in exact arithmetic for the model)."""
    epsilon: float | None = None
    """The budget that the mechanism claims."""
    label: str | None = None
    """With mechanism.by_label=true: the label whose codewords are used for all records."""
    output_dir: str = REQUIRED
    """A new directory for result.json and attack.svg."""

    # --- How it is attacked
    private: str = "test"
    """Split of secret records: train | validation | test; the attacker has the train split."""
    records: int = 1000
    """Number of records drawn from the private split. For membership, they form pairs, and one
    record of each pair is released; for file_membership, this is the number of releases."""
    candidates: int = 10_000
    """For reconstruction: number of texts among which the attacker looks for the record."""
    attribute: str = "label"
    """For attribute: property to guess, label or the name of a slot."""
    models: int = 16
    """For membership: number of classifiers to attack."""
    confidence: float = 0.999
    """Joint confidence level of all intervals."""
    seed: int = 0
    """Seed of the choice of records; the noise of a release is drawn anew in every run."""
    batch_size: int = BATCH_SIZE
    """Number of records that are rewritten at a time."""
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
    """The mechanism to audit, or MODULE:ATTRIBUTE for a class, object or function from outside
    adept."""
    target: str = "mechanism"
    """Subject of the audit: mechanism (from latent to latent) | rewriter (from text to text; needs
    model_dir or foreign) | synthesizer (from file to file, with a model that holds public
    texts)."""
    epsilon: float | None = None
    """Claimed epsilon to test; the mechanisms random and identity need none."""
    dim: int = 64
    """Number of dimensions of a latent; target=rewriter uses the model's number instead."""
    model_dir: str | None = None
    """Model directory for target=rewriter or synthesizer (null: the packaged model)."""
    neighbours: str = NEIGHBOURS[0]
    """For target=synthesizer: change of one person's records between two files: add_or_remove |
    replace."""
    max_records_per_person: int = 2
    """For target=synthesizer: largest number of records that count for one person."""
    texts: list[str] = field(default_factory=lambda: list(HARD_TEXTS))
    """For target=rewriter: texts to compare; the default texts differ so much that a rewriter can
    hardly hide their differences."""
    label: str | None = None
    """For target=rewriter and mechanism.by_label=true: the label of all texts."""
    foreign: str | None = None
    """A mechanism from outside adept, as MODULE:ATTRIBUTE; mechanism=MODULE:ATTRIBUTE means the
    same."""
    alphabet: int | None = None
    """The number K, for a foreign mechanism whose inputs are the whole numbers 0 to K-1."""
    memoised: bool = False
    """Declare that the foreign mechanism has a memory: it repeats the earlier release of a record,
    or it stops when its budget is spent."""
    randomness: str = "mechanism"
    """Who seeds the noise of the foreign mechanism: mechanism | caller (if a seed repeats the
    noise, the audit then only adds a note)."""
    reports: int = 1
    """Number of reports of one record to judge together; together they may spend this many times
    epsilon (with memoised=true, epsilon once)."""

    # --- How it is tested
    trials: int = 10_000
    """Number of releases of each input."""
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
    """The column that holds the text; null: the column named in the statement beside train, or else
    text."""
    label_column: str | None = None
    """The column that holds the label; null: the column named in the statement beside train, or
    else intent."""

    # --- What is evaluated
    train: Any = REQUIRED
    """File to train an intent classifier on, such as a rewritten file. With several files, the
    accuracy after training without each one of them is shown, too."""
    test: str = REQUIRED
    """File of original text to test the classifier on."""
    reference: str | None = None
    """File of the original records from which train was made; the accuracy after training on them
    is shown for comparison."""
    examples: str | None = None
    """File of public examples with labels; the accuracy after training on them alone is shown for
    comparison."""
    classifier: str = "tfidf"
    """The classifier: tfidf (takes seconds) | lstm."""
    noisy_labels: bool | None = None
    """True if the training labels are randomised; null: as the statement beside the file says."""
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
    """The directory with the comparisons, audits and attacks to show."""
    ledger: str | None = "~/.local/state/adept/play.ledger"
    """The ledger: a file that stores which rows were released; null: no ledger is kept."""

    # --- Where
    host: str = "127.0.0.1"
    """Address at which the page is served; an address that other machines can reach needs a
    token."""
    port: int = 8000
    """Port at which the page is served; if it is taken, the next free port."""
    token: str | None = None
    """Secret that every request must bring; needed if other machines can reach the host."""
    browser: bool = True
    """Open the page in a browser, if the command runs in a terminal."""


@dataclass
class StudyConfig(Columns):
    """Configuration of ``adept study``."""

    # --- Study; null means the study's own value, and options that it does not use must stay null
    study: str = "sensitivity"
    """Name of the study: sensitivity | sanity_check | randomized_response | mechanisms | limits |
    zoo | wild."""
    output_dir: str = REQUIRED
    """A new directory for the table, the figure and result.json."""
    trials: int | None = None
    """Number of pairs (sensitivity), runs (sanity_check), records (mechanisms) or releases (zoo,
    wild)."""
    records: list[int] | None = None
    """For randomized_response: numbers of people for which the study is computed."""
    dims: list[int] | None = None
    """Numbers of dimensions of the latent for which the study is computed."""
    epsilons: list[float] | None = None
    """Budgets for which the study is computed."""
    mechanisms: list[str] | None = None
    """Mechanisms of the study to include; for wild: packages to audit, by their file names in
    audits/."""
    environments: str | None = None
    """For wild: directory for the packages' Python environments; null: a directory in the user's
    cache."""
    clip_norm: float | None = None
    """For sensitivity: the radius C of the simulated latents."""
    seed: int | None = None
    """Seed of the simulation."""
    model_dir: str | None = None
    """For sensitivity: a model whose latents of the training split are measured, too."""
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
    """True if the training text is public; null: as the data set declares (your own files count as
    private)."""


@dataclass
class TrainConfig(Columns):
    """Configuration of ``adept train``."""

    # --- What is trained, and where it goes
    output_dir: str | None = None
    """A new directory for the model; it must be given, unless a run is continued."""
    resume_from: str | None = None
    """The directory of an interrupted training run to continue."""
    mechanism: Any = REQUIRED
    """Mechanism for which the model is trained; it determines the clip and, together with
    training.epsilon, the noise."""
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
