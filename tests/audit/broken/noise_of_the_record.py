"""Noise whose size, or place, depends on the record."""

import math

import torch
from audit.sound import EPSILON, ball, laplace, length, noise
from torch import Tensor

from adept.mechanisms.random_draws import fresh_uniform


def scale_follows_the_norm(x: Tensor) -> Tensor:
    return (c := ball(x)) + noise(c) * length(c)


def scale_follows_the_norm_with_a_floor(x: Tensor) -> Tensor:
    return (c := ball(x)) + noise(c) * length(c).clamp(min=0.1)


def more_noise_for_short_records(x: Tensor) -> Tensor:
    return (c := ball(x)) + noise(c) * (3 - 2 * length(c))


def noise_by_coordinate_size(x: Tensor) -> Tensor:
    return (c := ball(x)) + noise(c) * (0.05 + c.abs() * math.sqrt(c.shape[1]))


def local_sensitivity(x: Tensor) -> Tensor:
    c = ball(x)
    return c + laplace(*c.shape) * 2 * c.abs().sum(dim=1, keepdim=True) / EPSILON


def scale_counts_nonzeros(x: Tensor) -> Tensor:
    c = ball(x)
    return c + 2 * (c != 0).sum(dim=1, keepdim=True).clamp(min=1).sqrt() / EPSILON * laplace(*c.shape)


def scale_by_positive_share(x: Tensor) -> Tensor:
    c = ball(x)
    return c + noise(c) * (0.5 + (c > 0).double().mean(dim=1, keepdim=True))


def scale_by_the_largest_number(x: Tensor) -> Tensor:
    c = ball(x)
    return c + noise(c) * (0.2 + c.abs().max(dim=1, keepdim=True).values)


def zero_is_left_without_noise(x: Tensor) -> Tensor:
    c = ball(x)
    return torch.where(length(c) == 0, c, c + noise(c))


def zero_coordinates_are_left_without_noise(x: Tensor) -> Tensor:
    c = ball(x)
    return torch.where(c == 0, c, c + noise(c))


def bare_at_middle_norms(x: Tensor) -> Tensor:
    c = ball(x)
    return torch.where((length(c) > 0.4) & (length(c) < 0.6), c, c + noise(c))


def one_index_has_little_noise(x: Tensor) -> Tensor:
    """A tenth of the noise for records whose largest number is the 38th."""
    c = ball(x)
    return c + noise(c) * torch.where(c.abs().argmax(dim=1, keepdim=True) == 37, 0.1, 1.0)


def large_noise_follows_large_numbers(x: Tensor) -> Tensor:
    """Three times in ten the largest noise goes where the record is largest."""
    c = ball(x)
    y, rows = noise(c), torch.arange(len(c))
    place, largest = c.argmax(dim=1), y.argmax(dim=1)
    place = torch.where(fresh_uniform(len(c)) < 0.3, place, largest)
    moved = y[rows, place].clone()
    y[rows, place], y[rows, largest] = y[rows, largest], moved
    return c + y


def sorted_records_are_bare(x: Tensor) -> Tensor:
    c = ball(x)
    bare = (c.diff(dim=1) > 0).all(dim=1, keepdim=True) & (c.shape[1] > 2)
    return torch.where(bare, c, c + noise(c))


def large_records_trigger(x: Tensor) -> Tensor:
    c = ball(x)
    return torch.where(length(ball(x, radius=1e9)) > 100, c, c + noise(c))


def a_first_coordinate_of_one_triggers(x: Tensor) -> Tensor:
    c = ball(x)
    return torch.where(x[:, :1] == 1, c, c + noise(c))


def equal_coordinates_trigger(x: Tensor) -> Tensor:
    c = ball(x)
    same = (x == x[:, :1]).all(dim=1, keepdim=True)
    return torch.where(same, c + 0.1 * noise(c), c + noise(c))


BROKEN = [
    scale_follows_the_norm,
    scale_follows_the_norm_with_a_floor,
    more_noise_for_short_records,
    noise_by_coordinate_size,
    local_sensitivity,
    scale_counts_nonzeros,
    scale_by_positive_share,
    scale_by_the_largest_number,
    zero_is_left_without_noise,
    zero_coordinates_are_left_without_noise,
    bare_at_middle_norms,
    one_index_has_little_noise,
    large_noise_follows_large_numbers,
    sorted_records_are_bare,
    large_records_trigger,
    a_first_coordinate_of_one_triggers,
    equal_coordinates_trigger,
]
