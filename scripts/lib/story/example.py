"""The numpy example, laid into a user's folder as he would copy it."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from product.venv import CHECKOUT
from testbed.api import Testbed

EXAMPLE = CHECKOUT / "docs" / "examples" / "numpy_ddp"
FILES = ("train.py", "allreduce.py", "train.sbatch")


def user_folder(bed: Testbed, name: str) -> Path:
    """A new folder of alice's in her shared home."""
    folder = bed.home / name
    bed.run(["mkdir", "-p", str(folder)])
    return folder


def lay_out(folder: Path) -> None:
    """Copy the example's files into the folder, readable by all."""
    for name in FILES:
        shutil.copyfile(EXAMPLE / name, folder / name)
        (folder / name).chmod(0o755)


def supervise(python: Path, options: Sequence[str], arguments: Sequence[str]) -> list[str]:
    """`supervise [options] sbatch ARGUMENTS…` as installed beside this Python."""
    return [str(python.with_name("supervise")), *options, "sbatch", *arguments]
