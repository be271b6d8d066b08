"""The smallest evidence on which each rule decides: what it is about, in a few lines."""

from typing import Final

from tests.diagnose.small_data_cases import DATA_CASES
from tests.diagnose.small_machines import SMALL_MACHINES
from tests.diagnose.small_network_cases import SMALL_NETWORK_CASES
from tests.diagnose.small_record_cases import RECORD_CASES
from tests.diagnose.small_waiting_cases import SMALL_WAITING_CASES

_TRAIN: Final = "[rank{rank}]: 2026-03-01 10:00:{second:02d} step {step} loss 2.1\n"
_STEPS: Final = "".join(_TRAIN.format(rank=0, second=n, step=100 + n) for n in range(3))
_NO_FILE: Final = "FileNotFoundError: [Errno 2] No such file or directory: '{}'\n"
_CUDA: Final = "RuntimeError: CUDA error: {what}\n"

_BEATS: Final = (
    '[{{"type": "beats", "node": "n1", "at": 1.0, "attempt": 1, "ranks": [{{"rank": 0, "pid": 1, "step": 9, "phase": "step", '
    '"count": 9, "age_s": {age}, "is_alive": true}}, {{"rank": 1, "pid": 2, "step": 10, "phase": "step", "count": 9, '
    '"age_s": {other}, "is_alive": true}}]}}]'
)

SMALL_CASES: Final[dict[str, tuple[str, dict[str, str]]]] = {
    **SMALL_MACHINES,
    **SMALL_NETWORK_CASES,
    **SMALL_WAITING_CASES,
    "an Xid on a node of somebody else": (
        "python_exception",
        {
            "job.json": '{"nodes": ["n1", "n2"], "ranks": {"0": {"node": "n1"}}}',
            "kernel/n9.log": "[Sun Mar  1 10:00:01 2026] NVRM: Xid (PCI:0000:9d:00): 79, pid=1, GPU has fallen off the bus.\n",
            "ranks/0.log": _STEPS
            + "[rank0]: KeyError: 'loss_mask'\n".replace(
                "[rank0]: ",
                '[rank0]: Traceback (most recent call last):\n[rank0]:   File "/w/t.py", line 3, in f\n[rank0]: ',
            ),
        },
    ),
    "no memory for a last checkpoint after SIGTERM": (
        "python_exception",
        {
            "ranks/0.log": "2026-03-01 10:00:01 step 1 loss 2\n2026-03-01 10:00:05 KeyError: 'loss_mask'\n",
            "ranks/1.log": "2026-03-01 10:00:01 step 1 loss 2\n2026-03-01 10:00:06 Received SIGTERM: 15\n"
            "2026-03-01 10:00:07 torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n",
        },
    ),
    "each node has only its own shards": (
        "checkpoint_not_shared",
        {
            "job.json": '{"nodes": ["n1", "n2"], "ranks": {"0": {"node": "n1"}, "1": {"node": "n2"}}}',
            "ranks/0.log": _NO_FILE.format("/data/nvme0/ckpt/__1_0.distcp"),
            "ranks/1.log": _NO_FILE.format("/data/nvme0/ckpt/__0_0.distcp"),
        },
    ),
    "three nodes of one rack at once": (
        "node_power_loss",
        {
            "topology.json": '{"racks": {"r1": ["n1", "n2", "n3"], "r2": ["n4", "n5"]}}',
            "slurm.log": "slurmctld: error: Nodes n[1-3] not responding, setting DOWN\nsrun: error: Node failure on n[1-3]\n",
        },
    ),
    "wrong numbers and a GPU that admits errors": (
        "sdc_suspected",
        {
            "job.json": '{"nodes": ["n1", "n2"], "ranks": {"0": {"node": "n1", "gpu": 2}}}',
            "ranks/0.log": _STEPS
            + "[rank0]: RuntimeError: found NaN in local grad norm for bucket #1 in backward pass\n",
            "kernel/n1.log": "[Sun Mar  1 10:00:02 2026] NVRM: Xid (PCI:0000:2a:00): 140, pid=1, name=python, An uncorrectable"
            " ECC error detected (possible firmware handling failure) DRAM:0, LTC:1, MMU:0, PCIE:0\n",
        },
    ),
    "SIGKILL by a watchdog is no lack of memory": (
        "deadlock",
        {
            "ranks/0.log": _STEPS + "DataLoader worker (pid 31) is killed by signal: Killed.\n",
            "slurm.log": "watchdog: no progress for 1800 s, killing step\n",
        },
    ),
    "one rank's assert in the middle of a run": (
        "label_or_token_out_of_range",
        {
            "ranks/0.log": _STEPS,
            "ranks/3.log": _TRAIN.format(rank=3, second=2, step=102)
            + "/pytorch/aten/src/ATen/native/cuda/IndexKernel.cu:93: operator(): block: [0,0,0], thread: [17,0,0] Assertion "
            '`-sizes[i] <= index && index < sizes[i] && "index out of bounds"` failed.\n'
            + "[rank3]: "
            + _CUDA.format(what="device-side assert triggered"),
        },
    ),
    "a local disk that died under the loader": (
        "local_disk_failure",
        {
            "kernel/n7.log": "[Sun Mar  1 10:00:01 2026] nvme nvme1: controller is down; will reset: CSTS=0xffffffff\n",
            "ranks/3.log": "n7:1:2 [3] NCCL INFO Bootstrap : Using ib0:10.0.0.1<0>\n"
            "2026-03-01 09:59:58 tarfile.ReadError: unexpected end of data @ /local/shards/17.tar\n",
        },
    ),
    "a stale handle below a cache": (
        "cache_lock_race",
        {"ranks/1.log": "[rank1]: OSError: [Errno 116] Stale file handle: '/nas/cache/datasets/map-1.arrow.lock'\n"},
    ),
    "each node misses the other's shards": (
        "checkpoint_not_shared",
        {
            "job.json": '{"ranks": {"0": {"node": "n1"}, "8": {"node": "n2"}}}',
            "ranks/0.log": "[rank0]: FileNotFoundError: [Errno 2] No such file or directory: "
            "'/local/out/ckpt_4/zero_pp_rank_8_mp_rank_00_optim_states.pt'\n",
            "ranks/8.log": "[rank8]: FileNotFoundError: [Errno 2] No such file or directory: "
            "'/local/out/ckpt_4/zero_pp_rank_0_mp_rank_00_optim_states.pt'\n",
        },
    ),
    "a checkpoint renamed by another rank": (
        "checkpoint_save_race",
        {
            "ranks/8.log": "[rank8]: FileNotFoundError: [Errno 2] No such file or directory: "
            "'/out/tmp-checkpoint-240' -> '/out/checkpoint-240'\n"
        },
    ),
    "ranks in different collectives": (
        "collective_mismatch",
        {
            f"ranks/{rank}.log": f"[rank{rank}]:[E301 10:10:01.1 ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective "
            f"operation timeout: WorkNCCL(SeqNum=77, OpType={kind}, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for "
            "600010 milliseconds before timing out.\n"
            for rank, kind in ((0, "ALLREDUCE"), (1, "BROADCAST"))
        },
    ),
    "one pair of hosts gives up in the middle of a run": (
        "link_fault",
        {
            "job.json": '{"nodes": ["n1", "n2", "n3"], "ranks": {"0": {"node": "n1"}, "8": {"node": "n2"}}}',
            "ranks/0.log": _STEPS
            + "n1:5:6 [0] transport/net_ib.cc:1909 NCCL WARN NET/IB : Got completion from peer n3<5> with "
            "status=12 opcode=0 len=0 vendor err 129 (Send)\n",
            "ranks/8.log": _STEPS.replace("rank0", "rank8")
            + "n2:5:6 [0] transport/net_ib.cc:1909 NCCL WARN NET/IB : Got completion "
            "from peer n3<6> with status=12 opcode=0 len=0 vendor err 129 (Send)\n",
        },
    ),
    "the same NaN on other nodes": (
        "numerics_regression",
        {
            "ranks/0.log": "[launcher] attempt 3. attempt 1: on n1-n4 NaN at 2871; attempt 2: on n5-n8 NaN at 2866\n"
            + _STEPS
            + "[rank0]: RuntimeError: found NaN in local grad norm for bucket #1 in backward pass\n"
        },
    ),
    "a reader that fails on shards which are good": (
        "library_version_incompat",
        {
            "job.out": _STEPS + "tar -tf shard_0041.tar: 8192 members, ok\n"
            "tarfile.ReadError: unexpected end of data @ shard_0041.tar\n"
        },
    ),
    "a job that somebody ended because it hung": (
        "deadlock",
        {
            "ranks/0.log": _STEPS,
            "slurm.log": "monitor: no output for 45 min, cancelling job\n",
            "slurm.json": '{"state": "CANCELLED", "exit_code": "0:15"}',
        },
    ),
    "a memory limit that Slurm tells of below the cancel it led to": (
        "host_oom",
        {
            "job.out": "slurmstepd: error: *** JOB 71 ON n4 CANCELLED AT 2026-03-01T10:00:09 ***\n"
            "slurmstepd: error: Exceeded step memory limit at some point.\n"
        },
    ),
    "a signal that an MPI library's handler caught": (
        "segfault",
        {"job.out": "[n4:mpi_rank_7][error_sighandler] Caught error: Segmentation fault (signal 11)\n"},
    ),
    "processes that their launcher saw exit well": (
        "completed",
        {
            "train.log": _STEPS
            + "[2026-03-01 10:05:00,688] [INFO] [launch.py:367:main] Process 4711 exits successfully.\n"
        },
    ),
    "a module that was missing, and a job that ran without it": (
        "unattributed",
        {
            "job.err": 'Lmod has detected the following error: The following module(s) are unknown: "cuda/11.8"\n',
            "job.out": "".join(f"Epoch {n}: Train Loss 0.1\n" for n in range(4)),
        },
    ),
    "conda was not ready, and much was written all the same": (
        "unattributed",
        {
            "job.log": "CommandNotFoundError: Your shell has not been properly configured to use 'conda activate'.\n"
            + "cell 3 of the grid: 0.44\n" * 400
        },
    ),
    "steps that waited and came": (
        "unattributed",
        {
            "job.log": "srun: Job 31 step creation still disabled, retrying (Requested nodes are busy)\n"
            "srun: Step created for StepId=31.4\n"
        },
    ),
    "plain words at the end": (
        "completed",
        {
            "job.log": "grid of 40 x 40 cells\nArray task 3 completed with exit code: 0\nEnd time: Sun Mar  1 10:00:00 2026\n"
        },
    ),
    "plain words at the end beside trouble": (
        "unattributed",
        {"job.log": "ERROR(3): the grid is empty\nJob finished at Sun Mar  1 10:00:00 2026\n"},
    ),
    "the second program of a job fails": (
        "not_converged",
        {
            "job.log": "     Program PWSCF v.6.4 starts on  1Mar2026 at 10: 0: 0\n   JOB DONE.\n"
            "     Program PWSCF v.6.4 starts on  1Mar2026 at 11: 0: 0\n     too many bands are not converged\n"
        },
    ),
    "what follows the solver fails": (
        "file_not_found",
        {
            "job.log": "LAMMPS (2 Aug 2023)\nTotal wall time: 0:10:01\nTraceback (most recent call last):\n"
            '  File "/w/post.py", line 3, in <module>\n'
            "FileNotFoundError: [Errno 2] No such file or directory: 'dump.txt'\n"
        },
    ),
    "a workflow that was aborted without a failed task": (
        "not_converged",
        {
            "job.log": "Mar-03 10:12:13.014 [Actor] DEBUG nextflow.Session - Session aborted -- Cause: no such channel\n"
            "Mar-03 10:12:14.014 [main] DEBUG n.trace.WorkflowStatsObserver - Workflow completed > "
            "WorkflowStats[succeededCount=3; failedCount=0; ignoredCount=0; cachedCount=0; abortedCount=0; ]\n"
        },
    ),
    "an exception in a finalizer": (
        "unattributed",
        {
            "job.log": _STEPS + "Exception ignored in atexit callback: <function save_table at 0x7f5f656536a0>\n"
            "Traceback (most recent call last):\n"
            '  File "/w/table.py", line 105, in put\n'
            '    os.replace(self.path + ".tmp", self.path)\n'
            "FileNotFoundError: [Errno 2] No such file or directory: '/h/t/k.pickle.tmp' -> '/h/t/k.pickle'\n"
        },
    ),
    "two jobs of LSF in one file": (
        "type_error",
        {
            "job.out": "ImportError: no display\n\nExited with exit code 1.\n\n"
            "The output (if any) is above this job summary.\n\nTypeError: step() takes 2 positional arguments but 3 were given\n"
            "\nExited with exit code 1.\n\nThe output (if any) is above this job summary.\n"
        },
    ),
    "two jobs of HTCondor in one event log": (
        "completed",
        {
            "job.log": "001 (11.000.000) 2026-03-01 10:00:01 Job executing on host: <10.0.0.7:9618>\n"
            "009 (11.000.000) 2026-03-01 10:04:04 Job was aborted.\n\tvia condor_rm (by user u07)\n"
            "001 (12.000.000) 2026-03-01 11:00:01 Job executing on host: <10.0.0.7:9618>\n"
            "005 (12.000.000) 2026-03-01 11:30:00 Job terminated.\n\t(1) Normal termination (return value 0)\n"
        },
    ),
    "hours of silence before the time limit": (
        "deadlock",
        {
            "ranks/0.log": _STEPS,
            "slurm.log": "slurmstepd: error: *** JOB 8 ON n1 CANCELLED AT 2026-03-01T16:00:00 DUE TO TIME LIMIT ***\n",
            "slurm.json": '{"state": "TIMEOUT", "exit_code": "0:0"}',
        },
    ),
    "ids out of range on every rank before any step": (
        "vocab_mismatch",
        {
            f"ranks/{rank}.log": f"[rank{rank}]: IndexKernel.cu:93: operator(): block: [0,0,0] Assertion `index < sizes[i]` failed.\n"
            f"[rank{rank}]: while looking up token embeddings\n[rank{rank}]: IndexError: token id 50300 is out of range\n"
            + f"[rank{rank}]: "
            + _CUDA.format(what="device-side assert triggered")
            for rank in (0, 1)
        },
    ),
    "ranks that lived and stood still until the time limit": (
        "deadlock",
        {
            "beats.json": _BEATS.format(age=7200, other=7201),
            "slurm.log": "slurmstepd: error: *** JOB 8 ON n1 CANCELLED AT 2026-03-01T16:00:00 DUE TO TIME LIMIT ***\n",
        },
    ),
    "a hang whose line names no rank": (
        "deadlock",
        {
            "beats.json": _BEATS.format(age=900, other=30),
            "slurm.log": "monitor: no output for 45 min, cancelling job\n",
        },
    ),
    **DATA_CASES,
    **RECORD_CASES,
}
"""What it is about: the cause, and the files."""
