"""A real Chromium without a window, driven over its debugging pipe: no library, no port."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

PROGRAM: Final = "chromium"
_ANSWER_S: Final = 60.0
_HIGH: Final = 10
_COMPLAINTS: Final = frozenset({"Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled"})


class Page:
    """One tab."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._number = 0
        self._rest = b""
        self._events: list[dict[str, Any]] = []
        self._session = ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Log", "Runtime", "Network", "Accessibility"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The answer to one command; AssertionError where it is refused or late."""
        self._number += 1
        session = {"sessionId": self._session} if self._session else {}
        message = {"id": self._number, "method": method, "params": params, **session}
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                result: dict[str, Any] = answer["result"]
                return result
            self._events.append(answer)

    def open(self, path: Path, *, width: int, height: int, scheme: str = "light", media: str = "") -> None:
        """Show a file as a screen of this size would, or as `media="print"` does."""
        self._events.clear()
        is_phone = width < 600
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=is_phone
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)
        self.call("Page.navigate", url=path.as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self._events):
            self._events.append(self._next())

    def value(self, expression: str) -> Any:
        """What an expression is, in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """One key, down and up."""
        code = {"Tab": 9, "Enter": 13}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            more = text if kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **more)

    def complaints(self) -> list[dict[str, Any]]:
        """What it wrote to its console since it was opened."""
        self.call("Runtime.evaluate", expression="0")
        return [event for event in self._events if event.get("method") in _COMPLAINTS]

    def requests(self) -> list[str]:
        """Every address that was asked for since the page was opened."""
        sent = [event for event in self._events if event.get("method") == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]

    def picture(self, to: Path) -> None:
        """The whole page, as long as it is."""
        answer = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        to.write_bytes(base64.b64decode(answer["data"]))

    def paper(self, to: Path) -> None:
        """Print it on A4."""
        answer = self.call("Page.printToPDF", preferCSSPageSize=True, printBackground=False)
        to.write_bytes(base64.b64decode(answer["data"]))

    def _next(self) -> dict[str, Any]:
        deadline = time.monotonic() + _ANSWER_S
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"no answer within {_ANSWER_S:.0f} s"
            piece = os.read(self._from, 1 << 20)
            assert piece, "the browser is gone"
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message


@contextmanager
def browser() -> Iterator[Page]:
    """A browser of its own, with an empty profile; gone at the end."""
    profile = tempfile.mkdtemp(prefix="supervise-browser-")
    its_in, ours_out = _pipe()
    ours_in, its_out = _pipe()
    # It expects its pipe at 3 and 4; bash can move descriptors of two digits there, dash cannot.
    command = [
        *("bash", "-c", f'exec "$@" 3<&{its_in} 4>&{its_out} {its_in}<&- {its_out}>&-', "bash", PROGRAM),
        *("--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
        *("--no-first-run", "--disable-background-networking", "--hide-scrollbars", f"--user-data-dir={profile}"),
    ]
    process = subprocess.Popen(
        command, pass_fds=(its_in, its_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    os.close(its_in)
    os.close(its_out)
    try:
        page = Page(ours_out, ours_in)
        yield page
    finally:
        os.close(ours_out)  # it ends when its pipe does
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        with suppress(OSError):
            os.close(ours_in)
        shutil.rmtree(profile, ignore_errors=True)


def _pipe() -> tuple[int, int]:
    read, write = os.pipe()
    high = fcntl.fcntl(read, fcntl.F_DUPFD_CLOEXEC, _HIGH), fcntl.fcntl(write, fcntl.F_DUPFD_CLOEXEC, _HIGH)
    os.close(read)
    os.close(write)
    return high
