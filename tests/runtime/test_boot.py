"""Starting from one file: few opens on the shared filesystem, nobody else's code, nothing left behind."""

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from supervisor.errors import RunFolderUnusable
from supervisor.runtime import boot
from supervisor.runtime.for_agents import build_runtime

COUNTING = """
import os, runpy, sys
shared, tell = sys.argv[1:3]
opened = []
def hook(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)) and os.fsdecode(arguments[0]).startswith(shared):
        opened.append(os.fsdecode(arguments[0]))
sys.addaudithook(hook)
sys.argv = sys.argv[3:]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
finally:
    with open(tell, "w") as file:
        file.write("\\n".join(opened))
"""


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """The node's own folder for what is temporary."""
    path = tmp_path / "node"
    path.mkdir(mode=0o700)
    return path


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """The run folder on the shared filesystem, with all that an agent is started from."""
    path = tmp_path / "shared"
    path.mkdir(mode=0o700)
    build_runtime(path / "runtime.tar")
    (path / "boot.py").write_bytes(Path(boot.__file__).read_bytes())
    config = {
        "run_id": "r-abcde",
        "job_id": "17",
        "nodes": ["n1", "n2"],
        "transport": "stdout",
        "run_dir": str(path),
        "batch_host": "n1",
    }
    (path / "agent.json").write_text(json.dumps(config))
    return path


def _environment(node: Path) -> dict[str, str]:
    own = {"TMPDIR": str(node), "SUPERVISE_BEAT_DIR": str(node / "pages")}
    return {"PATH": os.environ["PATH"], "SLURMD_NODENAME": "n2", "SLURM_JOB_ID": "17", **own}


@pytest.fixture
def agent(shared: Path, node: Path) -> Iterator[subprocess.Popen[str]]:
    """A real agent from the tar, over its own stdin and stdout, with its opens on the shared filesystem recorded."""
    words = [str(shared / "boot.py"), str(shared / "runtime.tar"), "supervisor.agent", str(shared / "agent.json")]
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", COUNTING, str(shared), str(node / "opened"), *words],
        env=_environment(node),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.kill()


def _until(agent: subprocess.Popen[str], word: str) -> str:
    assert agent.stdout is not None
    for line in agent.stdout:
        if word in line:
            return line
    assert agent.stderr is not None
    pytest.fail(f"the agent ended without {word}: {agent.stderr.read()}")


def test_an_agent_runs_from_the_tar_alone(agent: subprocess.Popen[str], node: Path) -> None:
    """It reports and beats with nothing but the standard library and the tar, and leaves nothing behind."""
    status = json.loads(_until(agent, '"up"'))
    assert (status["type"], status["node"], status["pid"]) == ("status", "n2", agent.pid)
    _until(agent, '"beats"')
    agent.terminate()
    _until(agent, '"down"')
    assert agent.wait(60) == 0
    assert [path.name for path in node.iterdir()] == ["opened"]


def test_it_opens_few_files_on_the_shared_filesystem(agent: subprocess.Popen[str], node: Path, shared: Path) -> None:
    """Boot script, tar and configuration: 2,048 nodes start at the same moment. The bar is 50."""
    _until(agent, '"beats"')
    agent.terminate()
    assert agent.wait(60) == 0
    opened = (node / "opened").read_text().split()
    assert {Path(path).name for path in opened} >= {"runtime.tar", "agent.json"}
    assert len(opened) <= 6
    assert shared.exists()


def test_it_runs_when_nothing_else_does(agent: subprocess.Popen[str]) -> None:
    """Niceness 19 and the idle class: an agent takes no processor that a rank could use."""
    _until(agent, '"up"')
    assert os.getpriority(os.PRIO_PROCESS, agent.pid) == 19
    assert os.sched_getscheduler(agent.pid) == os.SCHED_IDLE


def test_the_same_installation_gives_the_same_tar(tmp_path: Path) -> None:
    """The tar's hash names the folder on the nodes: it must not change from one building to the next."""
    build_runtime(tmp_path / "a")
    build_runtime(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    with tarfile.open(tmp_path / "a") as tar:
        names = tar.getnames()
    assert not [name for name in names if name.startswith(("psutil", "cryptography", "supervisor/cli"))]


def test_a_tar_that_is_there_is_not_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A supervisor begins anew on a disk that is full by now; what is torn or of another version is replaced."""
    build_runtime(tmp_path / "runtime.tar")
    whole = (tmp_path / "runtime.tar").read_bytes()
    (tmp_path / "torn.tar").write_bytes(whole[:-1])
    build_runtime(tmp_path / "torn.tar")
    assert (tmp_path / "torn.tar").read_bytes() == whole

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    build_runtime(tmp_path / "runtime.tar")


def test_a_tar_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    """The error names the file and the reason."""
    with pytest.raises(RunFolderUnusable, match=r"none/runtime\.tar cannot be written \(No such file"):
        build_runtime(tmp_path / "none" / "runtime.tar")


@pytest.fixture
def content(tmp_path: Path) -> bytes:
    """A small tar with a name that leads out of the folder."""
    (tmp_path / "file").write_text("x = 1\n")
    with tarfile.open(tmp_path / "tar", "w") as tar:
        tar.add(tmp_path / "file", "package/module.py")
        tar.add(tmp_path / "file", "../escaped.py")
    return (tmp_path / "tar").read_bytes()


def _unpacked(content: bytes, node: Path) -> Path:
    root = boot.unpack(content, _environment(node), Path("/shared/runtime.tar"))
    assert root is not None
    return root


def test_unpacking_happens_once_and_stays_inside(content: bytes, node: Path) -> None:
    """The second agent finds the first one's folder; no file lands outside; nobody else can read it."""
    root = _unpacked(content, node)
    (root / "mark").touch()
    assert _unpacked(content, node) == root
    assert (root / "mark").exists()
    assert [path.name for path in node.iterdir()] == [root.name]
    assert root.stat().st_mode & 0o777 == 0o700


def test_a_half_deleted_folder_is_not_run(content: bytes, node: Path) -> None:
    """Cleaners of /tmp take single files: then the tar is unpacked anew, elsewhere."""
    root = _unpacked(content, node)
    (root / "package/module.py").unlink()
    again = _unpacked(content, node)
    assert again != root
    assert (again / "package/module.py").read_text() == "x = 1\n"


def test_what_was_killed_over_its_removal_goes_with_the_next(content: bytes, node: Path) -> None:
    """A node that is busy to the last moment leaves no time."""
    left = node / f"{boot.PREFIX}16-abc.4711.gone"
    (left / "package").mkdir(parents=True)
    other = node / f"{boot.PREFIX}18-abc"
    other.mkdir()
    boot._remove(_unpacked(content, node))
    assert list(node.iterdir()) == [other]


@pytest.mark.parametrize("kind", ["open folder", "link", "file"])
def test_a_trap_under_the_name_is_not_run(content: bytes, node: Path, tmp_path: Path, kind: str) -> None:
    """The name can be guessed: a folder that others may write, a link or a file there is gone around."""
    root = _unpacked(content, node)
    (root / "package/module.py").unlink()
    (root / "package").rmdir()
    root.rmdir()
    trap = tmp_path / "trap"
    (trap / "package").mkdir(parents=True)
    (trap / "package/module.py").write_text("x = 2\n")
    if kind == "open folder":
        trap.rename(root)
        root.chmod(0o777)
    elif kind == "link":
        root.symlink_to(trap)
    else:
        root.write_text("")
    safe = _unpacked(content, node)
    assert safe != root
    assert (safe / "package/module.py").read_text() == "x = 1\n"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_somebody_else_is_not_run(content: bytes, node: Path) -> None:
    """Not even with the right files in it."""
    root = _unpacked(content, node)
    os.chown(root, 12345, 12345)
    assert _unpacked(content, node) != root
    os.chown(root, 0, 0)


def test_a_folder_that_anybody_can_swap_is_passed_over(content: bytes, node: Path) -> None:
    """A base where others may rename what we made is not used; /tmp with its sticky bit is."""
    node.chmod(0o777)
    root = _unpacked(content, node)
    assert root.parent != node
    boot._remove(root)
    node.chmod(0o1777)
    assert _unpacked(content, node).parent == node


def test_where_nothing_will_do_the_installed_package_runs(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """No usable folder on the node: more opens on the shared filesystem are better than no agent."""
    monkeypatch.setattr(boot, "_is_fit", lambda _: False)
    assert boot.unpack(content, {}, Path("/shared/runtime.tar")) is None


def test_a_folder_on_another_machine_is_no_folder_of_this_node(
    content: bytes, node: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TMPDIR often lies on the very filesystem that must be spared."""
    monkeypatch.setattr(boot, "_filesystem", lambda base: "lustre" if base == node else "ext4")
    root = _unpacked(content, node)
    assert root.parent != node
    boot._remove(root)
