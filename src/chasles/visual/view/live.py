"""Live pages: a local server shows a robot and receives its configuration from the page.

The server listens on 127.0.0.1, at a port chosen by the system. The address contains a token, which is exchanged for a
cookie on first use and is invalid afterwards: no other page, and no other user of this machine who sees the address
later, has access. Requests with another host name or from another origin are refused.
"""

from __future__ import annotations

import json
import queue
import re
import secrets
import threading
import webbrowser
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.validators import reals

_HOST = "127.0.0.1"
_LARGEST_MESSAGE = 4_000_000  # bytes
_HEARTBEAT = 1.0  # s, between messages that find out whether a page is still there
_GRACE = 3.0  # s, for a page that is loaded again


class LiveView:
    """Live page of a robot that can be moved on the page and from Python.

    The view is closed by `close`, at the end of a ``with`` block, or when Python exits.

    Parameters
    ----------
    page
        Text of the page.
    q
        First configuration, shape (nq,).
    browser
        Whether to open the page in the browser.

    Examples
    --------
    >>> import chasles as ch
    >>> with ch.load("planar2r").view(browser=False) as view:
    ...     view.show([0.3, 0.5])
    ...     view.url.startswith("http://127.0.0.1:"), view.q
    (True, array([0.3, 0.5]))
    """

    def __init__(self, page: str, q: NDArray[np.float64], *, browser: bool = True) -> None:
        self._page = page.encode("utf-8")
        self._token: str | None = secrets.token_urlsafe(24)
        self._secret = secrets.token_urlsafe(24)
        self._lock = threading.Lock()
        self._q = q
        self._waypoints: NDArray[np.float64] = np.empty((0, len(q)))
        self._listeners: list[queue.SimpleQueue[str | None]] = []
        self._departures = 0
        self._left = threading.Event()
        self._closed = False
        self._server = _Server((_HOST, 0), self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)
        self._thread.start()
        if browser:
            webbrowser.open(self.url)

    @property
    def port(self) -> int:
        """Port of the server."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """Address of the page, with its token until first use."""
        token = self._token
        return f"http://{_HOST}:{self.port}/" + (f"?token={token}" if token else "")

    @property
    def q(self) -> NDArray[np.float64]:
        """Configuration on the page, shape (nq,), rad (m for prismatic joints)."""
        with self._lock:
            return self._q.copy()

    @property
    def is_open(self) -> bool:
        """Whether the view is open: not closed by `close`, and its page not closed in the browser."""
        return not self._left.is_set()

    @property
    def waypoints(self) -> NDArray[np.float64]:
        """Configurations recorded on the page, shape (k, nq)."""
        with self._lock:
            return self._waypoints.copy()

    def show(self, q: ArrayLike) -> None:
        """Show a configuration, shape (nq,).

        Raises
        ------
        ArgumentError
            The shape differs, or a value is not finite.
        """
        values = reals(q, "q", self._q.shape)
        with self._lock:
            self._q = values
        self._send({"q": values.tolist()})

    def wait(self) -> None:
        """Wait until the page is opened and closed again, or Ctrl-C is pressed; then close the view."""
        try:
            while not self._left.wait(0.2):
                pass
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """Stop the server; an open page continues to work on its own."""
        if self._closed:
            return
        self._closed = True
        self._left.set()
        if self._thread.is_alive():  # in a forked process it is not
            for listener in list(self._listeners):
                listener.put(None)
            self._server.shutdown()
        self._server.server_close()
        self._thread.join(5.0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<LiveView at {self.url}>" if not self._closed else "<LiveView, closed>"

    def _send(self, message: dict[str, Any]) -> None:
        text = json.dumps(message)
        for listener in list(self._listeners):
            listener.put(text)

    def _hear(self, message: Any) -> None:
        """Store the state that a page reports, or refuse it."""
        nq = len(self._q)
        try:
            q = reals(message["q"], "q", (nq,))
            waypoints = reals(message.get("waypoints") or np.empty((0, nq)), "waypoints", ("count", nq))
        except (KeyError, TypeError, AttributeError) as error:
            raise ArgumentError(f"the message is not one of this page: {error!r}") from None
        with self._lock:
            self._q, self._waypoints = q, waypoints
        if len(self._listeners) > 1:  # the other windows follow
            self._send({"q": q.tolist(), "sender": str(message.get("sender"))[:40]})

    def _spend(self, token: str) -> bool:
        """Return whether a token is valid, and invalidate it."""
        with self._lock:
            right = self._token is not None and secrets.compare_digest(token.encode(), self._token.encode())
            if right:
                self._token = None
            return right

    def _connect(self) -> queue.SimpleQueue[str | None]:
        listener: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._listeners.append(listener)
        return listener

    def _disconnect(self, listener: queue.SimpleQueue[str | None]) -> None:
        self._listeners.remove(listener)
        if not self._listeners and not self._closed:
            self._departures += 1
            threading.Timer(_GRACE, self._leave, [self._departures]).start()

    def _leave(self, departure: int) -> None:
        if not self._listeners and departure == self._departures:  # of several, the last one counts
            self._left.set()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = False

    def __init__(self, address: tuple[str, int], view: LiveView) -> None:
        super().__init__(address, _Handler)
        self.view = view

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore pages that are closed during an answer."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    timeout = 60.0

    def do_GET(self) -> None:
        """Answer requests for the page and for its stream of messages."""
        if not self._from_here():
            return
        address = urlsplit(self.path)
        token = parse_qs(address.query).get("token", [""])[0]
        if address.path == "/" and token and self.server.view._spend(token):
            cookie = f"{self._cookie_name}={self.server.view._secret}; HttpOnly; SameSite=Strict; Path=/"
            self._answer(HTTPStatus.SEE_OTHER, b"", {"Set-Cookie": cookie, "Location": "/"})
        elif not self._known():
            self._answer(
                HTTPStatus.FORBIDDEN,
                b"This page is open elsewhere, or its address was used before. Ask Python for a new one.",
            )
        elif address.path == "/":
            self._answer(HTTPStatus.OK, self.server.view._page, {"Content-Type": "text/html; charset=utf-8"})
        elif address.path == "/events":
            self._stream()
        else:
            self._answer(HTTPStatus.NOT_FOUND, b"There is nothing here.")

    def do_POST(self) -> None:
        """Receive the state of the page."""
        if not self._from_here():
            return
        if not self._known() or self.headers.get("Origin") != f"http://{self.headers['Host']}":
            self._answer(HTTPStatus.FORBIDDEN, b"This is not the page's own message.", close=True)
            return
        size = self.headers.get("Content-Length", "")
        if re.fullmatch("[0-9]{1,9}", size) is None or int(size) > _LARGEST_MESSAGE:
            self._answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, b"The message is too long or has no length.", close=True)
            return
        body = self.rfile.read(int(size))
        try:
            self.server.view._hear(json.loads(body))
        except (ValueError, RecursionError) as error:  # ArgumentError is a ValueError
            self._answer(HTTPStatus.BAD_REQUEST, str(error).encode("utf-8", "replace"))
            return
        self._answer(HTTPStatus.NO_CONTENT, b"")

    def log_message(self, format: str, *values: Any) -> None:
        """Write nothing to the terminal."""

    @property
    def _cookie_name(self) -> str:
        return f"chasles_{self.server.server_address[1]}"

    def _from_here(self) -> bool:
        """Whether the view is open and the request names this server: a foreign host name may point at it.

        Browsers keep connections, which outlive the server's socket.
        """
        if self.server.view._closed:
            self._answer(HTTPStatus.GONE, b"Python has closed this view.", close=True)
            return False
        port = self.server.server_address[1]
        if self.headers.get("Host") in (f"{_HOST}:{port}", f"localhost:{port}"):
            return True
        self._answer(HTTPStatus.FORBIDDEN, b"This server answers only to its own address.", close=True)
        return False

    def _known(self) -> bool:
        """Whether the request carries the cookie that replaced the token."""
        try:
            cookie = SimpleCookie(self.headers.get("Cookie", "")).get(self._cookie_name)
        except CookieError:
            return False
        return cookie is not None and secrets.compare_digest(cookie.value.encode(), self.server.view._secret.encode())

    def _answer(
        self, status: HTTPStatus, body: bytes, headers: dict[str, str] | None = None, *, close: bool = False
    ) -> None:
        self.send_response(status)
        always = {
            "Content-Type": "text/plain; charset=utf-8",
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
        }
        always |= {"Referrer-Policy": "same-origin", "X-Frame-Options": "DENY", "Content-Length": str(len(body))}
        for name, value in (always | (headers or {})).items():
            self.send_header(name, value)
        if close:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        self.wfile.write(body)

    def _stream(self) -> None:
        """Send messages as they arrive (Server-Sent Events), until the page or the view is closed."""
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        view = self.server.view
        listener = view._connect()
        try:
            self.wfile.write(b"retry: 300\n")  # ms, until the page asks whether a lost link is there again
            self._write_event(json.dumps({"q": view.q.tolist(), "first": True}))
            while True:
                try:
                    message = listener.get(timeout=_HEARTBEAT)
                except queue.Empty:
                    self.wfile.write(b": still here\n\n")
                    self.wfile.flush()
                    continue
                if message is None:
                    break
                self._write_event(message)
        except OSError:
            pass  # the page was closed
        finally:
            view._disconnect(listener)

    def _write_event(self, text: str) -> None:
        self.wfile.write(f"data: {text}\n\n".encode())
        self.wfile.flush()
