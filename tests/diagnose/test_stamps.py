"""Times in log lines: every format that programs of a cluster write, completed by what the line does not say."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.diagnose.scan.stamps import Stamp, stamp_of

_WHEN = datetime(2025, 11, 27, 3, 11, 9, tzinfo=UTC).timestamp()

_FULL = {
    "torch launcher": "[2025-11-27 03:11:09,123] torch.distributed.run: [WARNING] ***",
    "python logging": "2025-11-27 03:11:09,123 - root - INFO - step 1",
    "nccl": "[2025-11-27 03:11:09] node014:21840:22711 [0] misc/socket.cc:484 NCCL WARN socketProgress",
    "megatron": " [2025-11-27 03:11:09.123] iteration     1200/ 500000 | consumed samples: 1",
    "megatron with label": "15: [2025-11-27 03:11:09] iteration 1200",
    "torchtitan": "[rank0]:[titan] 2025-11-27 03:11:09,123 - root - INFO - step:  1  loss:  8.2",
    "torchtitan in colour": "[rank3]:\x1b[38;2;180;60;0m[titan] 2025-11-27 03:11:09,123 - root\x1b[0m",
    "lightning": "2025-11-27T03:11:09.123 INFO lightning.pytorch: Epoch 3",
    "nemo": "[NeMo W 2025-11-27 03:11:09 nemo_logging:349] warning",
    "loguru": "2025-11-27 03:11:09.123 | ERROR    | __main__:train:118 - boom",
    "tensorflow": "2025-11-27 03:11:09.123456: E tensorflow/stream_executor/cuda/cuda_driver.cc:328]",
    "horovod": "[1,3]<stderr>:[2025-11-27 03:11:09.123456: W /tmp/horovod/common/stall_inspector.cc:107]",
    "ray": "(worker, rank=1, pid=2) 2025-11-27 03:11:09,123 ERROR worker.py:409 --",
    "iso syslog": "2025-11-27T03:11:09.123456+00:00 node014 kernel: NVRM: Xid (PCI:0000:1b:00): 79",
    "iso syslog elsewhere": "2025-11-27T03:11:09.123456-0800 node014 kernel: x",
    "journal": "2025-11-27T03:11:09Z node014 systemd[1]: Stopping",
    "dmesg -T": "[Thu Nov 27 03:11:09 2025] NVRM: Xid (PCI:0000:1b:00): 79, pid=1",
    "date": "Thu Nov 27 03:11:09 UTC 2025",
    "date with one digit": "job began Thu Nov 27 3:11:09 2025",
    "slurmstepd 22.05": "slurmstepd: error: *** STEP 123.0 ON node014 CANCELLED AT 2025-11-27T03:11:09 ***",
    "slurmstepd 24.11": "slurmstepd: error: *** JOB 9 ON n1 CANCELLED AT 2025-11-27T03:11:09 DUE TO TIME LIMIT ***",
    "slurmstepd 26.05": "[2025-11-27T03:11:09.123] error: *** STEP 9.0 ON n1 CANCELLED DUE TO PREEMPTION ***",
    "lsf": "Terminated at Thu Nov 27 03:11:09 2025",
    "lsf results": "Results reported at Thu Nov 27 03:11:09 2025",
    "pbs": "11/27/2025 03:11:09;0008;pbs_mom;Job;123.pbs01;job killed",
    "pbs epilogue": "Job ended on Thu Nov 27 03:11:09 EST 2025",
    "flux": "2025-11-27T03:11:09.123456Z broker.err[0]: job killed",
    "apache": '127.0.0.1 - - [27/Nov/2025:03:11:09 +0000] "GET /"',
    "fluent": "Nov 27 2025 03:11:09 solver began",
    "slashes": "2025/11/27 03:11:09 INFO mlflow: run",
    "wandb folder": "2025-11-27_03:11:09 saved",
    "vasp": " executed on             LinuxIFC date 2025.11.27  03:11:09",
}
_NO_YEAR = {
    "torch": "[rank0]:[E1127 03:11:09.039840104 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught",
    "torch without label": "E1127 03:11:09.123000 139 torch/distributed/elastic/multiprocessing/api.py:869] failed",
    "torch in brackets": "[W1127 03:11:09.110002031 socket.cpp:464] [c10d]",
    "glog": "I1127 03:11:09.123456 140 xla_bridge.py:889] Unable",
    "syslog": "Nov 27 03:11:09 node014 kernel: NVRM: Xid (PCI:0000:1b:00): 79",
    "detectron2": "[11/27 03:11:09 d2.utils.events]:  eta: 1:00:00  iter: 19",
}
_NO_DATE = {
    "bracket": "[03:11:09] step 3",
    "at the start": "03:11:09 INFO step 3",
    "spark": "25/11/27 03:11:09 ERROR Executor: x",
    "with a bar": "INFO 03:11:09 | step 3",
}


@pytest.mark.parametrize("kind", _FULL)
def test_whole_times(kind: str) -> None:
    """Date, year and clock, whatever their order; the zone is not looked at, for most lines do not tell theirs."""
    stamp = stamp_of(_FULL[kind])
    assert stamp is not None
    assert (int(stamp.seconds), stamp.lacks) == (_WHEN, "")


@pytest.mark.parametrize("kind", _NO_YEAR)
def test_times_without_a_year(kind: str) -> None:
    """The year is that which brings the time next to others of the bundle."""
    stamp = stamp_of(_NO_YEAR[kind])
    assert stamp is not None
    assert stamp.lacks == "year"
    assert int(stamp.near(_WHEN + 3600)) == _WHEN


@pytest.mark.parametrize("kind", _NO_DATE)
def test_times_without_a_date(kind: str) -> None:
    """So is the day."""
    stamp = stamp_of(_NO_DATE[kind])
    assert stamp is not None
    assert stamp.lacks == "date"
    assert int(stamp.near(_WHEN + 3600)) == _WHEN


@pytest.mark.parametrize(
    "line",
    [
        "",
        "[ 1234.567890] NVRM: Xid (PCI:0000:1b:00): 79, pid=1, GPU has fallen off the bus",
        "[123456.789012] mlx5_core 0000:10:00.0: Health issue observed",
        "[Nov27 03:11] oom-kill",
        "pci 0000:41:00.0: AER",
        "Epoch 3:  12%|#2        | 120/1000 [02:10<15:55,  1.09s/it, loss=2.1]",
        "100%|####| 9/9 [1:02:03<2:00:00,  1.2s/it]",
        "I0000 00:00:1764213069.123456   140 cuda_executor.cc:1015] x",
        "mac 00:1b:21:3c:9d:f8",
        "fe80::1:22:33",
        "version 12:99:99",
        "at 24:00:00 sharp",
        "at 10:60:00 sharp",
        "x" * 200 + " 2025-11-27 03:11:09",
        "Timing for main: time 2025-08-17_18:21:42 on domain   2:    0.61180 elapsed seconds",
        "d01 wrfout_d01_2025-08-17_18:00:00 is written",
        "Begin timestep 2010-10-23_00:12:00",
        "atmosphere: model time 2021-01-01T00:30:00, step 12",
    ],
)
def test_what_is_no_time(line: str) -> None:
    """Seconds since boot, progress bars, addresses, impossible clocks, the time that a model computes."""
    assert stamp_of(line) is None


@pytest.mark.parametrize("date", ["2025-02-30", "2025-13-01", "2025-00-10", "2023-02-29", "2025-11-31", "2025-04-00"])
def test_an_impossible_date(date: str) -> None:
    """Of an impossible date only the clock counts, if anything."""
    for line in (f"{date} 03:11:09 x", f"[{date}T03:11:09.123] x"):
        stamp = stamp_of(line)
        assert stamp is None or stamp == (3 * 3600 + 11 * 60 + 9, "date")


def test_over_a_new_year() -> None:
    """Lines without a year of 31 December come before those of 1 January, whichever of them the reference is."""
    old, new = stamp_of("E1231 23:59:58.0 x"), stamp_of("E0101 00:00:03.0 x")
    assert old is not None
    assert new is not None
    for reference in (datetime(2026, 1, 1, 0, 1, tzinfo=UTC), datetime(2025, 12, 31, 23, 0, tzinfo=UTC)):
        assert new.near(reference.timestamp()) - old.near(reference.timestamp()) == 5


@pytest.mark.parametrize("year", [2024, 2028])
@pytest.mark.parametrize("away_days", [-3, 1, 200, 400])
def test_a_leap_day(year: int, away_days: int) -> None:
    """29 February without a year is that of a leap year, though the reference lies in another one."""
    stamp = stamp_of("Feb 29 12:00:00 n1 kernel: x")
    assert stamp is not None
    when = datetime(year, 2, 29, 12, tzinfo=UTC).timestamp()
    assert stamp.near(when + away_days * 86400) == when


def test_over_midnight() -> None:
    """A clock without a date belongs to the day that brings it next to the others."""
    stamp = stamp_of("[23:59:58] x")
    assert stamp is not None
    midnight = datetime(2025, 11, 28, tzinfo=UTC).timestamp()
    assert stamp.near(midnight + 60) == midnight - 2


@given(st.datetimes(datetime(1971, 1, 1), datetime(2090, 1, 1)), st.integers(-150, 150))  # noqa: DTZ001 - hypothesis wants it so
def test_the_year_is_found(when: datetime, days: int) -> None:
    """Any time, written without its year, is found again from any reference within five months."""
    when = when.replace(tzinfo=UTC, microsecond=0)
    stamp = stamp_of(f"{when:%b %d %H:%M:%S} node kernel: x")
    assert stamp is not None
    assert stamp.near(when.timestamp() + days * 86400) == when.timestamp()


@given(st.floats(allow_nan=False), st.sampled_from(["year", "date", ""]), st.floats(0, 86400 * 365))
def test_any_reference(reference: float, lacks: str, seconds: float) -> None:
    """A clock that is far off, as a file's time can be, raises nothing."""
    assert isinstance(Stamp(seconds, lacks).near(reference), float)  # type: ignore[arg-type]  # one of the three


@given(
    st.text(max_size=80) | st.from_regex(r"[IWEF]?\d{2,4}[-/ :]\d{1,2}[-/ :][A-Z]?\d{1,2}[T ,:]\d\d:\d\d:\d\d[.,]?\d*")
)
def test_any_line(line: str) -> None:
    """No line raises."""
    stamp = stamp_of(line)
    assert stamp is None or isinstance(stamp.near(_WHEN), float)
