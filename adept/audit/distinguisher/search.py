"""A search for records that are released unlike the others, which make pairs that nobody would have thought of.

A mechanism may treat few records in a way of their own: those whose largest number stands in one place, of a certain length, with
so many zeros. A pair for each of them would cost too much, but to see that a record's releases scatter less than those of others,
or lie far from them, takes a dozen. Records that stand out become pairs. The releases of the search are not counted again, so
nothing is claimed here, and nothing has to be right.
"""

import math

import numpy as np
import torch
from torch import Tensor

from adept.audit.distinguisher.pairs import InputPair, adversarial_pairs
from adept.audit.result import MechanismFailure
from adept.audit.subject.target import Floats
from adept.audit.subject.vector import VectorTarget

MAX_RELEASES, MIN_RELEASES = 12, 4  # of each record
SEARCH_SECONDS = 1.5
MAX_PLACES = 64  # in which a record of one number may have it
LENGTHS = 24  # of records inside the ball, outside, and so short that low precision takes them for zero
MAX_LENGTH, MIN_LENGTH = 3000.0, 1e-12  # in units of clip_norm
CONSTANTS = (1.0, 0.5, 0.25, 0.125, 2.0, 10.0, 100.0, 1 / 3)
MIN_SPREAD = 1e-12


def every_pair(target: VectorTarget) -> list[InputPair]:
    """Return the pairs on which a target is tried; a simulation promises nothing for NaN and Inf, so it is asked for none."""
    pairs = adversarial_pairs(target.dim, clip_norm=target.clip_norm) + found_pairs(target)
    return pairs if target.source == "release" else [pair for pair in pairs if pair.finite]


def found_pairs(target: VectorTarget) -> list[InputPair]:
    """Return pairs of the records whose releases scatter least and most, and of those that are released farthest out; or none."""
    records = searched_records(target.dim, clip_norm=target.clip_norm)
    inside = records[torch.linalg.vector_norm(records, dim=1) <= target.clip_norm]
    for tried in (records, inside):  # a mechanism may refuse records outside its set
        if (releases := _releases(target, tried)) is not None:
            return _standing_out(target, tried, releases)
    return []


def _releases(target: VectorTarget, records: Tensor) -> Floats | None:
    """Return releases (k, R, m) of all records, or None if they cannot be had, or take too long."""
    try:
        times = target.affordable(MAX_RELEASES * len(records), seconds=SEARCH_SECONDS) // len(records)
        if times < MIN_RELEASES:
            return None
        return np.stack([np.nan_to_num(target.release(records.clone())) for _ in range(times)])
    except (MechanismFailure, ValueError):  # refused, or rows of different lengths
        return None


def _standing_out(target: VectorTarget, records: Tensor, releases: Floats) -> list[InputPair]:
    releases = releases.clip(-target.largest, target.largest)
    spread, distance = _spread(releases), np.linalg.norm(releases.mean(axis=0), axis=1)
    least, most, far = (records[int(i)] for i in (spread.argmin(), spread.argmax(), distance.argmax()))
    blown = records[int(_along(records, releases).argmax())]
    return [
        InputPair(name="found, least and most varied", first=least, second=most, hard=True),
        InputPair(name="found, least varied and its opposite", first=least, second=-least),
        InputPair(name="found, farthest and its opposite", first=far, second=-far),
        InputPair(name="found, farthest along itself and its opposite", first=blown, second=-blown),
    ]


def searched_records(dim: int, *, clip_norm: float) -> Tensor:
    """Return records (R, n): one number in each place, many lengths, so many zeros, so many signs, round constants."""
    generator = torch.Generator().manual_seed(2024)
    places = torch.eye(dim, dtype=torch.float64)[torch.randperm(dim, generator=generator)[:MAX_PLACES]]
    leaning = places + 0.3 * torch.randn(len(places), dim, dtype=torch.float64, generator=generator) / math.sqrt(dim)
    random = torch.randn(3 * LENGTHS, dim, dtype=torch.float64, generator=generator)
    random /= torch.linalg.vector_norm(random, dim=1, keepdim=True)
    inside, outside = torch.linspace(0.02, 1.0, LENGTHS), torch.logspace(0, math.log10(MAX_LENGTH), LENGTHS)
    lengths = torch.cat([inside, outside, torch.logspace(math.log10(MIN_LENGTH), -2, LENGTHS)])
    counts = sorted({max(1, min(dim, round(dim * i / 12))) for i in range(13)})
    order = torch.arange(dim)
    sparse = torch.stack([torch.where(order < count, 1.0, 0.0) / math.sqrt(count) for count in counts]).to(
        torch.float64
    )
    signs = torch.stack([torch.where(order < count, 1.0, -1.0) / math.sqrt(dim) for count in counts]).to(torch.float64)
    constant = torch.tensor(CONSTANTS, dtype=torch.float64)[:, None].expand(-1, dim)
    return clip_norm * torch.cat(
        [places, -places, leaning, -leaning, random * lengths.double()[:, None], sparse, signs, constant]
    )


def _along(records: Tensor, releases: Floats) -> Floats:
    """Return how far releases (k, R, m) of each record lie along it on average; zero where they are of another dimension."""
    units = torch.nn.functional.normalize(records, dim=1, eps=0.0).nan_to_num().numpy()
    if releases.shape[2] != units.shape[1]:
        return np.zeros(len(units))
    along: Floats = (releases.mean(axis=0) * units).sum(axis=1)
    return along


def _spread(releases: Floats) -> Floats:
    """Return how far releases (k, R, m) of each record lie apart, on average, in logarithms."""
    apart = np.abs(np.diff(releases, axis=0)).sum(axis=2).mean(axis=0)
    logs: Floats = np.log(apart + MIN_SPREAD)
    return logs
