"""Verify a stranger's statement: the certificate must imply the guarantee, and files must match.

Standard library only: ``python verify.py OUTPUT.privacy.json [output=OUTPUT] [model_dir=DIR]``.

Each *part* of a certificate describes one random draw of a release. The parts must imply that an
output changes a reader's odds between two records by at most the factor e^epsilon, up to delta. The
arithmetic uses integers and fractions, and decimals of 700 digits for Gaussian noise. Other fields
are compared with computed values, or listed as unchecked; ``adept verify`` also compares sentences.
"""

import hashlib
import json
import re
import sys
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from math import isqrt
from pathlib import Path
from typing import Any

Json = dict[str, Any]
Name = str | None

STATEMENT_VERSION = 3  # of the fields: it rises by one if a field is added, removed or redefined
ENDING, WEIGHTS = ".privacy.json", "model.safetensors"
# The files of a model's directory on which a release depends
MODEL_FILES = (
    "config.json", WEIGHTS, "codebooks.safetensors", "tokenizer.json", "synonyms.json", "codec.json", "codec.safetensors",
)  # fmt: skip

BY_LABEL, GRID_BITS, SERIES_BITS, MAX_TERMS = "text by label", 20, 128, 10**4
DECIMALS, FARTHEST = 700, 100  # digits for Gaussian tails, about 10^-360; beyond 100 deviations they are below 10^-2000
MAX_SHOWN = 60  # most characters of a string that are printed
MAX_BYTES, MAX_BRACKETS, MAX_DEPTH, MAX_NUMBER = 2**25, 2**16, 4, 10**320  # no statement is larger or deeper
MAX_DIM, MAX_DIGITS, MAX_BUDGET = 2**11, 1000, 1000  # numbers of a latent; digits of a number; epsilon of a symbol
# All fields of statements, null where they do not apply; ``DROPS`` are of local ones, ``stands_out`` of central ones
FIELDS = (
    "statement_version", "mechanism", "mechanism_options", "claimed_epsilon", "epsilon", "text_epsilon", "label_epsilon", "delta",
    "person_epsilon", "person_delta", "max_records_per_person", "excess", "over_limit", "holds", "exact", "unproved",
    "private_model", "sensitivity", "scale", "dim", "clip", "clip_norm", "size", "top", "codebook_sha256", "unit", "neighbours",
    "not_hidden", "trust", "records", "shuffled_here", "shuffled_records", "shuffled_smallest", "central_epsilon",
    "central_delta", "samples", "labels", "text_column", "label_column", "kept_columns", "label_set", "label_keep_probability",
    "stands_out", "composition", "training_data", "model_sha256", "model_files", "output_sha256", "date", "simulated", "versions",
    "statement", "certificate",
)  # fmt: skip
DROPS = ("excess", "over_limit")  # options by which records of persons are left out
SENTENCES = ("statement", "composition", "not_hidden")
SHUFFLED = ("shuffled_here", "shuffled_records", "shuffled_smallest", "central_epsilon", "central_delta")
# Those fields that no certificate can prove. They are not checked; other fields are checked against them
DECLARED = (
    "mechanism", "mechanism_options", "claimed_epsilon", "max_records_per_person", "labels", "label_set", "kept_columns",
    "codebook_sha256", "records", "samples", "training_data", "date", "versions", "text_column", "label_column",
)  # fmt: skip
INNER_FIELDS = {
    "certificate": ("parts", "statement_sha256"),
    "training_data": ("name", "public", "records", "examples", "packaged"),
    "versions": ("adept-dp", "torch", "opendp", "tokenizers", "python"),
}
PART_FIELDS = {
    "symbols": ("size", "top", "labels", "heavy", "light", "bits", "terms"),
    "discrete_laplace": ("sensitivity", "scale"),
    "discrete_gaussian": ("distance", "dim", "scale", "delta"),
}
REAL = re.compile(r"(\w+_)?(epsilon|delta)|sensitivity|scale|clip_norm|label_keep_probability")  # fields, never whole
DAMAGED = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError, MemoryError)
LIMITS = (
    "This check cannot show that this program drew the release, that the text was written from the release alone, that model "
    "and sentences come from public text, or what shuffling adds. Whoever can change the statement can write another certificate."
)


class Refused(Exception):
    """The error for a statement that must not be trusted; the error's message says why."""


def check(
    statement: str, output: Name = None, model_dir: Name = None, *, restate: Any = None, same: Any = ()
) -> list[str]:
    """Check a statement, the output that it describes (default: the file beside it), and the model.

    The arithmetic of ``adept`` is repeated on purpose, and none of it is imported: so an error of the
    program that writes statements is no error of their check.

    ``restate`` compares all fields with those that adept would write, and returns what it computed. ``same`` maps
    digests of model files to digests of others with the same content. A contradiction raises Refused.
    """
    try:
        said = _read(statement)
        if statement_sha256(said) != (digest := said["certificate"]["statement_sha256"]):
            said = json.loads(json.dumps(said), object_pairs_hook=_with_points)
        _same(statement_sha256(said), digest, "the statement was changed: get the file as it was written")
        shown, unchecked = _implied(said, said["certificate"]["parts"])
        unchecked += [] if is_ours(said) else ["statement_version", *map(quoted, _unknown(said))]
        again = (restate and restate(said)) or {}
        beside = statement.removesuffix(ENDING)
        output = output or (beside if beside != statement and Path(beside).is_file() else None)
        shown += [_file("output", output, said["output_sha256"]), *_model(said, model_dir, dict(same))]
        named = bool(model_dir and said.get("model_files"))
        given = {"output_sha256": output, "model_sha256": model_dir, "model_files": named}
        unchecked += [name for name in given if not given[name]]
        unchecked = [name for name in [*unchecked, *SENTENCES] if name not in again]
        return [*shown, f"Not checked: {', '.join(unchecked)}.", LIMITS]
    except DAMAGED as error:
        reason = f"{path_shown(statement)} is not a statement, or is damaged ({type(error).__name__})"
        raise Refused(f"{reason}: name the file OUTPUT{ENDING} as it was written") from None


def _read(statement: str) -> Json:
    with Path(statement).open("rb") as stream:
        content = stream.read(MAX_BYTES + 1)
    large = f"{path_shown(statement)} is larger or deeper than a statement, or holds a number that none has"
    _same(len(content) > MAX_BYTES or content.count(b"[") + content.count(b"{") > MAX_BRACKETS, False, large)
    said: Json = json.loads(content.decode("utf-8-sig"), object_pairs_hook=_once)
    _same(_is_small(said, 0) and (type(said.get("dim")) is not int or said["dim"] <= MAX_DIM), True, large)
    claim = "its claim is its author's, and no certificate can prove it"
    _same(said.get("unproved"), None, f"{path_shown(statement)} was not checked: {claim}")
    none = "it is of a version that wrote none, or its mechanism is no exact arithmetic with a finite epsilon"
    _same(said.get("certificate") is None, False, f"{path_shown(statement)} has no certificate: {none}")
    missing = set(own_fields(said["trust"] == "central")) - said.keys()
    for name in [*sorted(missing), *_unknown(said)] if is_ours(said) else ():
        raise Refused(f"the field {quoted(name)} is {'missing' if name in missing else 'none of a statement'}")
    return said


def _is_small(value: Any, depth: int) -> bool:
    if isinstance(value, dict | list):
        inside = [one for one in (value.values() if isinstance(value, dict) else value) if type(one) is not str]
        return depth < MAX_DEPTH and len(inside) <= MAX_DIM and all(_is_small(one, depth + 1) for one in inside)
    return not isinstance(value, int | float) or abs(value) < MAX_NUMBER


def own_fields(central: bool) -> tuple[str, ...]:
    """Return the names of all fields of a central statement, or of any other, in order."""
    return tuple(name for name in FIELDS if name not in (DROPS if central else ("stands_out",)))


def _unknown(said: Json) -> list[str]:
    """Return the names of fields that no statement has; a dot stands before the name of an inner field."""
    places: list[tuple[str, Json, Any]] = [("", said, own_fields(said["trust"] == "central"))]
    places += [(f"{name}.", said.get(name) or {}, names) for name, names in INNER_FIELDS.items()]
    for part in said["certificate"]["parts"]:
        places.append(("certificate.parts.", part, {"of", "kind", "epsilon", *PART_FIELDS[part["kind"]]}))
    found = {before + name for before, held, names in places for name in held.keys() - set(names)}
    _same(len(found) > MAX_SHOWN, False, "the statement has too many unknown fields")
    return sorted(found)


def is_ours(said: Json) -> bool:
    """Return True if a statement's version is the version of this module."""
    return type(said.get("statement_version")) is int and said["statement_version"] == STATEMENT_VERSION


def _once(pairs: list[tuple[str, Any]]) -> Json:
    _same(len(fields := dict(pairs)), len(pairs), "a field of the statement stands there twice")
    return fields


def _with_points(pairs: list[tuple[str, Any]]) -> Json:
    """Return an object whose real numbers have a point again: many programs that save JSON write 8 for 8.0."""
    return {name: float(value) if type(value) is int and REAL.fullmatch(name) else value for name, value in pairs}


def statement_sha256(said: Json) -> str:
    """Return the digest of a statement, computed without the digest that the statement holds."""
    rest = {key: value for key, value in said.items() if key != "certificate"} | {"": said["certificate"]["parts"]}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode("ascii")).hexdigest()


def _implied(said: Json, parts: list[Json]) -> tuple[list[str], list[str]]:
    """Check fields against the certificate; return its guarantee and names of unchecked fields."""
    central = _check_kind(said, [part["of"] for part in parts])
    whole = {name: Fraction(0) for name in ("epsilon", "delta")}
    for part, name in ((part, name) for part in parts for name in whole):
        whole[name] = _number(str(whole[name] + _number(part.get(name, "0"))))  # no sum has more digits than a number
    _budgets(said, _number(parts[-1]["epsilon"]), central, whole, by_label=parts[0]["of"] == BY_LABEL)
    drawn = [part for part in parts if part["of"] != "label"]
    symbols = all(part["kind"] == "symbols" for part in drawn)
    _same(symbols and whole["epsilon"] > 2 * MAX_BUDGET, False, "epsilon is larger than that of any draw")
    _draws(said, drawn, symbols, central)
    _relation(said, central)
    _shuffling(said, symbols)
    for part in parts:
        kinds = [part["kind"]] if part["of"] == "text" else ["discrete_laplace"] if central else ["symbols"]
        _same([part["kind"]], kinds, "the certificate is not of this release: a draw is of another kind")
        {"symbols": _symbols, "discrete_laplace": _laplace, "discrete_gaussian": _gaussian}[part["kind"]](said, part)
    told = f"epsilon {float(said['epsilon'])} and delta {float(said['delta'])} for {quoted(said['neighbours'])}"
    latent = ["dim", "clip", "clip_norm"] if symbols else ["dim"] if said["clip"] == "l1" else []
    others = {"central": ("size", "stands_out"), "shuffled": (*DROPS, *SHUFFLED), "local": DROPS}[said["trust"]]
    return [f"The numbers imply {told}."], [*DECLARED, *others, *latent]


def _check_kind(said: Json, of: list[str]) -> bool:
    of = of[1:] if of == ["number", "counts"] else of  # two rounds of counting
    labels, texts = said["labels"], of[:-1] if of[-1:] == ["label"] else of
    local = ("copy", "drop", "joint", None)
    kinds = {"counts": ("vote", "drop"), "text and label": ("joint_response",), "text": local, BY_LABEL: ("copy",)}
    allowed = ("randomized_response",) if texts is not of else kinds[of[0]]
    fitting = labels in allowed and texts == [texts[0]] * len(texts) and (texts[0] == "text" or len(of) == 1)
    _same(fitting, True, f"the certificate is not of this release, whose labels are {quoted(labels)}")
    _same(said["trust"] == "central", of == ["counts"], "trust is not that of the certificate's draws")
    choices, public = said["label_set"], labels in ("vote", "joint_response", "randomized_response")
    good = type(choices) is list and len(choices) > 1 and all(type(label) is str for label in choices)
    good = good and len(set(choices)) == len(choices)
    _same(good if public else choices is None, True, "label_set must be a list of different labels, or null for none")
    if labels not in ("joint_response", "randomized_response"):
        _is(said, "label_keep_probability", None)
    return of == ["counts"]


def _budgets(said: Json, last: Fraction, central: bool, whole: dict[str, Fraction], *, by_label: bool) -> None:
    people, labels = said["max_records_per_person"], said["labels"]
    label, stated = last if labels == "randomized_response" else None, dict[str, Any](whole)
    if labels != "joint_response":  # there ``_symbols`` compares them
        stated["text_epsilon"] = None if by_label else whole["epsilon"] - (label or 0)
        stated["label_epsilon"] = whole["epsilon"] if labels == "vote" else "inf" if labels == "copy" else label
    counted = people is None or (type(people) is int and people > 0)
    _same(counted, True, "max_records_per_person must be null or from 1 on")
    for name in ("epsilon", "delta"):
        stated[f"person_{name}"] = None if people is None else (1 if central else people) * whole[name]
    for name, exact in stated.items():
        if exact is None or exact == "inf":
            _is(said, name, exact)
        elif not exact <= Fraction(_float(said, name)) <= exact * (1 + Fraction(1, 2**50)):
            raise Refused(f"{name} is {quoted(said[name])}, which is not what the certificate implies")
    _is(said, "holds", _float(said, "claimed_epsilon") >= said["epsilon"])
    if central:
        _is(said, "claimed_epsilon", said["epsilon"])


def _draws(said: Json, drawn: list[Json], symbols: bool, central: bool) -> None:
    if symbols:
        labels = [part["labels"] or 1 for part in drawn]
        sizes = [_whole(part["size"]) // count for part, count in zip(drawn, labels, strict=True)]
        tops = [_whole(part["top"]) for part in drawn]
        for name, found in (("size", sizes), ("top", tops)):
            _is(said, name, found if len(found) > 1 else found[0])
    one = symbols or central or len(drawn) == 1
    _same(one, True, "the certificate has several draws of noise, and a release has one")
    counts = ("top", "dim", "clip", "clip_norm")
    for name in ("sensitivity", "scale") if symbols else counts if central else ("top", "size"):
        _is(said, name, None)
    _is(said, "exact", True)
    _is(said, "simulated", False)


def _relation(said: Json, central: bool) -> None:
    kept = said["kept_columns"]
    listed = type(kept) is list and all(type(name) is str for name in kept) and not (central and kept)
    _same(listed, True, "kept_columns must be a list of names, and empty for a central release")
    copied = [*(["label"] if said["labels"] == "copy" else []), *kept]
    if not central:
        whose = "any two records of the same person" if "drop" in map(said.get, DROPS) else "any two records"
        same = f"{whose} with the same {' and '.join(copied)}" if copied else whose
        answers = ("refuse", "drop") if said["max_records_per_person"] is not None else (None,)
        for name in DROPS:
            _same(said.get(name) in answers or not is_ours(said), True, f"{name} must be refuse or drop, or null")
        _same(said["neighbours"], same, f"neighbours must be {quoted(same)}, got {quoted(said['neighbours'])}")
    _is(said, "unit", "person" if central and said["max_records_per_person"] is not None else "record")
    _is(said, "private_model", said["training_data"].get("public") is not True)


def _shuffling(said: Json, symbols: bool) -> None:
    here, together, smallest, *_ = numbers = [said[name] for name in SHUFFLED]
    if said["trust"] == "shuffled":
        counts = smallest, together, said["records"]
        sound = type(here) is bool and all(type(count) is int for count in counts) and smallest > 0
        sound = sound and list(counts) == sorted(counts) and (smallest == together or said["labels"] == "copy")
        sound = sound and symbols and not said["kept_columns"] and said["max_records_per_person"] in (None, 1)
        sound = sound and _float(said, "central_epsilon") <= said["epsilon"] and _float(said, "central_delta") < 1
        _same(sound, True, "the numbers of shuffling contradict each other")
    else:
        _same(said["trust"] in ("local", "central"), True, "trust must be local, shuffled or central")
        _same(numbers, [None] * 5, "trust is not that of the numbers of shuffling")


def _symbols(said: Json, part: Json) -> None:
    """Check one draw of a symbol: its two weights (heavy / light <= e^epsilon) and its epsilons.

    Checked proof: ``proofs/Checker.v``, ``accepted_symbols_are_private``.
    """
    size, top, heavy, light = (_whole(part[name]) for name in ("size", "top", "heavy", "light"))
    total, of = top * heavy + (size - top) * light, part["of"]
    labels = 1 if of in ("text", BY_LABEL) else len(said["label_set"])
    texts = 1 if of == "label" else size // labels
    if not (0 < top < size and 0 < light <= heavy) or top > texts:
        raise Refused("some symbols but not all must have the larger weight, and all weights must be positive")
    _same(part["bits"], (total - 1).bit_length(), "bits are not those of a word that holds the weights")
    _at_most_e_to(_number(part["epsilon"]), Fraction(heavy, light), part["terms"], "epsilon")
    _same(texts * labels, size, "the symbols are not those of the label set")
    _same(part["labels"], labels if of == "text and label" else None, "the symbols are not those of the label set")
    kept = Fraction(top * heavy + (texts - top) * light, total)
    if of in ("label", "text and label"):
        _is(said, "label_keep_probability", float(kept))
    if of == "text and label":
        text = Fraction(heavy + (labels - 1) * light, labels * light)
        _at_most_e_to(Fraction(_float(said, "text_epsilon")), text, part["terms"], "text_epsilon")
        label = kept * total / (texts * light)
        _at_most_e_to(Fraction(_float(said, "label_epsilon")), label, part["terms"], "label_epsilon")


def _at_most_e_to(epsilon: Fraction, ratio: Fraction, terms: int, name: str) -> None:
    """Check ratio <= e^epsilon by the first terms of the series of e^epsilon, rounded down."""
    _same(epsilon > MAX_BUDGET, False, f"{name} is larger than that of any draw")
    term = total = 1 << SERIES_BITS
    for count in range(1, min(terms, MAX_TERMS) + 1):
        term = term * epsilon.numerator // (epsilon.denominator * count)
        total += term
        if not term:  # and so are all later ones
            break
    if epsilon < 0 or ratio * (1 << SERIES_BITS) > total:
        raise Refused(f"the weights are further apart than e^{name}")


def _laplace(said: Json, part: Json) -> None:
    """Check D / b <= epsilon: b is the noise's scale, D the largest l1 distance of two inputs."""
    scale, distance = _number(part["scale"]), _whole(part["sensitivity"])
    if part["of"] in ("number", "counts"):
        step = Fraction(1)
        diameter = {"add_or_remove": 1, "replace": 2}[said["neighbours"]] * (said["max_records_per_person"] or 1)
    else:
        step = _step(said)
        radius = Fraction(_float(said, "clip_norm")) / step
        diameter = 2 * {"l1": int(radius), "l2": isqrt(said["dim"] * int(radius**2))}[said["clip"]]
    same_scale = scale if part["of"] == "number" else Fraction(_float(said, "scale")) / step
    stated = Fraction(_float(said, "sensitivity")) / step, same_scale
    _same((distance, distance, scale), (diameter, *stated), "the noise is not that of the clip, or of the stated scale")
    if distance > scale * _number(part["epsilon"]):
        raise Refused("the noise's scale is too small for its epsilon")


def _gaussian(said: Json, part: Json) -> None:
    """Check (**) of gaussian.py: exp(near) * (Phi(-low) - e^spent * Phi(-high)) + tail <= delta."""
    step, distance, scale, dim = _step(said), _number(part["distance"]), _number(part["scale"]), part["dim"]
    stated = Fraction(_float(said, "sensitivity")) / step, Fraction(_float(said, "scale")) / step, said["dim"]
    found = 2 * Fraction(_float(said, "clip_norm")) / step, distance, scale, dim
    _is(said, "clip", "l2")
    _same(found, (distance, *stated), "the noise is not that of the clip, or of the stated scale")
    with localcontext(Context(prec=DECIMALS)):
        fractions = [distance, scale, _number(part["epsilon"]), _number(part["delta"])]
        far, s, epsilon, delta = (Decimal(x.numerator) / x.denominator for x in fractions)
        near, tail = dim / (8 * s**2), delta / 2**21
        reach = far + 2 * s * (dim * Decimal("1.5").ln() - tail.ln()).sqrt()
        spent = epsilon - 2 * near - reach**2 / (8 * s**4)
        low, high = spent * s / far - far / (2 * s), spent * s / far + far / (2 * s)
        _same(max(abs(low), abs(high)) > FARTHEST, False, "the noise's scale is too far from that of epsilon and delta")
        if s < 1 or near.exp() * (_upper_tail(low) - spent.exp() * _upper_tail(high)) + tail > delta:
            raise Refused("the noise's scale is too small for its epsilon and delta")


def _upper_tail(x: Decimal) -> Decimal:
    """Return ``Phi(-x) = 1/2 - e^(-x^2/2) / sqrt(2 pi) * (x + x^3/3 + x^5/15 + ...)``."""
    term = total = x
    odd, square, a, b, t, p = 1, x * x, Decimal(1), Decimal("0.5").sqrt(), Decimal("0.25"), 1
    while abs(term) > Decimal(10) ** -DECIMALS:
        odd += 2
        term *= square / odd
        total += term
    for _ in range(11):  # pi by Gauss and Legendre
        a, b, t, p = (a + b) / 2, (a * b).sqrt(), t - p * ((a - b) / 2) ** 2, 2 * p
    return Decimal("0.5") - (-square / 2).exp() / ((a + b) ** 2 / (2 * t)).sqrt() * total


def _step(said: Json) -> Fraction:
    """Return the public grid's spacing: the largest power of two up to clip_norm / 2^20."""
    _same(type(said["dim"]) is int and said["dim"] > 0, True, "dim must be a whole number from 1 on")
    bits = int(Fraction(_float(said, "clip_norm")) * 2**1074).bit_length()
    return Fraction(2 ** (bits - 1 - GRID_BITS), 2**1074)


def _number(text: str) -> Fraction:
    if not re.fullmatch(rf"\d{{1,{MAX_DIGITS}}}(/\d{{1,{MAX_DIGITS}}})?", text):
        raise ValueError
    return Fraction(text)


def _whole(text: str) -> int:
    return int(_number(text + "/1"))  # which nothing but digits can stand before


def _same(found: Any, expected: Any, wrong: str) -> None:
    if found != expected:
        raise Refused(wrong)


def _is(said: Json, name: str, value: Any) -> None:
    if json.dumps(said[name]) != json.dumps(value):  # so 1 is neither 1.0 nor true, in a list too
        raise Refused(f"{name} is {quoted(said[name])}, which is not what certificate and declared facts imply")


def _float(said: Json, name: str) -> float:
    if type(said[name]) not in (int, float) or not 0 <= said[name] < 10**300:
        raise Refused(f"{name} must be a finite number from 0 on, got {quoted(said[name])}")
    return float(said[name])


def quoted(value: Any) -> str:
    """Return a statement's value in quotes, as escaped ASCII on one line, shortened if too long."""
    if isinstance(value, list | dict):
        value = f"a {type(value).__name__}"
    elif isinstance(value, int) and abs(value) >= 10**MAX_SHOWN:
        value = "a huge number"
    escaped = ascii(str(value)[: MAX_SHOWN + 1])[1:-1]
    return f"'{escaped if len(escaped) <= MAX_SHOWN - 2 else escaped[: MAX_SHOWN - 5] + '...'}'"


def path_shown(path: str) -> str:
    """Return the name of a file, escaped if it is not printable ASCII."""
    return path if path.isascii() and path.isprintable() else ascii(path)


def _model(said: Json, directory: str | None, same: Json) -> list[str]:
    files = said.get("model_files") or {}
    if set(files) - set(MODEL_FILES) or files.get(WEIGHTS, said["model_sha256"]) != said["model_sha256"]:
        raise Refused("model_files is not a list of a model's files, or lacks model_sha256")
    places = [Path(directory or ""), Path(directory or "") / "model"]
    found = places[not (places[0] / WEIGHTS).is_file() and (places[1] / WEIGHTS).is_file()]
    own = "utterances to adept verify" if said["training_data"].get("packaged") is True else "DIR"
    shown = _file("model", directory and str(found / WEIGHTS), said["model_sha256"], hint=f"model_dir={own}")
    if not directory:
        return [shown]
    if not files:
        return [shown, "The statement does not name the other files of its model: they were not compared."]
    for name in MODEL_FILES:
        if (found / name).is_file() and name not in files:
            raise Refused(f"{path_shown(str(found / name))} is not among the files that the statement describes")
        if name in files:
            _file("model", str(found / name), files[name], same.get(files[name]))
    other = " It is another version of the packaged model." if same.keys() & files.values() else ""
    return [shown, f"So are all {len(files)} files of its directory on which a release depends.{other}"]


def _file(name: str, path: Name, digest: str, other: Name = None, *, hint: str = "output=FILE") -> str:
    if not path:
        return f"The {name} was not looked at: give {hint}."
    if _sha256(path) not in (digest, other):
        ends = [told for end, told in ((b"\n", "LF"), (b"\r\n", "CRLF")) if _sha256(path, end) == digest]
        why = f": only its line ends were changed, convert them to {ends[0]}" if ends else ""
        raise Refused(f"{path_shown(path)} is not the {name} that the statement describes{why}")
    return f"{path_shown(path)} is the {name} that the statement describes."


def _sha256(path: str, line_end: bytes | None = None) -> str:
    _same(Path(path).exists() and not Path(path).is_file(), False, f"{path_shown(path)} is no regular file")
    with Path(path).open("rb") as stream:
        digest = hashlib.sha256()
        for line in stream:
            bare = line.removesuffix(b"\n").removesuffix(b"\r")
            digest.update(bare + line_end if line_end and line.endswith(b"\n") else line)
        return digest.hexdigest()


if __name__ == "__main__":
    try:
        given = dict(argument.split("=", 1) for argument in sys.argv[2:])
        lines = check(sys.argv[1], given.pop("output", None), given.pop("model_dir", None))
        sys.stdout.write("\n".join(lines if not given else [str(__doc__)]) + "\n")
        sys.exit(2 if given else 0)
    except (Refused, OSError, IndexError, ValueError) as error:
        sys.stderr.write(f"refused: {error}\n" if isinstance(error, Refused | OSError) else f"{__doc__}\n")
        sys.exit(2)
