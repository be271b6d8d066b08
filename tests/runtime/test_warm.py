"""What runs from /tmp for weeks is not taken for forgotten."""

import asyncio
import os
from pathlib import Path

from supervisor.runtime import boot
from supervisor.runtime.warm import keep_warm, touch


def _made(root: Path) -> Path:
    path = root / "package/module.py"
    path.parent.mkdir(parents=True)
    path.write_text("x = 1\n")
    os.utime(path, (1000, 2000))
    return path


def test_files_look_as_if_they_had_just_been_read(tmp_path: Path) -> None:
    """When they were written stays, which their compiled forms are believed by."""
    path = _made(tmp_path)
    touch(tmp_path, lambda: 5000.0)
    assert (path.stat().st_atime, path.stat().st_mtime) == (5000, 2000)


async def test_it_goes_on_for_as_long_as_the_process_does(tmp_path: Path) -> None:
    """Again and again."""
    path = _made(tmp_path / f"{boot.PREFIX}17-abc")
    task = asyncio.create_task(keep_warm(tmp_path / f"{boot.PREFIX}17-abc", every_s=0.01))
    for _ in range(2):
        os.utime(path, (1000, 2000))
        while path.stat().st_atime == 1000:  # noqa: ASYNC110  # a file tells nobody
            await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait({task})


async def test_an_installed_package_is_left_alone(tmp_path: Path) -> None:
    """It is no concern of ours who reads that."""
    path = _made(tmp_path / "site-packages")
    await keep_warm(tmp_path / "site-packages")
    assert path.stat().st_atime == 1000
