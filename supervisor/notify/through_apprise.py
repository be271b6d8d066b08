"""Chats, pagers and a hundred services more, through the library apprise (extra `notify`)."""

from typing import Any

from supervisor.errors import NotifyFailed
from supervisor.notify.message import Message


class ThroughApprise:
    """A `Notifier` for every URL that apprise knows."""

    def __init__(self, url: str) -> None:
        """Raises `NotifyFailed` where apprise is not installed or does not know the URL."""
        scheme = url.partition(":")[0]
        try:
            import apprise  # an extra
        except ImportError as exc:
            more = "pip install 'slurm-supervise[notify]' brings many"
            raise NotifyFailed(f"{scheme}: is neither built in nor a plugin's; {more}") from exc
        self._service: Any = apprise.Apprise()
        self._scheme = scheme
        if not self._service.add(url):
            raise NotifyFailed(f"apprise does not know what to do with this {scheme}: URL")

    def send(self, message: Message) -> None:
        """Raises `NotifyFailed`."""
        if not self._service.notify(title=message.title, body=message.text):
            raise NotifyFailed(f"apprise could not deliver to the {self._scheme}: URL")
