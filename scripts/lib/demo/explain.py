"""What the demo will touch, said before it does."""

from checks.setup import TEST_PACKAGES
from product.venv import CHECKOUT

NAME = "demo"


def text() -> str:
    """Every package, user, port and folder."""
    packages = " ".join(name for name in TEST_PACKAGES if name not in {"debootstrap", "openmpi-bin"})
    return f"""The demo will
  install (apt, only what is missing)   {packages}
  make a virtual environment            {CHECKOUT}/.venv (below /root: /var/cache/supervise-product)
  make, if missing, the users           munge (by its package) and alice (uid 20001, stays, has no password)
  start                                 munged (only if none runs), slurmctld, 4 x slurmd, 1 broker inside the job
  make, and take away at its end        a bridge, 4 network namespaces, /var/lib/supervise-testbed/{NAME}
  listen on                             addresses of that bridge only; nothing on this machine's own addresses
  run                                   one 3-node job with 1 spare, about 40 s; one node is killed under it
It sends nothing anywhere, apart from what apt and pip fetch."""
