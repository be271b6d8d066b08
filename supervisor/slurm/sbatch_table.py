"""Every option of sbatch from Slurm 22.05 to 26.05 and every environment variable that stands for one. Data only.

`name/x` gives the one-letter form. Read from `sbatch --help` and the option tables of the releases; a site's plugins
may add more (`with_plugins` in `sbatch_options`).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

NO_VALUE: Final = """
consolidate-segments contiguous external help/h hold/H ignore-pbs no-requeue overcommit/O oversubscribe/s parsable
quiet/Q reboot spread-job spread-segments stepmgr test-only usage use-min-nodes verbose/v version/V wait/W
"""
OPTIONAL_VALUE: Final = "exclusive get-user-env nice no-kill/k oom-kill-step propagate requeue resv-ports"
"""The value only as `--name=value`, or `-kvalue`: the next argument is never taken."""
REQUIRED_VALUE: Final = """
account/A acctg-freq array/a autocomplete batch bb bbf begin/b chdir/D cluster cluster-constraint clusters/M comment
constraint/C container container-id container-type context core-spec/S cores-per-socket cpu-freq cpus-per-gpu
cpus-per-task/c deadline delay-boot dependency/d distribution/m error/e exclude/x export export-file extra
extra-node-info/B gid gpu-bind gpu-freq gpus/G gpus-per-node gpus-per-socket gpus-per-task gres gres-flags hint input/i
job-name/J kill-on-invalid-dep licenses/L mail-type mail-user mcs-label mem mem-bind mem-per-cpu mem-per-gpu mem-update
mincpus network nodefile/F nodelist/w nodes/N ntasks/n ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket
ntasks-per-tres open-mode output/o partition/p power prefer priority profile qos/q reservation resources segment signal
sockets-per-node switches tasks-per-node thread-spec threads-per-core time/t time-min tmp tres-bind tres-per-task uid
wait-all-nodes wckey wrap
"""
SAME: Final[Mapping[str, str]] = MappingProxyType({"cluster": "clusters", "tasks-per-node": "ntasks-per-node"})
"""Two names of one option."""
COMMAND_LINE_ONLY: Final = frozenset({"help", "quiet", "usage", "verbose", "version", "wrap"})
"""Not obeyed in `#SBATCH` lines."""
ANSWERS_ONLY: Final = frozenset({"autocomplete", "help", "test-only", "usage", "version"})
"""With one of these sbatch submits nothing."""

# Only these variables differ from SBATCH_<NAME OF THE OPTION>.
VARIABLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "SBATCH_ARRAY_INX": "array",
        "SBATCH_BURST_BUFFER": "bb",
        "SBATCH_CPU_FREQ_REQ": "cpu-freq",
        "SBATCH_DEBUG": "verbose",
        "SBATCH_MEM_PER_NODE": "mem",
        "SBATCH_REQ_SWITCH": "switches",
        "SBATCH_SEGMENT_SIZE": "segment",
        "SBATCH_TIMELIMIT": "time",
        "SLURM_CLUSTERS": "clusters",
        "SLURM_HINT": "hint",
    }
)
PLAIN_VARIABLES: Final = """
account acctg-freq batch cluster-constraint clusters consolidate-segments container container-id container-type
constraint core-spec cpus-per-gpu delay-boot distribution error exclusive export get-user-env gpu-bind gpu-freq gpus
gpus-per-node gpus-per-socket gpus-per-task gres gres-flags hint ignore-pbs input job-name mem-bind mem-per-cpu
mem-per-gpu network no-kill no-requeue open-mode output overcommit partition power profile qos requeue reservation
signal spread-job spread-segments thread-spec threads-per-core tres-bind tres-per-task use-min-nodes wait wait-all-nodes
wckey
"""
