"""What Slurm's hooks add to each job on a node that is well: the scripts as slurmd runs them."""

import json
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles

from product.venv import CHECKOUT

from bench.installed import Installed
from bench.measure import Measure

_JOBS = 20
_DEADLINE_S = 60.0
_PLACE = "/var/tmp"  # noqa: S108  # mkdtemp makes the folder, and the folder is root's
_UID = "4294900000"
"""Nobody's: the hook looks for processes that such a user has left behind."""


def measures(product: Installed) -> Iterator[Measure]:
    """The epilog beside the prolog, and beside an interpreter that does nothing."""
    with tempfile.TemporaryDirectory(prefix="supervise-bench-hook-", dir=_PLACE) as name:
        folder = Path(name)
        (folder / "hooks.toml").write_text(f'spool = "{folder}/spool"\n', encoding="utf-8")
        hooks = {hook: _script(folder, hook, product) for hook in ("prolog", "epilog")}
        bare = [str(product.python), "-I", "-c", ""]
        times = [(_seconds(bare), _job(hooks["prolog"]), _job(hooks["epilog"])) for _ in range(_JOBS + 1)][1:]
        lines = (folder / "spool" / "node.jsonl").read_text(encoding="utf-8").splitlines()
    if len(lines) != _JOBS + 1:
        raise OSError(f"{len(lines)} records of {_JOBS + 1} jobs: what was measured is not the hook")
    bares, prologs, epilogs = zip(*times, strict=True)
    yield Measure(
        measure="epilog hook, healthy node",
        value=median(epilogs) * 1000,
        unit="ms",
        limit=300,
        beside={
            "p90, ms": quantiles(epilogs, n=10)[-1] * 1000,
            "prolog, ms": median(prologs) * 1000,
            "readings, ms": float(median(json.loads(line)["took_ms"] for line in lines)),
            "python -c '', ms": median(bares) * 1000,
        },
    )


def _script(folder: Path, hook: str, product: Installed) -> Path:
    """The script that is installed, with this product in it."""
    text = (CHECKOUT / "scripts" / "slurm" / f"{hook}.d" / "50-supervise").read_text(encoding="utf-8")
    for word, value in (("PYTHON", product.python), ("CONFIG", folder / "hooks.toml")):
        text = re.sub(rf"^{word}=.*$", f"{word}={value}", text, flags=re.MULTILINE)
    script = folder / hook
    script.write_text(text, encoding="utf-8")
    script.chmod(0o755)
    return script


def _job(script: Path) -> float:
    return _seconds([str(script)], SLURM_JOB_ID="1", SLURM_JOB_UID=_UID, SLURMD_NODENAME="bench")


def _seconds(argv: list[str], **environment: str) -> float:
    began = time.perf_counter()
    subprocess.run(argv, env=environment, check=True, stdin=subprocess.DEVNULL, timeout=_DEADLINE_S)
    return time.perf_counter() - began
