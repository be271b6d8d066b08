"""The smallest evidence that tells a record at fault from a program at fault: one fact a case."""

from typing import Final

STEPS: Final = "".join(f"step {41_000 + n} loss 2.1\n" for n in range(3))
FEW: Final = "".join(f"step {n} loss 2.1\n" for n in range(1, 4))
WORKER: Final = (
    '  File "/opt/v/lib/python3.11/site-packages/torch/utils/data/_utils/worker.py", line 351, in _worker_loop\n'
)
_EXIT: Final = "srun: error: n1: task 0: Exited with exit code 1\n"
_ASSERT: Final = (
    "../aten/src/ATen/native/cuda/Indexing.cu:1308: indexSelectLargeIndex: block: [211,0,0], thread: [64,0,0] "
    "Assertion `srcIndex < srcSelectDimSize` failed.\n"
)


def raised(exception: str, file: str, function: str, above: str = "") -> str:
    """A traceback of one frame, below others that stand above it."""
    return f'Traceback (most recent call last):\n{above}  File "{file}", line 8, in {function}\n{exception}\n'


RECORD_CASES: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "a box of no height, told by the model after many steps": (
        "malformed_record",
        {
            "job.out": STEPS
            + raised(
                "AssertionError: All bounding boxes should have positive height and width.", "/w/rcnn.py", "forward"
            )
        },
    ),
    "the same words of a program that draws": (
        "assertion_failed",
        {"job.out": STEPS + raised("AssertionError: All boxes should have positive height", "/w/plots.py", "draw")},
    ),
    "a number that a generator of lines cannot read": (
        "malformed_record",
        {"job.out": STEPS + raised("ValueError: could not convert string to float: '1.2.3'", "/w/ctr.py", "rows")},
    ),
    "shapes that differ before any step": (
        "python_exception",
        {
            "job.out": raised(
                "RuntimeError: stack expects each tensor to be equal size, but got [3, 480, 640] at entry 0 and "
                "[3, 427, 640] at entry 1",
                "/w/ds.py",
                "collate",
                WORKER,
            )
        },
    ),
    "shapes that differ in what the validation stacks": (
        "python_exception",
        {
            "job.out": STEPS
            + raised(
                "RuntimeError: stack expects each tensor to be equal size, but got [10] at entry 0 and [5] at entry 1",
                "/w/validate.py",
                "run_all",
            )
        },
    ),
    "a class number out of range before any step": (
        "device_side_assert",
        {
            "ranks/3.log": "Loss.cu:245: nll_loss_forward: block: [0,0,0], thread: [0,0,0] Assertion `t >= 0 && "
            "t < n_classes` failed.\n"
        },
    ),
    "settings that are no JSON": (
        "python_exception",
        {
            "job.out": raised(
                "json.decoder.JSONDecodeError: Expecting value: line 14 column 1 (char 311)", "/w/ds_config.py", "load"
            )
        },
    ),
    "a script that reads its JSON before any step": (
        "python_exception",
        {
            "job.out": raised(
                "json.decoder.JSONDecodeError: Expecting value: line 14 column 1 (char 311)", "/w/run.py", "<module>"
            )
        },
    ),
    "a Fortran program's own input": (
        "python_exception",
        {
            "job.out": "At line 145 of file main.f90 (unit = 1, file = 'simple.in')\n"
            "Fortran runtime error: Bad real number in item 1 of list input\n"
        },
    ),
    "a Fortran program's observations": (
        "malformed_record",
        {
            "job.out": "At line 145 of file obs.f90 (unit = 1, file = 'gauge_1998.txt')\n"
            "Fortran runtime error: Bad real number in item 1 of list input\n"
        },
    ),
    "the input pipeline named below the exception": (
        "malformed_record",
        {
            "job.out": STEPS
            + raised(
                "tensorflow.python.framework.errors_impl.InvalidArgumentError: assertion failed: [targets is empty?]",
                "/w/loop.py",
                "fit",
            ).replace("[targets is empty?]", "[x]")
            + "\t [[{{node ParseSingleExample/ParseExample}}]] [Op:IteratorGetNext]\n"
        },
    ),
    "one rank's reader, no first one, where the steps of others are not told": (
        "malformed_record",
        {
            "ranks/0.log": "NCCL INFO comm 0x1 rank 0 nranks 8\n",
            "ranks/5.log": raised("KeyError: 'bbox'", "/w/pairs.py", "__getitem__"),
        },
    ),
    "the first rank's reader, where the steps of others are not told": (
        "python_exception",
        {
            "ranks/5.log": "NCCL INFO comm 0x1 rank 5 nranks 8\n",
            "ranks/0.log": raised("KeyError: 'bbox'", "/w/pairs.py", "__getitem__"),
        },
    ),
    "a sampler that begins its next epoch": (
        "python_exception",
        {"job.out": STEPS + raised("KeyError: 'code'", "/w/data/sampler.py", "next_batch")},
    ),
    "a library's folder of data that reads nothing": (
        "assertion_failed",
        {
            "job.out": STEPS
            + raised(
                "AssertionError: even, please", "/opt/v/lib/python3.11/site-packages/timm/data/mixup.py", "__call__"
            )
        },
    ),
    "a worker of the loader that is set up wrongly": (
        "python_exception",
        {"job.out": STEPS + raised("ValueError: start must be below stop", "/w/ds.py", "worker_init", WORKER)},
    ),
    "a clip of a series that is not there": (
        "missing_samples",
        {
            "job.out": STEPS
            + raised(
                "FileNotFoundError: [Errno 2] No such file or directory: '/data/fr/common_voice_fr_39711843.wav'",
                "/w/segment.py",
                "window",
            )
        },
    ),
    "a checkpoint that is not there, read by a reader": (
        "file_not_found",
        {
            "job.out": STEPS
            + raised(
                "FileNotFoundError: [Errno 2] No such file or directory: '/data/run/weights_0001.bin.ckpt'",
                "/w/ds.py",
                "__getitem__",
                WORKER,
            )
        },
    ),
    "a key of a shard that does not inflate": (
        "corrupt_sample",
        {
            "job.out": STEPS
            + raised("OSError: Can't read data (inflate() failed)", "/w/ds.py", "get_feature")
            + "key was 8WUmhLawc2A_1b32 in /d/views.hdf5\n"
        },
    ),
    "a pickled sample that ends early": (
        "corrupt_sample",
        {
            "job.out": STEPS
            + raised("_pickle.UnpicklingError: pickle data was truncated", "/w/ds.py", "__getitem__", WORKER)
        },
    ),
    "a checkpoint that ends early, before any step": (
        "checkpoint_corrupt",
        {"job.out": raised("_pickle.UnpicklingError: pickle data was truncated", "/w/train.py", "main")},
    ),
    "a picture that could not be read, by what its reader gives": (
        "corrupt_sample",
        {
            "job.out": STEPS
            + raised(
                "AttributeError: 'NoneType' object has no attribute 'shape'", "/w/ds.py", "__getitem__", WORKER
            ).replace("\nAttr", "\n    h, w = img.shape[:2]\nAttr")
        },
    ),
    "a sound that could not be read, in its reader's own words": (
        "corrupt_sample",
        {
            "job.out": STEPS
            + raised("RuntimeError: Failed to load audio from 17346025", "/w/ds.py", "__getitem__", WORKER)
        },
    ),
    "an id beyond the vocabulary after many steps of one rank": (
        "label_or_token_out_of_range",
        {"job.out": STEPS + _ASSERT + "RuntimeError: CUDA error: device-side assert triggered\n"},
    ),
    "an id beyond the vocabulary after few steps of one rank": (
        "vocab_mismatch",
        {"job.out": FEW + _ASSERT + "RuntimeError: CUDA error: device-side assert triggered\n"},
    ),
    "an assert whose sample an earlier attempt had named": (
        "label_or_token_out_of_range",
        {
            "ranks/9.log": "day 12 part 0417\n" + _ASSERT,
            "job.out": "attempt 1: rank 30, day 12 part 0417\nattempt 2: other nodes\n",
        },
    ),
    "an exception whose sample an earlier attempt had named": (
        "malformed_record",
        {
            "ranks/9.log": "image_ids: tensor([480122, 20061])\n" + raised("AssertionError", "/w/rcnn.py", "forward"),
            "job.out": "== run 1 failed: image_ids: tensor([20061, 700213])\n",
        },
    ),
    "an exception that attempts met at another sample": (
        "assertion_failed",
        {
            "ranks/9.log": "image_ids: tensor([480122, 20062])\n" + raised("AssertionError", "/w/rcnn.py", "forward"),
            "job.out": "== run 1 failed: image_ids: tensor([20061, 700213])\n",
        },
    ),
    "an exception of which somebody says that it is at the same record again": (
        "malformed_record",
        {
            "ranks/9.log": STEPS + raised("AssertionError", "/w/rcnn.py", "forward"),
            "job.out": "second attempt stopped at the same record again\n",
        },
    ),
    "a loss that is well where one bucket is left out": (
        "bad_batch_loss_spike",
        {
            "ranks/0.log": STEPS + "FloatingPointError: Minimum loss scale reached (0.0001).\n",
            "job.out": "attempt 3 --skip-bucket 4471: gnorm 0.40 ok, stopped by hand for comparison\n",
        },
    ),
    "a loss that is well without a file that holds NaN": (
        "nan_in_input",
        {
            "ranks/0.log": STEPS
            + "[gen] wind_1996-05.nc: 48 of 744 time steps contain NaN\n"
            + "Batch 812: Invalid loss, terminating training\n",
            "job.out": "run c, wind_1996-05.nc left out: 1 epoch, no nan\n",
        },
    ),
    "an application that says what is wrong in which file": (
        "corrupt_shard",
        {"job.out": "iteration done\nnek: field file turb0.f00041 has the wrong byteorder or size\n" + _EXIT},
    ),
    "an application's file of settings": (
        "not_converged",
        {"job.out": "ERROR: wrong number of values in settings file solver.ini, line 31\n" + _EXIT},
    ),
    "a fatal error whose words stand below its heading": (
        "corrupt_shard",
        {"job.out": " ABOR1 CALLED\n CONVERTGRIB: grib message 3112 in ICMGG is truncated\n"},
    ),
    "an application that calls something fatal, and no more": (
        "not_converged",
        {"job.out": "Fatal error:\nGroup SOL_X was not found in the index.\n" + _EXIT},
    ),
    "a complaint about another machine": (
        "unattributed",
        {"job.out": "ERROR: the connection to the license host was closed by the remote side\n" + _EXIT},
    ),
}
"""What it is about: the cause, and the files."""
