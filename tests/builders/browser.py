"""Debian's chromium without a window: opens pages, reads what a person sees, clicks, and takes pictures."""

import base64
import itertools
import json
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from websockets.sync.client import ClientConnection, connect

from builders.guard import end, guarded

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-port=0",
)
# The innermost visible element with exactly this text, brought into view: the middle of it.
FOUND = """(text => {
  const all = [...document.querySelectorAll("a, button, [role], div, span")];
  const found = all.filter(one => one.offsetParent && (one.innerText || "").trim() === text).at(-1);
  if (!found) return null;
  found.scrollIntoView({block: "center"});
  const {x, y, width, height} = found.getBoundingClientRect();
  return [x + width / 2, y + height / 2];
})"""

T = TypeVar("T")


def chromium() -> str | None:
    """Where the browser is, if it is."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


@dataclass(frozen=True)
class Page:
    """The one page of a browser."""

    connection: ClientConnection
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    events: list[dict[str, Any]] = field(default_factory=list)
    """What the browser has told without being asked, such as requests and messages of the console."""

    def open(self, url: str) -> None:
        """Go to an address."""
        self._call("Page.navigate", url=url)

    def text(self) -> str:
        """What a person can read on the page, from top to bottom."""
        return str(self._value("document.body ? document.body.innerText : ''"))

    def show(self, *words: str, seconds: float = 180) -> str:
        """The page's text as soon as all the words are on it; a failure that names the missing ones."""

        def shown() -> str | None:
            text = self.text()
            return text if all(word in text for word in words) else None

        try:
            return _soon(shown, seconds)
        except TimeoutError:
            text = self.text()
            missing = [word for word in words if word not in text]
            raise AssertionError(f"{missing} not shown on {self._value('location.href')}:\n{text[:5000]}") from None

    def click(self, text: str, seconds: float = 90) -> None:
        """Click on what has this text, as soon as it is there."""
        x, y = _soon(lambda: self._value(f"{FOUND}({json.dumps(text)})"), seconds)
        for kind in ("mousePressed", "mouseReleased"):
            self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, path: Path) -> None:
        """Write what the window shows."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"]))

    def resize(self, width: int, height: int) -> None:
        """Give the window a size."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def watch(self) -> None:
        """Collect requests, messages of the console and violations of the content policy from now on."""
        for domain in ("Network", "Log", "Runtime", "Audits"):
            self._call(f"{domain}.enable")

    def told(self, method: str) -> list[dict[str, Any]]:
        """The events of one kind."""
        self.text()  # what was told meanwhile arrives before the answer
        return [dict(event["params"]) for event in self.events if event["method"] == method]

    def printed(self, path: Path) -> None:
        """Write the page as it would be printed on A4."""
        size = {"paperWidth": 8.27, "paperHeight": 11.69, "preferCSSPageSize": True}
        path.write_bytes(base64.b64decode(self._call("Page.printToPDF", **size)["data"]))

    def as_paper(self, width: int) -> None:
        """Show the page as it is laid out on paper of this width."""
        self._call("Emulation.setEmulatedMedia", media="print")
        self.resize(width, 1000)

    def widest(self) -> int:
        """How wide the page is: more than the window if it must be scrolled sideways."""
        return int(self._value("document.documentElement.scrollWidth"))

    def _value(self, expression: str) -> Any:
        return self._call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def _call(self, method: str, **parameters: object) -> dict[str, Any]:
        number = next(self.numbers)
        self.connection.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.connection.recv(timeout=180))
            if "method" in answer:
                self.events.append(answer)
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return dict(answer["result"])


@contextmanager
def browsing(width: int = 1500, height: int = 1000) -> Iterator[Page]:
    """A browser with one page; it ends with the block, or with this process."""
    browser = chromium()
    assert browser is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = guarded(
            [browser, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            with connect(_soon(lambda: _address(Path(profile)), 180), max_size=None) as connection:
                page = Page(connection)
                page.resize(width, height)
                yield page
        finally:
            end(process)


def _address(profile: Path) -> str | None:
    """Where the browser listens, when it does."""
    with suppress(OSError, IndexError):
        port = (profile / "DevToolsActivePort").read_text().split()[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=10) as answer:
            return next((str(one["webSocketDebuggerUrl"]) for one in json.load(answer) if one["type"] == "page"), None)
    return None


def _soon(condition: Callable[[], T | None], seconds: float) -> T:
    """What the condition gives, as soon as it gives something."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if (found := condition()) is not None:
            return found
        time.sleep(0.2)
    raise TimeoutError(f"waited {seconds:.0f} s")
