"""Real checkpoints of each format, made small."""

import json
import os
import struct
import time
import zipfile
from pathlib import Path

import numpy as np

LONG_AGO = 3600.0


def npz(path: Path, *, size: int = 100) -> Path:
    np.savez(path, step=np.int64(1), parameters=np.arange(float(size)))
    return aged(path)


def torch_zip(path: Path) -> Path:
    """As torch.save lays it out; the pickle inside would run code if anybody loaded it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", b"cos\nsystem\n(S'touch /tmp/unpickled'\ntR.")
        archive.writestr("archive/data/0", bytes(4096))
        archive.writestr("archive/version", b"3\n")
    return aged(path)


def safetensors(path: Path, *, values: int = 64) -> Path:
    header = json.dumps({"w": {"dtype": "F32", "shape": [values], "data_offsets": [0, 4 * values]}}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(4 * values))
    return aged(path)


def dcp(path: Path, *, ranks: int = 2) -> Path:
    path.mkdir()
    names = [f"__{rank}_0.distcp" for rank in range(ranks)]
    for name in names:
        aged_bytes(path / name, bytes(512))
    aged_bytes(path / ".metadata", b"\x80\x04" + b"".join(name.encode() for name in names) + b".")
    return path


def folder(path: Path, files: int = 3, *, size: int = 64) -> Path:
    path.mkdir()
    for number in range(files):
        aged_bytes(path / f"part-{number}", bytes(size))
    return path


def aged_bytes(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return aged(path)


def aged(path: Path, seconds: float = LONG_AGO) -> Path:
    at = time.time() - seconds
    os.utime(path, (at, at))
    return path


def cut(path: Path, share: float = 0.5) -> Path:
    """Half-written, as after a crash."""
    os.truncate(path, int(path.stat().st_size * share))
    return aged(path)
