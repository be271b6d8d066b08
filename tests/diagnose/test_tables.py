"""The tables of causes and signatures are what the code relies on."""

import time
from pathlib import Path

import pytest

from supervisor.diagnose import signatures, taxonomy
from supervisor.diagnose.scan.catalogue import Catalogue, catalogue
from supervisor.model.verdict import Class, Retry

_GOOD = '[[signature]]\nid = "a"\nrole = "root"\ncause = "segfault"\nweight = 0.5\nliterals = ["xyz"]\npattern = "x"\n'
_SCREEN = 125


def test_the_table_has_every_class() -> None:
    """Each class has causes, and each cause words for a person."""
    assert {cause.cls for cause in taxonomy.causes().values()} == set(Class)
    assert all(cause.row.says for cause in taxonomy.causes().values())


def test_a_cause_that_a_rerun_does_not_cure_says_what_does() -> None:
    """A person is needed, and reads what to do in one line of a screen."""
    helpless = {Retry.NO, Retry.NEVER, Retry.SKIP}
    for cause in taxonomy.causes().values():
        assert cause.row.next or cause.row.retry not in helpless or cause.name == "completed", cause.name
        assert len(cause.row.next) <= _SCREEN, cause.name
        assert ": " not in cause.row.says, f"{cause.name}: the line of the log follows after a colon"


@pytest.mark.parametrize(
    ("name", "retry", "exclude"),
    [
        ("node_unreachable", Retry.YES, True),
        ("cuda_oom", Retry.NO, False),
        ("segfault", Retry.ONCE, False),
        ("switch_failure", Retry.YES, False),
        ("driver_library_mismatch", Retry.YES, True),
        ("corrupt_shard", Retry.SKIP, False),
        ("user_cancel", Retry.NEVER, False),
        ("checkpoint_corrupt", Retry.YES, False),
    ],
)
def test_retry_and_exclusion_are_separate_answers(name: str, retry: Retry, exclude: bool) -> None:  # noqa: FBT001 - a table
    """Class, retry and exclusion do not follow from each other."""
    row = taxonomy.cause(name).row
    assert (row.retry, row.exclude) == (retry, exclude)


def test_no_software_or_data_cause_of_the_program_excludes_a_node() -> None:
    """Data and planned causes never take a node out."""
    for cause in taxonomy.causes().values():
        if cause.cls in {Class.DATA, Class.PLANNED, Class.UNKNOWN}:
            assert not cause.row.exclude, cause.name


def test_an_unknown_cause_is_unattributed() -> None:
    """A name from a newer version is an honest unknown."""
    assert taxonomy.cause("nonsense").name == "unattributed"


def test_a_name_in_two_classes_is_refused() -> None:
    """Each cause has exactly one class."""
    row = '{ retry = "no", says = "x" }'
    with pytest.raises(ValueError, match="class hardware"):
        taxonomy.parse(f"[hardware]\na = {row}\n[data]\na = {row}\n")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('cause = "segfault"', 'cause = "bad_luck"', "bad_luck"),
        ('literals = ["xyz"]', "literals = []", "literals"),
        ('literals = ["xyz"]', 'literals = ["x"]', "too short"),
        ("weight = 0.5", "weight = 0.0", "weight"),
        ('pattern = "x"', 'pattern = "("', "pattern"),
        ('pattern = "x"', "pattern = '(?P<colour>x)'", "colour"),
        ('role = "root"', 'role = "hero"', "hero"),
        ('id = "a"', 'id = "a"\ncolour = "red"', "colour"),
    ],
)
def test_a_wrong_signature_is_refused(old: str, new: str, complaint: str) -> None:
    """The message names what is wrong with it."""
    list(signatures.checked(signatures.parse(_GOOD)))
    with pytest.raises(ValueError, match=complaint):
        list(signatures.checked(signatures.parse(_GOOD.replace(old, new))))


def test_the_packs_are_right() -> None:
    """Every signature of the product has what it needs, and ids are unique over all packs."""
    assert list(signatures.checked(signatures.built_in()))


def test_two_signatures_of_one_name_are_refused() -> None:
    """Evidence names signatures, so names are unique."""
    with pytest.raises(ValueError, match="twice"):
        list(signatures.checked(signatures.parse(_GOOD + _GOOD)))


def test_no_pattern_is_slow() -> None:
    """A hostile line of 4000 characters costs no pattern more than 20 ms of the processor."""
    known = catalogue()
    lines = ["srun: error: " + "a" * 4000, "Xid (PCI:" + "0" * 4000, "File: " * 600 + "Error", " OSError" * 500 + "Xid"]
    for index, signature in enumerate(known.signatures):
        known.search(index, "", "any")  # compiled before the clock runs
        for line in lines:
            took = min(_processor_s(known, index, line) for _ in range(2))
            assert took < 0.02, (signature.id, line[:20])


def _processor_s(known: Catalogue, index: int, line: str) -> float:
    began = time.process_time()
    known.search(index, line, "any")
    return time.process_time() - began


def test_the_tables_are_part_of_the_package() -> None:
    """The data lie beside the code that reads them."""
    folder = Path(signatures.__file__).parent
    assert (folder / "packs" / "slurm.toml").exists()
    assert (folder / "taxonomy.toml").exists()
