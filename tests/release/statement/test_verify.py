"""A certificate that holds is accepted, at every budget and by the standard library alone; a changed one is refused."""

import ast
import copy
import hashlib
import json
import math
import shutil
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch

from adept.__main__ import dispatch
from adept.cli.verify import SAME_SENTENCES
from adept.mechanisms import (
    BY_NAME,
    Codebook,
    Description,
    JointResponse,
    LearnedCodebook,
    LocalRandomizer,
    RandomizedResponse,
)
from adept.mechanisms.guarantee import symbols_part
from adept.models.untrusted_files import packaged_directory
from adept.release.statement import statement as statements
from adept.release.statement import verify as verify_statement
from adept.release.statement.statement import PrivacyStatement
from adept.release.statement.verify import Refused, check, statement_sha256

LABELS = tuple(f"label {place}" for place in range(7))
EXACT = ["original", "l1", "sqrt_n", "gaussian", "clamped_gaussian", "codebook", "learned_codebook", "description"]
DIM = 16
MODEL = {"model.safetensors": b"weights", "codec.json": b"codec"}


def statement(
    mechanism: LocalRandomizer, response: RandomizedResponse | JointResponse | None = None, **changes: Any
) -> dict[str, Any]:
    """Return the statement of a release of this mechanism, as JSON holds it."""
    joint = isinstance(response, JointResponse)
    text = response.text if isinstance(response, JointResponse) else mechanism
    fields: dict[str, Any] = {
        "mechanism": text,
        "latent_dim": DIM,
        "records": 5,
        "samples": 1,
        "labels": "drop" if response is None else "joint_response" if joint else "randomized_response",
        "label_response": response,
        "kept_columns": [],
        "training_data": {"name": "air_travel", "public": True, "records": 9},
        "versions": statements.versions(),
        "codebook": statements.codebook_facts(text, changes.get("latent_dim", DIM)),
        "model_sha256": hashlib.sha256(b"weights").hexdigest(),
        "model_files": {name: hashlib.sha256(content).hexdigest() for name, content in MODEL.items()},
        "output_sha256": hashlib.sha256(b"texts\n").hexdigest(),
        **changes,
    }
    made: dict[str, Any] = json.loads(json.dumps(PrivacyStatement(**fields).to_json()))
    return made


def written(said: dict[str, Any], folder: Path) -> str:
    """Write a statement, its output and its model; returns the statement's name."""
    (folder / "out.txt").write_bytes(b"texts\n")
    (folder / "model").mkdir(exist_ok=True)
    for name, content in MODEL.items():
        (folder / "model" / name).write_bytes(content)
    (folder / "out.txt.privacy.json").write_text(json.dumps(said, indent=2))
    return str(folder / "out.txt.privacy.json")


def unchecked(told: list[str]) -> set[str]:
    """Return the fields that a verdict names as not checked."""
    [named] = [line for line in told if line.startswith("Not checked: ")]
    return set(named.removeprefix("Not checked: ").removesuffix(".").split(", "))


def mechanism(name: str, **options: Any) -> LocalRandomizer:
    return BY_NAME[name](**{"epsilon": 8.0} | options)


@pytest.mark.mutants(
    "mechanisms.clip_to_grid",
    "mechanisms.gaussian",
    "mechanisms.guarantee",
    "mechanisms.laplace",
    "mechanisms.random_draws",
)
@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 8.0, 600.0])
def test_every_exact_mechanism_is_certified_at_every_budget(name: str, epsilon: float, tmp_path: Path) -> None:
    said = statement(mechanism(name, epsilon=epsilon))
    shown = check(written(said, tmp_path), model_dir=str(tmp_path / "model"))
    assert f"epsilon {said['epsilon']}" in shown[0]
    assert shown[1:3] == [f"{tmp_path / file} is the {kind} that the statement describes" + "." for file, kind in FILES]


FILES = [("out.txt", "output"), ("model/model.safetensors", "model")]


@pytest.mark.mutants("mechanisms.guarantee")
@pytest.mark.parametrize(("size", "top", "odds"), [(2, 1, (1, 1)), (4, 1, (2, 1)), (5, 2, (5, 2)), (6, 2, (5, 2))])
def test_the_bits_of_a_word_are_the_fewest_that_hold_the_weights(size: int, top: int, odds: tuple[int, int]) -> None:
    total = top * odds[0] + (size - top) * odds[1]
    bits = symbols_part("text", epsilon=Fraction(1), size=size, top=top, odds=odds)["bits"]
    assert 2 ** (bits - 1) < total <= 2**bits


def test_no_exact_mechanism_is_left_out() -> None:
    """But for `random`, which releases nothing of the record."""
    guarantees = {name: mechanism(name).guarantee(DIM) for name in BY_NAME if name != "random"}
    assert sorted(EXACT) == sorted(name for name, it in guarantees.items() if it.exact and it.epsilon < math.inf)


@pytest.mark.parametrize("bits", [1, 10, 24, 41, 62])
def test_descriptions_of_any_number_are_certified(bits: int, tmp_path: Path) -> None:
    for epsilon in (1.0, 32.0):
        check(written(statement(Description(epsilon=epsilon, size=2**bits)), tmp_path))
        check(written(statement(Description(epsilon=epsilon, size=2**bits - (bits > 1), top=1 + (bits > 1))), tmp_path))


@pytest.mark.mutants(
    "mechanisms.guarantee",
    "mechanisms.randomized_response",
    "mechanisms.random_draws",
    "mechanisms.randomized_response",
)
@pytest.mark.parametrize("epsilon", [0.01, 2.0, 64.0])
@pytest.mark.parametrize("text", ["learned_codebook", "description"])
def test_randomised_labels_are_certified_beside_the_text_and_with_it(text: str, epsilon: float, tmp_path: Path) -> None:
    own = mechanism(text, epsilon=epsilon)
    check(written(statement(own, RandomizedResponse(epsilon=1.5, labels=LABELS), max_records_per_person=3), tmp_path))
    check(written(statement(own, RandomizedResponse(epsilon=1.5, labels=LABELS[:2], theta="lecture")), tmp_path))
    check(written(statement(own, JointResponse.of(own, LABELS)), tmp_path))


@pytest.mark.parametrize("delta", [0.5, 1e-6, 1e-100])
@pytest.mark.parametrize("epsilon", [1e-3, 600.0])
def test_gaussian_noise_is_certified_at_the_ends_of_its_range(delta: float, epsilon: float, tmp_path: Path) -> None:
    check(written(statement(mechanism("gaussian", epsilon=epsilon, delta=delta, clip_norm=0.7)), tmp_path))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (2.0, 1e-9), (30.0, 1e-3)])
def test_gaussian_noise_a_little_too_small_is_refused_whatever_wrote_the_statement(
    epsilon: float, delta: float, tmp_path: Path
) -> None:
    """By one percent: only the inequality of the checker tells, as all fields agree with each other."""
    said = statement(mechanism("gaussian", epsilon=epsilon, delta=delta))
    (part,) = said["certificate"]["parts"]
    step = Fraction(said["scale"]) / Fraction(part["scale"])
    said["scale"] *= 0.99
    part["scale"] = str(Fraction(said["scale"]) / step)
    said["certificate"]["statement_sha256"] = statement_sha256(said)
    with pytest.raises(Refused, match="scale is too small for its epsilon and delta"):
        check(written(said, tmp_path))


@pytest.mark.parametrize("name", ["identity", "random", "privunit", "l2_norm", "dptext"])
def test_what_is_no_exact_arithmetic_has_no_certificate(name: str, tmp_path: Path) -> None:
    said = statement(mechanism(name))
    assert said["certificate"] is None
    with pytest.raises(Refused, match="has no certificate: it is of a version that wrote none, or its mechanism"):
        check(written(said, tmp_path))


def test_an_old_statement_has_none_and_what_is_no_statement_is_refused(tmp_path: Path) -> None:
    said = statement(mechanism("l1"))
    del said["certificate"]
    with pytest.raises(Refused, match="has no certificate"):
        check(written(said, tmp_path))
    for text in ("", "[]", "3", "null", '{"certificate": 1}', '{"certificate": {"parts": []}}', "\udcff"):
        (tmp_path / "bad.privacy.json").write_text(text, "utf-8", "surrogateescape")
        with pytest.raises(Refused):
            check(str(tmp_path / "bad.privacy.json"))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places of a JSON value that hold neither list nor object."""
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(part, (*path, key))
    else:
        yield path


def changed(value: Any) -> Any:
    """The nearest other value."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case float():
            return math.nextafter(value, math.inf)
        case str():
            return value[:-1] + chr(ord(value[-1]) ^ 1) if value else "x"
    return 0


SAID = [
    statement(mechanism("gaussian"), max_records_per_person=3),
    statement(mechanism("sqrt_n")),
    statement(Codebook(epsilon=12.0, size=64, blocks=2), RandomizedResponse(epsilon=1.5, labels=LABELS)),
    statement(Description(epsilon=8.0), JointResponse.of(Description(epsilon=8.0), LABELS)),
]


@pytest.mark.parametrize("said", SAID, ids=[said["mechanism"] for said in SAID])
def test_a_statement_with_any_value_changed_is_refused(said: dict[str, Any], tmp_path: Path) -> None:
    check(written(said, tmp_path))
    assert len(list(places(said))) > 50
    for path in places(said):
        forged = copy.deepcopy(said)
        inner = forged
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = changed(inner[path[-1]])
        _refused(tmp_path, forged)


STATED = ["epsilon", "delta", "text_epsilon", "label_epsilon", "person_epsilon", "person_delta", "claimed_epsilon"]
PARTS = [
    "epsilon",
    "delta",
    "heavy",
    "light",
    "size",
    "top",
    "bits",
    "terms",
    "scale",
    "sensitivity",
    "distance",
    "dim",
]
SHAPE = ["scale", "sensitivity", "clip_norm", "dim", "size", "top", "label_keep_probability", "max_records_per_person"]


@pytest.mark.parametrize("said", SAID, ids=[said["mechanism"] for said in SAID])
def test_a_smaller_promise_is_refused_even_with_a_digest_of_its_own(said: dict[str, Any], tmp_path: Path) -> None:
    """A forged number must still follow from the rest: each number, one by one, moved the way that would promise more."""
    shape = [
        name for name in SHAPE if said["scale"] or name not in ("clip_norm", "dim")
    ]  # a codebook's guarantee has neither
    for name in [name for name in (*STATED, *shape) if isinstance(said[name], int | float) and said[name]]:
        _refuse(tmp_path, said | {name: type(said[name])(said[name] * 0.999) if said[name] != 1 else 2})
    for place, part in enumerate(said["certificate"]["parts"]):
        for name in [name for name in PARTS if name in part]:
            forged = copy.deepcopy(said)
            value = Fraction(part[name])
            less = value / 2 if value.denominator > 1 or name in ("epsilon", "scale") else value // 2 or value * 2
            less = value * 2 if name == "heavy" else less
            forged["certificate"]["parts"][place][name] = str(less) if isinstance(part[name], str) else int(less)
            _refuse(tmp_path, forged)


def _refuse(folder: Path, forged: dict[str, Any]) -> None:
    forged["certificate"] = dict(forged["certificate"], statement_sha256=statement_sha256(forged))
    _refused(folder, forged)


def _refused(folder: Path, forged: dict[str, Any]) -> None:
    """Check that a forged statement is refused in a sentence of one line."""
    with pytest.raises(Refused) as refused:
        check(written(forged, folder))
    assert len(str(refused.value).split()) > 3
    assert str(refused.value).isprintable()


def test_another_output_and_another_model_are_refused(tmp_path: Path) -> None:
    name = written(statement(mechanism("l1")), tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "model.safetensors").write_bytes(b"weighty")
    with pytest.raises(Refused, match="is not the model that the statement describes"):
        check(name, model_dir=str(tmp_path / "other"))
    for place in range(6):
        text = bytearray(b"texts\n")
        text[place] ^= 1
        (tmp_path / "out.txt").write_bytes(text)
        with pytest.raises(Refused, match=r"out\.txt is not the output that the statement describes"):
            check(name)
    (tmp_path / "out.txt").unlink()
    assert check(name)[1:3] == [
        "The output was not looked at: give output=FILE.",
        "The model was not looked at: give model_dir=DIR.",
    ]
    assert {"output_sha256", "model_sha256", "model_files"} <= unchecked(check(name))
    with pytest.raises(OSError, match="No such file"):
        check(name, output=str(tmp_path / "out.txt"))
    bare = written(statement(mechanism("l1"), model_files=None), tmp_path)  # of a version before 0.3
    for model, named in ((None, {"model_sha256", "model_files"}), (str(tmp_path / "model"), {"model_files"})):
        assert unchecked(check(bare, model_dir=model)) & {"output_sha256", "model_sha256", "model_files"} == named


def test_the_packaged_model_is_named_by_the_word_that_finds_it(tmp_path: Path) -> None:
    packaged = {"name": "utterances", "public": True, "records": 9, "examples": 0, "packaged": True}
    name = written(statement(mechanism("l1"), training_data=packaged), tmp_path)
    assert "The model was not looked at: give model_dir=utterances to adept verify." in check(name)


def test_the_packaged_model_of_0_2_is_known_as_another_version(tmp_path: Path) -> None:
    """Its sentences were saved in another form; any other difference is refused."""
    packaged = packaged_directory()
    now = {name: hashlib.sha256((packaged / name).read_bytes()).hexdigest() for name in verify_statement.MODEL_FILES}
    assert set(SAME_SENTENCES.values()) == {now["codec.json"], now["codec.safetensors"]}
    before = {new: old for old, new in SAME_SENTENCES.items()}
    files = {name: before.get(digest, digest) for name, digest in now.items()}
    model = {"model_sha256": now["model.safetensors"], "model_files": files}
    name = written(statement(mechanism("l1"), **model), tmp_path)
    shown = check(name, model_dir=str(packaged), same=SAME_SENTENCES)
    assert any("It is another version of the packaged model." in line for line in shown)
    with pytest.raises(Refused, match=r"codec\.json is not the model"):
        check(name, model_dir=str(packaged))
    for name in ("codec.json", "tokenizer.json"):
        forged = {**model, "model_files": {**files, name: "0" * 64}}
        with pytest.raises(Refused, match=f"{name} is not the model"):
            check(written(statement(mechanism("l1"), **forged), tmp_path), model_dir=str(packaged), same=SAME_SENTENCES)


def test_the_model_may_be_named_by_its_run(tmp_path: Path) -> None:
    """A directory with both is a model's own: what is in `model/` is another one's."""
    name = written(statement(mechanism("l1")), tmp_path)
    assert check(name, model_dir=str(tmp_path))[2] == check(name, model_dir=str(tmp_path / "model"))[2]
    (tmp_path / "model.safetensors").write_bytes(b"weighty")
    with pytest.raises(Refused, match="is not the model that the statement describes"):
        check(name, model_dir=str(tmp_path))
    with pytest.raises(OSError, match=r"No such file.*none/model\.safetensors"):
        check(name, model_dir=str(tmp_path / "none"))


def test_the_checker_is_one_file_of_the_standard_library(tmp_path: Path) -> None:
    source = Path(verify_statement.__file__)
    assert len(source.read_text("utf-8").splitlines()) <= 460
    tree = ast.parse(source.read_text("utf-8"))
    names = [
        node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert set(names) <= sys.stdlib_module_names
    alone, name = (
        shutil.copy(source, tmp_path / "verify.py"),
        written(statement(mechanism("description")), tmp_path),
    )

    def checked(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-I", "-S", alone, *arguments], capture_output=True, text=True, check=False
        )

    good = checked(name, f"model_dir={tmp_path / 'model'}")
    assert (good.returncode, good.stderr) == (0, "")
    assert "imply epsilon 8.0" in good.stdout
    assert "cannot show" in good.stdout
    (tmp_path / "out.txt").write_bytes(b"text\n")
    assert (
        checked(name).returncode
        == checked().returncode
        == checked(name, "x").returncode
        == checked("no").returncode
        == 2
    )
    assert "refused: " in checked(name).stderr


def test_a_certificate_depends_on_the_mechanism_alone() -> None:
    """No draw, no count of rejected words and no bits read: it is the same before any release and after."""
    own = LearnedCodebook(epsilon=2.0, codewords=torch.eye(8), top=2)
    before = own.certificate(8)
    own.privatize(torch.eye(8))
    assert own.certificate(8) == before
    assert before is not None
    assert set(before[0]) == {"of", "kind", "size", "top", "labels", "heavy", "light", "bits", "terms", "epsilon"}


def test_adept_verify_says_the_same(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["adept"])
    name = written(statement(mechanism("l1")), tmp_path)
    assert dispatch(["verify", name, f"model_dir={tmp_path / 'model'}"]) == 0
    told, alone = capfd.readouterr().out.splitlines(), check(name, model_dir=str(tmp_path / "model"))
    assert told[:4] == alone[:4]
    assert {"statement", "composition", "not_hidden"} <= unchecked(alone) - unchecked(told)
    (tmp_path / "out.txt").write_bytes(b"text\n")
    assert dispatch(["verify", f"statement={name}"]) == 2
    assert (
        capfd.readouterr().err
        == f"adept: refused: {tmp_path / 'out.txt'} is not the output that the statement describes\n"
    )
    assert (
        dispatch(
            [
                "verify",
                f"statement={name}",
                f"output={tmp_path / 'model' / 'model.safetensors'}",
                "model_dir=utterances",
            ]
        )
        == 2
    )
    assert "is not the output" in capfd.readouterr().err
    (tmp_path / "out.txt").write_bytes(b"texts\n")
    assert dispatch(["verify", name, "model_dir=utterances"]) == 2
    assert (
        "pretrained/utterances/model.safetensors is not the model that the statement describes"
        in capfd.readouterr().err
    )
    assert dispatch(["verify", str(tmp_path / "none.privacy.json")]) == 2
    assert "none.privacy.json: No such file" in capfd.readouterr().err
    assert dispatch(["verify", str(tmp_path / "out.txt")]) == 2
    assert "(JSONDecodeError): name the file OUTPUT.privacy.json" in capfd.readouterr().err


FRACTIONS = [
    (Description(epsilon=1.1, size=4), {}, {"heavy": "7/2", "light": "1", "bits": 3}),  # e^1.1 = 3.004
    (Description(epsilon=1.1, size=4), {}, {"size": "9/2"}),
    (Description(epsilon=1.1, size=4), {}, {"top": "3/2"}),
    (
        mechanism("sqrt_n", epsilon=1.0),
        {"dim": 0.5, "sensitivity": 0.0, "scale": 0.0},
        {"sensitivity": "0", "scale": "0"},
    ),
    (mechanism("sqrt_n", epsilon=1.0), {"dim": DIM + 0.9}, {}),
    (mechanism("gaussian", epsilon=1.0), {"dim": 0}, {"dim": 0}),
]


@pytest.mark.parametrize(("own", "fields", "part"), FRACTIONS)
def test_weights_sizes_and_dimensions_are_whole_numbers(
    own: LocalRandomizer, fields: dict[str, Any], part: dict[str, Any], tmp_path: Path
) -> None:
    """Found while the checker was proved sound: fractions were cut off first, and 3.5 passed as 3, no dimension as no noise."""
    said = statement(own) | fields
    said["certificate"]["parts"][0] |= part
    _refuse(tmp_path, said)
