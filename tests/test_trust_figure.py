"""`benchmarks/trust_figure.py` draws the table that `adept compare trust=all` writes."""

import importlib.util
import itertools
import re
from pathlib import Path
from types import ModuleType

import pytest
from report.test_trust import made

from adept.data.writing import write_table

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def figure() -> ModuleType:
    spec = importlib.util.spec_from_file_location("trust_figure", ROOT / "benchmarks" / "trust_figure.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_kind_of_trust_is_named_once_and_no_name_lies_over_another(figure: ModuleType) -> None:
    svg = figure.draw(made())
    for name in ("central", "shuffled", "local", "original ADePT", "the text itself", "random"):
        assert svg.count(f">{name}</text>") == 1
    named = re.findall(r'<text style="font-size: 11px[^>]* x="([\d.]+)" y="([\d.]+)"', svg)
    assert len(named) == 6
    at_the_end = sorted(float(y) for x, y in named if x == max(x for x, _ in named))
    assert len(at_the_end) == 6
    assert all(after - before > 10 for before, after in itertools.pairwise(at_the_end))
    assert "true epsilon for replacing one record, n public; shuffled: delta 1e-6" in svg
    assert figure.draw(made()) == svg


def test_the_rows_of_the_file_are_those_that_were_written(figure: ModuleType, tmp_path: Path) -> None:
    write_table(made(), tmp_path / "trust.csv")
    assert figure.read(tmp_path / "trust.csv") == made()
