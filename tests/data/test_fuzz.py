"""Damaged files: whatever the bytes, a reader reads or refuses them with the library's error. It never crashes, hangs or runs code."""

import os
import pickle
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from raffia import Domain, RaffiaError, load
from raffia.data import Schema, SideSchema, open_source, read, variables
from tests.data.bombs import BOMBS, write_bomb
from tests.data.damage import attempt, damaged_copy
from tests.data.examples import OTHERS, WRITERS, write
from tests.data.mesh_examples import ALONE, write_mesh

ROOT = Path(__file__).parents[2]
KINDS = dict.fromkeys((*WRITERS, *OTHERS), write) | dict.fromkeys(ALONE, write_mesh)
QUICK = {kind: 12 if kind in ALONE or kind.startswith(("zarr", "folder", "csv")) else 40 for kind in KINDS}
LARGE = ("zarr of many arrays", *(kind for kind in BOMBS if kind.startswith("csv")))  # which take seconds to read
THOROUGH = int(os.environ.get("RAFFIA_DAMAGED_FILES", "800"))  # of each format, of each bomb, and of models


def survives(example: Path, folder: Path, first: int, last: int) -> tuple[int, int, list[str]]:
    """Damage a file in worker processes: how many were read and refused, and what went wrong. A crash costs one file."""
    read_, refused, wrong = 0, 0, []
    while first < last:
        words = [sys.executable, "-m", "tests.data.damage", str(example), str(folder), str(first), str(last)]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
        done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True)
        lines = done.stdout.splitlines()
        wrong += [line for line in lines if line.startswith("seed")]
        if done.returncode == 0:
            counts = lines[-1].split()
            return read_ + int(counts[1]), refused + int(counts[3]), wrong
        seed = int((folder / "seed").read_text())
        wrong.append(f"seed {seed}: exit code {done.returncode}, {done.stderr[-500:]}")
        first = seed + 1
    return read_, refused, wrong


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_read_or_refused(kind, tmp_path):
    example = KINDS[kind](kind, tmp_path)
    assert attempt(example) == "read"
    (tmp_path / "damaged").mkdir()
    verdicts = {seed: attempt(damaged_copy(example, tmp_path / "damaged", seed)) for seed in range(QUICK[kind])}
    assert {seed: verdict for seed, verdict in verdicts.items() if verdict not in ("read", "refused")} == {}
    assert "refused" in verdicts.values()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*KINDS, *(kind for kind in BOMBS if kind not in LARGE), "model"])
def test_many_damaged_files_are_read_or_refused(kind, tmp_path, small_model):
    (tmp_path / "damaged").mkdir()
    writer = KINDS.get(kind, write_bomb)
    example = tmp_path / "model.safetensors" if kind == "model" else writer(kind, tmp_path)
    if kind == "model":
        small_model.save(example)
    begun = time.perf_counter()
    read_, refused, wrong = survives(example, tmp_path / "damaged", 10_000, 10_000 + THOROUGH)
    print(f"{kind}: {read_} read, {refused} refused, {len(wrong)} wrong, {time.perf_counter() - begun:.0f} s")
    assert wrong == []


def test_damaged_models_are_loaded_or_refused(tmp_path, small_model):
    small_model.save(tmp_path / "model.safetensors")
    (tmp_path / "damaged").mkdir()
    verdicts = {attempt(damaged_copy(tmp_path / "model.safetensors", tmp_path / "damaged", seed)) for seed in range(60)}
    assert verdicts <= {"read", "refused"}


class Planted:
    """Unpickled, it makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def plant(kind, folder):
    """A file in which a pickle lies in wait, where a careless reader would open it."""
    planted, path = Planted(folder / "ran"), folder / f"bomb.{kind.split()[0]}"
    if kind == "pt":
        torch.save({"a": torch.ones(3, 4), "y": planted}, path)
    elif kind == "pth bare":
        path.write_bytes(pickle.dumps(planted))
    elif kind == "pt legacy":
        torch.save(planted, path, _use_new_zipfile_serialization=False)
    elif kind == "npy":
        np.save(path, np.array([planted]), allow_pickle=True)
    elif kind == "npz":
        np.savez(path, a=np.array([planted]), y=np.ones(1))
    elif kind == "npz bare":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a.npy", pickle.dumps(planted))
    else:
        path.write_bytes(pickle.dumps(planted))
    return path


@pytest.mark.parametrize(
    "kind", ["pt", "pth bare", "pt legacy", "npy", "npz", "npz bare", "mat", "h5", "nc", "safetensors", "pkl"]
)
def test_no_reader_runs_code_from_a_file(kind, tmp_path):
    path = plant(kind, tmp_path)
    for reader in (
        variables,
        open_source,
        read,
        Schema(input=SideSchema(space=Domain(1)), output=SideSchema(space=Domain(1))).inputs,
        load,
    ):
        with pytest.raises(RaffiaError, match="bomb"):
            reader(path)
    assert not (tmp_path / "ran").exists()
    if kind == "pth bare":
        with path.open("rb") as file:
            pickle.load(file)  # the trap does work
        assert (tmp_path / "ran").exists()


def header(shape):
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def test_headers_that_claim_more_than_the_file_has_are_refused_before_memory_is_taken(tmp_path):
    (tmp_path / "a.npy").write_bytes(header((10**12, 10**6)) + bytes(64))
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("a.npy", header((10**12,)) + bytes(64))
    for name in ("a.npy", "a.npz"):
        with pytest.raises(RaffiaError, match=f"{name} is damaged: a claims shape"):
            variables(tmp_path / name)
