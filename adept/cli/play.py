"""``adept play``: a web page on this machine that shows the effect of a privacy budget."""

import contextlib
import os
import socket
import sys
import threading
import webbrowser
from pathlib import Path
from typing import Any
from urllib.parse import quote

from adept.cli.config import PlayConfig
from adept.cli.console import show_lines, warn
from adept.cli.process import DONE
from adept.errors import ConfigurationError, refuse

MAX_PORTS = 20  # ports to try, beginning with the one that was asked for


def main(config: PlayConfig) -> None:
    """Serve the page until a signal comes; raise AdeptError for a mistake of the user."""
    if sys.stderr.isatty():
        warn("the page takes some seconds to start")
    try:
        import uvicorn

        from adept.rewriting.loading import load_model
        from adept.web.files import Files
        from adept.web.sentences import Sentences
        from adept.web.server import Play
    except ModuleNotFoundError as error:
        raise ConfigurationError(f"adept play needs {error.name}: pip install 'adept-dp[web]'") from None
    is_open = config.host not in ("127.0.0.1", "localhost", "::1") and not config.token
    refuse((is_open, f"host must be this machine's own address without a token, got {config.host}: add token=SECRET"))
    with _listen(config) as listener:
        files = Files(ledger=config.ledger, model_dir=config.model_dir)
        play = Play(Sentences(*load_model(config.model_dir)), files, runs=Path(config.runs), token=config.token)
        address = _address(listener, config)
        show_lines([f"adept play: {address}  (Ctrl-C ends it)"])
        sys.stdout.flush()
        if config.browser and sys.stdout.isatty():
            threading.Timer(1.0, webbrowser.open, [address]).start()
        settings: dict[str, Any] = {"log_level": "critical", "access_log": False, "server_header": False}
        served = uvicorn.Config(play.app(), timeout_keep_alive=30, timeout_graceful_shutdown=1, **settings)
        with contextlib.suppress(KeyboardInterrupt):  # as the line above says, that is how it ends
            uvicorn.Server(served).run(sockets=[listener])
    if threading.active_count() > 1:
        os._exit(DONE)  # budgets are still being prepared, and nobody waits for them


def _listen(config: PlayConfig) -> socket.socket:
    refuse((not 0 <= config.port < 2**16, f"port must be between 0 (any free port) and 65535, got {config.port}"))
    family, reason = socket.AF_INET6 if ":" in config.host else socket.AF_INET, ""
    for port in range(config.port, min(config.port + MAX_PORTS, 2**16) if config.port else 1):
        try:
            listener = socket.create_server((config.host, port), family=family, backlog=512)
        except OSError as error:
            reason = str(error.strerror).partition(" (while")[0]
            continue
        if port != config.port:
            warn(f"port {config.port} is in use: the page is at port {port}")
        return listener
    raise ConfigurationError(f"cannot serve at {config.host}, port {config.port} ({reason}): choose another")


def _address(listener: socket.socket, config: PlayConfig) -> str:
    host = f"[{config.host}]" if ":" in config.host else config.host
    return f"http://{host}:{listener.getsockname()[1]}/" + (f"?token={quote(config.token)}" if config.token else "")
