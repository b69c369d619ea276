# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A real browser without a window, driven over a pair of pipes: no library is needed for that."""

from __future__ import annotations

import base64
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from lab.debian import install  # noqa: E402

PROGRAM = {"chromium": "chromium"}
_SECONDS = 60.0


class Browser:
    """Chromium with one page open."""

    def __init__(self) -> None:
        install(PROGRAM)
        # A process of it that ends late may still be writing.
        self._home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        # The browser reads commands from 3 and writes answers to 4.
        command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--hide-scrollbars"]
        script = f'exec 3<&{to_browser} 4>&{from_browser}; exec "$@"'
        self._process = subprocess.Popen(
            ["bash", "-c", script, "bash", *command, f"--user-data-dir={self._home.name}", "about:blank"],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._last, self._rest, self._session = 0, b"", ""
        self.events: list[dict[str, Any]] = []
        target = next(each for each in self._call("Target.getTargets")["targetInfos"] if each["type"] == "page")
        self._session = self._call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End it, and remove what it has written."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)
        os.close(self._write)
        self._home.cleanup()

    def open(self, page: Path, width: int = 1280, height: int = 900, scheme: str = "light") -> None:
        """Load a page from the disk, on a screen of a size and with a scheme of colours, and wait until all of it is there."""
        self.events.clear()
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self._call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self._call("Page.navigate", url=page.as_uri())
        self._until("Page.loadEventFired")

    def ask(self, expression: str) -> Any:
        """Evaluate an expression in the page."""
        found = self._call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in found:
            raise AssertionError(f"{expression}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def complaints(self) -> list[str]:
        """All that the console has to say since the page was opened, and every error of a script."""
        told = [str(each["params"]["entry"]["text"]) for each in self.events if each.get("method") == "Log.entryAdded"]
        told += [str(each["params"]["args"]) for each in self.events if each.get("method") == "Runtime.consoleAPICalled"]
        return told + [str(each["params"]) for each in self.events if each.get("method") == "Runtime.exceptionThrown"]

    def requested(self) -> list[str]:
        """Every address that was asked for since the page was opened."""
        sent = [each["params"]["request"]["url"] for each in self.events if each.get("method") == "Network.requestWillBeSent"]
        return [url for url in sent if not url.startswith("data:")]

    def picture(self, whole: bool = True) -> bytes:
        """Take a picture of the page, as PNG; the whole of it or what fits the screen."""
        return base64.b64decode(self._call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"])

    def whole_picture(self, width: int) -> bytes:
        """Take a picture of the page from its top to its end."""
        height = int(self.ask("document.documentElement.scrollHeight"))
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        return base64.b64decode(self._call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"])

    def printed(self) -> bytes:
        """Print the page, as PDF."""
        return base64.b64decode(self._call("Page.printToPDF", printBackground=True)["data"])

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result

    def _until(self, method: str) -> None:
        while not any(each.get("method") == method for each in self.events):
            self._next()

    def _next(self) -> dict[str, Any]:
        """Read one message; events are kept as well."""
        end = time.monotonic() + _SECONDS
        while b"\0" not in self._rest:
            readable, _, _ = select.select([self._read], [], [], max(0.0, end - time.monotonic()))
            chunk = os.read(self._read, 1 << 20) if readable else b""
            if not chunk:
                raise AssertionError(f"the browser says nothing; it has {'ended' if self._process.poll() is not None else 'hung'}")
            self._rest += chunk
        message, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        if "method" in found:
            self.events.append(found)
        return found
