"""Options of the commands, one class a command; docstrings are the help. Imports neither PyTorch nor NumPy."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from adept.comparison.config import CompareConfig as CompareConfig  # beside those below
from adept.comparison.config import FigureConfig
from adept.data.corpus import Columns, DataConfig, TrainingDataConfig
from adept.data.formats import SPLITS
from adept.data.reading import ReadingOptions
from adept.data.texts import USUAL_LABEL_COLUMN
from adept.errors import ConfigurationError, check_choice, check_integer, check_positive, refuse
from adept.models.config import (
    BATCH_SIZE,
    TOPICS,
    DecodingConfig,
    ModelConfig,
    OptimiserConfig,
    TokenizerConfig,
    TrainerConfig,
    TrainingConfig,
)
from adept.release.options import CentralOptions, LedgerOptions, ReleaseRequest

REQUIRED: Any = "???"  # the default of what must be given, as OmegaConf writes it
NEIGHBOURS = ("add_or_remove", "replace")
MAX_EXPECTED_ROWS = 10**9
LONG_TEXT = (
    "i would like to fly from boston to denver on the first monday of june and be back before noon on friday please"
)
STUDIES = {  # and their modules in adept.studies
    "sensitivity": "sensitivity", "sanity_check": "sanity_check", "randomized_response": "randomized_response",
    "mechanisms": "mechanisms_on_latents", "limits": "limits",
}  # fmt: skip


@dataclass
class FileNames:
    """Names of the files that a release reads and writes.

    Files:
        input: File of private records: txt, csv, tsv, jsonl, json, parquet or arrow, also compressed (gz, bz2, xz,
            zst). To read several files, give their directory or a pattern such as 'logs/*.jsonl'. To read standard
            input, give -.
        output: New file for the released records, or - for standard output. The ending of the file's name determines
            its format. If the ending is unknown, the output has the format of the input.

    Interrupted runs, and records that were released before:
        resume: Continue an interrupted release. If there is no interrupted release, begin a new one.
    """

    input: str = REQUIRED
    output: str = ""
    resume: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()  # type: ignore[misc]  # of the options beside these
        if not self.output:
            self.check_dry_run()
            raise ConfigurationError("output must be given, got nothing: add output=...")

    def check_dry_run(self) -> None:
        """Raise ConfigurationError for a dry run without an epsilon, which compared budgets in version 0.2.0."""
        own = getattr(getattr(self, "mechanism", None), "epsilon", None)
        refuse(
            (
                getattr(self, "dry_run", False) and getattr(self, "epsilon", None) is None and own is None,
                "epsilon must be given for a dry run, got nothing: adept plan label_set=[A,B] expected_rows=N compares budgets",
            )
        )


@dataclass
class RewriteConfig(FileNames, ReleaseRequest):
    """Configuration of ``adept rewrite``.

    A look before the release:
        expect: File of public texts. The command rewrites these texts to estimate how much of a text survives in a
            rewrite. With expect, you must also set public=true.
        public: Set public to true to declare that anyone may read the texts that you give with expect.
        dry_run: Check all options and the file, count the records and describe the release, but release nothing. To
            compare several values of epsilon, use adept plan.
    """

    expect: str | None = None
    public: bool = False
    dry_run: bool = False


@dataclass
class SynthesizeConfig(FileNames, LedgerOptions, CentralOptions):
    """Configuration of ``adept synthesize``.

    Budget:
        epsilon: Privacy budget of each person or, without person_column, of each record. You must choose its value.
        neighbours: Difference between two input files that the guarantee hides: add_or_remove (one file has a person's
            records and the other does not) | replace (one person has different records in the two files; to hide this
            needs twice the noise).
        model_dir: Directory of the model. With null, the command uses the model that comes with the package.
        cells: Number of topics (codewords). The command counts the records of each topic, separately for each label.
            With null, 1/32 of epsilon is spent on a noisy number of records, which decides the number of topics.
        dry_run: Check all options and the file, and print how many rows would be counted, but release nothing. To
            compare several values of epsilon, use adept plan.
        expected_rows: Number of rows that you expect in the input: the command then says how frequent a topic must be
            to stand out from the noise.
        accept_private_model: Accept a model that was trained on private text. No epsilon protects the training text.

    Labels:
        label_set: Public list of the labels: either [A,B] or @FILE, a file with one label on each line. Rows with a
            label that is not in this list are not counted.

    Interrupted runs, and records that were released before:
        ledger: File of the ledger, which lists earlier releases. If the ledger that you name already lists any release,
            you must also set again=true. With null, the default ledger is used, and you need not set again. With none,
            no ledger is kept.
    """

    epsilon: float | None = None
    neighbours: str = NEIGHBOURS[0]
    model_dir: str | None = None
    cells: int | None = None
    dry_run: bool = False
    expected_rows: int | None = None
    accept_private_model: bool = False
    label_set: list[str] | None = None
    ledger: str | None = None

    def __post_init__(self) -> None:
        check_choice(NEIGHBOURS, neighbours=self.neighbours)
        self.check_counts("expected_rows")
        super().__post_init__()


@dataclass
class VerifyConfig:
    """Configuration of ``adept verify``.

    Attributes:
        statement: The privacy statement to check, which is a file OUTPUT.privacy.json. You may write the file's name
            alone, without statement=.
        output: The released file that the statement describes. With null, the command checks the file beside the
            statement with the statement's name, but without the ending .privacy.json.
        model_dir: Directory of the model that the statement describes, or utterances for the model that comes with the
            package. With null, the command checks the statement without the model.
    """

    statement: str = REQUIRED
    output: str | None = None
    model_dir: str | None = None


@dataclass
class LedgerConfig:
    """Configuration of ``adept ledger``.

    Attributes:
        ledger: File of the ledger, which lists earlier releases. You may write the file's name alone, without ledger=.
            With null, the default ledger is used.
        limit: Limit to store in the ledger. Later releases are refused if the epsilons of a record or of a person would
            add up to more than this limit.
        approve: File that was released. The command reads the file, and marks the newest release with this content as
            approved. With approve, you must also set approved_by.
        approved_by: Name of the person who approved the release. The ledger stores and lists this name, and the time of
            the approval.
    """

    ledger: str | None = None
    limit: float | None = None
    approve: str | None = None
    approved_by: str | None = None

    def __post_init__(self) -> None:
        if (self.approve is None) != (self.approved_by is None):
            raise ConfigurationError("approve and approved_by must be given together: add the other one")


@dataclass
class FineTuningConfig(TrainerConfig):
    """Options for training the adapted decoder on the examples and the model's own public texts.

    Attributes:
        max_epochs: Number of passes of the training over all texts. With 0, no weights are trained.
    """

    min_epochs: ClassVar[int] = 0
    max_epochs: int = 0


@dataclass
class AdaptConfig(ReadingOptions):
    """Configuration of ``adept adapt``.

    Files:
        examples: File of public examples from your domain: sentences that people say, names of things, or a help page
            in Markdown. The adapted model stores the sentences word for word.
        kind: Kind of the lines of examples: examples (texts that people say) | names (of labels or things, about which
            the command finds sentences) | auto. With auto, lines are names if most of them are single words; those of a
            help page, or fewer than 8 lines, if most have at most 3 words.
        label_set: Names of your labels: either [A,B] or @FILE, a file with one name on each line. The command finds
            public sentences of the original model about these names, and uses them as further examples.
        public: Set public to true to declare that anyone may read the examples. Without public=true, the command adapts
            no model.
        output_dir: A new directory for the adapted model.
        model_dir: Directory of the model to adapt. With null, the command adapts the model that comes with the package.
        text_column: Name of the column that holds the texts of the examples.
        label_column: Name of the column that holds the labels of the examples. The adapted model then stores which
            examples each label has. With labels=copy, adept rewrite can then replace a record by a sentence close to
            the examples of the record's label. With null, the model stores no labels.
        seed: Seed of all random choices during the adaptation.
    """

    examples: str | None = None
    kind: str = "auto"
    label_set: list[str] | None = None
    public: bool = False
    output_dir: str = REQUIRED
    model_dir: str | None = None
    text_column: str = "text"
    label_column: str | None = None
    seed: int = 0
    trainer: FineTuningConfig = field(default_factory=FineTuningConfig)
    training: OptimiserConfig = field(default_factory=OptimiserConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(("auto", "examples", "names"), kind=self.kind)


@dataclass
class AttackConfig(Columns):
    """Configuration of ``adept attack``.

    What is attacked:
        model_dir: Directory of the model whose releases are attacked.
        attack: Aim of the attacker: reconstruction (find the text of a record) | attribute (guess one property of a
            record) | membership (see a classifier, and guess which of two records was rewritten to train it) |
            file_membership (see the noisy counts of a file, and guess whether the file holds a certain person's rows;
            this attack makes its own files and reads no data).
        mechanism: Mechanism that randomises each record. With null, the command chooses among the mechanisms that
            compute in exact arithmetic, and takes the one that suits the model best. Otherwise, give the name of one of
            adept's mechanisms.
        epsilon: Epsilon that the attacked mechanism claims.
        label: For mechanism.by_label=true, which gives each label separate codewords: the label whose codewords are
            used for all records.
        output_dir: A new directory for result.json and for attack.svg with its pdf and csv.

    How it is attacked:
        private: Part of the data from which the secret records are drawn: train | validation | test. The attacker knows
            the train part.
        records: Number of secret records. For attack=membership, the secret records form pairs, and one record of each
            pair is rewritten. For attack=file_membership, records is the number of times that each file is released.
        candidates: For attack=reconstruction: number of texts among which the attacker looks for the secret record.
        attribute: For attack=attribute: the property that the attacker guesses: label (of the record), or the name of a
            slot (a detail of the text, such as a city).
        models: For attack=membership: number of classifiers that are trained on rewritten records and attacked.
        confidence: Probability with which all confidence intervals in the result contain the true values, at least.
        seed: Seed of the choice of secret records, but not of the releases' noise, which differs from run to run.
        batch_size: Number of records that the model rewrites at the same time.
    """

    model_dir: str = REQUIRED
    attack: str = "reconstruction"
    mechanism: Any = None
    epsilon: float | None = None
    label: str | None = None
    output_dir: str = REQUIRED
    private: str = "test"
    records: int = 1000
    candidates: int = 10_000
    attribute: str = "label"
    models: int = 16
    confidence: float = 0.999
    seed: int = 0
    batch_size: int = BATCH_SIZE
    data: DataConfig = field(default_factory=DataConfig)
    figure: FigureConfig = field(default_factory=FigureConfig)
    decoding: DecodingConfig = field(default_factory=DecodingConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(("reconstruction", "attribute", "membership", "file_membership"), attack=self.attack)
        check_choice(SPLITS, private=self.private)
        refuse((not 0 < self.confidence < 1, f"confidence must be between 0 and 1, got {self.confidence}"))
        check_integer(1, 1_000_000, records=self.records, candidates=self.candidates)
        check_integer(4, 10_000, models=self.models)


@dataclass
class AuditConfig:
    """Configuration of ``adept audit``.

    What is audited:
        mechanism: The mechanism to audit: either a class, object or function from outside adept, given as
            MODULE:ATTRIBUTE, or one of adept's mechanisms.
        target: Subject of the audit: mechanism (it randomises latents, the vectors of texts) | rewriter (it turns texts
            into texts; give model_dir or foreign, too) | synthesizer (it turns a file into a file; its model must hold
            public texts).
        epsilon: The claimed epsilon, which the audit tests. You may leave epsilon out for the mechanisms called random
            and identity, and for a mechanism from outside adept that has an attribute epsilon.
        dim: Number of dimensions of the latents on which a mechanism is tested. For target=rewriter, the model
            determines this number.
        model_dir: For target=rewriter or target=synthesizer: directory of the model. With null, the audit of a
            synthesizer uses the model that comes with the package.
        neighbours: For target=synthesizer: the difference between the files that the audit compares: add_or_remove (one
            file also has the records of one more person) | replace (one person has different records in the two files).
        max_records_per_person: For target=synthesizer: the synthesizer counts at most this number of records of each
            person.
        texts: For target=rewriter: input texts whose rewrites the audit compares. The default texts differ a lot, so it
            is hard for a rewriter to hide which text it got.
        label: For target=rewriter and mechanism.by_label=true: the label that is given to every text.
        foreign: A mechanism from outside adept, as MODULE:ATTRIBUTE. You may also write mechanism=MODULE:ATTRIBUTE.
        alphabet: Number K of possible inputs of a mechanism from outside adept, if its inputs are the whole numbers 0
            to K-1.
        memoised: Set memoised to true to declare that a mechanism from outside adept remembers records. A mechanism
            that remembers records answers a repeated record with the earlier release, or stops when its epsilon is
            spent.
        randomness: Who has to seed the noise of a mechanism from outside adept: mechanism (the mechanism itself) |
            caller (the program that calls the mechanism). If a program can repeat the noise by setting the same seed,
            the audit reports a violation with randomness=mechanism, and only adds a note with randomness=caller.
        reports: Number N of releases of the same record that the audit judges together. Their total epsilon may be up
            to N times epsilon or, with memoised=true, only up to epsilon.

    How it is tested:
        trials: Number of times that each check runs the mechanism on the same input.
        confidence: Confidence level. A mechanism with a true claim passes all checks with at least this probability.
        output_dir: A new directory for result.json. With null, the result is only printed.
        verbose: Also print the table of all checks, and the kinds of defect that the audit did not look for.
    """

    mechanism: Any = REQUIRED
    target: str = "mechanism"
    epsilon: float | None = None
    dim: int = 64
    model_dir: str | None = None
    neighbours: str = NEIGHBOURS[0]
    max_records_per_person: int = 2
    texts: list[str] = field(default_factory=lambda: ["fares", "", LONG_TEXT])
    label: str | None = None
    foreign: str | None = None
    alphabet: int | None = None
    memoised: bool = False
    randomness: str = "mechanism"
    reports: int = 1
    trials: int = 10_000
    confidence: float = 0.999
    output_dir: str | None = None
    verbose: bool = False

    def __post_init__(self) -> None:
        check_choice(("mechanism", "rewriter", "synthesizer"), target=self.target)
        check_choice(NEIGHBOURS, neighbours=self.neighbours)
        count, placed = len(set(self.texts)), self.model_dir is not None or self.foreign is not None
        refuse(
            (self.target == "rewriter" and not placed, "model_dir must be given for target=rewriter, got none"),
            (count < 2, f"texts must be at least two different ones, got {count}"),
        )


@dataclass
class EvaluateConfig(ReadingOptions):
    """Configuration of ``adept evaluate``.

    Columns of all files:
        text_column: Name of the column that holds the text. With null, the command takes the name from the privacy
            statement beside the training file. Without a statement, the name is text.
        label_column: Name of the column that holds the label. With null, the command takes the name from the privacy
            statement beside the training file. Without a statement, the name is intent.

    What is evaluated:
        train: File of texts with labels, such as a rewritten file. A classifier is trained on this file to predict the
            label of a text. If you give several files [A,B], the classifier is trained on all of them together. To show
            what each file contributes, further classifiers are trained, each without one of the files. Beside a
            release, a file without a privacy statement counts as public examples.
        test: File of original texts on which the classifier is tested.
        reference: File of the original records from which the training file was made. For comparison, another
            classifier is trained on these original records, and its accuracy is shown.
        examples: File of public examples with labels. For comparison, another classifier is trained on these examples
            alone. With classifier=text, one more classifier learns from the training files and the examples together.
        classifier: The classifier: text (words and word pairs beside a sentence encoder's vector, in one logistic
            regression that takes seconds) | tfidf (the default of version 0.2.0, which searches for a strength) | lstm
            (a neural network, which takes longer).
        noisy_labels: True if the labels in the training file are randomised. With null, the command finds this out from
            the privacy statement beside the training file.
        seed: Seed of the random choices during training. Only the classifier lstm makes random choices.
        output_dir: A new directory for result.json. With null, the result is only printed.
    """

    text_column: str | None = None
    label_column: str | None = None
    train: Any = REQUIRED
    test: str = REQUIRED
    reference: str | None = None
    examples: str | None = None
    classifier: str = "text"
    noisy_labels: bool | None = None
    seed: int = 0
    output_dir: str | None = None


@dataclass
class PlanConfig(ReadingOptions):
    """Configuration of ``adept plan``.

    What anyone may know:
        expected_rows: Number of rows that you expect in the private file. What you type here counts as public: give a
            round number known without the file.
        label_set: Public list of the labels: either [A,B] or @FILE, a file with one label on each line. With null, the
            labels are those of the public texts.
        label_descriptions: File of public sentences about labels: a label and its sentences on each line, with tabs.
        examples: File of public examples with labels, from which a classifier can learn without any private record.
            Without test, the examples also test what is free.
        test: File of public texts with labels, on which it is measured how often label names and examples alone are
            right.
        public: Set public to true to declare that anyone may read the examples and the test.
        max_records_per_person: Largest number of rows of a person in the private file. With null, this number is 1.
        model_dir: Directory of the model that will make the release. With null, it is the one of the package.

    Columns of the public files:
        text_column: Name of the column that holds the text.
        label_column: Name of the column that holds the label.

    What is written:
        output_dir: A new directory for plan.html and result.json. With null, the plan is only printed.
    """

    expected_rows: int = REQUIRED
    label_set: list[str] | None = None
    label_descriptions: str | None = None
    examples: str | None = None
    test: str | None = None
    public: bool = False
    max_records_per_person: int | None = None
    model_dir: str | None = None
    text_column: str = "text"
    label_column: str = USUAL_LABEL_COLUMN
    output_dir: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer(0, MAX_EXPECTED_ROWS, expected_rows=self.expected_rows)
        if self.max_records_per_person is not None:
            check_integer(1, MAX_EXPECTED_ROWS, max_records_per_person=self.max_records_per_person)
        given = self.examples or self.test
        refuse(
            (
                not (self.label_set or given),
                "label_set must be given, got nothing: add label_set=[A,B], or examples=FILE",
            ),
            (
                given and self.public is not True,
                "public must be true with examples or test, got false: a plan is made of public text alone; add public=true if "
                "anyone may read these files",
            ),
        )


@dataclass
class PlayConfig:
    """Configuration of ``adept play``.

    What is shown:
        model_dir: Directory of the model. With null, the page uses the model that comes with the package.
        runs: Directory that holds the directories of earlier results. The page shows these results.
        ledger: File of the ledger, which lists all releases that you make on the page. With null, no ledger is kept.

    Where:
        host: Network address at which the page is served. If other machines can reach the address, you must also set
            token.
        port: Port at which the page is served, or 0 for any free port. If it is in use, the page takes the next free one.
        token: Password of each request, which you must set if other machines can reach the page.
        browser: Open the page in a browser, if the command runs in a terminal.
    """

    model_dir: str | None = None
    runs: str = "runs"
    ledger: str | None = "~/.local/state/adept/play.ledger"
    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    browser: bool = True


@dataclass
class StudyConfig(Columns):
    """Configuration of ``adept study``.

    Study. With null, an option has the default of the study; options that the study does not use must be null:
        study: Name of the study: sensitivity (distances between latents) | sanity_check (privacy losses in simulated
            attacks) | randomized_response (surveys) | mechanisms (squared errors of mechanisms) | limits (bounds on
            what any attacker can learn).
        output_dir: A new directory for the table, the figure and result.json.
        trials: Number of samples that the study draws. The samples are pairs of latents (study=sensitivity), runs
            (sanity_check), or records (mechanisms).
        records: For study=randomized_response: the numbers of people for which the study is computed.
        dims: The numbers of dimensions of the latents for which the study is computed.
        epsilons: The values of epsilon for which the study is computed.
        mechanisms: Names of the mechanisms that the study includes.
        clip_norm: For study=sensitivity: the radius C of the ball into which the simulated latents are clipped.
        seed: Seed of the random choices in a simulation.
        model_dir: For study=sensitivity: directory of a model. The study then also measures the model's latents of the
            training texts in data. It counts the pairs of latents that lie farther apart than the ADePT paper assumes.
    """

    study: str = "sensitivity"
    output_dir: str = REQUIRED
    trials: int | None = None
    records: list[int] | None = None
    dims: list[int] | None = None
    epsilons: list[float] | None = None
    mechanisms: list[str] | None = None
    clip_norm: float | None = None
    seed: int | None = None
    model_dir: str | None = None
    data: DataConfig = field(default_factory=DataConfig)
    figure: FigureConfig = field(default_factory=FigureConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        where = f"`python audits/run.py {self.study} --output-dir DIR` in the repository"
        gone = f"study={self.study} audits the claims of others and is no part of the package: run {where}"
        refuse((self.study in ("wild", "zoo"), gone))
        check_choice(STUDIES, study=self.study)
        lists = ("records", "dims", "epsilons", "mechanisms")
        refuse(
            *((getattr(self, name) == [], f"{name} must be null or have at least one value, got []") for name in lists)
        )
        check_integer(1, 10_000, **{f"dims[{i}]": dim for i, dim in enumerate(self.dims or [])})
        check_positive(**{f"epsilons[{i}]": epsilon for i, epsilon in enumerate(self.epsilons or [])})
        if self.clip_norm is not None:
            check_positive(clip_norm=self.clip_norm)


@dataclass
class TrainConfig(Columns):
    """Configuration of ``adept train``.

    What is trained, and where it goes:
        output_dir: A new directory for the model, required unless resume_from continues an earlier run.
        resume_from: The directory of an interrupted training run to continue.
        mechanism: Mechanism for which the model is trained: the name of one of adept's, or MODULE:ATTRIBUTE. It
            determines the clip and, together with training.epsilon, the noise during training.
        labels: Output that the decoder learns to write from a latent: drop (a text) | joint (with its label).
        seed: Seed of all random choices in training: on one machine, the same seed gives the same model.
    """

    output_dir: str | None = None
    resume_from: str | None = None
    mechanism: Any = REQUIRED
    labels: str = "drop"
    seed: int = 0
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
        neither = self.output_dir is None and self.resume_from is None
        refuse((neither, "output_dir must be given, got nothing: add output_dir=... or resume_from=RUN_DIR"))
        check_choice(("drop", "joint"), labels=self.labels)

    def overridden(self) -> dict[str, str]:
        """Return a sentence about each option that would have no effect."""
        kind, content = self.mechanism.kind, self.training.for_mechanism(self.mechanism.kind).content.kind
        unlisted = kind.clip == "l1" and "a model for the clip l1 lists no public texts: leave it out"
        topics, source = content == TOPICS, f"training.content.kind={content}"
        reads = f"mechanism={kind.name} reads topics: give training.content.topics=N, or training.content.kind=none"
        reasons = {
            **dict.fromkeys(("mechanism.epsilon", "mechanism.clip_norm"), "training.epsilon and model.clip_norm count"),
            **dict.fromkeys(("model.latent_dim", "model.directions"), topics and reads),
            "model.decoder": self.model.decoder == "nearest" and unlisted,
            "model.encoder": (self.model.encoder == TOPICS) != topics and f"it follows from {source}: give that",
            "training.codec.sentences": unlisted,
            "training.content.topics": not topics and "an LSTM encoder has no topics: give model.latent_dim=N",
            **self.data.overridden(),
        }
        return {name: f"{name} has no effect here, because {why}" for name, why in reasons.items() if why}


@dataclass
class SweepOptions:
    """Several runs, with -m: each list of values A,B or range(1,10) multiplies the number of runs.

    Attributes:
        sweep_dir: Directory of the numbered runs and of their table sweep.csv. With null, the name is made from the
            options, so that a repeated command continues its sweep.
        objective: Number of each run that the table shows: a field of result.json, or a column of metrics.csv (train)
            or results.csv (compare). With null, it is validation_loss, accuracy or certified_epsilon.
    """

    sweep_dir: str | None = None
    objective: str | None = None
