"""The rule by which an attempt counts as stopped."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.core.proof import Sweep, in_words, is_proven
from tests.core.facts import nodes

_NODES = st.sampled_from([(), nodes(2), nodes(2, 3)])
_SWEEPS = st.builds(
    Sweep, left=_NODES, silent=_NODES, lost=_NODES, steps=st.sampled_from([None, (), ("17.0",), ("17.0", "17.2")])
)


@pytest.mark.parametrize(
    ("sweep", "proven"),
    [
        (Sweep(), True),
        (Sweep(left=nodes(2)), False),
        (Sweep(silent=nodes(2)), False),
        (Sweep(lost=nodes(2)), True),
        (Sweep(steps=("17.0",)), False),
        (Sweep(steps=("17.0",), lost=nodes(2)), True),
        (Sweep(steps=None), True),
        (Sweep(steps=None, lost=nodes(2)), False),
    ],
)
def test_the_rule(sweep: Sweep, *, proven: bool) -> None:
    """Case by case: what lives on, who is silent, who is lost, and what Slurm says of steps."""
    assert is_proven(sweep) == proven


@given(_SWEEPS)
def test_no_answer_is_never_better_than_a_good_one(sweep: Sweep) -> None:
    """Whatever is proven with Slurm silent is proven with Slurm saying that there is no step."""
    answered = Sweep(left=sweep.left, silent=sweep.silent, lost=sweep.lost, steps=())
    silent = Sweep(left=sweep.left, silent=sweep.silent, lost=sweep.lost, steps=None)
    assert is_proven(answered) or not is_proven(silent)


@given(_SWEEPS)
def test_what_is_not_proven_has_a_reason(sweep: Sweep) -> None:
    """It is said to the user."""
    assert is_proven(sweep) or in_words(sweep)
