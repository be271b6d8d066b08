"""A testbed of four nodes for the tests of one module, and names for their own."""

import os
from collections.abc import Iterator
from itertools import count

import pytest
from testbed.api import Testbed

_numbers = count()


def _own_name() -> str:
    return f"t{os.getpid()}-{next(_numbers)}"


@pytest.fixture(scope="module")
def testbed() -> Iterator[Testbed]:
    """Four nodes, up; whoever kills a node revives it."""
    with Testbed(_own_name()) as bed:
        yield bed.up()


@pytest.fixture
def another() -> Iterator[Testbed]:
    """A testbed that is not up yet and is taken down in any case."""
    with Testbed(_own_name()) as bed:
        yield bed
