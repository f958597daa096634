"""Texts that this process has released through pipeline steps, so that a search cannot release them again unnoticed.

Cross-validation clones its steps and transforms a text once for each fold. Clones, copies and pickles of a step are different
objects, so the memory belongs to the process. It holds digests, under a key that each process draws anew. A forked
process begins with a copy of its parent's memory.
"""

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock

from adept.errors import ReleaseRefused
from adept.mechanisms.guarantee import total, words
from adept.release.identity import DIGEST_BYTES, throwaway_key

_SPENT: defaultdict[bytes, list[float]] = defaultdict(list)  # by a text's digest: the epsilon of each of its releases
_KEY, _LOCK = throwaway_key(), Lock()
os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


@contextmanager
def remembered(texts: Sequence[str], epsilon: float, *, again: bool) -> Iterator[None]:
    """Remember that the body releases texts; equal texts of one call are different records, so the call counts once for them.

    *Claim*: no two calls of one process both release a text unless the later one says ``again``; a call that fails spends nothing.
    *Proof*. Looking up and adding happen under one lock, before the body draws; if the body fails, its epsilons are taken
    back, because nobody has read its rewrites. QED.

    Raises:
        ReleaseRefused: some texts were released before in this process, and ``again`` is False.
    """
    digests = {_digest(text) for text in texts}
    with _LOCK:
        before = [total(*_SPENT[digest]) for digest in digests if digest in _SPENT]
        if before and not again:
            raise ReleaseRefused(
                f"{len(before)} different texts were released before in this process, with epsilon {words(max(before))} in all: "
                "rewrite once, before the search, and search on the rewrites; or add again=True, and budgets add up"
            )
        for digest in digests:
            _SPENT[digest].append(epsilon)
    try:
        yield
    except BaseException:
        _take_back(digests, epsilon)
        raise


def most_spent() -> float:
    """Return the largest sum of epsilons that one text has spent in this process; 0 before the first release."""
    with _LOCK:
        return max((total(*epsilons) for epsilons in _SPENT.values()), default=0.0)


def _take_back(digests: set[bytes], epsilon: float) -> None:
    """Forget one release of each text."""
    with _LOCK:
        for digest in digests:
            _SPENT[digest].remove(epsilon)
            if not _SPENT[digest]:
                del _SPENT[digest]


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=_KEY, digest_size=DIGEST_BYTES).digest()
