"""Options of models, of their training, and of writing texts. To keep ``--help`` quick, this module imports no PyTorch."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from adept.errors import (
    CLIP_NORMS,
    ConfigurationError,
    check_between,
    check_choice,
    check_integer,
    check_positive,
    printable,
    refuse,
)

if TYPE_CHECKING:
    from adept.mechanisms import Mechanism
    from adept.mechanisms.base import Kind

CHECKPOINTS, MODEL = "checkpoints", "model"  # directories of a training run
LAST, BEST = "last.ckpt", "best.ckpt"
METRICS = "metrics.csv"  # one row for each epoch
TOPICS = "topics"  # the kind of content, and the encoder
LSTM_FORMAT, TOPICS_FORMAT = 2, 1  # of config.json; format 1 of an LSTM had other names of weights
MAX_SIZES = {"embedding_dim": 2048, "hidden_dim": 2048, "latent_dim": 2048, "max_length": 512, "num_layers": 8}
LATER_SIZES = {"num_layers": 1, "directions": 2, "tied_embeddings": False}  # and their values in earlier versions
MAX_VOCABULARY, MAX_LABELS = 200_000, 10_000
SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[START]", "[END]"]
FIRST_LABEL = len(SPECIAL_TOKENS)  # tokens of labels, if any, come right after the special tokens
MAX_TRAINING_RECORDS, MAX_DATA_NAME_LENGTH = 10**12, 200
MAX_LISTED_TEXTS, MAX_HELD_OUT = 1 << 19, 200  # sentences that a model lists, and texts that it keeps for estimates
BATCH_SIZE = 1024  # records that are rewritten at a time: enough to group records of similar length


@dataclass
class ModelConfig:
    """Sizes of the autoencoder.

    Attributes:
        embedding_dim: Number of dimensions of a word's vector.
        hidden_dim: Number of dimensions of the state of an LSTM, the network that reads and writes texts.
        latent_dim: Number of dimensions of a latent, which is the vector of a text. Most mechanisms add more noise if
            this number is larger.
        clip_norm: Radius of the ball or sphere into which latents (the vectors of texts) are clipped.
        max_length: Largest number of tokens that the model reads from a text, or writes in a text.
        dropout: Share of the numbers in word vectors and decoder outputs that training sets to zero.
        word_dropout: Share of the decoder's input words that training hides, so that the decoder must use the latent.
        precision: Precision of the weights in the saved file: float32 | float16. In memory, weights are float32.
        decoder: Way to write texts if decoding.strategy=auto: lstm (word by word) | nearest (choose public texts).
        num_layers: Number of layers of the LSTM that reads texts, and of the LSTM that writes texts.
        directions: Directions in which the LSTM reads a text: 2 (forwards and backwards) | 1 (forwards).
        tied_embeddings: Score the words that the decoder may write with the same vectors with which words are read.
        encoder: Encoder, as training.content.kind decides: lstm | topics (a number for each topic).
    """

    embedding_dim: int = 96
    hidden_dim: int = 256
    latent_dim: int = 32
    clip_norm: float = 1.0
    max_length: int = 40
    dropout: float = 0.1
    word_dropout: float = 0.2
    precision: str = "float32"
    decoder: str = "lstm"
    num_layers: int = 1
    directions: int = 2
    tied_embeddings: bool = False
    encoder: str = "lstm"

    def __post_init__(self) -> None:
        check_choice(("lstm", TOPICS), **{"model.encoder": self.encoder})
        check_choice(("lstm", "nearest"), **{"model.decoder": self.decoder})
        check_choice(("float32", "float16"), **{"model.precision": self.precision})
        for name, most in MAX_SIZES.items():
            check_integer(1, most, **{f"model.{name}": getattr(self, name)})
        check_integer(1, 2, **{"model.directions": self.directions})
        tied = self.tied_embeddings
        refuse((not isinstance(tied, bool), f"model.tied_embeddings must be true or false, got {printable(tied)}"))
        for name in ("dropout", "word_dropout"):
            value = getattr(self, name)
            if not (isinstance(value, float | int) and 0 <= value < 1):
                raise ConfigurationError(f"model.{name} must be in [0, 1), got {printable(value)}")
        check_between(*CLIP_NORMS, **{"model.clip_norm": self.clip_norm})

    @property
    def described(self) -> dict[str, Any]:
        """All values, as files state them; what is as in earlier versions, which had no choice, is not stated."""
        return {name: value for name, value in asdict(self).items() if LATER_SIZES.get(name) != value}

    @property
    def network_sizes(self) -> dict[str, Any]:
        """The arguments that the network takes from this configuration."""
        names = ("embedding_dim", "hidden_dim", "latent_dim", "clip_norm", "dropout", "word_dropout")
        return {name: getattr(self, name) for name in (*names, *LATER_SIZES)}


@dataclass(frozen=True)
class TrainingData:
    """Origin of a model's training text. No privacy guarantee of a rewrite covers this text."""

    name: str = "unknown"
    public: bool = False
    records: int = 0
    examples: int = 0  # number of records to which somebody adapted the model, and which they declared public

    def __post_init__(self) -> None:
        fits = isinstance(self.name, str) and self.name.isprintable() and 0 < len(self.name) <= MAX_DATA_NAME_LENGTH
        public, name = printable(self.public), printable(self.name)
        refuse(
            (not isinstance(self.public, bool), f"training_data.public must be true or false, got {public}"),
            (not fits, f"training_data.name must be a line of at most {MAX_DATA_NAME_LENGTH} characters, got {name}"),
        )
        check_integer(0, MAX_TRAINING_RECORDS, **{"training_data.records": self.records})
        check_integer(0, self.records, **{"training_data.examples": self.examples})


@dataclass
class TokenizerConfig:
    """Options of the vocabulary, which holds words, or parts of words (byte-pair encoding).

    Attributes:
        kind: Kind of token: word | bpe (parts of words, down to single bytes, for any language).
        min_frequency: Least number of times that a word must occur in the texts to be in the vocabulary. With kind=bpe,
            two neighbouring parts of words become one part if they occur this often.
        vocabulary_size: Largest number of tokens in the vocabulary. With kind=bpe, all 256 bytes are tokens.
        lowercase: Read and write all text in lower case.
    """

    kind: str = "word"
    min_frequency: int = 2
    vocabulary_size: int = 10_000
    lowercase: bool = True

    def __post_init__(self) -> None:
        check_choice(("word", "bpe"), **{"tokenizer.kind": self.kind})
        refuse((self.min_frequency < 1, f"tokenizer.min_frequency must be at least 1, got {self.min_frequency}"))
        least = len(SPECIAL_TOKENS) + (256 if self.kind == "bpe" else 1)  # and all bytes, or one word
        check_integer(least, MAX_VOCABULARY, **{"tokenizer.vocabulary_size": self.vocabulary_size})


@dataclass
class ContentConfig:
    """Options for the content of latents, that is, what the numbers in a text's vector mean.

    Attributes:
        kind: Content of latents: topics | none (no topics; an LSTM encoder learns the content) | auto (topics for
            learned_codebook and description, else none).
        topics: Largest number of topics. At most one topic is learned for every eight public texts.
        english: For English text of many domains: read the sentence encoder's meanings of words into topics, and an
            unknown word as the nearest known one.
    """

    kind: str = "auto"
    topics: int = 400
    english: bool = False

    def __post_init__(self) -> None:
        check_choice(("auto", "none", TOPICS), **{"training.content.kind": self.kind})
        refuse((self.topics < 2, f"training.content.topics must be at least 2, got {self.topics}"))


@dataclass
class CodecConfig:
    """Options for the list of public sentences, from which mechanism=description releases one.

    Attributes:
        sentences: For public text of many domains: list only sentences without rare words, and find the sentences
            nearest to a record by groups of similar meaning.
    """

    sentences: bool = False


@dataclass
class OptimiserConfig:
    """Options for fitting the weights.

    Attributes:
        learning_rate: Learning rate of the optimiser.
        batch_size: Number of records in one training step.
        weight_decay: Weight decay of the optimiser.
        gradient_clip: Largest norm of the gradient in a training step. A longer gradient is shortened to this norm.
        patience: Number of epochs without a better validation loss, after which training stops.
    """

    learning_rate: float = 2e-3
    batch_size: int = 64
    weight_decay: float = 0.0
    gradient_clip: float = 1.0
    patience: int = 5

    def __post_init__(self) -> None:
        for name in ("learning_rate", "batch_size", "gradient_clip", "patience"):
            check_positive(**{f"training.{name}": getattr(self, name)})
        if not (isinstance(self.weight_decay, float | int) and 0 <= self.weight_decay < 1e6):
            raise ConfigurationError(f"training.weight_decay must be at least 0 and finite, got {self.weight_decay}")


@dataclass
class TrainingConfig(OptimiserConfig):
    """Options for fitting the weights, the topics and the list of public sentences.

    Attributes:
        epsilon: Noise in training: null (none) | x (the mechanism's noise at epsilon x) | [low,high] (the mechanism's
            noise at a random epsilon between low and high).
        most: Number of training texts from which topics and decoder learn: the first ones in the data. With null,
            topics and decoder learn from all texts.
    """

    epsilon: Any = None
    most: int | None = None
    content: ContentConfig = field(default_factory=ContentConfig)
    codec: CodecConfig = field(default_factory=CodecConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.most is not None:
            check_integer(2, 1 << 40, **{"training.most": self.most})
        if self.epsilon is not None and not 0 < self.budgets[0] <= self.budgets[1] < math.inf:
            raise ConfigurationError(f"training.epsilon must be null, positive or [low, high], got {self.epsilon}")

    @property
    def budgets(self) -> tuple[float, float]:
        """Lowest and highest epsilon of the noise in training; both NaN if there is no noise."""
        try:
            low, high = self.epsilon if isinstance(self.epsilon, list | tuple) else (self.epsilon, self.epsilon)
            return float(low), float(high)
        except (TypeError, ValueError):
            return math.nan, math.nan

    def for_mechanism(self, kind: "Kind") -> "TrainingConfig":
        """Return a copy in which a mechanism's kind of content replaces ``content.kind=auto``."""
        from adept.mechanisms import Description, LearnedCodebook

        if self.content.kind != "auto":
            return self
        kind_of_content = TOPICS if issubclass(kind, LearnedCodebook | Description) else "none"
        return replace(self, content=replace(self.content, kind=kind_of_content))


@dataclass
class TrainerConfig:
    """Options for the length, the device and the progress bar of the training.

    Attributes:
        max_epochs: Largest number of passes over the training text.
        accelerator: Device on which the training runs: auto | cpu | gpu.
        progress_bar: Show a progress bar. With null, the bar is shown only on a terminal.
    """

    min_epochs: ClassVar[int] = 1
    max_epochs: int = 40
    accelerator: str = "auto"
    progress_bar: bool | None = None

    def __post_init__(self) -> None:
        if self.max_epochs < self.min_epochs:
            raise ConfigurationError(f"trainer.max_epochs must be at least {self.min_epochs}, got {self.max_epochs}")
        check_choice(("auto", "cpu", "gpu"), **{"trainer.accelerator": self.accelerator})


@dataclass
class DecodingConfig:
    """Options for writing texts from released latents.

    Attributes:
        strategy: Way to write texts: auto (nearest if model.decoder=nearest; otherwise sample for
            mechanism=learned_codebook; otherwise greedy) | greedy (take the likeliest word) | sample (draw words) |
            nearest (take the nearest public text).
        temperature: For strategy=sample: values below 1 favour likely words, values above 1 favour rare words.
        top_k: For strategy=sample: number of likeliest words to draw from. With 0, draw from all words.
        top_p: For strategy=sample: draw from the likeliest words that together have this probability.
        candidates: For strategy=sample: number of texts drawn for a rewrite, of which the likeliest is kept.
        pool: Number of texts that are written for each codeword. The rewrite of a record is drawn from the texts of its
            codeword. With null, smaller codebooks get more texts per codeword. With 0, a new text is written for each
            record.
    """

    strategy: str = "auto"
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    candidates: int = 1
    pool: int | None = None

    def __post_init__(self) -> None:
        check_choice(("auto", "greedy", "sample", "nearest"), **{"decoding.strategy": self.strategy})
        check_positive(**{"decoding.temperature": self.temperature})
        refuse((not 0 < self.top_p <= 1, f"decoding.top_p must be in (0, 1], got {self.top_p}"))
        for name, least in (("top_k", 0), ("candidates", 1), ("pool", 0)):
            if getattr(self, name) is not None and getattr(self, name) < least:
                raise ConfigurationError(f"decoding.{name} must be at least {least}, got {getattr(self, name)}")


def check_device(accelerator: str) -> None:
    """Raise ConfigurationError unless this machine can compute on the device."""
    if accelerator == "gpu":
        import torch

        if not torch.accelerator.is_available():
            raise ConfigurationError("trainer.accelerator must be auto or cpu on this machine, got gpu: it has none")


@dataclass(frozen=True)
class Parts:
    """Parts of Lightning that the user chose for a training run, beside those that every run has."""

    loggers: tuple[Any, ...] = ()
    callbacks: tuple[Any, ...] = ()
    trainer: dict[str, Any] = field(default_factory=dict)  # further options of Lightning's Trainer
    has_table: bool = True  # write metrics.csv
    announce: Callable[..., object] = lambda step, always=False: None  # is told of a step that takes long, or of a fact


@dataclass(frozen=True)
class TrainSpec:
    """Specification of a training run, apart from its text and its output directory."""

    clip: str  # the set that latents are clipped into: "l1", "l2" or "sphere"
    training_data: TrainingData = field(default_factory=TrainingData)
    model: ModelConfig = field(default_factory=ModelConfig)
    tokenizer: TokenizerConfig = field(default_factory=TokenizerConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    mechanism: Callable[[float], "Mechanism"] | None = None  # for noise-aware training, built from an epsilon
    parts: Parts = field(default_factory=Parts)
    joint_labels: bool = False  # True if the record is the pair of label and text
    seed: int = 0


@dataclass(frozen=True)
class FitResult:
    """Measurements of a training run. Speeds ignore padding; ``seconds`` includes validation."""

    epochs: int
    validation_loss: float
    tokens_per_second: float
    records_per_second: float
    seconds: float
