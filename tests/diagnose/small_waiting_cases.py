"""The smallest evidence for rules about ranks that others waited for: what they did, or how they were started."""

from typing import Final

_STEP: Final = "2026-03-01 10:00:00 step 100 loss 2.1\n"
_FAILED: Final = '{"state": "FAILED", "exit_code": "134:0"}'
_CLIENTS: Final = (
    "[rank0]: torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. {} clients joined.\n"
)
_CONNECT: Final = (
    "[E socket.cpp:957] [c10d] The client socket has timed out after 600s while trying to connect to ({}, {}).\n"
)
_ID: Final = (
    "[rank2]: torch.distributed.DistBackendError: [2] is setting up NCCL communicator and retrieving ncclUniqueId from "
    "[0] via c10d key-value store by key '0', but store->get('0') got error: {}\n"
)
_LOST: Final = (
    "[rank5]:[E301 10:00:09.1 ProcessGroupNCCL.cpp:542] [Rank 5] Collective WorkNCCL(SeqNum=9, OpType=ALLREDUCE) "
    "raised the following async exception: NCCL error: unhandled system error, NCCL version 2.21.5\n"
)
_CLOSED: Final = "[n2] NCCL WARN socketProgress: Connection closed by remote peer n1<41122>\n"


def _waited(rank: int, operation: str = "ALLREDUCE", number: int = 77) -> str:
    return (
        f"[rank{rank}]:[E301 10:10:05.1 ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective operation "
        f"timeout: WorkNCCL(SeqNum={number}, OpType={operation}, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for "
        "600010 milliseconds before timing out.\n"
    )


SMALL_WAITING_CASES: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "the rank that did not come says that it left": (
        "collective_mismatch",
        {"ranks/0.log": _STEP + _waited(0), "ranks/2.log": _STEP + "rank 2 left the training loop early\n"},
    ),
    "the rank that did not come says that it is stuck": (
        "deadlock",
        {"job.out": _waited(0) + "[rank2] stuck in queue.get since step 0\n"},
    ),
    "work that took longer than the others waited": (
        "rank0_long_work_timeout",
        {"job.out": _waited(1) + "trainer 0: index map done in 879 s\n"},
    ),
    "ranks whose configurations disagree": (
        "collective_mismatch",
        {"job.out": "node_rank 0 is already taken by n7\n" + _waited(0)},
    ),
    "a rank that ended itself, and no label tells who": (
        "collective_mismatch",
        {"job.out": "step timer of 300 s expired, os._exit(3)\n" + _CLOSED},
    ),
    "the first rank has not come to name the communicator": (
        "rank0_long_work_timeout",
        {"job.out": "rank 2 of 4 at cuda:2\n" + _ID.format("Socket Timeout")},
    ),
    "the store of the first rank is gone, and that says no more": (
        "unattributed",
        {"job.out": "rank 2 of 4 at cuda:2\n" + _ID.format("Broken pipe")},
    ),
    "only the first rank does not complain": (
        "rank0_long_work_timeout",
        {"job.out": _STEP + _waited(2) + _waited(1) + _waited(3)},
    ),
    "the first rank and another one do not complain": (
        "nccl_timeout_unattributed",
        {"job.out": _STEP + _waited(2) + _waited(4) + _waited(3)},
    ),
    "a line of code below a frame is nobody's word": (
        "rendezvous_unreachable",
        {
            "job.out": _CONNECT.format("n1", 29400)
            + 'Traceback (most recent call last):\n  File "/env/bin/torchrun", line 8, in <module>\n'
            + "    sys.exit(main())\n"
        },
    ),
    "the last step was made, and then ranks lost each other": (
        "completed",
        {"job.out": "[10:00:01] step 1999/2000 loss 0.1\n[10:00:02] step 2000/2000 loss 0.1\n" + _LOST},
    ),
    "the last step was made, and then ranks waited for each other": (
        "post_fit_collective_hang",
        {"job.out": "[10:00:01] step 1999/2000 loss 0.1\n[10:00:02] step 2000/2000 loss 0.1\n" + _waited(1)},
    ),
    "the last batch of an epoch is not the last of all": (
        "unattributed",
        {"job.out": "epoch 3 step 1999/2000 loss 0.1\nepoch 3 step 2000/2000 loss 0.1\n" + _LOST},
    ),
    "only one rank says something else before all wait": (
        "collective_mismatch",
        {
            "slurm.json": _FAILED,
            "ranks/0.log": _STEP + _waited(0),
            "ranks/3.log": _STEP + "INFO losses: one positive only, zero without a graph\n" + _waited(3),
        },
    ),
    "the first rank writes alone, and all wait in the same": (
        "nccl_timeout_unattributed",
        {
            "slurm.json": _FAILED,
            "ranks/0.log": _STEP + "INFO board: wrote 14 scalars\n" + _waited(0),
            "ranks/3.log": _STEP + _waited(3),
        },
    ),
    "the first rank is elsewhere, and its last word is no step": (
        "rank0_long_work_timeout",
        {
            "slurm.json": _FAILED,
            "ranks/0.log": _STEP + "INFO metrics: FID over 50000 images\n" + _waited(0, number=78),
            "ranks/3.log": _STEP + _waited(3),
        },
    ),
    "two ranks did not come, and say the same": (
        "nccl_timeout_unattributed",
        {
            "ranks/0.log": _STEP + _waited(0),
            "ranks/3.log": _STEP + "INFO profile: off\n",
            "ranks/4.log": _STEP + "INFO profile: off\n",
        },
    ),
    "the rank that did not come tells of a port": (
        "nccl_timeout_unattributed",
        {"ranks/0.log": _STEP + _waited(0), "ranks/3.log": _STEP + "INFO eth: the port is in state polling\n"},
    ),
    "the master listens, and nobody reaches it": (
        "rendezvous_unreachable",
        {"ranks/0.log": "INFO launch: listens\n", "ranks/1.log": _CONNECT.format("10.0.0.1", 29500)},
    ),
    "the address of the store gives no answer": (
        "rendezvous_unreachable",
        {
            "ranks/0.log": "INFO dist: ready\n",
            "ranks/1.log": "[c10d] The client socket has failed to connect to [10.0.0.1]:29400 (errno: 110 - "
            "Connection timed out).\n",
        },
    ),
    "the store counts who came, and the first rank still prepares": (
        "rank0_long_work_timeout",
        {"job.out": _CLIENTS.replace("rank0", "rank5").format("1/8") + "rank 0: 44 million rows counted\n"},
    ),
    "a rank that was not told which one it is": (
        "python_exception",
        {
            "ranks/0.log": _CONNECT.format("n1", 29400),
            "ranks/1.log": "INFO dist: NODE_RANK unset, assuming 0, starting store\n",
        },
    ),
    "all that were started have joined": (
        "collective_mismatch",
        {"job.out": "+ srun -n 8 python train.py\n" + _CLIENTS.format("8/16")},
    ),
    "ranks look for their first one at two ports": (
        "python_exception",
        {"ranks/0.log": _CONNECT.format("n1", 29500), "ranks/4.log": _CONNECT.format("n1", 29501)},
    ),
    "two versions of what ranks talk with": (
        "library_version_incompat",
        {"job.out": "n1: NCCL version 2.19.3+cuda12.2\nn2: NCCL version 2.21.5+cuda12.4\n" + _CLOSED},
    ),
    "a task ended with the code of its options' parser": (
        "python_exception",
        {"job.out": _CLIENTS.format("15/16") + "srun: error: n6: task 11: Exited with exit code 2\n"},
    ),
    "the peer that cannot be reached is where a task had failed": (
        "python_exception",
        {"job.out": "srun: error: n7: task 6: Exited with exit code 1\n0: " + _CONNECT.format("n7", 29500)},
    ),
    "Horovod knows who did not ask for a tensor": (
        "collective_mismatch",
        {"job.out": "[1,0]<stderr>:Stalled ops:\n[1,0]<stderr>:gradients/dense_7 [missing ranks: 3]\n"},
    ),
    "nobody waited longer than five seconds": (
        "rank0_long_work_timeout",
        {"job.out": "[rank0]: RuntimeError: Timed out waiting 5000ms for send operation to complete\n"},
    ),
    "all ranks send, and none receives": (
        "collective_mismatch",
        {"ranks/0.log": _waited(0, "SEND", 7), "ranks/1.log": _waited(1, "SEND", 8)},
    ),
    "a crash, and peers that were lost by it": (
        "segfault",
        {
            "job.out": "[n5:3321:0:3321] Caught signal 11 (Segmentation fault: address not mapped to object)\n"
            "[n7:1221] MPIDIG_progress: OFI poll failed (MPIDI_OFI_handle_cq_error:Input/output error)\n"
        },
    ),
    "an argument that MPI refused, and a peer that was lost by it": (
        "python_exception",
        {
            "job.out": "Fatal error in internal_Sendrecv: Invalid rank, error stack:\n"
            "[62] MPIDIG_progress: OFI poll failed (ofi_events.c:125:MPIDI_OFI_handle_cq_error:Input/output error)\n"
        },
    ),
    "a master address that nobody expanded": (
        "python_exception",
        {
            "job.out": "[W socket.cpp:601] [c10d] The IPv6 network addresses of (n[012-019], 29500) cannot be "
            "retrieved (gai error: -2 - Name or service not known).\n"
        },
    ),
    "work that is done, and a process that ends badly": (
        "completed",
        {
            "job.out": "Epoch 90/90 done, best acc 77.1\nsaved final model to out/model.pt\nException ignored in: "
            "<function _MultiProcessingDataLoaderIter.__del__ at 0x7f>\nAssertionError: can only test a child process\n"
        },
    ),
    "work that is done, and the next step of the job": (
        "assertion_failed",
        {"job.out": "saved final model to out/model.pt\nAssertionError: metrics differ\n"},
    ),
    "a program's own limit of wall time": (
        "walltime",
        {"job.out": "Simulation wall limit of 86000 s reached, writing restart file, stop.\n"},
    ),
}
"""What it is about: the cause, and the files."""
