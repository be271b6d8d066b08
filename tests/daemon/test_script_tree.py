"""The batch script's tree, on real processes: frozen while its tasks end, then gone."""

import psutil

from supervisor.daemon.script_tree import ScriptTree
from supervisor.daemon.until import until
from tests.daemon.scripts import WAIT_S, Scripts, is_frozen, is_gone

_STEP = "(sleep 600; echo > side) & ./srun launched\necho > next\nsleep 600\n"
_DEAF = "trap '' TERM\n./srun launched\nsleep 600\n"


async def _family(script: psutil.Process, children: int) -> dict[str, psutil.Process]:
    """The script and its descendants by name."""
    assert await until(lambda: len(script.children(recursive=True)) >= children, deadline_s=WAIT_S)
    return {process.name(): process for process in script.children(recursive=True)} | {"script": script}


async def test_all_but_launchers_are_frozen(scripts: Scripts) -> None:
    """The script and what it left in the background stand still; srun must see its tasks end."""
    family = await _family(await scripts.start(_STEP), 3)
    ScriptTree(family["script"].pid).freeze()
    assert await until(lambda: is_frozen(family["script"]) and is_frozen(family["sleep"]), deadline_s=WAIT_S)
    assert not is_frozen(family["srun"])


async def test_a_frozen_script_never_runs_its_next_line(scripts: Scripts) -> None:
    """Its step ends, as by a stop: TERM finds the script before it can go on."""
    family = await _family(await scripts.start(_STEP), 3)
    tree = ScriptTree(family["script"].pid)
    tree.freeze()
    family["srun"].kill()
    await tree.launchers_gone(WAIT_S)
    assert is_gone(family["srun"])
    assert not is_gone(family["script"])
    tree.thaw_and_terminate()
    await tree.end(WAIT_S)
    assert all(is_gone(process) for process in family.values())
    assert not scripts.has("next")
    assert not scripts.has("side")


async def test_a_launcher_that_stays_is_killed(scripts: Scripts) -> None:
    """An srun whose node died waits for it; nobody waits for the srun."""
    family = await _family(await scripts.start(_STEP), 3)
    tree = ScriptTree(family["script"].pid)
    tree.freeze()
    await tree.launchers_gone(0.1)
    assert not is_gone(family["srun"])
    tree.thaw_and_terminate()
    await tree.end(WAIT_S)
    assert all(is_gone(process) for process in family.values())


async def test_a_script_deaf_to_term_is_killed_after_the_grace(scripts: Scripts) -> None:
    """Whatever is left after the grace gets KILL."""
    family = await _family(await scripts.start(_DEAF), 1)
    tree = ScriptTree(family["script"].pid)
    tree.freeze()
    tree.thaw_and_terminate()
    assert await until(lambda: is_gone(family["srun"]), deadline_s=WAIT_S)
    assert not is_gone(family["script"])
    await tree.end(0.2)
    assert await until(lambda: is_gone(family["script"]), deadline_s=WAIT_S)


async def test_a_child_whose_parent_has_ended_meanwhile_is_not_forgotten(scripts: Scripts) -> None:
    """What was frozen is thawed and ended although the script that started it is gone."""
    family = await _family(await scripts.start(_STEP), 3)
    tree = ScriptTree(family["script"].pid)
    tree.freeze()
    family["script"].kill()
    assert await until(lambda: is_gone(family["script"]), deadline_s=WAIT_S)
    tree.thaw_and_terminate()
    assert await until(lambda: is_gone(family["sleep"]), deadline_s=WAIT_S)
    assert not scripts.has("side")


async def test_without_a_script_there_is_nothing_to_do() -> None:
    """Pid 0: none lives."""
    tree = ScriptTree(0)
    tree.freeze()
    tree.thaw_and_terminate()
    await tree.end(0.0)
