"""One foreign command: deadline, bounds, environment, and what is left of it."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from supervisor.errors import NoSlurm, SlurmFailed, SlurmTimeout, SlurmTooMuch
from supervisor.slurm import process
from supervisor.slurm.process import Answer, CallCount, run, shielded


def _alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


async def _until(condition: Callable[[], object]) -> bool:
    """True as soon as the condition holds; fails after a generous time."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110  # another process makes it true, no event of ours can
            await asyncio.sleep(0.02)
    return True


async def _gone(pid: int) -> bool:
    """True when the process has ended."""
    return await _until(lambda: not _alive(pid))


def _line(file: Path) -> str:
    text = file.read_text() if file.exists() else ""
    return text.strip() if text.endswith("\n") else ""


async def _written(file: Path) -> int:
    """The process id that a command writes into the file."""
    await _until(lambda: _line(file))
    return int(_line(file))


async def test_arguments_are_passed_not_interpreted() -> None:
    """No shell reads the arguments: quotes, dollars and newlines arrive as they are."""
    odd = "a 'b' \"c\" $HOME `id`\n*"
    answer = await run(["printf", "%s", odd], deadline_s=30)
    assert answer.stdout == odd
    answer = await run(shielded(["printf", "%s", odd]), deadline_s=30)
    assert answer.stdout == odd


async def test_exit_code_and_both_streams_are_kept() -> None:
    """An answer holds exit code, stdout and stderr, whatever the code."""
    answer = await run(["sh", "-c", "echo out; echo err >&2; exit 3"], deadline_s=30)
    assert (answer.code, answer.stdout, answer.stderr) == (3, "out\n", "err\n")


async def test_c_locale_and_given_environment() -> None:
    """The command sees exactly the given environment, with LC_ALL=C on top."""
    answer = await run(["/usr/bin/env"], deadline_s=30, env={"A": "1", "LC_ALL": "de_DE"})
    assert sorted(answer.stdout.split()) == ["A=1", "LC_ALL=C"]


async def test_stdin_is_empty_or_what_is_fed() -> None:
    """A command that reads stdin gets its end at once, or the given bytes."""
    answer = await run(["cat"], deadline_s=30)
    assert answer.stdout == ""
    answer = await run(["cat"], deadline_s=30, feed=b"x" * 100_000)
    assert len(answer.stdout) == 100_000


async def test_working_folder(tmp_path: Path) -> None:
    """The command runs in the given folder."""
    answer = await run(["pwd"], deadline_s=30, cwd=tmp_path)
    assert answer.stdout.strip() == str(tmp_path)


@pytest.mark.parametrize("wrap", [list, shielded])
async def test_deadline_kills_the_whole_group(tmp_path: Path, wrap: type[list[str]]) -> None:
    """At the deadline the command and its children are killed and SlurmTimeout names the command."""
    script = 'sleep 600 & echo $! > "$1"; wait'
    file = tmp_path / "pid"
    argv = wrap(["sh", "-c", script, "sh", str(file)])
    # On a busy machine the shell may not come as far as its child within a second.
    for deadline_s in (1.0, 4.0, 16.0):
        with pytest.raises(SlurmTimeout, match="sh -c sleep 600"):
            await run(argv, deadline_s=deadline_s)
        if _line(file):
            break
    assert await _gone(int(_line(file)))


async def test_cancelled_caller_leaves_no_process(tmp_path: Path) -> None:
    """A cancelled question ends its command."""
    file = tmp_path / "pid"
    task = asyncio.create_task(run(["sh", "-c", 'echo $$ > "$1"; exec sleep 600', "sh", str(file)], deadline_s=600))
    pid = await _written(file)
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()
    assert await _gone(pid)


async def test_missing_program_is_no_slurm() -> None:
    """A program that is not there means that there is no Slurm, with and without the shield."""
    for argv in (["no-such-scontrol", "show"], shielded(["no-such-scontrol", "show"])):
        with pytest.raises(NoSlurm, match="no-such-scontrol is not on PATH"):
            await run(argv, deadline_s=30)


async def test_too_much_output_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More output than the limit is an error, never a silently cut answer; whoever wrote it is gone by then."""
    monkeypatch.setattr(process, "OUTPUT_LIMIT_BYTES", 1000)
    file = tmp_path / "pid"
    with pytest.raises(SlurmTooMuch, match="more than 1000 bytes"):
        await run(["sh", "-c", 'echo $$ > "$1"; exec yes', "sh", str(file)], deadline_s=30)
    assert not await asyncio.to_thread(Path(f"/proc/{_line(file)}").exists), "not even a zombie"


async def test_shielded_command_survives_term(tmp_path: Path) -> None:
    """A shielded command ignores the SIGTERM that Slurm sends to the whole batch step."""
    file, go = tmp_path / "pid", tmp_path / "go"
    script = 'echo $$ > "$1"; while ! [ -e "$2" ]; do sleep 0.05; done; echo done'
    argv = shielded(["sh", "-c", script, "sh", str(file), str(go)])
    task = asyncio.create_task(run(argv, deadline_s=60))
    os.killpg(await _written(file), signal.SIGTERM)
    go.touch()
    answer = await task
    assert (answer.code, answer.stdout) == (0, "done\n")


async def test_calls_are_counted_by_program() -> None:
    """Each call counts under its own program's name, failures too; the shield is no program."""
    count = CallCount()
    await run(["/bin/true"], deadline_s=30, count=count)
    await run(shielded(["false"]), deadline_s=30, count=count)
    with pytest.raises(NoSlurm):
        await run(["no-such-scontrol"], deadline_s=30, count=count)
    assert (count.by_program, count.total, count.failed) == ({"true": 1, "false": 1, "no-such-scontrol": 1}, 3, 2)


def test_checked_tells_the_commands_own_words() -> None:
    """A refusal names command, exit code and the words, which scontrol may print on either stream."""
    for stdout, stderr in (("", "Invalid node\n"), ("Invalid node\n", "")):
        answer = Answer(argv=("scontrol", "update"), code=1, stdout=stdout, stderr=stderr, took_s=0.1)
        with pytest.raises(SlurmFailed, match=r'scontrol update refused \(exit 1\) .*"Invalid node"') as caught:
            answer.checked()
        assert (caught.value.code, caught.value.stderr) == (1, "Invalid node\n")
