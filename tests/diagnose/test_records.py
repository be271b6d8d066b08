"""How sure the engine is of a record at fault. The cases themselves stand in `small_record_cases`."""

from pathlib import Path

from supervisor.diagnose.engine import diagnose
from supervisor.diagnose.reading.folder import read_bundle
from tests.diagnose.small_record_cases import STEPS, WORKER, raised


def test_a_name_alone_says_less_of_a_job_with_one_rank(tmp_path: Path) -> None:
    """A library that reads, in the same traceback, makes it surer."""
    said = []
    for number, above in enumerate(("", WORKER)):
        path = tmp_path / f"{number}.out"
        path.write_text(STEPS + raised("KeyError: 'bbox'", "/w/pairs.py", "__getitem__", above))
        said.append(diagnose(read_bundle(path)).confidence)
    assert said[0] < said[1]
