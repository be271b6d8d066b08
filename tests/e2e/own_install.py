"""An installation of supervise that a test may break: a copy of the package in a Python environment of its own."""

import shutil
import sys
import sysconfig
from pathlib import Path

from product.venv import CHECKOUT

_COMMAND = """\
#!{python}
import sys
from supervisor.cli.main import main
sys.exit(main())
"""


def own_install(folder: Path) -> Path:
    """Its Python. What the package imports of others is that of the Python which runs the tests."""
    home = folder / "venv"
    packages = home / f"lib/python3.{sys.version_info.minor}/site-packages"
    packages.mkdir(parents=True)
    (home / "bin").mkdir()
    base = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"
    (home / "bin/python").symlink_to(base)
    (home / "pyvenv.cfg").write_text(f"home = {base.parent}\ninclude-system-site-packages = false\n")
    shutil.copytree(CHECKOUT / "supervisor", packages / "supervisor", ignore=shutil.ignore_patterns("__pycache__"))
    (packages / "others.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    command = home / "bin/supervise"
    command.write_text(_COMMAND.format(python=home / "bin/python"))
    command.chmod(0o755)
    return home / "bin/python"


def upgrade(python: Path) -> None:
    """In place, to a version that cannot even begin: whatever loads it fails, and says so."""
    (package,) = python.parents[1].glob("lib/*/site-packages/supervisor")
    shutil.rmtree(package)
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('another version of supervise was loaded')\n")
