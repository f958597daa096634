"""Mechanisms that break their claim in the shapes that real code has, and splits of a budget that spend 1.25 times the claim."""

import math
import random
from typing import Any

import numpy as np
import torch
from audit.sound import EPSILON, ball, l1_ball, laplace, length, noise, sound, width
from audit.sound_shapes import SYSTEM, WORDS, fresh, hashed
from torch import Tensor

from adept.mechanisms.clip_to_grid import clip_latents
from adept.mechanisms.random_draws import fresh_uniform

PART = 0.625 * EPSILON  # each of two parts spends this
ODDS = math.exp(EPSILON)


def respond(bits: Tensor) -> Tensor:
    """One bit by response with the budget of a part."""
    return (bits == (fresh_uniform(*bits.shape) < 1 / (1 + math.exp(-PART)))).double()


def choose(own: Tensor, size: int) -> Tensor:
    """K-ary response with the budget of a part."""
    keep = fresh_uniform(len(own)) < math.exp(PART) / (math.exp(PART) + size - 1)
    other = (own + 1 + (fresh_uniform(len(own)) * (size - 1)).long()) % size
    return torch.where(keep, own, other)[:, None].double()


def norm_and_direction(x: Tensor) -> Tensor:
    c = ball(x)
    place = c.abs().argmax(dim=1)
    code = 2 * place + (c.gather(1, place[:, None])[:, 0] < 0)
    return torch.cat([length(c) + laplace(len(c), 1) / PART, choose(code, 2 * c.shape[1])], dim=1)


def sign_and_rest(x: Tensor) -> Tensor:
    c = ball(x)
    rest = clip_latents(c[:, 1:], clip="l1", clip_norm=1.0)
    return torch.cat([respond(c[:, :1] >= 0), rest + 2 / PART * laplace(*rest.shape)], dim=1)


def two_halves(x: Tensor) -> Tensor:
    c = ball(x, radius=1e6)
    halves = [clip_latents(half, clip="l1", clip_norm=1.0) for half in c.tensor_split(2, dim=1) if half.shape[1]]
    return torch.cat([half + 2 / PART * laplace(*half.shape) for half in halves], dim=1)


def sign_of_the_sum_and_largest(x: Tensor) -> Tensor:
    c = ball(x)
    return torch.cat(
        [respond(c.sum(dim=1, keepdim=True) >= 0), c.abs().amax(dim=1, keepdim=True) + laplace(len(c), 1) / PART], dim=1
    )


def sign_and_norm(x: Tensor) -> Tensor:
    c = ball(x)
    return torch.cat([respond(c[:, :1] >= 0), length(c) + laplace(len(c), 1) / PART], dim=1)


def place_and_value(x: Tensor) -> Tensor:
    c = ball(x)
    place = c.abs().argmax(dim=1)
    return torch.cat([choose(place, c.shape[1]), c.gather(1, place[:, None]) + 2 / PART * laplace(len(c), 1)], dim=1)


def sign_is_kept(x: Tensor) -> Tensor:
    c = ball(x)
    return (c + noise(c)).abs() * torch.where(c < 0, -1.0, 1.0)


def sorted_as_the_record(x: Tensor) -> Tensor:
    c = ball(x)
    return sound(x).sort(dim=1).values.gather(1, c.argsort(dim=1).argsort(dim=1))


def divided_by_the_norm(x: Tensor) -> Tensor:
    return sound(x) / (0.1 + length(ball(x)))


def expanded_by_a_matrix(x: Tensor) -> Tensor:
    c = ball(x)
    matrix = torch.randn(c.shape[1], c.shape[1], generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return c @ matrix + noise(c)


def one_number_in_a_thousand_is_bare(x: Tensor) -> Tensor:
    c = ball(x)
    return torch.where(fresh_uniform(*c.shape) < 1e-3, c, c + noise(c))


def uniform_noise(x: Tensor) -> Tensor:
    c = ball(x)
    return c + 6 * width(c) * (fresh_uniform(*c.shape) - 0.5)


def noise_for_numbers_above_a_threshold(x: Tensor) -> Tensor:
    c = ball(x)
    return torch.where(c.abs() > 1e-3, c + noise(c), c)


def interpolated_with_a_release(x: Tensor) -> Tensor:
    return 0.5 * ball(x) + 0.5 * l1_ball(x)


def sign_of_noise_by_the_record(x: Tensor) -> Tensor:
    c = ball(x)
    return c + noise(c).abs() * c.sum(dim=1, keepdim=True).sign()


def unhalved_exponential(values: list[str]) -> list[str]:
    """Utility of sensitivity 1, without the two in the exponent."""
    chosen = []
    for value in values:
        utility = np.array([1.0 if word[0] == value[0] else 0.0 for word in WORDS])
        other = np.array([1.0 if len(word) > len(value) else 0.0 for word in WORDS])
        chosen.append(WORDS[int(np.argmax(EPSILON * (utility - other) + fresh().gumbel(size=len(WORDS))))])
    return chosen


def seed_of_the_value(values: list[int]) -> list[tuple[int, int]]:
    """Local hashing whose seed, meant to be public chance, follows from the value."""
    reports = []
    for value in values:
        seed = (value * 7919 + SYSTEM.randrange(64)) % 512
        own = hashed(seed, value)
        reports.append((seed, own if SYSTEM.random() < ODDS / (ODDS + 3) else SYSTEM.randrange(4)))
    return reports


def says_whether_it_kept(values: list[int]) -> list[dict[str, Any]]:
    """Reports that also hold the coin."""
    reports = []
    for value in values:
        keep = SYSTEM.random() < ODDS / (ODDS + 7)
        reports.append({"value": value if keep else SYSTEM.randrange(8), "kept": keep})
    return reports


def nearest_words_only(values: list[str]) -> list[str]:
    """The exponential mechanism over the three words after the record's own in the list."""
    return [WORDS[(WORDS.index(value) + SYSTEM.randrange(3)) % len(WORDS)] for value in values]


def even_noise(values: list[int]) -> list[int]:
    """Geometric noise of the right size, doubled."""
    return [v + 2 * int(np.subtract(*fresh().geometric(1 - math.exp(-EPSILON / 7), 2))) for v in values]


def every_attribute_spends_all(values: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Three attributes of four values, each by response with the whole budget."""
    keep = ODDS / (ODDS + 3)
    return [tuple(v if SYSTEM.random() < keep else (v + SYSTEM.randrange(1, 4)) % 4 for v in row) for row in values]


def words_are_as_many(texts: list[str]) -> list[str]:
    """Random words, as many as the record has."""
    return [" ".join(SYSTEM.choice(WORDS) for _ in text.split()) for text in texts]


def capitals_are_kept(texts: list[str]) -> list[str]:
    """Random words; a capital stays where it was."""
    rewritten = []
    for text in texts:
        drawn = [SYSTEM.choice(WORDS) for _ in range(5)]
        places = [place for place, word in enumerate(text.split()[:5]) if word[0].isupper()]
        rewritten.append(
            " ".join(w.capitalize() if i in places and random.random() < 0.99 else w for i, w in enumerate(drawn))
        )
    return rewritten


def shuffles_the_words(texts: list[str]) -> list[str]:
    """The record's own words in random order."""
    return [" ".join(SYSTEM.sample(text.split(), len(text.split()))) for text in texts]


BROKEN = [
    norm_and_direction,
    sign_and_rest,
    two_halves,
    sign_of_the_sum_and_largest,
    sign_and_norm,
    place_and_value,
    sign_is_kept,
    sorted_as_the_record,
    divided_by_the_norm,
    expanded_by_a_matrix,
    one_number_in_a_thousand_is_bare,
    uniform_noise,
    noise_for_numbers_above_a_threshold,
    interpolated_with_a_release,
    sign_of_noise_by_the_record,
]
TEXT = ("the Bank by a river", "a boat on the Lake")
ROWS = [(i, j, k) for i in (0, 3) for j in (1, 2) for k in (0, 1)]
OF_VALUES: dict[Any, dict[str, Any]] = {  # and what is declared or tried
    unhalved_exponential: {"alphabet": WORDS},
    seed_of_the_value: {"alphabet": 8},
    says_whether_it_kept: {"alphabet": 8},
    nearest_words_only: {"alphabet": WORDS},
    even_noise: {"alphabet": 8},
    every_attribute_spends_all: {"alphabet": ROWS},
    words_are_as_many: {"pairs": [("bank", "bank of a lake")]},
    capitals_are_kept: {"pairs": [TEXT]},
    shuffles_the_words: {"pairs": [TEXT]},
}
