"""The exponential mechanism has the distribution that it states, and keeps its claim whatever the scores are.

One chi-square test with the limit 1e-9.
"""

import math

import torch
from scipy import stats

from adept.mechanisms.exponential import exponential_choice

ROWS = 20_000


def test_choices_have_the_stated_distribution() -> None:
    scores = torch.tensor([[0.0, 0.5, 1.0, 1.0]], dtype=torch.float64)
    counts = torch.bincount(exponential_choice(scores.expand(ROWS, -1), epsilon=3.0), minlength=4)
    weights = torch.exp(1.5 * scores[0])
    assert stats.chisquare(counts.numpy(), (ROWS * weights / weights.sum()).numpy()).pvalue > 1e-9


def test_scores_outside_their_range_count_as_its_ends_so_that_no_record_gets_more_than_epsilon() -> None:
    """Without the cut the first record would choose its thing always: e^25 to one."""
    wild = torch.tensor([[50.0, -math.inf, math.nan]], dtype=torch.float64).expand(ROWS, -1)
    share = float((exponential_choice(wild, epsilon=1.0) == 0).double().mean())
    exact = math.exp(0.5) / (math.exp(0.5) + 2)
    assert abs(share - exact) < 6.2 * math.sqrt(exact * (1 - exact) / ROWS)


def test_there_may_be_nobody() -> None:
    assert exponential_choice(torch.empty(0, 3), epsilon=1.0).shape == (0,)
