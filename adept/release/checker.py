"""Check the certificate of a release: do its public numbers imply the stated privacy, and are output and model the ones meant.

One file, the standard library only: ``python checker.py OUTPUT.privacy.json [output=OUTPUT] [model_dir=DIR]``.

What it shows: any two records' outputs are as likely up to a factor of e^epsilon, but for delta, if they are drawn with the stated
weights and scales (by integers and fractions; for Gaussian noise in decimals of 700 digits); that the statement was not changed by
accident; that output and model are those that it names. ``adept/mechanisms/certificate.py`` explains the numbers.
"""

import hashlib
import json
import re
import sys
from decimal import Decimal, localcontext
from fractions import Fraction
from math import isqrt
from pathlib import Path
from typing import Any

Json = dict[str, Any]

ENDING, WEIGHTS = ".privacy.json", "model.safetensors"
GRID_BITS, SERIES_BITS, MOST_TERMS = 20, 128, 10**4
DECIMALS = 700  # of Gaussian tails, the smallest of which are about 10^-360
BEYOND = (
    "It cannot show that this program drew the release, that the text was written from the release alone, that model and codec "
    "come from public text, or what shuffling adds. Whoever can change the statement can write another certificate."
)


class Refused(Exception):
    """What is wrong, in a sentence."""


def check(statement: str, output: str | None = None, model_dir: str | None = None) -> list[str]:
    """Return what was shown, in sentences, of OUTPUT.privacy.json, the output (by default the file beside it) and the model.

    Raises:
        Refused: what is wrong. (OSError: a file cannot be read.)
    """
    try:
        said = json.loads(Path(statement).read_text("utf-8"))
        if "certificate" not in said or said["certificate"] is None:
            why = "it is of a version that wrote none, or its mechanism is no exact arithmetic with a finite epsilon"
            raise Refused(f"{statement} has no certificate: {why}")
        _same(statement_sha256(said), said["certificate"]["statement_sha256"], "the statement was changed")
        shown = [_implied(said, said["certificate"]["parts"])]
        beside = statement.removesuffix(ENDING)
        output = output or (beside if beside != statement and Path(beside).is_file() else None)
        shown.append(_file("output", output, said["output_sha256"]))
        return [*shown, _file("model", model_dir and _weights(Path(model_dir)), said["model_sha256"]), BEYOND]
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise Refused(f"{statement} is no statement, or damaged ({type(error).__name__})") from None


def statement_sha256(said: Json) -> str:
    """The digest of everything that a statement says, but for the digest itself."""
    rest = {key: value for key, value in said.items() if key != "certificate"} | {"": said["certificate"]["parts"]}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode("ascii")).hexdigest()


def _implied(said: Json, parts: list[Json]) -> str:
    """Do the parts imply every number about privacy."""
    for part in parts:
        {"symbols": _symbols, "discrete_laplace": _laplace, "discrete_gaussian": _gaussian}[part["kind"]](said, part)
    of, people, central = [part["of"] for part in parts], said["max_records_per_person"], said["trust"] == "central"
    epsilon, delta = (sum(_number(part.get(name, "0")) for part in parts) for name in ("epsilon", "delta"))
    stated: dict[str, Fraction | int] = {"epsilon": epsilon, "delta": delta}
    if people is not None:
        stated |= {f"person_{name}": (1 if central else people) * exact for name, exact in stated.items()}
    if of[-1] == "label":
        stated |= {"label_epsilon": _number(parts[-1]["epsilon"])}
    if of[0] in ("text", "counts"):
        stated |= {"text_epsilon": epsilon - stated.get("label_epsilon", 0)}
    for name, exact in stated.items():  # floats that were rounded up once
        if not exact <= Fraction(said[name]) <= exact * (1 + Fraction(1, 2**50)):
            raise Refused(f"{name} is {said[name]}, which is not what the certificate implies")
    foreign = said["simulated"] or "label" in (of[0], *of[:-1]) or central != (of == ["counts"])
    if foreign or not 0 <= (said["central_epsilon"] or 0) <= said["epsilon"]:
        raise Refused("the certificate is not of this release")
    _same(said["claimed_epsilon"] >= said["epsilon"], said["holds"], "claimed_epsilon and holds contradict each other")
    return f"The numbers imply epsilon {said['epsilon']} and delta {said['delta']} for {said['neighbours']}."


def _symbols(said: Json, part: Json) -> None:
    """A / B <= e^epsilon, and what the halves of a pair tell alone."""
    size, top, heavy, light = (int(_number(part[name])) for name in ("size", "top", "heavy", "light"))
    total, of = top * heavy + (size - top) * light, part["of"]
    if not (0 < top < size and 0 < light <= heavy):
        raise Refused("some symbols, and not all, must have the larger weight, and every symbol a positive one")
    _same(part["bits"], (total - 1).bit_length(), "bits are not those of a word that holds the weights")
    _at_most_e_to(_number(part["epsilon"]), Fraction(heavy, light), part["terms"], "epsilon")
    labels = 1 if of == "text" else len(said["label_set"])
    texts = 1 if of == "label" else size // labels
    _same((texts * labels, part["labels"] or labels), (size, labels), "the symbols are not those of the label set")
    if of != "text":
        kept = Fraction(top * heavy + (texts - top) * light, total)
        _same(float(kept), said["label_keep_probability"], "label_keep_probability is not that of the weights")
    stated = [said[name] if isinstance(said[name], list) else [said[name]] for name in ("size", "top")]
    if of != "label" and not (texts in stated[0] and top in stated[1]):
        raise Refused("size or top is not the certificate's")
    if of == "text and label":
        text = Fraction(heavy + (labels - 1) * light, labels * light)
        _at_most_e_to(Fraction(said["text_epsilon"]), text, part["terms"], "text_epsilon")
        _at_most_e_to(Fraction(said["label_epsilon"]), kept * total / (texts * light), part["terms"], "label_epsilon")


def _at_most_e_to(epsilon: Fraction, ratio: Fraction, terms: int, name: str) -> None:
    """ratio <= e^epsilon: it is at most the sum of the series' first terms, each rounded down; the others are positive."""
    term = total = 1 << SERIES_BITS
    for count in range(1, min(terms, MOST_TERMS) + 1):
        term = term * epsilon.numerator // (epsilon.denominator * count)
        total += term
    if ratio * (1 << SERIES_BITS) > total:
        raise Refused(f"the weights are further apart than e^{name}")


def _laplace(said: Json, part: Json) -> None:
    """D / b <= epsilon, D the l1 diameter of what is clipped, or how far all votes of a person move the counts."""
    counts, scale, distance = part["of"] == "counts", _number(part["scale"]), int(_number(part["sensitivity"]))
    step = Fraction(1) if counts else _step(said)
    radius, dim = Fraction(said["clip_norm"] or 0) / step, said["dim"] or 0
    moved = counts and {"add_or_remove": 1, "replace": 2}[said["neighbours"]] * (said["max_records_per_person"] or 1)
    diameter = moved or 2 * (int(radius) if said["clip"] == "l1" else isqrt(dim * int(radius**2)))
    stated = Fraction(said["sensitivity"]) / step, Fraction(said["scale"]) / step
    _same((distance, distance, scale), (diameter, *stated), "the noise is not that of the clip, or of the stated scale")
    if distance > scale * _number(part["epsilon"]):
        raise Refused("the noise's scale is too small for its epsilon")


def _gaussian(said: Json, part: Json) -> None:
    """Inequality (**) of adept/mechanisms/gaussian.py: exp(a) (Phi(-low) - e^spent Phi(-high)) + tail <= delta."""
    step, distance, scale, dim = _step(said), _number(part["distance"]), _number(part["scale"]), part["dim"]
    stated = Fraction(said["sensitivity"]) / step, Fraction(said["scale"]) / step, said["dim"]
    found = 2 * Fraction(said["clip_norm"]) / step, distance, scale, dim
    _same(found, (distance, *stated), "the noise is not that of the clip, or of the stated scale")
    with localcontext(prec=DECIMALS):
        fractions = [distance, scale, _number(part["epsilon"]), _number(part["delta"])]
        far, s, epsilon, delta = (Decimal(x.numerator) / x.denominator for x in fractions)
        near, tail = dim / (8 * s**2), delta / 2**21
        reach = far + 2 * s * (dim * Decimal("1.5").ln() - tail.ln()).sqrt()
        spent = epsilon - 2 * near - reach**2 / (8 * s**4)
        low, high = spent * s / far - far / (2 * s), spent * s / far + far / (2 * s)
        if s < 1 or near.exp() * (_upper_tail(low) - spent.exp() * _upper_tail(high)) + tail > delta:
            raise Refused("the noise's scale is too small for its epsilon and delta")


def _upper_tail(x: Decimal) -> Decimal:
    """Phi(-x) = 1/2 - e^(-x^2/2) / sqrt(2 pi) (x + x^3 / 3 + x^5 / 15 + ...), and pi by Gauss and Legendre."""
    term = total = x
    odd, a, b, t, p = 1, Decimal(1), Decimal("0.5").sqrt(), Decimal("0.25"), 1
    while abs(term) > Decimal(10) ** -DECIMALS:
        odd += 2
        term *= x * x / odd
        total += term
    for _ in range(11):
        a, b, t, p = (a + b) / 2, (a * b).sqrt(), t - p * ((a - b) / 2) ** 2, 2 * p
    return Decimal("0.5") - (-x * x / 2).exp() / ((a + b) ** 2 / (2 * t)).sqrt() * total


def _step(said: Json) -> Fraction:
    """The width of the public grid: a power of two, of which clip_norm has 2^20 to 2^21."""
    bits = int(Fraction(said["clip_norm"]) * 2**1074).bit_length()
    return Fraction(2 ** (bits - 1 - GRID_BITS), 2**1074)


def _number(text: str) -> Fraction:
    if not re.fullmatch(r"\d{1,2000}(/\d{1,2000})?", text):
        raise ValueError
    return Fraction(text)


def _same(found: Any, expected: Any, wrong: str) -> None:
    if found != expected:
        raise Refused(wrong)


def _weights(directory: Path) -> str:
    """The weights in a model's directory, or in that of its run."""
    places = [directory / WEIGHTS, directory / "model" / WEIGHTS]
    return str(places[not places[0].is_file() and places[1].is_file()])


def _file(name: str, path: str | None, digest: str) -> str:
    """Compare a file with its digest."""
    if not path:
        return f"The {name} was not looked at: give {'output=FILE' if name == 'output' else 'model_dir=DIR'}."
    with Path(path).open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    _same(found, digest, f"{path} is not the {name} that the statement describes")
    return f"{path} is the {name} that the statement describes."


if __name__ == "__main__":
    try:
        for line in check(sys.argv[1], **dict(argument.split("=", 1) for argument in sys.argv[2:])):
            sys.stdout.write(line + "\n")
    except (Refused, OSError, IndexError, TypeError, ValueError) as error:
        sys.stderr.write(f"refused: {error}\n" if isinstance(error, Refused | OSError) else f"{__doc__}\n")
        sys.exit(2)
