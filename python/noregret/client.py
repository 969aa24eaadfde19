"""Calls of the service over HTTP."""

from __future__ import annotations

import http.client
import json
import os
import random
import socket
import ssl
import threading
import time
from typing import Any, Iterable, Optional, Union
from urllib.parse import quote, urlsplit

_LONGEST_PAUSE = 30.0


class ServiceError(Exception):
    """An answer of the service that is no success.

    status is that of HTTP. problem is the body, and has a detail and a code, perhaps a place.
    """

    def __init__(self, status: int, problem: dict[str, Any], after: float = 0) -> None:
        detail = problem.get("detail") or f"the service answered {status}"
        super().__init__(f"{problem['place']}: {detail}" if problem.get("place") else detail)
        self.status, self.problem, self.after = status, problem, after


def passes(error: Exception) -> bool:
    """Report whether a failure may be temporary: of the network, or of a service that is away."""
    if isinstance(error, ServiceError):
        return error.status in (401, 429, 502, 503, 504)
    return isinstance(error, (OSError, http.client.HTTPException))


def is_bad(error: Exception) -> bool:
    """Report whether a report cannot be counted, whoever sends it and whenever.

    All other failures can be mended: those of an access token, of an address, of a limit.
    """
    if isinstance(error, ServiceError):
        return error.status in (400, 409)
    return not passes(error)  # it cannot be encoded


class Pauses:
    """Doubling pauses of up to 30 s. The second half of each is random."""

    def __init__(self, first: float) -> None:
        self._first = self._next = first

    def reset(self) -> None:
        """Begin again with the shortest pause."""
        self._next = self._first

    def next(self, error: Exception) -> float:
        """Return the next pause in seconds, longer if the service asks for it (Retry-After)."""
        pause, self._next = self._next, min(2 * self._next, _LONGEST_PAUSE)
        return max(pause / 2 + random.uniform(0, pause / 2), getattr(error, "after", 0))


class Line:
    """A connection to the service that another thread can cut."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cut = False
        self._at: Optional[socket.socket] = None

    def hold(self, at: Optional[socket.socket]) -> None:
        """Make the socket the one that is cut, at once if cut was called before."""
        with self._lock:
            self._at = at
            if self._cut and at:
                raise ConnectionAbortedError("closed")

    def cut(self) -> None:
        """Make the thread that waits for an answer stop with an OSError."""
        with self._lock:
            self._cut = True
            if self._at:
                try:
                    socket.socket.shutdown(self._at, socket.SHUT_RDWR)
                except OSError:
                    pass  # the other side was faster


class Client:
    """Calls of the service. Its methods may be called by several threads.

    A call is repeated with growing pauses after a failure of the network and the statuses 429, 502,
    503 and 504, until it has been sent `attempts` times: decisions are the same again, and reports
    count once. A refusal is a ServiceError, a failure of the network an OSError or an
    http.client.HTTPException.
    """

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        timeout: float = 30.0,
        attempts: int = 4,
        pause: float = 0.1,
        context: Optional[ssl.SSLContext] = None,
    ) -> None:
        """Make a client of the service at a URL, with an access token. It makes no request.

        timeout is the most seconds that the service may be silent, pause those before the first
        repetition. context is for certificates that the system does not trust.
        """
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
            raise ValueError(f"URL: {url!r}: want http://HOST:PORT or https://HOST:PORT")
        if timeout <= 0 or attempts < 1 or pause <= 0:
            raise ValueError("want a timeout and a pause above 0, and at least 1 attempt")
        self._parts, self.timeout, self._attempts, self.pause = parts, timeout, attempts, pause
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._context = context or (ssl.create_default_context() if parts.scheme == "https" else None)
        self._idle = threading.local()

    def decide(self, experiment: str, units: Iterable[Union[str, dict[str, Any]]]) -> list[dict[str, Any]]:
        """Return a decision for each unit: a name, or {"id": ..., "context": ...}."""
        body = {"units": list(units)}
        return self.call("POST", f"/v1/experiments/{quote(experiment, '')}/decide", body)["decisions"]

    def expose(self, items: Iterable[Union[str, dict[str, Any]]]) -> dict[str, Any]:
        """Report units that saw what was decided: tokens, or items of /v1/exposures."""
        shown = [{"token": i} if isinstance(i, str) else i for i in items]
        return self.call("POST", "/v1/exposures", {"items": shown})

    def feedback(self, items: Iterable[dict[str, Any]]) -> dict[str, Any]:
        """Report metrics: items with metrics and a token or, for a local decision, decided."""
        return self.call("POST", "/v1/feedback", {"items": list(items)})

    def report(self, experiment: str) -> dict[str, Any]:
        """Return how the experiment stands."""
        return self.call("GET", f"/v1/experiments/{quote(experiment, '')}/report")

    def policy(
        self, experiment: str, digest: str = "", wait: float = 0, *, attempts: int = 0, line: Optional[Line] = None
    ) -> Optional[dict[str, Any]]:
        """Return the policy. With a digest, wait up to `wait` seconds for one with another; None if
        there is none by then."""
        path, headers = f"/v1/experiments/{quote(experiment, '')}/policy", {}
        if digest:
            path, headers = f"{path}?wait={int(1000 * wait)}ms", {"If-None-Match": f'"{digest}"'}
        return self.call("GET", path, headers=headers, timeout=self.timeout + wait, attempts=attempts, line=line)

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Optional[dict[str, str]] = None,
        timeout: float = 0,
        attempts: int = 0,
        line: Optional[Line] = None,
    ) -> Any:
        """Send a request that may be repeated, and return the JSON of its answer; None for 304.

        timeout replaces that of the client, unless it is 0, and line can cut the waiting.
        """
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        sent = {**self._headers, **(headers or {}), **({"Content-Type": "application/json"} if data else {})}
        pauses = Pauses(self.pause)
        for left in range((attempts or self._attempts) - 1, -1, -1):
            try:
                return self._once(method, self._parts.path.rstrip("/") + path, data, sent, timeout or self.timeout, line or Line())
            except Exception as e:
                if left == 0 or not passes(e) or isinstance(e, ServiceError) and e.status == 401:
                    raise
                time.sleep(pauses.next(e))

    def close(self) -> None:
        """Close the connection that the calling thread keeps open between its calls."""
        self._connection(self.timeout)[0].close()

    def _connection(self, timeout: float) -> tuple[http.client.HTTPConnection, bool]:
        """Return a connection of this thread and process, and whether it was used before."""
        owner, c = getattr(self._idle, "connection", (0, None))
        self._idle.connection = (0, None)
        if c and c.sock and owner == os.getpid():
            c.sock.settimeout(timeout)
            return c, True
        p = self._parts
        if self._context:
            return http.client.HTTPSConnection(p.hostname or "", p.port, timeout=timeout, context=self._context), False
        return http.client.HTTPConnection(p.hostname or "", p.port, timeout=timeout), False

    def _once(
        self, method: str, path: str, data: Optional[bytes], headers: dict[str, str], timeout: float, line: Line
    ) -> Any:
        c, used = self._connection(timeout)
        try:
            if not used:
                c.connect()
            line.hold(c.sock)
            c.request(method, path, data, headers)
            answer = c.getresponse()
            text = answer.read()
        except (ConnectionError, http.client.RemoteDisconnected, http.client.CannotSendRequest):
            c.close()
            if not used:
                raise
            return self._once(method, path, data, headers, timeout, line)  # it was closed while idle
        except BaseException:
            c.close()
            raise
        finally:
            line.hold(None)
        self._idle.connection = (os.getpid(), c)
        if answer.status == 304:
            return None
        try:
            form = json.loads(text)
        except ValueError:
            form = None
        if 200 <= answer.status < 300:
            if form is None:
                raise http.client.HTTPException("the answer cannot be decoded")
            return form
        after = answer.headers.get("Retry-After", "")
        seconds = float(after) if after.isdigit() and int(after) < 60 else 0.0
        raise ServiceError(answer.status, form if isinstance(form, dict) else {}, seconds)
