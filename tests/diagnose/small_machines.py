"""The smallest evidence for rules about devices, nodes and the network."""

from typing import Final

_STEPS: Final = "".join(f"[rank0]: 2026-03-01 10:00:{n:02d} step {100 + n} loss 2.1\n" for n in range(3))
_KERNEL: Final = "[Sun Mar  1 10:00:02 2026] "
_TWO: Final = '{"nodes": ["n1", "n2", "n3"], "ranks": {"0": {"node": "n1"}, "8": {"node": "n2"}, "16": {"node": "n3"}}}'
_WAITED: Final = (
    "[rank{rank}]:[E301 10:10:05.1 ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective operation "
    "timeout: WorkNCCL(SeqNum=77, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600010 ms.\n"
)
_ECC: Final = "[rank0]: RuntimeError: CUDA error: uncorrectable ECC error encountered\n"
_ASSERT: Final = (
    "Loss.cu:250: nll_loss: block: [0,0,0], thread: [11,0,0] Assertion `t >= 0 && t < n_classes` failed.\n"
    "[rank{rank}]: RuntimeError: CUDA error: device-side assert triggered\n"
)
_NO_ANSWER: Final = (
    "n1:1:2 [0] transport/net_ib.cc:1909 NCCL WARN NET/IB : Got completion from peer 10.9.1.9<4> with "
    "status=12 opcode=0\n"
)

SMALL_MACHINES: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "counters tell in which memory it was": (
        "gpu_hbm_uncorrectable",
        {
            "job.json": _TWO,
            "ranks/0.log": _STEPS + _ECC,
            "nvml/n1.json": '{"gpus": {"3": {"ecc_unc_dram_volatile": 1, "ecc_unc_sram_volatile": 0}}}',
        },
    ),
    "no spare rows are left": (
        "gpu_row_remap_failure",
        {
            "job.json": _TWO,
            "ranks/0.log": _STEPS + _ECC,
            "kernel/n1.log": _KERNEL
            + "NVRM: Xid (PCI:0000:3b:00): 48, pid=1, name=python, DBE (double bit error) ECC Error\n"
            + _KERNEL
            + "NVRM: Xid (PCI:0000:3b:00): 64, pid=1, name=python, Row Remapper: remapping failed\n",
        },
    ),
    "memory ran out, was caught, and another fault came": (
        "gpu_hbm_uncorrectable",
        {
            "job.json": _TWO,
            "ranks/0.log": "2026-03-01 09:00:00 torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n"
            "2026-03-01 09:00:00 attempting to recover from OOM in forward/backward pass\n" + _STEPS,
            "nvml/n1.json": '{"gpus": {"3": {"ecc_unc_dram_volatile": 1}}}',
        },
    ),
    "the firmware's report names PCIe below its head": (
        "pcie_fatal_error",
        {
            "kernel/n1.log": _KERNEL
            + "{1}[Hardware Error]: event severity: fatal\n"
            + _KERNEL
            + "{1}[Hardware Error]:   section_type: PCIe error\n"
        },
    ),
    "an adapter's firmware, and a partner that complains": (
        "nic_failure",
        {
            "job.json": _TWO,
            "ranks/0.log": _STEPS + _NO_ANSWER,
            "kernel/n2.log": _KERNEL + "mlx5_core 0000:5c:00.0: print_health_info:504:(pid 0): Health issue observed, "
            "firmware internal error, severity(3) ERROR:\n",
        },
    ),
    "the topology stands in a log": (
        "switch_failure",
        {
            "job.json": '{"nodes": ["n1", "n2", "n3"]}',
            "slurm.log": "srun: error: Node failure on n[2-3]\nSwitchName=leaf5 Level=0 LinkSpeed=1 Nodes=n[2-3]\n",
        },
    ),
    "many nodes in one line": (
        "switch_failure",
        {"slurm.log": "slurmctld: error: Nodes n[1-9] not responding, setting DOWN\n"},
    ),
    "ports of two nodes in one second": (
        "switch_failure",
        {f"kernel/n{n}.log": _KERNEL + "mlx5_core 0000:3a:00.0 mlx5_0: Port: 1 Link DOWN\n" for n in (1, 2)},
    ),
    "a driver that is too old on every node": (
        "library_version_incompat",
        {
            "job.json": '{"ranks": {"0": {"node": "n1"}, "8": {"node": "n2"}}}',
            **{
                f"ranks/{n}.log": "RuntimeError: The NVIDIA driver on your system is too old (found version 11080)\n"
                for n in (0, 8)
            },
        },
    ),
    "labels out of range on every rank": (
        "device_side_assert",
        {"ranks/0.log": _STEPS + _ASSERT.format(rank=0), "ranks/1.log": _STEPS + _ASSERT.format(rank=1)},
    ),
    "an I/O error on the node's own disk": (
        "local_disk_failure",
        {"ranks/0.log": _STEPS + "[rank0]: OSError: [Errno 5] Input/output error: '/local/cache/a.bin'\n"},
    ),
    "a damaged file, and what its reader says of it": (
        "corrupt_shard",
        {
            "job.out": "gzip: L4.fastq.gz: invalid compressed data--crc error\n"
            "EXITING because of FATAL ERROR in reads input: short read sequence line: 0\n"
        },
    ),
    "a rank of another node that looks for the store at home": (
        "launcher_master_addr_loopback",
        {
            "job.json": _TWO,
            "ranks/8.log": "torch.distributed.DistNetworkError: The client socket has timed out after 60000ms while "
            "trying to connect to (127.0.0.1, 29500).\n",
        },
    ),
    "one host with small frames": (
        "fabric_misconfigured",
        {
            "job.json": _TWO,
            "ranks/0.log": "".join(
                f"[netcheck] n{n} eth1 mtu {size}\n" for n, size in ((1, 9000), (2, 9000), (3, 1500))
            )
            + _WAITED.format(rank=0),
        },
    ),
    "a stop file, and a script that ended well": (
        "user_stop",
        {
            "ranks/0.log": _STEPS + "found STOP file /w/STOP, saving and leaving\n",
            "slurm.json": '{"state": "COMPLETED", "exit_code": "0:0"}',
        },
    ),
    "other ranks, other nodes, and always this one": (
        "sdc_suspected",
        {
            "job.json": _TWO,
            "ranks/0.log": "attempt 1: stopped, replica check named rank 21 (n3)\n"
            "attempt 2: stopped, replica check named rank 5 (n3)\n"
            + _STEPS
            + "[rank0]: AssertionError: parameters diverged: {16: '7f1c'} (others '03d9')\n",
        },
    ),
    "a bare SIGKILL": (
        "unattributed",
        {"ranks/0.log": _STEPS + "RuntimeError: DataLoader worker (pid 31) is killed by signal: Killed.\n"},
    ),
    "a warning of the driver, and a failure of another kind": (
        "remote_service_unreachable",
        {
            "job.out": "/env/torch/cuda/__init__.py:128: UserWarning: CUDA initialization: The NVIDIA driver on your "
            "system is too old (found version 11040).\nurllib3.exceptions.ConnectTimeoutError: (<urllib3.connection."
            "HTTPSConnection object at 0x7f>, 'Connection to huggingface.co timed out. (connect timeout=10)')\n"
        },
    ),
    "a warning of the driver, and nothing else": (
        "driver_library_mismatch",
        {
            "job.out": "/env/torch/cuda/__init__.py:128: UserWarning: CUDA initialization: The NVIDIA driver on your "
            "system is too old (found version 11040).\n"
        },
    ),
    "what a library tried to link with, and a failure": (
        "python_exception",
        {
            "job.out": "/usr/bin/ld: cannot find -laio: No such file or directory\n"
            "collect2: error: ld returned 1 exit status\n"
            "Traceback (most recent call last):\n  File \"/w/train.py\", line 3, in main\nKeyError: 'lr'\n"
        },
    ),
    "a bus error beside memory that processes share": (
        "shm_exhausted",
        {
            "job.out": "Bus error (core dumped)\n"
            "resource_tracker: There appear to be 4 leaked shared_memory objects to clean up at shutdown\n"
        },
    ),
    "runs with and without one node": (
        "sdc_suspected",
        {
            "job.json": _TWO,
            "ranks/0.log": "bisect: runs without n3 finish clean (3 of 3)\nbisect: runs with n3 diverge (3 of 3)\n"
            + _STEPS
            + "[rank0]: RuntimeError: loss is nan\n",
        },
    ),
}
"""What it is about: the cause, and the files."""
