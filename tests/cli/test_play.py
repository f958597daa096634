"""The page's command: where it serves, what it refuses, and how it ends."""

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hanging import PATIENCE_SECONDS

from adept.cli.play import MAX_PORTS, PlayConfig, _address, _listen, main
from adept.errors import ConfigurationError


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that somebody listens at, with a free one behind it."""
    for _ in range(100):
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
            except (OSError, OverflowError):
                continue
            second.close()
            first.listen()
            yield port
            return
    pytest.fail("no two ports in a row are free")


def test_a_port_in_use_is_said_and_the_next_free_one_is_taken(taken: int, capsys: pytest.CaptureFixture[str]) -> None:
    config = PlayConfig(port=taken)
    with _listen(config) as listener:
        port = listener.getsockname()[1]
        assert taken < port <= taken + MAX_PORTS
        assert _address(listener, config) == f"http://127.0.0.1:{port}/"
    assert capsys.readouterr().err == f"adept: port {taken} is in use: the page is at port {port}\n"


def test_port_0_is_any_free_port_and_the_page_names_the_one_that_it_has(capsys: pytest.CaptureFixture[str]) -> None:
    with _listen(config := PlayConfig(port=0)) as listener:
        port = listener.getsockname()[1]
        assert port >= 1024
        assert _address(listener, config) == f"http://127.0.0.1:{port}/"
    assert capsys.readouterr().err == ""
    with pytest.raises(ConfigurationError, match=r"cannot serve at 192\.0\.2\.1, port 0"):
        _listen(PlayConfig(host="192.0.2.1", port=0, token="s"))  # no address of this machine


def test_no_free_port_is_one_line(taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adept.cli.play.MAX_PORTS", 1)
    with pytest.raises(
        ConfigurationError, match=rf"cannot serve at 127.0.0.1, port {taken} \(Address already in use\)"
    ):
        _listen(PlayConfig(port=taken))


@pytest.mark.parametrize("port", [65_536, 10**9])
def test_a_port_that_is_none_is_refused(port: int) -> None:
    with pytest.raises(ConfigurationError, match=r"port must be between 0 \(any free port\) and 65535"):
        _listen(PlayConfig(port=port))


def test_the_token_is_part_of_the_address_that_is_printed() -> None:
    with ExitStack() as stack:
        config = PlayConfig(port=0, token="a b&c")
        listener = stack.enter_context(_listen(config))
        assert _address(listener, config).endswith("/?token=a%20b%26c")


def test_other_machines_need_a_token() -> None:
    pytest.importorskip("starlette")
    with pytest.raises(ConfigurationError, match="add token=SECRET"):
        main(PlayConfig(host="0.0.0.0"))


def test_without_the_extra_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(ConfigurationError, match=r"adept play needs uvicorn: pip install 'adept-dp\[web\]'"):
        main(PlayConfig())


@pytest.mark.parametrize(
    ("number", "epsilon"), [(signal.SIGINT, 8), pytest.param(signal.SIGTERM, 36, marks=pytest.mark.slow)]
)
def test_it_says_where_it_is_and_ends_quietly(taken: int, tmp_path: Path, number: int, epsilon: int) -> None:
    pytest.importorskip("starlette")
    command = [sys.executable, "-m", "adept", "play", f"port={taken}", f"ledger={tmp_path}/ledger.db", "browser=false"]
    page = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert page.stdout is not None
    said = page.stdout.readline()
    found = re.match(r"adept play: http://127\.0\.0\.1:(\d+)/ ", said)
    assert found, said
    connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=PATIENCE_SECONDS)
    connection.request("GET", "/")
    assert b"What does a privacy budget buy?" in connection.getresponse().read()
    connection.request("POST", "/api/play", json.dumps({"text": "play some jazz", "epsilon": epsilon}))
    answer = connection.getresponse()
    assert b"texts" in answer.readline()  # at 36 its reader is still to come
    page.send_signal(number)
    out, err = page.communicate(timeout=PATIENCE_SECONDS)
    connection.close()
    assert (page.returncode, out) == (0, ""), err
    assert err.splitlines() == [f"adept: port {taken} is in use: the page is at port {found[1]}"]
