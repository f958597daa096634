"""The compiled proofs and the programs that were extracted from them, made once."""

from pathlib import Path

import pytest
from proving import check


@pytest.fixture(scope="session")
def built() -> Path:
    """Return the folder of the compiled proofs; what is there already is not compiled again."""
    check.build()
    return check.BUILD


@pytest.fixture(scope="session")
def driver(built: Path) -> Path:
    """Return the program that answers with the checker and the sampler that were proved."""
    return check.extract(built)
