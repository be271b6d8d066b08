"""What the demo will touch, said before it does."""

from product.venv import CHECKOUT

NAME = "demo"
PACKAGES = ("python3-venv", "slurmctld", "slurmd", "slurm-client", "munge", "mosquitto", "iproute2", "procps")
"""Debian packages: Slurm and what it needs, the broker, and what a testbed is made with."""


def cluster_text() -> str:
    """Every package, user, port and folder of the story on a throw-away Slurm."""
    return f"""The demo will
  install (apt, only what is missing)   {" ".join(PACKAGES)}
  make a virtual environment            {CHECKOUT}/.venv (below /root: /var/cache/supervise-product)
  make, if missing, the users           munge (by its package), alice and bob (uids 20001, 20002; they stay)
  start                                 munged (only if none runs), slurmctld, 4 x slurmd, 1 broker inside the job
  make, and take away at its end        a bridge, 4 network namespaces, /var/lib/supervise-testbed/{NAME}
  listen on                             addresses of that bridge only; nothing on this machine's own addresses
  run                                   one 3-node job with 1 spare, about 40 s; one node is killed under it
It sends nothing anywhere, apart from what apt and pip fetch."""


def local_text(reason: str) -> str:
    """The same of the story on one machine, and why it is that one."""
    return f"""{reason}, so the demo tells the same story on this machine alone. It will
  make a virtual environment            {CHECKOUT}/.venv
  make, and take away at its end        one temporary folder
  listen on                             127.0.0.1 only: the broker, and the ranks' port
  run                                   a job of 4 ranks as this user, about 30 s; one rank is killed with SIGKILL
It sends nothing anywhere, apart from what pip fetches."""
