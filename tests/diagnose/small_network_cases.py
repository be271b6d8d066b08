"""The smallest evidence for rules about who waited for whom, lost nodes and ends."""

from typing import Final

_TWO: Final = '{"nodes": ["n1", "n2"], "ranks": {"0": {"node": "n1"}, "8": {"node": "n2"}}}'
_STEP: Final = "[2026-03-01 10:00:00] step 100 loss 2.1\n"
_WAITED: Final = (
    "[rank8]:[E301 10:30:05.1 ProcessGroupNCCL.cpp:616] [Rank 8] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=77, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=1800000) ran for 1800010 milliseconds "
    "before timing out.\n"
)
_MESH: Final = "RuntimeError: Gloo connectFullMesh failed with [gloo/transport/tcp/pair.cc:144] "

SMALL_NETWORK_CASES: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "gloo found no address of its own": (
        "launcher_master_addr_loopback",
        {
            "ranks/8.log": "[W] Warning: Unable to resolve hostname to a (local) address. Using the loopback address "
            f"as fallback.\n{_MESH}timed out connecting: SO_ERROR: Connection refused, remote=[127.0.0.1]:14215\n"
        },
    ),
    "the hosts file gives the host's own name to loopback": (
        "launcher_master_addr_loopback",
        {
            "ranks/2.log": f"{_MESH}no error\n"
            "[gloo/transport/tcp/pair.cc:799] connect [127.0.1.1]:41522: Connection refused\n"
        },
    ),
    "each process looks for JAX's coordinator at home": (
        "launcher_master_addr_loopback",
        {
            "job.out": '    jax.distributed.initialize(coordinator_address="localhost:1234", num_processes=8)\n'
            "XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: PjRT_Client_Connect\n"
        },
    ),
    "the first rank's last word is of long work": (
        "rank0_long_work_timeout",
        {
            "job.json": _TWO,
            "ranks/0.log": f"{_STEP}[2026-03-01 10:00:03] consolidating 64 parts into one file\n",
            "ranks/8.log": _STEP + _WAITED,
        },
    ),
    "the first rank wrote on, and its launcher's last line has no year": (
        "rank0_long_work_timeout",
        {
            "job.json": _TWO,
            "ranks/0.log": f"{_STEP}[2026-03-01 10:20:03] part 20 of 40\n"
            "W0301 10:30:06.440000 2291 torch/distributed/elastic/multiprocessing/api.py:897] Sending process 2301 "
            "closing signal SIGTERM\n",
            "ranks/8.log": _STEP + _WAITED,
        },
    ),
    "the service processor's log names no host, and one node was lost": (
        "node_power_loss",
        {
            "job.out": "ipmi-sel: 1202 | May-20-2026 | 10:11:03 | Power Unit | Power off/down\n"
            "srun: error: Node failure on n2\n"
        },
    ),
    "words of measurements and a warning before the last word": (
        "completed",
        {
            "job.out": "[W::sam_parse1] mapped query must have a CIGAR; treated as unmapped, failed mate\n"
            "samtools flagstat: 0 + 0 failed QC\nerror rate estimate: 0.0031\nmax error: 0.004\n"
            "Pipeline completed at Mon Mar  2 10:14:00 CET 2026\n"
        },
    ),
    "a wrapper's last word after a complaint": (
        "unattributed",
        {
            "job.out": "step 10\n./solver.sh: cannot open the grid, giving up\n"
            "Job finished at Mon Mar  2 10:14:00 2026\n"
        },
    ),
    "silent until the limit, with a clock that has no year": (
        "deadlock",
        {
            "ranks/0.log": "".join(
                f"I0301 10:00:0{n}.119203 551 loop.py:10] step {100 + n} loss 2.1\n" for n in range(4)
            ),
            "slurm.log": "slurmstepd: error: *** JOB 88 ON n1 CANCELLED AT 2026-03-02T08:00:05 DUE TO TIME LIMIT ***\n",
        },
    ),
    "ranks of which others say that they did not come failed by themselves": (
        "cuda_api_error",
        {
            "job.json": _TWO,
            "ranks/0.log": "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 8/16 "
            "clients joined.\n",
            "ranks/8.log": "RuntimeError: CUDA error: invalid device ordinal\n",
        },
    ),
    "an exception that nobody knows, and the others wait for its rank": (
        "python_exception",
        {
            "job.json": _TWO,
            "ranks/0.log": "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 8/16 "
            "clients joined.\n",
            "ranks/8.log": "quirkylib.core.FrobnicateError: stage 4 refused the plan (code Q17)\n",
        },
    ),
    "a program's own last error, and nothing else": (
        "not_converged",
        {
            "job.out": " step 12 residual 1.2e-3\n ERROR: species table and mechanism differ\n",
            "slurm.json": '{"state": "FAILED", "exit_code": "9:0"}',
        },
    ),
    "a program that was about to be preempted, in its own words": (
        "preemption",
        {"job.out": "step 12\njob received preemption warning from the scheduler, 60 s grace, state saved\n"},
    ),
    "a program that ran out of time and hands over to the next link": (
        "requeue_before_walltime",
        {"job.out": "step 12\n[driver] time limit in 120 s, saving and resubmitting\n"},
    ),
    "a record of the scheduler is no program's word": (
        "unattributed",
        {
            "job.out": "step 12\n",
            "slurm.log": "JobId=8 JobState=FAILED Reason=NonZeroExitCode RunTime=03:12:09 TimeLimit=9:00:00 "
            "Requeue=0\n",
        },
    ),
    "the last step of all": (
        "completed",
        {"job.out": "epoch 99/100 loss 0.2\nepoch 100/100 loss 0.2\nbest model kept\n"},
    ),
    "a port that went down, and messages that could not be sent": (
        "link_fault",
        {
            "job.out": "kernel: mlx5_core 0000:9a:00.0: Port module event[error]: module 0, Cable error, bad cable\n"
            "MPIDI_OFI_handle_cq_error(1062): OFI poll failed (ofi_events.c:1064:Input/output error - UNDELIVERABLE)\n"
        },
    ),
    "the system's words, passed on by a program that nobody knows": (
        "permission_denied",
        {"job.out": "chunk 12\nfastgrid: open /proj/x/run.log: Permission denied\n"},
    ),
    "the system's words about a file server": (
        "shared_fs_outage",
        {"job.out": "chunk 12\ncat: /scratch/x: Transport endpoint is not connected\n"},
    ),
    "the system's words before the work went on": (
        "unattributed",
        {"job.out": "open /proj/x/old.log: Permission denied\nstep 12 loss 0.3\nstep 13 loss 0.3\nstep 14 loss 0.3\n"},
    ),
    "a position beyond the table, as the tokenizer had warned": (
        "device_side_assert",
        {
            "ranks/0.log": "Token indices sequence length is longer than the specified maximum sequence length for "
            "this model (2290 > 2048). Running this sequence through the model will result in indexing errors\n"
            "../aten/src/ATen/native/cuda/Indexing.cu:1292: indexSelectLargeIndex: block: [90,0,0], thread: [64,0,0] "
            "Assertion `srcIndex < srcSelectDimSize` failed.\n"
        },
    ),
}
"""What it is about: the cause, and the files."""
