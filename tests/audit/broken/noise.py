"""Too little noise, or noise of a wrong distribution, for every record."""

import math

import torch
from audit.sound import EPSILON, ball, laplace, length, noise, sound, width
from torch import Tensor

from adept.mechanisms.random_draws import fresh_gaussian, fresh_uniform


def half_of_the_noise(x: Tensor) -> Tensor:
    return (c := ball(x)) + 0.5 * noise(c)


def l1_noise_for_the_l2_ball(x: Tensor) -> Tensor:
    return (c := ball(x)) + 2 / EPSILON * laplace(*c.shape)


def noise_of_one_half_missing(x: Tensor) -> Tensor:
    c = ball(x)
    y = noise(c)
    y[:, : c.shape[1] // 8] = 0
    return c + y


def gaussian_claims_pure(x: Tensor) -> Tensor:
    return (c := ball(x)) + 0.4 * fresh_gaussian(*c.shape)


def rounded_noise_of_few_values(x: Tensor) -> Tensor:
    return (c := ball(x)) + width(c) * laplace(*c.shape).round()


def averages_two_releases(x: Tensor) -> Tensor:
    return (sound(x) + sound(x)) / 2


def returns_two_releases(x: Tensor) -> Tensor:
    return torch.cat([sound(x), sound(x)], dim=1)


def both_halves_have_the_whole_budget(x: Tensor) -> Tensor:
    half = x.shape[1] // 2
    return torch.cat([sound(x[:, :half]), sound(x[:, half:])], dim=1) if half else sound(x)


def truncated_at_four_scales(x: Tensor) -> Tensor:
    return (c := ball(x)) + width(c) * laplace(*c.shape).clamp(-4, 4)


def redrawn_beyond_four_scales(x: Tensor) -> Tensor:
    c = ball(x)
    y = laplace(*c.shape)
    while (beyond := y.abs() > 4).any():
        y = torch.where(beyond, laplace(*c.shape), y)
    return c + width(c) * y


def truncated_at_ten_scales(x: Tensor) -> Tensor:
    return (c := ball(x)) + width(c) * laplace(*c.shape).clamp(-10, 10)


def wide_uniform_noise(x: Tensor) -> Tensor:
    return (c := ball(x)) + 8 * width(c) * (2 * fresh_uniform(*c.shape) - 1)


def one_sided_noise(x: Tensor) -> Tensor:
    return (c := ball(x)) + noise(c).abs()


def nearest_of_three_noises(x: Tensor) -> Tensor:
    c = ball(x)
    y = width(c) * laplace(3, *c.shape)
    return c + y[y.norm(dim=2).argmin(dim=0), torch.arange(len(c))]


def one_coordinate_of_each_row_is_bare(x: Tensor) -> Tensor:
    c = ball(x)
    y, bare = noise(c), (fresh_uniform(len(c)) * c.shape[1]).long().clamp(max=c.shape[1] - 1)
    y[torch.arange(len(c)), bare] = 0
    return c + y


def one_coordinate_in_fifty_is_bare(x: Tensor) -> Tensor:
    return (c := ball(x)) + noise(c) * (fresh_uniform(*c.shape) >= 0.02)


def coordinates_share_noise_in_halves(x: Tensor) -> Tensor:
    c = ball(x)
    n = c.shape[1]
    return c + width(c) * torch.cat([y := laplace(len(c), (n + 1) // 2), y], dim=1)[:, :n]


def one_number_for_all_coordinates(x: Tensor) -> Tensor:
    return (c := ball(x)) + width(c) * laplace(len(c), 1)


def noise_on_the_sphere_of_the_record(x: Tensor) -> Tensor:
    """Noise orthogonal to the record only."""
    c = ball(x)
    y, u = noise(c), c / length(c).clamp(min=1e-12)
    return c + y - (y * u).sum(dim=1, keepdim=True) * u


def halves_mirrored(x: Tensor) -> Tensor:
    c = ball(x)
    y = noise(c)
    if half := c.shape[1] // 2:
        y[:, -half:] = -y[:, :half].flip(1)
    return c + y


def noise_sums_to_zero(x: Tensor) -> Tensor:
    c = ball(x)
    y = noise(c)
    return c + (y - y.mean(dim=1, keepdim=True) if c.shape[1] > 1 else y)


def noise_lacks_a_frequency(x: Tensor) -> Tensor:
    c = ball(x)
    y, wave = noise(c), torch.where(torch.arange(c.shape[1]) % 2 == 0, 1.0, -1.0).double() / math.sqrt(c.shape[1])
    return c + (y - (y @ wave)[:, None] * wave if c.shape[1] > 1 else y)


def noise_of_one_l1_norm(x: Tensor) -> Tensor:
    """Each row's noise is scaled to the size that it should have on average."""
    c = ball(x)
    y = laplace(*c.shape)
    return c + width(c) * y * (c.shape[1] / y.abs().sum(dim=1, keepdim=True))


def exponential_without_the_two(x: Tensor) -> Tensor:
    c = ball(x)
    words = torch.randn(256, c.shape[1], generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    chances = torch.softmax(-EPSILON * torch.cdist(c, ball(100 * words)), dim=1).cumsum(dim=1)
    return ball(100 * words)[(chances < fresh_uniform(len(c), 1) * chances[:, -1:]).sum(dim=1).clamp(max=255)]


def a_bit_for_each_number(x: Tensor) -> Tensor:
    """Randomised response at epsilon / 8 for each sign, 64 times."""
    keep = fresh_uniform(*x.shape) < 1 / (1 + math.exp(-EPSILON / 8))
    return torch.where((ball(x) > 0) == keep, 1.0, -1.0).double()


def amplified_by_a_sampling_that_shows(x: Tensor) -> Tensor:
    """Half of the records are left out, which amplification by sampling would pay for only if no one saw which: 4.67."""
    spent = math.log(1 + 2 * (math.exp(EPSILON) - 1))
    return torch.where(fresh_uniform(len(x), 1) < 0.5, (c := ball(x)) + noise(c) * EPSILON / spent, 0.0)


BROKEN = [
    amplified_by_a_sampling_that_shows,
    half_of_the_noise,
    l1_noise_for_the_l2_ball,
    noise_of_one_half_missing,
    gaussian_claims_pure,
    rounded_noise_of_few_values,
    averages_two_releases,
    returns_two_releases,
    both_halves_have_the_whole_budget,
    truncated_at_four_scales,
    redrawn_beyond_four_scales,
    truncated_at_ten_scales,
    wide_uniform_noise,
    one_sided_noise,
    nearest_of_three_noises,
    one_coordinate_of_each_row_is_bare,
    one_coordinate_in_fifty_is_bare,
    coordinates_share_noise_in_halves,
    one_number_for_all_coordinates,
    noise_on_the_sphere_of_the_record,
    halves_mirrored,
    noise_sums_to_zero,
    noise_lacks_a_frequency,
    noise_of_one_l1_norm,
    exponential_without_the_two,
    a_bit_for_each_number,
]
