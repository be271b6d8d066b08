"""The supervisor tells persons, and whatever happens to the message no decision and no end waits for it."""

import asyncio
import json
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self, cast

import msgspec
import pytest

from supervisor.core.events import Event
from supervisor.core.instructions import Finish, KeepRecord, StopAttempt
from supervisor.daemon.hands import notify as module
from supervisor.daemon.hands.check import Checker
from supervisor.daemon.hands.dispatch import Hands
from supervisor.daemon.hands.notify import FILE, Teller
from supervisor.daemon.hands.record import Commenter
from supervisor.daemon.world import World
from supervisor.model.facts import JobFacts
from supervisor.model.ids import JobId
from supervisor.model.verdict import Class
from supervisor.notify.message import Message
from supervisor.settings import Settings
from tests.core import harness
from tests.notify.conftest import Sendmail, Server
from tests.notify.made import record

_OOM = {"action": "stop", "cls": Class.SOFTWARE, "cause": "cuda_oom", "fingerprint": "oom"}


class _Files:
    """Writes at once."""

    def write(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def do(self, _deed: Callable[[], None]) -> bool:
        return True

    async def flushed(self, _deadline_s: float) -> bool:
        return True


def _world(folder: Path, settings: Settings, told: list[str]) -> World:
    keeper = SimpleNamespace(finish=lambda *, code, signal: told.append(f"finish {code} {signal}"), busy=lambda _: None)
    made = SimpleNamespace(
        folder=folder,
        run=SimpleNamespace(run_id="llama-abcde"),
        settings=settings,
        clock=lambda: 1000.0,
        writer=_Files(),
        keeper=keeper,
        sigterm_at=0.0,
        around=SimpleNamespace(job_id="17", raw_job_id="17", restarts=0),
        tell_site=lambda _: None,
        tell_person=lambda _: None,
    )
    return cast("World", made)


class _Supervisor:
    """The part of the supervisor that tells, running."""

    def __init__(self, folder: Path, urls: str, notify_on: str = "stopped") -> None:
        self.told: list[str] = []
        settings = msgspec.convert({"notify": urls, "notify_on": notify_on}, Settings)
        self.world = _world(folder, settings, self.told)
        self.core = harness.World()
        self.teller = Teller(self.world, urls.split(), lambda: self.core.state)
        self.world.tell_person = self.teller.tell
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self.teller.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task
        assert not self._task.done()
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    def follow(self) -> None:
        """From now on the machine's orders are told as it gives them."""
        send = harness.World.send

        def told(event: Event) -> None:
            known = len(self.core.done)
            send(self.core, event)
            for order in self.core.done[known:]:
                if isinstance(order, KeepRecord | Finish):
                    self.teller.tell(order)

        cast("Any", self.core).send = told  # a method in another's place

    def keep(self, **changes: Any) -> None:
        self.teller.tell(KeepRecord(record=record(**changes)))

    async def settled(self) -> None:
        async with asyncio.timeout(30):
            await self.teller._queue.join()


def _titles(server: Server) -> list[str]:
    return [json.loads(body)["title"].partition(") ")[2] for _, _, body in server.got]


async def test_a_stop_reaches_mail_and_webhook(tmp_path: Path, server: Server, sendmail: Sendmail) -> None:
    """Once, though the record is kept again and the job ends of it."""
    async with _Supervisor(tmp_path, f"mailto:me@site {server.url}") as run:
        run.keep(**_OOM)
        run.keep(**_OOM, lost_node_seconds=9.0)
        run.teller.tell(Finish(code=1, reason="stopped: cuda_oom"))
        await run.settled()
    assert _titles(server) == ["STOPPED, needs you: software/cuda_oom"]
    assert "STOPPED, needs you: software/cuda_oom" in sendmail.mail.replace("\n ", " ")
    assert sendmail.mails == 1


@pytest.mark.parametrize(
    ("notify_on", "titles"),
    [
        ("stopped", []),
        ("interrupted", ["interrupted, goes on: hardware/gpu_lost"]),
        ("all", ["interrupted, goes on: hardware/gpu_lost", "completed"]),
    ],
)
async def test_only_what_was_asked_for_is_told(
    tmp_path: Path, server: Server, notify_on: str, titles: list[str]
) -> None:
    """A run that was interrupted and ended well."""
    async with _Supervisor(tmp_path, server.url, notify_on) as run:
        run.keep(action="none", is_closed=False)
        run.keep()
        run.keep(is_closed=True)
        run.teller.tell(Finish(code=0, reason="completed"))
        await run.settled()
    assert _titles(server) == titles


async def test_the_machines_own_orders_are_told(tmp_path: Path, server: Server) -> None:
    """A program that fails: one message, though its record is kept many times and the job ends of it."""
    async with _Supervisor(tmp_path, server.url) as run:
        run.follow()
        run.core.start().progress(5).exit(1).settle().exit(1).settle()
        await run.settled()
    assert _titles(server) == ["STOPPED, needs you: software/segfault"]


@pytest.mark.parametrize("is_recovering", [False, True])
async def test_who_cancels_is_told_nothing(tmp_path: Path, server: Server, *, is_recovering: bool) -> None:
    """Also where that ends an interruption's recovery: nobody needs to look at it any more."""
    async with _Supervisor(tmp_path, server.url) as run:
        run.follow()
        run.core.start().progress(5)
        if is_recovering:
            run.core.silent_hands = {StopAttempt}
            run.core.kill(run.core.all_nodes[1]).settle()
            assert run.core.records[-1].action != "none"
        run.core.slurm = JobFacts(job_id=JobId("17"), state="CANCELLED")
        run.core.term().exit(None, signal=15, ranks_fail=False).run(60)
        assert run.core.finish
        assert run.core.records[-1].action == "stop"
        await run.settled()
    assert _titles(server) == []


async def test_an_end_without_an_interruption_is_told(tmp_path: Path, server: Server) -> None:
    """The script was never seen to fail, and yet the job did."""
    async with _Supervisor(tmp_path, server.url) as run:
        run.teller.tell(Finish(code=3, reason="the script ended with 3"))
        await run.settled()
    assert _titles(server) == ["STOPPED, needs you"]


async def test_a_supervisor_that_takes_over_tells_nothing_again(tmp_path: Path, server: Server) -> None:
    """What was told is kept in the run folder; a file that cannot be read counts as empty."""
    for _ in range(2):
        async with _Supervisor(tmp_path, server.url) as run:
            run.keep(**_OOM)
            await run.settled()
    assert len(server.got) == 1
    (tmp_path / FILE).write_bytes(b"{torn")
    async with _Supervisor(tmp_path, server.url) as run:
        run.keep(**_OOM)
        await run.settled()
    assert len(server.got) == 2


async def test_a_webhook_that_hangs_delays_neither_decisions_nor_the_end(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exit status is with the keeper at once; the process leaves within its second."""
    server.hangs = threading.Event()
    monkeypatch.setattr(module, "_SEND_S", 30.0)
    monkeypatch.setattr(module, "_LEAVE_S", 0.3)
    loop = asyncio.get_running_loop()
    async with _Supervisor(tmp_path, server.url) as run, asyncio.TaskGroup() as group:
        commenter = Commenter(cast("Any", None), run.world.around.job_id, run.world.clock, deadline_s=1.0)  # not asked
        hands = Hands(run.world, group, Checker(cast("Any", None)), commenter)  # nothing is checked
        began = loop.time()
        hands.carry_out(KeepRecord(record=record(**_OOM)))
        hands.carry_out(Finish(code=1, reason="stopped"))
        await hands.over()
        assert run.told == ["finish 1 None"]
        assert loop.time() - began < 2
        await run.teller.leave()
        assert loop.time() - began < 4
    assert len(server.got) == 1


async def test_records_and_the_end_are_told_by_the_hands(tmp_path: Path, server: Server) -> None:
    """Where they are carried out."""
    async with _Supervisor(tmp_path, server.url, "all") as run, asyncio.TaskGroup() as group:
        commenter = Commenter(cast("Any", None), run.world.around.job_id, run.world.clock, deadline_s=1.0)  # not asked
        hands = Hands(run.world, group, Checker(cast("Any", None)), commenter)  # nothing is checked
        hands.carry_out(KeepRecord(record=record()))
        hands.carry_out(Finish(code=0, reason="completed"))
        await hands.over()
        await run.settled()
    assert _titles(server) == ["interrupted, goes on: hardware/gpu_lost", "completed"]


@pytest.mark.filterwarnings("ignore:.*imghdr:DeprecationWarning")  # of apprise
async def test_one_way_that_fails_costs_no_other(
    tmp_path: Path, server: Server, sendmail: Sendmail, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is logged without the URL; the next message is tried again."""
    sendmail.is_like("exit 75")
    urls = f"mailto:me@site mailto:not%20one {server.url} nobody-knows-this://secret"
    async with _Supervisor(tmp_path, urls, "interrupted") as run:
        run.keep()
        run.keep(**_OOM)
        await run.settled()
    assert len(server.got) == 2
    said = capsys.readouterr().out
    assert "refused the mail (exit 75)" in said
    assert "is no mail address" in said
    assert "secret" not in said


async def test_a_way_that_hangs_gets_no_second_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or a thread would hang for each."""
    release = threading.Event()
    calls: list[Message] = []

    class Hanging:
        def send(self, message: Message) -> None:
            calls.append(message)
            release.wait(60)

    monkeypatch.setattr(module, "_SEND_S", 0.1)
    async with _Supervisor(tmp_path, "") as run:
        run.teller._ways["x:"] = module._Way("x:", lambda _: Hanging())
        for number in range(4):
            run.keep(**{**_OOM, "fingerprint": str(number)}, incident=number)
        await run.settled()
        assert len(calls) == 1
        release.set()


async def test_a_plugin_that_breaks_costs_its_message_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever it raises, also while it is made."""

    def broken(_url: str) -> Any:
        raise ZeroDivisionError("token-123")

    async with _Supervisor(tmp_path, "") as run:
        run.teller._ways["x:"] = module._Way("x:", broken)
        run.keep(**_OOM)
        await run.settled()
    said = capsys.readouterr().out
    assert "ZeroDivisionError" in said
    assert "token-123" not in said


async def test_a_burst_is_bounded(tmp_path: Path, server: Server) -> None:
    """What finds no room to wait is dropped, and few are sent of the rest."""
    async with _Supervisor(tmp_path, server.url, "all") as run:
        for number in range(500):
            run.keep(fingerprint=str(number), incident=number)
        assert run.teller._queue.qsize() <= 16
        await run.settled()
    assert len(server.got) == 7


async def test_what_breaks_inside_is_logged_and_no_more(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the hands that carry out orders nor the task notice it."""

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    async with _Supervisor(tmp_path, server.url) as run:
        with monkeypatch.context() as patch:
            patch.setattr(module, "of_record", broken)
            run.keep(**_OOM)
        with monkeypatch.context() as patch:
            patch.setattr(module, "passed", broken)
            run.keep(**_OOM)
            await run.settled()
        run.keep(**_OOM)
        await run.settled()
    assert len(server.got) == 1
