"""One look at this very machine, and at a kernel log that is a file."""

from pathlib import Path

import msgspec
import pytest

from supervisor.hooks import host, reading
from supervisor.hooks.reading import Marks, _kernel, read
from supervisor.hooks.settings import HookSettings
from tests.hooks.facts import JOB

_XID = "3,{number},1,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "kmsg"
    path.write_text("".join(_XID.format(number=number) for number in range(5, 10)))
    return path


def _marks(number: int, boot: str | None = None) -> Marks:
    return Marks(boot_id=host.boot_id() if boot is None else boot, kernel_number=number)


@pytest.mark.parametrize(
    ("marks", "count", "is_cut"),
    [
        (_marks(7), 2, False),
        (_marks(9), 0, False),
        (_marks(2), 5, True),
        (_marks(99, boot="another"), 5, True),
        (Marks(), 0, True),
        (_marks(-1), 0, True),
    ],
)
def test_the_log_is_read_after_the_mark(log: Path, marks: Marks, count: int, is_cut: bool) -> None:  # noqa: FBT001
    """All of this boot after a reboot; nothing where nobody knows what is old, and then that is said."""
    span = _kernel(str(log), marks)
    assert (sum(sign.count for sign in span.signs), span.last, span.is_cut) == (count, 9, is_cut)


def test_an_empty_log_has_no_number(log: Path) -> None:
    """A container's, say."""
    log.write_text("")
    assert _kernel(str(log), _marks(3)).last == -1


def test_a_look_tells_what_it_could_not_read(log: Path, tmp_path: Path) -> None:
    """And all the rest."""
    site = HookSettings(kernel_log=str(tmp_path / "none"), shm=str(tmp_path), tmp=str(tmp_path / "none2"))
    found = read(_marks(1), settings=site, job=JOB, deadline_s=30, with_strays=True)
    assert found.marks.boot_id == host.boot_id()
    assert found.kernel is None
    assert [place.path for place in found.places or ()] == [str(tmp_path)]
    assert found.strays is not None
    assert sorted(text.split(":")[0] for text in found.unread) == [str(tmp_path / "none2"), "kernel log"]


def test_a_reading_survives_its_way_to_disk(log: Path) -> None:
    """The epilog must find what the prolog saw."""
    site = HookSettings(kernel_log=str(log))
    found = read(Marks(), settings=site, job=JOB, deadline_s=30, with_strays=False)
    assert msgspec.json.decode(msgspec.json.encode(found), type=reading.Reading) == found
