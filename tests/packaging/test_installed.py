"""The default install: light, quick to start, whole."""

import sys
import time

from supervisor.version import VERSION
from tests.packaging.environment import Environment

_MB = 60
_HELP_S = 0.5
_TRIES = 5
_HELP = """
import sys
before = set(sys.modules)
from supervisor.cli.main import cli
cli(["--help"], standalone_mode=False)
print(*set(sys.modules) - before)
"""
_EVERY_MODULE = """
import importlib, pkgutil, supervisor
for module in pkgutil.walk_packages(supervisor.__path__, "supervisor."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as exc:
            print(exc.name.partition(".")[0])
"""


def test_the_default_install_is_light(installed: Environment) -> None:
    """Everything that pip puts on the shared filesystem stays within the bar."""
    size = sum(path.stat().st_blocks * 512 for path in installed.packages.rglob("*"))
    assert size <= _MB * 1024**2


def test_help_is_there_at_once(installed: Environment) -> None:
    """The quickest of a few tries: how long the program needs, not how busy the machine is."""
    assert min(_help_s(installed) for _ in range(_TRIES)) <= _HELP_S


def _help_s(installed: Environment) -> float:
    began = time.monotonic()
    assert "sbatch" in installed.says("supervise", "--help")
    return time.monotonic() - began


def test_help_imports_click_alone(installed: Environment) -> None:
    """What a command does not need is not imported: on a cold shared filesystem each module costs."""
    names = installed.says("python", "-I", "-c", _HELP).splitlines()[-1].split()
    foreign = {name.partition(".")[0] for name in names} - sys.stdlib_module_names
    assert foreign == {"supervisor", "click"}
    assert not {"asyncio", "ssl", "subprocess", "tomllib"} & set(names)


def test_the_command_knows_its_version(installed: Environment) -> None:
    """`supervise --version`."""
    assert installed.says("supervise", "--version") == f"supervise {VERSION}\n"


def test_ranks_can_import_the_beat(installed: Environment) -> None:
    """A beat in a program that nobody supervises is harmless."""
    assert installed.says("python", "-c", "import supervise_beat; supervise_beat.beat(1); print('ok')") == "ok\n"


def test_every_module_can_be_imported(installed: Environment) -> None:
    """Without an extra only the module that is for that extra cannot."""
    missing = set(installed.says("python", "-I", "-c", _EVERY_MODULE).split())
    assert missing <= {"amqtt", "pyslurm"}
