"""The product in the root of another Debian release, with that release's own Python."""

import hashlib
import os
from pathlib import Path

from product.venv import CHECKOUT, is_open_to_all
from testbed.api import Testbed

_PIP_S = 900.0
_PASSED_ON = ("PIP_CERT", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
CERTIFICATES = Path("/etc/ssl/certs")
"""A site's own may be among them; bound into the testbed, so that pip in the root finds them."""


def environment(bed: Testbed) -> Path:
    """The Python of an environment inside the root of this testbed's release, which keeps it for the next time."""
    is_linked = is_open_to_all(CHECKOUT)
    place = Path(f"/opt/supervise-{_key(is_linked=is_linked)}")
    python = place / "bin" / "python"
    done = place / "done"
    if bed.run(["test", "-e", str(done)], user="root", check=False).returncode:
        product = ["--editable", str(CHECKOUT)] if is_linked else [str(CHECKOUT)]
        group = ["--group", f"{CHECKOUT / 'pyproject.toml'}:demo"]
        _root(bed, "rm", "-rf", "/opt")  # of an earlier checkout
        _root(bed, "mkdir", "-p", "/opt")
        _root(bed, "python3", "-m", "venv", str(place))
        _root(bed, str(python), "-m", "pip", "install", "--quiet", "--upgrade", "pip")
        _root(bed, str(python), "-m", "pip", "install", "--quiet", *product, *group)
        _root(bed, "touch", str(done))
    return python


def _key(*, is_linked: bool) -> str:
    """What the environment is made from: dependencies, and the code itself or where it lies."""
    parts = [(CHECKOUT / "pyproject.toml").read_bytes(), str(CHECKOUT).encode()]
    if not is_linked:
        parts += [path.read_bytes() for path in sorted((CHECKOUT / "supervisor").rglob("*.py"))]
    return hashlib.sha256(b"".join(parts)).hexdigest()[:12]


def _root(bed: Testbed, *argv: str) -> None:
    passed = {name: value for name, value in os.environ.items() if name.upper() in _PASSED_ON}
    bed.run(argv, user="root", cwd=Path("/"), env=passed, deadline_s=_PIP_S)
