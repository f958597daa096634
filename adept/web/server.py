"""The web server of ``adept play``: it sends the page and answers the requests of its script.

The page is for one person at this machine, and other web sites must not use it. Two checks refuse requests from other
web sites. If a site makes its host name resolve to 127.0.0.1 (DNS rebinding), the check of the header Host refuses
its requests. If a form or a script of another site sends a request, the check of the header Origin refuses it. If
other machines can reach the server, every request needs a token, except for the page's static files. The page loads
nothing from other servers (Content-Security-Policy), and it sets no cookies.
"""

import hmac
import importlib
import inspect
import json
import re
import sys
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

import anyio
from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adept.errors import AdeptError, ConfigurationError, refuse
from adept.mechanisms.guarantee import words
from adept.pages import render
from adept.rewriting.expectation import ADVICE
from adept.web.files import MAX_UPLOAD_BYTES, Choices, Dropped, Files, earlier_results, read_earlier
from adept.web.sentences import DEFAULT, MAX_SENTENCE_CHARACTERS, OURS, PEOPLE, STOPS, Release, Sentences, worst_pair

PROOFS = {
    "ours": ("adept.mechanisms.selection",),
    "original": ("adept.mechanisms.laplace",),
    "reader": ("adept.web.sentences", "adept.attacks.likelihood"),
    "shuffled": ("adept.mechanisms.shuffling",),
    "central": ("adept.mechanisms.central_counts",),
}
# A report that lies in a directory may hold anything: it is shown in a frame that runs nothing and
# loads nothing.
SANDBOXED = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'; sandbox"
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; "
        "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
CHOICES: dict[str, Any] = {"epsilon": int | float, "label_set": list, "max_records_per_person": int, "again": bool}
CHOICES |= dict.fromkeys(("text_column", "label_column", "labels", "person_column"), str)
IN_A_TERMINAL = " (an option that this page lacks: use adept rewrite in a terminal)"

Answer = TypeVar("Answer")


class Play:
    """The page, and the answers to its script; ``runs`` is the directory of earlier results."""

    def __init__(self, sentences: Sentences, files: Files, *, runs: Path, token: str | None = None) -> None:
        self.sentences, self.files, self.runs, self.token = sentences, files, runs, token
        self._workers, self._preparing = CapacityLimiter(2), CapacityLimiter(1)  # threads of torch

    def app(self) -> ASGIApp:
        """Return the web application for the page's addresses, protected by ``Guarded``."""
        routes = [
            Route("/", self.page),
            Route("/proof/{name}", self.proof),
            Route("/api/play", self.play, methods=["POST"]),
            Route("/api/worst", self.worst, methods=["POST"]),
            Route("/api/budgets", self.budgets, methods=["POST"]),
            Route("/api/files", self.drop, methods=["POST"]),
            Route("/api/files/{key}", self.file),
            Route("/api/files/{key}", self.forget, methods=["DELETE"]),
            Route("/api/files/{key}/explain", self.explain, methods=["POST"]),
            Route("/api/files/{key}/release", self.release, methods=["POST"]),
            Route("/api/files/{key}/{part}", self.part),
            Route("/runs/{name}", partial(self.earlier, part="page")),
            Route("/runs/{name}/picture", partial(self.earlier, part="picture")),
            Mount("/static", StaticFiles(packages=[("adept.web", "static")])),
        ]
        handlers = dict.fromkeys((AdeptError, Exception), _refusal)
        return Guarded(Starlette(routes=routes, exception_handlers=handlers, lifespan=self._lifespan), self.token)

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        async with anyio.create_task_group() as group:
            self._group = group
            group.start_soon(partial(to_thread.run_sync, self.sentences.warm, abandon_on_cancel=True))
            group.start_soon(self.files.tidy)
            yield
            self.sentences.end()
            group.cancel_scope.cancel()
        self.files.close()

    async def page(self, request: Request) -> Response:
        shown = {"mechanisms": self.sentences.mechanisms, "ours": OURS, "people": PEOPLE, "advice": ADVICE}
        shown |= {"stops": STOPS, "default": STOPS.index(DEFAULT), "longest": MAX_SENTENCE_CHARACTERS}
        shown |= {"runs": earlier_results(self.runs), "ledger": self.files.ledger, "most": MAX_UPLOAD_BYTES}
        return HTMLResponse(render("adept.web", "page.html.jinja", shown))

    async def proof(self, request: Request) -> Response:
        """Answer with a mechanism's claims and proofs, which are the docstrings of its modules."""
        said = [
            inspect.getdoc(importlib.import_module(name)) or "" for name in PROOFS.get(request.path_params["name"], ())
        ]
        return PlainTextResponse("\n\n\n".join(said) or "There is no such proof.", 200 if said else 404)

    async def play(self, request: Request) -> Response:
        """Release a sentence by each mechanism; answer with the texts, then with the beliefs."""
        asked = await _question(request)
        refuse((not isinstance(asked.get("text"), str), "text must be a sentence: reload the page"))
        mechanisms, epsilon = _names(asked.get("mechanisms", [OURS])), _stop(asked.get("epsilon"))
        releases = await self._work(
            partial(self.sentences.release, asked["text"], epsilon=epsilon, mechanisms=mechanisms)
        )
        return StreamingResponse(self._answer_lines(releases), media_type="application/x-ndjson")

    async def _answer_lines(self, releases: list[Release]) -> AsyncIterator[str]:
        yield json.dumps([release.shown for release in releases]) + "\n"
        for release in releases:
            if not release.reader.ready:  # seconds, in which others are answered
                await to_thread.run_sync(release.reader.prepare, limiter=self._preparing, abandon_on_cancel=True)
            yield json.dumps(await self._work(release.view)) + "\n"

    async def worst(self, request: Request) -> Response:
        """Answer with the log-odds of ``worst_pair``, and with their claimed and actual maximum."""
        epsilon = _stop((await _question(request)).get("epsilon"))
        dim = self.sentences.model.config.latent_dim
        odds, bound = await self._work(partial(worst_pair, epsilon=epsilon, dim=dim)), epsilon * dim**0.5
        return JSONResponse({"claimed": epsilon, "true": bound, "spends": words(bound), "odds": odds})

    async def budgets(self, request: Request) -> Response:
        return JSONResponse(await self._work(self.sentences.budgets))

    async def drop(self, request: Request) -> Response:
        """Accept a file that the user drops on the page, and answer with its columns."""
        content = await _body(request, MAX_UPLOAD_BYTES)
        key, dropped = await self._work(partial(self.files.add, request.headers.get("x-filename", ""), content))
        return JSONResponse({"key": key} | _describe(dropped), 201)

    async def file(self, request: Request) -> Response:
        return JSONResponse(_describe(self.files.get(request.path_params["key"])))

    async def forget(self, request: Request) -> Response:
        self.files.forget(request.path_params["key"])
        return Response(status_code=204)

    async def explain(self, request: Request) -> Response:
        """Answer with a description of the release of a file, but do not release the file."""
        dropped, choices = await self._read_choices(request)
        return JSONResponse(await self._work(partial(self.files.explain, dropped, choices)))

    async def release(self, request: Request) -> Response:
        """Begin to release a file; the address of the file answers with the progress."""
        dropped, choices = await self._read_choices(request)
        refuse(
            (dropped.running or dropped.finished, "this file is released already: drop it again for another release")
        )
        dropped.running, dropped.error = True, None
        self._group.start_soon(self._release, dropped, choices)
        return JSONResponse(_describe(dropped), 202)

    async def part(self, request: Request) -> Response:
        """Answer with a file of a complete release: its text, its statement or its card."""
        dropped = self.files.get(request.path_params["key"])
        path = dropped.results().get(request.path_params["part"])
        if path is None or not dropped.finished:
            raise ConfigurationError("the release is not complete: wait for it")
        return FileResponse(path, filename=path.name, media_type="application/octet-stream")

    async def earlier(self, request: Request, part: Literal["page", "picture"]) -> Response:
        """Answer with the page or figure of an earlier result; its scripts cannot run."""
        content = await to_thread.run_sync(read_earlier, self.runs, request.path_params["name"], part)
        kind = "text/html" if part == "page" else "image/svg+xml"
        return Response(content, media_type=kind, headers={"Content-Security-Policy": SANDBOXED})

    async def _release(self, dropped: Dropped, choices: Choices) -> None:
        try:
            await self._work(partial(self.files.release, dropped, choices))
            dropped.finished = True
        except Exception as error:  # noqa: BLE001 - any other would end the server's other work, too
            dropped.error = _reason(error)
        finally:
            dropped.running = False

    async def _read_choices(self, request: Request) -> tuple[Dropped, Choices]:
        return self.files.get(request.path_params["key"]), _choices(await _question(request))

    async def _work(self, action: Callable[[], Answer]) -> Answer:
        return await to_thread.run_sync(action, limiter=self._workers)


@dataclass(frozen=True)
class Guarded:
    """A web application that refuses requests from other web sites and, if ``token`` is set, without this token."""

    app: ASGIApp
    token: str | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request or pass it on; add those ``HEADERS`` that the answer does not set."""
        app = self.app
        if scope["type"] == "http":
            send = partial(_send_with_headers, send)
            if refused := self._refused(scope):
                status, reason = refused
                app = JSONResponse({"error": reason}, status)
        await app(scope, receive, send)

    def _refused(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if self.token is None and re.sub(r":\d+$", "", host) not in ("127.0.0.1", "localhost", "[::1]"):
            return 421, "only this machine can open this page: open it at 127.0.0.1"
        unnamed = headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
        if (origin is None and unnamed) or (origin is not None and origin.split("://")[-1] != host):
            return 403, "another page must not ask this one"
        if self.token is not None and not scope["path"].startswith("/static/"):
            asked = QueryParams(scope["query_string"]).get("token", "")
            given = headers.get("authorization", f"Bearer {asked}").removeprefix("Bearer ")
            if not hmac.compare_digest(given.encode(), self.token.encode()):
                return 401, "the token is missing or wrong: open the address that adept play printed"
        return None


async def _send_with_headers(send: Send, message: Message) -> None:
    if message["type"] == "http.response.start":
        given = MutableHeaders(scope=message)
        for name, value in HEADERS.items():
            given.setdefault(name, value)
    await send(message)


def unquoted(error: Exception) -> str:
    """Return an error's message without the value that the user typed."""
    head, got, tail = str(error).partition(", got ")
    return head + (tail[tail.index(": ") :] if got and ": " in tail else "")


def _refusal(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": _reason(error)}, 400 if isinstance(error, AdeptError) else 500)


def _reason(error: Exception) -> str:
    """Return what the page may say; write to stderr where an internal error occurred, whose message may quote text."""
    if isinstance(error, AdeptError):
        said = unquoted(error)
        return said + IN_A_TERMINAL * any(name not in CHOICES for name in re.findall(r"\b([a-z]+(?:_[a-z]+)*)=", said))
    *_, place = traceback.extract_tb(error.__traceback__)
    sys.stderr.write(f"adept: an internal error: {type(error).__name__} in {place.name}, line {place.lineno}\n")
    return "an internal error: the terminal of adept play shows where"


async def _body(request: Request, most: int) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        refuse((size > most, f"at most {most / 2**20:.2g} MB can be dropped here: use adept rewrite for a larger file"))
        parts.append(part)
    return b"".join(parts)


async def _question(request: Request) -> dict[str, Any]:
    try:
        asked = json.loads(await _body(request, 64 * 2**10) or b"{}")
    except (ValueError, RecursionError):
        asked = None
    if not isinstance(asked, dict):
        raise ConfigurationError("the question must be a JSON object: reload the page")
    return asked


def _stop(value: Any) -> float:
    refuse((isinstance(value, bool) or value not in STOPS, "epsilon must be a stop of the slider: reload the page"))
    return float(value)


def _names(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ConfigurationError("names must be a list: reload the page")
    return value


def _choices(asked: dict[str, Any]) -> Choices:
    given = {name: value for name, value in asked.items() if value not in (None, "")}
    refuse(
        (
            not all(isinstance(value, CHOICES.get(name, ())) for name, value in given.items()),
            "the choices must be among those on the page: reload it",
        )
    )
    _names(given.get("label_set", []))
    return {"epsilon": DEFAULT, "labels": "drop"} | given


def _describe(dropped: Dropped) -> dict[str, Any]:
    return {
        name: getattr(dropped, name)
        for name in ("records", "columns", "text", "labels", "done", "running", "finished", "error")
    }
