"""People's machines: a real HTTP server and a real program in sendmail's place."""

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest


@dataclass
class Server:
    """Listens on loopback, keeps what it was sent, and answers as a test says."""

    code: int = 200
    hangs: threading.Event | None = None
    """It gives no answer before this is set."""
    got: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    url: str = ""


@pytest.fixture
def server() -> Iterator[Server]:
    """A real one."""
    told = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # http.server's name
            body = self.rfile.read(int(self.headers["Content-Length"]))
            told.got.append((self.path, dict(self.headers), body))
            if told.hangs is not None:
                told.hangs.wait(60)
            self.send_response(told.code)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def do_GET(self) -> None:  # a redirect that was followed
            told.got.append((self.path, dict(self.headers), b""))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever, args=(0.02,))
    thread.start()
    told.url = f"http://127.0.0.1:{listening.server_port}/hook/secret-part"
    yield told
    if told.hangs is not None:
        told.hangs.set()
    listening.shutdown()
    thread.join(30)
    listening.server_close()


@dataclass
class Sendmail:
    """A program that keeps what it was called with."""

    folder: Path

    def is_like(self, text: str) -> None:
        """What the program does with its arguments and stdin."""
        path = self.folder / "sendmail"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    @property
    def arguments(self) -> str:
        """Of the last call."""
        return (self.folder / "arguments").read_text().strip()

    @property
    def mail(self) -> str:
        """The last one."""
        return (self.folder / "mail").read_text()

    @property
    def mails(self) -> int:
        """How many came."""
        path = self.folder / "count"
        return len(path.read_text().splitlines()) if path.exists() else 0


@pytest.fixture
def sendmail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sendmail:
    """It stands first on PATH and takes every mail."""
    made = Sendmail(tmp_path / "bin")
    made.folder.mkdir()
    here = made.folder
    made.is_like(f'echo "$*" >{here}/arguments; cat >{here}/mail; echo x >>{here}/count')
    monkeypatch.setenv("PATH", f"{here}:{os.environ['PATH']}")
    return made
