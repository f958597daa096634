"""Mechanisms x budgets x seeds on one data set: train rewriters, rewrite, train classifiers on the result, test on clean text.

Two protocols. ``paper``: the rewriter is trained on the very split that it rewrites, as ADePT was. ``disjoint``: it is trained
on one half of the training split without the labels, and rewrites the other half, which it has never seen; only this one
answers what a user gets who trains on public text and protects private text. Every comparison holds three rows that tell the
figures apart: ``none`` (the text itself), ``identity`` (the rewriter without noise) and ``random`` (the same decoder on
latents that have nothing to do with the record). A utility figure without its ``random`` row proves nothing.

Everything slow is kept in the output directory, by name, and never done twice: models, rewrites and rows.
"""

import csv
import json
import math
import multiprocessing
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import torch

from adept.data import Corpus, DataConfig, hold_out, load
from adept.downstream import CLASSIFIERS, evaluate
from adept.errors import ConfigurationError, DataError
from adept.files import write_once
from adept.mechanisms import BY_NAME, Mechanism
from adept.model import DecodingConfig, ModelConfig, TrainingData
from adept.privacy import json_number
from adept.rewriting import Rewriter
from adept.tokenizer import TokenizerConfig
from adept.training import MODEL, TrainerConfig, TrainingConfig, train_model

PROTOCOLS = ("disjoint", "paper")
ENDS = ("identity", "random")
GROWING = ("mechanisms", "epsilons", "seeds", "classifiers", "processes", "output_dir")


@dataclass
class CompareConfig:
    """Configuration of ``adept compare``."""

    data: DataConfig = field(default_factory=DataConfig)
    mechanisms: list[str] = field(default_factory=lambda: ["original", "l1", "sqrt_n"])
    epsilons: list[float] = field(default_factory=lambda: [8.0, 32.0, 128.0, 512.0])
    seeds: list[int] = field(default_factory=lambda: [0, 1, 2])
    protocol: str = "disjoint"  # disjoint | paper
    classifiers: list[str] = field(default_factory=lambda: ["tfidf"])
    samples: int = 1  # rewrites of each record, from its one released latent
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
        for name in ("mechanisms", "epsilons", "seeds", "classifiers"):
            if not getattr(self, name):
                raise ConfigurationError(f"{name} must have at least one entry, got none")
        for name in ("samples", "processes"):
            if getattr(self, name) < 1:
                raise ConfigurationError(f"{name} must be at least 1, got {getattr(self, name)}")
        for mechanism in self.mechanisms:
            for epsilon in self.epsilons:
                BY_NAME[mechanism](epsilon=epsilon, clip_norm=self.model.clip_norm).guarantee(self.model.latent_dim)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of ``results.csv``."""

    data: str
    protocol: str
    mechanism: str
    claimed_epsilon: float | None  # None: the row has no budget
    epsilon: float
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
    majority_accuracy: float
    train_records: int
    test_records: int


def compare(config: CompareConfig, *, progress: Callable[[int], None] = lambda done: None) -> list[Row]:
    """Run what is not there yet and return all rows; ``results.csv`` is in the output directory.

    Args:
        progress: called with the number of seeds that are done, each time another one is.

    Raises:
        DataError: the data have no labels, or the directory holds another comparison.
    """
    directory = _continue_directory(config)
    splits = load(config.data)
    for name in ("train", "test"):
        if name not in splits or splits[name].labels is None:
            raise DataError(f"the data must have a labelled {name} split to compare on: add one, or set label_column=")
    jobs = [(config, splits, directory, seed) for seed in config.seeds]
    rows: list[Row] = []
    for done, result in enumerate(_map(_run_seed, jobs, config.processes), start=1):
        rows += result
        write_csv(rows, directory / "results.csv")
        progress(done)
    return rows


def _map(function: Callable[..., Any], jobs: list[tuple[Any, ...]], processes: int) -> Iterator[Any]:
    """Apply a function to each job, in order, here or in processes of their own that share the cores."""
    if processes == 1:
        yield from (function(job) for job in jobs)
        return
    threads = max(1, torch.get_num_threads() // processes)
    with multiprocessing.get_context("spawn").Pool(processes, torch.set_num_threads, (threads,)) as pool:
        yield from pool.imap(function, jobs)


def _run_seed(job: tuple[CompareConfig, dict[str, Corpus], Path, int]) -> list[Row]:
    """All rows of one seed."""
    config, splits, directory, seed = job
    train, test = splits["train"], splits["test"]
    public, private = (
        (train, train) if config.protocol == "paper" else hold_out(train, share=0.5, seed=seed, labelled=False)
    )
    rows = _rows(config, directory, private, test, seed=seed, name="none", written=lambda: (private.texts, None))
    for clip in sorted({_model_clip(name) for name in config.mechanisms}, reverse=True):
        model_dir = _model(config, directory, public, splits["validation"], clip=clip, seed=seed)
        for mechanism in _mechanisms(config, clip):

            def written(
                mechanism: Mechanism = mechanism, model_dir: Path = model_dir
            ) -> tuple[list[str], float | None]:
                return _rewrite(config, model_dir, mechanism, private.texts)

            rows += _rows(
                config,
                directory,
                private,
                test,
                seed=seed,
                name=mechanism.name,
                written=written,
                mechanism=mechanism,
                clip=clip,
            )
    return rows


def _model_clip(mechanism: str) -> str:
    """The clip of the model that serves a mechanism; a model trained for the l2 ball serves the sphere as well."""
    return "l1" if BY_NAME[mechanism].serves == {"l1"} else "l2"


def _mechanisms(config: CompareConfig, clip: str) -> list[Mechanism]:
    """The two ends, and every mechanism and budget that a model of this clip serves."""
    clip_norm = config.model.clip_norm
    ends = [BY_NAME[name](epsilon=math.inf, clip_norm=clip_norm) for name in ENDS]
    kinds = [BY_NAME[name] for name in config.mechanisms if _model_clip(name) == clip]
    return ends + [kind(epsilon=epsilon, clip_norm=clip_norm) for kind in kinds for epsilon in config.epsilons]


def _model(config: CompareConfig, directory: Path, public: Corpus, validation: Corpus, *, clip: str, seed: int) -> Path:
    """Train the rewriter's model, or find it; its text comes without labels."""
    run = directory / "models" / f"{clip}-seed{seed}"
    if not (run / "done").exists():
        train_model(
            Corpus(public.texts),
            Corpus(validation.texts),
            model_config=config.model,
            tokenizer_config=config.tokenizer,
            training_config=config.training,
            trainer_config=config.trainer,
            clip=clip,
            training_data=TrainingData(config.data.name, config.data.public, len(public)),
            output_dir=run,
            seed=seed,
        )
        (run / "done").touch()
    return run / MODEL


def _rewrite(
    config: CompareConfig, model_dir: Path, mechanism: Mechanism, texts: list[str]
) -> tuple[list[str], float | None]:
    """Return the private texts and the speed in records per second."""
    rewriter = Rewriter.from_pretrained(model_dir, mechanism=mechanism, decoding=config.decoding)
    begin = time.monotonic()
    written = rewriter.rewrite(texts, samples=config.samples)
    return written, len(texts) / (time.monotonic() - begin)


def _rows(
    config: CompareConfig,
    directory: Path,
    private: Corpus,
    test: Corpus,
    *,
    seed: int,
    name: str,
    written: Callable[[], tuple[list[str], float | None]],
    mechanism: Mechanism | None = None,
    clip: str | None = None,
) -> list[Row]:
    """The rows of one mechanism, one a classifier; ``written`` makes the text that classifiers are trained on."""
    budget = f"-{mechanism.epsilon:g}" if mechanism and name not in ENDS else ""
    key = f"{name}{budget}{f'-{clip}' if clip else ''}-seed{seed}"
    samples = config.samples if mechanism else 1
    rows = []
    for classifier in config.classifiers:
        path = directory / "rows" / f"{key}-{classifier}.json"
        if not path.exists():
            texts, speed = _cached_texts(directory / "rewrites" / f"{key}.json", written)
            labels = [label for label in private.labels or [] for _ in range(samples)]
            evaluation = evaluate(Corpus(texts, labels), test, classifier=classifier, seed=seed)
            guarantee = mechanism.guarantee(config.model.latent_dim) if mechanism else None
            row = Row(
                data=config.data.name,
                protocol=config.protocol,
                mechanism=name,
                claimed_epsilon=guarantee.claimed_epsilon if guarantee and name not in ENDS else None,
                epsilon=guarantee.epsilon if guarantee else math.inf,
                delta=guarantee.delta if guarantee else 0.0,
                dim=config.model.latent_dim,
                seed=seed,
                classifier=classifier,
                labels="copy",
                samples=samples,
                accuracy=evaluation.accuracy.value,
                macro_f1=evaluation.macro_f1.value,
                records_per_second=speed,
                clip=clip,
                majority_accuracy=evaluation.majority_accuracy,
                train_records=evaluation.train_records,
                test_records=evaluation.test_records,
            )
            write_once(path, json.dumps(_plain(row)))
        rows.append(Row(**{**json.loads(path.read_text()), "epsilon": float(json.loads(path.read_text())["epsilon"])}))
    return rows


def _cached_texts(path: Path, written: Callable[[], tuple[list[str], float | None]]) -> tuple[list[str], float | None]:
    if not path.exists():
        write_once(path, json.dumps(written()))
    texts, speed = json.loads(path.read_text("utf-8"))
    return texts, speed


def _plain(row: Row) -> dict[str, Any]:
    return {**asdict(row), "epsilon": json_number(row.epsilon)}


def _continue_directory(config: CompareConfig) -> Path:
    """Make the output directory, or go on in one that holds the same comparison."""
    directory = Path(config.output_dir)
    settings = json.loads(json.dumps({k: v for k, v in asdict(config).items() if k not in GROWING}))
    path = directory / "comparison.json"
    if path.exists():
        before = json.loads(path.read_text("utf-8"))
        if changed := [key for key in settings if before.get(key) != settings[key]]:
            raise DataError(
                f"output_dir {directory} holds a comparison with another {changed[0]}: choose another directory"
            )
    elif directory.exists() and any(directory.iterdir()):
        raise DataError(f"output_dir {directory} is not empty and holds no comparison: choose another directory")
    else:
        directory.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings, indent=2) + "\n", "utf-8")
    return directory


def write_csv(rows: list[Row], path: Path) -> None:
    """Write rows as csv; what does not apply is empty, an infinite epsilon is "inf"."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        table = csv.DictWriter(stream, fieldnames=[f.name for f in fields(Row)], lineterminator="\n")
        table.writeheader()
        table.writerows(_plain(row) for row in rows)


def _check_names(name: str, values: list[str], known: tuple[str, ...]) -> None:
    if unknown := [value for value in values if value not in known]:
        raise ConfigurationError(f"{name} must be among {', '.join(known)}, got {unknown[0]}")
