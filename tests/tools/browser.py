"""A real browser without a window, driven by its DevTools protocol over a pipe. Needs Chromium and nothing else."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

PROGRAM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--remote-debugging-pipe", "--disable-background-networking", "--disable-component-update",
    "--disable-extensions", "--mute-audio",
)  # fmt: skip
PATIENCE = 60.0
"""Seconds after which something that should have happened is an error."""
KEYS = {
    "Tab": 9,
    "Enter": 13,
    " ": 32,
    "Escape": 27,
    "ArrowLeft": 37,
    "ArrowRight": 39,
    "End": 35,
    "ArrowUp": 38,
    "ArrowDown": 40,
}


LEFT = "Inspected target navigated or closed"
"""Chromium's answer to an expression whose page was left before it had a value."""


class PageLeft(AssertionError):
    """The page in which an expression was asked for is not there any more."""


class Browser:
    """A browser with one tab."""

    def __init__(self) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True)
        inner, self._to = os.pipe()
        self._from, outer = os.pipe()
        # the browser reads commands from its descriptor 3 and writes to 4; bash can move them there after a fork
        words = [str(PROGRAM), *FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"]
        script = f'exec "$@" 3<&{inner} 4>&{outer}'
        self._process = subprocess.Popen(
            ["bash", "-c", script, "bash", *words],
            pass_fds=(inner, outer),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(inner)
        os.close(outer)
        self._number, self._rest = 0, b""
        self.events: list[dict[str, Any]] = []
        """What has happened in the tab since `go`."""
        self._session: str | None = None
        [tab] = [each for each in self("Target.getTargets")["targetInfos"] if each["type"] == "page"]
        self._session = self("Target.attachToTarget", targetId=tab["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self(f"{domain}.enable")

    def __call__(self, method: str, **params: Any) -> Any:
        """Returns the result of a method of the protocol."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if answer.get("error", {}).get("message") == LEFT:
                    raise PageLeft(f"{method}: {LEFT}")
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self.events.append(answer)

    def _read(self) -> dict[str, Any]:
        until = time.monotonic() + PATIENCE
        while b"\0" not in self._rest:
            assert select.select([self._from], [], [], max(0.0, until - time.monotonic()))[0], (
                "the browser does not answer"
            )
            block = os.read(self._from, 2**16)
            assert block, "the browser has ended"
            self._rest += block
        line, _, self._rest = self._rest.partition(b"\0")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def go(self, address: str) -> None:
        """Opens an address in the tab, in a page of its own."""
        self.leave()
        self.events.clear()
        self("Page.navigate", url=address)

    def leave(self) -> None:
        """Leaves the page that is open, which asks no server from here on."""
        self("Page.navigate", url="about:blank")

    def value(self, expression: str) -> Any:
        """Returns the value of an expression in the page."""
        found = self("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, expression: str) -> None:
        """Returns as soon as an expression is true, in this page or in one that the tab goes to meanwhile."""

        def is_true() -> bool:
            try:
                return bool(self.value(f"!!({expression})"))
            except PageLeft:
                return False

        awaited(is_true, lambda: f"{expression}: {self.value('document.body?.innerText')}")

    def text(self, selector: str = "body") -> str:
        return str(self.value(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''"))

    def press(self, key: str, times: int = 1) -> None:
        """Presses a key."""
        for _ in range(times):
            about = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS[key]}
            text = {"text": "\r"} if key == "Enter" else {"text": " "} if key == " " else {}
            self("Input.dispatchKeyEvent", type="keyDown", **about, **text)
            self("Input.dispatchKeyEvent", type="keyUp", **about)

    def look(self, width: int, height: int = 900, dark: bool = False) -> None:
        """Sets the size of the tab and the colours that its user prefers."""
        self("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        wish = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self("Emulation.setEmulatedMedia", features=[wish])

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self("Page.captureScreenshot")["data"]))

    def complaints(self) -> list[str]:
        """Returns errors and warnings of the console, and exceptions, since `go`."""
        self.value("0")  # whatever has happened until now has been read then
        found = [event["params"] for event in self.events if event.get("method") in COMPLAINTS]
        return [json.dumps(each) for each in found if each.get("type", "error") in ("error", "warning", "assert")]

    def close(self) -> None:
        self._session = None
        self("Browser.close")
        os.close(self._to)
        os.close(self._from)
        self._process.wait(PATIENCE)
        self._profile.cleanup()


COMPLAINTS = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")


def awaited(look: Callable[[], Any], about: Callable[[], str] = str) -> Any:
    """Returns what `look` returns as soon as it is true."""
    until = time.monotonic() + PATIENCE
    while not (found := look()):
        assert time.monotonic() < until, f"it did not happen: {about()}"
        time.sleep(0.02)
    return found


@pytest.fixture(scope="module")
def started() -> Iterator[Browser]:
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture
def browser(started: Browser) -> Iterator[Browser]:
    """After each test there is no error, no warning and no refused request in the console."""
    started.look(1280)
    yield started
    assert started.complaints() == []
