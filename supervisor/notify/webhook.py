"""A message as JSON to a URL of the site's choice."""

import urllib.request
from email.message import Message as Headers
from http.client import HTTPException
from typing import IO, Final
from urllib.error import HTTPError
from urllib.parse import urlsplit

from supervisor.errors import NotifyFailed
from supervisor.model.base import encode
from supervisor.notify.message import Message
from supervisor.version import VERSION

DEADLINE_S: Final = 10.0


class Webhook:
    """A `Notifier` for `http:` and `https:` URLs."""

    def __init__(self, url: str) -> None:
        """Raises `NotifyFailed` for what names no host."""
        try:
            self._host = urlsplit(url).hostname or ""
        except ValueError as exc:
            raise NotifyFailed("the webhook's URL cannot be read") from exc
        if not self._host:
            raise NotifyFailed("the webhook's URL names no host")
        self._url = url

    def send(self, message: Message) -> None:
        """POST it; any answer of the 200s will do. Raises `NotifyFailed`, which names the host and never the URL."""
        headers = {"Content-Type": "application/json", "User-Agent": f"supervise/{VERSION}"}
        try:
            # Only these two schemes come here, see `notifier_for`.
            asked = urllib.request.Request(self._url, data=encode(message), headers=headers, method="POST")  # noqa: S310
            with urllib.request.build_opener(_NoRedirect).open(asked, timeout=DEADLINE_S):
                pass
        except HTTPError as exc:
            exc.close()
            raise NotifyFailed(f"{self._host} answered {exc.code}") from exc
        except (OSError, HTTPException, ValueError) as exc:
            raise NotifyFailed(f"{self._host} was not reached: {_why(exc)}") from exc


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """What is told goes where the person said and nowhere else."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Headers, newurl: str
    ) -> None:
        """A redirect is an error, as any other answer that is not of the 200s."""


def _why(exc: Exception) -> str:
    """Without what the exception quotes of the URL."""
    reason = getattr(exc, "reason", None)
    return getattr(reason, "strerror", None) or getattr(exc, "strerror", None) or type(reason or exc).__name__
