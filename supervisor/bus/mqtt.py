"""The bus over MQTT: how both ends are made. Both come back by themselves when the broker does."""

from supervisor.bus.connection import Endpoint
from supervisor.bus.credentials import Secrets
from supervisor.bus.mqtt_agent import MqttAgentLink
from supervisor.bus.mqtt_hub import MqttHubLink
from supervisor.model.agent_config import AgentConfig
from supervisor.model.ids import NodeName, RunId


def agent_link(config: AgentConfig, node: NodeName) -> MqttAgentLink:
    """This node's end, not yet entered. Raises `PayloadRefused` where run or node cannot stand in a topic."""
    endpoint = Endpoint(
        host=config.broker_host,
        port=config.broker_port,
        user=config.user,
        password=config.password,
        ca_pem=config.ca_pem,
    )
    return MqttAgentLink(endpoint, run=config.run_id, node=node)


def hub_link(*, run: RunId, secrets: Secrets, port: int) -> MqttHubLink:
    """The supervisor's end, not yet entered; entering raises `BrokerFailed` where it cannot subscribe in time."""
    endpoint = Endpoint(
        host=secrets.address,
        port=port,
        user=secrets.user,
        password=secrets.password,
        ca_pem=secrets.certificate_pem,
    )
    return MqttHubLink(endpoint, run=run)
