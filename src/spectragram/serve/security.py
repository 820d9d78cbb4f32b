"""Who may ask what: the host and origin of requests, a token, the size of bodies, and headers that bind the browser.

The server is meant for one person on one machine. What threatens it comes through that person's browser: a page
elsewhere that posts to the loopback address (stopped by its ``Origin``), or one whose name is made to point here
(stopped by its ``Host``). Beyond the loopback address everyone can connect, so there a token is needed as well.
"""

from __future__ import annotations

import ipaddress
import json
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

__all__ = ["MAX_BODY", "Guard", "Policy", "is_loopback", "policy_for"]

MAX_BODY = 1 << 20
"""Bytes of a request's body (1 MB): some hundred pages of text, far more than a page in the browser sends."""

COOKIE = "spectragram_token"
SAFE = ("GET", "HEAD")

HEADERS = {
    # Scripts, styles and data come from here alone; nothing is inline, so markup that slipped in would not run.
    "content-security-policy": "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


@dataclass(frozen=True)
class Policy:
    """What a request needs: a ``Host`` among ``hosts`` (None: any), and the ``token`` if there is one."""

    hosts: frozenset[str] | None
    token: str | None


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect to ``host``.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def policy_for(host: str, *, token: bool = False) -> Policy:
    """The policy of a server that listens on ``host``; beyond the loopback address there is always a token."""
    if is_loopback(host):
        return Policy(frozenset({"localhost", "127.0.0.1", "::1", host}), secrets.token_urlsafe(24) if token else None)
    try:
        everywhere = ipaddress.ip_address(host).is_unspecified
    except ValueError:
        everywhere = False
    return Policy(None if everywhere else frozenset({host}), secrets.token_urlsafe(24))


class Guard:
    """An ASGI application that lets through to ``app`` what the policy allows."""

    def __init__(self, app: App, policy: Policy, max_body: int = MAX_BODY) -> None:
        self.app = app
        self.policy = policy
        self.max_body = max_body

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request here if it is refused, by the application if not."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # nothing here speaks another protocol
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        refused = self._refusal(scope, headers)
        if refused is not None:
            await _answer(send, *refused)
            return
        if self._arrives_with_token(scope):
            await _answer(send, 303, "", {"location": scope["path"], "set-cookie": self._cookie()})
            return
        await self._pass_on(scope, receive, send)

    def _refusal(self, scope: Message, headers: dict[str, str]) -> tuple[int, str] | None:
        """The status and reason of a request that goes no further."""
        host = headers.get("host", "")
        if self.policy.hosts is not None and _name(host) not in self.policy.hosts:
            return 421, f"this server is not {host[:80]!r}; open the address that it printed"
        if scope["method"] not in SAFE:
            if not _same_origin(headers, host):
                return 403, "the request comes from a page of another site"
            if not headers.get("content-type", "application/json").startswith("application/json"):
                return 415, "send JSON (content-type: application/json)"
        if not self._has_token(scope, headers):
            return 401, "a token is needed; open the address that the server printed, or send 'Authorization: Bearer'"
        length = headers.get("content-length", "0")
        if not length.isdigit() or len(length) > 18 or int(length) > self.max_body:
            return 413, f"the request is larger than {self.max_body} bytes"
        return None

    def _has_token(self, scope: Message, headers: dict[str, str]) -> bool:
        if self.policy.token is None:
            return True
        expected = self.policy.token.encode()
        given = [headers.get("authorization", "").removeprefix("Bearer "), _cookie_of(headers), _query_token(scope)]
        # A comparison takes the same time whatever is right about the token, so that time says nothing about it.
        return any(secrets.compare_digest(one.encode(), expected) for one in given)

    def _arrives_with_token(self, scope: Message) -> bool:
        """Whether the token is in the address: a cookie takes its place, so that it does not stay there."""
        return self.policy.token is not None and scope["method"] == "GET" and bool(_query_token(scope))

    def _cookie(self) -> str:
        return f"{COOKIE}={self.policy.token}; Path=/; HttpOnly; SameSite=Strict"

    async def _pass_on(self, scope: Message, receive: Receive, send: Send) -> None:
        """Read the body, which may come in pieces without a length, and let the application answer."""
        pieces: list[bytes] = []
        more = True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return  # the client went away
            pieces.append(message.get("body", b""))
            more = message.get("more_body", False)
            if sum(map(len, pieces)) > self.max_body:
                await _answer(send, 413, f"the request is larger than {self.max_body} bytes", {"connection": "close"})
                return
        body: list[Message] = [{"type": "http.request", "body": b"".join(pieces), "more_body": False}]

        async def receive_again() -> Message:
            return body.pop() if body else await receive()

        async def send_bound(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_encoded(HEADERS)]
            await send(message)

        await self.app(scope, receive_again, send_bound)


def _name(host: str) -> str:
    """The name in a ``Host`` header, without its port."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _same_origin(headers: dict[str, str], host: str) -> bool:
    """Whether a request that changes something comes from our own page, or from no page at all."""
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != host:
        return False
    return headers.get("sec-fetch-site", "none") in ("none", "same-origin")


def _cookie_of(headers: dict[str, str]) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _query_token(scope: Message) -> str:
    query = scope.get("query_string", b"").decode("latin-1")
    return parse_qs(query).get("token", [""])[0]


def _encoded(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]


async def _answer(send: Send, status: int, reason: str, more: dict[str, str] | None = None) -> None:
    body = json.dumps({"error": reason}).encode() if reason else b""
    headers = {"content-type": "application/json", "content-length": str(len(body)), **HEADERS, **(more or {})}
    await send({"type": "http.response.start", "status": status, "headers": _encoded(headers)})
    await send({"type": "http.response.body", "body": body})
