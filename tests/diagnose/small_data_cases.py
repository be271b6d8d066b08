"""The smallest evidence that tells data at fault from a program at fault, in the words of readers."""

from typing import Final

_LABELLED: Final = "[rank{rank}]: 2026-03-01 10:00:{second:02d} step {step} loss 2.1\n"
_FILES: Final = "/opt/v/lib/python3.11/site-packages/torch/utils/data/_utils"


def _steps(rank: int) -> str:
    return "".join(_LABELLED.format(rank=rank, second=n, step=100 + n) for n in range(3))


def _raised(rank: int, exception: str, file: str, function: str) -> str:
    """A worker of the loader raises; the main process repeats it."""
    name = exception.partition(":")[0]
    return "".join(
        f"[rank{rank}]: {line}\n"
        for line in (
            "Traceback (most recent call last):",
            '  File "/w/train.py", line 9, in main',
            f"{name}: Caught {name} in DataLoader worker process 3.",
            "Original Traceback (most recent call last):",
            f'  File "{_FILES}/worker.py", line 351, in _worker_loop',
            f'  File "{file}", line 88, in {function}',
            exception,
        )
    )


_COMPLAINT: Final = (
    "[rank1]: torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to "
    "connect to (n1, 29500).\n"
)

DATA_CASES: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "a key that the training script's own collate does not find": (
        "python_exception",
        {
            "ranks/0.log": _steps(0),
            "ranks/1.log": _steps(1)
            + "[rank1]: Traceback (most recent call last):\n"
            + '[rank1]:   File "/w/train.py", line 260, in main\n'
            + '[rank1]:   File "/w/train.py", line 150, in collate\n'
            + "[rank1]: KeyError: 'loss_mask'\n",
        },
    ),
    "a record without its caption on one rank in the middle of a run": (
        "malformed_record",
        {
            "ranks/0.log": _steps(0),
            "ranks/5.log": _steps(5) + _raised(5, "KeyError: 'caption'", "/w/pairs.py", "__getitem__"),
        },
    ),
    "the same exception on every rank before any step is the program's": (
        "python_exception",
        {f"ranks/{n}.log": _raised(n, "KeyError: 'caption'", "/w/pairs.py", "__getitem__") for n in range(4)},
    ),
    "the same exception on every rank in the middle of a run is the program's": (
        "python_exception",
        {
            f"ranks/{n}.log": _steps(n)
            + _raised(n, "IndexError: list index out of range", "/w/pairs.py", "__getitem__")
            for n in range(4)
        },
    ),
    "an actor that died tells of an end and not of its cause": (
        "unattributed",
        {
            "ranks/0.log": _steps(0)
            + "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n",
        },
    ),
    "a model that fails on one rank is no reader": (
        "python_exception",
        {
            "ranks/0.log": _steps(0),
            "ranks/5.log": _steps(5)
            + '[rank5]: Traceback (most recent call last):\n[rank5]:   File "/w/net.py", line 8, in '
            "forward\n[rank5]: KeyError: 'router'\n",
        },
    ),
    "a file of the list that is not there for one rank": (
        "missing_samples",
        {
            "ranks/0.log": _steps(0),
            "ranks/5.log": _steps(5)
            + _raised(
                5, "FileNotFoundError: [Errno 2] No such file or directory: '/d/a/7.png'", "/w/ds.py", "__getitem__"
            ),
        },
    ),
    "a trainer that names the sample and what is wrong with it": (
        "nan_in_input",
        {
            "ranks/0.log": _steps(0),
            "ranks/5.log": _steps(5)
            + '[rank5]: Traceback (most recent call last):\n[rank5]:   File "/w/train.py", line 8, in guard\n'
            "[rank5]: ValueError: sample 88120 has 3 non-finite values\n",
        },
    ),
    "a line that says it where its traceback is not at hand": (
        "malformed_record",
        {
            "ranks/0.log": _steps(0),
            "ranks/5.log": _steps(5) + "[rank5]: RuntimeError: sample id 771203: 513 input ids for 512 positions\n",
        },
    ),
    "a part of a checkpoint that is not there, in the trainer's own words": (
        "checkpoint_incomplete",
        {
            "ranks/0.log": 'Traceback (most recent call last):\n  File "/w/io.py", line 55, in restore\n'
            "RuntimeError: step_18000 has 61 of 64 parts and no marker\n"
        },
    ),
    "a restart file that ends early": (
        "checkpoint_corrupt",
        {
            "job.log": " Reading restart file run.res ...\nAt line 2213 of file io.f90 (unit = 31)\n"
            "Fortran runtime error: End of file\n"
        },
    ),
    "an id beyond the vocabulary on one of several ranks in the middle of a run": (
        "label_or_token_out_of_range",
        {
            "ranks/0.log": _steps(0),
            "ranks/5.log": _steps(5) + "[rank5]: IndexError: index out of range in self\n",
        },
    ),
    "a first rank that failed before the others could connect": (
        "python_exception",
        {
            "ranks/0.log": "Traceback (most recent call last):\n"
            '  File "/w/t.py", line 51, in <module>\n'
            "KeyError: 'wsd'\n",
            "ranks/1.log": _COMPLAINT,
        },
    ),
    "an actor of Ray that raised before a node was given up": (
        "python_exception",
        {
            "job.log": "ray.exceptions.RayTaskError(KeyError): ray::W.run() (pid=882, ip=10.1.0.5)\n"
            "  File \"/p/w.py\", line 20, in run\nKeyError: 'kl'\n(raylet) The node with node id: ab and address: "
            "10.1.0.5 has been marked dead because the detector has missed too many heartbeats from it.\n"
        },
    ),
    "a checkpoint that is not whole, by a last word without a traceback": (
        "checkpoint_incomplete",
        {"ranks/0.log": "RuntimeError: checkpoint step_88000: 31 of 32 optimizer shards present\n"},
    ),
    "one rank's part of a checkpoint is not there": (
        "checkpoint_incomplete",
        {
            "ranks/0.log": "[rank0]: resuming from /ckpt/x/step_500\n",
            "ranks/2.log": "[rank2]: FileNotFoundError: [Errno 2] No such file or directory: "
            "'/ckpt/x/step_500/rank_2.pt'\n",
        },
    ),
    "a file of which one line tells the name and the next one the damage": (
        "corrupt_shard",
        {
            "job.log": "ERROR Executor: SparkException: Encountered error while reading file hdfs://nn/c/part-02211.parquet\n"
            "Caused by: java.io.IOException: could not decompress data: FAILED_TO_UNCOMPRESS(5)\n"
        },
    ),
    "an exception after which its rank went on, though another one's last word": (
        "python_exception",
        {
            "job.log": "[rank1]: RuntimeError: the plan has no stage four\n"
            "[rank0]: RuntimeError: the plan has no stage three\n" + _steps(1)[: len(_steps(1)) // 3]
        },
    ),
    "an exception that its writer got over": (
        "unattributed",
        {"ranks/0.log": "[rank0]: RuntimeError: no cache yet\n[rank0]: 2026-03-01 10:00:01 step 1 loss 2.1\n"},
    ),
    "an exception of which only the last line is at hand": (
        "python_exception",
        {"ranks/0.log": "RuntimeError: the plan has no stage three\n"},
    ),
    "one rank leaves by its own patience, the others wait": (
        "uneven_inputs",
        {
            "ranks/2.log": _steps(2) + "[rank2]: 2026-03-01 10:01:00 patience used up, leaving the loop\n",
            "ranks/0.log": _steps(0)
            + "[rank0]:[E301 10:10:01.1 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective "
            "operation timeout: WorkNCCL(SeqNum=77, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran "
            "for 600010 milliseconds before timing out.\n",
        },
    ),
}
"""What it is about: the cause, and the files."""
