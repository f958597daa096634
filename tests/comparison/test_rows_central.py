"""``trust=central``: rows of synthetic records between what an empty file and the counts themselves are written to."""

from dataclasses import replace
from pathlib import Path

import pytest
from tiny import TINY_MODEL

from adept.comparison.comparison import Comparison
from adept.comparison.config import CompareConfig
from adept.data.corpus import DataConfig
from adept.errors import ConfigurationError
from adept.models.config import ModelConfig, TrainerConfig
from adept.report.page import write


def config(directory: Path, **changes: object) -> CompareConfig:
    options: dict[str, object] = {
        "trust": "central",
        "data": DataConfig(sizes=[400, 40, 60]),
        "epsilons": [1.0, 8.0],
        "seeds": [0],
        "model": ModelConfig(**TINY_MODEL),  # type: ignore[arg-type]
        "trainer": TrainerConfig(max_epochs=1),
        "output_dir": str(directory),
        **changes,
    }
    return CompareConfig(**options)  # type: ignore[arg-type]


def test_a_central_comparison_has_its_references_and_a_page(tmp_path: Path) -> None:
    comparison = Comparison(config(tmp_path / "c"))
    assert sum(1 for _ in comparison.run()) == 7
    results = comparison.collect()
    rows = {(row.mechanism, row.claimed_epsilon): row for row in results.rows}
    assert list(rows) == [
        ("none", None), ("names", None), ("names_directly", None), ("identity", None), ("random", None),
        ("synthesizer", 1.0), ("synthesizer", 8.0),
    ]  # fmt: skip
    released = rows["synthesizer", 8.0]
    assert (released.epsilon, released.labels, released.decoder) == (8.0, "vote", "public")
    assert rows["random", None].epsilon == 0.0
    # One random label, which a file without records gets, may be the commonest; its macro-F1 is low even then.
    assert rows["identity", None].macro_f1 > rows["random", None].macro_f1
    assert [rows[name, None].epsilon for name in ("names", "names_directly")] == [0.0, 0.0]
    assert rows["names_directly", None].train_records == 0
    assert (
        rows["names", None].train_records == rows["random", None].train_records == 4 * rows["none", None].train_records
    )
    assert (tmp_path / "c" / "results.csv").exists()
    page = write(results).path.read_text()
    assert all(
        name in page for name in ("synthesizer (central)", "names of labels alone", "the label with the nearest name")
    )
    again = Comparison(replace(config(tmp_path / "c"), epsilons=[1.0]))
    assert [row.accuracy for row in (list(again.run()), again.collect())[1].rows][-1] == rows[
        "synthesizer", 1.0
    ].accuracy


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"trust": "shuffled"}, "trust must be one of local, central"),
        ({"trust": "all"}, "trust=all was removed in 0.3.0: adept plan"),
        ({"attacks": True}, "attacks must be false for trust=central"),
        ({"baselines": True}, "baselines must be false for trust=central"),
        ({"samples": 2}, "samples must be 1 for trust=central"),
        ({"epsilons": [0.0]}, "epsilon must be"),
    ],
)
def test_what_a_central_comparison_has_no_rows_for_is_refused(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        config(tmp_path / "c", **changes)
