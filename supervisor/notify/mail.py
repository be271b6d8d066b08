"""Mail through the node's own sendmail, which knows the site's mail servers."""

import re
import shutil
import subprocess
from email.message import EmailMessage
from typing import Final
from urllib.parse import unquote

from supervisor.errors import NotifyFailed
from supervisor.notify.message import Message

DEADLINE_S: Final = 10.0
_PLACES: Final = "/usr/sbin:/usr/lib:/usr/local/sbin"
"""Beside PATH, which of an ordinary user seldom has them."""
_ADDRESS: Final = re.compile(r"[\w.+=~-]{1,64}(?:@[\w.-]{1,255})?", re.ASCII)


class Mail:
    """A `Notifier` for `mailto:` URLs, with commas between addresses."""

    def __init__(self, url: str) -> None:
        """Raises `NotifyFailed` for what is no address."""
        named = unquote(url.partition(":")[2].partition("?")[0])
        self._to = [each.strip() for each in named.split(",")]
        if wrong := [each for each in self._to if not _ADDRESS.fullmatch(each) or each.startswith("-")]:
            raise NotifyFailed(f"mailto: {wrong[0]!r} is no mail address")

    def send(self, message: Message) -> None:
        """Hand it to sendmail, which queues it. Raises `NotifyFailed`."""
        program = shutil.which("sendmail") or shutil.which("sendmail", path=_PLACES)
        if program is None:
            raise NotifyFailed("there is no sendmail on this node")
        try:
            # No pipe from it: a child that it leaves behind would keep that open.
            done = subprocess.run(
                [program, "-i", "-t"],
                input=_mail(self._to, message).as_bytes(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                timeout=DEADLINE_S,
                check=False,
            )
        except (OSError, subprocess.SubprocessError) as exc:
            raise NotifyFailed(f"{program} did not take the mail: {type(exc).__name__}") from exc
        if done.returncode != 0:
            raise NotifyFailed(f"{program} refused the mail (exit {done.returncode})")


def _mail(to: list[str], message: Message) -> EmailMessage:
    mail = EmailMessage()
    mail["To"] = ", ".join(to)
    mail["Subject"] = message.title
    mail["Auto-Submitted"] = "auto-generated"  # so that nobody's absence note answers
    mail["X-Supervise-Run"] = message.run_id
    mail.set_content(f"{message.text}\n", cte="quoted-printable")  # seven bits: old mail servers break others
    return mail
