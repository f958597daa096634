"""The checker that was proved sound, extracted from Coq, and verify.py accept and refuse the same certificates.

Most damaged certificates are off by one unit, because anything else is refused for its looks: heavy + 1, light - 1, epsilon one
spacing of floats down, one term less, a scale 2^-24 smaller. Some are moved to the very edge of what is accepted.
"""

import copy
import math
import random
import subprocess
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from proving import needs_coq
from release.statement.test_forged_statements import central
from release.statement.test_verify import LABELS, mechanism, statement

from adept.mechanisms import BY_NAME, Codebook, Description, JointResponse, RandomizedResponse
from adept.mechanisms.central_counts import ADD_OR_REMOVE, REPLACE, Votes
from adept.mechanisms.guarantee import symbols_part
from adept.mechanisms.random_draws import exact_odds, exponential_series
from adept.release.statement import verify as verify_statement
from adept.release.statement.verify import SERIES_BITS

Certificate = tuple[dict[str, Any], dict[str, Any]]
"""A statement, and one part of its certificate."""

BUDGETS = (1e-3, 0.1, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 9.0, 10.0, 12.0, 16.0, 24.0, 32.0)
EXTREMES = (64.0, 100.0, 600.0)
DAMAGED = 10_000
SMALLEST = 1074  # floats are multiples of 2^-1074


def genuine(budgets: tuple[float, ...]) -> Iterator[Certificate]:
    """Return the parts of all exact mechanisms but the Gaussian ones, which are no part of the proof."""
    for epsilon in budgets:
        made = [
            statement(mechanism(name, epsilon=epsilon))
            for name in BY_NAME
            if name not in ("gaussian", "clamped_gaussian", "random", "identity")
        ]
        made += [
            statement(
                Codebook(epsilon=epsilon, size=64, blocks=1 + (epsilon >= 0.01)),
                RandomizedResponse(epsilon=epsilon, labels=LABELS),
            )
        ]
        made += [
            statement(
                Description(epsilon=epsilon, size=500, top=7),
                RandomizedResponse(epsilon=epsilon, labels=LABELS[:2], theta="lecture"),
            )
        ]
        made += [
            statement(own, JointResponse.of(own, LABELS))
            for own in (mechanism("description", epsilon=epsilon), mechanism("learned_codebook", epsilon=epsilon))
        ]
        made += [statement(mechanism(name, epsilon=epsilon, clip_norm=0.7)) for name in ("l1", "sqrt_n", "original")]
        for relation in (ADD_OR_REMOVE, REPLACE):
            for most in (1, 3):
                made.append(
                    central(votes=Votes(epsilon=epsilon, neighbours=relation, votes_per_person=most), persons=most > 1)
                )
        for said in made:
            for part in (said["certificate"] or {"parts": []})["parts"]:
                yield said, part


def binary(number: int) -> str:
    return f"{number:b}"


def fraction(number: Fraction | str | float) -> str:
    number = Fraction(number)
    return f"{binary(number.numerator)}/{binary(number.denominator)}"


def question(said: dict[str, Any], part: dict[str, Any]) -> str:
    """Return the certificate as the extracted program reads it."""
    if part["kind"] == "symbols":
        of = {"text": "text", "text by label": "text", "label": "label", "text and label": "both"}[part["of"]]
        both = of == "both"
        numbers = [binary(int(part[name])) for name in ("size", "top", "heavy", "light", "bits", "terms")]
        labels = "-" if part["labels"] is None else binary(part["labels"])
        halves = [fraction(said[name] if both else 0) for name in ("text_epsilon", "label_epsilon")]
        return " ".join(
            ["symbols", of, *numbers, labels, fraction(part["epsilon"]), binary(len(said["label_set"] or ())), *halves]
        )
    counts = part["of"] == "counts"
    units = [binary(int(Fraction(said[name] or 0) * 2**SMALLEST)) for name in ("clip_norm", "sensitivity", "scale")]
    whole = [binary(said["dim"] or 0), units[0], str(int(said["neighbours"] == REPLACE))]
    whole += [binary(said["max_records_per_person"] or 1), binary(int(part["sensitivity"]))]
    fractions = [fraction(part["scale"]), fraction(part["epsilon"])]
    return " ".join(["laplace", "counts" if counts else said["clip"], *whole, *fractions, *units[1:]])


def python_accepts(said: dict[str, Any], part: dict[str, Any]) -> bool:
    """Return the verdict of verify.py on the arithmetic."""
    try:
        (verify_statement._symbols if part["kind"] == "symbols" else verify_statement._laplace)(said, part)
    except (verify_statement.Refused, *verify_statement.DAMAGED):
        return False
    return True


def with_keep_probability(said: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """Return the statement with the float that belongs to the part: floats are no matter of the proof."""
    if part["kind"] != "symbols" or part["of"] in ("text", "text by label"):
        return said
    size, top, heavy, light = (int(part[name]) for name in ("size", "top", "heavy", "light"))
    texts = 1 if part["of"] == "label" else size // max(1, len(said["label_set"]))
    total = top * heavy + (size - top) * light
    kept = float(Fraction(top * heavy + (texts - top) * light, total)) if total else None
    return said | {"label_keep_probability": kept}


def driven(driver: Path, certificates: list[Certificate]) -> list[bool]:
    """Return the verdicts of the extracted checker."""
    asked = "".join(question(said, part) + "\n" for said, part in certificates)
    done = subprocess.run([driver], input=asked, capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == len(certificates)
    return [line == "accepted" for line in done.stdout.splitlines()]


def edge(part: dict[str, Any], move: int) -> dict[str, Any]:
    """Return the part with the largest heavy weight that its series allows, moved by so many units."""
    epsilon, total = Fraction(part["epsilon"]), 0
    term = total = 1 << SERIES_BITS
    for count in range(1, min(part["terms"], verify_statement.MAX_TERMS) + 1):
        term = term * epsilon.numerator // (epsilon.denominator * count)
        total += term
    size, top, light = int(part["size"]), int(part["top"]), int(part["light"])
    heavy = (total * light >> SERIES_BITS) + move
    bits = (top * heavy + (size - top) * light - 1).bit_length()
    return part | {"heavy": str(heavy), "bits": bits}


def epsilon_moved(part: dict[str, Any], up: bool) -> dict[str, Any]:
    """Return the part with epsilon one spacing of floats up or down."""
    near = float(Fraction(part["epsilon"]))
    return part | {"epsilon": str(Fraction(math.nextafter(near, math.inf if up else 0.0)))}


def off_by_one(said: dict[str, Any], part: dict[str, Any], draw: random.Random) -> Certificate:
    """Return a certificate with one number moved by one unit, or two of them."""
    step = draw.choice((1, -1))
    if part["kind"] == "symbols":
        name = draw.choice(
            (
                "edge",
                "edge",
                "epsilon",
                "terms",
                "size",
                "top",
                "heavy",
                "light",
                "bits",
                "labels",
                "text_epsilon",
                "label_epsilon",
                "label_set",
            )
        )
        if name == "edge":
            return said, edge(part, draw.choice((0, 0, 1)))
        if name == "epsilon":
            moved = epsilon_moved(part, step > 0)
            return said, edge(moved, 0) if draw.random() < 0.5 else moved
        if name in ("terms", "bits"):
            moved = part | {name: part[name] + step}
            return said, edge(moved, 0) if name == "terms" and draw.random() < 0.5 else moved
        if name == "labels":
            return said, part | {"labels": None if part["labels"] is None else part["labels"] + step}
        if name in ("text_epsilon", "label_epsilon"):
            value = said[name]
            return (
                (said | {name: math.nextafter(value, 0.0 if step < 0 else math.inf)}, part)
                if isinstance(value, float)
                else (said, edge(part, step))
            )
        if name == "label_set":
            labels = said["label_set"] or list(LABELS)
            return said | {"label_set": [*labels, "one more"] if step > 0 else labels[:-1]}, part
        moved = part | {name: str(int(part[name]) + step)}
        size, top, heavy, light = (int(moved[key]) for key in ("size", "top", "heavy", "light"))
        bits = max(0, top * heavy + (size - top) * light - 1).bit_length()
        return said, moved | {"bits": bits if draw.random() < 0.8 else part["bits"]}
    name = draw.choice(("scale", "scale", "epsilon", "sensitivity", "clip_norm", "dim", "votes", "relation", "said"))
    unit = Fraction(said["scale"]) / Fraction(part["scale"])
    if name == "scale":
        scale = Fraction(part["scale"]) * (1 + Fraction(step, 2**24))
        return said | {"scale": float(scale * unit)}, part | {"scale": str(Fraction(float(scale * unit)) / unit)}
    if name == "epsilon":
        return said, epsilon_moved(part, step > 0)
    if name == "sensitivity":
        moved = int(part["sensitivity"]) + step
        return said | {"sensitivity": float(moved * unit)}, part | {"sensitivity": str(moved)}
    if name == "clip_norm" and said["clip_norm"]:
        return said | {"clip_norm": math.nextafter(said["clip_norm"], math.inf if step > 0 else 0.0)}, part
    if name == "dim" and said["dim"]:
        return said | {"dim": said["dim"] + step}, part
    if name == "relation":
        return said | {"neighbours": REPLACE if said["neighbours"] != REPLACE else ADD_OR_REMOVE}, part
    if name == "said":
        field = draw.choice(("scale", "sensitivity"))
        return said | {field: math.nextafter(said[field], math.inf if step > 0 else 0.0)}, part
    return said | {"max_records_per_person": (said["max_records_per_person"] or 1) + 1}, part


def at_random(said: dict[str, Any], part: dict[str, Any], draw: random.Random) -> Certificate:
    """Return a certificate with one number replaced by a small, a near or a huge one."""
    names = (
        ("size", "top", "heavy", "light", "bits", "terms", "epsilon")
        if part["kind"] == "symbols"
        else ("sensitivity", "scale", "epsilon")
    )
    name = draw.choice(names)
    old = Fraction(part[name])
    new = draw.choice(
        (
            Fraction(draw.randrange(4)),
            Fraction(draw.getrandbits(70)),
            old * 2,
            old / 2,
            old * Fraction(draw.randrange(1, 2000), 1000),
        )
    )
    whole = name not in ("scale", "epsilon")
    return said, part | {name: int(new) if isinstance(part[name], int) else str(int(new) if whole else new)}


def damaged(certificates: list[Certificate], count: int, seed: int = 2026) -> Iterator[Certificate]:
    """Return so many damaged certificates, four of five off by one unit."""
    draw = random.Random(seed)
    for place in range(count):
        said, part = copy.copy(draw.choice(certificates))
        yield (at_random if place % 5 == 0 else off_by_one)(said, part, draw)


@needs_coq
def test_both_accept_the_certificates_of_every_exact_mechanism_at_every_budget(driver: Path) -> None:
    certificates = list(genuine((*BUDGETS, *EXTREMES)))
    assert len(certificates) > 200
    assert {part["of"] for _, part in certificates} == {"text", "label", "text and label", "counts"}
    assert all(python_accepts(said, part) for said, part in certificates)
    assert all(driven(driver, certificates))


@needs_coq
def test_both_agree_on_ten_thousand_damaged_certificates(driver: Path) -> None:
    certificates = [
        (with_keep_probability(said, part), part) for said, part in damaged(list(genuine(BUDGETS)), DAMAGED)
    ]
    expected = [python_accepts(said, part) for said, part in certificates]
    found = driven(driver, certificates)
    differing = [question(*it) for it, one, other in zip(certificates, expected, found, strict=True) if one != other]
    assert differing == []
    assert DAMAGED / 10 < sum(found) < DAMAGED * 9 / 10, "both verdicts must occur often, or agreeing is easy"


@needs_coq
@pytest.mark.parametrize("epsilon", [0.0, 1e-3, 0.7, 8.0, 40.0])
def test_one_unit_decides(epsilon: float, driver: Path) -> None:
    """The largest heavy weight that the series allows is accepted, and one more is refused, by both."""
    exact = Fraction(epsilon)
    part = symbols_part("text", epsilon=exact, size=50, top=3, odds=exact_odds(exact))
    said = statement(Description(epsilon=max(epsilon, 1e-3), size=50, top=3))
    assert edge(part, 0)["heavy"] == str(exponential_series(exact)[0] * 2**64 >> SERIES_BITS)
    certificates = [(said, edge(part, move)) for move in (0, 1)]
    assert [python_accepts(*it) for it in certificates] == driven(driver, certificates) == [True, False]
