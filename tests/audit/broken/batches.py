"""Releases that depend on the other records of a batch, on a place in it, or on noise that it shares."""

import math
import secrets

import torch
from audit.sound import EPSILON, ball, laplace, length, noise, sound, width
from torch import Tensor

from adept.mechanisms.random_draws import fresh_gaussian


def scale_of_the_batch_mean(x: Tensor) -> Tensor:
    return (c := ball(x)) + noise(c) * length(c).mean()


def scale_of_the_largest_norm(x: Tensor) -> Tensor:
    return (c := ball(x)) + noise(c) * length(c).max()


def sensitivity_from_the_batch(x: Tensor) -> Tensor:
    c = ball(x)
    spread = (c.max(dim=0).values - c.min(dim=0).values).sum()
    return c + laplace(*c.shape) * spread / EPSILON


def scale_of_the_batch_deviation(x: Tensor) -> Tensor:
    c = ball(x)
    return c + noise(c) * c.std(unbiased=False) * 4


def scale_of_the_wrong_axis(x: Tensor) -> Tensor:
    """The root of the batch's size instead of the record's."""
    return (c := ball(x)) + 2 * len(c) ** 0.5 / EPSILON * laplace(*c.shape)


def clip_to_the_batch_median(x: Tensor) -> Tensor:
    c = ball(x)
    c = c / (length(c) / length(c).median().clamp(min=1e-9)).clamp(min=1)
    return c + noise(c) * length(c).median()


def clip_around_the_batch_mean(x: Tensor) -> Tensor:
    c = ball(x, radius=1e3)
    return c.mean(dim=0) + sound(c - c.mean(dim=0))


def clip_of_the_whole_batch(x: Tensor) -> Tensor:
    """The norm of all rows together: each is released, small, by how large the others are."""
    c = torch.where(x.isfinite().all(dim=1, keepdim=True), x, 0.0).double().clamp(-1e6, 1e6)
    c = c / max(1.0, float(torch.linalg.vector_norm(c)))
    return c + noise(c)


def centred_in_its_batch(x: Tensor) -> Tensor:
    c = ball(x)
    return c - c.mean(dim=0) + noise(c)


def normalised_in_its_batch(x: Tensor) -> Tensor:
    c = ball(x)
    c = ball((c - c.mean(dim=0)) / (c.std(dim=0, unbiased=False) + 1e-3))
    return c + noise(c)


def leaks_into_the_next_row(x: Tensor) -> Tensor:
    return sound(x) + 0.25 * ball(x).roll(1, dims=0)


def leaks_the_first_row_everywhere(x: Tensor) -> Tensor:
    return sound(x) + 0.2 * ball(x)[:1]


def attends_to_its_neighbours(x: Tensor) -> Tensor:
    c = ball(x)
    return sound(0.9 * c + 0.1 * c[torch.arange(len(c)) ^ 1 if len(c) % 2 == 0 else torch.arange(len(c))])


def batch_sorted_by_norm(x: Tensor) -> Tensor:
    return sound(x)[length(ball(x, radius=1e9))[:, 0].argsort()]


def nan_takes_the_row_before(x: Tensor) -> Tensor:
    y = x.clone()
    for i in (~x.isfinite().all(dim=1)).nonzero()[:, 0].tolist():
        y[i] = y[i - 1].nan_to_num(0.0, 0.0, 0.0)
    return sound(y)


def last_row_without_noise(x: Tensor) -> Tensor:
    z = sound(x)
    z[-1] = ball(x)[-1]
    return z


def first_row_without_noise_in_batches(x: Tensor) -> Tensor:
    z = sound(x)
    if len(x) > 1:
        z[0] = ball(x)[0]
    return z


def some_row_without_noise(x: Tensor) -> Tensor:
    z, i = sound(x), secrets.randbelow(len(x))
    z[i] = ball(x)[i]
    return z


def every_fiftieth_row_without_noise(x: Tensor) -> Tensor:
    z = sound(x)
    z[49::50] = ball(x)[49::50]
    return z


def odd_rows_have_a_quarter_of_the_noise(x: Tensor) -> Tensor:
    c = ball(x)
    return c + noise(c) * torch.where(torch.arange(len(c)) % 2 == 1, 0.25, 1.0)[:, None]


def longest_row_without_noise(x: Tensor) -> Tensor:
    z, c = sound(x), ball(x)
    i = int(length(c).argmax())
    z[i] = c[i]
    return z


def a_batch_of_one_is_released_bare(x: Tensor) -> Tensor:
    return ball(x) if len(x) == 1 else sound(x)


def noise_shared_by_the_batch(x: Tensor) -> Tensor:
    return (c := ball(x)) + noise(c[:1])


def noise_tiled_every_32_rows(x: Tensor) -> Tensor:
    c = ball(x)
    return c + noise(c[:32]).repeat(-(-len(c) // 32), 1)[: len(c)]


def noise_tiled_every_24_rows(x: Tensor) -> Tensor:
    c = ball(x)
    return c + noise(torch.zeros(24, c.shape[1])).repeat(-(-len(c) // 24), 1)[: len(c)]


def noise_repeats_in_the_second_half(x: Tensor) -> Tensor:
    c = ball(x)
    half = noise(c[: (len(c) + 1) // 2])
    return c + torch.cat([half, half])[: len(c)]


def antithetic_noise(x: Tensor) -> Tensor:
    c = ball(x)
    half = noise(c[: (len(c) + 1) // 2])
    return c + torch.cat([half, -half])[: len(c)]


def noise_partly_shared(x: Tensor) -> Tensor:
    c = ball(x)
    y, common = laplace(*c.shape), laplace(1, c.shape[1])
    return c + width(c) * torch.where(torch.arange(c.shape[1]) < c.shape[1] / 2, common, y)


def noise_correlated_by_a_third(x: Tensor) -> Tensor:
    c = ball(x)
    return (
        c
        + width(c)
        * (math.sqrt(2 / 3) * fresh_gaussian(*c.shape) + math.sqrt(1 / 3) * fresh_gaussian(1, c.shape[1]))
        * 2
    )


def autoregressive_noise(x: Tensor) -> Tensor:
    c = ball(x)
    y = noise(c)
    return c + y + 0.5 * y.roll(1, dims=0)


def equal_rows_share_a_release(x: Tensor) -> Tensor:
    different, inverse = torch.unique(ball(x), dim=0, return_inverse=True)
    return (different + noise(different))[inverse]


def noise_permuted_within_the_batch(x: Tensor) -> Tensor:
    """Each row has the first row's noise, its numbers in another order."""
    c, one = ball(x), noise(x[:1])[0]
    return c + torch.stack([one[torch.randperm(len(one))] for _ in c])


BROKEN = [
    noise_permuted_within_the_batch,
    scale_of_the_batch_mean,
    scale_of_the_largest_norm,
    sensitivity_from_the_batch,
    scale_of_the_batch_deviation,
    scale_of_the_wrong_axis,
    clip_to_the_batch_median,
    clip_around_the_batch_mean,
    clip_of_the_whole_batch,
    centred_in_its_batch,
    normalised_in_its_batch,
    leaks_into_the_next_row,
    leaks_the_first_row_everywhere,
    attends_to_its_neighbours,
    batch_sorted_by_norm,
    nan_takes_the_row_before,
    last_row_without_noise,
    first_row_without_noise_in_batches,
    some_row_without_noise,
    every_fiftieth_row_without_noise,
    odd_rows_have_a_quarter_of_the_noise,
    longest_row_without_noise,
    a_batch_of_one_is_released_bare,
    noise_shared_by_the_batch,
    noise_tiled_every_32_rows,
    noise_tiled_every_24_rows,
    noise_repeats_in_the_second_half,
    antithetic_noise,
    noise_partly_shared,
    noise_correlated_by_a_third,
    autoregressive_noise,
    equal_rows_share_a_release,
]
