"""Check that the rewrite of a record depends only on the record's released latent.

A rewriter encodes a text as a latent, releases this latent with noise, and decodes the released
latent to a new text.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from torch import Tensor

from adept.audit.distinguisher.guessing_game import Experiment
from adept.audit.result import Check, MechanismFailure
from adept.audit.subject.value import ValueTarget
from adept.audit.subject.wrappers import Wrapper

FROZEN_LATENTS = 8  # number of fixed latents, replayed one after the other
Value = TypeVar("Value")


def replay(experiment: Experiment[ValueTarget], alpha: float) -> Check:
    """Detect rewrites that depend on more than the released latent, for example on the length of
    the record's text, on padding, on other records of the batch, or on words that are forced into
    the rewrite. The check is blind to leaks through the latent, and to rewriters that draw words at
    random.

    Claim: if a mechanism releases the same latent for every record, then all records must be
    rewritten to the same text, whether they are rewritten in one batch, in another order or alone.
    A single difference proves that something besides the latent influences the text.
    """
    rewriter, texts = experiment.target.mechanism.rewriter, list(experiment.target.values)
    frozen = _ask(lambda: rewriter.release([texts[i % len(texts)] for i in range(FROZEN_LATENTS)]))
    different = _ask(lambda: sum(_changes(_freeze(rewriter, latent), texts) for latent in frozen))
    evidence = f"{different} of {FROZEN_LATENTS} frozen latents were decoded to more than one text"
    return Check.of(failed=different > 0, evidence=evidence, statistic=different / FROZEN_LATENTS)


def _changes(frozen: Any, texts: Sequence[str]) -> bool:
    alone = frozen.rewrite([texts[0]])
    if frozen.rewrite([texts[0]]) != alone:
        raise MechanismFailure("decoding samples: replay a greedy rewriter")
    rewrites = [*frozen.rewrite(texts), *frozen.rewrite(list(reversed(texts))), *frozen.rewrite([texts[-1]])]
    return set(rewrites) != set(alone)


def _freeze(rewriter: Any, latent: Tensor) -> Any:
    frozen = copy.copy(rewriter)
    object.__setattr__(frozen, "mechanism", _Frozen(rewriter.mechanism, latent))
    object.__setattr__(frozen, "release", lambda texts, *_, **__: latent.expand(len(texts), -1).clone())
    return frozen


@dataclass(frozen=True)
class _Frozen(Wrapper):
    """A mechanism that releases the same latent for every record."""

    mechanism: Any
    latent: Tensor

    def privatize(self, latents: Tensor) -> Tensor:
        return self.latent.to(latents).expand(len(latents), -1).clone()


def _ask(call: Callable[[], Value]) -> Value:
    try:
        return call()
    except MechanismFailure:
        raise
    except Exception as error:  # foreign code: whatever it raises becomes the check's reason
        raise MechanismFailure(f"the rewriter raised {type(error).__name__}: {error}") from error
