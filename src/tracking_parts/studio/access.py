"""Who may talk to the server: the right Host, no other site's page, and the token where one is needed."""

from __future__ import annotations

import hmac
import ipaddress
import socket
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
SAFE_METHODS = frozenset({"GET", "HEAD"})
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


@dataclass(frozen=True, slots=True)
class AccessRules:
    """Under which names the server answers, and what one must know."""

    port: int
    token: str = ""  # empty: nobody but this computer can reach the server
    hosts: frozenset[str] = field(default=LOOPBACK_NAMES)
    any_address: bool = False  # bound to all addresses: every literal address is fine, as no rebound name is one

    @classmethod
    def for_bind(cls, host: str, port: int, token: str = "") -> AccessRules:
        """The rules of a server that listens at an address."""
        names = LOOPBACK_NAMES | {host.strip("[]").lower()}
        everywhere = host in ("0.0.0.0", "::", "")
        if everywhere:
            names |= {socket.gethostname().lower()}
        return cls(port, token, names - {"0.0.0.0", "::", ""}, everywhere)

    @property
    def cookie(self) -> str:
        """Browsers share cookies between ports, so its name says which."""
        return f"stp_studio_{self.port}"

    def refuses(self, scope: Scope) -> tuple[int, str] | None:
        """Why a request is refused, as a status and words; None where it is welcome."""
        headers = Headers(scope=scope)
        if len(headers.getlist("host")) != 1 or not self.is_our_host(headers["host"]):
            return 421, "This is not the address that the studio was opened at."
        if self._is_from_elsewhere(scope, headers):
            return 403, "Another site's page may not talk to the studio."
        if self.token and not self._knows_token(scope, headers):
            return 401, "Open the studio by the address with the token that it printed when it was started."
        return None

    def is_our_host(self, host: str) -> bool:
        try:
            parts = urlsplit(f"//{host}")
            name, port = (parts.hostname or "").lower(), parts.port or 80
        except ValueError:
            return False
        if port != self.port or parts.username is not None or parts.path or parts.query:
            return False
        return name in self.hosts or (self.any_address and _is_address(name))

    def _is_from_elsewhere(self, scope: Scope, headers: Headers) -> bool:
        origin = headers.get("origin")
        if origin is not None and origin.lower() != f"http://{headers['host']}".lower():
            return True
        site = headers.get("sec-fetch-site", "none")
        if site in ("same-origin", "none"):
            # A browser names the origin of whatever may change something.
            return origin is None and site == "none" and headers.get("sec-fetch-mode") is not None and not _reads(scope)
        # A link on another page may lead here, as long as nothing but the page itself is asked for.
        return not (headers.get("sec-fetch-mode") == "navigate" and _reads(scope) and scope["path"] == "/")

    def _knows_token(self, scope: Scope, headers: Headers) -> bool:
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        return any(
            hmac.compare_digest(given.encode(), self.token.encode())
            for given in (bearer, token_in_query(scope), self._token_in_cookie(headers))
        )

    def _token_in_cookie(self, headers: Headers) -> str:
        try:
            cookie = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return ""
        return str(cookie[self.cookie].value) if self.cookie in cookie else ""


class AccessControl:
    """Refuses what the rules refuse, before anything else is looked at, and adds the headers that protect the page."""

    def __init__(self, app: ASGIApp, rules: AccessRules) -> None:
        self._app = app
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        refused = self._rules.refuses(scope)
        if scope["type"] == "websocket":
            if refused is None:
                await self._app(scope, receive, send)
            else:
                await receive()
                await send({"type": "websocket.close", "code": 1008, "reason": refused[1][:120]})
            return

        async def protected(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                if refused is None and self._rules.token and token_in_query(scope):
                    headers.append("Set-Cookie", self._cookie_text())
            await send(message)

        if refused is not None:
            await PlainTextResponse(refused[1] + "\n", refused[0])(scope, receive, protected)
            return
        await self._app(scope, receive, protected)

    def _cookie_text(self) -> str:
        return f"{self._rules.cookie}={self._rules.token}; Path=/; HttpOnly; SameSite=Strict"


def token_in_query(scope: Scope) -> str:
    return str(parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0])


def _reads(scope: Scope) -> bool:
    return scope["type"] == "http" and scope["method"] in SAFE_METHODS


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
