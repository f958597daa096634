"""Where rewriters come from and go to: a local directory, or a name on the Hugging Face Hub."""

import re
from pathlib import Path
from typing import Any, Self

from adept.mechanisms import JointResponse, LocalRandomizer
from adept.models.autoencoder import Autoencoder
from adept.models.card import model_card
from adept.models.tokenizer import Tokenizer
from adept.rewriting.loading import load_model

HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
HUB_OPTIONS = ("revision", "cache_dir", "force_download", "local_files_only", "token")


class Shared:
    """Saving, loading and publishing, for a class that is made of a model, a tokenizer and a mechanism."""

    model: Autoencoder
    tokenizer: Tokenizer

    def __init__(
        self, model: Autoencoder, tokenizer: Tokenizer, *, mechanism: LocalRandomizer | JointResponse, **_: Any
    ) -> None:
        raise NotImplementedError

    @classmethod
    def from_pretrained(
        cls, directory: str | Path, *, mechanism: LocalRandomizer | JointResponse, **options: Any
    ) -> Self:
        """Load a model directory, the ``model/`` inside a run's directory, or a model by its name.

        Args:
            directory: or "utterances", the model that comes with the package, or "owner/model" on the Hub; what exists on the
                disk wins over a name.
            mechanism: what randomises; the budget is chosen by who releases, so it is not saved with a model.
            options: those of the constructor and, for the Hub: revision, cache_dir, force_download, local_files_only, token.

        Raises:
            ModelError: there is no such model, or it is damaged.
        """
        hub = {name: options.pop(name) for name in HUB_OPTIONS if name in options}
        if HUB_NAME.fullmatch(str(directory)) and not Path(directory).exists():
            from adept.rewriting.hub import fetch  # only now: the Hub's library takes long to import

            model, tokenizer = fetch(str(directory), **hub)
        else:
            model, tokenizer = load_model(directory)
        return cls(model, tokenizer, mechanism=mechanism, **options)

    def save_pretrained(self, directory: str | Path) -> None:
        """Write the model directory that ``from_pretrained`` loads, with its card; the mechanism is not part of it."""
        self.model.save_pretrained(directory)
        self.tokenizer.save_pretrained(directory)
        (Path(directory) / "README.md").write_text(model_card(self.model), "utf-8")

    def push_to_hub(self, name: str, *, accept_private_model: bool = False, **options: Any) -> str:
        """Publish the model on the Hub as "owner/model"; ``options`` (private, token, branch, ...) are the Hub library's.

        Raises:
            ReleaseRefused: the model was trained on text that was not declared public.
            ModelError: the Hub cannot be reached, or refuses.
        """
        from adept.rewriting.hub import publish

        return publish(self.model, self.tokenizer, name, accept_private_model=accept_private_model, **options)
