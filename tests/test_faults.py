"""Kills, full disks and damaged files: a run goes on where it was, or says what is wrong; the last good file stays."""

import errno
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import pytest
import torch

from raffia import FourierFeatures, RaffiaError, RandomFeatureModel, load
from raffia.data import InMemory
from raffia.solvers import Pseudoinverse
from raffia.storage import archive
from tests import processes
from tests.test_cli import run


def a_model(**settings):
    defaults = {"feature_map": FourierFeatures(n_modes=32), "n_features": 24, "ridge": 1e-3, "random_state": 1}
    return RandomFeatureModel(**defaults | settings)


class Interrupted(Exception):
    pass


class StopsAt(InMemory):
    """Pairs whose batch number `stop` cannot be read."""

    stop = 5

    def batches(self, size, start=0):
        for number, batch in enumerate(super().batches(size, start), start=start // size):
            if number == self.stop:
                raise Interrupted
            yield batch


@pytest.fixture
def checkpoint(burgers, tmp_path):
    """That of a run that stopped after five of ten batches."""
    path = tmp_path / "run.checkpoint"
    with pytest.raises(Interrupted):
        a_model().fit(StopsAt(burgers.a, burgers.y), batch_size=4, checkpoint=path, checkpoint_every=0.0)
    return path


KILLED = """
import os, random, sys, time
import torch
from raffia import FourierFeatures, RandomFeatureModel
from raffia.data import InMemory

folder, ridge = sys.argv[1], {"auto": "auto", "0.001": 1e-3}[sys.argv[2]]
torch.set_num_threads(1)

class Slowly(InMemory):
    def batches(self, size, start=0):
        for batch in super().batches(size, start):
            time.sleep(0.01)
            yield batch

def fit(checkpoint):
    noise = torch.randn(48, 32, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    a = torch.fft.irfft(torch.fft.rfft(noise)[:, :6], n=32)
    model = RandomFeatureModel(FourierFeatures(n_modes=16), 24, ridge=ridge)
    return model.fit(Slowly(a, a**2), batch_size=2, checkpoint=checkpoint, checkpoint_every=0.02).coef_

def child(checkpoint, result):
    pid = os.fork()
    if pid == 0:
        torch.save(fit(checkpoint), result)
        os._exit(0)
    return pid

rng, kills = random.Random(7), 0
assert os.waitpid(child(None, f"{folder}/whole.pt"), 0)[1] == 0
while True:
    begun = time.monotonic()
    pid = child(f"{folder}/run.checkpoint", f"{folder}/killed.pt")
    if kills < 6:
        time.sleep(rng.uniform(0.05, 0.35))
        os.kill(pid, 9)
        kills += 1
    if os.waitpid(pid, 0)[1] == 0:
        break
whole, killed = torch.load(f"{folder}/whole.pt"), torch.load(f"{folder}/killed.pt")
print(kills, torch.equal(whole, killed), sorted(os.listdir(folder)))
"""


@pytest.mark.parametrize("ridge", ["0.001", "auto"])
def test_a_run_killed_at_any_moment_ends_with_the_same_coefficients(tmp_path, ridge):
    _, out, err = processes.start(processes.program, KILLED, tmp_path, ridge, folder=tmp_path).ended()
    assert out.split(" ", 1)[1] == "True ['killed.pt', 'whole.pt']\n", err


def test_the_same_command_after_a_kill_gives_the_same_model(tmp_path, capsys):
    zarr = pytest.importorskip("zarr")
    a = torch.fft.irfft(torch.randn(600, 9, dtype=torch.complex128, generator=torch.Generator().manual_seed(0)), n=32).numpy()
    store = zarr.open_group(tmp_path / "d.zarr", mode="w")
    store.create_array("a", data=a, chunks=(50, 32))
    store.create_array("u", data=np.sin(a), chunks=(50, 32))
    words = ["--periodic", "--map", "fourier", "--features", "64", "--ridge", "0.001", "--no-report"]
    words += ["--stream", "--batch-size", "2", "--checkpoint-every", "0"]
    command = ["fit", tmp_path / "d.zarr", *words, "--model"]
    whole, again = tmp_path / "whole.safetensors", tmp_path / "again.safetensors"
    assert run(capsys, *command, whole)[0] == 0
    killed = subprocess.Popen([sys.executable, "-m", "raffia", *map(str, command), str(again)], stdout=subprocess.DEVNULL)
    while not again.with_suffix(".checkpoint").exists() and killed.poll() is None:
        time.sleep(0.005)
    killed.kill()
    assert killed.wait() == -9
    assert not again.exists()
    assert run(capsys, *command, again)[0] == 0
    assert torch.equal(load(again).coef_, load(whole).coef_)
    assert not again.with_suffix(".checkpoint").exists()


@pytest.mark.parametrize("settings", [{}, {"ridge": "auto"}, {"solver": Pseudoinverse()}, {"points": 32}], ids=str)
@pytest.mark.parametrize("stop", [1, 5, 9])
def test_a_run_goes_on_bit_for_bit(burgers, tmp_path, settings, stop):
    path, source = tmp_path / "run.checkpoint", StopsAt(burgers.a, burgers.y)
    expected = a_model(**settings).fit(InMemory(burgers.a, burgers.y), batch_size=4)
    object.__setattr__(source, "stop", stop)
    with pytest.raises(Interrupted):
        a_model(**settings).fit(source, batch_size=4, checkpoint=path, checkpoint_every=0.0)
    assert path.exists()
    again = a_model(**settings).fit(InMemory(burgers.a, burgers.y), batch_size=4, checkpoint=path)
    assert torch.equal(again.coef_, expected.coef_)
    assert again.ridge_ == expected.ridge_
    assert not path.exists()


def test_batches_already_done_are_not_read_again(burgers, checkpoint):
    read = []

    class Watched(InMemory):
        def read(self, rows):
            read.append(rows.start)
            return super().read(rows)

    a_model().fit(Watched(burgers.a, burgers.y), batch_size=4, checkpoint=checkpoint)
    assert read == [0, 20, 24, 28, 32, 36]  # the first batch again, for what it sets up


def test_an_iterable_goes_on_by_skipping(burgers, tmp_path):
    batches = list(InMemory(burgers.a, burgers.y).batches(4))

    def interrupted():
        yield from batches[:5]
        raise Interrupted

    path = tmp_path / "run.checkpoint"
    with pytest.raises(Interrupted):
        a_model().fit(interrupted(), checkpoint=path, checkpoint_every=0.0)
    again = a_model().fit(iter(batches), checkpoint=path)
    assert torch.equal(again.coef_, a_model().fit(batches).coef_)


@pytest.mark.parametrize(
    ("settings", "change", "word"),
    [
        ({"random_state": 2}, {}, "random_state was 1 and is 2"),
        ({"feature_map": FourierFeatures(n_modes=16)}, {}, "feature_map was"),
        ({"ridge": "auto"}, {}, "folds was 1 and is 5"),
        ({}, {"batch_size": 5}, "the size of batches was 4 and is 5"),
        ({}, {"rows": 39}, "the number of pairs was 40 and is 39"),
        ({}, {"factor": 2.0}, "the hash of the first batch was"),
        ({}, {"dtype": torch.float32}, "a was torch.float64 of shape"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_checkpoint_of_another_problem_is_refused_and_kept(burgers, checkpoint, settings, change, word):
    change = {"batch_size": 4, "rows": 40, "factor": 1.0, "dtype": torch.float64} | change
    a, y = ((change["factor"] * f[: change["rows"]]).to(change["dtype"]) for f in burgers)
    before = checkpoint.read_bytes()
    with pytest.raises(RaffiaError, match=f"run.checkpoint is the checkpoint of another problem: .*{word}"):
        a_model(**settings).fit(InMemory(a, y), batch_size=change["batch_size"], checkpoint=checkpoint)
    assert checkpoint.read_bytes() == before


@pytest.mark.parametrize("damage", ["cut", "byte", "empty", "model"])
def test_a_damaged_checkpoint_is_refused_and_kept(burgers, small_model, checkpoint, damage):
    content = checkpoint.read_bytes()
    if damage == "model":
        small_model.save(checkpoint)
    else:
        flipped = content[:-100] + bytes([content[-100] ^ 1]) + content[-99:]
        checkpoint.write_bytes({"cut": content[:-100], "byte": flipped, "empty": b""}[damage])
    before = checkpoint.read_bytes()
    with pytest.raises(RaffiaError, match=r"run\.checkpoint is not a checkpoint, or it is damaged: delete it"):
        a_model().fit(burgers, batch_size=4, checkpoint=checkpoint)
    assert checkpoint.read_bytes() == before
    checkpoint.unlink()
    a_model().fit(burgers, batch_size=4, checkpoint=checkpoint)


def test_two_runs_with_one_checkpoint_both_end_well(burgers, checkpoint, monkeypatch):
    """The second begins and ends while the first is in the middle of writing."""
    write, second = archive.save_file, []

    def slowly(*arguments, **options):
        write(*arguments, **options)
        if not second:
            second.append(a_model())
            second[0].fit(InMemory(burgers.a, burgers.y), batch_size=4, checkpoint=checkpoint)

    monkeypatch.setattr(archive, "save_file", slowly)
    first = a_model().fit(InMemory(burgers.a, burgers.y), batch_size=4, checkpoint=checkpoint, checkpoint_every=0.0)
    assert torch.equal(first.coef_, second[0].coef_)
    assert os.listdir(checkpoint.parent) == []


FULL = """
import resource, sys
import torch
from raffia import FourierFeatures, RaffiaError, RandomFeatureModel
from raffia.data import InMemory

a = torch.randn(48, 32, generator=torch.Generator().manual_seed(0), dtype=torch.float64)

class Filling(InMemory):
    def batches(self, size, start=0):
        for number, batch in enumerate(super().batches(size, start)):
            if number == 4:
                resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
            yield batch

def fit(kind):
    model = RandomFeatureModel(FourierFeatures(n_modes=16), 24, ridge=1e-3)
    return model.fit(kind(a, a), batch_size=2, checkpoint=sys.argv[1], checkpoint_every=0.0)

try:
    fit(Filling)
except RaffiaError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
fit(InMemory)
print("done")
"""


def test_a_full_disk_is_an_error_and_the_last_checkpoint_serves(tmp_path):
    path = tmp_path / "run.checkpoint"
    message, end = processes.start(processes.program, FULL, path, folder=tmp_path).ended()[1].splitlines()
    assert message.startswith(f"cannot write {path}: ")
    assert "File too large" in message
    assert end == "done"
    assert os.listdir(tmp_path) == []


def test_a_disk_that_fills_up_while_saving_leaves_the_model_before(burgers, small_model, tmp_path, monkeypatch):
    path = tmp_path / "model.safetensors"
    small_model.save(path)
    before = path.read_bytes()

    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(archive, "save_file", full)
    with pytest.raises(RaffiaError, match="No space left on device"):
        a_model().fit(burgers, batch_size=4).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.safetensors"]


def test_a_read_only_folder_is_found_after_the_first_batch(burgers, tmp_path, monkeypatch):
    """As root may write anywhere, the refusal of the system is played."""

    def refused(*arguments, **options):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(tempfile, "mkstemp", refused)
    source = StopsAt(burgers.a, burgers.y)
    with pytest.raises(RaffiaError, match=r"run\.checkpoint: Permission denied\. Choose a folder"):
        a_model().fit(source, batch_size=4, checkpoint=tmp_path / "run.checkpoint")
    with pytest.raises(RaffiaError, match="Choose a folder that exists"):
        a_model().fit(source, batch_size=4, checkpoint=tmp_path / "none" / "run.checkpoint")


def test_a_damaged_chunk_is_an_error_and_the_checkpoint_stays(burgers, tmp_path):
    zarr = pytest.importorskip("zarr")
    for name, values in zip("ay", burgers, strict=True):
        array = zarr.create_array(tmp_path / name, shape=values.shape, chunks=(4, 64), dtype="float64")
        array[...] = values.numpy()

    class Stored:
        def __len__(self):
            return 40

        def batches(self, size, start=0):
            a, y = (zarr.open_array(tmp_path / name, mode="r") for name in "ay")
            for row in range(start, 40, size):
                try:
                    yield a[row : row + size], y[row : row + size]
                except RuntimeError as error:
                    raise RaffiaError(f"the chunk of row {row} cannot be read ({error}).") from None

    source = Stored()
    chunk, path = tmp_path / "y" / "c" / "6" / "0", tmp_path / "run.checkpoint"
    good = chunk.read_bytes()
    chunk.write_bytes(good[:20])
    with pytest.raises(RaffiaError, match="chunk of row 24"):
        a_model().fit(source, batch_size=4, checkpoint=path, checkpoint_every=0.0)
    chunk.write_bytes(good)
    again = a_model().fit(source, batch_size=4, checkpoint=path)
    assert torch.equal(again.coef_, a_model().fit(burgers, batch_size=4).coef_)
