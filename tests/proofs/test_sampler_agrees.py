"""The sampler whose tapes were counted in Coq, extracted, and random_bits.py draw the same from the same tapes, and read alike."""

import itertools
import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from proving import needs_coq

from adept.mechanisms import Selection, random_bits
from adept.mechanisms.random_draws import exact_ranks

Words = tuple[int, ...]
Draw = tuple[str, Callable[[], int], int, Words]
"""A question without its words, the program's draw, the bits of a word, and the words."""


class Tape:
    """Words that were decided before; LookupError where it ends."""

    def __init__(self, words: Words, width: int) -> None:
        self.left, self.width = list(words), width

    def bits(self, count: int) -> int:
        assert count == self.width, "another word was asked for"
        return self.left.pop(0)

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.array([self.left.pop(0) for _ in range(count)], dtype=np.uint64)


def drawn(draw: Draw) -> str:
    """Return what the program draws from the tape, and how many words it leaves."""
    _, program, width, words = draw
    tape, kept = Tape(words, width), random_bits.source
    random_bits.source = tape
    try:
        value = program()
    except IndexError:
        return "end"
    finally:
        random_bits.source = kept
    return f"{value:b} {len(tape.left)}"


def below(bound: int, words: Words) -> Draw:
    return f"below {bound:b}", lambda: random_bits.below(bound), (bound - 1).bit_length(), words


def remainder(bits: int, bound: int, words: Words) -> Draw:
    return f"remainder {bits:b} {bound:b}", lambda: int(random_bits.below_each(bound, 1)[0]), bits, words


def rank(near: int, far: int, heavy: int, light: int, words: Words) -> Draw:
    bits = (near * heavy + far * light - 1).bit_length()
    said = f"rank {near:b} {far:b} {heavy:b} {light:b}"
    return said, lambda: exact_ranks(1, near=near, far=far, odds=(heavy, light))[0], bits, words


def short_tapes(bits: int, length: int = 2) -> Iterator[Words]:
    """Return all tapes of so many words."""
    return itertools.product(range(2**bits), repeat=length)


def all_small() -> Iterator[Draw]:
    """Return all draws from all short tapes, for small bounds and weights."""
    for bound in range(2, 17):
        yield from (below(bound, words) for words in short_tapes((bound - 1).bit_length()))
    for bits, bound in itertools.product((2, 3, 4), (2, 3, 4, 5, 7, 11, 16)):
        if bound <= 2**bits:
            yield from (remainder(bits, bound, words) for words in short_tapes(bits))
    for near, far, heavy, light in itertools.product((1, 2, 3), (1, 3), (1, 2, 3), (1, 2)):
        bits = (near * heavy + far * light - 1).bit_length()
        yield from (rank(near, far, heavy, light, words) for words in short_tapes(bits))


def some_large(count: int = 1000) -> Iterator[Draw]:
    """Return draws as releases make them: words of 64 bits, and weights of 2^64 and more; the ends of the range occur too."""
    random_bits = random.Random(50)
    for _ in range(count):
        bound = random_bits.randrange(2, 2**63)
        near, far, light = random_bits.randrange(1, 50), random_bits.randrange(1, 10**6), 2**64
        heavy = light + random_bits.getrandbits(80)
        total = near * heavy + far * light
        edges = [0, 1, near * heavy - 1, near * heavy, near * heavy + light, total - 1, total]
        words = [
            random_bits.choice(edges)
            if random_bits.random() < 0.3
            else random_bits.getrandbits((total - 1).bit_length())
            for _ in range(3)
        ]
        yield rank(near, far, heavy, light, tuple(words))
        ends = [0, bound - 1, 2**64 % bound, 2**64 % bound - 1, 2**64 - 1]
        yield remainder(
            64, bound, tuple(max(0, random_bits.choice([*ends, random_bits.getrandbits(64)])) for _ in range(3))
        )
        bits = (bound - 1).bit_length()
        yield below(
            bound,
            tuple(
                random_bits.choice([bound - 1, min(bound, 2**bits - 1), random_bits.getrandbits(bits)])
                for _ in range(3)
            ),
        )


@needs_coq
def test_both_find_the_same_number_among_the_others(driver: Path) -> None:
    """The extracted program adds it up and searches for it; `Selection.place` is the function that runs."""
    owns = [own for top in range(1, 6) for own in itertools.combinations(range(7), top)]
    asked = [(own, place) for own in owns for place in range(7 - len(own))]
    lines = "".join(" ".join([f"other {place:b}", *(f"{number:b}" for number in own)]) + "\n" for own, place in asked)
    answers = subprocess.run([driver], input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
    found = [[int(number, 2) for number in answer.split()] for answer in answers]

    def placed(own: tuple[int, ...], place: int) -> int:
        selection = Selection(epsilon=1.0, size=7, heavy_count=len(own))
        return int(selection.place(torch.tensor([own]), torch.tensor([len(own) + place])))

    assert found == [[placed(own, place)] * 2 for own, place in asked]


@needs_coq
def test_both_draw_the_same_from_the_same_tapes(driver: Path) -> None:
    draws = [*all_small(), *some_large()]
    asked = "".join(" ".join([draw[0], *(f"{word:b}" for word in draw[3])]) + "\n" for draw in draws)
    answers = subprocess.run([driver], input=asked, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(answers) == len(draws) > 8000
    assert [draw[0] for draw, answer in zip(draws, answers, strict=True) if drawn(draw) != answer] == []
    assert 100 < answers.count("end") < len(draws) / 2
