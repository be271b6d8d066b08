"""The command line of the fuzzer: an environment of its own, seeds, and what was found."""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from product.venv import CHECKOUT

TARGETS = ("scanner", "dump")
_DATA = CHECKOUT / "tests" / "data"
_INSTALL_S = 900
_SLACK_S = 120
_ONE_INPUT_S = 20
_RSS_MB = 2500
_LENGTHS = {"scanner": 16_384, "dump": 4096}
_SEED_BYTES = 8192
_EXECUTED = re.compile(r"stat::number_of_executed_units:\s+(\d+)")


@dataclass(frozen=True, slots=True)
class Fuzzed:
    """What came out of one target."""

    target: str
    executions: int
    findings: tuple[str, ...]
    """Inputs that made it raise, loop or grow: files to try again with `--again FILE`."""


def main(argv: Sequence[str] | None = None) -> int:
    """0 when nothing was found."""
    arguments = _parser().parse_args(argv)
    targets: list[str] = arguments.targets or list(TARGETS)
    place: Path = arguments.place
    python = _python(place)
    if arguments.again:
        return subprocess.run([str(python), str(_program()), targets[0], str(arguments.again)], check=False).returncode
    results = [_fuzz(python, place, target, arguments.seconds) for target in targets]
    for result in results:
        print(json.dumps(asdict(result)))
    return 1 if any(one.findings or not one.executions for one in results) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="time for each target")
    parser.add_argument(
        "--again", type=Path, help="try this one input again with the first target, and show what it raises"
    )
    parser.add_argument(
        "--place",
        type=Path,
        default=Path(tempfile.gettempdir()) / "supervise-fuzz",
        help="folder for the environment, the inputs that it learns and what it finds; may be thrown away at any time",
    )
    # argparse checks the default of a `*` argument against `choices` too, so it is checked in _target.
    parser.add_argument(
        "targets", nargs="*", type=_target, metavar="TARGET", help=f"of {', '.join(TARGETS)}; all by default"
    )
    return parser


def _target(name: str) -> str:
    if name not in TARGETS:
        raise argparse.ArgumentTypeError(f"there is no target {name!r}: choose of {', '.join(TARGETS)}")
    return name


def _python(place: Path) -> Path:
    """An environment with atheris, which has wheels for few machines and so is no dependency of the project."""
    python = place / "venv" / "bin" / "python"
    done = place / "venv" / "done"
    if not done.exists():
        commands = [
            [sys.executable, "-m", "venv", "--clear", str(place / "venv")],
            [str(python), "-m", "pip", "install", "--quiet", "atheris", "--editable", str(CHECKOUT)],
        ]
        for command in commands:
            subprocess.run(command, check=True, timeout=_INSTALL_S)
        done.touch()
    return python


def _program() -> Path:
    return Path(__file__).with_name("target.py")


def _fuzz(python: Path, place: Path, target: str, seconds: int) -> Fuzzed:
    corpus, found = place / "corpus" / target, place / "found" / target
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(_seeds(target)):
        (corpus / f"seed-{number}").write_bytes(seed[:_SEED_BYTES])
    words = place / f"{target}.dict"
    words.write_text("\n".join(_dictionary(target)) + "\n", encoding="utf-8")
    options = [
        f"-max_total_time={seconds}",
        f"-timeout={_ONE_INPUT_S}",
        f"-rss_limit_mb={_RSS_MB}",
        f"-max_len={_LENGTHS[target]}",
        f"-artifact_prefix={found}/",
        f"-dict={words}",
        "-print_final_stats=1",
        "-verbosity=1",
    ]
    with (place / f"{target}.log").open("w+", encoding="utf-8", errors="replace") as log:
        subprocess.run(
            [str(python), str(_program()), target, str(corpus), *options],
            stdout=log,
            stderr=log,
            check=False,
            timeout=seconds + _SLACK_S,
        )
        log.seek(0)
        executed = _EXECUTED.findall(log.read())
    return Fuzzed(target, int(executed[-1]) if executed else 0, tuple(str(one) for one in sorted(found.iterdir())))


def _seeds(target: str) -> Iterator[bytes]:
    """The project's own incidents, or real dumps."""
    if target == "dump":
        for path in sorted((_DATA / "flight").rglob("rank_*")):
            yield path.read_bytes()
        return
    for path in sorted((_DATA / "incidents").rglob("*.toml")):
        for text in tomllib.loads(path.read_text(encoding="utf-8"))["files"].values():
            yield text.encode()


def _dictionary(target: str) -> Iterator[str]:
    """Words that the readers look for, as libFuzzer wants them."""
    if target == "dump":
        words = {"entries", "pg_config", "pg_status", "ranks", "collective_seq_id", "process_group", "is_p2p", "[0, 1]"}
    else:
        packs = (CHECKOUT / "supervisor" / "diagnose" / "packs").glob("*.toml")
        told = [tomllib.loads(path.read_text(encoding="utf-8")) for path in packs]
        words = {word for pack in told for one in pack["signature"] for word in one["literals"]}
    for word in sorted(words):
        if word.isascii() and word.isprintable():
            escaped = word.replace("\\", "\\\\").replace('"', '\\"')
            yield f'"{escaped}"'
