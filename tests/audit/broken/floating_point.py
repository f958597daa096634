"""Floats: precision, low bits, grids, signs of zero, NaN and infinity."""

import os

import numpy as np
import torch
from audit.sound import ball, laplace, length, noise, sound, width
from torch import Tensor


def float32_laplace(x: Tensor) -> Tensor:
    c = ball(x).float()
    return (c + (width(c) * laplace(*c.shape)).float()).double()


def uniform_of_sixteen_bits(x: Tensor) -> Tensor:
    c = ball(x)
    v = (
        torch.from_numpy(np.frombuffer(os.urandom(2 * c.numel()), np.uint16).astype(float)).reshape(c.shape) + 0.5
    ) / 2**16
    return c - width(c) * (v - 0.5).sign() * torch.log1p(-2 * (v - 0.5).abs())


def laplace_of_ten_bits(x: Tensor) -> Tensor:
    c = ball(x)
    v = (torch.randint(1024, c.shape, generator=_fresh()) + 0.5) / 1024 - 0.5
    return c - width(c) * v.sign() * torch.log1p(-2 * v.abs())


def sum_in_half_precision(x: Tensor) -> Tensor:
    c = ball(x)
    return (c.half() + noise(c).half()).double()


def sign_of_zero(x: Tensor) -> Tensor:
    z = sound(x)
    return torch.where(z.abs() < width(x), torch.copysign(torch.zeros_like(z), ball(x)), z)


def sign_of_zero_in_one_place(x: Tensor) -> Tensor:
    z = sound(x)
    z[:, 0] = torch.copysign(torch.zeros(len(x), dtype=torch.float64), x[:, 0].double())
    return z


def off_the_grid_by_the_record(x: Tensor) -> Tensor:
    c, step = ball(x), 2.0**-20
    return c + ((noise(c)) / step).round() * step


def lowest_bit_is_the_sign(x: Tensor) -> Tensor:
    bits = sound(x).numpy().view(np.int64)
    bits = (bits & ~np.int64(1)) | (x.numpy() > 0).astype(np.int64)
    return torch.from_numpy(bits.view(np.float64))


def rounded_to_the_records_digits(x: Tensor) -> Tensor:
    """Rounds as finely as the record was written."""
    digits = torch.where((x * 8 == (x * 8).round()).all(dim=1, keepdim=True), 1e-1, 1e-3)
    return (sound(x) / digits).round() * digits


def grid_step_by_the_record(x: Tensor) -> Tensor:
    step = torch.where(ball(x).sum(dim=1, keepdim=True) > 0, 0.01, 0.013)
    return (sound(x) / step).round() * step


def parity_of_cents(x: Tensor) -> Tensor:
    z, bit = sound(x), (ball(x)[:, 0] > 0).double()
    z[:, 0] = (((z[:, 0] * 100 - bit) / 2).round() * 2 + bit) / 100
    return z


def nan_coordinates_are_zero(x: Tensor) -> Tensor:
    return torch.where(x.isnan(), 0.0, sound(x.nan_to_num(0.0, 0.0, 0.0)))


def nan_marks_its_place(x: Tensor) -> Tensor:
    return torch.where(x.isfinite(), sound(x), sound(x).abs() + 50)


def infinite_records_are_released_as_zero(x: Tensor) -> Tensor:
    return torch.where(x.isinf().any(dim=1, keepdim=True), 0.0, sound(x))


def nan_records_get_half_of_the_noise(x: Tensor) -> Tensor:
    return torch.where(x.isnan().any(dim=1, keepdim=True), 0.3, 1.0) * sound(x)


def zero_divides(x: Tensor) -> Tensor:
    c = ball(x)
    return sound(x) + 0 * (c / length(c))


def _fresh() -> torch.Generator:
    generator = torch.Generator()
    generator.seed()
    return generator


BROKEN = [
    float32_laplace,
    uniform_of_sixteen_bits,
    laplace_of_ten_bits,
    sum_in_half_precision,
    sign_of_zero,
    sign_of_zero_in_one_place,
    off_the_grid_by_the_record,
    lowest_bit_is_the_sign,
    rounded_to_the_records_digits,
    grid_step_by_the_record,
    parity_of_cents,
    nan_coordinates_are_zero,
    nan_marks_its_place,
    infinite_records_are_released_as_zero,
    nan_records_get_half_of_the_noise,
    zero_divides,
]
