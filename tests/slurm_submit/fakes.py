"""An sbatch and a squeue that do what a test tells them, as programs on PATH."""

import shlex
from pathlib import Path

_SBATCH = """#!/bin/sh
cd {folder} || exit 99
if [ "$1" = --help ]; then cat help; exit; fi
echo x >>calls
env >env
: >argv
for word; do printf '%s\\0' "$word" >>argv; done
[ ! -e read-stdin ] || cat >stdin
[ ! -e stderr ] || cat stderr >&2
[ ! -e stdout ] || cat stdout
[ ! -e die ] || kill -TERM $$
[ ! -e hang ] || {{ echo $$ >hanging; exec sleep 300; }}
[ ! -e stdout-later ] || {{ until [ -e go ]; do sleep 0.05; done; cat stdout-later; }}
exit "$(cat code)"
"""
_SQUEUE = """#!/bin/sh
cd {folder} || exit 99
echo x >>squeue-calls
[ -e queue ] || {{ echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1; }}
cat queue
"""


class FakeSlurm:
    """What the programs were called with, and what they shall say."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "fake"
        self.bin = folder / "fake-bin"
        self.folder.mkdir()
        self.bin.mkdir()
        for name, text in (("sbatch", _SBATCH), ("squeue", _SQUEUE)):
            program = self.bin / name
            program.write_text(text.format(folder=shlex.quote(str(self.folder))))
            program.chmod(0o755)
        self.says(stdout="Submitted batch job 4242\n")

    def says(self, *, stdout: str = "", stderr: str = "", code: int = 0) -> None:
        """The answer of the next sbatch."""
        (self.folder / "stdout").write_text(stdout)
        (self.folder / "stderr").write_text(stderr)
        (self.folder / "code").write_text(str(code))

    def hangs(self) -> None:
        """Sbatch says its words and then does not end."""
        (self.folder / "hang").touch()

    def dies(self) -> None:
        """A signal ends sbatch once it has said its words."""
        (self.folder / "die").touch()

    def says_later(self, stdout: str) -> None:
        """More words, which come once `goes_on` was called."""
        (self.folder / "stdout-later").write_text(stdout)

    def goes_on(self) -> None:
        """Let sbatch say the rest."""
        (self.folder / "go").touch()

    def plugins(self, text: str) -> None:
        """What `sbatch --help` prints."""
        (self.folder / "help").write_text(text)

    def reads_stdin(self) -> None:
        """The next sbatch reads the script from its stdin."""
        (self.folder / "read-stdin").touch()

    def queue(self, text: str) -> None:
        """What squeue prints; before this is called it fails."""
        (self.folder / "queue").write_text(text)

    @property
    def argv(self) -> list[str]:
        """Arguments of the last sbatch."""
        return (self.folder / "argv").read_bytes().decode(errors="surrogateescape").split("\0")[:-1]

    @property
    def env(self) -> dict[str, str]:
        """Environment of the last sbatch."""
        lines = (self.folder / "env").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line)

    @property
    def stdin(self) -> bytes:
        """What the last sbatch read."""
        return (self.folder / "stdin").read_bytes()

    def calls(self, program: str = "") -> int:
        """How often sbatch (`squeue-`: squeue) was called."""
        path = self.folder / f"{program}calls"
        return len(path.read_text().splitlines()) if path.exists() else 0
