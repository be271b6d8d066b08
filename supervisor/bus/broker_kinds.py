"""The programs that can be the broker, and the files each is started with; text and paths only, nothing is started."""

import base64
import hashlib
import importlib.util
import os
import pwd
import shutil
import sys
from pathlib import Path
from typing import Final, Literal

from supervisor.bus.codec import MAX_PAYLOAD_BYTES
from supervisor.bus.credentials import Secrets
from supervisor.bus.topics import everything
from supervisor.errors import BrokerFailed
from supervisor.model.base import Fact, encode
from supervisor.model.ids import RunId

BrokerKind = Literal["mosquitto", "amqtt"]

# Debian and Red Hat put daemons here, where an ordinary user's PATH does not look.
_DAEMON_FOLDERS: Final = ("/usr/sbin", "/usr/local/sbin")
_MEMORY_LIMIT_BYTES: Final = 512 * 1024 * 1024
# Retained statuses of all nodes arrive at once when a supervisor subscribes: the default of 1000 would drop some.
_QUEUED_MESSAGES: Final = 20_000
_SALT_BYTES: Final = 12

_CERTIFICATE: Final = "certificate.pem"
_KEY: Final = "key.pem"
_PASSWORDS: Final = "passwords"
_RULES: Final = "rules"
_MOSQUITTO: Final = "mosquitto.conf"
_AMQTT: Final = "amqtt.json"
_ROOT: Final = Path(__file__).parents[2]
"""What the package `supervisor` of this process lies in."""
_START: Final = """\
import runpy, sys
sys.path[:0] = {sys.argv.pop(1)} - set(sys.path)
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""


class AmqttConfig(Fact, frozen=True, kw_only=True):
    """What the amqtt process reads; its file is 0600."""

    host: str
    port: int
    user: str
    password: str
    topics: str
    """The filter under which this user may say and hear everything, and nothing elsewhere."""
    certificate: str
    key: str
    memory_limit_bytes: int = _MEMORY_LIMIT_BYTES


def find_kinds() -> tuple[BrokerKind, ...]:
    """The brokers that are installed, the better one first. Raises `BrokerFailed` where there is none."""
    kinds: list[BrokerKind] = []
    if _mosquitto() is not None:
        kinds.append("mosquitto")
    if importlib.util.find_spec("amqtt") is not None:
        kinds.append("amqtt")
    if not kinds:
        raise BrokerFailed(
            "no broker is installed here: install mosquitto, "
            "or `pip install 'slurm-supervise[broker]'` for one in Python"
        )
    return tuple(kinds)


def command(kind: BrokerKind, folder: Path) -> list[str]:
    """What starts this broker with the files in the folder; nothing secret stands in it."""
    if kind == "mosquitto":
        return [_mosquitto() or kind, "-c", str(folder / _MOSQUITTO)]
    # Of the same version as this process: what is installed may be another one by now.
    return [sys.executable, "-I", "-c", _START, str(_ROOT), "supervisor.bus.amqtt_process", str(folder / _AMQTT)]


def files(kind: BrokerKind, folder: Path, *, secrets: Secrets, port: int, run: RunId) -> dict[str, bytes]:
    """Name → content of what the broker reads from the folder, all of it for its owner's eyes only."""
    found = {_CERTIFICATE: secrets.certificate_pem.encode(), _KEY: secrets.key_pem.encode()}
    if kind == "amqtt":
        return found | {_AMQTT: encode(_amqtt(folder, secrets, port, run))}
    return found | {
        _PASSWORDS: password_line(secrets.user, secrets.password, os.urandom(_SALT_BYTES)).encode(),
        _RULES: f"user {secrets.user}\ntopic readwrite {everything(run)}\n".encode(),
        _MOSQUITTO: mosquitto_text(folder, host=secrets.address, port=port, account=_account()).encode(),
    }


def mosquitto_text(folder: Path, *, host: str, port: int, account: str) -> str:
    """A configuration that mosquitto 1.6 to 2.1 read alike: one TLS listener on one address, one user, no disk."""
    return "\n".join(
        (
            f"user {account}",
            f"listener {port} {host}",
            f"cafile {folder / _CERTIFICATE}",
            f"certfile {folder / _CERTIFICATE}",
            f"keyfile {folder / _KEY}",
            "allow_anonymous false",
            f"password_file {folder / _PASSWORDS}",
            f"acl_file {folder / _RULES}",
            "persistence false",
            "sys_interval 0",
            "set_tcp_nodelay true",
            "max_inflight_messages 200",
            f"max_queued_messages {_QUEUED_MESSAGES}",
            f"message_size_limit {MAX_PAYLOAD_BYTES + 1024}",
            f"memory_limit {_MEMORY_LIMIT_BYTES}",
            "connection_messages false",
            "log_dest stderr",
            "log_type error",
            "log_type warning",
            "",
        )
    )


def password_line(user: str, password: str, salt: bytes) -> str:
    """A line in mosquitto's format of one salted SHA-512 (its number 6), which every release since 1.0 reads.

    One round is enough: the password is 256 random bits, nothing that could be guessed.
    """
    digest = hashlib.sha512(password.encode() + salt).digest()
    return f"{user}:$6${base64.b64encode(salt).decode()}${base64.b64encode(digest).decode()}\n"


def _amqtt(folder: Path, secrets: Secrets, port: int, run: RunId) -> AmqttConfig:
    return AmqttConfig(
        host=secrets.address,
        port=port,
        user=secrets.user,
        password=secrets.password,
        topics=everything(run),
        certificate=str(folder / _CERTIFICATE),
        key=str(folder / _KEY),
    )


def _mosquitto() -> str | None:
    return shutil.which("mosquitto", path=os.pathsep.join((os.environ.get("PATH", os.defpath), *_DAEMON_FOLDERS)))


def _account() -> str:
    # Started by root, mosquitto would become `mosquitto`, which may not read our files; else this says nothing new.
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return "mosquitto"
