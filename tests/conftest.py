"""Marks, retries, signals, examples and the real cluster for all tests."""

import os
import signal
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings

_RETRIES = 2
"""On the cluster: real time, two cores and nine daemons."""
_PROCESS_RETRIES = 1
"""Where real processes, sockets and brokers are started. A test of pure code is never tried again."""
_PROCESSES = frozenset(
    {"agent", "beat", "bus", "cli", "daemon", "examples", "keeper", "packaging", "runtime", "slurm_runtime"}
)

# Whoever starts the tests in the background (`&` in a script, nohup) lets them inherit these as ignored, and so would
# every process that a test starts to signal it.
signal.signal(signal.SIGINT, signal.default_int_handler)
for _number in (signal.SIGQUIT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.SIG_DFL)

# How long an example takes is the machine's affair: what has to be quick is measured by a test of its own.
settings.register_profile("all", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("few", settings.get_profile("all"), max_examples=25)
settings.load_profile("all")

# Where rich is installed, structlog's own choice shows the locals of every frame: half a minute for a deep traceback.
structlog.configure(
    processors=[
        *structlog.get_config()["processors"][:-1],
        structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
    ]
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give tests their retries, and skip those that need a cluster where there cannot be one."""
    can_run = os.geteuid() == 0 and Path("/etc/debian_version").exists()
    for item in items:
        is_on_cluster = item.get_closest_marker("cluster") is not None
        if is_on_cluster:
            item.add_marker(pytest.mark.flaky(reruns=_RETRIES, reruns_delay=1))
        elif item.path.parent.name in _PROCESSES or item.get_closest_marker("browser") is not None:
            item.add_marker(pytest.mark.flaky(reruns=_PROCESS_RETRIES))
        if is_on_cluster and not can_run:
            item.add_marker(pytest.mark.skip(reason="needs root on Debian to bring up a real Slurm"))


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The folder of this repository."""
    return Path(__file__).resolve().parents[1]
