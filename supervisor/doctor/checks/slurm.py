"""Slurm itself: there, answering, of a release that was tested, its accounting."""

from typing import Final

from supervisor.doctor.finding import Finding, fail, limit, ok, unknown, warn
from supervisor.doctor.place import Place
from supervisor.doctor.slurm_text import release, value, words

TESTED: Final = ((22, 5), (24, 11), (26, 5))
"""The releases that the tests bring up."""
_LONGEST: Final = 90


def present(place: Place) -> Finding | None:
    """The commands, all of them."""
    missing = place.slurm.missing
    if not missing:
        return None
    return fail(
        f"not on PATH: {', '.join(missing)}",
        "no job can be submitted or followed",
        "`module load slurm`, or go to a login node; `supervise run -- CMD` needs no Slurm",
    )


def answering(place: Place) -> Finding | None:
    """Slurmctld gave its configuration."""
    if place.slurm.complaint:
        return fail(
            "slurmctld gave no answer",
            short(place.slurm.complaint),
            "try `scontrol ping`; ask your admin if it stays so",
        )
    return None


def tested(place: Place) -> Finding | None:
    """A release between those that were tested."""
    version = place.slurm.config.get("SLURM_VERSION", "")
    found = release(version)
    if not found:
        return None
    if found < TESTED[0]:
        return limit(
            f"Slurm {version} is older than any tested (22.05)",
            "options or answers may be missing",
            "`supervise doctor --job` goes through all that a job needs",
        )
    if found > TESTED[-1]:
        return warn(
            f"Slurm {version} is newer than any tested (26.05)",
            "answers may have another form",
            "`supervise doctor --job` goes through all that a job needs",
        )
    return ok(f"Slurm {version}" if found in TESTED else f"Slurm {version} (between tested releases)")


def same_release(place: Place) -> Finding | None:
    """The commands here are those of the controller."""
    here, there = release(place.slurm.client), release(place.slurm.config.get("SLURM_VERSION", ""))
    if not here or not there or here == there:
        return None
    return warn(
        f"the commands here are {place.slurm.client.removeprefix('slurm').strip()}, slurmctld is another release",
        "older commands may not understand every answer",
        "load the module of the cluster's own Slurm",
    )


def answers(place: Place) -> Finding | None:
    """Questions without an answer: what follows from them is not known."""
    if not place.slurm.unanswered:
        return None
    return unknown(
        f"{len(place.slurm.unanswered)} of {place.slurm.calls} questions to Slurm had no answer",
        short(place.slurm.unanswered[0]),
        "run `supervise doctor` again when Slurm is less busy",
    )


def database(place: Place) -> Finding | None:
    """Slurmdbd."""
    if not place.slurm.config:
        return None
    if place.slurm.accounts is None:
        return warn(
            "no accounting database (AccountingStorageType)",
            "what Slurm has forgotten, nobody knows; no `report --from sacct`",
            "the run folders and the ledger have the incidents; see docs/ledger.md",
        )
    if place.slurm.accounts.is_accepted:
        return ok("slurmdbd up")
    return warn(
        "sacct gave no answer",
        short(place.slurm.accounts.words),
        "jobs run all the same; look again later",
    )


def comments(place: Place) -> Finding | None:
    """The verdict in sacct."""
    config = place.slurm.config
    if not config or not value(config, "AccountingStorageType"):
        return None
    if "job_comment" in words(config, "AccountingStoreFlags"):
        return ok("comments stored (job_comment)")
    return warn(
        "comments are not kept in sacct",
        "the verdict is in squeue while the job lives, then in `supervise why` only",
        "for your admin: AccountingStoreFlags=job_comment",
    )


def rate_limit(place: Place) -> Finding | None:
    """What slurmctld bears."""
    if "rl_enable" in words(place.slurm.config, "SlurmctldParameters"):
        return ok("calls are rate-limited (rl_enable); a healthy run makes none, an incident at most 20")
    return None


def others_jobs(place: Place) -> Finding | None:
    """PrivateData."""
    if "jobs" in words(place.slurm.config, "PrivateData"):
        return ok("jobs of others are hidden (PrivateData): reports show yours")
    return None


def sbatchs_words(text: str) -> str:
    """The first thing that sbatch complains of, without its name."""
    return short(text.removeprefix("sbatch: error: ").partition(" sbatch: error:")[0])


def short(text: str) -> str:
    """Foreign words, cut to fit a row."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
