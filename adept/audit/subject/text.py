"""A rewriter of texts under audit: anything with ``rewrite(texts)``, ``release(texts)`` and ``mechanism``."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from torch import Tensor

from adept.audit.result import MechanismFailure
from adept.data.texts import text_list

Value = TypeVar("Value")


@dataclass
class TextTarget:
    """One rewriter; its claim is its mechanism's."""

    rewriter: Any

    @property
    def name(self) -> str:
        mechanism = self.rewriter.mechanism
        return str(getattr(mechanism, "name", type(mechanism).__name__))

    @property
    def epsilon(self) -> float:
        return float(self.rewriter.mechanism.epsilon)

    @property
    def delta(self) -> float:
        return float(getattr(self.rewriter.mechanism, "delta", 0.0))

    def rewrite(self, texts: Sequence[str]) -> list[str]:
        """Rewrite texts in one call.

        Raises:
            DataError: ``texts`` is not a list of strings.
            MechanismFailure: the rewriter raised, or returned another number of texts.
        """
        given = text_list(texts)
        written = _asked(lambda: list(self.rewriter.rewrite(given)))
        if len(written) != len(given):
            raise MechanismFailure(f"rewrite returned {len(written)} texts for {len(given)}")
        return written

    def release(self, texts: Sequence[str]) -> Any:
        """Return the released latents of texts."""
        given = text_list(texts)
        return _asked(lambda: self.rewriter.release(given))

    def with_release(self, latent: Tensor) -> "TextTarget":
        """Return a shallow copy of the rewriter whose mechanism, and whose ``release``, always give one latent."""
        frozen = copy.copy(self.rewriter)
        object.__setattr__(frozen, "mechanism", _Frozen(self.rewriter.mechanism, latent))
        object.__setattr__(frozen, "release", lambda texts, *_, **__: latent.expand(len(texts), -1).clone())
        return TextTarget(frozen)


@dataclass(frozen=True)
class _Frozen:
    """A mechanism that releases one latent, whatever it is given; all else as the original declares."""

    mechanism: Any
    latent: Tensor

    def privatize(self, latents: Tensor) -> Tensor:
        return self.latent.to(latents).expand(len(latents), -1).clone()

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "mechanism"), name)


def _asked(call: Callable[[], Value]) -> Value:
    try:
        return call()
    except Exception as error:  # foreign code: whatever it raises becomes the check's reason
        raise MechanismFailure(f"the rewriter raised {type(error).__name__}: {error}") from error
