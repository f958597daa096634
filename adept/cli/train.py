"""``adept train``: train an autoencoder for a mechanism, and save it in a directory with a picture of its losses."""

import json
import math
import re
import shutil
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from adept.cli.config import REQUIRED, TrainConfig
from adept.cli.console import show, show_lines, warn, write_json
from adept.cli.help import OPEN_GROUPS, OWN, config_directory, is_foreign
from adept.cli.lightning_parts import TARGET, is_public
from adept.cli.lightning_parts import build as build_parts
from adept.cli.overrides import SAVED, read_value
from adept.cli.process import is_interrupted, system_reason
from adept.data.corpus import Corpus, load
from adept.data.writing import hold_directory, new_directory, read_table
from adept.errors import AdeptError, ConfigurationError, DataError, Interrupted, flatten, refuse, typed_as
from adept.foreign import blame
from adept.mechanisms import Description
from adept.models.config import CHECKPOINTS, LAST, METRICS, MODEL, TOPICS, FitResult, Parts, TrainingData, TrainSpec
from adept.models.saved_model import CARD, Reconstruction, model_card, reconstruction
from adept.pages import render

OVERRIDES, RESULT, RESOLVED = "overrides.json", "result.json", "config.yaml"
PRIVATE_NOTE = (
    "note: this text counts as private, and so does the model, which can write its sentences: a release with the model needs "
    "accept_private_model=true, and mechanism=description refuses it; if anyone may read the text, add training_data.public=true"
)
PLACES = ("path", "broad")  # options of the data that name directories
# What a resumed run may change: where its files lie, where training ends, and how it runs
CHANGEABLE = re.compile(
    r"data\.(path|broad)|training\.patience|(logger|callbacks)\b.*|trainer\.(m(ax|in)_(epochs|steps)|max_time|accelerator|devices"
    r"|strategy|precision|progress_bar|profiler|log_every_n_steps|enable_model_summary|detect_anomaly|benchmark|deterministic)"
)


@dataclass(frozen=True)
class TrainResult:
    """Result of a training run."""

    model_dir: str
    data: str
    clip: str
    latent_dim: int
    vocabulary_size: int
    train_records: int
    parameters: int
    fit: FitResult
    reconstruction: Reconstruction | None  # of held-out words, without any noise


def main(config: TrainConfig) -> None:
    """Train a model, and print its directory and its validation loss."""
    result = run(config, overrides=sys.argv[1:])
    read, loss = round(result.fit.records_per_second * result.fit.seconds), result.fit.validation_loss
    rows = [
        ("training", f"{result.train_records} records of {result.data}, vocabulary {result.vocabulary_size}"),
        ("latent", f"{result.latent_dim} dimensions, clip {result.clip}"),
        ("epochs", f"{result.fit.epochs} in {result.fit.seconds:.0f} s, {read:,} records read"),
        (
            "validation loss",
            "not measured: no epoch ended with a validation" if math.isnan(loss) else f"{loss:.3f} nats per token",
        ),
        ("speed", f"{result.fit.tokens_per_second:,.0f} tokens/s, {result.fit.records_per_second:,.0f} records/s"),
    ]
    show(f"model in {result.model_dir}", rows)
    if result.reconstruction and result.reconstruction.warning:
        warn(f"note: {result.reconstruction.warning}")
    if config.lightning.get("fast_dev_run"):
        warn("note: trainer.fast_dev_run keeps no checkpoint and trains hardly anything: leave it out to get a model")


def run(config: TrainConfig, *, overrides: list[str] | None = None) -> TrainResult:
    """Train and save a model; raise AdeptError for a mistake of the user.

    The given options, ``overrides``, are stored, so that ``resume_from`` can read them later.
    """
    _check_mechanism(config)
    if config.resume_from is not None:
        _refuse_changes(config, Path(config.resume_from))
    parts = build_parts(config, Path(config.output_dir or config.resume_from or ""))
    splits = load(config.data, config)
    if config.labels == "joint":
        splits = {name: _labelled(name, splits) for name in ("train", "validation")}
    directory, checkpoint = _prepare(config)
    if overrides is not None and checkpoint is None:
        if config.resume_from is None:  # at once, as a run may be interrupted
            _write_overrides(config, overrides, directory)
        show_lines([" ".join([describe(config, len(splits["train"])), *_remarks(config, overrides)])])
        if not is_public(config):
            warn(PRIVATE_NOTE)
        sys.stdout.flush()
    try:
        result = _train(config, splits, directory, checkpoint, parts)
    except BaseException as error:  # Lightning makes an exit of an interrupt, other libraries errors of their own
        begun = (directory / CHECKPOINTS / LAST).is_file()
        foreign = None if is_interrupted() or isinstance(error, AdeptError) else blame(error, quote=is_public(config))
        if (foreign or isinstance(error, ConfigurationError)) and config.resume_from is None and not begun:
            _clear(directory)
        if foreign:
            advice = f"; resume_from={directory} goes on after the last whole epoch" if begun else ""
            raise ConfigurationError(f"{foreign}: correct it{advice}") from error
        again = f"adept train resume_from={directory} " + (
            "goes on after the last whole epoch" if begun else "begins again, for no epoch was finished"
        )
        stopped = isinstance(error, (KeyboardInterrupt, SystemExit)) or is_interrupted()
        if overrides is not None and not stopped and (reason := system_reason(error, directory)):
            raise DataError(f"cannot read or write{reason}: mend that; then {again}") from error
        if not stopped or overrides is None:
            raise
        _write_overrides(config, overrides, directory)
        raise Interrupted(again) from None
    if overrides is not None:
        _write_overrides(config, overrides, directory)
    return result


def _remarks(config: TrainConfig, overrides: list[str]) -> list[str]:
    """Return the experiment of a run, and the options by which training reads less than all records, in brackets."""
    given = [override for override in overrides if re.match("experiment=(?!null$)", override)]
    files = [
        place / f"{name.replace('=', '/')}.yaml"
        for name in given
        for place in (OWN.directory, config_directory())
        if place
    ]
    own = "".join(path.read_text("utf-8") for path in files if path.is_file())
    changed = [
        override
        for override in overrides
        if override.startswith("mechanism=") and f"override /{override.replace('=', ': ')}\n" not in f"{own}\n"
    ]
    less = {f"trainer.{name}": config.lightning.get(name) for name in ("limit_train_batches", "fast_dev_run")} | {
        "training.most": config.training.most
    }
    kept = [f"{name}={typed_as(value)}" for name, value in less.items() if value]
    return [f"({remark})" for remark in (*(" with ".join([one, *changed]) for one in given), *kept)]


def _clear(directory: Path) -> None:
    """Remove what a run wrote before its first epoch, so that the corrected command finds an empty directory."""
    for name in (OVERRIDES, RESOLVED):
        (directory / name).unlink(missing_ok=True)
    shutil.rmtree(directory / CHECKPOINTS, ignore_errors=True)
    with suppress(OSError):  # a part of the user's may have left files
        directory.rmdir()


def _check_mechanism(config: TrainConfig) -> None:
    kind = config.mechanism.kind
    listing = {  # options that need a list of the training text's sentences
        "mechanism=description": issubclass(kind, Description),
        "model.decoder=nearest": config.model.decoder == "nearest",
        "training.codec.sentences=true": config.training.codec.sentences,
    }
    for option in (name for name, chosen in listing.items() if chosen and not is_public(config)):
        raise ConfigurationError(
            f"{option} must have public training text, because its releases are sentences of this text: use another one; if "
            "anyone may read the text, add training_data.public=true"
        )
    source = getattr(kind, "source", None)  # of somebody else's, which training calls only for noise
    if config.training.epsilon is not None and not callable(getattr(source or kind, "simulate", None)):
        raise ConfigurationError(f"training.epsilon must be null for {kind.name}, which has no method simulate: add it")
    if source is not None:
        own = 8.0 if isinstance(source, type) else getattr(source, "epsilon", None)
        config.mechanism.build(epsilon=own, clip_norm=config.model.clip_norm)


def _train(
    config: TrainConfig, splits: dict[str, Corpus], directory: Path, checkpoint: Path | None, parts: Parts
) -> TrainResult:
    spec = TrainSpec(
        clip=config.mechanism.kind.clip, model=config.model, tokenizer=config.tokenizer, trainer=config.trainer, parts=parts,
        training_data=TrainingData(config.data.name, is_public(config), len(splits["train"])),
        training=config.training.for_mechanism(config.mechanism.kind),
        mechanism=lambda epsilon: config.mechanism.build(epsilon=epsilon, clip_norm=config.model.clip_norm),
        joint_labels=config.labels == "joint", seed=config.seed,
    )  # fmt: skip
    from adept.models.training import train_model  # a trainer takes seconds to import

    model, tokenizer, fitted = train_model(
        splits["train"], splits["validation"], spec, output_dir=directory, resume=checkpoint
    )
    refuse(
        (
            checkpoint and fitted.epochs == _count_epochs(directory),
            f"no epoch was trained after the {fitted.epochs} of the finished run: raise trainer.max_steps, trainer.max_time or "
            "training.patience, whichever ended it",
        )
    )
    result = TrainResult(
        model_dir=str(directory / MODEL), data=config.data.name, clip=model.clip, latent_dim=model.config.latent_dim,
        vocabulary_size=model.vocabulary_size, train_records=model.training_data.records,
        parameters=sum(parameter.numel() for parameter in model.parameters()), fit=fitted,
        reconstruction=reconstruction(model, tokenizer, splits["validation"].texts),
    )  # fmt: skip
    if parts.has_table and (directory / METRICS).is_file():
        draw_curve(directory / METRICS, directory / "curve.svg")
    loss = fitted.validation_loss
    metrics = {} if math.isnan(loss) else {"loss (nats per token)": loss, "perplexity": math.exp(min(700.0, loss))}
    (directory / MODEL / CARD).write_text(model_card(model, metrics=metrics), "utf-8")
    write_json(result, directory / RESULT)
    return result


def describe(config: TrainConfig, records: int) -> str:
    """Return a line that says what is trained, for what, and on what."""
    from adept.models.topics import supported_topics  # slow to import

    content = config.training.for_mechanism(config.mechanism.kind).content
    encoder = (
        f"topics of a text, {supported_topics(records, most=content.topics)} numbers"
        if content.kind == TOPICS
        else f"an LSTM that encodes a text as {config.model.latent_dim} numbers"
    )
    return (
        f"training {encoder}, and an LSTM decoder, "
        f"for mechanism={config.mechanism.kind.name} on {records:,} records of {config.data.name}"
    )


def resolved_yaml(config: TrainConfig) -> str:
    """Return all values of a run's options as yaml, from which ``--config-dir`` and ``--config-name`` train it again."""
    values = asdict(replace(config, mechanism=config.mechanism.options))
    values["trainer"] |= values.pop("lightning")
    values["data"] |= {
        name: str(Path(path).absolute()) for name in PLACES if (path := values["data"][name]) is not None
    }
    name = config.mechanism.kind.name
    foreign = ":" in name  # which the command line must name again
    values |= {"mechanism": REQUIRED} if foreign else {}
    chosen = [
        {"mechanism": None if foreign else name},
        *({group: None} for group in ("data", *OPEN_GROUPS, "experiment")),
    ]
    kept = {name: value for name, value in values.items() if name not in ("output_dir", "resume_from")}
    return f"{SAVED} output_dir=DIR   (RUN is the directory of this file)\n" + yaml.safe_dump(
        {"defaults": ["schema_train", *chosen, "_self_"], **kept}, sort_keys=False, allow_unicode=True
    )


def result_key(config: TrainConfig) -> dict[str, Any]:
    """Return what decides a training's result: mechanisms that differ in the release alone have one key."""
    kind, noisy = config.mechanism.kind, config.training.epsilon is not None
    used = replace(config, output_dir="", mechanism=config.mechanism if noisy else None)
    return asdict(used) | {"clip": kind.clip, "content": config.training.for_mechanism(kind).content.kind}


def _labelled(name: str, splits: dict[str, Corpus]) -> Corpus:
    """Return a split without the records whose labels are missing from the train split."""
    corpus, known = splits[name], set(splits["train"].labels or [])
    labels = corpus.require_labels(f"the {name} split")
    kept = [i for i, label in enumerate(labels) if label in known]
    if left := len(labels) - len(kept):
        warn(f"note: {left} of {len(labels)} records of the {name} split are left out, as train lacks their labels")
    return corpus.take(kept)


def _prepare(config: TrainConfig) -> tuple[Path, Path | None]:
    if config.resume_from is None:
        return new_directory(config.output_dir or ""), None
    directory = Path(config.resume_from)
    refuse(
        (
            config.output_dir is not None and Path(config.output_dir) != directory,
            f"output_dir must be left out with resume_from, got {config.output_dir}: a run continues in its own directory",
        )
    )
    checkpoint = directory / CHECKPOINTS / LAST
    if directory.is_dir():
        hold_directory(directory, "resume_from")
    try:
        _ = [[int(row["epoch"]), *map(float, filter(None, row.values()))] for row in read_table(directory / METRICS)]
    except (ValueError, LookupError, TypeError):
        raise DataError(f"{directory / METRICS} is damaged: restore it, or remove it") from None
    if checkpoint.is_file():
        if (done := _count_epochs(directory)) >= config.trainer.max_epochs:
            raise ConfigurationError(
                f"trainer.max_epochs must be more than the {done} epochs of the finished run, got {config.trainer.max_epochs}"
            )
        return directory, checkpoint
    if (directory / OVERRIDES).is_file() and not (directory / MODEL).exists():
        return directory, None  # interrupted in its first epoch
    if (directory / MODEL).exists():
        raise DataError(f"{directory} has no {CHECKPOINTS}/{LAST}, as after trainer.fast_dev_run=true: begin a new run")
    raise DataError(f"resume_from must be the directory of a run, got {directory}: it has no {CHECKPOINTS}/{LAST}")


def _refuse_changes(config: TrainConfig, directory: Path) -> None:
    """Raise ConfigurationError if the run has finished epochs with another value of an option that decides its result."""
    try:
        saved = _values((directory / RESOLVED).read_text("utf-8"))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, yaml.YAMLError):
        return  # of an earlier version, or damaged: the checkpoint tells the sizes, and whether the text is the same
    given = _values(resolved_yaml(config)) if (directory / CHECKPOINTS / LAST).is_file() else {}
    for name in [*given, *(saved.keys() - given.keys() if given else ())]:
        is_known = name.startswith("trainer.") or (name in saved and name in given)  # to the version that began the run
        if is_known and saved.get(name) != given.get(name) and not CHANGEABLE.fullmatch(name):
            before, now = typed_as(saved.get(name)), typed_as(given.get(name))
            raise ConfigurationError(
                f"{name} must be {before}, as in the run that resume_from continues, got {now}: give that value, or begin a new run"
            )


def _values(text: str) -> dict[str, Any]:
    content = yaml.safe_load(text)
    mechanism = content.pop("defaults")[1]["mechanism"]
    return flatten(content) | {"mechanism": mechanism}


def _count_epochs(directory: Path) -> int:
    """Return the number of epochs after which the run's model was finished; 0 without a finished model."""
    try:
        return int(json.loads((directory / RESULT).read_text("utf-8"))["fit"]["epochs"])
    except (OSError, ValueError, LookupError, TypeError):
        return 0


def _write_overrides(config: TrainConfig, overrides: list[str], directory: Path) -> None:
    """Store a run's options with absolute paths, so that the run can resume in any directory, and all their values."""
    (directory / RESOLVED).write_text(resolved_yaml(config), "utf-8")
    paths = {f"data.{name}": getattr(config.data, name) for name in PLACES}
    kept = [override for override in overrides if _key(override) not in (*paths, "resume_from", "output_dir")]
    kept += [f"{name}={Path(path).absolute()}" for name, path in paths.items() if path is not None]
    (directory / OVERRIDES).write_text(json.dumps(kept, indent=2) + "\n", "utf-8")


def complete(given: list[str]) -> list[str]:
    """Add the options that the run ``resume_from`` stored, except those that are ``given`` anew."""
    own = {_key(argument): argument.partition("=")[2] for argument in given}
    if "resume_from" not in own:
        return given
    try:
        kept = json.loads((Path(read_value("resume_from", str, own["resume_from"])) / OVERRIDES).read_text("utf-8"))
        stored = {_key(one): one.lstrip("+") for one in kept if isinstance(one, str) and "=" in one}
    except (OSError, ValueError, TypeError):
        return given  # run says what is wrong with that directory
    added = [argument for key, argument in stored.items() if key not in own]
    for name, _, value in (argument.partition("=") for argument in added):
        if is_foreign("train", name, value) or name.endswith(TARGET):  # code that the user did not name must not run
            raise ConfigurationError(
                f"{name} must be given again with resume_from, because no file of a run may name it: add {name}={value}"
            )
    return added + given


def _key(override: str) -> str:
    return override.partition("=")[0].lstrip("+~")


def draw_curve(table: Path, path: Path) -> None:
    """Draw the columns of ``metrics.csv`` that hold losses; draw nothing if there are none."""
    rows = read_table(table)
    names = ("train_loss", "validation_loss")
    losses = {name: [(int(row["epoch"]) + 1, float(row.get(name) or "nan")) for row in rows] for name in names}
    losses = {name: [point for point in points if math.isfinite(point[1])] for name, points in losses.items()}
    if points := [point for of_one in losses.values() for point in of_one]:
        epochs, heights = zip(*points, strict=True)
        values = {"losses": losses, "last": max(epochs), "low": min(heights), "high": max(heights)}
        path.write_text(render("adept.cli", "curve.svg.jinja", values) + "\n", "utf-8")
