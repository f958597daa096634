"""A mechanism in an environment of its own answers as one in this process would; all audits of others state their claims.

False positives: three audits at confidence 1 - 1e-7.
"""

import copy
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from wild import claims
from wild.environments import NotInstalled, build_environment, isolated

from adept.errors import ConfigurationError

AUDIT = '''
"""A package: of this test."""
import random

PACKAGE, VERSION, INSTALLS = "stand-in", "1", ()

class Response:
    says, claim, expected = ("epsilon", "docstring"), {"epsilon": 1.0, "alphabet": 2}, "sound"
    draw = random.SystemRandom().random
    def __init__(self, factor):
        self.epsilon, self.calls = factor, 0
    def privatize(self, values):
        print("chatter of a package")
        self.calls += 1
        keep = 2.718281828459045 ** self.epsilon
        return [v if self.draw() < keep / (1 + keep) else 1 - v for v in values]

class Seedable(Response):
    draw = random.random

class Leaking(Response):
    expected = "violated: distribution (half the noise)"
    def __init__(self, factor):
        super().__init__(3 * factor)

class Counting(Response):
    def privatize(self, values):
        self.calls += len(values)
        return [self.calls] * len(values)

class Rows(Response):
    claim = {"epsilon": 1.0, "dim": 2}
    def privatize(self, rows):
        return [[x + 1, y] for x, y in rows]

class Starting(Response):
    def __init__(self, factor):
        super().__init__(factor)
        import subprocess, sys
        self.started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])  # holds the pipes open
    def privatize(self, values):
        return [self.started.pid] * len(values)

class Failing(Response):
    def __init__(self, factor):
        raise ValueError("no such model")
'''


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A directory that looks like an environment: this interpreter."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    return tmp_path


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An audit file, and the directory that holds it."""
    path = tmp_path / "audits" / "stand_in.py"
    path.parent.mkdir()
    path.write_text(AUDIT, "utf-8")
    monkeypatch.setattr(claims, "DIRECTORY", path.parent)
    return path


def test_a_copy_has_a_memory_of_its_own(environment: Path, stand_in: Path) -> None:
    with isolated(environment, stand_in, "Counting") as mechanism:
        assert mechanism.privatize([0, 0]) == [2, 2]
        other = copy.deepcopy(mechanism)
        assert (other.privatize([0]), other.privatize([0]), mechanism.privatize([0])) == ([3], [4], [3])


def test_vectors_come_back_as_they_were_released(environment: Path, stand_in: Path) -> None:
    with isolated(environment, stand_in, "Rows", dim=2) as mechanism:
        released = mechanism.privatize(np.array([[0.1, 0.2], [3.0, 4.0]]))
        assert released.tolist() == [[1.1, 0.2], [4.0, 4.0]]
        assert mechanism.dim == 2


def test_a_seed_of_the_caller_reaches_the_package(environment: Path, stand_in: Path) -> None:
    state = np.random.get_state()
    try:
        with isolated(environment, stand_in, "Seedable") as mechanism:
            released = []
            for _ in range(2):
                np.random.seed(0)
                released.append(mechanism.privatize([0] * 64))
            assert released[0] == released[1] != mechanism.privatize([0] * 64)
    finally:
        np.random.set_state(state)


def test_what_a_package_raises_is_an_error_here(environment: Path, stand_in: Path) -> None:
    with pytest.raises(RuntimeError, match="ValueError: no such model"), isolated(environment, stand_in, "Failing"):
        pass


def test_processes_that_a_package_starts_end_with_its_worker(environment: Path, stand_in: Path) -> None:
    """Else the worker's pipes stay open, and whoever reads them to their end waits for ever."""
    with isolated(environment, stand_in, "Starting") as mechanism:
        [number] = mechanism.privatize([0])
        assert process_exists(number)
    deadline = time.monotonic() + 30
    while process_exists(number) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not process_exists(number)


def process_exists(number: int) -> bool:
    """Return True for a process that runs, not for one that is dead and not yet collected."""
    try:
        state = Path(f"/proc/{number}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("claim", "verdict", "noted"),
    [("Response", "not refuted", ""), ("Seedable", "not refuted", "randomness"), ("Leaking", "violated", "")],
)
def test_a_claim_is_judged_with_less_noise_as_a_control(
    environment: Path, stand_in: Path, claim: str, verdict: str, noted: str
) -> None:
    module = claims.load_audit("stand_in")
    kind = getattr(module, claim)
    row = claims.judge_claim(module, kind, environment, trials=2000, confidence=1 - 1e-7)
    assert (row.verdict, row.noted, row.as_expected) == (verdict, noted, True), row
    assert row.control.startswith("found") == (verdict == "not refuted")


def test_a_control_that_cannot_be_found_makes_a_row_that_could_not_tell(
    environment: Path, stand_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "CONTROLS", (1.01, 1.02))  # a hundred trials do not tell them from the claim
    module = claims.load_audit("stand_in")
    row = claims.judge_claim(module, module.Response, environment, trials=100, confidence=1 - 1e-12)
    assert (row.verdict, row.control, row.as_expected) == ("could not tell", "not found (noise / 1.02)", False)
    row = claims.judge_claim(module, module.Failing, environment, trials=100, confidence=0.999)
    assert (row.verdict, row.evidence) == ("not judged", "ValueError: no such model")


def test_a_package_that_cannot_be_installed_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(NotInstalled, match="nothing could not be installed"):
        build_environment("nothing", [["--no-index", "adept-no-such-package==0"]], tmp_path)


def test_every_audit_states_its_claim_and_what_is_expected() -> None:
    assert len(claims.PACKAGES) >= 12
    for name in claims.PACKAGES:
        module = claims.load_audit(name)
        assert any(f"=={module.VERSION}" in argument for call in module.INSTALLS for argument in call)
        for kind in claims.claims_of(module):
            assert len(kind.says) == 2
            assert kind.claim["epsilon"] > 0
            assert kind.expected.startswith(("sound", "violated: "))
    with pytest.raises(ConfigurationError, match="only must be one of"):
        next(claims.run(mechanisms=("nonsense",)))


def test_a_study_writes_a_table_and_a_figure() -> None:
    module = claims.load_audit("diffpriv_pure")
    rows = [claims._row(module, kind, "not installed") for kind in claims.claims_of(module)]
    assert len(claims.tables(rows)[0][2]) == len(rows)
    assert "svg" in claims.draw(rows)
