"""A webhook gets one JSON object, and its URL is never told to anybody else."""

import json
import socket
import threading

import pytest

from supervisor.errors import NotifyFailed
from supervisor.notify import webhook as module
from supervisor.notify.webhook import Webhook
from tests.notify.conftest import Server
from tests.notify.made import message


def test_a_message_arrives_as_json(server: Server) -> None:
    """With all that a script could branch on."""
    Webhook(server.url).send(message(cls="software", cause="cuda_oom"))
    ((path, headers, body),) = server.got
    assert path == "/hook/secret-part"
    assert headers["Content-Type"] == "application/json"
    assert headers["User-Agent"].startswith("supervise/")
    assert json.loads(body) == {
        "kind": "stopped",
        "title": "supervise: job 17 stopped",
        "text": "out of memory",
        "run_id": "llama-abcde",
        "job_id": "17",
        "at": 1000.0,
        "cls": "software",
        "cause": "cuda_oom",
        "fingerprint": "oom",
    }


@pytest.mark.parametrize("code", [403, 500, 302, 307])
def test_any_other_answer_is_a_failure(server: Server, code: int) -> None:
    """A redirect is not followed: what is told goes where the person said."""
    server.code = code
    with pytest.raises(NotifyFailed) as caught:
        Webhook(server.url).send(message())
    assert str(caught.value) == f"127.0.0.1 answered {code}"
    assert len(server.got) == 1


def test_a_server_that_is_not_there_is_told_without_the_url() -> None:
    """The path is a secret, also in our own log."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(NotifyFailed) as caught:
        Webhook(f"http://127.0.0.1:{port}/secret").send(message())
    assert str(caught.value) == "127.0.0.1 was not reached: Connection refused"


def test_a_server_that_hangs_is_given_up(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the deadline."""
    monkeypatch.setattr(module, "DEADLINE_S", 0.3)
    server.hangs = threading.Event()
    with pytest.raises(NotifyFailed, match=r"127\.0\.0\.1 was not reached: "):
        Webhook(server.url).send(message())


@pytest.mark.parametrize("url", ["http:", "https:///path", "http://[::1", "https:host/path"])
def test_what_names_no_host_is_refused(url: str) -> None:
    """Before anything is sent."""
    with pytest.raises(NotifyFailed, match="the webhook's URL"):
        Webhook(url)


def test_a_url_that_cannot_be_asked_does_not_show_in_the_error() -> None:
    """The standard library quotes it."""
    with pytest.raises(NotifyFailed) as caught:
        Webhook("http://127.0.0.1:1/sec\x7fret").send(message())
    assert "ret" not in str(caught.value).replace("reached", "")
