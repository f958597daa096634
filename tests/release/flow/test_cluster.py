"""A release that a cluster draws: workers are killed, and no record is lost, released twice or out of order."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from itertools import chain, repeat
from pathlib import Path

import pytest
from hanging import PATIENCE_SECONDS, wait_until

from adept.data.texts import say_once
from adept.errors import ConfigurationError, DataError
from adept.mechanisms import SqrtNLaplace
from adept.release.flow import cluster
from adept.release.flow.local import release_file
from adept.release.records import ReleaseOptions
from adept.rewriting.rewriter import Rewriter

WORKER = b"ray::_Worker"
ERRORS = type("exceptions", (), {"RayError": OSError, "RayTaskError": KeyError})


ESTIMATES = ("adept: at epsilon 8", "adept: a rewrite keeps", "adept: estimated on")  # lines before a release


def workers_of(session: int) -> list[int]:
    """The worker processes of one session."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cmdline").read_bytes().startswith(WORKER):
                found += [int(entry.name)] * (os.getsid(int(entry.name)) == session)
        except OSError:
            continue  # gone meanwhile
    return found


def listening(session: int) -> set[str]:
    """The addresses at which the processes of one session listen, as the kernel writes them."""
    sockets: set[str] = set()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.getsid(int(entry.name)) == session:
                sockets |= {str(handle.readlink()) for handle in (entry / "fd").iterdir()}
        except OSError:
            continue  # gone meanwhile
    rows = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    return {row[1].split(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets}


def rewriting(
    model_dir: Path, tmp_path: Path, *options: str, records: int, stdout: int = subprocess.PIPE
) -> "subprocess.Popen[str]":
    """``adept rewrite`` on two local workers, in a session of its own."""
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps({"text": f"a fare to {i}", "id": i}) + "\n" for i in range(records)))
    always = ["mechanism=sqrt_n", "epsilon=8", "labels=drop", "keep_columns=[id]", "batch_size=8", "engine=ray"]
    places = [f"model_dir={model_dir}", f"input={source}", "workers=2"]
    command = [sys.executable, "-m", "adept", "rewrite", *places, *always, *options]
    return subprocess.Popen(command, stdout=stdout, stderr=subprocess.PIPE, text=True, start_new_session=True)


def released_with_kills(model_dir: Path, tmp_path: Path, *, records: int, kills: int) -> list[int]:
    """Rewrite on two local workers, killing them now and then; returns the ids in the order of the output."""
    target = tmp_path / "out.jsonl"
    process = rewriting(model_dir, tmp_path, f"output={target}", "ledger=none", records=records)
    killed, deadline = 0, time.monotonic() + PATIENCE_SECONDS
    while process.poll() is None and killed < kills and time.monotonic() < deadline:
        time.sleep(random.uniform(0.05, 0.3))
        for worker in random.sample(workers := workers_of(process.pid), min(1, len(workers))):
            os.kill(worker, signal.SIGKILL)
            killed += 1
    out, said = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, said
    assert len(out.splitlines()) <= 4, out
    assert all(line.startswith(ESTIMATES) for line in said.splitlines()), said
    assert killed == kills, "the release was over before the workers were killed"
    rows = [json.loads(line) for line in target.read_text().splitlines()]
    assert json.loads((tmp_path / "out.jsonl.privacy.json").read_text())["records"] == len(rows)
    assert not list(tmp_path.glob("*.journal"))
    return [row["id"] for row in rows]


@pytest.mark.slow
def test_workers_that_are_killed_lose_nothing_and_repeat_nothing(tiny_run: Path, tmp_path: Path) -> None:
    assert released_with_kills(tiny_run, tmp_path, records=3_000, kills=2) == list(range(3_000))


def drawing(process: "subprocess.Popen[str]", journal: Path, *, bytes_of_draws: int) -> None:
    """Wait until so much was drawn."""
    wait_until(lambda: process.poll() is not None or _is_longer(journal, bytes_of_draws), "draws in the journal")
    assert process.poll() is None, process.communicate()[1]


def _is_longer(path: Path, size: int) -> bool:
    return path.exists() and path.stat().st_size > size


@pytest.mark.slow
def test_a_signal_is_130_in_one_line_and_nothing_listens_beyond_this_machine(tiny_run: Path, tmp_path: Path) -> None:
    process = rewriting(tiny_run, tmp_path, f"output={tmp_path}/out.jsonl", records=30_000)
    drawing(process, tmp_path / "out.jsonl.journal", bytes_of_draws=20_000)
    assert listening(process.pid) <= {"0100007F", "0000000000000000FFFF00000100007F"}
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=PATIENCE_SECONDS)
    *expected, last = said.splitlines()
    assert process.returncode == 130, said
    assert last.startswith("adept: interrupted: ")
    assert "resume=true goes on" in last
    assert all(line.startswith(ESTIMATES) for line in expected), said
    assert {path.name for path in tmp_path.iterdir()} == {"in.jsonl", "out.jsonl.journal"}


@pytest.mark.slow
def test_a_stream_that_a_cluster_draws_comes_again_row_by_row_after_a_kill(tiny_run: Path, tmp_path: Path) -> None:
    """The process that writes is killed, and so are its workers; what was on standard output comes again, and then the rest."""
    options = ["output=-", "format=jsonl", f"statement={tmp_path}/s.json", "resume=true", "decoding.strategy=sample"]
    seen, shown = "", tmp_path / "shown"
    for number in range(3):
        with shown.open("w") as stdout:
            process = rewriting(tiny_run, tmp_path, *options, records=2_000, stdout=stdout.fileno())
        if number < 2:
            drawing(process, tmp_path / "s.json.journal", bytes_of_draws=60_000 * (number + 1))
            os.killpg(process.pid, signal.SIGKILL)
        _, said = process.communicate(timeout=PATIENCE_SECONDS)
        out = shown.read_text()
        shorter, longer = sorted([seen, out[: out.rfind("\n") + 1]], key=len)
        assert longer.startswith(shorter)
        seen = longer
    assert (process.returncode, out) == (0, seen), said
    assert [json.loads(line)["id"] for line in out.splitlines()] == list(range(2_000))
    assert {path.name for path in tmp_path.iterdir()} == {"in.jsonl", "s.json", "shown"}


@pytest.mark.hours
def test_a_hundred_killed_workers(tiny_run: Path, tmp_path: Path) -> None:
    """Half an hour on a machine that has nothing else to do: a worker that was killed starts again with all its imports."""
    for run in range(4):
        (tmp_path / str(run)).mkdir()
        ids = released_with_kills(tiny_run, tmp_path / str(run), records=30_000, kills=25)
        assert ids == list(range(30_000))


def test_without_ray_one_line_says_what_to_install(
    tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    (tmp_path / "in.txt").write_text("a fare\n")
    rewriter = Rewriter.from_pretrained(tiny_run, mechanism=SqrtNLaplace(epsilon=8.0))
    with pytest.raises(ConfigurationError, match=r"engine=ray needs Ray.*adept-dp\[cluster\]"):
        release_file(
            rewriter, str(tmp_path / "in.txt"), str(tmp_path / "out.txt"), options=ReleaseOptions(engine="ray")
        )
    assert [path.name for path in tmp_path.iterdir()] == ["in.txt"]


def test_what_ray_prints_never_reaches_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = Ray()
    monkeypatch.setattr(fake, "put", lambda value: print("a worker died") or value)
    monkeypatch.setitem(sys.modules, "ray", fake)
    monkeypatch.setitem(sys.modules, "ray.exceptions", ERRORS)
    list(cluster.draw_on_cluster(Numbers().draw, iter([([{"id": 1}], 1)]), workers=1))
    print("a row")
    assert capsys.readouterr() == ("a row\n", "a worker died\n")


def test_a_cluster_that_does_not_start_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray says so by an exception of no kind at all."""
    fake = Ray()

    def init(**_: object) -> None:
        raise Exception("The current node timed out during startup.\nmore")

    monkeypatch.setattr(fake, "init", init)
    monkeypatch.setitem(sys.modules, "ray", fake)
    monkeypatch.setitem(sys.modules, "ray.exceptions", ERRORS)
    with pytest.raises(
        DataError, match=r"cannot reach or start the cluster \(The current node timed out during startup"
    ):
        list(cluster.draw_on_cluster(Numbers().draw, iter(()), workers=2))


def ray_like(monkeypatch: pytest.MonkeyPatch, init: Callable[..., None]) -> None:
    """A cluster that starts in a way of its own."""
    fake = Ray()
    monkeypatch.setattr(fake, "init", init)
    monkeypatch.setitem(sys.modules, "ray", fake)
    monkeypatch.setitem(sys.modules, "ray.exceptions", ERRORS)


def test_a_cluster_of_ours_listens_here_alone_and_asks_for_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings for Ray are in the environment while it runs, and not afterwards; the user's own settings stay."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "1")
    before, seen = dict(os.environ), {}
    ray_like(monkeypatch, lambda **_: seen.update(os.environ))
    list(cluster.draw_on_cluster(Numbers().draw, iter([([{"id": 1}], 1)]), workers=1))
    assert dict(os.environ) == before
    assert (seen["RAY_AUTH_MODE"], seen["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"]) == ("token", "0")
    assert len(seen["RAY_AUTH_TOKEN"]) == 64
    assert seen["RAY_USAGE_STATS_ENABLED"] == "1"


def test_a_cluster_that_is_there_has_its_own_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    seen: dict[str, str] = {}
    ray_like(monkeypatch, lambda **_: seen.update(os.environ))
    list(cluster.draw_on_cluster(Numbers().draw, iter([([{"id": 1}], 1)]), workers=1))
    assert not {"RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"} & seen.keys()


def test_signals_stay_ours_whatever_ray_does_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def init(**_: object) -> None:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(15))

    before = signal.getsignal(signal.SIGTERM)
    ray_like(monkeypatch, init)
    for _ in cluster.draw_on_cluster(Numbers().draw, iter([([{"id": 1}], 1)]), workers=1):
        assert signal.getsignal(signal.SIGTERM) is before

    def told_to_end(**_: object) -> None:
        init()
        os.kill(os.getpid(), signal.SIGTERM)

    ray_like(monkeypatch, told_to_end)
    with pytest.raises(KeyboardInterrupt):
        list(cluster.draw_on_cluster(Numbers().draw, iter([([{"id": 1}], 1)]), workers=1))
    assert signal.getsignal(signal.SIGTERM) is before


def test_what_rays_threads_say_is_dropped_and_what_others_say_is_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ray_like(monkeypatch, lambda **_: None)
    for _ in cluster.draw_on_cluster(Numbers().draw, iter([([{"id": 1}], 1)]), workers=1):
        for name in ("ray_listen_error_messages", "progress"):
            thread = threading.Thread(target=lambda: print(threading.current_thread().name), name=name)
            thread.start()
            thread.join()
    assert capsys.readouterr() == ("", "progress\n")


@pytest.mark.parametrize(
    ("options", "message"), [({"engine": "spark"}, "engine must be"), ({"workers": 0}, "workers must be")]
)
def test_impossible_engines_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        ReleaseOptions(**options)


class Numbers:
    """Draws the records' own numbers."""

    def draw(self, batch: list[dict[str, int]]) -> dict[str, list[int]]:
        return {"texts": [record["id"] for record in batch]}


class Ray:
    """A cluster of one thread that answers at once, and remembers how much it was asked before an answer was taken."""

    def __init__(self) -> None:
        self.open = self.most = 0

    def init(self, **_: object) -> None: ...
    def shutdown(self) -> None: ...
    def put(self, value: object) -> object:
        return value

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 2.0}

    def wait(self, results: list[object], *, timeout: float) -> tuple[list[object], list[object]]:
        return results, []

    def get(self, result: object) -> object:
        self.open -= 1
        return result

    def remote(self, **_: object):
        def wrap(kind: type):
            class Handle:
                @staticmethod
                def remote(*arguments: object):
                    actor = kind(*arguments)

                    def draw(batch: object) -> object:
                        self.open += 1
                        self.most = max(self.most, self.open)
                        return actor.draw(batch)

                    method = type("Method", (), {"remote": staticmethod(draw)})
                    return type("Actor", (), {"draw": method})

            return Handle

        return wrap


def test_parts_come_back_in_order_and_few_are_read_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of any length is never in memory: at most a few batches a worker wait."""
    fake = Ray()
    monkeypatch.setitem(sys.modules, "ray", fake)
    monkeypatch.setitem(sys.modules, "ray.exceptions", ERRORS)
    parts = (([{"id": i}], i) for i in range(100))
    pairs = list(cluster.draw_on_cluster(Numbers().draw, parts, workers=2))
    assert [(part[1], entry["texts"]) for part, entry in pairs] == [(i, [i]) for i in range(100)]
    assert fake.most <= 2 * cluster.MAX_WAITING + 1


def draw_one(monkeypatch: pytest.MonkeyPatch, fake: Ray) -> None:
    monkeypatch.setitem(sys.modules, "ray", fake)
    monkeypatch.setitem(sys.modules, "ray.exceptions", ERRORS)
    list(cluster.draw_on_cluster(Numbers().draw, iter([([{"id": 1}], 1)]), workers=None))


def test_a_worker_with_other_versions_than_the_statement_names_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement names the versions of one machine, and its certificate is of their arithmetic."""
    draw_one(monkeypatch, Ray())
    answers = chain([{"adept-dp": "1", "opendp": "2"}], repeat({"adept-dp": "0", "opendp": "2"}))
    monkeypatch.setattr(cluster, "drawing_versions", lambda: next(answers))
    with pytest.raises(ConfigurationError, match="a machine of the cluster has adept-dp 0, unlike this one: install"):
        draw_one(monkeypatch, Ray())


@pytest.mark.parametrize("cpus", [{}, {"CPU": 0.0}, {"CPU": 0.5}])
def test_a_cluster_without_a_whole_cpu_gets_one_worker(monkeypatch: pytest.MonkeyPatch, cpus: dict[str, float]) -> None:
    fake = Ray()
    fake.cluster_resources = lambda: cpus  # type: ignore[method-assign]
    draw_one(monkeypatch, fake)


def test_a_run_that_waits_for_a_cluster_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fake = Ray()
    fake.wait = lambda results, *, timeout: ([], results)  # type: ignore[method-assign]
    say_once.cache_clear()
    draw_one(monkeypatch, fake)
    assert "if it has no free CPU, as ray status shows, the run waits for one" in caplog.text


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("", "Exception"),
        ("cannot connect\nmore", "cannot connect"),
        ("The actor died, \x1b[36mray::_Worker\nTraceback:\n  x\nModuleNotFoundError: No module named 'adept'\n", "Mod.*'adept'"),
    ],
)  # fmt: skip
def test_what_a_worker_died_of_is_told_and_not_that_it_died(said: str, reason: str) -> None:
    assert re.fullmatch(reason, cluster._reason(Exception(said)))
