"""Functions that download models from the Hugging Face Hub, and upload models to it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from huggingface_hub import ModelCard, ModelHubMixin, snapshot_download

from adept.errors import ModelError, ReleaseRefused, printable
from adept.models.saved_model import TAGS, Autoencoder, model_card
from adept.models.tokenizer import Tokenizer
from adept.rewriting.loading import load_model

# Nothing else is fetched.
HUB_FILES = ["config.json", "tokenizer.json", "synonyms.json", "codec.json", "README.md", "*.safetensors"]


class HubModel(ModelHubMixin, library_name="adept", tags=TAGS):
    def __init__(self, model: Autoencoder, tokenizer: Tokenizer) -> None:
        self.model, self.tokenizer = model, tokenizer

    def _save_pretrained(self, save_directory: Path) -> None:
        self.model.save_pretrained(save_directory)
        self.tokenizer.save_pretrained(save_directory)

    def generate_model_card(self, *_: Any, **metrics: float) -> ModelCard:
        return ModelCard(model_card(self.model, metrics=metrics))


def fetch(name: str, **options: Any) -> tuple[Autoencoder, Tokenizer]:
    """Download a model from the Hub, with options of ``snapshot_download``, and load it."""
    with _explain_errors(f"{printable(name)} is neither a model directory nor a model that the Hub gives"):
        directory = snapshot_download(name, allow_patterns=HUB_FILES, **options)
    return load_model(directory)


def publish(model: Autoencoder, tokenizer: Tokenizer, name: str, *, accept_private_model: bool, **options: Any) -> str:
    """Push a model to the Hub with the ``options`` of ``push_to_hub``; return the commit's URL.

    Raises:
        ReleaseRefused: the training text was not declared public, and ``accept_private_model`` is
            False.
        ModelError: the Hub cannot be reached, or refuses the model.
    """
    if not model.training_data.public and not accept_private_model:
        raise ReleaseRefused(
            "the model was trained on text that was not declared public, and can write that text: "
            "publish one of public text, or add accept_private_model=True"
        )
    with _explain_errors(f"cannot publish {printable(name)} on the Hub"):
        return str(HubModel(model, tokenizer).push_to_hub(name, **options))


@contextmanager
def _explain_errors(what: str) -> Iterator[None]:
    """Turn any error of the Hub's library into a ModelError, whatever the class of the error is."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - the Hub's library raises errors of many packages
        raise ModelError(f"{what} ({type(error).__name__}): check the name, the network and your token") from None
