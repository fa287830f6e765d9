import numpy as np
import pytest
import torch

from raffia import Burgers, Channels, Domain, RaffiaError, Vectors, data
from raffia.problems import Wave


@pytest.fixture
def written(tmp_path):
    dataset = Burgers(fine_points=64).dataset(3, 32, seed=1)
    data.write(tmp_path / "d.npz", dataset)
    return dataset, tmp_path / "d.npz"


def test_a_dataset_comes_back_as_it_was_written(written):
    dataset, path = written
    again = data.read(path)
    assert torch.equal(again.a, dataset.a)
    assert torch.equal(again.y, dataset.y)
    assert (again.domain, again.settings) == (dataset.domain, dataset.settings)


def test_channels_come_back_as_they_were_written(tmp_path):
    dataset = Wave(fine_points=16, velocity=True).dataset(3, 8, seed=1)
    data.write(tmp_path / "d.npz", dataset)
    again = data.read(tmp_path / "d.npz")
    assert again.domain == Channels(Domain(2), 2)
    assert torch.equal(again.y, dataset.y)


def test_values_that_show_no_function_are_vectors_unless_axes_are_given(tmp_path):
    np.savez(tmp_path / "f.npz", a=np.ones((2, 32)), y=np.ones((2, 32)))
    assert data.read(tmp_path / "f.npz").domain == Vectors()
    assert data.read(tmp_path / "f.npz", axes="box").domain == Domain(1, periodic=False)


def test_inputs_alone_can_be_an_npy_file(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((2, 4)))
    assert data.Schema(input=data.SideSchema(space=Vectors()), output=data.SideSchema(space=Domain(0))).inputs(
        tmp_path / "a.npy"
    ).shape == (2, 4)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"a": np.ones((2, 4))}, "It holds a 2×4 f8. Pass --input NAME"),
        ({"a": np.ones((2, 4)), "y": np.ones((3, 4))}, "2 inputs and 3 outputs"),
        ({"a": np.ones((2, 4)), "y": np.ones((2, 4)), "raffia": np.array("{")}, "not a description"),
        ({"a": np.array([{1}, {2}], dtype=object), "y": np.ones(2)}, "never opens"),
    ],
)
def test_files_that_are_not_datasets_are_refused(tmp_path, arrays, words):
    np.savez(tmp_path / "x.npz", **arrays)
    with pytest.raises(RaffiaError, match=words):
        data.read(tmp_path / "x.npz")


def test_every_truncation_gives_the_librarys_error(written, tmp_path):
    _, path = written
    content = path.read_bytes()
    for size in range(0, len(content), max(1, len(content) // 40)):
        (tmp_path / "cut.npz").write_bytes(content[:size])
        with pytest.raises(RaffiaError):
            data.read(tmp_path / "cut.npz")
