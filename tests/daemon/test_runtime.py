"""What agents and ranks of a run are started from."""

from pathlib import Path

from supervisor.daemon.assemble import _runtime
from supervisor.slurm.keeper_files import BOOT, programs


def test_a_run_of_an_older_version_gets_what_agents_start_with(tmp_path: Path) -> None:
    """Its submission laid no boot program into the folder; one that is there stays as it is."""
    assert _runtime(tmp_path) == tmp_path / "runtime.tar"
    assert (tmp_path / BOOT).read_bytes() == programs()[BOOT]
    (tmp_path / BOOT).write_text("# of the submission\n")
    _runtime(tmp_path)
    assert (tmp_path / BOOT).read_text() == "# of the submission\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["beat", "boot.py", "runtime.tar"]
