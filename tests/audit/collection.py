"""The collections of broken mechanisms, by kind of defect; all claim epsilon 4.

Unless the defect is the noise itself, the noise is that of a sound mechanism and comes from the operating system. What an object
declares is in `DECLARED`; all others declare nothing but epsilon.
"""

from typing import Any

from audit.broken import (
    batches,
    floating_point,
    metadata,
    noise,
    noise_of_the_record,
    randomness,
    sensitivity,
    state,
    texts,
    values,
)
from audit.sound import Foreign, declares, right_scale

VECTORS = {
    module.__name__.rpartition(".")[2]: module.BROKEN
    for module in (sensitivity, noise_of_the_record, noise, batches, floating_point, metadata, randomness, state)
}
BROKEN: dict[str, Any] = {release.__name__: release for releases in VECTORS.values() for release in releases}
VALUES, TEXTS = values.BROKEN, texts.BROKEN

DECLARED: dict[str, dict[str, Any]] = {
    "float32_laplace": declares(right_scale, exact=True),
    "off_the_grid_by_the_record": declares(right_scale, exact=True),
    "uniform_of_sixteen_bits": declares(right_scale, exact=True),
}


def broken(release: Any) -> Foreign:
    """Return a broken mechanism, by its function or its name."""
    release = BROKEN[release] if isinstance(release, str) else release
    return Foreign(release, **DECLARED.get(release.__name__, {}))


class InTheBall(Foreign):
    """A mechanism that names the set that it covers, and so has to answer all of it."""

    clip = "l2"
