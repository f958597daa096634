"""Outcomes that ``==`` takes for equal, or cannot compare, are told apart by what a file of them would show.

Three audits of sound mechanisms at confidence 1 - 1e-9: share of false alarms 3e-9.
"""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from audit.asking import failed_of, finds

from adept.audit import Claim
from adept.audit.distinguisher.statistics import parts
from adept.audit.subject.kinds import hashable

WORDS = ["bank", "money", "river", "boat"]
TEXTS = ("a table for two", "the weather on friday")
SYSTEM = random.SystemRandom()
KEEP = math.exp(4.0) / (math.exp(4.0) + 3)


def respond(value: str) -> str:
    return value if SYSTEM.random() < KEEP else SYSTEM.choice([word for word in WORDS if word != value])


@dataclass
class Report:
    """Mutable, so no key of a dictionary; its source is neither compared nor shown."""

    word: str
    source: str = field(default="", repr=False, compare=False)


class Plain:
    """Equal to nothing but itself."""

    def __init__(self, word: str, source: str) -> None:
        self.word, self.source = word, source


class Tagged(str):
    source: str


def tag(value: str) -> Tagged:
    tagged = Tagged(respond(value))
    tagged.source = value
    return tagged


def write(separator: str = " ", end: str = "") -> str:
    return separator.join(SYSTEM.choices(WORDS, k=5)) + end


TELLING: dict[str, Callable[[str], Any]] = {
    "order of a dictionary": lambda v: {word: SYSTEM.randrange(2) for word in (v, *(w for w in WORDS if w != v))},
    "field that is not compared": lambda v: Report(respond(v), v),
    "object without equality": lambda v: Plain(respond(v), v),
    "nested object": lambda v: [Plain(respond(v), v)],
    "bytearray": lambda v: bytearray(v, "ascii"),
    "namespace": lambda v: SimpleNamespace(word=v),
    "attribute of a string": tag,
    "digits of a decimal": lambda v: Decimal(SYSTEM.randrange(4)).quantize(Decimal(1).scaleb(-len(v))),
    "sign of zero": lambda v: math.copysign(0.0, len(v) - 4.5),
}
SPACED: dict[str, Callable[[str], str]] = {
    "double space": lambda text: write("  " if text == TEXTS[0] else " "),
    "newline at the end": lambda text: write(end="\n" * (text == TEXTS[0])),
    "mark without width": lambda text: write("\u200b " if text == TEXTS[0] else " "),
}


@pytest.mark.parametrize("tell", TELLING.values(), ids=TELLING)
def test_what_equality_does_not_see_is_found(tell: Callable[[str], Any]) -> None:
    mechanism = Claim(lambda values: [tell(value) for value in values], epsilon=4.0, alphabet=WORDS)
    assert finds("event", mechanism, trials=2_000)


FORMS: dict[str, Callable[[bool], Any]] = {  # equal, or flattened to equal numbers
    "truth beside one": lambda v: ("x", True if v else 1),
    "float beside integer": lambda v: ("x", 1.0 if v else 1),
    "sign of a zero inside": lambda v: ("x", -0.0 if v else 0.0),
    "list beside tuple": lambda v: ("x", [1] if v else (1,)),
    "set beside frozen set": lambda v: ("x", {1} if v else frozenset({1})),
    "dictionary beside pairs": lambda v: ("x", {1: 2} if v else ((1, 2),)),
    "shape": lambda v: np.zeros((1, 2) if v else (2, 1)),
    "dtype": lambda v: [np.ones(2, dtype=np.float32 if v else np.int64), "x"],
    "string of another library": lambda v: ("x", np.str_("a") if v else "a"),
    "tensor beside array": lambda v: ("x", torch.ones(1) if v else np.ones(1)),
    "field of an object": lambda v: SimpleNamespace(part=[1.0 if v else 1]),
}


@pytest.mark.parametrize("tell", FORMS.values(), ids=FORMS)
def test_types_inside_an_outcome_are_metadata(tell: Callable[[bool], Any]) -> None:
    mechanism = Claim(lambda values: [tell(value == WORDS[0]) for value in values], epsilon=4.0, alphabet=WORDS)
    assert finds("metadata", mechanism, trials=1_000)


def test_types_that_tell_nothing_of_a_record_pass() -> None:
    forms = [*FORMS.values()]
    mechanism = Claim(
        lambda values: [SYSTEM.choice(forms)(SYSTEM.random() < 0.5) for _ in values], epsilon=4.0, alphabet=WORDS
    )
    assert failed_of({"metadata"}, mechanism, trials=1_000, confidence=1 - 1e-9) == set()


def test_numbers_whose_type_depends_on_the_record_now_and_then_are_found() -> None:
    """Half of the answers about one word are floats: the metadata of two single releases do not tell it."""

    def answer(word: str) -> float:
        number = SYSTEM.randrange(4)
        return float(number) if word == WORDS[0] and SYSTEM.random() < 0.5 else number

    mechanism = Claim(lambda values: [answer(value) for value in values], epsilon=4.0, alphabet=WORDS)
    assert finds("event", mechanism, trials=4_000)


@pytest.mark.parametrize("tell", SPACED.values(), ids=SPACED)
def test_spaces_and_signs_of_a_text_are_parts_of_it(tell: Callable[[str], str]) -> None:
    mechanism = Claim(lambda texts: [tell(text) for text in texts], epsilon=4.0)
    assert finds("event", mechanism, pairs=[TEXTS], trials=2_000)


@pytest.mark.parametrize("release", [lambda v: Report(respond(v)), lambda v: Plain(respond(v), "phone")])
def test_objects_that_hold_a_sound_answer_alone_pass(release: Callable[[str], Any], short_games: None) -> None:
    mechanism = Claim(lambda values: [release(value) for value in values], epsilon=4.0, alphabet=WORDS)
    assert failed_of({"event", "batch of one", "metadata"}, mechanism, trials=2_000, confidence=1 - 1e-9) == set()


def test_equal_states_are_one_outcome_and_what_has_none_is_known_by_its_type() -> None:
    assert hashable([Plain("a", "b")]) == hashable([Plain("a", "b")]) != hashable([Plain("a", "c")])
    assert hashable({"a": 1, "b": 2}) != hashable({"b": 2, "a": 1})
    assert hashable(lambda: 0) == hashable(lambda: 1) == ("function",)
    assert hashable(hashable(Decimal("1.0"))) == hashable(Decimal("1.0")) != hashable(Decimal("1.00"))


def test_one_space_between_words_is_no_mark() -> None:
    assert not any("between words" in part for part in parts("a b c") if isinstance(part, tuple))
    assert {("between words", mark) for mark in ("  ", ",", "\n")} <= parts("a  b, c\n")


def test_what_supports_an_outcome_reads_it_as_it_was_released() -> None:
    def supports(report: Any, value: str) -> float:
        return float(report[0].word == value)

    mechanism = Claim(lambda values: [(Report(v), 1) for v in values], epsilon=1.0, alphabet=WORDS, supports=supports)
    assert finds("event", mechanism, trials=1_000)


def test_a_refusal_now_and_then_is_found() -> None:
    def refuse(values: list[str]) -> list[str]:
        if "river" in values and SYSTEM.random() < 0.3:
            raise ValueError("busy")
        return [respond(value) for value in values]

    assert finds("metadata", Claim(refuse, epsilon=1.0, alphabet=WORDS), trials=1_000)
