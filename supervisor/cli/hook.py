"""`supervise hook prolog|epilog|health`: what slurmd runs as root through `scripts/slurm`."""

import os
import sys
import syslog

import click

from supervisor.hooks.settings import DEFAULT_PATH
from supervisor.model.node import Hook


@click.command(
    name="hook",
    help=(
        "For Slurm's Prolog, Epilog and HealthCheckProgram, which run as root; called by the scripts in scripts/slurm. "
        "Looks at the node within the deadline, writes one record into /var/spool/supervise/node.jsonl, and answers "
        "well unless the site has said otherwise. With --dry-run it writes and drains nothing and shows the record."
    ),
)
@click.argument("hook", type=click.Choice(["prolog", "epilog", "health"]))
@click.option("--config", default=DEFAULT_PATH, metavar="FILE", help=f"the site's settings; default {DEFAULT_PATH}")
@click.option("--deadline-s", type=click.FloatRange(0.5, 300), default=10.0, metavar="S", help="for all; default 10")
@click.pass_context
def command(ctx: click.Context, *, hook: Hook, config: str, deadline_s: float) -> None:
    """Run it; the last line on stdout tells the script that called it what to answer slurmd."""
    from supervisor.hooks.entry import run_hook  # for its deadline the hook starts as fast as it can

    dry_run = bool(getattr(ctx.obj, "dry_run", False))
    ended = run_hook(hook, os.environ, config=config, deadline_s=deadline_s, dry_run=dry_run)
    if ended.message:
        tell(ended.message, is_dry=dry_run)
    if dry_run and ended.record is not None:
        import msgspec  # as above

        print(msgspec.json.format(msgspec.json.encode(ended.record), indent=1).decode())
    print(f"exit {ended.exit_code}", flush=True)
    # Nothing that a hanging driver has left behind may keep this process from ending.
    os._exit(ended.exit_code)


def tell(message: str, *, is_dry: bool) -> None:
    """Why the hook does not work: slurmd keeps nothing of what a hook prints that ends well, the system's log does."""
    print(f"supervise: {message}", file=sys.stderr, flush=True)
    if not is_dry:
        syslog.openlog("supervise-hook", 0, syslog.LOG_DAEMON)
        syslog.syslog(syslog.LOG_ERR, message)
