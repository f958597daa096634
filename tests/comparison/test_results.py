"""The mean over seeds and its interval."""

import pytest

from adept.comparison.results import SeedMean


def test_intervals_are_students_over_seeds() -> None:
    found = SeedMean.of([0.80, 0.81, 0.82])
    assert found.mean == pytest.approx(0.81)
    assert found.high - found.mean == pytest.approx(4.3027 * 0.01 / 3**0.5, rel=1e-4)
    assert found.spread == "0.810 ± 0.025"
    assert SeedMean.of([0.8]).low == 0.8
    assert SeedMean.of([0.8]).spread == "0.800"
    assert SeedMean.of([0.0, 1.0]).low == 0.0
    assert SeedMean.of([0.0, 1.0]).high == 1.0
