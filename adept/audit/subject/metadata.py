"""What a release says beside its numbers: type, dtype, shape, layout, and what is attached to it or stored behind it.

An object that leaves a program is more than its numbers: saving a tensor that is a view saves what lies behind the view, and
attributes are pickled.
"""

import hashlib
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Metadata = dict[str, str]


def metadata_of(value: Any) -> Metadata:
    """Return everything that a release says beside its numbers, by name."""
    kind = f"{type(value).__name__} of {getattr(value, 'dtype', '')}".removesuffix(" of ")
    found = {"kind": f"{kind}, rows of shape {tuple(getattr(value, 'shape', ()))[1:]}"}
    if isinstance(value, Tensor):
        found["kind"] += f" on {value.device}" + " with gradient" * value.requires_grad
        found["layout"] = f"strides {value.stride()}" if value.layout == torch.strided else str(value.layout)
    elif isinstance(value, np.ndarray):
        found["layout"] = f"strides {value.strides}"
    elif isinstance(value, list | tuple):
        found["elements"] = ", ".join(sorted({type(element).__name__ for element in value}))
    found["behind"] = _digest(_behind(value))
    attached = getattr(value, "__dict__", None) or {}
    found["attached"] = ", ".join(f"{name} = {_plain(thing)}" for name, thing in sorted(attached.items())) or "nothing"
    return found


def _behind(value: Any) -> bytes | None:
    """Return what is stored beside the numbers of a view, which saving it saves too; None where the view is all there is."""
    if isinstance(value, np.ndarray) and isinstance(value.base, np.ndarray) and value.base.nbytes > value.nbytes:
        return _unseen(value.base.view(), value)
    if not isinstance(value, Tensor) or value.layout != torch.strided:
        return None
    storage = value.detach().untyped_storage()
    if storage.nbytes() <= value.nbytes:
        return None
    whole = torch.empty(0, dtype=value.dtype, device=value.device).set_(storage)
    seen = torch.arange(len(whole)).as_strided(value.shape, value.stride(), value.storage_offset())
    unseen = torch.ones(len(whole), dtype=torch.bool).index_fill_(0, seen.flatten(), False)
    return whole.cpu()[unseen].view(torch.uint8).numpy().tobytes()


def _unseen(whole: NDArray[Any], view: NDArray[Any]) -> bytes:
    """Return the bytes of an array that are not those of a view of it: marked in a copy, through a view of the same shape."""
    start = view.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    marks = np.zeros(whole.nbytes, dtype=np.uint8)
    each = np.lib.stride_tricks.as_strided(marks[start:], (*view.shape, view.itemsize), (*view.strides, 1))
    each[...] = 1
    return whole.tobytes() if not whole.flags.c_contiguous else whole.ravel().view(np.uint8)[marks == 0].tobytes()


def _digest(content: bytes | None) -> str:
    return (
        "nothing" if content is None else f"{len(content)} bytes, {hashlib.blake2b(content, digest_size=8).hexdigest()}"
    )


def _plain(thing: Any) -> str:
    """Return an attached thing in short: what it is, and a digest of what it holds."""
    content = thing.detach().cpu().numpy().tobytes() if isinstance(thing, Tensor) else repr(thing).encode()
    return f"{type(thing).__name__} {_digest(content)}"
