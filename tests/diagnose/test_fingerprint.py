"""What makes two failures the same: the place, and nothing that chance gives."""

import pytest

from supervisor.diagnose.bundle import Bundle, Log
from supervisor.diagnose.engine import diagnose
from supervisor.diagnose.judge.against import place_of, without_chance
from supervisor.model.ids import NodeName

_NODES = (NodeName("node001"), NodeName("node007"))
_TRACE = """\
[rank{rank}]: Traceback (most recent call last):
[rank{rank}]:   File "{home}/train.py", line {line}, in {function}
[rank{rank}]:     raise
[rank{rank}]: {exception}"""


def _fingerprint(*lines: str) -> str:
    return diagnose(Bundle(logs=(Log(name="job.log", lines=lines),), nodes=_NODES)).fingerprint


def _trace(
    exception: str, *, rank: int = 3, line: int = 388, function: str = "collate", home: str = "/home/u"
) -> list[str]:
    return _TRACE.format(exception=exception, rank=rank, line=line, function=function, home=home).splitlines()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("key 0x7f00aa12 is gone", "key 0x55d2e9c0 is gone"),
        ("pid 4711 has died", "pid 12 has died"),
        ("at 2026-12-01 04:33:12,123 it failed", "at 2027-01-31 23:00:00 it failed"),
        ("on Tue Dec  1 04:33:12 2026", "on Fri Jan 15 11:00:01 2027"),
        ("node001 refused", "node007 refused"),
        ("rank 3 of 8", "rank 7 of 8"),
        ("ranks 3, 5, 6 are missing", "ranks 1, 2 are missing"),
        ("10.0.0.7:29500 refused", "192.168.17.3:41233 refused"),
        ("[fe80::1ff:fe23:4567]:29500 refused", "[fe80::aa:bbcc:1]:301 refused"),
        ("port aa:bb:cc:00:11:22 down", "port 00:11:22:aa:bb:cf down"),
        ("device 0000:9d:00.0 failed", "device 0000:1a:00.0 failed"),
        ("object 4a1b2c3d-aaaa-bbbb-cccc-abcdefabcdef", "object 11111111-2222-3333-4444-555555555555"),
        ("cannot open /tmp/tmpk2_x9/a.sock", "cannot open /tmp/pymp-aa81bz/listener"),
        ("cannot open /dev/shm/torch_991_17", "cannot open /dev/shm/sem.mp-x81"),
        ("commit 4a1b2c3f is old", "commit 99f00e1a is old"),
        ("took 3.5e-05 s", "took 12 s"),
        ("tried 2.50 GiB", "tried 900 MiB"),
    ],
)
def test_chance_makes_no_difference(one: str, other: str) -> None:
    """Addresses, pids, times, hosts, ranks, ports, devices, ids, temporary names, sizes."""
    assert without_chance(one, _NODES) == without_chance(other, _NODES)


def test_other_words_make_a_difference() -> None:
    """Two different failures stay two; a C++ name is no address, and a node's name no part of another's."""
    assert without_chance("std::bad_alloc") == "std::bad_alloc"
    assert without_chance("cannot open /data/a") != without_chance("cannot open /data/b")
    assert without_chance("node0012 refused", _NODES) == "node# refused"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/ck/step_100/rank_3.pt", "/ck/step_100/rank_11.pt"),
        ("/local/node001/shard-7.tar", "/local/node007/shard-7.tar"),
        ("/tmp/tmpab12cd/batch.py:3:run", "/tmp/tmpzz99xy/batch.py:3:run"),
        ("/run/job_811/a", "/run/job_812/a"),
        ("/ck/.4a1b2c3d-aaaa-bbbb-cccc-abcdefabcdef.part", "/ck/.11111111-2222-3333-4444-555555555555.part"),
    ],
)
def test_a_place_is_the_same_for_another_rank_host_or_job(one: str, other: str) -> None:
    """What is the rank's, the host's or the job's in a path is chance."""
    assert place_of(one, _NODES) == place_of(other, _NODES)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/data/shard-00017.tar", "/data/shard-00018.tar"),
        ("/ck/step_51200/model.pt", "/ck/step_51300/model.pt"),
        ("/blobs/9f86d081884c7d65", "/blobs/60303ae22b998861"),
        ("train.py:388:collate", "train.py:389:collate"),
    ],
)
def test_places_that_differ(one: str, other: str) -> None:
    """Shards, steps, lines and names made of a content's hash tell places apart."""
    assert place_of(one, _NODES) != place_of(other, _NODES)


def test_an_exception_is_the_same_from_any_rank_and_folder() -> None:
    """Rank, home and the values in its text do not count; line and function do."""
    first = _fingerprint(*_trace("KeyError: 'loss_mask'"))
    assert first == _fingerprint(*_trace("KeyError: 'labels'", rank=7, home="/scratch/v"))
    assert first != _fingerprint(*_trace("KeyError: 'loss_mask'", line=390))
    assert first != _fingerprint(*_trace("KeyError: 'loss_mask'", function="forward"))
    assert first != _fingerprint(*_trace("ZeroDivisionError: division by zero"))


def test_a_missing_file_is_another_for_each_file() -> None:
    """Cause, frame and file: another file is another failure."""
    text = "FileNotFoundError: [Errno 2] No such file or directory: '{}'"
    first = _fingerprint(*_trace(text.format("/data/shard-1.tar")))
    assert first == _fingerprint(*_trace(text.format("/data/shard-1.tar"), rank=7))
    assert first != _fingerprint(*_trace(text.format("/data/shard-2.tar")))


def test_how_a_task_ended_does_not_depend_on_the_order_of_lines() -> None:
    """Of tasks that srun tells of, victims first or last, one that failed by itself counts."""
    own = "srun: error: node001: task 1: Exited with exit code 7"
    killed = "srun: error: node007: task 3: Killed"
    assert _fingerprint(own, killed) == _fingerprint(killed, own) == "unattributed|exit 7"
