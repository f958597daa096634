"""One way to write results: every field, infinite numbers in words, and never half a file."""

from dataclasses import dataclass
from pathlib import Path

from adept.data.tables import write_csv


@dataclass(frozen=True)
class Line:
    name: str
    epsilon: float
    delta: float | None = None


def test_fields_are_columns_and_what_does_not_apply_is_empty(tmp_path: Path) -> None:
    write_csv([Line('a "b", c', 0.1), Line("d", float("inf"), float("nan"))], tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text() == 'name,epsilon,delta\n"a ""b"", c",0.1,\nd,inf,nan\n'


def test_a_table_replaces_the_one_before_it_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    for epsilon in (1.0, 2.0):
        write_csv([Line("a", epsilon)], tmp_path / "x.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]
    assert "a,2.0," in (tmp_path / "x.csv").read_text()
