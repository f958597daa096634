"""Exit statuses and messages: one status for one kind of end, and one line, with anything closed, full or interrupted."""

import gc
import importlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NoReturn

import forked
import pytest
from forked import CLOSED, PIPE, Forked
from hanging import wait_until
from tiny import TINY_MODEL, Run, tiny_config

from adept.__main__ import main
from adept.cli import process, rewrite, train
from adept.cli.process import guard
from adept.errors import DataError, Interrupted
from adept.release.flow.journal import Journal
from adept.release.flow.publication import Publication
from adept.release.ledger.claims import Ledger


def test_files_of_the_user_do_not_stand_in_for_modules(tmp_path: Path) -> None:
    """``python -m adept`` in a directory with a csv.py or torch.py, which Python would import instead of its own."""
    for name in ("csv", "json", "random", "datasets", "numpy", "torch"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('taken')\n")
    command = [sys.executable, "-m", "adept", "rewrite", "input=none.txt", "output=o.txt", "epsilon=8"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        "adept: cannot read none.txt, for it does not exist: correct its name\n",
    )


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (DataError("column is missing: name it"), 2, "adept: column is missing: name it\n"),
        (MemoryError(), 2, "not enough memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: a secret"), 2, "not enough memory"),
        (OSError(28, "No space left on device", "a.bin"), 2, "cannot read or write a.bin: No space left on device"),
        (Exception("Error while serializing: I/O error: x (os error 28)"), 2, "write: No space left on device\n"),
        (
            ModuleNotFoundError(name="sacrebleu"),
            2,
            'sacrebleu is not installed, or not as a whole: pip install "adept-dp[compare]"',
        ),
        (
            ModuleNotFoundError(name="torch._C"),
            2,
            "adept: torch is not installed, or not as a whole: install adept again",
        ),
        (
            ImportError("libc++.so: a secret"),
            2,
            "adept: a package that adept needs is not installed, or not as a whole",
        ),
        (
            PackageNotFoundError("adept-dp"),
            2,
            "adept: adept-dp is not installed, or not as a whole: install adept again",
        ),
        (
            OSError("libcudnn.so.9: cannot open shared object file: a secret"),
            2,
            "adept: a package that adept needs is not",
        ),
        (ModuleNotFoundError(name="adept.cli.none"), 70, "internal error (ModuleNotFoundError)"),
        (KeyboardInterrupt(), 130, "adept: interrupted\n"),
        (Interrupted("resume=true goes on"), 130, "adept: interrupted: resume=true goes on\n"),
        (SystemExit(0), 0, ""),
        (SystemExit(1), 70, "internal error (SystemExit)"),
        (KeyError("a secret utterance"), 70, "internal error (KeyError)"),
        (RecursionError("a secret"), 70, "internal error (RecursionError)"),
    ],
)
def test_every_kind_of_error_has_one_line_and_one_status_and_none_is_1(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    status: int,
    words: str,
) -> None:
    def fail() -> int:
        raise error

    monkeypatch.delenv("ADEPT_TRACEBACK", raising=False)
    assert guard(fail) == status
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") <= 1
    assert "secret" not in said
    monkeypatch.setenv("ADEPT_TRACEBACK", "1")
    assert guard(fail) == status
    assert "Traceback" in capsys.readouterr().err


def interrupted(number: int, when: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the command line with a signal at the moment when it imports the module ``when``."""
    hook = (
        "import sys, signal; import adept.__main__ as main\n"
        "class Hook:\n"
        "    def find_spec(self, name, *rest):\n"
        f"        if name == {when!r}: signal.raise_signal({number})\n"
        "sys.meta_path.insert(0, Hook())\n"
        f"signal.signal({number}, signal.SIG_DFL)\n"  # a shell's background job ignores an interrupt, and so would we
        "sys.exit(main.main())"
    )
    return subprocess.run([sys.executable, "-c", hook, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("number", "module"),
    [(signal.SIGINT, "torch.nn"), (signal.SIGTERM, "adept.cli.evaluate"), (signal.SIGINT, "adept.cli.help")],
)
def test_an_interrupt_during_imports_is_one_line_and_130(number: int, module: str) -> None:
    done = interrupted(number, module, "evaluate", "train=a.txt", "test=b.txt")
    assert (done.returncode, done.stderr) == (130, "adept: interrupted\n")


def test_a_current_directory_that_was_removed_is_one_line(tmp_path: Path) -> None:
    """A library of PyTorch would end the process with words of its own."""
    (tmp_path / "gone").mkdir()
    code = "import os, sys; os.rmdir('.' + os.sep + '..' + os.sep + 'gone'); import adept.__main__ as main; sys.exit(main.main())"
    command = [sys.executable, "-c", code, "rewrite", "input=/a.txt", "output=/b.txt", "epsilon=8"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path / "gone")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "adept: the current directory was removed" in done.stderr


@pytest.mark.parametrize("arrived", [True, False])
def test_an_interrupt_that_a_library_turned_into_an_error_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arrived: bool
) -> None:
    """As when it comes while a checkpoint is written, and what writes it says that the file is incomplete."""

    def fail(*_: object) -> NoReturn:
        raise RuntimeError("unexpected pos 64 vs 0")

    monkeypatch.setattr(train, "_train", fail)
    monkeypatch.setattr(process, "_arrived", [0.0] if arrived else [])
    with pytest.raises(Interrupted if arrived else RuntimeError):
        train.run(tiny_config(tmp_path / "run"), overrides=[])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGXCPU])
def test_an_interrupted_training_is_one_line_and_130(tmp_path: Path, number: int) -> None:
    sizes = [f"model.{name}={size}" for name, size in TINY_MODEL.items()] + ["data.sizes=[400,60,60]"]
    long = ["trainer.max_epochs=1000", "training.patience=1000"]
    training = Forked("train", "mechanism=sqrt_n", f"output_dir={tmp_path}/run", *long, *sizes, stderr=PIPE)
    saved = tmp_path / "run" / "checkpoints" / "last.ckpt"
    wait_until(lambda: saved.exists() or training.poll() is not None, "the first checkpoint")
    training.send_signal(number)
    hint = f"adept: interrupted: adept train resume_from={tmp_path}/run goes on after the last whole epoch\n"
    assert (training.communicate()[1].decode(), training.returncode) == (hint, 130)


def deaf() -> object:
    """A command whose interrupts are raised where they are lost, as in a callback of C code or while something is deleted."""
    process._interrupt = lambda number, frame: process._arrived.append(0.0)  # type: ignore[assignment,return-value]
    return main()


@pytest.mark.parametrize("program", [main, deaf])
def test_an_interrupted_release_is_130_and_leaves_a_journal_alone(
    tiny_l1_run: Path, tmp_path: Path, program: Callable[[], object]
) -> None:
    (tmp_path / "out").mkdir()
    command = [
        "rewrite",
        f"model_dir={tiny_l1_run}",
        "input=-",
        "format=txt",
        f"output={tmp_path}/out/a.txt",
        "epsilon=8",
    ]
    release = Forked(*command, stdin=PIPE, stderr=PIPE, program=program)
    assert release.stdin is not None
    release.stdin.write(b"flights\n" * 10_000)
    release.stdin.flush()
    wait_until(lambda: bool(list(tmp_path.glob("out/*"))) or release.poll() is not None, "the journal")
    release.send_signal(signal.SIGTERM)
    *expected, last = release.communicate()[1].splitlines()
    assert (last.startswith(b"adept: interrupted"), release.returncode) == (True, 130)
    estimates = b"adept: at epsilon 8", b"adept: a rewrite keeps", b"adept: estimated on"
    assert all(line.startswith(estimates) for line in expected), expected
    assert len(expected) <= 3
    assert {path.name for path in (tmp_path / "out").iterdir()} <= {"a.txt.journal"}


def rewrite_lines(tiny_l1_run: Path, tmp_path: Path, output: str) -> list[str]:
    """The command that releases three lines."""
    (tmp_path / "in.txt").write_text("flights\n" * 3)
    places = [f"input={tmp_path}/in.txt", f"output={output}", f"statement={tmp_path}/s.json"]
    return ["rewrite", f"model_dir={tiny_l1_run}", *places, "epsilon=8"]


def signalled_after(owner: Any, name: str, count: int) -> Callable[[], object]:
    """The command line, with a SIGTERM right after the ``count``-th call of a function."""

    def program() -> object:
        action, left = getattr(owner, name), [count]

        def run(*arguments: Any, **options: Any) -> Any:
            try:
                return action(*arguments, **options)
            finally:
                left[0] -= 1
                if not left[0]:
                    os.kill(os.getpid(), signal.SIGTERM)

        setattr(owner, name, run)
        return main()

    return program


@pytest.mark.parametrize(
    ("owner", "name", "count"),
    [
        (os, "link", 1), (os, "link", 2), (Journal, "finish", 1), (Publication, "clear", 1), (Journal, "remove", 1),
        (rewrite, "summary", 1),
    ],
)  # fmt: skip
def test_from_publication_on_a_signal_changes_no_status(
    tiny_l1_run: Path, tmp_path: Path, owner: Any, name: str, count: int
) -> None:
    command = rewrite_lines(tiny_l1_run, tmp_path, f"{tmp_path}/out.txt")
    done = forked.run(*command, "ledger=none", program=signalled_after(owner, name, count))
    assert done.returncode == 0, done.stderr
    assert "interrupted" not in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"in.txt", "out.txt", "s.json"}


def test_a_signal_in_a_publication_that_fails_is_an_interrupt(tiny_l1_run: Path, tmp_path: Path) -> None:
    """The name was taken meanwhile; nothing is published, and nothing is lost."""
    command, target = rewrite_lines(tiny_l1_run, tmp_path, f"{tmp_path}/out.txt"), tmp_path / "out.txt"

    def program() -> object:
        real = Publication.publish

        def publish(self: Publication) -> None:
            target.write_text("mine")
            os.kill(os.getpid(), signal.SIGTERM)
            real(self)

        Publication.publish = publish  # type: ignore[method-assign]
        return main()

    done = forked.run(*command, program=program)
    assert done.returncode == 130, done.stderr
    target.unlink()
    assert forked.run(*command, "resume=true").returncode == 0


def test_a_second_signal_takes_neither_the_way_on_nor_the_status(tiny_l1_run: Path, tmp_path: Path) -> None:
    """Ctrl-C twice, or a batch system that repeats SIGTERM: while files are removed, and while the line is printed."""

    def program() -> object:
        append, clear, show = Journal.append, Publication.clear, process.show_lines

        def appended(self: Journal, entry: Any, *, durable: bool) -> None:
            append(self, entry, durable=durable)
            os.kill(os.getpid(), signal.SIGTERM)

        def cleared(self: Publication) -> None:
            os.kill(os.getpid(), signal.SIGTERM)
            clear(self)

        def shown(lines: Iterable[str], *, to_stderr: bool = False) -> None:
            process._arrived[:1] = [0.0]  # long ago
            os.kill(os.getpid(), signal.SIGINT)
            show(lines, to_stderr=to_stderr)

        Journal.append, Publication.clear = appended, cleared  # type: ignore[method-assign]
        process.show_lines = shown
        return main()

    command = rewrite_lines(tiny_l1_run, tmp_path, f"{tmp_path}/out.txt")
    done = forked.run(*command, "ledger=none", program=program)
    assert done.returncode == 130, done.stderr
    assert "adept: interrupted: 3 records are drawn" in done.stderr
    assert done.stderr.count("interrupted") == 1
    assert "Traceback" not in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"in.txt", "out.txt.journal"}


def test_a_signal_after_a_command_is_done_changes_nothing(tmp_path: Path) -> None:
    def program() -> object:
        finish = main.__globals__["end_process"]
        main.__globals__["end_process"] = lambda: (os.kill(os.getpid(), signal.SIGTERM), finish())
        return main()

    done = forked.run("ledger", f"{tmp_path}/l.db", "limit=8", program=program)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_release_that_could_not_be_tidied_up_is_complete_and_says_so(tiny_l1_run: Path, tmp_path: Path) -> None:
    command = [*rewrite_lines(tiny_l1_run, tmp_path, f"{tmp_path}/out.txt"), f"ledger={tmp_path}/ledger.db"]

    def program() -> object:
        def full(self: Ledger, run: str, output_sha256: str | None = None) -> None:
            raise OSError(28, "disk is full", self.path)

        Ledger.finish = full  # type: ignore[method-assign]
        return main()

    done = forked.run(*command, program=program)
    assert done.returncode == 0
    assert f"out.txt is complete, but {tmp_path}/s.json.partial, " in done.stderr
    assert "the same command with resume=true tidies up" in done.stderr
    again = forked.run(*command, "resume=true")
    assert (again.returncode, "tidies up" in again.stderr) == (0, False)
    assert {path.name for path in tmp_path.iterdir()} == {"in.txt", "out.txt", "s.json", "ledger.db"}


def unread() -> int:
    """The writing end of a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def test_a_complete_release_ends_with_0_whatever_becomes_of_its_summary(tiny_l1_run: Path, tmp_path: Path) -> None:
    for number, stream in enumerate((CLOSED, unread())):
        output = tmp_path / f"out{number}.txt"
        (tmp_path / "s.json").unlink(missing_ok=True)
        command = rewrite_lines(tiny_l1_run, tmp_path, str(output))
        done = forked.run(*command, stdin=CLOSED, stdout=stream, stderr=stream)
        assert done.returncode == 0
        assert output.read_text().count("\n") == 3


def test_a_shells_closed_streams_and_a_real_process_are_no_different(tiny_l1_run: Path, tmp_path: Path) -> None:
    command = " ".join([sys.executable, "-m adept", *rewrite_lines(tiny_l1_run, tmp_path, f"{tmp_path}/out.txt")])
    shell = ["bash", "-c", f"{command} >&- <&-"]
    done = subprocess.run(shell, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (0, 3)
    assert done.stderr.startswith("adept: at epsilon 8 a rewrite keeps")
    assert (tmp_path / "out.txt").read_text().count("\n") == 3


@pytest.mark.parametrize("stream", ["closed", "unread"])
def test_records_that_standard_output_does_not_take_are_an_error(
    tiny_l1_run: Path, tmp_path: Path, stream: str
) -> None:
    command = [*rewrite_lines(tiny_l1_run, tmp_path, "-"), "format=txt"]
    done = forked.run(*command, stdout=CLOSED if stream == "closed" else unread())
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith(("adept: cannot write standard output", "adept: standard output was closed"))
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("--version", 2),
        ("ledger --help", 2),
        ("ledger LEDGER", 2),
        ("evaluate train=TRAIN test=TEST", 2),
        ("evaluate train=TRAIN test=TEST output_dir=OUT", 0),
        ("evaluate -m train=TRAIN test=TEST sweep_dir=OUT", 0),
        ("study study=limits output_dir=OUT", 0),
        ("rewrite input=TRAIN output=OUT epsilon=8 ledger=none ++dry_run=yes", 2),
        ("rewrite input=TRAIN output=OUT epsilon=8 ledger=none dry_run=false", 0),
        ("train --help", 2),
        ("train mechanism=l1 output_dir=OUT -c job", 2),
        ("train --cfg=job", 2),
    ],
)
def test_a_result_that_a_full_disk_takes_is_told_and_an_error_if_no_file_holds_it(
    tmp_path: Path, line: str, status: int
) -> None:
    Ledger(str(tmp_path / "ledger")).close()
    (tmp_path / "train").write_text("intent,text\nx,good day\ny,bad night\n" * 9)
    (tmp_path / "test").write_text("intent,text\nx,a good day\ny,a bad night\n" * 9)
    places = [re.sub("[A-Z]{3,}", lambda found: f"{tmp_path}/{found[0].lower()}", word) for word in line.split()]
    places += ["format=csv"] if {"evaluate", "rewrite"} & {*places} else []
    full = os.open("/dev/full", os.O_WRONLY)
    done = forked.run(*places, stdout=full)
    os.close(full)
    told = "adept: standard output did not take the result: No space left on device\n"
    assert (done.returncode, done.stderr[-len(told) :]) == (status, told)
    assert forked.run(*places[:1], "--help", stdout=unread()).stderr == ""


def test_a_closed_pipe_does_not_make_the_help_fail() -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m adept --help | :; exit ${{PIPESTATUS[0]}}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_help_lists_every_status_and_version_is_the_packages(adept: Run) -> None:
    said = adept("--help").stdout
    assert all(f" {status}  " in said for status in (0, 1, 2, 70, 130))
    assert adept("--version").stdout == f"adept {version('adept-dp')}\n"


@pytest.mark.parametrize(
    ("lost", "arguments", "words"),
    [
        (
            "importlib.metadata.version = lambda name: importlib.metadata.distribution('none')",
            ["--version"],
            "none is not",
        ),
        ("sys.modules['yaml'] = None", ["verify", "--help"], "yaml is not installed, or not as a whole"),
        ("pathlib.Path.is_dir = lambda path: False", ["verify", "--help"], "adept must be installed in a directory"),
    ],
    ids=["metadata", "package", "conf"],
)
def test_what_an_installation_lacks_is_one_line(lost: str, arguments: list[str], words: str) -> None:
    code = f"import importlib.metadata, pathlib, sys\n{lost}\nfrom adept.__main__ import main\nsys.exit(main())"
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"adept: {words}")
    assert done.stderr.count("\n") == 1


def test_garbage_is_collected_again_once_a_command_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not while it is imported; what was imported is not looked through from then on, and nothing is at the end."""
    frozen, seen, load = gc.get_freeze_count(), [], importlib.import_module

    def imported(name: str) -> Any:
        seen.append(gc.isenabled())
        return load(name)

    monkeypatch.setattr(importlib, "import_module", imported)
    monkeypatch.setattr(
        rewrite, "main", lambda config: 40 + (seen[0] is False and gc.isenabled() and gc.get_freeze_count() > frozen)
    )
    ended = forked.run("rewrite", "input=a.txt", "output=b.txt", program=lambda: main() + (not gc.isenabled()))
    assert ended.returncode == 42
