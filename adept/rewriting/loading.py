"""Functions that load a rewriter's model, choose its mechanism, and refuse unsafe releases."""

import hashlib
import math
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import torch

from adept.errors import ConfigurationError, ModelError, ReleaseRefused, printable
from adept.mechanisms import Codebook, Description, JointResponse, L1Laplace, LearnedCodebook, LocalRandomizer
from adept.mechanisms.base import Kind
from adept.mechanisms.description import cell_size
from adept.mechanisms.guarantee import Guarantee
from adept.models.adapt import DOMAIN_EXAMPLES
from adept.models.codec.codec import Codec
from adept.models.codec.codec_files import DESCRIPTION, TABLES
from adept.models.config import TrainingData
from adept.models.saved_model import CODEBOOKS, CONFIG, WEIGHTS, Autoencoder, pad
from adept.models.tokenizer import Tokenizer

PROBE_TEXTS = ["show me the cheapest flight to boston", "", "zqxj 12:30, (a.m.)", "\U0001f600 é ß"]
PACKAGED_MODEL = "utterances"  # the name of the model that comes with the package
# The files of a model's directory on which a release depends; a statement holds their digests.
MODEL_FILES = (CONFIG, WEIGHTS, CODEBOOKS, Tokenizer.FILE, Tokenizer.SYNONYMS, DESCRIPTION, TABLES)
DOMAIN_CODEWORDS = 1024  # codewords of a model of one domain; a model with more knows many domains
Randomizer = TypeVar("Randomizer", bound=LocalRandomizer)
MAX_EXAMPLES_EPSILON = 6.0  # epsilon below which many labelled examples choose the codewords by label
# Least epsilon at which an adapted model writes all its sentences: with few examples, and with many
ALL_SENTENCES_EPSILONS = 12.5, 14.0
MIN_DESCRIPTION_EPSILON = 10.0  # least epsilon at which a description is the default
MIN_SENTENCE_EPSILON = 9.0  # the same least epsilon for broad text, whose descriptions are sentences


def check_release(
    guarantee: Guarantee,
    training_data: TrainingData,
    *,
    accept_broken_claim: bool = False,
    accept_inexact: bool = False,
    accept_private_model: bool = False,
) -> None:
    """Raise ReleaseRefused if a release is not safe, unless an argument permits this release.

    Args:
        accept_broken_claim: if True, the privacy claim may be false or have an infinite epsilon.
        accept_inexact: if True, the noise may have rounding errors that no proof covers.
        accept_private_model: if True, the model may be able to write sentences of its private
            training text.
    """
    if not (guarantee.holds and math.isfinite(guarantee.epsilon)) and not accept_broken_claim:
        raise ReleaseRefused(f"{guarantee.text} Choose another mechanism, or add accept_broken_claim=true")
    if not guarantee.exact and not accept_inexact:
        raise ReleaseRefused(
            "this mechanism is research grade: floating-point noise has no proven guarantee: "
            "choose an exact one, or add accept_inexact=true"
        )
    if training_data.public is not True and not accept_private_model:
        raise ReleaseRefused(
            "the model was trained on text that was not declared public, and can write that text whatever the budget: "
            "train one on public text, or add accept_private_model=true"
        )


def fit_mechanism(
    mechanism: LocalRandomizer | JointResponse, model: Autoencoder
) -> tuple[JointResponse | None, LocalRandomizer]:
    """Return a pair of mechanisms that use a model's codewords or the size of its codec.

    The first mechanism of the pair releases text and label together; it is None if ``mechanism``
    releases text alone. The second mechanism of the pair releases text alone.

    Raises:
        ConfigurationError: the mechanism and the model have different clip radiuses, or a joint
            release of text and label is asked of a mechanism that releases sentences by label.
        ModelError: the model is not suitable for the mechanism.
    """
    if isinstance(mechanism, JointResponse):
        if is_by_label(mechanism.mechanism):
            raise ConfigurationError(
                "mechanism must not be a description by label where labels are private: use labels=copy"
            )
        text = _with_codewords(mechanism.mechanism, model, most=mechanism.text.count)
        joint = replace(mechanism, mechanism=text)
        return joint, joint.text
    return None, _with_codewords(mechanism, model)


def _with_codewords(mechanism: Randomizer, model: Autoencoder, *, most: int | None = None) -> Randomizer:
    declared = all(hasattr(mechanism, name) for name in ("name", "clip", "serves", "randomises"))
    if not (isinstance(mechanism, LocalRandomizer) and declared):
        raise ConfigurationError(
            f"mechanism must be an object of a class in adept.mechanisms, or of a subclass of Mechanism with name and clip, got "
            f"{getattr(mechanism, '__name__', type(mechanism).__name__)}: give mechanisms.L1Laplace(epsilon=8), for example"
        )
    if model.clip not in mechanism.serves:
        raise ModelError(
            f"the model was trained for clip {model.clip}, which mechanism {mechanism.name} cannot use: "
            f"train one with mechanism={mechanism.name}"
        )
    if mechanism.radius not in (None, model.config.clip_norm):
        raise ConfigurationError(
            f"clip_norm must be {model.config.clip_norm}, the radius that the model was trained for, got {mechanism.radius}"
        )
    if isinstance(mechanism, LearnedCodebook) and mechanism.codewords is None:
        if not model.codebooks:
            raise ModelError(
                "the model has no codebooks: train one with mechanism=learned_codebook on at least 4 records"
            )
        if most is None and mechanism.size is None and max(model.codebooks) > DOMAIN_CODEWORDS:
            return mechanism.over_broad_text(model.codebooks)
        return mechanism.with_codewords(model.codebooks, most=most)
    if isinstance(mechanism, Description) and mechanism.by_label:
        return mechanism.over_label_cells()
    if isinstance(mechanism, Description) and mechanism.size is None and model.codec:
        wanted = most or mechanism.count
        used = model.codec.choose_size(wanted, joint=most is not None)
        if used != wanted:
            return (
                replace(mechanism, size=used)
                if most
                else mechanism.over_broad_text(
                    _near_examples(model.codec, model.training_data.examples, mechanism.epsilon)
                )
            )
    return mechanism


def _near_examples(codec: Codec, examples: int, epsilon: float) -> int:
    """Return the number of sentences that a broad model can write as rewrites.

    At a small epsilon, an adapted model writes only its utterances. These are its examples and the
    sentences nearest to the examples. If there are few examples, half of the sentences that are
    added to the examples are chosen without regard to the examples.
    """
    least = ALL_SENTENCES_EPSILONS[examples >= DOMAIN_EXAMPLES]
    return len(codec.utterances) if examples and epsilon < least else codec.sentences


def is_by_label(mechanism: LocalRandomizer) -> bool:
    """Return True if the mechanism releases a public sentence chosen for the label of a record."""
    return isinstance(mechanism, Description) and mechanism.by_label


def label_mechanism(model: Autoencoder, *, epsilon: float) -> Description | None:
    """Return the mechanism that releases public sentences by label; None for an unsuitable model.

    The *cell* of a label is the set of sentences that can replace a record with this label. A
    suitable model is a model of broad text whose codec has more sentences than a cell. An adapted
    model is suitable only if it has labelled examples. If an adapted model has DOMAIN_EXAMPLES
    examples or more, epsilon must also be below MAX_EXAMPLES_EPSILON.
    """
    sentences, examples = model.codec.sentences if model.codec else 0, model.training_data.examples
    # Codewords near many examples are nearer to the records than sentences chosen by label.
    many = examples >= DOMAIN_EXAMPLES and epsilon >= MAX_EXAMPLES_EPSILON
    if sentences <= cell_size(epsilon) or many or (examples and not model.label_examples):
        return None
    return Description(epsilon=epsilon, by_label=True).over_label_cells()


def best_exact(model: Autoencoder, *, epsilon: float | None = None) -> Kind:
    """Return the class of exact mechanisms with the best measured utility at this epsilon."""
    if model.clip == "l1":
        return L1Laplace
    least = MIN_SENTENCE_EPSILON if model.codec and model.codec.sentences else MIN_DESCRIPTION_EPSILON
    if model.codec and not model.labels and epsilon is not None and epsilon >= least:
        return Description
    return LearnedCodebook if model.codebooks else Codebook


def packaged_directory() -> Path:
    return Path(__file__).parents[1] / "pretrained" / PACKAGED_MODEL


def is_packaged(directory: str | Path | None) -> bool:
    """Return True if ``directory`` is None or PACKAGED_MODEL, the name of the packaged model.

    If a file or directory has this name, the name means this file or directory.
    """
    return directory is None or (str(directory) == PACKAGED_MODEL and not Path(PACKAGED_MODEL).exists())


def load_model(directory: str | Path | None = None) -> tuple[Autoencoder, Tokenizer]:
    """Load a model and its tokenizer from ``directory``; if it is None, from the package.

    Raises:
        ModelError: the directory is incomplete or damaged, or the model fails in a test on
            fixed public texts.
    """
    directory = Path(packaged_directory() if directory is None or is_packaged(directory) else directory)
    try:
        if not (directory / "config.json").exists() and (directory / "model" / "config.json").exists():
            directory = directory / "model"
    except (OSError, ValueError):
        raise ModelError(f"{printable(directory)} is not a model directory: train one or correct the path") from None
    model, tokenizer = Autoencoder.from_pretrained(directory), Tokenizer.from_pretrained(directory)
    if len(tokenizer) != model.vocabulary_size or len(tokenizer.labels) != model.labels:
        raise ModelError(f"tokenizer.json in {directory} does not fit the model: restore the one it was trained with")
    _probe(model, tokenizer, directory)
    model.files = {name: _sha256(directory / name) for name in MODEL_FILES if (directory / name).is_file()}
    return model, tokenizer


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@torch.inference_mode()
def _probe(model: Autoencoder, tokenizer: Tokenizer, directory: Path) -> None:
    # Model and tokenizer must not fail later because of a record.
    rows = tokenizer.encode(PROBE_TEXTS, max_length=model.config.max_length)
    latents = model.encode(pad(rows))
    if not all(bool(numbers.isfinite().all()) for numbers in (latents, model(latents, pad(rows)))):
        raise ModelError(f"weights in {directory} overflow on public text: train the model again or restore it")
