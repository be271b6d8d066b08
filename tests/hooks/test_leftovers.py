"""What a job leaves behind: processes, GPU memory, full filesystems."""

import os
from pathlib import Path

import pytest

from supervisor.hooks import host
from supervisor.hooks.host import Process, Strays, biggest_owner, fullness, processes, strays_of
from supervisor.hooks.job import Job
from supervisor.hooks.leftovers import leftovers, of_leftovers, of_places
from supervisor.hooks.settings import HookSettings
from supervisor.model.node import FullPlace, Leftovers, StrayProcess
from supervisor.telemetry.gpu.state import GpuProcess
from tests.hooks.facts import JOB, gpu, reading

_UID = 20001
_SITE = HookSettings()
_INIT = Process(pid=1, parent=0, uid=0, name="systemd", state="S")
_STEP = Process(pid=50, parent=1, uid=0, name="slurmstepd", state="S")


def _process(pid: int, parent: int = 1, uid: int = _UID, name: str = "python3", state: str = "S") -> Process:
    return Process(pid=pid, parent=parent, uid=uid, name=name, state=state)


def test_processes_of_the_user_that_live_on_are_told() -> None:
    """By pid and by the name that they give themselves; zombies and other users' are not meant."""
    everything = [
        _INIT,
        _process(60),
        _process(61, state="Z"),
        _process(62, uid=20002),
        _process(63, 60, name="a\x1b[1m"),
    ]
    found = strays_of(_UID, 7, everything, {})
    assert [(each.pid, each.name) for each in found.stray] == [(60, "python3"), (63, "a?[1m")]
    assert found.count == 2


def test_where_the_user_has_another_job_nobody_is_accused() -> None:
    """A process below another job's slurmstepd shows that there is one; all its others may belong to it as well."""
    everything = [_INIT, _STEP, _process(60, 50), _process(61)]
    other = strays_of(_UID, 7, everything, {50: "slurmstepd: [9.batch]\0"})
    assert (other.has_other_job, other.stray) == (True, ())
    same = strays_of(_UID, 7, everything, {50: "slurmstepd: [7.batch]\0"})
    assert (same.has_other_job, same.count) == (False, 2)


def test_another_users_job_does_not_hide_strays() -> None:
    """Its slurmstepd is no ancestor of them."""
    everything = [_INIT, _STEP, _process(60, 50, uid=20002), _process(61)]
    assert strays_of(_UID, 7, everything, {50: "slurmstepd: [9.0]"}).count == 1


def test_a_users_own_service_manager_is_none() -> None:
    """It outlives every session where lingering is on."""
    everything = [_INIT, _process(60, name="systemd"), _process(61, 60, name="(sd-pam)"), _process(62)]
    assert [each.pid for each in strays_of(_UID, 7, everything, {}).stray] == [62]


def test_many_strays_are_counted_and_some_told() -> None:
    """A record stays small whatever a user leaves behind."""
    found = strays_of(_UID, 7, [_process(pid) for pid in range(100, 1100)], {})
    assert (len(found.stray), found.count) == (20, 1000)


def test_parents_in_a_circle_do_not_hold_it_up() -> None:
    """Pids are used again while /proc is read."""
    assert strays_of(_UID, 7, [_process(60, 61), _process(61, 60)], {50: "slurmstepd: [9.0]"}).count == 2


def test_proc_is_read_by_the_real_uid() -> None:
    """This very process is found, with its parent."""
    mine = next(each for each in processes() if each.pid == os.getpid())
    assert (mine.uid, mine.parent, mine.state) == (os.getuid(), os.getppid(), "R")


def test_a_process_that_ends_meanwhile_is_left_out(tmp_path: Path) -> None:
    """So is a file that is no process's."""
    (tmp_path / "12").mkdir()
    (tmp_path / "13").mkdir()
    (tmp_path / "13" / "status").write_text("Name:\tx\nState:\tS (sleeping)\nPPid:\t1\nUid:\t5\t5\t5\t5\n")
    (tmp_path / "14").mkdir()
    (tmp_path / "14" / "status").write_text("half")
    assert [each.pid for each in processes(str(tmp_path))] == [13]


def test_a_slurmstepd_of_a_user_is_none(tmp_path: Path) -> None:
    """Anybody may call a process so, to hide others behind it."""
    for pid, uid, name, parent in ((50, _UID, "slurmstepd", 1), (60, _UID, "python3", 50)):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "cmdline").write_text("slurmstepd: [9.batch]")
        (tmp_path / str(pid) / "status").write_text(f"Name:\t{name}\nState:\tS\nPPid:\t{parent}\nUid:\t{uid}\n")
    assert host.read_strays(_UID, 7, str(tmp_path)).count == 2


def test_memory_that_a_process_holds_is_told_with_who_it_is() -> None:
    """On a GPU of the job; one that is nobody's of this job is another job's."""
    held = (GpuProcess(pid=77, used_mib=900),)
    now = reading(gpu(0, processes=held), gpu(1), gpu(2, processes=held), holders={"77": 20002}, strays=Strays())
    found = leftovers(now, None, JOB, _SITE).gpu_memory
    assert found is not None
    assert [(each.gpu, each.pid, each.uid, each.mib) for each in found] == [("GPU-0", 77, 20002, 900)]


def test_memory_of_the_users_other_job_is_not_left_behind() -> None:
    """Nobody can tell its processes apart then."""
    held = (GpuProcess(pid=77, used_mib=900),)
    now = reading(gpu(0, processes=held), holders={"77": _UID}, strays=Strays(has_other_job=True))
    assert leftovers(now, None, JOB, _SITE).gpu_memory == ()


def test_where_slurm_does_not_say_whose_a_gpu_is_only_the_user_counts() -> None:
    """An old Slurm, or a job that asked for none."""
    held = (GpuProcess(pid=77),)
    job = Job(node="n1", job_id=7, uid=_UID)
    for uid, count in ((_UID, 1), (20002, 0)):
        now = reading(gpu(0, processes=held), holders={"77": uid}, strays=Strays())
        assert len(leftovers(now, None, job, _SITE).gpu_memory or ()) == count


def test_memory_that_nobody_holds_is_measured_against_before() -> None:
    """What the driver itself needs is in use without any job."""
    before = reading(gpu(0, mem_used_mib=500), gpu(1, mem_used_mib=None))
    now = reading(gpu(0, mem_used_mib=9000), gpu(1, mem_used_mib=9000))
    found = leftovers(now, before, JOB, _SITE).gpu_memory
    assert found is not None
    assert [(each.gpu, each.mib, each.pid) for each in found] == [("GPU-0", 8500, 0)]
    assert leftovers(now, None, JOB, _SITE).gpu_memory == ()


def test_what_was_not_read_is_none_and_not_nothing() -> None:
    """A reader can tell "clean" from "not looked"."""
    left = leftovers(reading(), None, JOB, _SITE)
    assert (left.stray, left.gpu_memory, left.full) == (None, None, None)


def test_a_process_that_cannot_be_killed_is_more_than_a_stray() -> None:
    """It holds its devices and files until the node is booted."""
    stuck = Leftovers(stray=(StrayProcess(pid=5, name="python3", state="D"),), stray_count=1)
    stray = Leftovers(stray=(StrayProcess(pid=5, name="python3", state="S"),), stray_count=3)
    assert [(each.level, each.rule) for each in of_leftovers(stuck)] == [("suspect", "stuck_process")]
    assert [(each.level, each.rule) for each in of_leftovers(stray)] == [("watch", "stray_process")]


def test_a_full_place_names_who_fills_it(tmp_path: Path) -> None:
    """By the sizes at its top; links are not followed, folders not entered."""
    (tmp_path / "big").write_bytes(b"x" * 3_000_000)
    (tmp_path / "link").symlink_to("/proc/kcore")
    place = biggest_owner(FullPlace(path=str(tmp_path), used_share=0.99))
    assert (place.owner_uid, place.owner_mb) == (os.geteuid(), 3)
    (found,) = of_places((place,), HookSettings(shm=str(tmp_path)))
    assert (found.level, found.rule) == ("suspect", "shm_full")
    assert f"99% full, 3 MB of it of uid {os.geteuid()}" in found.text


def test_a_place_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """And not an empty one."""
    with pytest.raises(FileNotFoundError):
        fullness(str(tmp_path / "none"))
    assert 0 <= fullness("/proc").used_share <= 1
