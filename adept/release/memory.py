"""The texts that this process has released through pipeline steps, so that a search cannot release them again in silence.

Cross-validation clones its steps and transforms a text once for each fold. Clones, copies and pickles of a step are different
objects, so what was released is kept for the whole process, by digests under a key that is drawn anew in each process.
A process that is forked begins with its parent's memory and shares nothing afterwards.
"""

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock

from adept.errors import ReleaseRefused
from adept.mechanisms.guarantee import total, words
from adept.release.secret import DIGEST_BYTES, throwaway_key

_SPENT: defaultdict[bytes, list[float]] = defaultdict(list)  # by a text's digest: the epsilon of each of its releases
_KEY, _LOCK = throwaway_key(), Lock()
os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


@contextmanager
def remembered(texts: Sequence[str], epsilon: float, *, again: bool) -> Iterator[None]:
    """Remember that texts are released by the body; equal texts of one call are records of their own, and count once.

    *Claim*: no two calls of one process both release a text unless the later one says ``again``; a call that fails spends nothing.
    *Proof*. Looking up and adding happen under one lock, before the body draws; the epsilons of a body that fails are taken back,
    whose rewrites nobody has read. QED.

    Raises:
        ReleaseRefused: some were released before in this process, and ``again`` is false.
    """
    digests = {_digest(text) for text in texts}
    with _LOCK:
        before = [total(*_SPENT[digest]) for digest in digests if digest in _SPENT]
        if before and not again:
            raise ReleaseRefused(
                f"{len(before)} different texts were released before in this process, with epsilon {words(max(before))} in all: "
                "rewrite once, before the search, and search on the rewrites; again=True releases them again, and budgets add up"
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
