"""Commands as an ordinary user has them: root, as which CI runs, may do what nobody else may."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import forked
import pytest

from adept.__main__ import main

NOBODY = 65534
Command = Callable[..., "subprocess.CompletedProcess[str]"]

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


@pytest.fixture
def home(tiny_l1_run: Path) -> Iterator[Path]:
    """A directory of somebody who is not root, with a model and a file."""
    home = Path(tempfile.mkdtemp())  # pytest's own is root's alone
    shutil.copytree(tiny_l1_run / "model", home / "model")
    (home / "in.txt").write_text("flights\n" * 8)
    for path in (home, *home.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    yield home
    shutil.rmtree(home)


@pytest.fixture
def adept(home: Path, tiny_l1_run: Path, tmp_path: Path, adept_here: Command) -> Command:
    """The command line as that user, in a fork of a process that has all modules: Python itself may lie in root's home."""
    places = [f"model_dir={tiny_l1_run}", f"input={home}/in.txt", f"output={tmp_path}/a.txt"]
    assert adept_here("rewrite", *places, "epsilon=8", f"ledger={tmp_path}/ledger.db", "card=true").returncode == 0

    def program() -> object:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        os.environ.update(HOME=str(home), XDG_CONFIG_HOME=str(home / "config"), XDG_CACHE_HOME=str(home / "cache"))
        return main()

    return lambda *arguments: forked.run(*arguments, program=program)


def release(home: Path, *options: str) -> list[str]:
    return ["rewrite", f"model_dir={home}/model", f"input={home}/in.txt", "epsilon=8", *options]


def test_a_release_with_a_ledger_and_a_key_is_its_users(home: Path, adept: Command) -> None:
    done = adept(*release(home, f"output={home}/out/a.txt", f"ledger={home}/ledger.db", "card=true"))
    assert done.returncode == 0, done.stderr
    assert json.loads((home / "out" / "a.txt.privacy.json").read_text())["records"] == 8
    made = [*(home / "out").iterdir(), home / "ledger.db", home / "config" / "adept" / "key"]
    assert {path.stat().st_uid for path in made} == {NOBODY}
    assert {(home / name).stat().st_mode & 0o077 for name in ("ledger.db", "config/adept/key")} == {0}
    refused = adept(*release(home, f"output={home}/b.txt", f"ledger={home}/ledger.db"))
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("owner", "mode", "name", "message"),
    [
        (0, 0o755, "out", "Permission denied"),  # a directory that may be read
        (0, 0o700, "out", "Permission denied"),  # or not even that
        (0, 0o600, "in.txt", "cannot read"),
        (0, 0o600, "model/config.json", "Permission denied"),
        (0, 0o600, "ledger.db", "ledger"),
        (NOBODY, 0o500, "out", "Permission denied"),
    ],
)
def test_what_belongs_to_somebody_else_is_one_line(
    home: Path, adept: Command, owner: int, mode: int, name: str, message: str
) -> None:
    (home / "out").mkdir()
    os.chown(home / "out", NOBODY, NOBODY)
    (home / "ledger.db").touch(0o600)
    if name != "ledger.db":
        (home / "ledger.db").unlink()
    os.chown(home / name, owner, owner)
    (home / name).chmod(mode)
    done = adept(*release(home, f"output={home}/out/a.txt", f"ledger={home}/ledger.db"))
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert list((home / "out").iterdir()) == []


def test_a_home_that_cannot_be_written_needs_no_key_for_a_plain_release(home: Path, adept: Command) -> None:
    (home / "config").mkdir(mode=0o500)
    done = adept(*release(home, f"output={home}/a.txt"))
    assert done.returncode == 0, done.stderr
    refused = adept(*release(home, f"output={home}/b.txt", f"ledger={home}/ledger.db"))
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert f"cannot make the key {home}/config/adept/key: Permission denied: mend that, or give key=" in refused.stderr
