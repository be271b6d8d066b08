"""What a way to tell people must offer, and how the one for a URL is found."""

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Final, Protocol

from supervisor.notify.mail import Mail
from supervisor.notify.message import Message
from supervisor.notify.webhook import Webhook

GROUP: Final = "supervise.notifiers"
"""Entry points of plugins: the name is the scheme of the URLs, the value takes the URL and gives a `Notifier`."""


class Notifier(Protocol):
    """One way to tell people, made for one URL."""

    def send(self, message: Message) -> None:
        """Tell it. Called in a thread, given up after `DEADLINE_S`; whatever it raises costs this message only."""


_BUILT_IN: Final[dict[str, Callable[[str], Notifier]]] = {"mailto": Mail, "http": Webhook, "https": Webhook}


def notifier_for(url: str) -> Notifier:
    """The built-in one, a plugin's, or apprise's. Raises `NotifyFailed` where nobody knows such URLs."""
    scheme = url.partition(":")[0].lower()
    if scheme in _BUILT_IN:
        return _BUILT_IN[scheme](url)
    for found in entry_points(group=GROUP, name=scheme):
        plugin: Callable[[str], Notifier] = found.load()
        return plugin(url)
    from supervisor.notify.through_apprise import ThroughApprise  # an extra: most sites have it not

    return ThroughApprise(url)
