"""Which requests can have spare nodes, and in which form."""

import re

import pytest

from supervisor.errors import UsageError
from supervisor.slurm.sbatch_options import effective, parse
from supervisor.slurm.spares import fixed_nodes, with_spares


def _asked(args: str, spares: int = 1) -> str:
    line = parse([*args.split(), "s"])
    extra = with_spares(effective(line.options), spares, is_heterogeneous=line.is_heterogeneous)
    return " ".join(map(str, extra))


@pytest.mark.parametrize(
    ("args", "extra"),
    [
        ("-N2", "--nodes=3"),
        ("-N2-2", "--nodes=3"),
        ("-N2 --ntasks-per-node=8 --gpus-per-node=8", "--nodes=3"),
        ("-N2 --exclusive --gres=gpu:8", "--nodes=3"),
        ("-N2 --gpus-per-task=1 --ntasks-per-node=8", "--nodes=3"),
        ("-N2 -n8", "--nodes=3 --ntasks=12 --ntasks-per-node=4"),
        ("-N2 -n8 --ntasks-per-node=4", "--nodes=3 --ntasks=12 --ntasks-per-node=4"),
        ("-N2 --gpus=16", "--nodes=3 --gpus=24 --gpus-per-node=8"),
        ("-N2 --gpus=a100:16", "--nodes=3 --gpus=a100:24 --gpus-per-node=a100:8"),
        ("-N2 --gpus=a100:4,v100:2", "--nodes=3 --gpus=a100:6,v100:3 --gpus-per-node=a100:2,v100:1"),
        ("-N2 -n16 --gpus=16", "--nodes=3 --ntasks=24 --ntasks-per-node=8 --gpus=24 --gpus-per-node=8"),
        ("-N3 --segment=4", "--nodes=4"),
    ],
)
def test_a_request_is_scaled_so_that_each_node_gets_the_same(args: str, extra: str) -> None:
    """Totals grow with the nodes and are pinned per node; what is per node already is left alone."""
    assert _asked(args) == extra


@pytest.mark.parametrize(
    ("args", "remedy"),
    [
        ("-n16", "-N 4"),
        ("-n16 --gpus-per-task=1", "-N 4"),
        ("-N2-4", "one number"),
        ("-N2,4", "one number"),
        ("-N1k", "one number"),
        ("-N2 -n7", "-n 7 is not the same on each of 2 nodes. A spare must be able to replace any node; use -N 2 "),
        ("-N2 -n7", "-N 2 --ntasks-per-node=4"),
        ("-n16", "not certain how many nodes the job gets without them (no -N)"),
        ("-N2-4", "not certain how many nodes the job gets without them (-N 2-4)"),
        ("-N2 -n8 --ntasks-per-node=8", "leave out -n 8"),
        ("-N2 --gpus=3", "--gpus-per-node=8"),
        ("-N2 --gpus=16 --gpus-per-node=4", "leave out --gpus=16"),
        ("-N2 -F hosts", "--ntasks-per-node"),
        ("-N2 -m arbitrary", "-m block"),
        ("-N1 : -N2", "without --spares"),
        ("-N4 --segment=4", "multiple of 4"),
    ],
)
def test_what_cannot_be_scaled_is_refused_with_the_form_that_works(args: str, remedy: str) -> None:
    """The refusal names the option and what to type instead."""
    with pytest.raises(UsageError, match="1 spare node is not possible here: ") as caught:
        _asked(args)
    assert re.search(re.escape(remedy), str(caught.value))


def test_without_spares_nothing_is_changed_or_refused() -> None:
    """The default leaves every request as it is."""
    assert _asked("-n16", spares=0) == ""


def test_the_number_of_nodes_is_known_only_where_it_is_one_number() -> None:
    """0 stands for every other form."""
    assert [fixed_nodes({"nodes": text}) for text in ("4", "4-4", "2-4", "", "4k")] == [4, 4, 0, 0, 0]
