"""The command line of the testbed."""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence

from testbed import cluster, enter, report, spaces
from testbed.errors import TestbedError
from testbed.spec import PROFILES, RELEASES, Spec, checked_name

_REFUSED = 1
_EXAMPLE = """\
example:
  scripts/testbed up --nodes 4
  scripts/testbed run -- srun -N4 hostname
  scripts/testbed kill-node node003
  scripts/testbed revive node003
  scripts/testbed down

A node that loses power at once: unplug NODE, then kill-node NODE.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code for the shell; `run` and `exec` answer with that of their command."""
    words = list(sys.argv[1:] if argv is None else argv)
    # The command is cut off first: argparse would read options of the command that follow a second `--` as ours.
    here, command = (words[: words.index("--")], words[words.index("--") + 1 :]) if "--" in words else (words, [])
    arguments = _parser().parse_args(here, argparse.Namespace(command=command))
    # The daemons lie in sbin, which su and cron leave out.
    os.environ["PATH"] = f"{os.environ.get('PATH', '')}:{spaces.ROOT_PATH}"
    try:
        _check_root()
        arguments.name = checked_name(arguments.name)
        act: Callable[[argparse.Namespace], int] = arguments.act
        return act(arguments)
    except (TestbedError, OSError, subprocess.SubprocessError) as exc:
        print(f"testbed: {exc}", file=sys.stderr)
        return _REFUSED


def _check_root() -> None:
    if os.geteuid() != 0:
        raise TestbedError("a testbed needs root: it makes network interfaces, namespaces and device files")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="testbed",
        description="A throw-away real multi-node Slurm on this machine.",
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_up(commands)
    _add(commands, "down", _down, "take it away, whole")
    _add_status(commands)
    for word, act, text in (
        ("kill-node", _kill_node, "SIGKILL every process of a node"),
        ("unplug", _unplug, "pull a node's network cable; its processes live on"),
        ("plug", _plug, "plug the cable in again"),
        ("revive", _revive, "boot a node again, cable plugged, and wait until it serves Slurm"),
    ):
        _add(commands, word, act, text).add_argument("node")
    _add_run(commands)
    on_node = _add(commands, "exec", _exec, "run a command as root on a node: exec NODE -- CMD")
    on_node.add_argument("node")
    _add(commands, "env", _env, "print export lines for a root shell on the host")
    logs = _add(commands, "logs", _logs, "print the end of the daemons' logs")
    logs.add_argument("daemon", nargs="*", help="slurmctld, slurmdbd or node names (default: all)")
    return parser


def _add(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    word: str,
    act: Callable[[argparse.Namespace], int],
    text: str,
) -> argparse.ArgumentParser:
    parser = commands.add_parser(word, help=text, description=f"{text[0].upper()}{text[1:]}.")
    parser.add_argument("--name", default="default", help="which testbed (default: %(default)s)")
    parser.set_defaults(act=act)
    return parser


def _add_up(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = _add(commands, "up", _up, "start one, in place of any of that name, and wait until all nodes are idle")
    parser.add_argument("--nodes", type=int, default=4, help="how many (default: %(default)s)")
    parser.add_argument("--gpus", type=int, default=8, help="pretended GPUs per node (default: %(default)s)")
    parser.add_argument("--cpus", type=int, default=8, help="pretended CPUs per node (default: %(default)s)")
    parser.add_argument("--release", choices=RELEASES, default="native", help="whose Slurm (default: the host's)")
    parser.add_argument("--profile", choices=PROFILES, default="plain", help="cgroup: steps are really confined")
    parser.add_argument("--accounting", action="store_true", help="with slurmdbd and a database of its own")
    parser.add_argument("--set", nargs="+", action="extend", default=[], metavar="KEY=VALUE", help="slurm.conf lines")
    parser.add_argument("--bind", nargs="+", action="extend", default=[], metavar="DIR", help="more shared folders")


def _add_status(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = _add(commands, "status", _status, "say what is up")
    parser.add_argument("--json", action="store_true", help="for programs")


def _add_run(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = _add(commands, "run", _run, "run a command on the login node as an ordinary user: run -- CMD")
    parser.add_argument("--user", default="alice", help="alice, bob or root (default: %(default)s)")
    parser.add_argument("--cwd", metavar="DIR", help="where (default: the user's shared home)")
    parser.add_argument("--env", nargs="+", action="extend", default=[], metavar="K=V", help="added to a clean one")


def _up(arguments: argparse.Namespace) -> int:
    wish = Spec(
        name=arguments.name,
        nodes=arguments.nodes,
        gpus=arguments.gpus,
        cpus=arguments.cpus,
        release=arguments.release,
        profile=arguments.profile,
        settings=tuple(arguments.set),
        binds=tuple(arguments.bind),
        accounting=arguments.accounting,
    )
    spec = cluster.up(wish)
    print(f"testbed {spec.name!r} is up: {spec.nodes} idle nodes", file=sys.stderr)
    return 0


def _down(arguments: argparse.Namespace) -> int:
    cluster.down(arguments.name)
    return 0


def _status(arguments: argparse.Namespace) -> int:
    facts = report.status(arguments.name)
    print(json.dumps(facts, indent=1) if arguments.json else report.as_text(facts))
    return 0


def _kill_node(arguments: argparse.Namespace) -> int:
    cluster.kill_node(arguments.name, arguments.node)
    return 0


def _unplug(arguments: argparse.Namespace) -> int:
    cluster.set_cable(arguments.name, arguments.node, plugged=False)
    return 0


def _plug(arguments: argparse.Namespace) -> int:
    cluster.set_cable(arguments.name, arguments.node, plugged=True)
    return 0


def _revive(arguments: argparse.Namespace) -> int:
    cluster.revive(arguments.name, arguments.node)
    return 0


def _run(arguments: argparse.Namespace) -> int:
    if wrong := [pair for pair in arguments.env if "=" not in pair]:
        raise TestbedError(f"--env {wrong[0]}: write K=V")
    extra = dict(pair.split("=", 1) for pair in arguments.env)
    return enter.on_login(arguments.name, arguments.user, arguments.cwd, extra, _command(arguments))


def _command(arguments: argparse.Namespace) -> Sequence[str]:
    if not arguments.command:
        raise TestbedError("no command: write it after --, as in `scripts/testbed run -- sinfo`")
    return list(arguments.command)


def _exec(arguments: argparse.Namespace) -> int:
    return enter.on_node(arguments.name, arguments.node, _command(arguments))


def _env(arguments: argparse.Namespace) -> int:
    spec, layout = cluster.load(arguments.name)
    if spec.release != "native":
        print(f"# {spec.release}'s own Slurm commands: scripts/testbed run --name {spec.name} -- CMD")
    print(f"export SLURM_CONF={layout.slurm_conf}")
    print(f"export PATH={spaces.ROOT_PATH}")
    return 0


def _logs(arguments: argparse.Namespace) -> int:
    print(report.logs(arguments.name, arguments.daemon))
    return 0
