"""Options of the commands, in one class for each command; imports neither PyTorch nor NumPy."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from adept.cli.help import REQUIRED
from adept.comparison.config import CompareConfig, FigureConfig
from adept.data.corpus import Columns, DataConfig
from adept.data.formats import SPLITS
from adept.data.reading import ReadingOptions
from adept.data.texts import USUAL_LABEL_COLUMN
from adept.errors import ConfigurationError
from adept.models.config import (
    BATCH_SIZE,
    TOPICS,
    ModelConfig,
    OptimiserConfig,
    TokenizerConfig,
    TrainerConfig,
    TrainingConfig,
)
from adept.models.decoding_options import DecodingConfig
from adept.ranges import check_choice, check_integer, check_positive
from adept.release.options import CentralOptions, LedgerOptions, ReleaseRequest

__all__ = ["CompareConfig"]  # beside those below

NEIGHBOURS = ("add_or_remove", "replace")
FILE_MEMBERSHIP = "file_membership"
SYNTHESIZER = "synthesizer"
MAX_EXPECTED_ROWS = 10**9
AUTO, EXAMPLES, NAMES = "auto", "examples", "names"  # kinds of lines that a model is adapted to
HARD_TEXTS = (
    "fares",
    "",
    "i would like to fly from boston to denver on the first monday of june and be back before noon on friday please",
)


@dataclass
class FileNames:
    """Names of the files that a release reads and writes."""

    # --- Files
    input: str = REQUIRED
    """File of private records: txt, csv, tsv, jsonl, json or parquet, which may also be gzipped. To
    read several files, give their directory or a pattern such as 'logs/*.jsonl'. To read standard
    input, give -."""
    output: str = ""
    """New file for the released records, or - for standard output. The ending of the file's name
    determines its format. If the ending is unknown, the output has the format of the input."""

    # --- Interrupted runs, and records that were released before
    resume: bool = False
    """Continue an interrupted release. If there is no interrupted release, begin a new one."""

    def __post_init__(self) -> None:
        super().__post_init__()  # type: ignore[misc]  # of the options beside these
        if not self.output:
            self.check_dry_run()
            raise ConfigurationError("output must be given, got nothing: add output=...")

    def check_dry_run(self) -> None:
        """Raise ConfigurationError for a dry run without an epsilon, which compared budgets in version 0.2.0."""
        own = getattr(getattr(self, "mechanism", None), "epsilon", None)
        if getattr(self, "dry_run", False) and getattr(self, "epsilon", None) is None and own is None:
            raise ConfigurationError(
                "epsilon must be given for a dry run, got nothing: adept plan label_set=[A,B] expected_rows=N compares budgets"
            )


@dataclass
class RewriteConfig(FileNames, ReleaseRequest):
    """Configuration of ``adept rewrite``."""

    # --- A look before the release
    expect: str | None = None
    """File of public texts. The command rewrites these texts to estimate how much of a text
    survives in a rewrite. With expect, you must also set public=true."""
    public: bool = False
    """Set public to true to declare that anyone may read the texts that you give with expect."""
    dry_run: bool = False
    """Check all options and the file, count the records and describe the release, but release
    nothing. To compare several values of epsilon, use adept plan."""


@dataclass
class SynthesizeConfig(FileNames, LedgerOptions, CentralOptions):
    """Configuration of ``adept synthesize``."""

    # --- Budget
    epsilon: float | None = None
    """Privacy budget of each person or, without person_column, of each record. Epsilon has no
    default, so you must choose its value."""
    neighbours: str = NEIGHBOURS[0]
    """Difference between two input files that the guarantee hides: add_or_remove (one file has a
    person's records and the other does not) | replace (one person has different records in the two
    files; to hide this needs twice the noise)."""
    model_dir: str | None = None
    """Directory of the model. With null, the command uses the model that comes with the package."""
    cells: int | None = None
    """Number of topics (codewords). The command counts the records of each topic, separately for
    each label. With null, 1/32 of epsilon is spent on a noisy number of records, which decides the
    number of topics."""
    dry_run: bool = False
    """Check all options and the file, and print how many rows would be counted, but release
    nothing. To compare several values of epsilon, use adept plan."""
    expected_rows: int | None = None
    """Number of rows that you expect in the input: the command then says how frequent a topic must
    be to stand out from the noise."""
    accept_private_model: bool = False
    """Accept a model that was trained on private text. No epsilon protects the training text."""

    # --- Labels
    label_set: list[str] | None = None
    """Public list of the labels: either [A,B] or @FILE, a file with one label on each line. Rows
    with a label that is not in this list are not counted."""

    # --- Interrupted runs, and records that were released before
    ledger: str | None = None
    """File of the ledger, which lists earlier releases. If the ledger that you name already lists
    any release, you must also set again=true. With null, the default ledger is used, and you need
    not set again. With none, no ledger is kept."""

    def __post_init__(self) -> None:
        check_choice(NEIGHBOURS, neighbours=self.neighbours)
        self.check_counts("expected_rows")
        super().__post_init__()


@dataclass
class VerifyConfig:
    """Configuration of ``adept verify``."""

    statement: str = REQUIRED
    """The privacy statement to check, which is a file OUTPUT.privacy.json. You may write the file's
    name alone, without statement=."""
    output: str | None = None
    """The released file that the statement describes. With null, the command checks the file beside
    the statement with the statement's name, but without the ending .privacy.json."""
    model_dir: str | None = None
    """Directory of the model that the statement describes, or utterances for the model that comes
    with the package. With null, the command checks the statement without the model."""


@dataclass
class LedgerConfig:
    """Configuration of ``adept ledger``."""

    ledger: str | None = None
    """File of the ledger, which lists earlier releases. You may write the file's name alone,
    without ledger=. With null, the default ledger is used."""
    limit: float | None = None
    """Limit to store in the ledger. Later releases are refused if the epsilons of a record or of a
    person would add up to more than this limit."""
    approve: str | None = None
    """File that was released. The command reads the file, and marks the newest release with this
    content as approved. With approve, you must also set approved_by."""
    approved_by: str | None = None
    """Name of the person who approved the release. The ledger stores and lists this name, and the
    time of the approval."""

    def __post_init__(self) -> None:
        if (self.approve is None) != (self.approved_by is None):
            raise ConfigurationError("approve and approved_by must be given together: add the other one")


@dataclass
class FineTuningConfig(TrainerConfig):
    """Options for training the adapted decoder on the examples and the model's own public texts."""

    min_epochs: ClassVar[int] = 0
    max_epochs: int = 0
    """Number of passes of the training over all texts. With 0, no weights are trained, and the
    adaptation takes only seconds."""


@dataclass
class AdaptConfig(ReadingOptions):
    """Configuration of ``adept adapt``."""

    # --- Files
    examples: str | None = None
    """File of public examples from your domain: sentences that people say, names of things, or a
    help page in Markdown. The adapted model stores the sentences word for word."""
    kind: str = "auto"
    """Kind of the lines of examples: examples (texts that people say) | names (of labels or things,
    about which the command finds sentences) | auto. With auto, lines are names if most of them are
    single words; those of a help page, or fewer than 8 lines, if most have at most 3 words."""
    label_set: list[str] | None = None
    """Names of your labels: either [A,B] or @FILE, a file with one name on each line. The original
    model contains public sentences. The command finds those about the names of your labels, and
    uses them as further examples."""
    public: bool = False
    """Set public to true to declare that anyone may read the examples. Without public=true, the
    command adapts no model."""
    output_dir: str = REQUIRED
    """A new directory for the adapted model."""
    model_dir: str | None = None
    """Directory of the model to adapt. With null, the command adapts the model that comes with the
    package."""
    text_column: str = "text"
    """Name of the column that holds the texts of the examples."""
    label_column: str | None = None
    """Name of the column that holds the labels of the examples. The adapted model then stores which
    examples each label has. With labels=copy, adept rewrite can then replace a record by a sentence
    close to the examples of the record's label. With null, the model stores no labels."""
    seed: int = 0
    """Seed of all random choices during the adaptation."""
    trainer: FineTuningConfig = field(default_factory=FineTuningConfig)
    training: OptimiserConfig = field(default_factory=OptimiserConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice((AUTO, EXAMPLES, NAMES), kind=self.kind)


@dataclass
class AttackConfig(Columns):
    """Configuration of ``adept attack``."""

    # --- What is attacked
    model_dir: str = REQUIRED
    """Directory of the model whose releases are attacked."""
    attack: str = "reconstruction"
    """Aim of the attacker: reconstruction (find the text of a record) | attribute (guess one
    property of a record) | membership (see a classifier, and guess which of two records was
    rewritten to train it) | file_membership (see the noisy counts of a file, and guess whether the
    file holds a certain person's rows; this attack makes its own files and reads no data)."""
    mechanism: Any = None
    """Mechanism that randomises each record. With null, the command chooses among the mechanisms
    that compute in exact arithmetic, and takes the one that suits the model best. Otherwise, give
    the name of one of adept's mechanisms."""
    epsilon: float | None = None
    """Epsilon that the attacked mechanism claims."""
    label: str | None = None
    """For mechanism.by_label=true, which gives each label separate codewords: the label whose
    codewords are used for all records."""
    output_dir: str = REQUIRED
    """A new directory for result.json and attack.svg."""

    # --- How it is attacked
    private: str = "test"
    """Part of the data from which the secret records are drawn: train | validation | test. The
    attacker knows the train part."""
    records: int = 1000
    """Number of secret records. For attack=membership, the secret records form pairs, and one
    record of each pair is rewritten. For attack=file_membership, records is the number of times
    that each file is released."""
    candidates: int = 10_000
    """For attack=reconstruction: number of texts among which the attacker looks for the secret
    record."""
    attribute: str = "label"
    """For attack=attribute: the property that the attacker guesses. Give label for the label of the
    record, or the name of a slot (a detail of the text, such as a city)."""
    models: int = 16
    """For attack=membership: number of classifiers that are trained on rewritten records and
    attacked."""
    confidence: float = 0.999
    """Confidence level. With at least this probability, all confidence intervals in the result
    contain the true values."""
    seed: int = 0
    """Seed of the choice of secret records. The seed does not fix the noise of the releases, which
    differs from run to run."""
    batch_size: int = BATCH_SIZE
    """Number of records that the model rewrites at the same time."""
    data: DataConfig = field(default_factory=DataConfig)
    figure: FigureConfig = field(default_factory=FigureConfig)
    decoding: DecodingConfig = field(default_factory=DecodingConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(("reconstruction", "attribute", "membership", FILE_MEMBERSHIP), attack=self.attack)
        check_choice(SPLITS, private=self.private)
        if not 0 < self.confidence < 1:
            raise ConfigurationError(f"confidence must be between 0 and 1, got {self.confidence}")
        check_integer(1, 1_000_000, records=self.records, candidates=self.candidates)
        check_integer(4, 10_000, models=self.models)


@dataclass
class AuditConfig:
    """Configuration of ``adept audit``."""

    # --- What is audited
    mechanism: Any = REQUIRED
    """The mechanism to audit: either a class, object or function from outside adept, given as
    MODULE:ATTRIBUTE, or one of adept's mechanisms."""
    target: str = "mechanism"
    """Subject of the audit: mechanism (it randomises latents, the vectors of texts) | rewriter (it
    turns texts into texts; give model_dir or foreign, too) | synthesizer (it turns a file into a
    file; its model must hold public texts)."""
    epsilon: float | None = None
    """The claimed epsilon, which the audit tests. You may leave epsilon out for the mechanisms
    called random and identity, and for a mechanism from outside adept that has an attribute
    epsilon."""
    dim: int = 64
    """Number of dimensions of the latents on which a mechanism is tested. For target=rewriter, the
    model determines this number."""
    model_dir: str | None = None
    """For target=rewriter or target=synthesizer: directory of the model. With null, the audit of a
    synthesizer uses the model that comes with the package."""
    neighbours: str = NEIGHBOURS[0]
    """For target=synthesizer: the difference between the files that the audit compares:
    add_or_remove (one file also has the records of one more person) | replace (one person has
    different records in the two files)."""
    max_records_per_person: int = 2
    """For target=synthesizer: the synthesizer counts at most this number of records of each
    person."""
    texts: list[str] = field(default_factory=lambda: list(HARD_TEXTS))
    """For target=rewriter: input texts whose rewrites the audit compares. The default texts differ
    a lot, so it is hard for a rewriter to hide which text it got."""
    label: str | None = None
    """For target=rewriter and mechanism.by_label=true: the label that is given to every text."""
    foreign: str | None = None
    """A mechanism from outside adept, as MODULE:ATTRIBUTE. You may also write
    mechanism=MODULE:ATTRIBUTE."""
    alphabet: int | None = None
    """Number K of possible inputs of a mechanism from outside adept, if its inputs are the whole
    numbers 0 to K-1."""
    memoised: bool = False
    """Set memoised to true to declare that a mechanism from outside adept remembers records. A
    mechanism that remembers records answers a repeated record with the earlier release, or stops
    when its epsilon is spent."""
    randomness: str = "mechanism"
    """Who has to seed the noise of a mechanism from outside adept: mechanism (the mechanism itself)
    | caller (the program that calls the mechanism). If a program can repeat the noise by setting
    the same seed, the audit reports a violation with randomness=mechanism, and only adds a note
    with randomness=caller."""
    reports: int = 1
    """Number N of releases of the same record that the audit judges together. Their total epsilon
    may be up to N times epsilon or, with memoised=true, only up to epsilon."""

    # --- How it is tested
    trials: int = 10_000
    """Number of times that each check runs the mechanism on the same input."""
    confidence: float = 0.999
    """Confidence level. A mechanism with a true claim passes all checks with at least this
    probability."""
    output_dir: str | None = None
    """A new directory for result.json. With null, the result is only printed."""
    verbose: bool = False
    """Also print the table of all checks, and the kinds of defect that the audit did not look for."""

    def __post_init__(self) -> None:
        check_choice(("mechanism", "rewriter", SYNTHESIZER), target=self.target)
        if self.target == "rewriter" and self.model_dir is None and self.foreign is None:
            raise ConfigurationError("model_dir must be given for target=rewriter, got none")
        check_choice(NEIGHBOURS, neighbours=self.neighbours)
        if len(set(self.texts)) < 2:
            raise ConfigurationError(f"texts must be at least two different ones, got {len(set(self.texts))}")


@dataclass
class SweepOptions:
    """Several runs, with -m: each list of values A,B or range(1,10) multiplies the number of runs."""

    sweep_dir: str | None = None
    """Directory of the numbered runs and of their table sweep.csv. With null, the name is made from
    the options, so that a repeated command continues its sweep."""
    objective: str | None = None
    """Number of each run that the table shows: a field of result.json, or a column of metrics.csv
    (train) or results.csv (compare). With null, it is validation_loss, accuracy or
    certified_epsilon."""


@dataclass
class EvaluateConfig(ReadingOptions):
    """Configuration of ``adept evaluate``."""

    # --- Columns of all files
    text_column: str | None = None
    """Name of the column that holds the text. With null, the command takes the name from the
    privacy statement beside the training file. Without a statement, the name is text."""
    label_column: str | None = None
    """Name of the column that holds the label. With null, the command takes the name from the
    privacy statement beside the training file. Without a statement, the name is intent."""

    # --- What is evaluated
    train: Any = REQUIRED
    """File of texts with labels, such as a rewritten file. A classifier is trained on this file to
    predict the label of a text. If you give several files [A,B], the classifier is trained on all
    of them together. To show what each file contributes, further classifiers are trained, each
    without one of the files. Beside a release, a file without a privacy statement counts as public
    examples."""
    test: str = REQUIRED
    """File of original texts on which the classifier is tested."""
    reference: str | None = None
    """File of the original records from which the training file was made. For comparison, another
    classifier is trained on these original records, and its accuracy is shown."""
    examples: str | None = None
    """File of public examples with labels. For comparison, another classifier is trained on these
    examples alone. With classifier=text, one more classifier learns from the training files and the
    examples together."""
    classifier: str = "text"
    """The classifier: text (words and word pairs beside a sentence encoder's vector, in one logistic
    regression that takes seconds) | tfidf (the default of version 0.2.0, which searches for a
    strength) | lstm (a neural network, which takes longer)."""
    noisy_labels: bool | None = None
    """True if the labels in the training file are randomised. With null, the command finds this out
    from the privacy statement beside the training file."""
    seed: int = 0
    """Seed of the random choices during training. Only the classifier lstm makes random choices."""
    output_dir: str | None = None
    """A new directory for result.json. With null, the result is only printed."""


@dataclass
class PlanConfig(ReadingOptions):
    """Configuration of ``adept plan``."""

    # --- What anyone may know
    expected_rows: int = REQUIRED
    """Number of rows that you expect in the private file. What you type here counts as public: give
    a round number known without the file."""
    label_set: list[str] | None = None
    """Public list of the labels: either [A,B] or @FILE, a file with one label on each line. With
    null, the labels are those of the public texts."""
    label_descriptions: str | None = None
    """File of public sentences about labels. Each line holds a label and one or more sentences,
    separated by tabs."""
    examples: str | None = None
    """File of public examples with labels, from which a classifier can learn without any private
    record. Without test, the examples also test what is free."""
    test: str | None = None
    """File of public texts with labels, on which it is measured how often label names and examples
    alone are right."""
    public: bool = False
    """Set public to true to declare that anyone may read the examples and the test."""
    max_records_per_person: int | None = None
    """Largest number of rows of a person in the private file."""
    model_dir: str | None = None
    """Directory of the model that will make the release. With null, this is the model that comes
    with the package, with which the curves were measured."""

    # --- Columns of the public files
    text_column: str = "text"
    """Name of the column that holds the text."""
    label_column: str = USUAL_LABEL_COLUMN
    """Name of the column that holds the label."""

    # --- What is written
    output_dir: str | None = None
    """A new directory for plan.html and result.json. With null, the plan is only printed."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer(0, MAX_EXPECTED_ROWS, expected_rows=self.expected_rows)
        if self.max_records_per_person is not None:
            check_integer(1, MAX_EXPECTED_ROWS, max_records_per_person=self.max_records_per_person)
        if not (self.label_set or self.examples or self.test):
            raise ConfigurationError("label_set must be given, got nothing: add label_set=[A,B], or examples=FILE")
        if (self.examples or self.test) and self.public is not True:
            raise ConfigurationError(
                "public must be true with examples or test, got false: a plan is made of public text alone; add public=true if "
                "anyone may read these files"
            )


@dataclass
class PlayConfig:
    """Configuration of ``adept play``."""

    # --- What is shown
    model_dir: str | None = None
    """Directory of the model. With null, the page uses the model that comes with the package."""
    runs: str = "runs"
    """Directory of earlier results. The page shows the comparisons, audits and attacks in this
    directory."""
    ledger: str | None = "~/.local/state/adept/play.ledger"
    """File of the ledger, which lists all releases that you make on the page. With null, no ledger
    is kept."""

    # --- Where
    host: str = "127.0.0.1"
    """Network address at which the page is served. If other machines can reach the address, you
    must also set token."""
    port: int = 8000
    """Port at which the page is served. If the port is in use, the page takes the next free one."""
    token: str | None = None
    """Password of each request, which you must set if other machines can reach the page."""
    browser: bool = True
    """Open the page in a browser, if the command runs in a terminal."""


@dataclass
class StudyConfig(Columns):
    """Configuration of ``adept study``."""

    # --- Study. With null, an option has the default of the study; options that the study does not use must be null
    study: str = "sensitivity"
    """Name of the study: sensitivity (distances between latents) | sanity_check (privacy losses in
    simulated attacks) | randomized_response (surveys) | mechanisms (squared errors of mechanisms) |
    limits (bounds on what any attacker can learn)."""
    output_dir: str = REQUIRED
    """A new directory for the table, the figure and result.json."""
    trials: int | None = None
    """Number of samples that the study draws. The samples are pairs of latents (study=sensitivity),
    runs (sanity_check), or records (mechanisms)."""
    records: list[int] | None = None
    """For study=randomized_response: the numbers of people for which the study is computed."""
    dims: list[int] | None = None
    """The numbers of dimensions of the latents for which the study is computed."""
    epsilons: list[float] | None = None
    """The values of epsilon for which the study is computed."""
    mechanisms: list[str] | None = None
    """Names of the mechanisms that the study includes."""
    clip_norm: float | None = None
    """For study=sensitivity: the radius C of the ball into which the simulated latents are
    clipped."""
    seed: int | None = None
    """Seed of the random choices in a simulation."""
    model_dir: str | None = None
    """For study=sensitivity: directory of a model. The study then also measures the model's latents
    of the training texts in data. It counts the pairs of latents that lie farther apart than the
    ADePT paper assumes."""
    data: DataConfig = field(default_factory=DataConfig)
    figure: FigureConfig = field(default_factory=FigureConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.study in ("wild", "zoo"):  # of audits/run.py
            raise ConfigurationError(
                f"study={self.study} audits the claims of others and is no part of the package: run "
                f"`python audits/run.py {self.study} --output-dir DIR` in the repository"
            )
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
    """The user's declaration that the model's training text is public or private."""

    public: bool | None = None
    """True if the training text is public. With null, named data sets count as public, and your own
    files count as private."""


@dataclass
class TrainConfig(Columns):
    """Configuration of ``adept train``."""

    # --- What is trained, and where it goes
    output_dir: str | None = None
    """A new directory for the model, required unless resume_from continues an earlier run."""
    resume_from: str | None = None
    """The directory of an interrupted training run to continue."""
    mechanism: Any = REQUIRED
    """Mechanism for which the model is trained: the name of one of adept's, or MODULE:ATTRIBUTE. It
    determines the clip and, together with training.epsilon, the noise during training."""
    labels: str = "drop"
    """Output that the decoder learns to write from a latent: drop (a text) | joint (with its label)."""
    seed: int = 0
    """Seed of all random choices in training: on one machine, the same seed gives the same model."""
    data: DataConfig = field(default_factory=DataConfig)
    training_data: TrainingDataConfig = field(default_factory=TrainingDataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    tokenizer: TokenizerConfig = field(default_factory=TokenizerConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    lightning: dict[str, Any] = field(default_factory=dict)  # further options of Lightning's Trainer
    logger: dict[str, Any] = field(default_factory=dict)
    callbacks: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.output_dir is None and self.resume_from is None:
            raise ConfigurationError("output_dir must be given, got nothing: add output_dir=... or resume_from=RUN_DIR")
        check_choice(("drop", "joint"), labels=self.labels)
        check_integer(0, 2**32 - 1, seed=self.seed)

    def refuse_overridden(self, given: set[str]) -> None:
        """Raise ConfigurationError if one of the options that the user gave is without effect."""
        kind, content = self.mechanism.kind, self.training.for_mechanism(self.mechanism.kind).content.kind
        topics, source = content == TOPICS, f"training.content.kind={content}"
        read = topics and f"mechanism={kind.name} reads topics: give training.content.topics=N, or {source[:21]}=none"
        unlisted = kind.clip == "l1" and "a model for the clip l1 lists no public texts: leave it out"
        elsewhere = {self.data.path, self.data.hub, self.data.broad} != {None}
        without_effect = {
            **dict.fromkeys(("model.latent_dim", "model.directions"), read),
            "model.decoder": self.model.decoder == "nearest" and unlisted,
            "training.codec.sentences": unlisted,
            "model.encoder": (self.model.encoder == TOPICS) != topics and f"it follows from {source}: give that",
            "training.content.topics": not topics and "an LSTM encoder has no topics: give model.latent_dim=N",
            "data.sizes": elsewhere and f"it is for data=air_travel alone, got data={self.data.name}: give data.most=N",
            "data.path": self.data.name == "air_travel" and "data=air_travel comes with adept: give data=files, too",
            "data.hub": self.data.path is not None and "data.path is read instead: leave one of them out",
        }
        for name, reason in without_effect.items():
            if name in given and reason:
                raise ConfigurationError(f"{name} has no effect here, because {reason}")
