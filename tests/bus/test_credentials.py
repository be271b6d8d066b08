"""Credentials: cheap, private, kept, and never shown by accident."""

import statistics
import time
from pathlib import Path

from cryptography import x509

from supervisor.bus import credentials
from supervisor.bus.credentials import Secrets


def test_a_certificate_takes_less_than_50_ms() -> None:
    """Making credentials does not delay a job."""
    credentials.make("127.0.0.1")  # the first one imports the library
    took = []
    for _ in range(9):
        start = time.perf_counter()
        credentials.make("127.0.0.1")
        took.append(time.perf_counter() - start)
    assert statistics.median(took) < 0.05


def test_the_certificate_names_the_address_alone(secrets: Secrets) -> None:
    """The certificate is good for the node's address and for nothing else."""
    certificate = x509.load_pem_x509_certificate(secrets.certificate_pem.encode())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name.value) for name in names] == ["127.0.0.1"]


def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    """Nobody else can read the secrets, and no half-written file stays."""
    path = tmp_path / "secrets"
    path.write_text("an older, open file")
    path.chmod(0o644)
    credentials.load_or_make(path, "127.0.0.1")
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["secrets"]


def test_a_supervisor_that_comes_back_uses_the_same_credentials(tmp_path: Path) -> None:
    """What agents were told stays true."""
    path = tmp_path / "secrets"
    assert credentials.load_or_make(path, "127.0.0.1") == credentials.load_or_make(path, "127.0.0.1")


def test_another_batch_host_gets_new_credentials(tmp_path: Path) -> None:
    """A certificate is never used for an address that it does not name."""
    path = tmp_path / "secrets"
    first = credentials.load_or_make(path, "127.0.0.1")
    second = credentials.load_or_make(path, "127.0.0.2")
    assert (second.address, second.password != first.password) == ("127.0.0.2", True)


def test_a_file_that_others_could_read_is_not_believed(tmp_path: Path, secrets: Secrets) -> None:
    """Secrets that were open are replaced."""
    path = tmp_path / "secrets"
    credentials.save(path, secrets)
    path.chmod(0o640)
    assert credentials.load(path) is None


def test_a_damaged_file_is_replaced(tmp_path: Path) -> None:
    """A file cut short leads to new credentials, not to an error."""
    path = tmp_path / "secrets"
    path.write_bytes(b'{"user": "run-')
    path.chmod(0o600)
    assert credentials.load_or_make(path, "127.0.0.1").password


def test_secrets_do_not_show_in_a_traceback(secrets: Secrets) -> None:
    """Their text form holds neither password nor key."""
    assert secrets.password not in repr(secrets)
    assert "PRIVATE" not in repr(secrets)
