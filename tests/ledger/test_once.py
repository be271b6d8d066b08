"""What a run does once: who does it, who waits, who tries again."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from time import sleep

import pytest

from supervisor.ledger import once
from supervisor.ledger.once import Done, Standing, Try, Wait
from supervisor.model.ids import AttemptNo

_FIRST, _SECOND = AttemptNo(1), AttemptNo(2)
_BUSY = Standing(number=1, attempt=_FIRST, sign=5)


def _try(attempt: AttemptNo = _FIRST) -> Try:
    return Try(attempt=attempt, at=1.0, host="n1")


def test_nobody_has_tried() -> None:
    """The caller does it."""
    assert Wait(_FIRST).judge(Standing()) == 1


def test_what_is_done_is_not_done_again() -> None:
    """In no attempt."""
    for attempt in (_FIRST, _SECOND):
        assert Wait(attempt).judge(replace(_BUSY, code=0)) == 0


def test_what_failed_before_is_tried_again_and_what_fails_meanwhile_is_not() -> None:
    """Eight tasks that ask at once and fail must not fail eight times, one after the other."""
    assert Wait(_FIRST).judge(replace(_BUSY, code=3)) == 2
    wait = Wait(_FIRST)
    assert wait.judge(_BUSY) is None
    assert wait.judge(replace(_BUSY, code=3)) == 0


def test_who_lost_the_next_try_waits_for_it() -> None:
    """And takes over its code."""
    wait = Wait(_FIRST)
    assert wait.judge(replace(_BUSY, code=3)) == 2
    assert wait.judge(Standing(number=2, attempt=_FIRST)) is None
    assert wait.judge(Standing(number=2, attempt=_FIRST, code=4)) == 0


def test_what_an_earlier_attempt_left_is_begun_anew() -> None:
    """Nothing of it lives any more; one that cannot be read yet may be the present one's."""
    assert Wait(_SECOND).judge(_BUSY) == 2
    assert Wait(_SECOND).judge(replace(_BUSY, attempt=None)) is None


def test_without_a_sign_of_life_it_is_begun_anew() -> None:
    """As long as signs come it is waited for."""
    wait = Wait(_FIRST)
    for sign in range(3 * once.GONE_LOOKS):
        assert wait.judge(replace(_BUSY, sign=sign)) is None
    said = [wait.judge(_BUSY) for _ in range(once.GONE_LOOKS + 1)]
    assert (said[-1], set(said[:-1])) == (2, {None})


@pytest.mark.parametrize("code", [0, 7])
def test_of_many_at_once_one_does_it_and_all_have_its_code(tmp_path: Path, code: int) -> None:
    """On one filesystem, from wherever."""
    folder, gate, done = once.folder_of(tmp_path, "x"), Barrier(8), []

    def ask(_: int) -> tuple[int, bool]:
        def do(number: int, _give_sign: object) -> int:
            done.append(number)
            sleep(0.5)
            once.end(folder, number, Done(code=code, at=2.0))
            return code

        gate.wait()
        return once.wait_or_do(folder, _try(), do, pause=lambda _: sleep(0.02))

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(8)))
    assert done == [1]
    assert sorted(answers) == sorted([(code, True), *[(code, False)] * 7])
    assert once.standing(folder).code == code


def test_a_sign_of_life_is_seen(tmp_path: Path) -> None:
    """By whoever looks at the folder."""
    folder = once.folder_of(tmp_path, "x")
    assert once.begin(folder, 1, _try())
    before = once.standing(folder)
    sleep(0.01)
    once.give_sign(folder, 1)
    assert once.standing(folder).sign > before.sign
    once.give_sign(folder, 9)  # gone: no error


def test_a_torn_answer_is_none(tmp_path: Path) -> None:
    """A full disk: it is done again by the next attempt, and waited for by none for ever."""
    folder = once.folder_of(tmp_path, "x")
    once.begin(folder, 1, _try())
    (folder / "1.done").write_bytes(b'{"co')
    assert once.standing(folder).code is None


def test_names_are_file_names() -> None:
    """The same name is the same thing; a command is another one in another folder."""
    key = once.key_of(["./get.sh", "a b"], name="", place="/w")
    assert key.startswith("get-sh-")
    assert key != once.key_of(["./get.sh", "a b"], name="", place="/v")
    assert once.key_of(["x"], name="../a/b\n", place="/w") == once.key_of(["y"], name="../a/b\n", place="/v")
    assert "/" not in once.key_of(["x"], name="../a/b\n", place="/w")
