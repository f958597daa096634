"""Configurations of the commands, which help prints; nothing here imports PyTorch or NumPy."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from adept.cli.options import REQUIRED
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
from adept.release.config import CentralOptions, LedgerOptions, ReleaseRequest

__all__ = ["CompareConfig"]  # beside the configurations below

FILE_MEMBERSHIP = "file_membership"
SYNTHESIZER = "synthesizer"
NEIGHBOURS = ("add_or_remove", "replace")
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
    """Public utterances of your domain, which stand in the result word for word; or names of things, or a page of help."""
    label_set: list[str] | None = None
    """The names of your labels, [A,B] or @FILE with one on each line; the model's own sentences about them become examples, beside
    yours or without any of yours."""
    public: bool = False
    """Declare that anyone may read the examples; nothing is adapted otherwise."""
    output_dir: str = REQUIRED
    """A new directory for the adapted model."""
    model_dir: str | None = None
    """The model that is adapted; null: the model that comes with the package."""
    text_column: str = "text"
    """The column that holds the text."""
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
    """Aim of the attack: reconstruction (which text) | attribute (one property of it) | membership (whether it took part) |
    file_membership (whether a person is in the file that synthetic records were made from; data are not read)."""
    mechanism: Any = None
    """Mechanism that randomises a record; null: the best exact one for the model."""
    epsilon: float | None = None
    """The budget that the mechanism claims."""
    output_dir: str = REQUIRED
    """A new directory for result.json and attack.svg."""

    # --- How it is attacked
    private: str = "test"
    """The split whose records are secret: train | validation | test; the attacker has the train split."""
    records: int = 1000
    """Records drawn from the private split; of membership those that may take part, of file_membership the number of releases."""
    candidates: int = 10_000
    """Of reconstruction: texts among which the attacker looks for the record."""
    attribute: str = "label"
    """Of attribute: what is guessed, label or the name of a slot."""
    models: int = 16
    """Of membership: how many classifiers are attacked."""
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
    """The mechanism, or MODULE:ATTRIBUTE for anyone's class, object or function"""
    target: str = "mechanism"
    """Subject of the audit: mechanism (latent to latent) | rewriter (text to text, through model_dir or anyone's) | synthesizer
    (file to file, by a model that holds public texts)."""
    epsilon: float | None = None
    """The claim that is put to the test; random and identity need none."""
    dim: int = 64
    """Dimensions of a latent; target=rewriter takes the model's."""
    model_dir: str | None = None
    """The model's directory, for target=rewriter and target=synthesizer, which without it takes the packaged one."""
    neighbours: str = NEIGHBOURS[0]
    """Of target=synthesizer: how neighbouring files differ by a person: add_or_remove | replace."""
    max_records_per_person: int = 2
    """Of target=synthesizer: records of a person that count."""
    texts: list[str] = field(default_factory=lambda: list(HARD_TEXTS))
    """Of target=rewriter: texts that are compared; the defaults are hard to hide from each other."""
    foreign: str | None = None
    """Anyone's mechanism as MODULE:ATTRIBUTE; mechanism=MODULE:ATTRIBUTE says the same."""
    alphabet: int | None = None
    """For anyone's mechanism on the numbers 0 to K-1: K."""
    memoised: bool = False
    """Declare that anyone's mechanism has a memory: it answers a record with its earlier release, or its budget runs out."""
    randomness: str = "mechanism"
    """Who answers for the generator of anyone's mechanism: mechanism | caller (noise that a seed repeats is then a note)."""
    reports: int = 1
    """Reports of one record that are released and judged together, against so many times epsilon (memoised: against epsilon)."""

    # --- How it is tested
    trials: int = 10_000
    """Releases of each input."""
    confidence: float = 0.999
    """Probability that a sound mechanism passes all checks together."""
    output_dir: str | None = None
    """A new directory for result.json; null: the result is only shown."""
    verbose: bool = False
    """Show the table of checks, and what was not looked at, after the verdict."""

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
    """The column that holds the text; null: the one that the statement beside train names, or else text."""
    label_column: str | None = None
    """The column that holds the label; null: the one that the statement beside train names, or else intent."""

    # --- What is evaluated
    train: str = REQUIRED
    """The file that a classifier of intents is trained on, such as a rewritten one."""
    test: str = REQUIRED
    """The file that it is tested on, of original text."""
    classifier: str = "tfidf"
    """The classifier: tfidf (seconds) | lstm."""
    noisy_labels: bool | None = None
    """True if the training labels are randomised; null: as the statement beside the file says."""
    seed: int = 0
    """Seed of the classifier and of the bootstrap intervals."""
    output_dir: str | None = None
    """A new directory for result.json; null: the result is only shown."""


@dataclass
class LedgerConfig:
    """Configuration of ``adept ledger``."""

    ledger: str | None = None
    """The file of a ledger, also without ledger= before it; null: the default ledger of adept rewrite and synthesize."""
    limit: float | None = None
    """Store this limit in the ledger: no later release may bring a record or person above this epsilon."""


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
    """The address to serve at; another than this machine's own needs a token."""
    port: int = 8000
    """The port to serve at; the next free one is taken where it is in use."""
    token: str | None = None
    """A secret that every request must bring; needed where other machines can reach the host."""
    browser: bool = True
    """Open the page, where there is a terminal."""


@dataclass
class StudyConfig(Columns):
    """Configuration of ``adept study``."""

    # --- What is studied; null stands for the study's own value, and what it has no use for must stay null
    study: str = "sensitivity"
    """Which study: sensitivity | sanity_check | randomized_response | mechanisms | limits | zoo | wild."""
    output_dir: str = REQUIRED
    """A new directory for the table, the figure and result.json."""
    trials: int | None = None
    """Pairs (sensitivity), runs (sanity_check), records (mechanisms) or releases of a record (zoo, wild)."""
    records: list[int] | None = None
    """Of randomized_response: numbers of people."""
    dims: list[int] | None = None
    """Dimensions of the latent."""
    epsilons: list[float] | None = None
    """Budgets."""
    mechanisms: list[str] | None = None
    """Some of the study's own mechanisms; of wild: packages, by the names of their files in audits/."""
    environments: str | None = None
    """Of wild: a directory for the packages' environments; null: in the user's cache."""
    clip_norm: float | None = None
    """Of sensitivity: the radius C of the simulated latents."""
    seed: int | None = None
    """Seed of what is simulated."""
    model_dir: str | None = None
    """Of sensitivity: also measure this model's latents, of the data's training split."""
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
    """True if the training text is public; null: as the data set says; your own files are private unless you say so."""


@dataclass
class TrainConfig(Columns):
    """Configuration of ``adept train``."""

    # --- What is trained, and where it goes
    output_dir: str | None = None
    """A new directory for the model; it must be given, unless a run is continued."""
    resume_from: str | None = None
    """The directory of an interrupted run, which is continued there."""
    mechanism: Any = REQUIRED
    """The mechanism that the model is for: its clip is used, and its noise where training.epsilon is set."""
    labels: str = "drop"
    """Output of the decoder: drop (text alone) | joint (also the label, from the same latent)."""
    seed: int = 0
    """Seed of weights, batches and dropout; the same seed gives the same model on the same machine."""
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


@dataclass
class VerifyConfig:
    """Configuration of ``adept verify``."""

    statement: str = REQUIRED
    """The statement, OUTPUT.privacy.json, that adept rewrite or synthesize wrote; its name alone will do."""

    output: str | None = None
    """The output that it describes; null: the file beside the statement."""

    model_dir: str | None = None
    """The model's directory, or utterances for the packaged one; null: no model is compared."""


@dataclass
class FileNames:
    """Files of a release."""

    # --- Files
    input: str = REQUIRED
    """The file to read: txt, csv, tsv, jsonl, json or parquet, also gzipped; or a directory of parts, a pattern such as
    'logs/*.jsonl', or - for standard input."""
    output: str = REQUIRED
    """The file to write, in the format of its name, or else of the input; nothing is overwritten; - is standard output."""

    # --- Interrupted runs, and records that were released before
    resume: bool = False
    """Continue a release that was interrupted; where there is none, begin one."""


@dataclass
class RewriteConfig(FileNames, ReleaseRequest):
    """Configuration of ``adept rewrite``."""

    # --- A look before the release
    expect: str | None = None
    """A file of public texts of your own: what survives of them is shown before the release; needs public=true."""
    public: bool = False
    """Declare that the texts of expect are public."""
    dry_run: bool = False
    """Check everything, count the records, say what would be released, and release nothing."""


@dataclass
class SynthesizeConfig(FileNames, LedgerOptions, CentralOptions):
    """Configuration of ``adept synthesize``."""

    # --- Budget
    epsilon: float | None = None
    """The budget of each person where there is a person_column, else of each record; whoever releases the data must give it."""
    neighbours: str = NEIGHBOURS[0]
    """Change that is hidden: add_or_remove (that somebody took part) | replace (what somebody said; twice the noise)."""
    model_dir: str | None = None
    """The model's directory; null: the model that comes with the package."""
    cells: int | None = None
    """Number of codewords; null: by a rule that reads the budget and the public texts."""
    dry_run: bool = False
    """Check everything, tell the curator how many rows would count, and release nothing."""
    accept_private_model: bool = False
    """Write texts of a model that was trained on private text, which no epsilon covers."""

    # --- Labels
    label_set: list[str] | None = None
    """The public labels, [A,B] or @FILE with one on each line; a row with another label does not count."""

    # --- Interrupted runs, and records that were released before
    ledger: str | None = None
    """A file that lists releases; if it lists another release, add again=true; null: the default ledger; none: no ledger."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(NEIGHBOURS, neighbours=self.neighbours)
