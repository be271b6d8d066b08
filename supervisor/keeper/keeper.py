"""In the batch shell's place: keeps a supervisor alive, starts attempts, passes signals and the exit status on.

`keeper.py RUNDIR SCRIPT ARGUMENTS...`, started by the guard in the script. Standard library only, Python >= 3.8; what
it says to the supervisor and hears from it stands in docs/contracts.md. When all else fails, the script still runs.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress

BACKOFF_S = (0.2, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0)
GOOD_LIFE_S, SILENT_S = 60.0, 20.0  # a life that ends the backoff; a silence that means that it is stuck
FIRST_START_S, FAILED_STARTS = 45.0, 5  # then the first attempt starts without a supervisor
ORPHANED_S, YOUNG_S = 60.0, 3.0  # after the script's end, for a supervisor that lives longer than a moment
BUSY_S, LAST_S = 900.0, 3.0  # the longest that a supervisor may ask for; for the end of what is left
FORWARD_S, CANARY_S = 0.25, 2.0  # for the supervisor to say that the whole step received the signal, if not before
ENDING = {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM}
# Faults are left alone too: behind a handler, one of this very process would return to where it happened, for ever.
NOT_OURS = {getattr(signal, f"SIG{name}") for name in ("KILL", "STOP", "CONT", "TTIN", "TTOU", "BUS", "FPE", "SEGV")}


class Keeper:
    """One job's keeper: `turn` until there is a `finish`, then `leave`. A status is negative for a signal."""

    def __init__(self, folder: str, command: list[str]) -> None:
        self.folder, self.command, self.given = folder, command, environment("self")
        self.began = self.born = self.heard = self.next_start = self.alone_since = time.monotonic()
        self.supervisor: subprocess.Popen[bytes] | None = None
        self.script: subprocess.Popen[bytes] | None = None
        self.link: socket.socket | None = None
        self.status: int | None = None
        self.finish: int | None = None
        self.rest, self.tries, self.has_spoken, self.busy_until = b"", 0, False, 0.0
        self.attempt, self.is_alone = 0, False
        self.signals: set[int] = set()
        self.forward: dict[int, float] = {}
        self.canary: dict[int, float] = {}
        self.wake, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        for number in set(signal.valid_signals()) - NOT_OURS:  # what is ignored on purpose stays so, for the script too
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler) or number == signal.SIGCHLD:
                signal.signal(number, lambda *_: None)

    def turn(self) -> None:
        """Look at everything once; waits half a second at most."""
        self.keep_supervisor(time.monotonic())
        self.pass_signals(time.monotonic())
        self.look_at_clock(time.monotonic())
        sources = [self.wake, self.link] if self.link else [self.wake]
        readable, _, _ = select.select(sources, [], [], 0.05 if self.forward or not self.supervisor else 0.5)
        for number in set(os.read(self.wake, 512) if self.wake in readable else b"") - {signal.SIGCHLD}:
            self.signals.add(number)
            self.forward.setdefault(number, time.monotonic() + FORWARD_S)
        if self.link in readable:
            self.read()
        if self.script and self.script.poll() is not None:
            self.ended(self.script.returncode)

    def keep_supervisor(self, now: float) -> None:
        if self.supervisor and self.supervisor.poll() is None:
            if now - self.heard > SILENT_S:
                self.supervisor.kill()
        elif self.supervisor:
            self.read()  # its last words
            self.supervisor, self.link = None, None
            if now - self.born > GOOD_LIFE_S:
                self.tries, self.alone_since = 1, now
            self.next_start = now + BACKOFF_S[min(self.tries, len(BACKOFF_S)) - 1]
        elif now >= self.next_start:
            self.tries, self.born, self.heard, self.rest = self.tries + 1, now, now, b""
            self.next_start = now + BACKOFF_S[-1]
            self.start_supervisor()

    def start_supervisor(self) -> None:
        self.link, theirs = socket.socketpair()
        self.link.setblocking(False)
        with theirs:
            command = [sys.executable, "-I", "-m", "supervisor.daemon", self.folder]
            env = {**self.given, b"SUPERVISE_KEEPER_FD": b"%d" % theirs.fileno()}
            self.supervisor = subprocess.Popen(
                command, env=env, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, start_new_session=True
            )
        pid = self.script.pid if self.script else 0
        self.tell("state", attempt=self.attempt, pid=pid, alive=bool(pid), unsupervised=self.is_alone,
                  signals=sorted(self.signals), **split(self.status))  # fmt: skip

    def pass_signals(self, now: float) -> None:
        for number, due in list(self.forward.items()):
            is_whole = abs(due - self.canary.pop(number, 0.0)) < CANARY_S
            if is_whole or now >= due:
                del self.forward[number]
                self.tell("signal", number=number, whole=is_whole)
                if self.script and not is_whole:
                    self.script.send_signal(number)

    def look_at_clock(self, now: float) -> None:
        is_late = now > max(self.began + FIRST_START_S, min(self.busy_until, self.began + BUSY_S))
        if not self.attempt and (is_late or (self.tries >= FAILED_STARTS and not self.supervisor)):
            if self.signals & ENDING:
                self.finish = -min(self.signals & ENDING)
                return
            self.is_alone = True
            self.start(1, {}, [])
            say(f"no supervisor could be kept alive, see {self.folder}; the script runs without one")
        is_kept = self.supervisor and now - self.heard < SILENT_S and now - self.born > YOUNG_S
        patience = ORPHANED_S if self.has_spoken or self.supervisor else 0.0
        if self.status is not None and not is_kept and now > max(self.alone_since + patience, self.busy_until):
            self.finish = self.status

    def read(self) -> None:
        data = b""
        with suppress(OSError):
            data = self.link.recv(65536) if self.link else b""
        if not data:
            self.link = None
            return
        self.heard, self.has_spoken = time.monotonic(), True
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            try:
                self.obey(json.loads(line), self.heard)
            except (ValueError, KeyError, TypeError, AttributeError) as exc:
                self.tell("refused", why=f"not understood: {exc!r}")

    def obey(self, order: dict, now: float) -> None:
        if order["do"] == "start":
            self.start(order["attempt"], order["set"], order["unset"])
        elif order["do"] == "finish":
            self.finish = -order["signal"] if order["signal"] else int(order["code"])
        elif order["do"] == "signaled":
            self.canary[order["number"]] = now
        elif order["do"] == "busy":
            self.busy_until = now + min(order["for_s"], BUSY_S)

    def start(self, attempt: int, changed: dict[str, str], unset: list[str]) -> None:
        if self.script or attempt <= self.attempt:
            self.tell("refused", why=f"attempt {attempt} after {self.attempt}")
            return
        marks = {"SUPERVISE_RUN_ID": os.path.basename(self.folder), "SUPERVISE_ATTEMPT": str(attempt)}
        wanted = {code(name): code(value) for name, value in {**marks, **changed}.items()}
        env = {name: value for name, value in {**self.given, **wanted}.items() if name not in map(code, unset)}
        self.attempt, self.status = attempt, None
        try:
            self.script = subprocess.Popen(self.command, env=env, close_fds=False, start_new_session=True)
            self.tell("started", attempt=attempt, pid=self.script.pid)
        except OSError as exc:
            say(f"{self.command[0]}: {exc.strerror}")
            self.ended(127 if isinstance(exc, FileNotFoundError) else 126)

    def ended(self, status: int) -> None:
        self.script, self.status, self.alone_since = None, status, time.monotonic()
        self.next_start = min(self.next_start, self.alone_since + BACKOFF_S[0])
        self.tell("ended", attempt=self.attempt, **split(status))

    def tell(self, what: str, **words: object) -> None:
        with suppress(OSError):  # it is dead or stuck: its successor is told the whole state
            if self.link:
                self.link.sendall(json.dumps({"is": what, **words}).encode() + b"\n")

    def leave(self) -> None:
        """End what is left: the supervisor by a closed link, then by force, like what carries this run's marks."""
        self.link, end = None, time.monotonic() + LAST_S
        while time.monotonic() < end and (self.kill_left() or (self.supervisor and self.supervisor.poll() is None)):
            time.sleep(0.02)
        if self.supervisor:
            with suppress(OSError):
                os.killpg(self.supervisor.pid, signal.SIGKILL)

    def kill_left(self) -> list[int]:
