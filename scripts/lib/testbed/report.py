"""What `status` and `logs` say."""

from collections.abc import Sequence
from typing import Any

from testbed import cluster, network, processes, slurm

_LOG_BYTES = 4000


def status(name: str) -> dict[str, Any]:
    """Everything about a testbed that is up, ready for JSON; raises NotUp."""
    spec, layout = cluster.load(name)
    states = slurm.node_states(layout)
    controller = processes.recall(layout, "slurmctld")
    return {
        "name": spec.name,
        "release": spec.release,
        "profile": spec.profile,
        "slurm_conf": str(layout.slurm_conf),
        "state": str(layout.state),
        "home": str(layout.home("alice")),
        "logs": str(layout.logs),
        "login": {"address": spec.login_address, "slurmctld_pid": controller.pid if controller else None},
        "nodes": [
            {
                "name": node,
                "address": spec.address(node),
                "slurm": states.get(node, "unknown"),
                "alive": processes.recall(layout, node) is not None,
                "plugged": network.is_plugged(spec, node),
            }
            for node in spec.node_names
        ],
    }


def as_text(facts: dict[str, Any]) -> str:
    """The same for people, one node a line."""
    head = f"{facts['name']}: {facts['release']}, {facts['profile']}, SLURM_CONF={facts['slurm_conf']}"
    lines = [
        f"{node['name']}  {node['address']:<15}  {node['slurm']:<12}"
        f"{'' if node['alive'] else '  killed'}{'' if node['plugged'] else '  unplugged'}"
        for node in facts["nodes"]
    ]
    return "\n".join([head, *lines])


def logs(name: str, daemons: Sequence[str]) -> str:
    """The end of the logs of the daemons named, or of all."""
    spec, layout = cluster.load(name)
    wanted = daemons or ("slurmctld", *spec.node_names)
    return "\n".join(f"==> {layout.logs}/{one}.log <==\n{slurm.last_words(layout, one, _LOG_BYTES)}" for one in wanted)
