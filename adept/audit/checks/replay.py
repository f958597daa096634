"""Check that the rewrite of a record depends only on the record's released latent.

A rewriter encodes a text as a latent, releases this latent with noise, and decodes the released
latent to a new text.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from adept.audit.distinguisher.guessing_game import Experiment
from adept.audit.result import Check, MechanismFailure
from adept.audit.subject.value import ValueTarget
from adept.audit.subject.wrappers import Wrapper

FROZEN_LATENTS = 8  # number of fixed latents, replayed one after the other


def replay(experiment: Experiment[ValueTarget], alpha: float) -> Check:
    """Detect rewrites that depend on more than the released latent, for example on the length of
    the record's text, on padding, on other records of the batch, or on words that are forced into
    the rewrite. The check is blind to leaks through the latent, and to rewriters that draw words at
    random.

    Claim: if a mechanism releases the same latent for every record, then all records must be
    rewritten to the same text, whether they are rewritten in one batch, in another order or alone.
    A single difference proves that something besides the latent influences the text.
    """
    target, texts = experiment.target, list(experiment.target.values)
    rewriter = target.mechanism.rewriter

    def replayed() -> int:
        latents = rewriter.release([texts[i % len(texts)] for i in range(FROZEN_LATENTS)])
        return sum(_changes(_freeze(rewriter, latent), texts) for latent in latents)

    different = target.call("the rewriter", replayed)
    evidence = f"{different} of {FROZEN_LATENTS} frozen latents were decoded to more than one text"
    return Check.of(failed=different > 0, evidence=evidence, statistic=different / FROZEN_LATENTS)


def _changes(frozen: Any, texts: Sequence[str]) -> bool:
    """Return True if the text that is written depends on the record or its batch."""
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
