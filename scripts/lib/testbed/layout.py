"""Where things of a testbed lie on the host."""

from dataclasses import dataclass
from pathlib import Path

STATE = Path("/var/lib/supervise-testbed")
CACHE = Path("/var/cache/supervise-testbed")
REPOSITORY = Path(__file__).resolve().parents[3]


@dataclass(frozen=True, slots=True)
class Layout:
    """The folders and files of the testbed called `name`."""

    name: str

    @property
    def state(self) -> Path:
        """The folder that holds everything of this testbed and goes away with it."""
        return STATE / self.name

    @property
    def spec(self) -> Path:
        """What was asked for, as JSON."""
        return self.state / "testbed.json"

    @property
    def etc(self) -> Path:
        """slurm.conf and its like, hosts, passwd and group."""
        return self.state / "etc"

    @property
    def slurm_conf(self) -> Path:
        """The file that SLURM_CONF names."""
        return self.etc / "slurm.conf"

    @property
    def logs(self) -> Path:
        """One log per daemon."""
        return self.state / "logs"

    @property
    def spool(self) -> Path:
        """The spool folder of each daemon."""
        return self.state / "spool"

    @property
    def devices(self) -> Path:
        """The pretended GPU device files."""
        return self.state / "dev"

    @property
    def pids(self) -> Path:
        """One small file per long-lived process: its pid and start time."""
        return self.state / "pids"

    @property
    def database(self) -> Path:
        """The accounting database, where there is one: its files and its socket."""
        return self.state / "database"

    @property
    def homes(self) -> Path:
        """The shared home folders."""
        return self.state / "shared" / "home"

    @property
    def root_mount(self) -> Path:
        """Where a release's root is mounted, inside the testbed's own mount namespaces only."""
        return self.state / "root"

    def home(self, user: str) -> Path:
        """The shared home folder of `user`."""
        return self.homes / user
