"""What stands between the network and the page: who may ask, and what a browser may do with the answer.

The page is for one person at this machine. Other pages that this person has open must not reach it: a name that is made to resolve
to 127.0.0.1 (DNS rebinding) fails the check of Host, a form or script of another site the check of Origin. Whoever serves it to
other machines sets a token, without which nothing is answered but style and script. Nothing outside the page is ever loaded
(Content-Security-Policy), and there are no cookies.
"""

import hmac
from dataclasses import dataclass

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
# A report that lies in a directory may hold anything: it is shown in a frame that runs nothing and loads nothing.
SANDBOXED = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'; sandbox"
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True)
class Guarded:
    """An application that answers its own page alone.

    Attributes:
        app: what is guarded.
        token: what every request but those for style and script must bring; None where the page is for this machine alone.
    """

    app: ASGIApp
    token: str | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass on; every answer has the headers of `HEADERS` unless it sets its own."""
        app = self.app
        if scope["type"] == "http":
            send = _with_headers(send)
            if refused := self._refused(scope):
                status, reason = refused
                app = JSONResponse({"error": reason}, status)
        await app(scope, receive, send)

    def _refused(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if self.token is None and _name(host) not in LOOPBACK:
            return 421, "this page is for this machine alone: open it at 127.0.0.1"
        if origin is not None and origin.split("://")[-1] != host:
            return 403, "another page must not ask this one"
        if origin is None and headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, "another page must not ask this one"
        if self.token is not None and not scope["path"].startswith("/static/"):
            asked = QueryParams(scope["query_string"]).get("token", "")
            given = headers.get("authorization", f"Bearer {asked}").removeprefix("Bearer ")
            if not hmac.compare_digest(given.encode(), self.token.encode()):
                return 401, "the token is missing or wrong: open the address that adept play printed"
        return None


def _name(host: str) -> str:
    """A Host header without its port."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host


def _with_headers(send: Send) -> Send:
    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                given.setdefault(name, value)
        await send(message)

    return with_headers
