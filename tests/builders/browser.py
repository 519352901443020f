"""Debian's chromium without a window: opens a page, waits until it is quiet, gives its text and a picture."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from html import unescape
from pathlib import Path

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1500,1000",
    "--virtual-time-budget=20000",
)
NOT_TEXT = re.compile(r"<(script|style)\b.*?</\1>|<!--.*?-->|<[^>]+>", re.DOTALL)


def chromium() -> str | None:
    """Where the browser is, if it is."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


def opened(url: str, picture: Path, seconds: float = 90) -> str:
    """The text of the page as a person sees it; a picture of it is written beside."""
    browser = chromium()
    assert browser is not None
    picture.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [browser, *FLAGS, f"--user-data-dir={profile}", f"--screenshot={picture}", "--dump-dom", url],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            page, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            page = b""
        finally:
            with suppress(ProcessLookupError):  # the browser's own session: itself and its helpers
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    return " ".join(unescape(NOT_TEXT.sub(" ", page.decode("utf-8", errors="replace"))).split())
