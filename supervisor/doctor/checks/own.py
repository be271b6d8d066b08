"""What is set and installed of ours: settings, broker and its port, checkpoints, ledger."""

from supervisor.doctor.checks.slurm import short
from supervisor.doctor.finding import Finding, fail, ok, unknown, warn
from supervisor.doctor.place import Place
from supervisor.doctor.slurm_text import ports

_WARNING = "WARNING"


def switched_off(place: Place) -> Finding | None:
    """The emergency off-switch."""
    if not place.own.off:
        return None
    return fail(
        f"supervise is switched off by {short(place.own.off)}",
        "every job runs as plain sbatch would run it",
        "ask who has set it; to set it back: remove the file, or off = false",
    )


def settings(place: Place) -> Finding | None:
    """They can be used, and where they come from."""
    if place.own.settings_complaint:
        return fail(
            "the settings cannot be used",
            short(place.own.settings_complaint),
            "mend the place that is named; `supervise sbatch` refuses it too",
        )
    if not place.own.origins:
        return ok("settings: all defaults")
    places = sorted({origin.split(" line ")[0] for origin in place.own.origins.values()})
    return ok(f"{len(place.own.origins)} settings from {short(', '.join(places))}")


def broker(place: Place) -> Finding | None:
    """What carries reports between nodes."""
    if place.own.transport == "stdout":
        return ok("no broker: transport is set to stdout")
    if place.own.brokers:
        return ok(f"broker: {', '.join(place.own.brokers)} here")
    if place.own.transport == "mqtt":
        return fail(
            "transport is set to mqtt, and no broker is installed here",
            "the supervisor cannot start",
            "install mosquitto, or the extra slurm-supervise[broker]",
        )
    return warn(
        "no broker is installed here",
        "reports go through the agent step's stdout, a little slower",
        "nothing must be done; mosquitto or slurm-supervise[broker] makes it faster",
    )


def broker_port(place: Place) -> Finding | None:
    """Ports that a site keeps open between nodes."""
    if not place.slurm.config or place.own.transport == "stdout":
        return None
    span = ports(place.slurm.config)
    named = f"{span[0]}-{span[1]} (SrunPortRange)" if span else "any (no SrunPortRange)"
    return unknown(
        f"broker port: {named}, compute-to-compute not tested",
        "where it is closed, reports go through the agent step's stdout",
        "`supervise doctor --job` tests it",
    )


def checkpoints(place: Place) -> Finding | None:
    """The place that is named, if one is."""
    if not place.own.checkpoint:
        return None
    told = place.own.checkpoint_look
    if not told or told.startswith(_WARNING) or told.endswith("(not looked at)."):
        return warn(
            "checkpoints could not be read from here",
            short(told.removeprefix(f"{_WARNING}: ") or place.own.checkpoint),
            "look whether --checkpoint names the folder above the single steps",
        )
    return ok(short(told.removesuffix(".")))


def ledger(place: Place) -> Finding | None:
    """The site's, if it has one."""
    found = place.own.ledger
    if found is None:
        return None
    if not found.complaint:
        nameless = " (your jobs without a name: its key is not yours to read)" if found.is_nameless else ""
        return ok(f"ledger {short(found.path)}{nameless}")
    return warn(
        "the site's ledger cannot be written",
        short(found.complaint),
        "for your admin: supervise ledger init, then upkeep once a day; runs keep their own incidents",
    )
