"""All errors of the product, under one base; each says when it is raised and whether trying again makes sense."""


class SuperviseError(Exception):
    """The base. `str()` of it is one sentence that names values and says what to do next."""


class UsageError(SuperviseError):
    """What the user asked for cannot be done as written. Trying again does not help."""


class NoSlurm(SuperviseError):
    """There is no Slurm here: its commands are not on PATH. Trying again does not help."""


class SlurmFailed(SuperviseError):
    """A Slurm command answered with an error. Trying again may help where Slurm was busy."""

    def __init__(self, message: str, *, code: int | None = None, stderr: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.stderr = stderr


class SlurmTooMuch(SlurmFailed):
    """A Slurm command wrote more than is kept of an answer. Trying again helps where less is asked for."""


class SlurmTimeout(SlurmFailed, TimeoutError):
    """A Slurm command gave no answer in time. What it was to do may have been done all the same."""


class RunFolderUnusable(SuperviseError, OSError):
    """The run folder cannot be made, read or written. The job can still run without supervision."""


class NoSuchRun(SuperviseError, LookupError):
    """No run of this name or job id is known here."""


class BrokerFailed(SuperviseError):
    """No broker could be started or reached. The stdout transport is the way that is left."""


class DrillStopped(SuperviseError):
    """A drill cannot go on; what it has seen until then still counts. The message says whether trying again helps."""


class CheckpointsUnreadable(SuperviseError):
    """The checkpoint folder or store gave no trustworthy answer. Never to be read as "there is none"."""


class NotifyFailed(SuperviseError):
    """A person could not be told. It is logged and never tried again: the next message may get through."""


class PayloadRefused(SuperviseError, ValueError):
    """A message or file does not have the shape it must have. It is counted and dropped."""
