"""One seed of a comparison: every row of it, each from text that a mechanism released once.

Rows differ in the mechanism and in the *decoder*, what reads its releases: ``lstm`` (the model's decoder), ``nearest`` (public
utterances with the nearest latents, see ``adept.lookup``) or ``latents`` (none: the classifier is trained on the released latents
themselves, which shows what decoding loses). Everything slow is kept in the comparison's directory, by name, and never done twice:
models, releases, rewrites and rows.
"""

import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save
from torch import Tensor

from adept.content import Encoder
from adept.data import Corpus, DataConfig, hold_out
from adept.downstream import CLASSIFIERS, Evaluation, evaluate, evaluate_latents
from adept.errors import ConfigurationError
from adept.files import write_once
from adept.lookup import LINEAR_DIM, PublicTexts, linear_latents
from adept.mechanisms import BY_NAME, Codebook, LearnedCodebook, Mechanism, RandomizedResponse
from adept.metrics import BigramModel, bleu, distinct_ratio, token_overlap, verbatim
from adept.model import DecodingConfig, ModelConfig, TrainingData
from adept.privacy import json_number
from adept.rewriting import Rewriter
from adept.tokenizer import TokenizerConfig
from adept.training import MODEL, TrainerConfig, TrainingConfig, for_mechanism, train_model

PROTOCOLS = ("disjoint", "paper")
LABELS = ("copy", "randomized_response")
ENDS = ("identity", "random")
LSTM, NEAREST, LATENTS = "lstm", "nearest", "latents"
SUPERVISED = "labels"  # the kind of content that reads the public half's labels


@dataclass
class CompareConfig:
    """Configuration of ``adept compare``."""

    data: DataConfig = field(default_factory=DataConfig)
    mechanisms: list[str] = field(default_factory=lambda: ["original", "l1", "sqrt_n"])
    epsilons: list[float] = field(default_factory=lambda: [8.0, 32.0, 128.0, 512.0])
    seeds: list[int] = field(default_factory=lambda: [0, 1, 2])
    protocol: str = "disjoint"  # disjoint | paper
    labels: str = "copy"  # copy: not private; randomized_response: private, with label_epsilon out of each epsilon
    label_epsilon: float | None = None
    classifiers: list[str] = field(default_factory=lambda: ["tfidf"])
    samples: int = 1  # rewrites of each record, from its one released latent
    baselines: bool = (
        False  # look-up of public text, classifiers on latents and on the public half, quality of the text
    )
    decoding: DecodingConfig = field(default_factory=DecodingConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    tokenizer: TokenizerConfig = field(default_factory=TokenizerConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    text_column: str = "text"
    label_column: str | None = None  # null: the column "intent" where there is one
    processes: int = 1  # seeds at a time, each in a process of its own
    output_dir: str = "???"  # must be given

    def __post_init__(self) -> None:
        _check_names("mechanisms", self.mechanisms, tuple(BY_NAME))
        self.mechanisms = [name for name in self.mechanisms if name not in ENDS]  # they are always there
        _check_names("classifiers", self.classifiers, CLASSIFIERS)
        _check_names("protocol", [self.protocol], PROTOCOLS)
        _check_names("labels", [self.labels], LABELS)
        for name in ("mechanisms", "epsilons", "seeds", "classifiers"):
            if not getattr(self, name):
                raise ConfigurationError(f"{name} must have at least one entry, got none")
        for name in ("samples", "processes"):
            if getattr(self, name) < 1:
                raise ConfigurationError(f"{name} must be at least 1, got {getattr(self, name)}")
        self._check_budgets()

    def _check_budgets(self) -> None:
        if (self.labels == "randomized_response") != (self.label_epsilon is not None):
            raise ConfigurationError("label_epsilon must be given with labels=randomized_response, and only then")
        if self.label_epsilon is not None and not 0 < self.label_epsilon < min(self.epsilons):
            raise ConfigurationError(
                f"label_epsilon must be positive and below every epsilon, got {self.label_epsilon}: the rest is the text's"
            )
        for mechanism in self.mechanisms:
            for epsilon in self.epsilons:
                kind, budget = BY_NAME[mechanism], self.text_epsilon(epsilon)
                kind(epsilon=budget, clip_norm=self.model.clip_norm).guarantee(self.model.latent_dim)

    def text_epsilon(self, epsilon: float) -> float:
        """What is left of a row's claimed budget for its text."""
        return epsilon - (self.label_epsilon or 0.0)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of ``results.csv``; what does not apply is None."""

    data: str
    protocol: str
    mechanism: str
    decoder: str | None = None  # lstm, nearest or latents
    claimed_epsilon: float | None  # None: the row has no budget
    epsilon: float  # true, of text and label together where labels are randomised
    label_epsilon: float | None = None
    delta: float
    dim: int
    seed: int
    classifier: str
    labels: str
    samples: int
    accuracy: float
    macro_f1: float
    records_per_second: float | None
    clip: str | None  # of the model that wrote the text
    content: str | None = None  # what its latents were trained to say
    majority_accuracy: float
    train_records: int
    test_records: int
    overlap: float | None = None  # of a rewrite's words with its record's
    bleu: float | None = None
    distinct: float | None = None
    perplexity: float | None = None  # under a bigram model of the private originals
    verbatim_own: float | None = None
    verbatim_chance: float | None = None
    verbatim_public: float | None = None

    def plain(self) -> dict[str, Any]:
        """Return the fields as JSON can hold them."""
        return {**asdict(self), "epsilon": json_number(self.epsilon)}

    @classmethod
    def from_plain(cls, values: dict[str, Any]) -> "Row":
        """Return the row that ``plain`` came from."""
        return cls(**{**values, "epsilon": float(values["epsilon"])})


@dataclass(frozen=True)
class Family:
    """One model of a comparison: the set its latents lie in, and what they were trained to say."""

    clip: str
    content: str

    @property
    def key(self) -> str:
        return self.clip if self.content == "none" else f"{self.clip}-{self.content}"


def family_of(name: str, training: TrainingConfig) -> Family:
    """The model that serves a mechanism: one trained for the l2 ball or the sphere serves every mechanism of either."""
    kind = BY_NAME[name]
    content = for_mechanism(training, kind).content.kind
    if kind.serves == {"l1"}:
        return Family("l1", content)
    return Family("l2" if content == "none" else "sphere", content)


class SeedTrial:
    """All rows of one seed, in order: the text itself, the baselines, then model by model its ends and its mechanisms."""

    def __init__(self, config: CompareConfig, splits: dict[str, Corpus], directory: Path, seed: int) -> None:
        self.config, self.directory, self.seed = config, directory, seed
        self.validation, self.test = splits["validation"], splits["test"]
        train = splits["train"]
        if config.protocol == "paper":
            self.public = self.private = train
        else:
            self.public, self.private = hold_out(train, share=0.5, seed=seed)
        self.known = sorted(set(train.labels or []))

    def rows(self) -> list[Row]:
        """Every row, computed or found."""
        rows = self._text_rows("none", lambda: self.private)
        if self.config.baselines:
            if self.config.protocol == "disjoint":
                rows += self._text_rows("public_only", lambda: self.public)
            rows += [row for epsilon in self.config.epsilons for row in self._lookup_rows(epsilon)]
        families = {family_of(name, self.config.training): None for name in self.config.mechanisms}
        for family in sorted(families, key=lambda family: (family.content, family.clip != "l2")):
            model_dir = self._model(family)
            for name, epsilon in self._releases(family):
                rows += self._release_rows(family, model_dir, name, epsilon)
        return rows

    def _releases(self, family: Family) -> list[tuple[str, float]]:
        """The two ends, and every mechanism and budget that a model serves."""
        served = [name for name in self.config.mechanisms if family_of(name, self.config.training) == family]
        return [(name, math.inf) for name in ENDS] + [(name, e) for name in served for e in self.config.epsilons]

    def _model(self, family: Family) -> Path:
        """Train a family's model, or find it; only ``labels`` content lets it see the public labels."""
        run = self.directory / "models" / f"{family.key}-seed{self.seed}"
        if not (run / "done").exists():
            training = replace(self.config.training, content=replace(self.config.training.content, kind=family.content))
            public = self.public if family.content == SUPERVISED else Corpus(self.public.texts)
            train_model(
                public,
                Corpus(self.validation.texts),
                model_config=self.config.model,
                tokenizer_config=self.config.tokenizer,
                training_config=training,
                trainer_config=self.config.trainer,
                clip=family.clip,
                training_data=TrainingData(self.config.data.name, self.config.data.public, len(self.public)),
                output_dir=run,
                seed=self.seed,
                mechanism=lambda epsilon: Codebook(epsilon=epsilon, clip_norm=self.config.model.clip_norm),
            )
            (run / "done").touch()
        return run / MODEL

    def _text_rows(self, name: str, corpus: Callable[[], Corpus]) -> list[Row]:
        """Rows of a classifier on text as it is."""

        def judged(classifier: str) -> Row:
            return self._row(name, evaluate(corpus(), self.test, classifier=classifier, seed=self.seed), classifier)

        return self._cached_rows(name, judged, self.config.classifiers)

    def _lookup_rows(self, epsilon: float) -> list[Row]:
        """Rows of the look-up baseline: linear latents, a random codebook, nearest public utterances."""
        mechanism = Codebook(epsilon=self.config.text_epsilon(epsilon))
        key = f"lookup-{epsilon:g}"

        def release() -> Tensor:
            return mechanism.privatize(torch.from_numpy(self._linear(self.private.texts)))

        def write(released: Tensor) -> list[str]:
            public = PublicTexts(self.public.texts, torch.from_numpy(self._linear(self.public.texts)))
            return public.write(released, samples=self.config.samples)

        fields = {"claimed_epsilon": epsilon, "epsilon": epsilon, "dim": LINEAR_DIM, "decoder": NEAREST}
        return self._written_rows("lookup", key, key, release, write, fields)

    @cached_property
    def _linear(self) -> Encoder:
        return linear_latents(self.public, seed=self.seed)

    def _release_rows(self, family: Family, model_dir: Path, name: str, epsilon: float) -> list[Row]:
        """Rows of one mechanism at one budget, one for each decoder and classifier."""
        rewriter = self._rewriter(family, model_dir, name, epsilon)
        key = f"{name}{'' if name in ENDS else f'-{epsilon:g}'}-{family.key}"
        spent = rewriter.guarantee.epsilon + (self.config.label_epsilon or 0.0)
        fields = {
            "claimed_epsilon": None if name in ENDS else epsilon,
            "epsilon": spent,
            "delta": rewriter.guarantee.delta,
            "clip": family.clip,
            "content": family.content,
        }

        def release() -> Tensor:
            return torch.cat([rewriter.release(part) for part in _parts(self.private.texts, rewriter.batch_size)])

        def write(released: Tensor) -> list[str]:
            parts = torch.split(released, rewriter.batch_size)
            return [text for part in parts for text, _ in rewriter.write(part, samples=self.config.samples)]

        def nearest(released: Tensor) -> list[str]:
            return self._nearest(rewriter).write(released, samples=self.config.samples)

        def judged(classifier: str) -> Row:
            return self._latent_row(name, rewriter, self._released(key, release), {**fields, "decoder": LATENTS})

        rows = self._written_rows(name, key, key, release, write, {**fields, "decoder": LSTM})
        if self.config.baselines and isinstance(rewriter.mechanism, LearnedCodebook):
            rows += self._written_rows(name, key, f"{key}-{NEAREST}", release, nearest, {**fields, "decoder": NEAREST})
        if self.config.baselines:
            rows += self._cached_rows(f"{key}-{LATENTS}", judged, ["logistic"])
        return rows

    def _rewriter(self, family: Family, model_dir: Path, name: str, epsilon: float) -> Rewriter:
        """The rewriter of a row; the ends decode as the mechanisms of their family do."""
        budget = epsilon if name in ENDS else self.config.text_epsilon(epsilon)
        mechanism: Mechanism = BY_NAME[name](epsilon=budget, clip_norm=self.config.model.clip_norm)
        decoding = self.config.decoding
        if decoding.strategy == "auto" and family.content != "none":
            decoding = replace(decoding, strategy="sample")
        return Rewriter.from_pretrained(model_dir, mechanism=mechanism, decoding=decoding)

    def _nearest(self, rewriter: Rewriter) -> PublicTexts:
        parts = _parts(self.public.texts, rewriter.batch_size)
        return PublicTexts(self.public.texts, torch.cat([rewriter.encode(part) for part in parts]))

    def _released(self, key: str, release: Callable[[], Tensor]) -> Tensor:
        """The released latents of the private records: each record is released once, whatever reads the release."""
        path = self.directory / "releases" / f"{key}-seed{self.seed}.safetensors"
        if not path.exists():
            write_once(path, save({"released": release().contiguous()}))
        return load_file(path)["released"]

    def _labels(self) -> list[str]:
        """The labels that stand beside the text: as they are, or each randomised once."""
        if self.config.label_epsilon is None:
            return self.private.labels or []
        path = self.directory / "releases" / f"labels-seed{self.seed}.json"
        if not path.exists():
            response = RandomizedResponse(epsilon=self.config.label_epsilon, labels=tuple(self.known))
            write_once(path, json.dumps(list(response.privatize(self.private.labels or []))))
        return [str(label) for label in json.loads(path.read_text("utf-8"))]

    def _written_rows(
        self,
        name: str,
        released: str,
        key: str,
        release: Callable[[], Tensor],
        write: Callable[[Tensor], list[str]],
        fields: dict[str, Any],
    ) -> list[Row]:
        """Rows of classifiers on written text; ``released`` and ``key`` name the cached release and text."""
        samples = self.config.samples

        def judged(classifier: str) -> Row:
            texts, speed = self._written(released, key, release, write)
            labels = [label for label in self._labels() for _ in range(samples)]
            corpus = Corpus(texts, labels)
            evaluation = evaluate(corpus, self.test, classifier=classifier, seed=self.seed, samples=samples)
            quality = self._quality(texts[::samples]) if self.config.baselines else {}
            return self._row(name, evaluation, classifier, records_per_second=speed, **fields, **quality)

        return self._cached_rows(key, judged, self.config.classifiers)

    def _written(
        self, released: str, key: str, release: Callable[[], Tensor], write: Callable[[Tensor], list[str]]
    ) -> tuple[list[str], float | None]:
        """Texts and the records written a second, with the release where it was made in the same go."""
        path = self.directory / "rewrites" / f"{key}-seed{self.seed}.json"
        if not path.exists():
            begin = time.monotonic()
            texts = write(self._released(released, release))
            write_once(path, json.dumps((texts, len(self.private) / (time.monotonic() - begin))))
        texts, speed = json.loads(path.read_text("utf-8"))
        return texts, speed

    def _quality(self, texts: list[str]) -> dict[str, float]:
        """Figures of merit of the first rewrite of each record."""
        repeated = verbatim(self.private.texts, texts, set(self.public.texts))
        return {
            "overlap": token_overlap(self.private.texts, texts),
            "bleu": bleu(self.private.texts, texts),
            "distinct": distinct_ratio(texts),
            "perplexity": self._language.perplexity(texts),
            "verbatim_own": repeated.own,
            "verbatim_chance": repeated.chance,
            "verbatim_public": repeated.public,
        }

    @cached_property
    def _language(self) -> BigramModel:
        return BigramModel(self.private.texts)

    def _latent_row(self, name: str, rewriter: Rewriter, released: Tensor, fields: dict[str, Any]) -> Row:
        test = torch.cat([rewriter.encode(part) for part in _parts(self.test.texts, rewriter.batch_size)])
        evaluation = evaluate_latents(released, self._labels(), test, self.test.labels or [])
        return self._row(name, evaluation, "logistic", **fields)

    def _cached_rows(self, key: str, judged: Callable[[str], Row], classifiers: list[str]) -> list[Row]:
        rows = []
        for classifier in classifiers:
            path = self.directory / "rows" / f"{key}-seed{self.seed}-{classifier}.json"
            if not path.exists():
                write_once(path, json.dumps(judged(classifier).plain()))
            rows.append(Row.from_plain(json.loads(path.read_text("utf-8"))))
        return rows

    def _row(self, name: str, evaluation: Evaluation, classifier: str, **fields: Any) -> Row:
        text = name in ("none", "public_only")
        values: dict[str, Any] = {
            "claimed_epsilon": None,
            "epsilon": math.inf if name == "none" else 0.0,
            "delta": 0.0,
            "dim": self.config.model.latent_dim,
            "records_per_second": None,
            "clip": None,
            **fields,
        }
        return Row(
            data=self.config.data.name,
            protocol=self.config.protocol,
            mechanism=name,
            label_epsilon=None if text else self.config.label_epsilon,
            seed=self.seed,
            classifier=classifier,
            labels="copy" if text else self.config.labels,
            samples=1 if text else self.config.samples,
            accuracy=evaluation.accuracy.value,
            macro_f1=evaluation.macro_f1.value,
            majority_accuracy=evaluation.majority_accuracy,
            train_records=evaluation.train_records,
            test_records=evaluation.test_records,
            **values,
        )


def _parts(texts: list[str], size: int) -> list[list[str]]:
    return [texts[start : start + size] for start in range(0, len(texts), size)]


def _check_names(name: str, values: list[str], known: tuple[str, ...]) -> None:
    if unknown := [value for value in values if value not in known]:
        raise ConfigurationError(f"{name} must be among {', '.join(known)}, got {unknown[0]}")
