"""Whatever a genuine statement is changed into is refused or named as not checked, in one printable line and with status 2."""

import bz2
import copy
import gzip
import json
import lzma
import math
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from release.statement.test_verify import DIM, LABELS, MODEL, mechanism, statement, unchecked, written

from adept.__main__ import dispatch
from adept.cli import verify
from adept.cli.process import guard
from adept.cli.verify import VerifyConfig, run
from adept.data.reading import READING_EXCEPTIONS
from adept.errors import BUDGETS, DataError
from adept.mechanisms import Codebook, Description, JointResponse, LearnedCodebook, RandomizedResponse, codebook
from adept.mechanisms.central_counts import REPLACE, Votes
from adept.models import untrusted_files
from adept.models.config import MAX_SIZES
from adept.release.statement import statement as statements
from adept.release.statement import verify as verify_statement
from adept.release.statement.statement import CentralStatement, Shuffled, restate
from adept.release.statement.verify import (
    DECLARED,
    FIELDS,
    MAX_BUDGET,
    MAX_DEPTH,
    MAX_DIM,
    MODEL_FILES,
    SENTENCES,
    SHUFFLED,
    Refused,
    check,
    own_fields,
    statement_sha256,
)
from adept.rewriting import loading

NUMBERS = (
    "epsilon",
    "text_epsilon",
    "label_epsilon",
    "delta",
    "person_epsilon",
    "person_delta",
    "sensitivity",
    "scale",
)


def central(**changes: Any) -> dict[str, Any]:
    """Return the statement of a central release."""
    made: dict[str, Any] = statement(mechanism("l1"))
    fields: dict[str, Any] = {
        "votes": Votes(epsilon=1.0, votes_per_person=3 if changes.get("persons") else 1),
        "records": 7,
        "label_set": LABELS,
        "persons": False,
        "size": 64 * len(LABELS),
        "codebook_sha256": "0" * 64,
        **{name: made[name] for name in ("training_data", "model_sha256", "model_files", "versions", "output_sha256")},
        "date": "2026-01-01",
        **changes,
    }
    said: dict[str, Any] = json.loads(json.dumps(CentralStatement(**fields).to_json()))
    return said


COMES_WITH = "The model is the one that comes with adept. "
DESCRIBED = Description(epsilon=8.0)
SHUFFLING = Shuffled(here=True, records=9, smallest=5, epsilon=7.0, delta=1e-6)
GENUINE = {
    "latent": statement(mechanism("sqrt_n"), max_records_per_person=3),
    "excess": statement(mechanism("sqrt_n"), max_records_per_person=3, excess="drop", labels="copy"),
    "broken claim": statement(mechanism("original")),
    "gaussian": statement(mechanism("gaussian"), max_records_per_person=2),
    "codebook": statement(Codebook(epsilon=12.0, size=64, blocks=2)),
    "labels copied": statement(mechanism("learned_codebook"), labels="copy"),
    "labels joint": statement(mechanism("l1"), labels="joint"),
    "no labels": statement(mechanism("l1"), labels=None),
    "columns kept": statement(DESCRIBED, labels="copy", kept_columns=["time", "place"]),
    "labels randomised": statement(DESCRIBED, RandomizedResponse(epsilon=2.0, labels=LABELS), max_records_per_person=3),
    "one symbol": statement(DESCRIBED, JointResponse.of(DESCRIBED, LABELS)),
    "one codeword": statement(mechanism("learned_codebook"), JointResponse.of(mechanism("learned_codebook"), LABELS)),
    "shuffled": statement(DESCRIBED, shuffled=SHUFFLING, records=9, labels="copy"),
    "central": central(),
    "central persons": central(persons=True),
    "central, two rounds": central(votes=Votes(epsilon=0.7, rounds=2)),
    "central replace": central(votes=Votes(epsilon=2.0, neighbours=REPLACE), label_set=None, stands_out=False),
}
EACH = pytest.mark.parametrize("said", GENUINE.values(), ids=GENUINE.keys())
ODD: list[Any] = [
    None, True, False, 0, 1, -1, 0.5, -0.0, 10**400, -(10**400), 1e308, "", "inf", "x", "\n\x1b[2J\u202e", [], {}, ["x"], [[]],
    {"x": 1}, "local", "any two records", "copy",
]  # fmt: skip


def signed(said: dict[str, Any]) -> dict[str, Any]:
    """Return a statement with a digest of its own, as a forger makes it."""
    return said | {"certificate": said["certificate"] | {"statement_sha256": statement_sha256(said)}}


@pytest.fixture(scope="module", autouse=True)
def _each_tail_computed_once() -> Iterator[None]:
    """Many forgeries leave the noise of ``gaussian`` as it is, and its tails take longer than all else of their checks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verify_statement, "_upper_tail", cache(verify_statement._upper_tail))
        yield


def verified(said: dict[str, Any], folder: Path, *, alone: bool = False) -> list[str] | None:
    """Return what ``adept verify``, or the checker alone, tells; None where it refuses, in one printable line."""
    place = folder / "out.txt.privacy.json"
    if not place.exists():  # nor do the output and the model beside it
        written(said, folder)
    place.write_text(json.dumps(said))
    try:
        model = str(folder / "model")
        return check(str(place), model_dir=model) if alone else run(VerifyConfig(statement=str(place), model_dir=model))
    except (DataError, Refused) as error:
        line = str(error)
    assert line.isprintable()
    assert line.isascii()
    return None


@EACH
def test_a_genuine_statement_passes_and_its_sentences_are_compared(said: dict[str, Any], tmp_path: Path) -> None:
    told = verified(said, tmp_path)
    assert told is not None
    assert not unchecked(told) & {*SENTENCES, *NUMBERS, "neighbours", "unit", "trust", "holds", "exact", "model_files"}


@pytest.mark.parametrize("kind", [Description, LearnedCodebook])
def test_one_symbol_whose_label_alone_has_next_to_no_epsilon_is_verified(kind: Any, tmp_path: Path) -> None:
    """An epsilon that no mechanism of labels alone may have; so it is with few heavy texts of many."""
    said = statement(text := kind(epsilon=0.002, size=1000, top=1), JointResponse.of(text, LABELS))
    assert 0 < said["label_epsilon"] < BUDGETS[0]
    assert verified(said, tmp_path) is not None


def more_private(value: Any) -> Iterator[Any]:
    """Yield values of a field that would promise more."""
    match value:
        case bool():
            yield not value
        case int() | float():
            yield from (0, value / 2, math.nextafter(value, -math.inf), -value, value * 2)
        case str():
            yield from ("any two records", "add_or_remove", "joint", "drop", "person", value[:-1], "", None)
        case list():
            yield from ([], value[:-1], [*value, "x"])
    yield from (None, 0)


@EACH
def test_every_field_that_is_made_to_promise_more_is_refused_or_named(said: dict[str, Any], tmp_path: Path) -> None:
    """By the checker alone; what it cannot check, ``adept verify`` does, but for the last digit of an epsilon that holds."""
    for name in [name for name in said if name != "certificate"]:
        for value in more_private(said[name]):
            forged = signed(said | {name: value})
            if (told := verified(forged, tmp_path, alone=True)) is not None:
                part = said["labels"] == "joint_response" and name in ("text_epsilon", "label_epsilon")
                holds = part and type(value) is float and value >= math.nextafter(said[name], 0)
                assert holds or name in unchecked(told) or is_same(value, said[name]), (name, value)
                told = verified(forged, tmp_path)
            assert told is None or name in unchecked(told) or is_same(value, said[name]), (name, value)


def spelled_otherwise(value: Any) -> list[Any]:
    """Return other values that a reader may take for the same number, and one that makes a check easier to pass."""
    if isinstance(value, str):
        return [f"0{value}", f"{value}{'0' if '/' in value else '/1'}", f"{value}\n", [value], f"{value}9"]
    return [] if value is None else [float(value), str(value), value + 1, 2**40, True]


@EACH
def test_a_certificate_in_other_words_or_with_other_numbers_is_refused(said: dict[str, Any], tmp_path: Path) -> None:
    """Also if it proves the same epsilon: this program could not have written it."""
    for place, part in enumerate(said["certificate"]["parts"]):
        for name in part:
            for value in spelled_otherwise(part[name]):
                forged = copy.deepcopy(said)
                forged["certificate"]["parts"][place][name] = value
                assert verified(signed(forged), tmp_path) is None, (name, value)


@EACH
def test_a_number_of_another_type_is_refused_or_named(said: dict[str, Any], tmp_path: Path) -> None:
    """A JSON reader that is not Python's tells 1 from 1.0 and true."""
    for name, value in said.items():
        others = [float(value), int(value), str(value)] if isinstance(value, int | float) else []
        for other in (other for other in others if type(other) is not type(value)):
            told = verified(signed(said | {name: other}), tmp_path)
            assert told is None or name in unchecked(told), (name, other)
    for name in ("size", "top") if isinstance(said["size"], list) else ():
        assert verified(signed(said | {name: [*said[name][:-1], float(said[name][-1])]}), tmp_path) is None


@EACH
def test_a_part_that_is_left_out_or_made_smaller_is_refused(said: dict[str, Any], tmp_path: Path) -> None:
    for place in range(len(said["certificate"]["parts"])):
        forged = copy.deepcopy(said)
        del forged["certificate"]["parts"][place]
        assert verified(signed(forged), tmp_path, alone=True) is None
    fewer = copy.deepcopy(said)
    if len(parts := fewer["certificate"]["parts"]) > 1:
        left = float(eval(parts.pop()["epsilon"]))
        fewer |= {"epsilon": said["epsilon"] - left, "claimed_epsilon": said["epsilon"] - left}
        assert verified(signed(fewer), tmp_path, alone=True) is None


def is_same(value: Any, stated: Any) -> bool:
    """Return True if a value means what the statement says: 0 is 0.0, and false is neither."""
    return bool(value == stated and isinstance(value, bool) == isinstance(stated, bool))


@pytest.mark.parametrize("step", [pytest.param(5, id="some"), pytest.param(1, id="all", marks=pytest.mark.slow)])
@EACH
def test_odd_values_of_any_field_are_refused_in_one_line_or_named(
    said: dict[str, Any], step: int, tmp_path: Path
) -> None:
    for number, name in enumerate(said):
        for odd in ODD[number % step :: step]:
            forged = said | {name: odd}
            told = verified(signed(forged) if name != "certificate" else forged, tmp_path, alone=True)
            named = told is None or {name, "statement_version"} & unchecked(told)
            assert named or is_same(odd, said[name]), (name, odd)
    for place, part in enumerate(said["certificate"]["parts"]):
        for number, name in enumerate(part):
            for odd in ODD[number % step :: step]:
                forged = copy.deepcopy(said)
                forged["certificate"]["parts"][place][name] = odd
                told = verified(signed(forged), tmp_path, alone=True)
                assert told is None or odd == part[name] or name == "terms", (name, odd)


@EACH
def test_a_field_that_is_missing_or_of_our_version_unknown_is_refused(said: dict[str, Any], tmp_path: Path) -> None:
    for name in [name for name in said if name not in ("certificate", "statement_version")]:
        assert verified(signed({key: value for key, value in said.items() if key != name}), tmp_path) is None, name
    assert verified(signed(said | {"promise\n": "nothing leaks"}), tmp_path) is None


def test_of_another_version_the_sentences_and_unknown_fields_are_named(tmp_path: Path) -> None:
    for version in (None, 0, 1, 2, 4, True, "1", 1.0):
        forged = signed(GENUINE["latent"] | {"statement_version": version, "promise": 1, "statement": "Nothing leaks."})
        told = verified(forged, tmp_path)
        assert told is not None
        assert {"statement", "composition", "not_hidden", "statement_version", "'promise'"} <= unchecked(told)
    other = GENUINE["latent"]["versions"] | {"adept-dp": "0.1"}
    told = verified(signed(GENUINE["latent"] | {"versions": other, "statement": "Nothing leaks."}), tmp_path)
    assert told is not None
    assert {"statement", "versions"} <= unchecked(told)


def test_alone_the_checker_says_that_it_did_not_compare_the_sentences(tmp_path: Path) -> None:
    forged = signed(GENUINE["latent"] | {"statement": "Nothing leaks."})
    assert set(SENTENCES) <= unchecked(check(written(forged, tmp_path)))
    assert verified(forged, tmp_path) is None


def verifying(place: str) -> int:
    """Do what the command does once its options are read, which takes most of its time."""
    verify.main(VerifyConfig(statement=place))
    return 0


@pytest.mark.parametrize(
    "text", ["\r\n", "\x1b[2J\x1b[1;1H", "\u202egnihton", "\ud800", "x" * 10**5, "\N{SNOWMAN}" * 10**4, "'"]
)
def test_a_strangers_strings_are_printed_escaped_in_quotes_and_cut_off(
    text: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    said = statement(DESCRIBED, labels="copy", kept_columns=[text])
    for name in ("neighbours", "epsilon", "labels", "trust", "mechanism", "unit", "date", text):
        for other in (said, signed(said | {name: text}), signed(said | {name: text, "statement_version": 9})):
            status = guard(partial(verifying, written(other, tmp_path)))
            out, err = capfd.readouterr()
            assert (out + err).replace("\n", "").isprintable()
            assert (out + err).isascii()
            assert len(out + err) < 3_000
            assert (len(out.splitlines()), status) in ((5, 0), (0, 2))
            assert len(err.splitlines()) == (status == 2)


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        b'{"certificate":' * 100_000,
        b'{"certificate": {"parts": [], "statement_sha256": ""}, "x": ' + b"[" * 900 + b"]" * 900 + b"}",
        b'{"certificate": 1, "certificate": 2}',
        b'{"certificate": {"parts": []}, "x": NaN}',
        b'{"certificate": {"parts": []}, "x": ' + b"9" * 10_000 + b"}",
        b"\xff\xfe",
        b"",
        b"[]",
        b"null",
        b'"certificate"',
    ],
)
def test_a_file_that_is_no_statement_is_refused_with_status_2(
    content: bytes, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["adept"])
    (tmp_path / "bad.privacy.json").write_bytes(content)
    assert dispatch(["verify", str(tmp_path / "bad.privacy.json")]) == 2
    assert len(capfd.readouterr().err.splitlines()) == 1


def with_budget(said: dict[str, Any], value: Any, **part: Any) -> dict[str, Any]:
    """Return a statement whose first draw and whose totals have another epsilon."""
    forged = copy.deepcopy(said)
    forged["certificate"]["parts"][0] |= {"epsilon": str(value), "terms": 10**4, **part}
    return forged | dict.fromkeys(("epsilon", "claimed_epsilon", "text_epsilon"), float(value))


def with_parts(count: int, **part: Any) -> dict[str, Any]:
    forged = copy.deepcopy(GENUINE["labels copied"])
    forged["certificate"]["parts"] = [forged["certificate"]["parts"][0] | part for _ in range(count)]
    return forged


DEEP: Any = []
for _ in range(MAX_DEPTH):
    DEEP = [DEEP]
LARGE, BUDGET = "is larger or deeper than a statement", "epsilon is larger than that of any draw"
NEVER_WRITTEN: dict[str, tuple[dict[str, Any], str]] = {
    "a huge epsilon of a draw, with as many terms as are read": (with_budget(GENUINE["labels copied"], 10**290), BUDGET),
    "an epsilon above all budgets": (with_budget(GENUINE["labels copied"], 10**4), BUDGET),
    "many budgets, each below the largest": (with_parts(2_000, epsilon="600") | {"epsilon": 1.2e6, "claimed_epsilon": 1.2e6,
                                             "text_epsilon": 1.2e6}, BUDGET),
    "a huge epsilon of the text": (GENUINE["one symbol"] | {"text_epsilon": 9e299}, f"text_{BUDGET}"),
    "a huge epsilon of the label": (GENUINE["one symbol"] | {"label_epsilon": 9e299}, f"label_{BUDGET}"),
    "many draws": (with_parts(5_000), LARGE),
    "an integer of many digits in a string": (with_parts(1, heavy="9" * 1_001), "is damaged"),
    "draws whose sum has many digits": (with_parts(9, epsilon="1/" + "3" * 900) | {"epsilon": 1.0}, "is not what the certificate"),
    "unlike fractions": ({**(it := with_parts(9)), "certificate": it["certificate"] | {"parts": [
        part | {"epsilon": f"1/{10**900 + place}"} for place, part in enumerate(it["certificate"]["parts"])]}}, "is damaged"),
    "a huge dimension": (GENUINE["labels copied"] | {"dim": 10**5}, LARGE),
    "a huge number of records": (GENUINE["labels copied"] | {"records": 10**400}, LARGE),
    "a number without an end": (GENUINE["labels copied"] | {"records": math.inf}, LARGE),
    "no number": (GENUINE["labels copied"] | {"records": math.nan}, LARGE),
    "a deep list": (GENUINE["labels copied"] | {"date": DEEP}, LARGE),
    "a long list": (GENUINE["labels copied"] | {"date": [0] * 5_000}, LARGE),
    "many lists": (GENUINE["labels copied"] | {"date": [[]] * 2**17}, LARGE),
    "many lists in short lists": (GENUINE["labels copied"] | {"date": [[[]] * 2**8] * 2**8}, LARGE),
    "a long string": (GENUINE["labels copied"] | {"date": "x" * 2**25}, LARGE),
    "an option that repeats a sentence": (GENUINE["shuffled"] | {"mechanism_options": {"epsilon": 8.0, "by_label": 10**9}},
                                          "no release has the mechanism"),
}  # fmt: skip


@pytest.mark.parametrize(("forged", "told"), NEVER_WRITTEN.values(), ids=NEVER_WRITTEN.keys())
def test_what_no_release_writes_is_refused_before_it_is_computed(
    forged: dict[str, Any], told: str, tmp_path: Path
) -> None:
    """Some of these took a computer minutes; now each number has a bound, and so has all work."""
    with pytest.raises(DataError, match=told):
        run(VerifyConfig(statement=written(signed(forged), tmp_path)))


def with_weights(said: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return a statement whose one draw has other weights, in a word of fitting bits."""
    forged = copy.deepcopy(said)
    part = forged["certificate"]["parts"][0]
    part |= {name: part.get(value, value) for name, value in changes.items()}
    size, top, heavy, light = (int(part[name]) for name in ("size", "top", "heavy", "light"))
    part["bits"] = (top * heavy + (size - top) * light - 1).bit_length()
    return forged | {"top": top}


def with_less_noise(said: dict[str, Any]) -> dict[str, Any]:
    """Return a statement whose noise has one percent less of its scale."""
    forged = copy.deepcopy(said)
    (part,), scale = forged["certificate"]["parts"], said["scale"] * 0.99
    part["scale"] = str(Fraction(scale) / (Fraction(said["scale"]) / Fraction(part["scale"])))
    return forged | {"scale": scale}


LATENT, CENTRAL = GENUINE["latent"], GENUINE["central"]
TWICE = {name: 2 * LATENT[name] for name in ("epsilon", "claimed_epsilon", "text_epsilon", "person_epsilon")}
PARTS = LATENT["certificate"]["parts"]
RANDOMISED, COPIED = GENUINE["labels randomised"], GENUINE["labels copied"]
LABEL_SET = "label_set must be a list of different labels"
WEIGHTS = "some symbols but not all must have the larger weight, and all weights must be positive"
OF_LABELS = "the symbols are not those of the label set"
MIXED, ALIKE = GENUINE["shuffled"], "any two records with the same label"
CONTRADICTING: dict[str, dict[str, Any]] = {
    "here is no bool": {"shuffled_here": 1},
    "a number with a point": {"shuffled_smallest": 5.0},
    "nobody": {"shuffled_smallest": 0},
    "fewer in all than in the smallest group": {"shuffled_records": 4},
    "more than there are": {"shuffled_records": 10},
    "groups without copied labels": {"labels": "drop", "label_epsilon": None, "neighbours": "any two records"},
    "a larger epsilon": {"central_epsilon": 8.5},
    "a delta that promises nothing": {"central_delta": 1.0},
    "kept columns": {"kept_columns": ["n"], "neighbours": f"{ALIKE} and n"},
    "several records of a person": {"max_records_per_person": 2, "person_epsilon": 16.0, "person_delta": 0.0}
                                   | dict.fromkeys(("excess", "over_limit"), "refuse"),
    "noise": GENUINE["no labels"] | {name: MIXED[name] for name in ("trust", *SHUFFLED, "records")} | {"shuffled_smallest": 9},
}  # fmt: skip
AGREEING: dict[str, tuple[dict[str, Any], str]] = {
    "no record of a person": (LATENT | {"max_records_per_person": 0, "person_epsilon": 0.0}, "max_records_per_person must"),
    "half a record": (LATENT | {"max_records_per_person": 0.5, "person_epsilon": LATENT["epsilon"] / 2}, "max_records_per_per"),
    "labels without a draw": (RANDOMISED | {"certificate": {"parts": RANDOMISED["certificate"]["parts"][:1]}, "epsilon": 8.0,
        "claimed_epsilon": 8.0, "text_epsilon": 0.0, "label_epsilon": 8.0, "person_epsilon": 24.0}, "is not of this release"),
    "a central draw called local": (CENTRAL | {"trust": "local", "statement_version": 9}, "trust is not that of the certificate's"),
    "counts by a draw of symbols": (CENTRAL | {name: COPIED[name] for name in ("epsilon", "claimed_epsilon", "text_epsilon",
        "top", "sensitivity", "scale")} | {"label_epsilon": 8.0, "size": 7 * COPIED["size"], "certificate": {"parts": [
        COPIED["certificate"]["parts"][0] | {"of": "counts", "size": str(7 * COPIED["size"])}]}}, "a draw is of another kind"),
    "one label": (RANDOMISED | {"label_set": ["a"]}, LABEL_SET),
    "equal labels": (RANDOMISED | {"label_set": ["a"] * 7}, LABEL_SET),
    "labels that are numbers": (RANDOMISED | {"label_set": list(range(7))}, LABEL_SET),
    "labels of none": (LATENT | {"label_set": ["a", "b"]}, LABEL_SET),
    "columns of a central release": (CENTRAL | {"kept_columns": ["n"]}, "kept_columns must be a list of names"),
    "an unknown excess": (LATENT | {"excess": "perhaps"}, "excess must be"),
    "two draws of noise": (LATENT | TWICE | {"certificate": {"parts": PARTS * 2}}, "several draws of noise"),
    "too little noise": (with_less_noise(LATENT), "scale is too small for its epsilon"),
    "too little noise of counts": (with_less_noise(CENTRAL), "scale is too small for its epsilon"),
    "no heavy symbol": (with_weights(COPIED, top="0"), WEIGHTS),
    "heavy symbols alone": (with_weights(COPIED, top="size"), WEIGHTS),
    "weights that are swapped": (with_weights(COPIED, heavy="light", light="heavy"), WEIGHTS),
    "a weight of zero": (with_weights(COPIED, light="0"), WEIGHTS),
    "more heavy symbols than texts": (with_weights(GENUINE["one symbol"], top=str(GENUINE["one symbol"]["size"] + 1)), WEIGHTS),
    "a symbol of no label": (with_weights(GENUINE["one symbol"], size=str(7 * GENUINE["one symbol"]["size"] + 1)), OF_LABELS),
    "labels of a text": (with_weights(COPIED, labels=1), OF_LABELS),
    **{f"shuffled: {name}": (MIXED | changes, "numbers of shuffling contradict") for name, changes in CONTRADICTING.items()},
    "another claim": (CENTRAL | {"claimed_epsilon": 2 * CENTRAL["epsilon"]}, "claimed_epsilon is"),
}  # fmt: skip


@pytest.mark.parametrize(("forged", "told"), AGREEING.values(), ids=AGREEING.keys())
def test_fields_that_were_changed_together_are_refused_by_the_checker_alone(
    forged: dict[str, Any], told: str, tmp_path: Path
) -> None:
    with pytest.raises(Refused, match=told):
        check(written(signed(forged), tmp_path))


def test_the_largest_model_and_budget_stay_below_the_bounds(tmp_path: Path) -> None:
    """Also ``inf``, and 600 times the square root of the dimension, a person's records and the samples."""
    assert MAX_SIZES["latent_dim"] == MAX_DIM
    assert BUDGETS[1] < MAX_BUDGET
    blocks = Codebook(epsilon=600.0, size=2, blocks=MAX_DIM // 2)
    largest = [
        statement(blocks, RandomizedResponse(epsilon=600.0, labels=LABELS), latent_dim=MAX_DIM, samples=1000),
        statement(
            mechanism("original", epsilon=600.0), latent_dim=MAX_DIM, samples=1000, max_records_per_person=10**12
        ),
        statement(mechanism("original", epsilon=1e290), max_records_per_person=10**6),
        statement(mechanism("gaussian", epsilon=600.0, delta=1e-100), latent_dim=MAX_DIM),
        statement(Description(epsilon=600.0, size=2**62)),
    ]
    for said in largest:
        assert run(VerifyConfig(statement=written(said, tmp_path)))


def test_a_large_codebook_is_restated_without_its_codewords(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They would be 2^20 vectors of 2,048 numbers, and take minutes."""
    monkeypatch.setattr(codebook, "random_codewords", None)
    said = GENUINE["labels copied"] | {"mechanism": "codebook", "dim": MAX_DIM}
    said |= {"mechanism_options": {"epsilon": 8.0, "clip_norm": 1.0, "size": 2**20, "seed": 0, "blocks": None}}
    with pytest.raises(
        DataError, match="certificate is not what adept writes of such a release"
    ):  # it is another one's
        run(VerifyConfig(statement=written(signed(said), tmp_path)))


INNER: list[tuple[Any, ...]] = [("certificate",), ("certificate", "parts", 0), ("training_data",), ("versions",)]


@pytest.mark.parametrize("path", INNER)
@EACH
def test_an_unknown_field_inside_another_is_refused_or_of_another_version_named(
    said: dict[str, Any], path: tuple[Any, ...], tmp_path: Path
) -> None:
    forged = copy.deepcopy(said)
    inner = forged
    for key in path:
        inner = inner[key]
    inner["promise"] = "nothing leaks"
    name = ".".join(str(key) for key in (*path, "promise") if key != 0)
    with pytest.raises(DataError, match=f"the field '{name}' is none of a statement"):
        run(VerifyConfig(statement=written(signed(forged), tmp_path)))
    told = verified(signed(forged | {"statement_version": 9}), tmp_path)
    assert told is not None
    assert f"'{name}'" in unchecked(told)


def test_an_epsilon_whose_tail_takes_too_long_to_compute_is_refused(tmp_path: Path) -> None:
    forged = copy.deepcopy(GENUINE["gaussian"])
    forged["certificate"]["parts"][0]["epsilon"] = str(10**30)
    assert verified(signed(forged), tmp_path) is None


@EACH
def test_a_program_that_saves_json_again_changes_nothing_if_all_values_stay(
    said: dict[str, Any], tmp_path: Path
) -> None:
    """``jq`` and JavaScript write 8 for 8.0; a whole number with a point, and another number, are changes."""

    def saved(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: saved(value[name]) for name in sorted(value)}
        return int(value) if type(value) is float and value.is_integer() else value

    assert json.dumps(saved(said), sort_keys=True) != json.dumps(said, sort_keys=True)
    assert verified(saved(said), tmp_path) == verified(said, tmp_path) != None  # noqa: E711 - and neither is refused
    assert verified(saved(said | {"epsilon": said["epsilon"] + 1}), tmp_path) is None
    assert verified(said | {"statement_version": float(said["statement_version"])}, tmp_path) is None


def test_a_byte_order_mark_changes_nothing(tmp_path: Path) -> None:
    name = Path(written(GENUINE["latent"], tmp_path))
    told = check(str(name))
    name.write_bytes(b"\xef\xbb\xbf" + name.read_bytes())
    assert check(str(name)) == told


@pytest.mark.parametrize(("stated", "found", "named"), [(b"\n", b"\r\n", "LF"), (b"\r\n", b"\n", "CRLF")])
def test_an_output_whose_line_ends_alone_were_changed_is_refused_and_says_so(
    stated: bytes, found: bytes, named: str, tmp_path: Path
) -> None:
    text, name = b"one\n\ntwo\nthree", written(GENUINE["latent"], tmp_path)
    digest = verify_statement.hashlib.sha256(text.replace(b"\n", stated)).hexdigest()
    Path(name).write_text(json.dumps(signed(GENUINE["latent"] | {"output_sha256": digest})))
    (tmp_path / "out.txt").write_bytes(text.replace(b"\n", found))
    with pytest.raises(Refused, match=f"only its line ends were changed, convert them to {named}$"):
        check(name)
    (tmp_path / "out.txt").write_bytes(text.replace(b"\n", found) + b"!")
    with pytest.raises(Refused, match=r"the statement describes$"):
        check(name)


PACKED = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda content: b"\x28\xb5\x2f\xfd" + content,
    "zip": lambda content: b"PK\x03\x04" + content,
}


@pytest.mark.parametrize("kind", PACKED)
def test_of_a_packed_output_or_statement_it_is_said_that_it_is_to_be_unpacked(kind: str, tmp_path: Path) -> None:
    name = written(GENUINE["latent"], tmp_path)
    packed = tmp_path / "packed"
    packed.write_bytes(PACKED[kind]((tmp_path / "out.txt").read_bytes()))
    with pytest.raises(
        DataError, match=rf"describes; the output is packed \({kind}\), so unpack it, and name the file"
    ):
        run(VerifyConfig(statement=name, output=str(packed)))
    packed.write_bytes(PACKED[kind](Path(name).read_bytes()))
    with pytest.raises(
        DataError, match=rf"; the statement is packed \({kind}\), so unpack it, and name the file inside$"
    ):
        run(VerifyConfig(statement=str(packed)))


def test_of_an_unpacked_output_it_is_said_that_the_packed_file_is_meant(tmp_path: Path) -> None:
    written(GENUINE["latent"], tmp_path)
    packed = gzip.compress((tmp_path / "out.txt").read_bytes())
    stated = GENUINE["latent"] | {"output_sha256": verify_statement.hashlib.sha256(packed).hexdigest()}
    named = tmp_path / "out.txt.gz.privacy.json"
    named.write_text(json.dumps(signed(stated)))
    with pytest.raises(DataError, match=r"describes; the output was packed \(gz\), so name the packed file"):
        run(VerifyConfig(statement=str(named), output=str(tmp_path / "out.txt")))
    (tmp_path / "other.gz").write_bytes(gzip.compress(b"x"))
    with pytest.raises(DataError, match=r"the statement describes$"):
        run(VerifyConfig(statement=str(named), output=str(tmp_path / "other.gz")))


@pytest.mark.parametrize("file", MODEL)
@pytest.mark.parametrize("odd", ["pipe", "device", "directory"])
def test_a_stranger_s_model_cannot_keep_verify_reading_for_ever(file: str, odd: str, tmp_path: Path) -> None:
    name = written(GENUINE["latent"], tmp_path)
    (place := tmp_path / "model" / file).unlink()
    {"pipe": os.mkfifo, "device": lambda path: path.symlink_to("/dev/zero"), "directory": os.mkdir}[odd](place)
    with pytest.raises(Refused, match=rf"{file} is no regular file$"):
        check(name, model_dir=str(tmp_path / "model"))


@pytest.mark.parametrize("file", MODEL_FILES)
def test_every_file_of_the_model_is_compared(file: str, tmp_path: Path) -> None:
    """One that is changed, lost, or new."""
    name = written(GENUINE["latent"], tmp_path)
    (tmp_path / "model" / file).write_bytes(b"other")
    with pytest.raises(Refused, match=r"is not the model that|is not among the files that"):
        check(name, model_dir=str(tmp_path / "model"))
    if file in MODEL:
        (tmp_path / "model" / file).unlink()
        with pytest.raises(OSError, match=file):
            check(name, model_dir=str(tmp_path / "model"))


def test_a_statement_names_no_files_outside_the_model(tmp_path: Path) -> None:
    files = GENUINE["latent"]["model_files"] | {"../secret": "0" * 64}
    with pytest.raises(Refused, match="is not a list of a model's files"):
        check(written(signed(GENUINE["latent"] | {"model_files": files}), tmp_path))


@EACH
def test_a_statement_calls_no_other_model_the_one_that_comes_with_adept(said: dict[str, Any], tmp_path: Path) -> None:
    """A stranger's model may have the packaged one's weights, and codewords of the stranger's own."""
    model, _ = loading.load_model()
    files = model.files | {"codec.json": "0" * 64}
    named = said["training_data"] | {"packaged": True}
    sentence = said["statement"].replace("The model's weights", f"{COMES_WITH}The model's weights")
    assert sentence != said["statement"]
    claim = {"training_data": named, "statement": sentence, "model_sha256": files["model.safetensors"]}
    for held in (files, None):
        with pytest.raises(Refused, match="packaged is not what adept writes"):
            check(written(signed(said | claim | {"model_files": held}), tmp_path), restate=restate)
    check(written(signed(said | claim | {"model_files": model.files}), tmp_path), restate=restate)


def test_the_packaged_model_has_all_files_that_a_statement_names() -> None:
    model, _ = loading.load_model()
    assert tuple(model.files) == untrusted_files.MODEL_FILES == MODEL_FILES
    assert model.files["model.safetensors"] == statements.model_sha256(model)


def test_no_field_of_a_statement_is_forgotten() -> None:
    for said in GENUINE.values():
        assert tuple(said) == own_fields(said["trust"] == "central")
    assert {*DECLARED, *SENTENCES, *SHUFFLED} < {*FIELDS}
    assert DIM


def stated(**changes: Any) -> CentralStatement:
    """Return a central statement of persons."""
    made = {name: GENUINE["central"][name] for name in ("training_data", "model_sha256", "versions")}
    fields: dict[str, Any] = {
        "records": 1,
        "label_set": None,
        "size": 2,
        "codebook_sha256": "",
        "date": "",
        **made,
        **changes,
    }
    return CentralStatement(**fields)


@pytest.mark.parametrize(
    ("neighbours", "most", "counted"),
    [("add_or_remove", 1, 4), ("add_or_remove", 2, 2), ("add_or_remove", 9, 2), ("replace", 1, 2), ("replace", 9, 1)],
)
def test_a_row_of_persons_counts_for_all_counts_that_it_moves(neighbours: str, most: int, counted: int) -> None:
    votes = Votes(epsilon=1.0, neighbours=neighbours, votes_per_person=most)
    assert stated(votes=votes, persons=True).times_counted == counted
    assert stated(votes=votes, persons=False).times_counted == (2 if neighbours == "add_or_remove" else 1)


def test_a_central_statement_is_worded_by_whether_there_are_persons() -> None:
    votes = Votes(epsilon=1.0)
    with_persons, without = (stated(votes=votes, persons=persons).text for persons in (True, False))
    assert "adding or removing one person, of whose records at most 1 counts, changes" in with_persons
    assert "the epsilon of one record alone is 2 for adding or removing it, and 4 for replacing it" in with_persons
    assert "the total for replacing one record by any other is e + 4, if" in with_persons
    assert "adding or removing one record changes" in without
    assert "the total for replacing one record by any other is e + 2, if" in without
    assert all(exception in with_persons for exception in READING_EXCEPTIONS)


@pytest.mark.parametrize("persons", [True, False])
@pytest.mark.parametrize("neighbours", ["add_or_remove", REPLACE])
def test_a_central_statement_says_to_which_local_releases_it_adds(neighbours: str, persons: bool) -> None:
    """Where labels or columns are copied, or records left out, the local epsilon compares fewer pairs."""
    words = stated(votes=Votes(epsilon=1.0, neighbours=neighbours), persons=persons).fields()["composition"]
    assert "if the local release copied neither labels nor columns and left no records out" in words
    assert "that copied labels or columns, or kept only each person's first records, compares fewer pairs" in words
    fewer = [GENUINE[name]["neighbours"] for name in ("labels copied", "columns kept", "excess")]
    assert "any two records" not in fewer
    assert {GENUINE[name]["neighbours"] for name in ("latent", "labels joint", "one symbol", "labels randomised")} == {
        "any two records"
    }


def test_a_pipe_that_is_refused_is_not_opened_again(tmp_path: Path) -> None:
    """Its writer is gone, so that nothing would ever open it."""
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=("{}",), daemon=True)
    writer.start()
    command = [sys.executable, "-m", "adept", "verify", str(tmp_path / "pipe")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert "has no certificate" in done.stderr
