"""PyTorch's own defaults for a call, whatever the caller's program has changed.

A library that computes with ``torch.zeros(n)`` depends on the default dtype and device, on the grad
and inference modes and on autocast, all of which its caller may set for other models.
"""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch

_lock, _callers = threading.Lock(), list[torch.dtype]()  # what each running call found, in any thread
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


@contextmanager
def usual_torch() -> Iterator[None]:
    """Compute in float32 on the CPU, with gradients and without autocast, unless a call says otherwise.

    The caller's defaults are restored afterwards. The function is also a decorator. The default type is
    the whole process's: while one thread is inside, it stays float32, and the last one out restores it.
    """
    with _lock:
        _callers.append(torch.get_default_dtype())
        torch.set_default_dtype(torch.float32)
    try:
        with ExitStack() as stack:
            if torch.get_default_device().type != "cpu":  # as a mode, a device makes every call slower
                stack.enter_context(torch.device("cpu"))
            if fake := sys.modules.get("torch._subclasses.fake_tensor"):  # tensors without values are the caller's
                stack.enter_context(fake.unset_fake_temporarily())
            stack.enter_context(torch.inference_mode(False))
            stack.enter_context(torch.enable_grad())
            for device in ("cpu", "cuda"):
                if torch.is_autocast_enabled(device):
                    stack.enter_context(torch.autocast(device, enabled=False))
            yield
    finally:
        with _lock:
            usual = _callers.pop()  # that of the first caller is the last one out
            torch.set_default_dtype(torch.float32 if _callers else usual)
