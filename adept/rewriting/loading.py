"""Functions that load a rewriter's model, choose its mechanism, refuse unsafe releases, and use the Hugging Face Hub."""

import hashlib
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from adept.errors import ConfigurationError, ModelError, ReleaseRefused, printable
from adept.mechanisms import BY_NAME, Description, JointResponse, LearnedCodebook, LocalRandomizer, policy
from adept.mechanisms.base import Kind
from adept.mechanisms.guarantee import Guarantee
from adept.models.config import TrainingData
from adept.models.saved_model import CODEBOOKS, TAGS, WEIGHTS, Autoencoder, model_card
from adept.models.sentences.sentence_files import DESCRIPTION, TABLES
from adept.models.sentences.sentence_list import SentenceList
from adept.models.tokenizer import Tokenizer
from adept.models.untrusted_files import CONFIG, model_directory, packaged_directory

# The files of a model's directory on which a release depends; a statement holds their digests.
MODEL_FILES = (CONFIG, WEIGHTS, CODEBOOKS, Tokenizer.FILE, Tokenizer.SYNONYMS, DESCRIPTION, TABLES)
# Nothing else is fetched.
HUB_FILES = ["config.json", "tokenizer.json", "synonyms.json", "codec.json", "README.md", "*.safetensors"]


def check_release(
    guarantee: Guarantee,
    training_data: TrainingData,
    *,
    accept_broken_claim: bool = False,
    accept_inexact: bool = False,
    accept_private_model: bool = False,
    accept_unproved: bool = False,
) -> None:
    """Raise ReleaseRefused if a release is not safe, unless an argument permits this release.

    Args:
        accept_broken_claim: if True, the privacy claim may be false or have an infinite epsilon.
        accept_inexact: if True, the noise may have rounding errors that no proof covers.
        accept_private_model: if True, the model may be able to write sentences of its private
            training text.
        accept_unproved: if True, the claim may be one that nobody checked (``adept.rewriting.unproved``).
    """
    if guarantee.holds is None:
        if not accept_unproved:
            raise ReleaseRefused(f"{guarantee.text} Choose a mechanism of adept, or add accept_unproved=true")
    elif not (guarantee.holds and math.isfinite(guarantee.epsilon)) and not accept_broken_claim:
        raise ReleaseRefused(f"{guarantee.text} Choose another mechanism, or add accept_broken_claim=true")
    if not (guarantee.exact or guarantee.holds is None or accept_inexact):
        raise ReleaseRefused(
            "this mechanism is research grade: floating-point noise has no proven guarantee: "
            "choose an exact one, or add accept_inexact=true"
        )
    if training_data.public is not True and not accept_private_model:
        raise ReleaseRefused(
            "the model was trained on text that was not declared public, and can write that text whatever the budget: "
            "train one on public text, or add accept_private_model=true"
        )


def fit(mechanism: LocalRandomizer, model: Autoencoder, *, pairs: JointResponse | None = None) -> LocalRandomizer:
    """Return a copy of a mechanism that draws from the model's lists.

    ``pairs`` is the release of text and label together in which the mechanism is used, if any.

    Raises:
        ConfigurationError: the mechanism and the model have different clip radiuses, text and label
            are asked together of a mechanism that releases sentences by label, or the object is no
            mechanism (``adept.rewriting.unproved``).
        ModelError: the model is not suitable for the mechanism.
    """
    if type(mechanism) not in BY_NAME.values():
        from adept.rewriting.unproved import Unproved, choose  # slow to import, and rarely needed

        if not isinstance(mechanism, Unproved):
            mechanism = choose(mechanism).build(clip_norm=model.config.clip_norm)
    if model.clip not in mechanism.serves:
        raise ModelError(
            f"the model was trained for clip {model.clip}, which mechanism {mechanism.name} cannot use: "
            f"train one with mechanism={mechanism.name}"
        )
    if mechanism.radius not in (None, model.config.clip_norm):
        raise ConfigurationError(
            f"clip_norm must be {model.config.clip_norm}, the radius that the model was trained for, got {mechanism.radius}"
        )
    match mechanism:
        case LearnedCodebook(codewords=None):
            return _with_codewords(mechanism, model, pairs)
        case Description(by_label=True):
            if pairs:
                raise ConfigurationError(
                    "mechanism must not be a description by label where labels are private: use labels=copy"
                )
            return _over_cells(mechanism)
        case Description():
            return _over_sentences(mechanism, model, pairs)
    return mechanism


def _with_codewords(mechanism: LearnedCodebook, model: Autoencoder, pairs: JointResponse | None) -> LearnedCodebook:
    books = model.codebooks
    if not books:
        raise ModelError("the model has no codebooks: train one with mechanism=learned_codebook on at least 4 records")
    if not pairs and mechanism.size is None and model.lists.has_broad_codebooks:
        size, top = policy.broad_codewords(mechanism.epsilon, books, asked=mechanism.count)
        return replace(mechanism, codewords=books[size], size=size, top=mechanism.top or top)
    most = pairs.text.count if pairs else mechanism.count
    if not (fitting := [size for size in books if size <= most]):
        raise ConfigurationError(f"size must be at least {min(books)}, the model's smallest codebook, got {most}")
    return replace(mechanism, codewords=books[max(fitting)], size=max(fitting))


def _over_cells(mechanism: Description) -> Description:
    size = mechanism.count
    return replace(mechanism, size=size, top=mechanism.top or policy.heavy_of_cell(mechanism.epsilon, size))


def _over_sentences(mechanism: Description, model: Autoencoder, pairs: JointResponse | None) -> Description:
    most, size = len(public_sentences(model)), mechanism.size
    if size is not None and size > most:
        raise ConfigurationError(
            f"size must be at most {most}, the number of the model's public sentences, got {size}: leave it out"
        )
    if size is not None or pairs:
        return replace(mechanism, size=size or min(most, pairs.text.count if pairs else most))
    sizes = policy.listed_sentences(model.lists, epsilon=mechanism.epsilon, asked=mechanism.count)
    return replace(mechanism, size=sizes.size, top=mechanism.top or sizes.heavy)


def public_sentences(model: Autoencoder) -> SentenceList:
    """Return a model's public sentences; raise ModelError if it lists fewer than two."""
    if model.sentences is None or len(model.sentences) < 2:
        raise ModelError(
            "the model lists no public sentences, one of which mechanism=description would release: use another mechanism, or "
            "a model of public text"
        )
    return model.sentences


def label_mechanism(model: Autoencoder, *, epsilon: float) -> Description | None:
    """Return the mechanism that releases sentences by label; None for an unsuitable model."""
    if not policy.has_cells(model.lists, epsilon=epsilon):
        return None
    return _over_cells(Description(epsilon=epsilon, by_label=True))


def best_exact(model: Autoencoder, *, epsilon: float | None = None) -> Kind:
    """Return the class of exact mechanisms with the best measured utility at this epsilon."""
    return BY_NAME[policy.default_mechanism(model.lists, epsilon=epsilon)]


def is_packaged(files: Mapping[str, str] | None) -> bool:
    """Return True if these files are all files of the packaged model on which a release depends.

    ``files`` holds digests by the names of MODEL_FILES, as a statement's field ``model_files``. A missing or
    another file makes another model.
    """
    return files == _packaged_files()


@cache
def _packaged_files() -> dict[str, str]:
    return _digests(packaged_directory())


def load_model(directory: str | Path | None = None) -> tuple[Autoencoder, Tokenizer]:
    """Load a model and its tokenizer from ``directory``; if it is None, from the package.

    Raises:
        ModelError: the directory is incomplete or damaged.
    """
    directory = model_directory(directory)
    model, tokenizer = Autoencoder.from_pretrained(directory), Tokenizer.from_pretrained(directory)
    if len(tokenizer) != model.vocabulary_size or len(tokenizer.labels) != model.labels:
        raise ModelError(f"tokenizer.json in {directory} does not fit the model: restore the one it was trained with")
    model.files = _digests(directory)
    return model, tokenizer


def fetch(name: str, **options: Any) -> tuple[Autoencoder, Tokenizer]:
    """Download a model from the Hub, with options of ``snapshot_download``, and load it."""
    import huggingface_hub  # slow to import

    with _explain_errors(f"{printable(name)} is neither a model directory nor a model that the Hub gives"):
        directory = huggingface_hub.snapshot_download(name, allow_patterns=HUB_FILES, **options)
    return load_model(directory)


def publish(model: Autoencoder, tokenizer: Tokenizer, name: str, *, accept_private_model: bool, **options: Any) -> str:
    """Push a model to the Hub with the ``options`` of ``push_to_hub``; return the commit's URL.

    Raises:
        ReleaseRefused: the training text was not declared public, and ``accept_private_model`` is
            False.
        ModelError: the Hub cannot be reached, or refuses the model.
    """
    import huggingface_hub  # slow to import

    class HubModel(huggingface_hub.ModelHubMixin, library_name="adept", tags=TAGS):
        def _save_pretrained(self, save_directory: Path) -> None:
            model.save_pretrained(save_directory)
            tokenizer.save_pretrained(save_directory)

        def generate_model_card(self, *_: Any, **metrics: float) -> huggingface_hub.ModelCard:
            return huggingface_hub.ModelCard(model_card(model, metrics=metrics))

    if not model.training_data.public and not accept_private_model:
        raise ReleaseRefused(
            "the model was trained on text that was not declared public, and can write that text: "
            "publish one of public text, or add accept_private_model=True"
        )
    with _explain_errors(f"cannot publish {printable(name)} on the Hub"):
        return str(HubModel().push_to_hub(name, **options))


@contextmanager
def _explain_errors(what: str) -> Iterator[None]:
    """Turn any error of the Hub's library into a ModelError, whatever the class of the error is."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - the Hub's library raises errors of many packages
        raise ModelError(f"{what} ({type(error).__name__}): check the name, the network and your token") from None


def file_sha256(path: str | Path) -> str:
    """Return the digest of a file's content."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _digests(directory: Path) -> dict[str, str]:
    return {name: file_sha256(directory / name) for name in MODEL_FILES if (directory / name).is_file()}
