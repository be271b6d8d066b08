"""The bus over the agent step's own stdin and stdout: how both ends are made. For where no port may be opened."""

from pathlib import Path

from supervisor.bus.stdout_agent import StdoutAgentLink
from supervisor.bus.stdout_hub import StdoutHubLink
from supervisor.model.agent_config import AgentConfig
from supervisor.model.ids import NodeName


def agent_link(config: AgentConfig, node: NodeName) -> StdoutAgentLink:  # noqa: ARG001 - the same call for both transports
    """This node's end on descriptors 0 and 1, not yet entered."""
    return StdoutAgentLink(node)


def hub_link(folder: Path) -> StdoutHubLink:
    """The supervisor's end in a node-local folder (see `stdout_hub.prepare`), not yet entered."""
    return StdoutHubLink(folder)
