"""Every reproducer of docs/wild.md runs in its package's own environment; quotes are the packages' words; short audits agree.

An audit of a sound package is a false positive with a chance of 1e-6 / 20 at most in a run of this file.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest
from wild import claims
from wild.environments import NotInstalled, build_environment, python_of, surroundings

pytestmark = pytest.mark.network

ENVIRONMENTS = os.environ.get("ADEPT_WILD_ENVIRONMENTS")  # null: in the user's cache
REPRODUCERS = sorted((claims.DIRECTORY.parent / "reproducers").glob("*/*.py"))
MAX_LINES = 30
SHORT_TRIALS = 1000
QUICK = {  # one claim of each small package, which a short audit refutes or not as expected
    "diffpriv_pure": "Count",
    "diff_priv_laplace_python": "Max",
    "diffpriv": "Response",
    "eeprivacy": "VectorMeanLaplace",
    "trasgodp": "KaryResponse",
    "nprr": "MultinomialColumn",
    "opendp": "Response",
    "python_dp": "Count",
    "pypantera": "CusText",
}
LARGER = {
    "diffprivlib": "Binary",
    "ldp_toolbox": "GRR",
    "multi_freq_ldpy": "SSOrdered",
    "pure_ldp": "RAPPOR",
    "privadjust": "HCMS",
    "privfill": "OneTokenLaplace",
}


def marked(path: Path) -> object:
    """Return a reproducer as a parameter; one whose environment has PyTorch is slow to install."""
    torch = any("torch" in argument for call in claims.load_audit(path.parent.name).INSTALLS for argument in call)
    return pytest.param(path, id=f"{path.parent.name}/{path.stem}", marks=[pytest.mark.slow] if torch else [])


def environment_of(package: str) -> Path:
    """Return the environment of a package, or skip the test and say that nothing was run."""
    try:
        return build_environment(package, claims.load_audit(package).INSTALLS, ENVIRONMENTS)
    except NotInstalled as reason:
        pytest.skip(f"NOT RUN: {reason}")


@pytest.mark.parametrize("path", [*map(marked, REPRODUCERS)])
def test_a_reproducer_shows_its_violation(path: Path) -> None:
    environment = environment_of(path.parent.name)
    assert len(path.read_text("utf-8").splitlines()) <= MAX_LINES
    done = subprocess.run(
        [str(python_of(environment)), "-P", str(path)],
        env=surroundings(environment), capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def words(text: str) -> str:
    """Return a text's words and numbers, one space between two."""
    return " ".join(re.findall(r"[\w.]+", text.lower()))


def texts_of(package: str, environment: Path) -> str:
    """Return the sources and the README of a package as it is installed."""
    name = re.sub(r"[-.]+", "_", claims.load_audit(package).PACKAGE).lower()
    [record] = [
        path
        for path in environment.glob("lib/python*/site-packages/*/RECORD")
        if path.parent.name.lower().startswith(f"{name}-")
    ]
    files = [line.split(",")[0] for line in record.read_text("utf-8").splitlines()]
    read = [record.parents[1] / file for file in files if file.endswith((".py", "METADATA"))]
    return words(" ".join(path.read_text("utf-8", errors="replace") for path in read))


def check_quotes(package: str) -> None:
    environment = environment_of(package)
    text = texts_of(package, environment)
    for kind in claims.claims_of(claims.load_audit(package)):
        for part in kind.says[0].split(" ... "):
            assert words(part).strip(".") in text, (kind.__name__, part)


def judge(package: str, claim: str) -> claims.WildRow:
    """Audit one claim in few trials."""
    module = claims.load_audit(package)
    kind = getattr(module, claim)
    environment = environment_of(package)
    return claims.judge_claim(module, kind, environment, trials=SHORT_TRIALS, confidence=1 - 1e-7)


@pytest.mark.parametrize("package", QUICK)
def test_a_claim_is_quoted_in_the_words_of_its_package(package: str) -> None:
    check_quotes(package)


@pytest.mark.slow
@pytest.mark.parametrize("package", sorted({*claims.PACKAGES} - {*QUICK}))
def test_a_claim_is_quoted_in_the_words_of_a_larger_package(package: str) -> None:
    check_quotes(package)


@pytest.mark.parametrize("package", QUICK)
def test_a_short_audit_says_what_was_expected_beforehand(package: str) -> None:
    row = judge(package, QUICK[package])
    assert row.as_expected, row


@pytest.mark.slow
@pytest.mark.parametrize("package", LARGER)
def test_a_short_audit_of_a_larger_package_says_what_was_expected_beforehand(package: str) -> None:
    row = judge(package, LARGER[package])
    assert row.as_expected, row
