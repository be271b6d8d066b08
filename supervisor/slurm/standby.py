"""A second job that waits in the queue for the first to fail. Pure.

Slurm itself starts it where the first fails, though all of ours died with it, and removes it where that ends well.
"""

import msgspec

from supervisor.model.ids import JobId
from supervisor.slurm.successor import Successor


def waiting_for(job: JobId, wanted: Successor) -> Successor:
    """The resubmission as a job that begins only once `job` has failed."""
    at = wanted.argv.index("sbatch") + 1
    options = (f"--dependency=afternotok:{job}", "--kill-on-invalid-dep=yes")
    return msgspec.structs.replace(wanted, argv=(*wanted.argv[:at], *options, *wanted.argv[at:]))
