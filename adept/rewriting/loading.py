"""Load a model with its tokenizer, from a directory or the Hugging Face Hub, and publish it there."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from adept.errors import ModelError, ReleaseRefused, printable
from adept.models.saved_model import CARD, TAGS, Autoencoder, model_card
from adept.models.tokenizer import Tokenizer
from adept.models.untrusted_files import CONFIG, DESCRIPTION, SYNONYMS, TOKENIZER, ModelFiles

# Nothing else is fetched.
HUB_FILES = ["config.json", "tokenizer.json", "synonyms.json", "codec.json", "README.md", "*.safetensors"]


def load_model(directory: str | Path | None = None) -> tuple[Autoencoder, Tokenizer]:
    """Load a model and its tokenizer from ``directory``; if it is None, from the package.

    Raises:
        ModelError: the directory is incomplete or damaged.
    """
    files = ModelFiles(directory, CONFIG, DESCRIPTION, TOKENIZER, SYNONYMS)
    model, tokenizer = Autoencoder.of(files), Tokenizer.of(files)
    model.check_tokenizer(tokenizer, place=f" in {files.directory}")
    model.files = files.digests()
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
        ReleaseRefused: the training text was not declared public, and ``accept_private_model`` is False.
        ModelError: the Hub cannot be reached, or refuses the model.
    """
    import huggingface_hub  # slow to import

    class HubModel(huggingface_hub.ModelHubMixin, library_name="adept", tags=TAGS):
        def _save_pretrained(self, save_directory: Path) -> None:
            model.save_pretrained(save_directory)
            (save_directory / CARD).unlink()  # the Hub's library asks for one with metrics
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
