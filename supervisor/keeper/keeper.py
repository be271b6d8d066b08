"""In the batch shell's place: keeps a supervisor alive, starts attempts, passes signals and the exit status on.

`keeper.py RUNDIR SCRIPT ARGUMENTS...`, started by the guard in the script. Standard library only, Python >= 3.8; what it
says to the supervisor and hears from it stands in docs/contracts.md. Where everything else fails, the script still runs.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import time
import traceback
from contextlib import suppress

BACKOFF_S = (0.2, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0)
GOOD_LIFE_S, SILENT_S = 60.0, 20.0  # a life that ends the backoff; a silence that means that it is stuck
FIRST_START_S, FAILED_STARTS = 45.0, 5  # then the first attempt starts without a supervisor
ORPHANED_S, YOUNG_S = 60.0, 3.0  # after the script's end, for a supervisor that lives longer than a moment
BUSY_S = 900.0  # the longest that a supervisor may ask for
FORWARD_S, CANARY_S = 0.25, 2.0  # for the supervisor to say that the whole step received the signal, if not before
LAST_S, AGAIN_S = 3.0, 0.05
ENDING = {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM}
# The kernel's own: no handler helps against them, and one for a fault in this very process would turn for ever.
FAULTS = {signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV}
NOT_OURS = {signal.SIGKILL, signal.SIGSTOP, signal.SIGCONT, signal.SIGTTIN, signal.SIGTTOU, *FAULTS}


class Keeper:
    """One job's keeper: `run` turns until the job may end, `leave` ends it."""

    def __init__(self, folder: str, command: list[str]) -> None:
        self.folder, self.command = folder, command
        self.began = self.born = self.heard = self.next_start = self.lost = time.monotonic()
        self.supervisor: subprocess.Popen[bytes] | None = None
        self.link: socket.socket | None = None
        self.rest, self.failures, self.has_spoken, self.busy_until = b"", 0, False, 0.0
        self.script: subprocess.Popen[bytes] | None = None
        self.attempt, self.is_alone, self.ended, self.marks = 0, False, 0.0, {b""}
        self.status: tuple[int | None, int | None] | None = None  # how the newest attempt ended: code or signal
        self.finish: tuple[int | None, int | None] | None = None
        self.signals: list[int] = []
        self.forward: dict[int, float] = {}
        self.canary: dict[int, float] = {}
        with open("/proc/self/environ", "rb") as file:  # Python adds LC_CTYPE to its own copy: the script gets Slurm's
            pairs = (item.partition(b"=") for item in file.read().split(b"\0") if b"=" in item)
            self.given = {name: value for name, _, value in pairs}
        self.wake, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        for number in set(signal.valid_signals()) - NOT_OURS:  # what is ignored on purpose stays so, for the script too
            if signal.getsignal(number) in {signal.SIG_DFL, signal.default_int_handler} or number == signal.SIGCHLD:
                signal.signal(number, lambda *_: None)

    def run(self) -> None:
        """Turn until the job may end."""
        while self.finish is None:
            try:
                self.turn()
            except Exception:  # whatever it is (no descriptors, no memory): the job must not end by it
                traceback.print_exc()
                time.sleep(1.0)

    def turn(self) -> None:
        self.keep_supervisor()
        self.look_at_clock()
        sources = [self.wake, *([self.link] if self.link else [])]
        is_close = self.forward or self.supervisor is None  # everything else is in no hurry, or wakes us
        readable, _, _ = select.select(sources, [], [], AGAIN_S if is_close else 0.5)
        if self.wake in readable:
            for number in os.read(self.wake, 512):
                self.received(number)
        if self.link in readable:
            self.read()
        self.reap()

    def keep_supervisor(self) -> None:
        now = time.monotonic()
        if self.supervisor and self.supervisor.poll() is None and now - self.heard > SILENT_S:
            self.supervisor.kill()
        if self.supervisor and self.supervisor.poll() is not None:
            self.supervisor = None
            self.failed(now)
        if self.supervisor is None and now >= self.next_start:
            self.born = self.heard = now
            try:
                self.start_supervisor()
            except OSError:
                self.failed(now)

    def failed(self, now: float) -> None:
        self.drop_link()
        if now - self.born > GOOD_LIFE_S:
            self.failures, self.lost = 0, now
        self.next_start = now + BACKOFF_S[min(self.failures, len(BACKOFF_S) - 1)]
        self.failures += 1

    def start_supervisor(self) -> None:
        self.link, theirs = socket.socketpair()
        self.link.setblocking(False)
        self.rest, number = b"", theirs.fileno()
        with theirs:
            command = [sys.executable, "-I", "-m", "supervisor.daemon", self.folder]
            env = {**self.given, b"SUPERVISE_KEEPER_FD": b"%d" % number}
            self.supervisor = subprocess.Popen(
                command, env=env, pass_fds=[number], stdin=subprocess.DEVNULL, start_new_session=True
            )
        code, killed_by = self.status or (None, None)
        pid, state = (self.script.pid, True) if self.script else (0, False)
        told = {"attempt": self.attempt, "pid": pid, "alive": state, "code": code, "signal": killed_by}
        self.tell(**told, unsupervised=self.is_alone, signals=self.signals, **{"is": "state"})

    def look_at_clock(self) -> None:
        now = time.monotonic()
        for number in [each for each, due in self.forward.items() if now >= due]:
            del self.forward[number]
            self.tell(number=number, whole=False, **{"is": "signal"})
            if self.script:
                self.script.send_signal(number)
        is_late = now > max(self.began + FIRST_START_S, min(self.busy_until, self.began + BUSY_S))
        if self.attempt == 0 and (is_late or self.failures >= FAILED_STARTS):
            ending = [number for number in self.signals if number in ENDING]
            if ending:
                self.finish = (None, ending[0])
                return
            self.is_alone = True
            self.start(1, {}, [])
            self.say(f"no supervisor could be kept alive (see {self.folder}); the script runs without one")
        is_kept = self.supervisor and now - self.heard < SILENT_S and now - self.born > YOUNG_S
        patience = ORPHANED_S if self.has_spoken or self.supervisor else 0.0
        if self.status and not is_kept and now > max(self.ended + patience, self.lost + patience, self.busy_until):
            self.finish = self.status

    def received(self, number: int) -> None:
        if number == signal.SIGCHLD:
            return
        if number not in self.signals:
            self.signals.append(number)
        now = time.monotonic()
        if now - self.canary.pop(number, 0.0) < CANARY_S:
            self.tell(number=number, whole=True, **{"is": "signal"})
        else:
            self.forward.setdefault(number, now + FORWARD_S)

    def read(self) -> None:
        data = b""
        with suppress(OSError):
            data = self.link.recv(65536) if self.link else b""
        if not data:
            self.drop_link()
            return
        self.heard, self.has_spoken = time.monotonic(), True
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            try:
                self.obey(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError) as exc:
                self.tell(why=f"not understood: {exc!r}", **{"is": "refused"})

    def obey(self, order: dict) -> None:
        what, now = order["do"], time.monotonic()
        if what == "start":
            self.start(int(order["attempt"]), order["set"], order["unset"])
        elif what == "finish":
            number = order["signal"]
            self.finish = (None, int(number)) if number else (int(order["code"]), None)
        elif what == "signaled" and self.forward.pop(order["number"], None):
            self.tell(number=order["number"], whole=True, **{"is": "signal"})
        elif what == "signaled":
            self.canary[order["number"]] = now
        elif what == "busy":
            self.busy_until = now + min(order["for_s"], BUSY_S)
