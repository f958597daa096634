"""Sound mechanisms with a memory: permanent responses, one object a person, budgets that run out, states that drift.

Each keeps its claim for a record and an object that was not asked before. What a caller declares `memoised` is judged by releases
of fresh copies. Undeclared, a state may be mistaken for noise that records share, but not that of these.
"""

import math
from typing import Any

import numpy as np
import torch
from audit.protocols import KRR, UnaryEncoding
from audit.sound import EPSILON, ball, laplace, noise, sound
from numpy.typing import NDArray
from torch import Tensor


class OnVectors:
    """Claims epsilon for every record, and adds the noise that this takes."""

    epsilon = EPSILON

    def privatize(self, x: Tensor) -> Tensor:
        return sound(x)


class RemembersRecords(OnVectors):
    """Answers a record that it has seen with its release from before."""

    def __init__(self) -> None:
        self.memory: dict[bytes, Tensor] = {}

    def privatize(self, x: Tensor) -> Tensor:
        return torch.cat([self.memory.setdefault(row.numpy().tobytes(), sound(row)) for row in x.split(1)])


class RemembersRoundedRecords(RemembersRecords):
    """Answers a record near to one that it has seen with that one's release."""

    def privatize(self, x: Tensor) -> Tensor:
        return super().privatize((1e3 * ball(x)).round() / 1e3)


class RemembersTheLastRecords(RemembersRecords):
    """Forgets all but the last four."""

    def privatize(self, x: Tensor) -> Tensor:
        released = super().privatize(x)
        self.memory = dict(list(self.memory.items())[-4:])
        return released


class OnePersonsObject(OnVectors):
    """Belongs to one person: releases its first record, and that release again whatever it is asked."""

    def __init__(self) -> None:
        self.released: dict[int, Tensor] = {}

    def privatize(self, x: Tensor) -> Tensor:
        return self.released.setdefault(x.shape[1], sound(x[:1])).expand(len(x), -1).clone()


class RefusesWhenItsBudgetIsSpent(OnVectors):
    """Releases so many records, and refuses the rest."""

    def __init__(self, records: int = 50) -> None:
        self.left = records

    def privatize(self, x: Tensor) -> Tensor:
        self.left -= len(x)
        if self.left < 0:
            raise ValueError("the budget is spent")
        return sound(x)


class RefusesARecordWhoseBudgetIsSpent(OnVectors):
    """Releases a record three times, and refuses it then; names its set, so that a refusal is an answer."""

    clip = "l2"

    def __init__(self) -> None:
        self.asked: dict[bytes, int] = {}

    def privatize(self, x: Tensor) -> Tensor:
        for row in x:
            self.asked[key] = self.asked.get(key := row.numpy().tobytes(), 0) + 1
            if self.asked[key] > 3:
                raise ValueError("the record's budget is spent")
        return sound(x)


class SaysNothingWhenItsBudgetIsSpent(OnVectors):
    """Releases so many records, and pure noise for the rest."""

    def __init__(self) -> None:
        self.left = 3_000  # spent while one check draws all that it looks at, so no comparison straddles its end

    def privatize(self, x: Tensor) -> Tensor:
        self.left -= len(x)
        return sound(x) if self.left >= 0 else noise(x)


class NumbersItsReleases(OnVectors):
    """Releases a running number beside each release."""

    count = 0

    def privatize(self, x: Tensor) -> Tensor:
        numbers = self.count + torch.arange(len(x), dtype=torch.float64)[:, None]
        self.count += len(x)
        return torch.cat([sound(x), numbers], dim=1)


class AddsMoreAndMoreNoise(OnVectors):
    """Never less than it takes."""

    calls = 0

    def privatize(self, x: Tensor) -> Tensor:
        self.calls += 1
        return ball(x) + (2 - 1 / self.calls) * noise(ball(x))


class OnValues(KRR):
    """k-ary randomised response over eight values."""

    def __init__(self) -> None:
        super().__init__(EPSILON, 8)


class RemembersValues(OnValues):
    """Permanent responses: a value is always answered with its first outcome."""

    def __init__(self) -> None:
        super().__init__()
        self.memory: dict[int, int] = {}

    def privatize(self, values: list[int]) -> list[int]:
        return [self.memory.setdefault(value, super(RemembersValues, self).privatize([value])[0]) for value in values]


class OnePersonsAnswer(OnValues):
    """Belongs to one person: one outcome, whatever it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.answer: list[int] = []

    def privatize(self, values: list[int]) -> list[int]:
        self.answer = self.answer or super().privatize(values[:1])
        return self.answer * len(values)


class PermanentAndInstantaneous(UnaryEncoding):
    """RAPPOR (Erlingsson, Pihur and Korolova 2014): a permanent response to each value, and fresh noise on top of it."""

    def __init__(self) -> None:
        super().__init__(EPSILON, 8)
        self.permanent: dict[int, NDArray[Any]] = {}

    def privatize(self, values: list[int]) -> NDArray[Any]:
        bits = np.stack(
            [self.permanent.setdefault(v, super(PermanentAndInstantaneous, self).privatize([v])[0]) for v in values]
        )
        return np.where(self.random.random(bits.shape) < 0.8, bits, 1 - bits)


class RefusesValuesWhenItsBudgetIsSpent(OnValues):
    """Answers ten values, and refuses the rest."""

    def __init__(self) -> None:
        super().__init__()
        self.left = 10

    def privatize(self, values: list[int]) -> list[int]:
        self.left -= len(values)
        if self.left < 0:
            raise ValueError("the budget is spent")
        return super().privatize(values)


class SharesAHashSeed(OnValues):
    """Draws a public hash function once, and answers the hash of each value."""

    def __init__(self) -> None:
        super().__init__()
        self.order: NDArray[np.int64] = np.random.default_rng().permutation(8)

    def privatize(self, values: list[int]) -> list[int]:
        return self.respond(self.order[np.array(values)] % 4, 4).tolist()


class HasLessNoiseForLaterReports(OnVectors):
    """Broken, though no first release shows it: the more often a record was asked for, the less noise it has."""

    def __init__(self) -> None:
        self.asked: dict[bytes, int] = {}

    def privatize(self, x: Tensor) -> Tensor:
        counts = []
        for row in x:
            self.asked[key] = self.asked.get(key := row.numpy().tobytes(), 0) + 1
            counts.append(self.asked[key])
        c = ball(x)
        return c + 2 * math.sqrt(x.shape[1]) / EPSILON / torch.tensor(counts)[:, None] ** 2 * laplace(*c.shape)


DECLARED = [
    RemembersRecords,
    RemembersRoundedRecords,
    RemembersTheLastRecords,
    OnePersonsObject,
    RefusesWhenItsBudgetIsSpent,
    RefusesARecordWhoseBudgetIsSpent,
    SaysNothingWhenItsBudgetIsSpent,
    NumbersItsReleases,
    AddsMoreAndMoreNoise,
    RemembersValues,
    OnePersonsAnswer,
    PermanentAndInstantaneous,
    RefusesValuesWhenItsBudgetIsSpent,
]
UNDECLARED = [
    OnePersonsObject,
    RefusesWhenItsBudgetIsSpent,
    RefusesARecordWhoseBudgetIsSpent,
    SaysNothingWhenItsBudgetIsSpent,
    AddsMoreAndMoreNoise,
    OnePersonsAnswer,
    RefusesValuesWhenItsBudgetIsSpent,
    SharesAHashSeed,
]
