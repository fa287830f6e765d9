import sys

import h5py
import numpy as np
import pytest
import scipy.io
import torch

from raffia import RaffiaError
from raffia.data.formats import variables
from tests.data.examples import ARRAYS, WRITERS, write


@pytest.mark.parametrize("kind", WRITERS)
def test_what_a_library_wrote_comes_back_bit_by_bit(kind, tmp_path):
    found = variables(write(kind, tmp_path))
    assert set(found) == ({"a"} if kind.startswith("npy") else set(ARRAYS))
    for name, variable in found.items():
        array = ARRAYS[name]
        assert variable.shape == array.shape
        for rows in (None, slice(2, 5), slice(6, None), slice(0, 0)):
            values = variable.read(rows)
            np.testing.assert_array_equal(values, array if rows is None else array[rows])
            assert values.dtype == np.dtype(variable.dtype)
            assert values.dtype.kind == array.dtype.kind or kind.startswith("mat")


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"])
def test_matlab_arrays_are_those_that_scipy_reads(dtype, compressed, tmp_path):
    path = tmp_path / "m.mat"
    arrays = {
        name: np.arange(24).reshape(shape).astype(dtype) for name, shape in {"s": (24, 1), "long_name": (2, 3, 4)}.items()
    }
    others = {
        "text": "abc",
        "cell": np.array([{}, 1], dtype=object),
        "z": np.array([[1j]]),
        "record": {"u": 1.0},
        "one": np.array(3.5),
    }
    scipy.io.savemat(path, arrays | others, do_compression=compressed)
    theirs, ours = scipy.io.loadmat(path, mat_dtype=True), variables(path)
    assert set(ours) == {*arrays, "one"}
    for name, variable in ours.items():
        np.testing.assert_array_equal(variable.read(), theirs[name])
        assert variable.read().dtype == np.dtype(dtype if name in arrays else "f8")


@pytest.mark.parametrize(("kind", "package"), [("hdf5", "h5py"), ("mat 7.3", "h5py"), ("netcdf 4", "h5py"), ("zarr 3", "zarr")])
def test_a_missing_package_is_named_with_the_remedy(kind, package, tmp_path, monkeypatch):
    path = write(kind, tmp_path)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(RaffiaError, match=rf"need the package {package}. Run: pip install raffia\[data\]"):
        variables(path)


def test_names_of_axes_and_attributes_are_kept(tmp_path):
    for kind in ("netcdf 4", "netcdf classic"):
        found = variables(write(kind, tmp_path))
        assert found["y"].dims == ("d7", "d5", "d4")
        assert found["y"].attributes["units"] == "m"


def test_nested_groups_and_dictionaries_give_paths(tmp_path):
    with h5py.File(tmp_path / "g.h5", "w") as file:
        file["train/a"] = np.ones((2, 3))
    torch.save({"train": {"a": torch.ones(2, 3)}, "more": [torch.zeros(1)]}, tmp_path / "g.pt")
    assert set(variables(tmp_path / "g.h5")) == {"train/a"}
    assert set(variables(tmp_path / "g.pt")) == {"train.a", "more.0"}


def test_a_damaged_chunk_is_found_when_it_is_read(tmp_path):
    path = write("zarr 3", tmp_path)
    (path / "a" / "c" / "1" / "0").write_bytes(b"no chunk")
    variable = variables(path)["a"]
    np.testing.assert_array_equal(variable.read(slice(0, 3)), ARRAYS["a"][:3])
    with pytest.raises(RaffiaError, match=r"a.zarr, variable a, is damaged"):
        variable.read(slice(3, 6))
