"""Mechanisms of other people, whose privacy claims nobody checked.

A user names such a mechanism on the command line, ``mechanism=MODULE:ATTRIBUTE``, or passes an object
to `Rewriter`. It has ``epsilon`` and ``privatize``. It may also have ``clip`` (``"l1"``, ``"sphere"``,
or the default ``"l2"``), ``clip_norm`` (default 1) and ``delta`` (default 0).

*Claim*: (1) ``privatize`` of the other's code reads nothing of a record but its latent, clipped into the declared set.
(2) Nothing that adept says of a release presents the claim as proved. *Proof*. (1) `Unproved.privatize` clips and
rounds all latents, and calls the other's ``privatize`` once for each, with a fresh array of one row. (2)
`Unproved.guarantee` ignores what the code says of itself: ``holds`` is None, epsilon infinite (the smallest proven
bound), ``exact`` false, and there is no certificate. ``check_mechanism`` makes an `Unproved` of each mechanism whose
class is not in ``BY_NAME``, and each `Rewriter` calls it. The name has a colon, as no name in ``BY_NAME`` has. QED.

Not covered: the code runs in adept's process. It can store what it reads, use it for the next record,
or change adept itself.
"""

import hashlib
import importlib.metadata
import inspect
import math
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from adept.audit.result import MechanismFailure
from adept.audit.subject.kinds import ARRAYS, as_rows
from adept.errors import MAX_NAME_LENGTH, ConfigurationError, printable, refuse
from adept.foreign import import_foreign
from adept.mechanisms.base import Kind, Mechanism, MechanismChoice
from adept.mechanisms.clip_to_grid import NORM_ORDER
from adept.mechanisms.guarantee import Guarantee, words

NOT_CHECKED = "the author's claim, not checked"
NAME = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*", re.ASCII)


def find_origin(found: Any, name: str) -> dict[str, str | None]:
    """Return the origin of a class, an object or a function that a user calls ``name``.

    Its entries are ``module`` and ``attribute``, the ``version`` of the package (None if there is none), and
    ``sha256``, the digest of the file that defines it (None if no file does, as in a notebook).
    """
    kind = found if isinstance(found, type) or inspect.isroutine(found) else type(found)
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    sha256 = hashlib.sha256(Path(file).read_bytes()).hexdigest() if file and Path(file).is_file() else None
    module, _, attribute = name.partition(":")
    version = _find_version(module.partition(".")[0])
    return {"module": module, "attribute": attribute, "version": version, "sha256": sha256}


def _find_version(package: str) -> str | None:
    names = importlib.metadata.packages_distributions().get(package)
    found = importlib.metadata.version(names[0]) if names else getattr(sys.modules.get(package), "__version__", None)
    return printable(found, limit=MAX_NAME_LENGTH) if isinstance(found, str) else None


@dataclass(frozen=True, kw_only=True)
class Unproved(Mechanism):
    """A mechanism that calls an object of somebody else; `kind_of` makes a subclass for each.

    Attributes:
        source: the class, which is called with ``epsilon`` (and with ``clip_norm``, if it takes
            that), or the object itself.
        origin: the code that ``source`` comes from (``find_origin``).
    """

    source: ClassVar[Any]
    origin: ClassVar[dict[str, str | None]]

    def __post_init__(self) -> None:
        super().__post_init__()
        author = self.author
        _check_has(self.name, author, "privatize", callable(getattr(author, "privatize", None)))
        _check_has(self.name, author, "epsilon", _is_number(getattr(author, "epsilon", None)))
        _check_has(self.name, author, "delta", _is_number(self.claimed_delta) and 0 <= self.claimed_delta < 1)
        for option, own, found in (
            ("epsilon", self.epsilon, author.epsilon),
            ("clip_norm", self.clip_norm, getattr(author, "clip_norm", 1.0)),
            ("clip", self.clip, getattr(author, "clip", self.clip)),
        ):
            refuse((found != own, f"{option} must be that of {self.name}, which is {printable(found)}, got {own}"))

    @cached_property
    def author(self) -> Any:
        """The object of somebody else, which releases latents."""
        if not isinstance(self.source, type):
            return self.source
        try:
            takes = "clip_norm" in inspect.signature(self.source).parameters
            return self.source(epsilon=self.epsilon, **({"clip_norm": self.clip_norm} if takes else {}))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code
            reason = printable(f"{type(error).__name__}: {error}")
            raise ConfigurationError(
                f"mechanism {self.name} must take epsilon, and nothing else that is required ({reason})"
            ) from None

    @property
    def claimed_delta(self) -> float:
        """Delta that the author claims."""
        found: float = getattr(self.author, "delta", None) or 0.0
        return found

    @property
    def unproved(self) -> dict[str, Any]:
        return {"claim": NOT_CHECKED, "delta": self.claimed_delta, **self.origin}

    def privatize(self, latents: Tensor) -> Tensor:
        clipped = self.project(latents)
        array = self._choose_array(clipped.shape[1])
        return torch.stack([self._release(row, array) for row in clipped]) if len(clipped) else clipped

    def _release(self, row: Tensor, array: Callable[[Tensor], Any]) -> Tensor:
        given = array(row.detach().to("cpu", torch.float64, copy=True)[None])
        try:
            released = torch.from_numpy(as_rows(self.author.privatize(given), rows=1, what="privatize"))[0]
        except Exception as error:  # noqa: BLE001 - foreign code, whose message may hold the record
            raise ConfigurationError(
                f"mechanism {self.name} failed on a record ({type(error).__name__}): adept audit finds such failures"
            ) from None
        refuse(
            (
                len(released) != len(row),
                f"mechanism {self.name} must return as many numbers as it reads, {len(row)}, got {len(released)}",
            )
        )
        return torch.where(released.isfinite(), released, 0.0).to(row)

    def _choose_array(self, dim: int) -> Callable[[Tensor], Any]:
        """Return the conversion to arrays that the code takes, found with a public vector, as an audit does."""
        probe, reason = torch.full((1, dim), 0.1 * self.clip_norm / dim, dtype=torch.float64), ""
        for to in ARRAYS.values():
            try:
                released = as_rows(self.author.privatize(to(probe.clone())), rows=1, what="privatize")
                if not np.isfinite(released).all():
                    raise MechanismFailure("privatize returns numbers that are not finite")
            except Exception as error:  # noqa: BLE001 - foreign code; it read no record
                reason = reason or printable(
                    error if isinstance(error, MechanismFailure) else f"{type(error).__name__}: {error}"
                )
            else:
                return to
        raise ConfigurationError(f"mechanism {self.name} must release latents (1, {dim}), and fails ({reason})")

    def simulate(self, latents: Tensor, generator: torch.Generator | None) -> Tensor:
        """Call the author's ``simulate``, which needs no privacy, only seeded and differentiable noise."""
        author = self.author  # a variable, so that an error of this call is the author's (``foreign.blame``)
        simulated: Tensor = author.simulate(self.clip_as_floats(latents), generator)
        return simulated

    def guarantee(self, dim: int) -> Guarantee:
        delta = f" and delta {words(self.claimed_delta)}" if self.claimed_delta else ""
        return Guarantee(
            claimed_epsilon=self.epsilon,
            epsilon=math.inf,
            delta=0.0,
            holds=None,
            exact=False,
            text=(
                f"The mechanism {self.name} is not part of adept. Its epsilon of {words(self.epsilon)}{delta} is "
                f"{NOT_CHECKED}: nothing is proved about this release."
            ),
        )

    def expected_squared_error(self, dim: int) -> float:
        return math.nan


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _check_has(name: str, found: Any, attribute: str, good: bool) -> None:
    if not good:
        what = "method" if attribute == "privatize" else "number"
        got = printable(type(getattr(found, attribute)).__name__) if hasattr(found, attribute) else "none"
        raise ConfigurationError(f"mechanism {name} must have a {what} {attribute}, got {got}: add it")


def kind_of(found: Any, name: str) -> type[Unproved]:
    """Return the class of mechanisms that call a class or an object of somebody else.

    Raises:
        ConfigurationError: it lacks something; the message says what.
    """
    _check_has(name, found, "privatize", callable(getattr(found, "privatize", None)))
    clip = getattr(found, "clip", "l2")
    refuse(
        (
            not (isinstance(clip, str) and clip in NORM_ORDER),
            f"clip of {name} must be one of {', '.join(NORM_ORDER)}, got {printable(clip)}",
        )
    )
    serves = frozenset({"l1"} if clip == "l1" else {"l2", "sphere"})
    own = {"source": found, "origin": find_origin(found, name), "name": name, "clip": clip, "serves": serves}
    return type("Unproved", (Unproved,), {**own, "__module__": __name__})


@cache
def import_kind(name: str) -> type[Unproved]:
    """Import the mechanism MODULE:ATTRIBUTE that a user typed."""
    refuse(
        (
            not NAME.fullmatch(name) or len(name) > MAX_NAME_LENGTH,
            f"mechanism must be a name or MODULE:ATTRIBUTE, got {printable(name)}",
        )
    )
    return kind_of(import_foreign("mechanism", name), name)


def choice_of(mechanism: Any) -> MechanismChoice:
    """Return the choice of an object of somebody else, as it is."""
    _check_has("of your own", mechanism, "epsilon", _is_number(getattr(mechanism, "epsilon", None)))
    kind = type(mechanism)
    names = (re.sub(r"[^\w.]", "_", name, flags=re.ASCII)[:49] for name in (kind.__module__, kind.__qualname__))
    name = ":".join(names)
    own: Kind = kind_of(mechanism, name)
    return MechanismChoice(own, float(mechanism.epsilon), float(getattr(mechanism, "clip_norm", 1.0)))
