"""In the batch shell's place: keeps a supervisor alive, starts attempts, passes signals and the exit status on.

`keeper.py RUNDIR SCRIPT ARGUMENTS...`, started by the guard in the script; its words with the supervisor stand in
docs/contracts.md. Standard library only, Python >= 3.8. When all else fails, the script still runs.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, Popen

BACKOFF_S = (0.0, 0.2, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0)
# A life that ends the backoff; a silence that means that it is stuck; when the first attempt starts without one.
GOOD_LIFE_S, SILENT_S, FIRST_START_S, FAILED_STARTS = 60.0, 20.0, 45.0, 5
# Without a supervisor that lives longer than a moment: then a frozen script goes on, and a job whose script has ended
# ends. With one it ends after so long, which is more than any decision takes.
# A turn takes half a second: after more than the last of these the whole job was suspended, and nobody silent.
ORPHANED_S, YOUNG_S, ENDED_S, SLEPT_S = 60.0, 3.0, 1800.0, 5.0
# The longest that a supervisor may ask for at a time; for it to end once the job does; for it to say that the whole
# step received a signal, after it and before.
BUSY_S, LAST_S, FORWARD_S, CANARY_S = 900.0, 3.0, 0.25, 2.0
# Not passed on: what no handler gets, what ends nobody, and faults, which behind a handler would repeat for ever.
NOT_OURS = "SIGKILL SIGSTOP SIGCONT SIGTSTP SIGTTIN SIGTTOU SIGWINCH SIGURG SIGBUS SIGFPE SIGILL SIGSEGV"
CODEC, DONE = ("utf-8", "surrogateescape"), float("inf")


class Keeper:
    """One job's keeper: `turn` until there is a `finish`, then `leave`."""

    def __init__(self, folder: str, command: list[str]) -> None:
        self.folder, self.command, self.attempt, self.is_alone, self.busy_until = folder, command, 0, False, 0.0
        self.began = self.born = self.died = self.heard = self.alone_since = self.ended_at = time.monotonic()
        self.supervisor: Popen[bytes] | None = None
        self.link: socket.socket | None = None
        self.script: Popen[bytes] | None = None
        self.status: dict[str, int | None] = {}  # how the newest attempt ended
        self.signals: dict[int, float] = {}  # all that came, and when the script is to get them
        self.finish, self.canary, self.rest, self.tries, self.has_spoken = self.status, {**self.signals}, b"", 0, False
        # Not the LC_CTYPE that Python adds to its own copy.
        self.given = dict(e.split(b"=", 1) for e in Path("/proc/self/environ").read_bytes().split(b"\0") if b"=" in e)
        self.wake, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        for number in set(signal.valid_signals()) - {getattr(signal, name) for name in NOT_OURS.split()}:
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler) or number == signal.SIGCHLD:
                signal.signal(number, lambda *_: None)  # what is ignored on purpose stays so, for the script too

    def turn(self) -> None:
        """Look at everything once; waits half a second at most."""
        now = time.monotonic()
        self._keep_supervisor(now)
        self._look_at_clock(now)
        is_soon = not self.supervisor or min(self.signals.values(), default=DONE) < DONE
        link = [self.link.fileno()] if self.link else []
        readable, _, _ = select.select([self.wake, *link], [], [], 0.05 if is_soon else 0.5)
        self.heard, self.ended_at = (t + max(0, time.monotonic() - now - SLEPT_S) for t in (self.heard, self.ended_at))
        for number in set(os.read(self.wake, 512) if self.wake in readable else b"") - {signal.SIGCHLD}:
            self.signals[number] = min(self.signals.get(number, DONE), time.monotonic() + FORWARD_S)
        if any(each in readable for each in link):
            self._read()
        if self.script and not self.status and self.script.poll() is not None:
            self._ended(self.script.returncode)

    def _keep_supervisor(self, now: float) -> None:
        if self.supervisor and now - self.heard > SILENT_S:
            self.supervisor.kill()
        if self.supervisor and self.supervisor.poll() is not None:
            self._read()  # its last words
            self.supervisor, self.link, self.died = None, None, now
            self.tries = 1 if now - self.born > GOOD_LIFE_S else self.tries
        elif not self.supervisor and now >= self.died + BACKOFF_S[min(self.tries, len(BACKOFF_S) - 1)]:
            self.tries, self.born, self.died, self.heard, self.rest = self.tries + 1, now, now, now, b""
            self.link, theirs = socket.socketpair()
            self.link.setblocking(False)
            env = {**self.given, b"SUPERVISE_KEEPER_FD": b"%d" % theirs.fileno()}
            command = [sys.executable, "-I", f"{self.folder}/boot.py", self.folder, "supervisor.daemon", self.folder]
            self.supervisor = Popen(command, env=env, pass_fds=[theirs.fileno()], stdin=DEVNULL, start_new_session=True)
            pid = self.script.pid if self.script and not self.status else 0
            more = {"signals": list(self.signals), "pid": pid, "alive": pid > 0, "code": None, "signal": None}
            self._tell("state", attempt=self.attempt, unsupervised=self.is_alone, **{**more, **self.status})

    def _look_at_clock(self, now: float) -> None:
        for number, due in self.signals.items():
            is_whole = abs(due - self.canary.get(number, 0.0)) < CANARY_S
            if is_whole or now >= due:
                self.signals[number], self.canary[number] = DONE, 0.0
                self._tell("signal", number=number, whole=is_whole)
                if self.script and not is_whole:
                    self.script.send_signal(number)
        is_late = now > max(self.began + FIRST_START_S, min(self.busy_until, self.began + BUSY_S))
        if not self.attempt and (is_late or (self.tries >= FAILED_STARTS and not self.supervisor)):
            self.is_alone, self.finish = True, {"code": None, "signal": min(self.signals)} if self.signals else {}
            if not self.finish:
                self._start(1, {"SUPERVISE_RUN_ID": Path(self.folder).name}, [])  # its mark, to be found and ended by
                say(f"no supervisor could be kept alive, see {self.folder}; the script runs without one")
        is_kept = self.supervisor and now - self.heard < SILENT_S and now - self.born > YOUNG_S
        self.alone_since = now if is_kept else self.alone_since
        if 0 < now - self.alone_since - ORPHANED_S < SLEPT_S and self.script and not self.status:
            os.killpg(self.script.pid, signal.SIGCONT)  # frozen by a supervisor that died before it had ended it
        due = max(self.alone_since + (ORPHANED_S if self.has_spoken or self.supervisor else 0.0), self.busy_until)
        self.finish = self.finish or (self.status if now > min(due, self.ended_at + ENDED_S) else {})

    def _read(self) -> None:
        data = b""
        with suppress(OSError):
            data = self.link.recv(65536) if self.link else b""
        self.link, self.rest = self.link if data else None, self.rest + data
        while b"\n" in self.rest:
            line, self.rest = self.rest.split(b"\n", 1)
            self.heard, self.has_spoken, order = time.monotonic(), True, json.loads(line)
            if order["do"] == "start":
                self._start(order["attempt"], order["set"], order["unset"])
            elif order["do"] == "finish":
                self.finish = {"code": order["code"], "signal": order["signal"]}
            elif order["do"] == "signaled":
                self.canary[order["number"]] = self.heard
            elif order["do"] == "busy":
                self.busy_until = max(self.busy_until, self.heard + min(order["for_s"], BUSY_S))

    def _start(self, attempt: int, changed: dict[str, str], unset: list[str]) -> None:
        if attempt <= self.attempt or (self.script and not self.status):
            self._tell("refused", why=f"attempt {attempt} after {self.attempt}")
            return
        changes = {"SUPERVISE_ATTEMPT": str(attempt), **changed}.items()
        env = {name: value for name, value in self.given.items() if name.decode(*CODEC) not in unset}
        env.update((name.encode(*CODEC), value.encode(*CODEC)) for name, value in changes)
        self.attempt, self.status = attempt, {}
        try:
            self.script = Popen(self.command, env=env, close_fds=False, start_new_session=True)
            self._tell("started", attempt=attempt, pid=self.script.pid)
        except OSError as exc:
            say(f"{self.command[0]}: {exc.strerror}")
            self._ended(127 if isinstance(exc, FileNotFoundError) else 126)

    def _ended(self, code: int) -> None:
        self.status = {"code": code if code >= 0 else None, "signal": -code if code < 0 else None}
        self.alone_since = self.ended_at = time.monotonic()
        self.tries = min(self.tries, 1)  # there is news: worth a fresh start
        self._tell("ended", attempt=self.attempt, **self.status)

    def _tell(self, what: str, **words: object) -> None:
        try:
            if self.link:
                self.link.sendall(json.dumps({"is": what, **words}).encode() + b"\n")
        except OSError:  # dead or stuck, and half a line would spoil the next: hung up, its successor is told all
            self.link = None

    def leave(self) -> None:
        """End what is left (a supervisor ends by itself once its link is closed), then end as the script did."""
        self.link, end = None, time.monotonic() + LAST_S
        while self.supervisor and self.supervisor.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        for process in filter(None, (self.supervisor, self.script)):
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
        code, number = self.finish["code"], self.finish["signal"]
        if number:
            with suppress(OSError, ValueError):  # of a signal that cannot be caught
                signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        os._exit(128 + number if number else 1 if code is None else code)


def say(text: str) -> None:
    """One line in the job's output, if it takes any."""
    with suppress(OSError):
        os.write(2, f"supervise: {text}\n".encode(errors="replace"))


if __name__ == "__main__":
    keeper = Keeper(sys.argv[1], sys.argv[2:])
    while not keeper.finish:
        try:
            keeper.turn()
        except Exception as exc:  # noqa: BLE001  # no descriptors, nonsense heard: whatever it is, the job goes on
            say(repr(exc))
            time.sleep(1.0)
    keeper.leave()
