"""Leaks beside the numbers: types, layouts, attachments, refusals and time."""

import time
from typing import Any

import torch
from audit.sound import ball, length, noise, sound
from torch import Tensor


def positive(x: Tensor) -> bool:
    return bool(ball(x)[0].sum() > 0)


def dtype_depends_on_the_sign(x: Tensor) -> Tensor:
    return sound(x) if (x[:, 0] > 0).any() else sound(x).float()


def dtype_depends_on_zero(x: Tensor) -> Any:
    return sound(x).numpy() if bool((x == 0).all()) else sound(x)


def strides_depend_on_the_sign(x: Tensor) -> Tensor:
    z = sound(x)
    return z.T.contiguous().T if positive(x) else z


def requires_grad_depends_on_the_sign(x: Tensor) -> Tensor:
    return sound(x).requires_grad_(positive(x))


def an_attribute_carries_the_norm(x: Tensor) -> Tensor:
    z = sound(x)
    z.norms = length(ball(x))  # type: ignore[attr-defined]
    return z


def a_buffer_behind_the_view(x: Tensor) -> Tensor:
    """Saving a view saves what lies behind it."""
    return torch.cat([sound(x), x.double()], dim=1)[:, : x.shape[1]]


def refuses_some_records(x: Tensor) -> Tensor:
    c = ball(x)
    if c.shape[1] > 1 and bool((c[:, -1] > 0.5 * length(c)[:, 0]).any()):
        raise ValueError("latents must end small")
    return c + noise(c)


def slower_for_positive_records(x: Tensor) -> Tensor:
    """Nobody looks at the clock: this one escapes, and the result says so."""
    if positive(x):
        time.sleep(0.002)
    return sound(x)


BROKEN = [
    dtype_depends_on_the_sign,
    dtype_depends_on_zero,
    strides_depend_on_the_sign,
    requires_grad_depends_on_the_sign,
    an_attribute_carries_the_norm,
    a_buffer_behind_the_view,
    refuses_some_records,
    slower_for_positive_records,
]
