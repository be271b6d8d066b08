"""The keeper and the supervisor's end of their line, together."""

import os
from pathlib import Path

import msgspec

import supervisor
from tests.keeper.conftest import Bench

_LINK = Path(supervisor.__path__[0]) / "daemon/keeper_link.py"
_REAL = f"""
import asyncio, importlib.util
sys.path += {[str(Path(msgspec.__file__).parents[1])]!r}
import supervisor
supervisor.__path__ += {list(supervisor.__path__)!r}
spec = importlib.util.spec_from_file_location("keeper_link", {str(_LINK)!r})
keeper_link = importlib.util.module_from_spec(spec)
spec.loader.exec_module(keeper_link)

async def main():
    keeper = await keeper_link.KeeperLink.inherited()
    keeper.start(1, {{"ODD": "\\udce9"}}, ("GONE",))
    async for report in keeper.reports():
        print(type(report).__name__, flush=True)
        if isinstance(report, keeper_link.Ended):
            keeper.finish(code=report.code, signal=report.signal)

asyncio.run(main())
"""


def test_an_attempt_runs_from_start_to_finish(bench: Bench) -> None:
    """Both speak the same language, and the supervisor ends by itself when the keeper hangs up."""
    bench.supervisor(_REAL)
    bench.script('test "$ODD" = "$1" && test -z "$GONE" && exit 17\n')
    code, out, err = bench.finish(bench.start(os.fsdecode(b"\xe9"), env={"GONE": "1"}))
    assert (code, out, err) == (17, "Started\nEnded\n", "")
