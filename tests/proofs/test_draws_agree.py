"""The draws of ``proofs/Draws.v``, extracted, and the functions that run give the same from the same tapes, and read alike.

Each comparison draws 10^6 times with the function of the package, and compares results and the number of words that are left.
Single draws read one long tape in turn, so it holds as many tapes as there are draws. Numbers that NumPy draws at once share
a tape: 10^6 numbers of noise stand on 22,000 tapes, and ``make hours`` draws from 10^6 tapes for one value each.
"""

import itertools
import math
import random
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from proving import needs_coq

from adept.mechanisms import (
    Description,
    JointResponse,
    RandomizedResponse,
    Selection,
    clip_to_grid,
    discrete_laplace,
    random_draws,
)
from adept.rewriting.alphabets import Alphabet, Pairs
from adept.synthesis.votes import NO_TEXT, Tally

DRAWS = 1_000_000
SINGLE_NOISE = 20_000  # draws of noise for one value each
SUCCESSES = (0, 1, 8, 9, 10, 11, 17, 18, 40, 100, 999, 4_567, 10_000)  # in a row; 9 coins are thrown at once

Numbers = Sequence[int]
Case = tuple[str, Callable[[], Iterable[int]], "Tape"]


class Tape:
    """Words that were decided before, in place of the operating system's; IndexError where the tape ends."""

    def __init__(self, words: Iterable[int], width: int) -> None:
        self.all, self.width, self.read = list(words), width, 0

    def bits(self, count: int) -> int:
        assert count == self.width, "another word was asked for"
        self.read += 1
        return self.all[self.read - 1]

    def words(self, count: int) -> NDArray[np.uint64]:
        if (start := self.read) + count > len(self.all):
            raise IndexError
        self.read += count
        return np.array(self.all[start : self.read], dtype=np.uint64)


@contextmanager
def reading(tape: Tape) -> Iterator[None]:
    """Let every sampler read this tape."""
    tape.read = 0
    kept, random_draws.source = random_draws.source, tape  # type: ignore[assignment]
    try:
        yield
    finally:
        random_draws.source = kept


def shown(values: Iterable[int]) -> str:
    return " ".join([f"{value:b}" for value in values])


def question(name: str, *groups: Iterable[int]) -> str:
    """Return one line for the extracted program: groups of numbers."""
    return ",".join([name, *map(shown, groups)])


def answers(driver: Path, questions: Iterable[str]) -> Iterator[str]:
    asked = "\n".join(questions) + "\n"
    yield from subprocess.run([driver], input=asked, capture_output=True, text=True, check=True).stdout.splitlines()


def answer(case: Case) -> str:
    """Return what the function of the package draws from the tape, and how many words it leaves."""
    _, program, tape = case
    try:
        with reading(tape):
            return f"{shown(program())} {len(tape.all) - tape.read}"
    except IndexError:
        return "end"


def compare(driver: Path, cases: Iterable[Case]) -> int:
    """Fail if a function of the package and the extracted program differ on a tape; return how many tapes end too early."""
    cases = list(cases)
    expected = list(answers(driver, (f"{asked},{shown(tape.all)}" for asked, _, tape in cases)))
    assert [case[0][:200] for case, said in zip(cases, expected, strict=True) if answer(case) != said] == []
    return expected.count("end")


def random_words(draw: random.Random, bits: int, count: int, edges: Numbers = ()) -> list[int]:
    """Return words of so many bits, one in ten of them at an edge."""
    ends = [edge for edge in edges if 0 <= edge < 2**bits] or [0]
    return [draw.choice(ends) if draw.random() < 0.1 else draw.getrandbits(bits) for _ in range(count)]


def selections() -> list[Selection]:
    """Return small lists, where each word occurs, and lists and weights as releases have them."""
    small = [
        Selection(epsilon=3.0, size=size, heavy_count=top, weights=weights)
        for size, top in [(2, 1), (3, 2), (5, 1), (5, 3), (7, 4), (9, 8)]
        for weights in [(1, 1), (3, 1), (5, 2), (20, 1)]
    ]
    return [
        *small,
        Selection(epsilon=1.0, size=20_000, heavy_count=3),
        Selection(epsilon=8.0, size=2**40, heavy_count=30),
    ]


def own_indices(draw: random.Random, selection: Selection, count: int) -> list[list[int]]:
    """Return heavy indices for some records, in any order; the first and the last index are often among them."""
    size, top = selection.size, selection.heavy_count
    near = [0, 1, size // 2, size - 1] if size > 20 else range(size)
    found = [{draw.choice(near), draw.randrange(size)} for _ in range(count)]
    for own in found:
        while len(own) > top:
            own.pop()
        while len(own) < top:
            own.add(draw.randrange(size))
    return [draw.sample(sorted(own), top) for own in found]


def edges_of(selection: Selection) -> list[int]:
    heavy, light = selection.odds
    border = selection.heavy_count * heavy
    return [
        0,
        1,
        heavy - 1,
        heavy,
        border - 1,
        border,
        border + light - 1,
        border + light,
        selection.total - 1,
        selection.total,
    ]


def tape_of(draw: random.Random, selection: Selection, records: int) -> Tape:
    bits = (selection.total - 1).bit_length()
    count = records * 5 * 2**bits // (4 * selection.total) + 200
    return Tape(random_words(draw, bits, count, edges_of(selection)), bits)


def sorted_rows(rows: list[list[int]]) -> Iterator[int]:
    return (number for row in rows for number in sorted(row))


@needs_coq
def test_a_symbol_is_drawn_alike(driver: Path) -> None:
    def cases() -> Iterator[Case]:
        draw = random.Random(1)
        found = selections()
        for place, selection in enumerate(found):
            count = 5_000 if place >= len(found) - 2 else DRAWS // (len(found) - 2)
            own = own_indices(draw, selection, count)
            sizes = [selection.size, *selection.odds, selection.heavy_count]
            asked = question("symbols", sizes, sorted_rows(own))
            yield asked, lambda s=selection, own=own: s.draw(own).tolist(), tape_of(draw, selection, count)  # type: ignore[misc]

    compare(driver, cases())


class Numbered(Alphabet):
    """An alphabet whose texts are the numbers of its entries."""

    def __init__(self, selection: Selection) -> None:
        self.selection = selection

    def heavy(self, texts: Sequence[str], labels: object = None) -> torch.Tensor:
        return torch.tensor([[int(number) for number in text.split()] for text in texts])

    def write(self, numbers: torch.Tensor, *, samples: int) -> list[tuple[str, str | None]]:
        return [(str(number), None) for number in numbers.tolist() for _ in range(samples)]


@needs_coq
def test_a_pair_of_text_and_label_is_drawn_alike(driver: Path) -> None:
    """`Pairs` is what a release runs."""

    def pairs(size: int, top: int, labels: int, weights: tuple[int, int] | None, count: int) -> Case:
        draw, names = random.Random(size), tuple(f"label {place}" for place in range(labels))
        joint = JointResponse(mechanism=Description(epsilon=1.5, size=size, top=top), labels=names)
        alphabet = Pairs(Numbered(joint.text.selection), joint)
        alphabet.selection = replace(joint.selection, weights=weights)
        own = [draw.sample(range(size), top) for _ in range(count)]
        places = [draw.randrange(labels) for _ in range(count)]

        def program() -> Iterator[int]:
            heavy = alphabet.heavy([" ".join(map(str, row)) for row in own], [names[place] for place in places])
            for text, label in alphabet.write(alphabet.selection.draw(heavy), samples=1):
                yield from (int(text), names.index(str(label)))

        asked = question("pairs", [size, labels, *alphabet.selection.odds, top], sorted_rows(own), places)
        return asked, program, tape_of(draw, alphabet.selection, count)

    small = [(2, 1, 2, (1, 1)), (3, 2, 2, (4, 1)), (4, 1, 3, (3, 2)), (5, 3, 4, (2, 1)), (7, 4, 2, (4, 1))]
    compare(driver, [pairs(*sizes, DRAWS // len(small)) for sizes in small])
    compare(driver, [pairs(30, 7, 5, None, DRAWS // 100)])


@needs_coq
def test_mechanisms_of_labels_and_pairs_draw_alike(driver: Path) -> None:
    draw, labels = random.Random(3), ("a", "b", "c", "d", "e")
    places = [draw.randrange(5) for _ in range(DRAWS // 50)]
    response = RandomizedResponse(epsilon=1.0, labels=labels)
    asked = question("symbols", [5, *response.odds, 1], places)
    tape = tape_of(draw, response.selection, len(places))
    one = (asked, lambda: [labels.index(label) for label in response.privatize([labels[p] for p in places])], tape)
    joint = JointResponse(mechanism=Description(epsilon=2.0, size=6, top=2), labels=labels)
    numbers = [draw.randrange(6) for _ in places]
    own = [sorted({number, (number + 1) % 6}) for number in numbers]
    asked = question("pairs", [6, 5, *joint.selection.odds, 2], sorted_rows(own), places)
    given = [(number, labels[place]) for number, place in zip(numbers, places, strict=True)]

    def program() -> Iterator[int]:
        for number, label in joint.privatize(given):
            yield from (number, labels.index(label))

    compare(driver, [one, (asked, program, tape_of(draw, joint.selection, len(places)))])


@needs_coq
def test_numbers_below_a_bound_are_drawn_alike(driver: Path) -> None:
    def cases() -> Iterator[Case]:
        draw = random.Random(4)
        for bits, bound in [(2, 3), (3, 1), (3, 5), (4, 4), (5, 17), (6, 33), (64, 3), (64, 2**58 + 1), (64, 2**63)]:
            count = 4_000 if bits == 64 else 170_000
            edges = [0, 2**bits % bound, 2**bits % bound - 1, bound, 2**bits - 1]
            for times in [count // 20] * 20 + [0, 1, 2, 3] * 25:
                tape = Tape(random_words(draw, bits, 3 * times + 60, edges), bits)
                yield (
                    question("each", [bits, bound, times]),
                    lambda bound=bound, times=times: random_draws.below_each(bound, times).tolist(),  # type: ignore[misc]
                    tape,
                )

    compare(driver, cases())


@needs_coq
def test_one_number_below_a_bound_is_drawn_alike(driver: Path) -> None:
    draw, tapes = random.Random(5), []
    for bound in range(2, 41):
        bits = (bound - 1).bit_length()
        tapes += [(bound, random_words(draw, bits, 3, [0, bound - 1, bound])) for _ in range(DRAWS // 39 + 1)]
    found = answers(driver, (f"below {bound:b} {shown(words)}" for bound, words in tapes))
    for (bound, words), said in zip(tapes, found, strict=True):
        case = ("", lambda bound=bound: [random_draws.below(bound)], Tape(words, (bound - 1).bit_length()))
        assert answer(case) == said  # type: ignore[arg-type]


def noise_case(words: Iterable[int], width: int, *, t: int, shift: int, values: Numbers) -> Case:
    scale = float(Fraction(t, 2**shift))
    return (
        question("noisy", [width, t, shift], values),
        lambda: discrete_laplace.exact_laplace(torch.tensor(values, dtype=torch.int64), scale=scale).tolist(),
        Tape(words, width),
    )


def noise_cases(seed: int, counts: Iterable[int]) -> Iterator[Case]:
    """Return draws of noise for so many values each; words of few bits let every branch be taken."""
    draw = random.Random(seed)
    for count in counts:
        width = draw.choice((3, 4, 5, 8, 12))
        shift = draw.choice((0, 0, 1, 2, 5))
        t = draw.randrange(1, min(2**width, 40)) | (1 if shift else 0)
        values = [draw.choice((0, 1, -1, draw.randrange(-50, 50))) for _ in range(count)]
        yield noise_case(random_words(draw, width, 25 * count + 150), width, t=t, shift=shift, values=values)


@needs_coq
def test_noise_is_drawn_alike(driver: Path) -> None:
    """10^6 numbers for 500 values at once, and single ones; the tape ends for some."""
    assert compare(driver, noise_cases(6, [500] * (DRAWS // 500))) < DRAWS // 10_000
    assert 10 < compare(driver, noise_cases(7, [1, 2] * (SINGLE_NOISE // 2))) < SINGLE_NOISE // 5


@needs_coq
@pytest.mark.hours
def test_noise_for_one_value_is_drawn_alike(driver: Path) -> None:
    for seed in range(DRAWS // SINGLE_NOISE):
        compare(driver, noise_cases(100 + seed, [1] * SINGLE_NOISE))


def run_of(successes: int, width: int, *, t: int, sign: int, count: int = 9) -> list[int]:
    """Return words for a part 0, so many coins that are true with probability 1 / e, one that is false, and a sign.

    Parts and coins are drawn ``count`` at once. A part of 0 reads a word for itself, and one for its trial 1, which fails. The
    trials 2 and 3 of a true coin succeed and fail (words 0 and 1), and the trial 2 of a false coin fails (word 1).
    """
    words = [(2**width - 1) // t * t] * (2 * count * (t > 1))
    coins = [True] * successes + [False]
    for start in range(0, len(coins), count):
        batch = coins[start : start + count]
        words += [0 if coin else 1 for coin in batch] + [1] * (count - len(batch))
        words += [1 for coin in batch if coin]
    return [*words, sign]


@needs_coq
def test_noise_has_no_end(driver: Path) -> None:
    """A success more is a scale more, for up to 10,000 in a row: whatever cuts the noise off sooner makes epsilon infinite."""
    scales = [(8, 1, 0), (8, 5, 1), (64, 2**24 - 1, 20), (64, 2**58, 0)]
    cases = [
        noise_case(run_of(successes, width, t=t, sign=sign), width, t=t, shift=shift, values=[value])
        for (width, t, shift), successes, sign, value in itertools.product(scales, SUCCESSES, (0, 1), (0, 7))
        if successes or not sign
    ]
    assert compare(driver, cases) == 0
    found = [
        int(answer(case).split()[0], 2) for case in cases if case[0].startswith(("noisy,1000 1 0", "noisy,1000 101 1"))
    ]
    sizes = [sign * scale * run for scale in (1, 2.5) for run in SUCCESSES for sign in (1, -1) if run or sign == 1]
    assert found == [math.trunc(size) + value for size in sizes for value in (0, 7)]


@needs_coq
def test_latents_move_to_the_grid_alike(driver: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Latents a few steps outside, as floats leave them: `to_grid` runs without its clip in floats, which would hide its loop."""
    monkeypatch.setattr(clip_to_grid, "clip_latents", lambda latents, **_: latents)
    draw = random.Random(8)
    for clip, clip_norm in [("l1", 1.0), ("l1", 0.7), ("l2", 1.0), ("sphere", 3.3)]:
        radius, step = clip_to_grid.grid_radius(clip_norm, clip=clip), clip_to_grid.grid_step(clip_norm)
        rows = [outside(draw, radius, l1=clip == "l1") for _ in range(DRAWS // 4)]
        latents = torch.tensor(rows, dtype=torch.float64) * (step / 8)
        units = clip_to_grid.to_grid(latents, clip=clip, clip_norm=clip_norm).tolist()
        asked = (question("grid", [clip == "l1", radius], row, [8] * len(row)) for row in rows)
        wrong = [
            row for row, found, said in zip(rows, units, answers(driver, asked), strict=True) if shown(found) != said
        ]
        assert wrong == []


def outside(draw: random.Random, radius: int, *, l1: bool) -> list[int]:
    """Return numbers in eighths of a grid step, whose norm is some steps below or above the radius."""
    most = radius if l1 else math.isqrt(radius)
    first, second = draw.choice((0, 1, draw.randrange(most // 2))), draw.randrange(most // 2)
    last = radius - first - second if l1 else math.isqrt(radius - first**2 - second**2)
    eighths = [8 * value + draw.randrange(8) for value in (first, second, last + draw.randrange(-2, 6))]
    return [draw.choice((1, -1)) * value for value in draw.sample(eighths, 3)]


@needs_coq
def test_votes_are_counted_alike(driver: Path) -> None:
    """10^6 rows in files of ten; some name no person, and some have no vote."""
    draw, cells = random.Random(9), 4
    files = [
        (draw.randrange(1, 4), draw.choices(range(-1, 4), k=10), draw.choices(range(NO_TEXT, cells), k=10))
        for _ in range(DRAWS // 10)
    ]
    asked = (question("tally", [most, cells], persons, votes) for most, persons, votes in files)
    for (most, persons, votes), said in zip(files, answers(driver, asked), strict=True):
        tally, split = Tally(cells, votes_per_person=most), draw.randrange(10)
        names = [None if person < 0 else f"person {person}" for person in persons]
        tally.add(votes[:split], names[:split])
        tally.add(votes[split:], names[split:])
        assert shown(tally.counts.tolist()) == said
