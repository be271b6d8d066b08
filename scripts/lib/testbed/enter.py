"""Running a command on the login node or on a compute node, in place of this process."""

import os
import pwd
import signal
import sys
from collections.abc import Mapping, Sequence

from testbed import cluster, spaces
from testbed.errors import TestbedError

_USER_PATH = "/usr/local/bin:/usr/bin:/bin"
_FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_NOT_FOUND, _NOT_RUNNABLE = 127, 126
_KILLED = 128


def on_login(name: str, user: str, cwd: str | None, extra: Mapping[str, str], argv: Sequence[str]) -> int:
    """Become `argv` as `user` on the login node; returns an exit code only when that fails."""
    _, layout = cluster.load(name)
    spaces.enter(cluster.needed(layout, "login").pid, "mnt", "uts")
    try:
        account = pwd.getpwnam(user)
    except KeyError:
        raise TestbedError(f"no user {user!r} in testbed {name!r}; use alice, bob or root") from None
    os.initgroups(user, account.pw_gid)
    os.setgid(account.pw_gid)
    os.setuid(account.pw_uid)
    os.umask(0o022)
    _change_folder(cwd or account.pw_dir)
    environment = {
        "HOME": account.pw_dir,
        "USER": user,
        "LOGNAME": user,
        "SHELL": account.pw_shell,
        "PATH": spaces.ROOT_PATH if account.pw_uid == 0 else _USER_PATH,
        "SLURM_CONF": str(layout.slurm_conf),
        "LC_ALL": "C.UTF-8",
        **extra,
    }
    return _become(argv, environment)


def on_node(name: str, node: str, argv: Sequence[str]) -> int:
    """The exit code of `argv` run as root on a compute node; signals sent to this process reach it."""
    spec, layout = cluster.load(name)
    spec.number(node)
    spaces.enter(cluster.needed(layout, node).pid, "uts", "ipc", "net", "pid", "mnt")
    environment = {
        "HOME": "/root",
        "USER": "root",
        "PATH": spaces.ROOT_PATH,
        "SLURM_CONF": str(layout.slurm_conf),
        "LC_ALL": "C.UTF-8",
    }
    watched = {*_FORWARDED, signal.SIGCHLD}
    signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    pid = os.fork()
    if pid == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, watched)
        os._exit(_become(argv, environment))
    return _outcome(pid, watched)


def _outcome(pid: int, watched: set[signal.Signals]) -> int:
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else _KILLED - code
        heard = signal.sigwaitinfo(watched)
        # What the terminal sends reaches the whole process group, our child included; what a process sends only us.
        if heard.si_signo != signal.SIGCHLD and heard.si_code <= 0:
            os.kill(pid, heard.si_signo)


def _change_folder(cwd: str) -> None:
    try:
        os.chdir(cwd)
    except OSError as exc:
        raise TestbedError(f"cannot go to {cwd} on the login node: {exc.strerror}") from exc


def _become(argv: Sequence[str], environment: Mapping[str, str]) -> int:
    try:
        spaces.become(argv, environment)
    except FileNotFoundError:
        print(f"testbed: {argv[0]}: command not found", file=sys.stderr)
        return _NOT_FOUND
    except OSError as exc:
        print(f"testbed: {argv[0]}: {exc.strerror}", file=sys.stderr)
    return _NOT_RUNNABLE
