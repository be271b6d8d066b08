"""What proves that one belongs to a run: user, password and one self-signed certificate, made once per batch host."""

import contextlib
import datetime as dt
import ipaddress
import os
import secrets
import stat
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from supervisor.errors import RunFolderUnusable
from supervisor.model.base import Fact, encode

if TYPE_CHECKING:
    from cryptography import x509

_PASSWORD_BYTES: Final = 32
_PRIVATE: Final = 0o600
_FOR_OTHERS: Final = 0o077
# Clocks of nodes differ, and a run may be resumed for months: the certificate must not be the first thing to fail.
_BEFORE: Final = dt.timedelta(days=30)
_AFTER: Final = dt.timedelta(days=3650)


class Secrets(Fact, frozen=True, kw_only=True):
    """Everything a broker and its clients share. Lives in a 0600 file, never in argv or an environment."""

    user: str
    password: str
    address: str
    """The IP address that the certificate names."""
    certificate_pem: str
    """Self-signed: what the broker shows, and all that its clients trust."""
    key_pem: str
    port: int = 0
    """Where the run's agents were told to find the broker; 0: none was started yet."""

    def __repr__(self) -> str:
        return f"Secrets(user={self.user!r}, address={self.address!r}, port={self.port})"


def make(address: str) -> Secrets:
    """New credentials for a broker on this IP address. Takes a few milliseconds of one core."""
    certificate, key = _self_signed(address)
    return Secrets(
        user=f"run-{secrets.token_hex(4)}",
        password=secrets.token_urlsafe(_PASSWORD_BYTES),
        address=address,
        certificate_pem=certificate,
        key_pem=key,
    )


def save(path: Path, made: Secrets) -> None:
    """Put them into a file that only its owner can read, whole or not at all. Raises `RunFolderUnusable`."""
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
        with open(descriptor, "wb") as file:  # noqa: PTH123 - wraps a descriptor, which Path.open cannot
            os.fchmod(descriptor, _PRIVATE)
            file.write(encode(made))
            file.flush()
            os.fsync(descriptor)
        draft.replace(path)
    except OSError as exc:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise RunFolderUnusable(
            f"{path} cannot be written ({exc.strerror}): free space there or move SUPERVISE_HOME"
        ) from exc


def load(path: Path) -> Secrets | None:
    """What the file holds; None where it is missing, damaged or was readable by others. Raises `RunFolderUnusable`."""
    try:
        with path.open("rb") as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & _FOR_OTHERS:
                return None
            return msgspec.json.decode(file.read(), type=Secrets)
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise RunFolderUnusable(f"{path} cannot be read ({exc.strerror}): check who owns the run folder") from exc
    except msgspec.MsgspecError:
        return None


def load_or_make(path: Path, address: str) -> Secrets:
    """The credentials of this run for a broker on this address: those of before, else new ones, kept in the file.

    Blocks for a few milliseconds and on the filesystem: call it in a thread. Raises `RunFolderUnusable`.
    """
    found = load(path)
    if found is not None and found.address == address:
        return found
    made = make(address)
    save(path, made)
    return made


def _self_signed(address: str) -> tuple[str, str]:
    # Imported here: 16 MB that the agents and the command line need not load.
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key()
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "supervise")])
    now = dt.datetime.now(dt.UTC)
    identifier = x509.SubjectKeyIdentifier.from_public_key(public)
    certificate = (
        x509.CertificateBuilder(name, name, public, x509.random_serial_number(), now - _BEFORE, now + _AFTER)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(identifier, critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return certificate.public_bytes(serialization.Encoding.PEM).decode(), private.decode()


def _usage() -> "x509.KeyUsage":
    from cryptography import x509  # as above

    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
