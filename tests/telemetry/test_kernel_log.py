"""Lines of the kernel's log."""

import os
from pathlib import Path

import pytest

from supervisor.telemetry.kernel_log import lines, parse


def test_a_line_of_the_device_has_its_number_and_text() -> None:
    """A semicolon in the text belongs to it."""
    line = parse(b"4,1234,99887766,-;NVRM: Xid (PCI:0000:3b:00): 79, a; b")
    assert line is not None
    assert (line.number, line.text) == (1234, "NVRM: Xid (PCI:0000:3b:00): 79, a; b")


@pytest.mark.parametrize(
    "line",
    [
        b"12,5,1,-;NVRM: Xid (PCI:0000:3b:00): 79",
        b" SUBSYSTEM=pci",
        b"",
        b"x,5,1,-;text",
        b"4,y,1,-;text",
        b"no semicolon",
    ],
)
def test_what_is_not_the_kernels_own_word_is_left_out(line: bytes) -> None:
    """A program may write into the log, but with another facility; and a device's properties are no message."""
    assert parse(line) is None


def test_a_file_is_read_whole_whatever_its_length(tmp_path: Path) -> None:
    """Pieces of it end in the middle of lines; a last line without its end is not there yet."""
    text = "".join(f"6,{number},1,-;line {number}\n" for number in range(2000)) + "6,2000,1,-;torn"
    (tmp_path / "log").write_text(text)
    found = list(lines(str(tmp_path / "log")))
    assert [line.number for line in found] == list(range(2000))


def test_a_log_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """And not a silent kernel."""
    with pytest.raises(FileNotFoundError):
        list(lines(str(tmp_path / "none")))


@pytest.mark.skipif(not os.access("/dev/kmsg", os.R_OK), reason="the kernel's log is closed to this user")
def test_the_real_log_is_read_to_its_end_without_waiting() -> None:
    """It does not wait for the next message, and numbers grow."""
    numbers = [line.number for line in lines("/dev/kmsg")]
    assert numbers == sorted(numbers)
