"""Headless Chromium for tests of pages, spoken to by its DevTools protocol."""

import asyncio
import base64
import json
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tornado.websocket import WebSocketClientConnection, websocket_connect

from tools import PATIENCE, program

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-sync", "--disable-background-networking", "--disable-component-update"),
    *("--remote-debugging-port=0", "--remote-allow-origins=*", "--window-size=1280,1000"),
)


class Gone(Exception):
    """The page went away for another before it answered."""


class Tab:
    """One page in a browser, and everything that it said and wanted since it was opened."""

    def __init__(self, loop: asyncio.AbstractEventLoop, socket: WebSocketClientConnection) -> None:
        self._loop = loop
        self._socket = socket
        self._number = 0
        self.errors: list[str] = []
        self.requests: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        self._number += 1
        number = self._number
        message = json.dumps({"id": number, "method": method, "params": parameters})
        result: dict[str, Any] = self._loop.run_until_complete(self._exchange(number, message))
        return result

    async def _exchange(self, number: int, message: str) -> dict[str, Any]:
        await self._socket.write_message(message)
        while True:
            said = await asyncio.wait_for(_read(self._socket), PATIENCE)
            if said.get("id") == number:
                if "navigated" in said.get("error", {}).get("message", ""):
                    raise Gone(message)
                assert "error" not in said, f"{message}: {said['error']}"
                result: dict[str, Any] = said["result"]
                return result
            self._hear(said.get("method"), said.get("params", {}))

    def _hear(self, method: str | None, told: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            details = told["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning"):
            self.errors.append(" ".join(str(arg.get("value")) for arg in told["args"]))
        elif method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.errors.append(told["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])

    def open(self, address: str | Path) -> None:
        """Open a page and wait until its figures are drawn, where it has any."""
        url = address if isinstance(address, str) else address.resolve().as_uri()
        self.call("Page.navigate", url=url)
        self.wait_for("document.readyState === 'complete'")

    def run(self, script: str) -> Any:
        """Return the value of an expression of the page."""
        found = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, f"{script}: {found['exceptionDetails']}"
        return found["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """Wait until a condition of the page holds."""
        until = time.monotonic() + PATIENCE
        while not self._holds(condition):
            assert time.monotonic() < until, f"never came true: {condition}; {self.errors}"
            time.sleep(0.03)

    def _holds(self, condition: str) -> bool:
        try:
            return bool(self.run(condition))
        except Gone:
            return False  # The next page is on its way.

    def middle(self, selector: str) -> tuple[float, float]:
        """Scroll to an element and return the middle of it."""
        x, y = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const b = e.getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + b.height / 2] })()"
        )
        return x, y

    def point(self, selector: str, right: float = 0, down: float = 0) -> None:
        """Move the pointer to the middle of an element, or that far away from it, in pixels."""
        x, y = self.middle(selector)
        for step in (-3, 0):  # A browser tells only of a pointer that moves.
            self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + right + step, y=y + down)

    def click(self, selector: str) -> None:
        """Click on the middle of an element."""
        x, y = self.middle(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def drag(self, selector: str, left: float, right: float) -> None:
        """Draw the pointer over an element, between two places right of its middle, in pixels."""
        x, y = self.middle(selector)
        held: dict[str, Any] = {"button": "left", "clickCount": 1}
        self.point(selector, left)
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=x + left, y=y, **held)
        for part in (0.3, 0.6, 1):
            at = x + left + part * (right - left)
            self.call("Input.dispatchMouseEvent", type="mouseMoved", x=at, y=y, buttons=1, **held)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=x + right, y=y, **held)

    def press(self, key: str) -> None:
        """Press a key, such as ``ArrowRight``, ``Tab`` or ``Enter``."""
        codes = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        code = {**codes, "Tab": 9, "Enter": 13}[key]
        for kind in ("keyDown", "keyUp"):
            more = {"text": "\r"} if (key, kind) == ("Enter", "keyDown") else {}
            pressed = {"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}
            self.call("Input.dispatchKeyEvent", **pressed, **more)

    def choose(self, selector: str, value: str) -> None:
        """Choose an option of a select, or a place of a slider."""
        self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            f"e.value = {json.dumps(value)};"
            "for (const kind of ['input', 'change'])"
            "  e.dispatchEvent(new Event(kind, {bubbles: true})); })()"
        )

    def text(self, selector: str) -> str:
        """Return the text of an element."""
        return str(self.run(f"document.querySelector({json.dumps(selector)}).innerText"))

    def prefer(self, scheme: str) -> None:
        """Set what the system prefers: ``light`` or ``dark``."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def resize(self, width: int | None) -> None:
        """Give the window a width in pixels, or its own again."""
        if width is None:
            self.call("Emulation.clearDeviceMetricsOverride")
        else:
            size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
            self.call("Emulation.setDeviceMetricsOverride", **size)

    def screenshot(self, path: Path) -> None:
        """Write what is seen as PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))


async def _read(socket: WebSocketClientConnection) -> dict[str, Any]:
    message = await socket.read_message()
    assert message is not None, "the browser went away"
    said: dict[str, Any] = json.loads(message)
    return said


@contextmanager
def browser() -> Iterator[Tab]:
    """Start a browser with an empty profile and give its page; end it afterwards."""
    path = program("chromium", "chromium-browser", "google-chrome")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        started = subprocess.Popen(
            [path, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        loop = asyncio.new_event_loop()
        try:
            socket = loop.run_until_complete(_connect(Path(profile), started))
            yield Tab(loop, socket)
            socket.close()
        finally:
            started.terminate()
            started.wait(PATIENCE)
            loop.run_until_complete(asyncio.sleep(0))
            loop.close()


async def _connect(profile: Path, started: subprocess.Popen[bytes]) -> WebSocketClientConnection:
    until = time.monotonic() + PATIENCE
    said = profile / "DevToolsActivePort"
    while not (said.exists() and said.read_text()):
        assert started.poll() is None, "the browser ended at once"
        assert time.monotonic() < until, "the browser does not say its port"
        await asyncio.sleep(0.05)
    port = said.read_text().split()[0]
    while True:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as answer:
            pages = [page for page in json.load(answer) if page["type"] == "page"]
        if pages:
            return await websocket_connect(
                pages[0]["webSocketDebuggerUrl"], max_message_size=256 << 20
            )
        await asyncio.sleep(0.05)
