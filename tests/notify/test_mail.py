"""Mail goes through sendmail, to whom the URL says and to nobody else."""

import email
import email.policy
from pathlib import Path

import pytest

from supervisor.errors import NotifyFailed
from supervisor.notify import mail as module
from supervisor.notify.mail import Mail
from tests.notify.conftest import Sendmail
from tests.notify.made import message


def test_a_mail_has_subject_text_and_recipients(sendmail: Sendmail) -> None:
    """And says that a program wrote it."""
    Mail("mailto:me@site.example,ops%2Bgpu@site.example").send(message(text="Grüße\nsecond line"))
    got = email.message_from_string(sendmail.mail, policy=email.policy.default)
    assert sendmail.arguments == "-i -t"
    assert got["To"] == "me@site.example, ops+gpu@site.example"
    assert got["Subject"] == "supervise: job 17 stopped"
    assert got["Auto-Submitted"] == "auto-generated"
    assert got["X-Supervise-Run"] == "llama-abcde"
    assert got.get_content() == "Grüße\nsecond line\n"


@pytest.mark.parametrize(
    "url",
    [
        "mailto:",
        "mailto:-oQ/tmp@x",
        "mailto:a@b%0aBcc:evil@x",
        "mailto:a b@c",
        "mailto:a@b,",
        "mailto:a@b@c",
        "mailto:|sh",
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    """An address is the one thing in a mail that could be taken for something else."""
    with pytest.raises(NotifyFailed, match="is no mail address"):
        Mail(url)


def test_a_local_user_is_an_address() -> None:
    """Many sites deliver to the name of the login."""
    assert Mail("mailto:me")


def test_a_refusal_is_told(sendmail: Sendmail) -> None:
    """With sendmail's exit code."""
    sendmail.is_like("exit 75")
    with pytest.raises(NotifyFailed, match=r"refused the mail \(exit 75\)"):
        Mail("mailto:me").send(message())


def test_a_sendmail_that_hangs_is_ended(sendmail: Sendmail, monkeypatch: pytest.MonkeyPatch) -> None:
    """So is what cannot be started."""
    monkeypatch.setattr(module, "DEADLINE_S", 0.3)
    sendmail.is_like("exec sleep 60")
    with pytest.raises(NotifyFailed, match="did not take the mail: TimeoutExpired"):
        Mail("mailto:me").send(message())
    (sendmail.folder / "sendmail").write_bytes(b"\x7fELF")
    with pytest.raises(NotifyFailed, match="did not take the mail: OSError"):
        Mail("mailto:me").send(message())


def test_a_node_without_sendmail_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute nodes often have none."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(module, "_PLACES", str(tmp_path))
    with pytest.raises(NotifyFailed, match="there is no sendmail on this node"):
        Mail("mailto:me").send(message())
