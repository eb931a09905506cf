"""Headless Chromium, driven through its debugging pipe: pages run as for a reader, and tests ask what came of them."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

#: Seconds for one answer, on a machine that does much else.
PATIENCE = 120.0
OPTIONS = (
    "--headless",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--no-first-run",
    "--disable-background-networking",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--webgl-antialiasing-mode=none",
    "--window-size=1000,700",
)
#: The browser listens at file descriptor 3 and answers at 4.
START = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
for place, end in enumerate(ends, start=3):
    os.dup2(end, place)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One process; messages are JSON, ended by a zero byte (the Chrome DevTools Protocol)."""

    def __init__(self, chromium: str, folder: Path) -> None:
        (its_input, self._to), (self._from, its_output) = os.pipe(), os.pipe()
        start = [sys.executable, "-c", START, str(its_input), str(its_output)]
        self._process = subprocess.Popen(
            [*start, chromium, *OPTIONS, f"--user-data-dir={folder}"],
            pass_fds=(its_input, its_output),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(its_input)
        os.close(its_output)
        self._received = b""
        self._count = 0
        self.events: list[dict[str, Any]] = []

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(timeout=PATIENCE)
        os.close(self._to)
        os.close(self._from)

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result; events that come meanwhile are kept."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer["error"]
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def _receive(self) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self._received:
            ready, _, _ = select.select([self._from], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"the browser did not answer within {PATIENCE} s"
            piece = os.read(self._from, 1 << 16)
            assert piece, "the browser ended"
            self._received += piece
        text, self._received = self._received.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        return message


class Tab:
    """One page, loaded."""

    def __init__(self, browser: Browser, page: Path) -> None:
        self._browser = browser
        # In a window of its own it stays visible: pages behind others paint nothing.
        self._target = browser.call("Target.createTarget", url="about:blank", newWindow=True)["targetId"]
        self._session = browser.call("Target.attachToTarget", targetId=self._target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.go(page)

    def close(self) -> None:
        """Close the window, whose page would go on painting."""
        self._browser.call("Target.closeTarget", targetId=self._target)

    def go(self, page: Path) -> None:
        """Load a page."""
        self.call("Page.navigate", url=page.as_uri())
        self.ask("new Promise(done => document.readyState === 'complete' ? done() : addEventListener('load', done))")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **parameters)

    def ask(self, expression: str) -> Any:
        """Value of a JavaScript expression; a promise's when it has one."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def complaints(self) -> list[str]:
        """Exceptions that nobody caught, and errors and warnings of the page and the browser about it."""
        own = [event for event in self._browser.events if event.get("sessionId") == self._session]
        found = []
        for event in own:
            said = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                found.append(str(said["exceptionDetails"]))
            elif event["method"] == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
                found.append(str(said["entry"]["text"]))
            elif event["method"] == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning", "assert"):
                found.append(str(said["args"]))
        return found

    def mouse(self, kind: str, x: float, y: float, buttons: int = 0) -> None:
        """Send a mouse event (``Pressed``, ``Moved`` or ``Released``) at a place of the window."""
        button = "none" if kind == "Moved" else "left"
        event = {"type": f"mouse{kind}", "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": 1}
        self.call("Input.dispatchMouseEvent", **event)
