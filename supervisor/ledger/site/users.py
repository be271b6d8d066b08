"""Who a record names: a name, a pseudonym that only those with the key can tell, or nobody."""

import hashlib
import hmac
import os
import re
from pathlib import Path
from typing import Final

from supervisor.ledger.site.names import PSEUDONYM_KEY

_PSEUDONYM: Final = re.compile(r"p-[0-9a-f]{16}")
_NAMELESS: Final = re.compile(r"n-[0-9a-f]{16}")
_DIGITS: Final = 16
KEY_BYTES: Final = 32


def read_key(root: Path) -> bytes:
    """The ledger's key for pseudonyms; empty where there is none for us, or another user than the ledger's has laid it.

    Its mode says who may read it, and is the site's affair. Whoever can read it can find out who is behind a pseudonym,
    by trying all users.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(root / PSEUDONYM_KEY, flags)
    except OSError:
        return b""
    try:
        is_owners = os.fstat(descriptor).st_uid == root.stat().st_uid
        key = os.read(descriptor, KEY_BYTES) if is_owners else b""
    except OSError:
        return b""
    finally:
        os.close(descriptor)
    return key if len(key) == KEY_BYTES else b""


def pseudonym(user: str, key: bytes) -> str:
    """The same for all jobs of a user under one key."""
    return f"p-{_digest(user, key)}"


def nameless(user: str, salt: bytes) -> str:
    """Stands for an owner whose record has no name: the same for his files that are put away together."""
    return f"n-{_digest(user, salt)}"


def _digest(user: str, key: bytes) -> str:
    return hmac.new(key, user.encode(errors="surrogateescape"), hashlib.sha256).hexdigest()[:_DIGITS]


def is_pseudonym(user: str) -> bool:
    """It has the form of one."""
    return _PSEUDONYM.fullmatch(user) is not None


def is_nameless(owner: str) -> bool:
    """It stands for somebody whom nobody can name any more: two of them may be one user, or one whose name is known."""
    return not owner or _NAMELESS.fullmatch(owner) is not None


def named(user: str, how: str, root: Path) -> str:
    """How a record names this user; `how` is the setting `ledger_users`. Without a key there is no pseudonym."""
    if how == "name":
        return user
    key = read_key(root) if how == "pseudonym" else b""
    return pseudonym(user, key) if key else ""


def agrees(user: str, owner: str, key: bytes) -> bool:
    """Whether the owner of a file may be the user that its record names.

    Without the key a pseudonym is believed: it claims nothing about anybody who could be named.
    """
    if user == owner or not user:  # a million times
        return True
    if not is_pseudonym(user) or is_pseudonym(owner):
        return False
    return not key or hmac.compare_digest(pseudonym(owner, key), user)
