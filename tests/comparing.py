"""Comparisons for tests of their rows: without audits, which take longer than all else."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from adept.comparison import config as recipes
from adept.comparison.comparison import Comparison
from adept.comparison.config import CompareConfig
from adept.comparison.results import ResultRow, Results


@contextmanager
def unaudited() -> Iterator[None]:
    """Plan no audits meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recipes, "_choose_audited", lambda *_: [])
        yield


def compare(config: CompareConfig) -> Results:
    """Run a comparison from its plan to its results."""
    comparison = Comparison(config)
    for _ in comparison.run():
        pass
    return comparison.collect()


def compared(config: CompareConfig) -> list[ResultRow]:
    """Run a comparison and return its rows."""
    with unaudited():
        return compare(config).rows
