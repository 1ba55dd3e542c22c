"""A real Chromium without a window, driven by its own chromedriver over WebDriver."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import requests

#: for a page of which something is expected; a machine that does other things as well takes long
PATIENCE_S = 60.0
ARGUMENTS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage"]


def there() -> bool:
    """True if Chromium and its driver are installed (packages chromium and chromium-driver)."""
    return bool(shutil.which("chromium") and shutil.which("chromedriver"))


class Browser:
    """One window. `run` executes JavaScript in the page and returns its value."""

    def __init__(self, base: str) -> None:
        self._base = base
        options = {"args": ARGUMENTS, "binary": shutil.which("chromium")}
        wanted = {
            "capabilities": {"alwaysMatch": {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}
        }
        self._base = f"{base}/session/{self._ask('/session', wanted)['sessionId']}"

    def _ask(self, path: str, body: dict[str, Any]) -> Any:
        answer = requests.post(self._base + path, json=body, timeout=PATIENCE_S).json()["value"]
        assert not (isinstance(answer, dict) and "error" in answer), answer
        return answer

    def open(self, url: str) -> Self:
        """Go to a page, and wait until it was loaded."""
        self._ask("/url", {"url": url})
        return self

    def watch(self, script: str) -> None:
        """Run a script in each page that is opened from now on, before its own."""
        self._cdp("Page.addScriptToEvaluateOnNewDocument", {"source": script})

    def run(self, script: str) -> Any:
        """The value that a script returns."""
        return self._ask("/execute/sync", {"script": script, "args": []})

    def until(self, expression: str) -> Any:
        """The value of an expression, once it is true."""
        end = time.monotonic() + PATIENCE_S
        while not (value := self.run(f"return {expression}")):
            assert time.monotonic() < end, f"{expression}: {self.run('return document.body.innerText')}"
            time.sleep(0.02)
        return value

    def panel(self, token: str, verb: str, **fields: str) -> None:
        """Enter a token into the panel and let it show what a verb would do."""
        self.until("!document.querySelector('#act').hidden")
        self.run(f"document.querySelector('#token').value = '{token}'")
        self.run("document.querySelector('#token-form').requestSubmit()")
        self.until("!document.querySelector('#act-form').hidden")
        for name, value in {"verb": verb, **fields}.items():
            self.run(
                f"const field = document.querySelector('#act-{name}'); field.value = '{value}';"
                "field.dispatchEvent(new Event('change', { bubbles: true }))"
            )
        self.run("document.querySelector('#act-form').requestSubmit()")
        self.until("!document.querySelector('#act-do').disabled")

    def press(self, key: str) -> None:
        """One key, as a person would press it."""
        keys = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self._ask("/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": keys}]})

    def look_like(self, *, width: int, height: int, dark: bool = False, media: str = "screen") -> None:
        """A window of this size, on a system that prefers light or dark, or on paper (``media`` is print)."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self._cdp("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._cdp("Emulation.setEmulatedMedia", {"media": media, "features": [scheme]})

    def live_in(self, zone: str) -> None:
        """A system in a time zone."""
        self._cdp("Emulation.setTimezoneOverride", {"timezoneId": zone})

    def complaints(self) -> list[str]:
        """Warnings and errors that the page wrote to the console since the last question."""
        return [each["message"] for each in self._ask("/se/log", {"type": "browser"}) if each["level"] != "INFO"]

    def picture(self, file: Path) -> None:
        """Write the window to a PNG."""
        file.write_bytes(base64.b64decode(self._cdp("Page.captureScreenshot", {"format": "png"})["data"]))

    def close(self) -> None:
        """End this window."""
        requests.delete(self._base, timeout=PATIENCE_S)

    def _cdp(self, command: str, parameters: dict[str, Any]) -> Any:
        return self._ask("/goog/cdp/execute", {"cmd": command, "params": parameters})


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser; it and its driver end with the block."""
    with subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True) as driver:
        try:
            assert driver.stdout is not None
            started = (re.search(r"started successfully on port (\d+)", line) for line in driver.stdout)
            port = next(match[1] for match in started if match)
            window = Browser(f"http://127.0.0.1:{port}")
            try:
                yield window
            finally:
                window.close()
        finally:
            driver.terminate()
