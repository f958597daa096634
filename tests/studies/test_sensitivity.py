"""Figure 1 of Habernal (2021). All simulations are seeded, so nothing here is random."""

import pytest
import torch

from adept.errors import ConfigurationError
from adept.studies import sensitivity

ROWS = sensitivity.run()


def test_every_published_point_is_within_the_interval_for_two_samples() -> None:
    published = [row for row in ROWS if row.published is not None]
    assert len(published) == 10
    assert all(row.agrees for row in published)


def test_a_share_that_is_off_by_three_percent_is_seen() -> None:
    assert not sensitivity.two_samples_agree(5_700, 10_000, 0.602)


def test_no_pair_is_beyond_the_sensitivity_after_an_l1_clip_but_for_rounding() -> None:
    clipped = [row for row in ROWS if row.clip == "l1"]
    assert [row.beyond for row in clipped] == [0] * len(clipped)


def test_without_the_tolerance_rounding_alone_would_put_l1_clipped_pairs_beyond(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sensitivity, "TOLERANCE", 0.0)
    assert any(row.beyond for row in sensitivity.run(dims=(2, 4)) if row.clip == "l1")


def test_the_largest_distance_never_exceeds_the_true_sensitivity() -> None:
    assert all(row.largest <= row.dim**0.5 + 1e-9 for row in ROWS if row.clip == "l2")


def test_measured_latents_show_the_violation_of_the_l2_clip_and_none_of_the_l1_clip() -> None:
    latents = torch.randn(500, 64, generator=torch.Generator().manual_seed(1))
    l2, l1 = sensitivity.measure_latents(latents, clip_norm=1.0)
    assert l2.share == 1.0
    assert l1.share == 0.0


def test_a_single_latent_has_no_pairs() -> None:
    with pytest.raises(ConfigurationError, match="N >= 2"):
        sensitivity.measure_latents(torch.zeros(1, 4), clip_norm=1.0)


def test_the_interval_that_the_table_shows_holds_the_computed_one() -> None:
    [(_, _, lines)] = sensitivity.tables(ROWS)
    for row, line in zip(ROWS, lines, strict=True):
        assert float(line[4]) <= row.lower <= row.upper <= float(line[5])
