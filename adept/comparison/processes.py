"""Work in several processes: they end with the one that asks, and it sees when one of them is killed."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

import torch

from adept.errors import DataError

T = TypeVar("T")


def in_processes(jobs: Sequence[Callable[[], T]], *, processes: int) -> Iterator[T]:
    """Yield what jobs return, as they end; the processes share the cores.

    Args:
        jobs: each makes something on disk, which is whole there or not at all, whenever it is killed.
        processes: how many at a time.

    Raises:
        DataError: a process was killed.
    """
    threads, others = max(1, torch.get_num_threads() // processes), multiprocessing.active_children()
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, spawn, initializer=_begin, initargs=(threads,)) as pool:
        try:
            asked = [pool.submit(job) for job in jobs]
            pool.submit(int)  # a pool watches a new process from the next job on that it is given
            yield from (done.result() for done in as_completed(asked))
        except BaseException as error:
            for worker in set(multiprocessing.active_children()) - set(others):
                worker.kill()  # training would go on after a SIGTERM, for Lightning handles it; files are whole or not there
            if isinstance(error, BrokenProcessPool):
                raise DataError(
                    "a process was killed, perhaps for lack of memory: the same command with processes=1 goes on"
                ) from None
            raise


def _begin(threads: int) -> None:
    """A process of the pool: an interrupt at the keyboard is for the one that waits for it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(threads)


def _end_with_parent() -> None:
    """Wait for the process that asked, and end with it even if it was killed: a pool's processes would wait for ever."""
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)
