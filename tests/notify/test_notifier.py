"""Which way a URL means: built in, a plugin's, or apprise's."""

import sys
from pathlib import Path

import pytest

from supervisor.errors import NotifyFailed
from supervisor.notify.mail import Mail
from supervisor.notify.notifier import notifier_for
from supervisor.notify.through_apprise import ThroughApprise
from supervisor.notify.webhook import Webhook
from tests.notify.conftest import Server
from tests.notify.made import message

_APPRISE = pytest.mark.filterwarnings("ignore:.*imghdr:DeprecationWarning")
"""apprise's own dependency on a module that Python 3.13 has not."""
_PLUGIN = """
import pathlib


class Pager:
    def __init__(self, url):
        self.url = url

    def send(self, message):
        pathlib.Path(self.url.partition(":")[2]).write_text(message.title)
"""


def test_mail_and_webhooks_are_built_in() -> None:
    """In whatever case the scheme is written."""
    assert isinstance(notifier_for("MailTo:me"), Mail)
    assert isinstance(notifier_for("https://host/x"), Webhook)
    assert isinstance(notifier_for("HTTP://host/x"), Webhook)


def test_a_plugin_is_found_by_its_scheme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As installed packages announce themselves."""
    (tmp_path / "site_pager.py").write_text(_PLUGIN)
    info = tmp_path / "site_pager-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: site-pager\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[supervise.notifiers]\npager = site_pager:Pager\nhttps = site_pager:Pager\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    notifier_for(f"pager:{tmp_path}/got").send(message())
    assert (tmp_path / "got").read_text() == "supervise: job 17 stopped"
    assert isinstance(notifier_for("https://host/x"), Webhook)  # what is built in stays as documented


def test_without_apprise_it_is_said_what_brings_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the supervisor's log; the URL, which is a secret, is not told."""
    monkeypatch.setitem(sys.modules, "apprise", None)
    with pytest.raises(NotifyFailed) as caught:
        notifier_for("slack://token-a/token-b")
    assert str(caught.value).startswith(
        "slack: is neither built in nor a plugin's; pip install 'slurm-supervise[notify]'"
    )


@_APPRISE
def test_apprise_delivers(server: Server) -> None:
    """Its own kind of JSON over HTTP, really sent."""
    notifier = notifier_for(server.url.replace("http://", "json://"))
    assert isinstance(notifier, ThroughApprise)
    notifier.send(message())
    ((_, _, body),) = server.got
    assert b"supervise: job 17 stopped" in body


@_APPRISE
def test_what_apprise_cannot_deliver_or_does_not_know_is_told(server: Server) -> None:
    """As of every other way."""
    server.code = 500
    with pytest.raises(NotifyFailed, match="apprise could not deliver to the json: URL"):
        notifier_for(server.url.replace("http://", "json://")).send(message())
    with pytest.raises(NotifyFailed, match="does not know"):
        notifier_for("nobody-knows-this://x")
