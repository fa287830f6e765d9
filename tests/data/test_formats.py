import os
import struct
import sys
import zlib
from pathlib import Path

import h5py
import numcodecs
import numpy as np
import pytest
import scipy.io
import torch
import zarr

from raffia import RaffiaError
from raffia.data.readers import variables
from tests import processes
from tests.data.examples import ARRAYS, WRITERS, write

SHARED = Path(os.environ.get("RAFFIA_SHARED", Path(__file__).parents[3] / "shared")) / "repro/files"


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
    assert set(ours) == {*arrays, "one", "z", "cell.1", "record.u"}
    for name in (*arrays, "one"):
        variable = ours[name]
        np.testing.assert_array_equal(variable.read(), theirs[name])
        assert variable.read().dtype == np.dtype(dtype if name in arrays else "f8")


def test_a_packed_matlab_array_whose_checksum_is_wrong_is_refused(tmp_path):
    path = tmp_path / "m.mat"
    values = np.arange(600.0).reshape(20, 30)
    scipy.io.savemat(path, {"a": values}, do_compression=True)
    np.testing.assert_array_equal(variables(path)["a"].read(), values)
    content = path.read_bytes()
    unpacked = bytearray(zlib.decompress(content[136:]))
    unpacked[-8 * 50] ^= 1  # another value, behind which the checksum of the former ones is left
    packed = zlib.compress(unpacked)[:-4] + content[-4:]
    path.write_bytes(content[:132] + struct.pack("<I", len(packed)) + packed)
    with pytest.raises(RaffiaError, match=r"m.mat.* is damaged"):
        variables(path)["a"].read()


def test_matlab_arrays_in_either_order_of_bytes_are_read(tmp_path):
    values = np.arange(6.0).reshape(2, 3)
    parts = struct.pack(">II2I", 6, 8, 6, 0) + struct.pack(">II2i", 5, 8, 2, 3) + struct.pack(">HH4s", 1, 1, b"a\0\0\0")
    parts += struct.pack(">II", 9, 48) + values.T.astype(">f8").tobytes()
    header = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x01\x00MI"
    (tmp_path / "big.mat").write_bytes(header + struct.pack(">II", 14, len(parts)) + parts)
    np.testing.assert_array_equal(variables(tmp_path / "big.mat")["a"].read(), values)


def test_a_heap_of_hdf5_with_free_space_of_no_size_is_refused_at_once(tmp_path):
    with h5py.File(tmp_path / "d.h5", "w") as file:
        file["a"] = np.ones((4, 5))
        file["a"].attrs["units"] = "m/s"  # a text of any length lies in a heap
    content = bytearray((tmp_path / "d.h5").read_bytes())
    at = content.index(b"GCOL") + 16
    while index := int.from_bytes(content[at : at + 2], "little"):
        assert index < 100
        at += 16 + -(-int.from_bytes(content[at + 8 : at + 16], "little") // 8) * 8
    content[at + 8 : at + 16] = bytes(8)  # HDF5 itself goes on for ever
    (tmp_path / "d.h5").write_bytes(content)
    err = processes.start(variables, tmp_path / "d.h5", folder=tmp_path).ended(60)[2]
    assert "RaffiaError" in err
    assert "d.h5 is damaged" in err


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/repro/files")
@pytest.mark.parametrize("name", ["hang_hdf5.nc", "silent_wrong.mat"])
def test_damaged_files_that_were_met_are_refused(name, tmp_path):
    code = f"from raffia.data import variables; [v.read() for v in variables({str(SHARED / name)!r}).values()]"
    err = processes.start(processes.program, code, folder=tmp_path).ended(60)[2]
    assert f"RaffiaError: {SHARED / name}" in err


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


@pytest.mark.parametrize("version", [2, 3])
def test_a_chunk_of_blosc_that_is_cut_off_is_not_filled_with_what_lies_in_memory(version, tmp_path):
    compressor = numcodecs.Blosc() if version == 2 else zarr.codecs.BloscCodec()
    array = zarr.create_array(
        tmp_path / "b.zarr", data=ARRAYS["a"], chunks=(3, 12), compressors=compressor, zarr_format=version
    )
    np.testing.assert_array_equal(variables(tmp_path / "b.zarr")["b"].read(slice(2, 7)), ARRAYS["a"][2:7])
    chunk = tmp_path / "b.zarr" / array.metadata.encode_chunk_key((1, 0))
    chunk.write_bytes(chunk.read_bytes()[:-40])
    variable = variables(tmp_path / "b.zarr")["b"]
    np.testing.assert_array_equal(variable.read(slice(0, 3)), ARRAYS["a"][:3])
    with pytest.raises(RaffiaError, match=r"b.zarr, variable b, is damaged .*chunk"):
        variable.read(slice(2, 5))


def test_a_flipped_bit_in_a_tensor_is_found(tmp_path):
    path = write("pt", tmp_path)
    content = bytearray(path.read_bytes())
    content[content.index(ARRAYS["a"].tobytes()) + 5] ^= 1
    path.write_bytes(content)
    with pytest.raises(RaffiaError, match=r"a.pt is damaged .*checksum"):
        variables(path)


def test_tensors_that_need_gradients_or_are_of_half_a_precision_are_read(tmp_path):
    x = torch.randn(4, 6)
    content = {
        "grad": x.clone().requires_grad_(),
        "parameter": torch.nn.Parameter(x),
        "bf": x.bfloat16(),
        "half": x.half(),
        "sliced": x.T[1:].bfloat16().requires_grad_(),
    }
    torch.save(content, tmp_path / "t.pt")
    found = variables(tmp_path / "t.pt")
    assert set(found) == set(content)
    for name, tensor in content.items():
        for rows in (None, slice(1, 3)):
            expected = tensor.detach().to(torch.float16 if name == "half" else torch.float32).numpy()
            np.testing.assert_array_equal(found[name].read(rows), expected if rows is None else expected[rows])
            assert found[name].read(rows).dtype == np.dtype(found[name].dtype)


def test_lists_of_dictionaries_and_long_lists_are_a_sample_an_entry(tmp_path):
    u = torch.randn(20, 5, 3)
    records = [{"u": row, "nu": float(row[0, 0]), "inner": {"f": row.T.bfloat16()}, "name": "text"} for row in u]
    torch.save(records, tmp_path / "records.pt")
    found = variables(tmp_path / "records.pt")
    assert {name: v.shape for name, v in found.items()} == {"u": (20, 5, 3), "nu": (20,), "inner.f": (20, 3, 5)}
    for rows in (None, slice(4, 7), slice(0, 0)):
        np.testing.assert_array_equal(found["u"].read(rows), u.numpy() if rows is None else u.numpy()[rows])
    np.testing.assert_allclose(found["nu"].read(), u[:, 0, 0])
    torch.save(list(u), tmp_path / "long.pt")
    np.testing.assert_array_equal(variables(tmp_path / "long.pt")["long"].read(), u)
    torch.save([u, u], tmp_path / "two.pt")
    assert set(variables(tmp_path / "two.pt")) == {"0", "1"}


def test_a_list_of_tensors_that_are_all_the_same_bytes_is_refused(tmp_path):
    torch.save([torch.randn(100).clone()] * 50, tmp_path / "same.pt")
    with pytest.raises(RaffiaError, match=r"same.pt is damaged: the arrays in it have many more bytes than the file"):
        variables(tmp_path / "same.pt")
