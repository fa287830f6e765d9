"""Data in memory as if they were files, complex arrays as two channels, cells and structs of MATLAB, and files to convert."""

import struct

import h5py
import numpy as np
import pytest
import scipy.io
import torch
import zarr

import raffia
from raffia import RaffiaError
from raffia.data.readers import variables

RNG = np.random.default_rng(8)
U = RNG.standard_normal((9, 5))
Z = U + 1j * RNG.standard_normal((9, 5))
ROWS = (None, slice(2, 5), slice(0, 0))


def same(variable, values):
    """Rows of a variable are those of an array."""
    for rows in ROWS:
        np.testing.assert_array_equal(variable.read(rows), values if rows is None else values[rows])
    assert variable.read().dtype == np.dtype(variable.dtype)


def test_a_dataset_of_xarray_keeps_names_axes_units_and_coordinates():
    xarray = pytest.importorskip("xarray")
    days = np.datetime64("2020-02-27") + np.arange(9)
    data = xarray.Dataset({"u": (("day", "x"), U, {"units": "m"})}, coords={"x": np.arange(5.0), "day": days})
    found = variables(data)
    assert set(found) == {"u", "x", "day"}
    assert (found["u"].dims, found["u"].attributes) == (("day", "x"), {"units": "m"})
    same(found["u"], U)
    same(found["day"], np.arange(9.0))
    assert found["day"].attributes["units"] == "days"
    same(variables(data["u"])["u"], U)
    same(variables(xarray.DataArray(U))["values"], U)


def test_a_frame_of_pandas_is_a_table():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(U, columns=[f"u_{i}" for i in range(5)]).assign(p=U[:, 0], name=[f"s{i}" for i in range(9)])
    found = variables(frame)
    assert set(found) == {"u", "p", "name"}
    same(found["u"], U)
    named = variables(frame.set_index("name"))
    assert list(named["name"].read()) == [f"s{i}" for i in range(9)]


def test_of_an_array_of_dask_only_the_chunks_of_the_rows_are_computed():
    dask = pytest.importorskip("dask.array")
    done = []

    def chunk(block, block_info=None):
        done.append(block_info[0]["chunk-location"][0])
        return block

    lazy = dask.from_array(U, chunks=(3, 5)).map_blocks(chunk, dtype=float, meta=np.empty((0, 0)))
    variable = variables(lazy)["values"]
    assert done == []
    np.testing.assert_array_equal(variable.read(slice(3, 6)), U[3:6])
    assert set(done) == {1}


def test_other_objects_are_refused_with_what_may_be_given():
    with pytest.raises(RaffiaError, match=r"xarray Dataset.*got builtins list"):
        variables([1, 2])


def npz(path):
    np.savez(path, z=Z)


def npy(path):
    np.save(path.with_stem("z"), Z)


def h5(path):
    with h5py.File(path, "w") as file:
        file["z"] = Z


def zarr_(path):
    zarr.open_group(path, mode="w").create_array("z", data=Z, chunks=(2, 5))


def pt(path):
    torch.save({"z": torch.from_numpy(Z)}, path)


def mat(path):
    scipy.io.savemat(path, {"z": Z})


def mat_packed(path):
    scipy.io.savemat(path, {"z": np.tile(Z, (1, 1))}, do_compression=True)


def mat73(path):
    with h5py.File(path, "w", userblock_size=512) as file:
        file["z"] = np.rec.fromarrays([Z.T.real, Z.T.imag], names=["real", "imag"])
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")


COMPLEX = {
    ".npz": npz,
    ".npy": npy,
    ".h5": h5,
    ".nc": h5,
    ".zarr": zarr_,
    ".pt": pt,
    ".mat": mat,
    "5.mat": mat_packed,
    "7.mat": mat73,
}


@pytest.mark.parametrize("suffix", COMPLEX)
def test_complex_arrays_are_real_and_imaginary_parts_along_a_last_axis(suffix, tmp_path):
    path = tmp_path / ("z" + suffix)
    COMPLEX[suffix](path)
    variable = variables(path)["z"]
    assert variable.numeric
    assert variable.dims[-1] == "complex"
    assert any("complex" in note for note in variable.notes)
    same(variable, np.stack([Z.real, Z.imag], axis=-1))


def test_complex_arrays_of_xarray_keep_the_names_of_their_axes():
    xarray = pytest.importorskip("xarray")
    variable = variables(xarray.DataArray(Z, dims=("sample", "x"), name="z"))["z"]
    assert variable.dims == ("sample", "x", "complex")
    same(variable, np.stack([Z.real, Z.imag], axis=-1))


@pytest.mark.parametrize("compressed", [False, True])
def test_cells_and_structs_of_matlab_are_what_scipy_reads(compressed, tmp_path):
    cell = np.empty(6, object)
    cell[:] = [i + U for i in range(6)]
    unequal = np.empty(2, object)
    unequal[:] = [U, U[:3]]
    records = [{"a": U[i], "n": {"k": float(i)}} for i in range(9)]
    content = {"cell": cell, "unequal": unequal, "s": {"u": U, "z": {"v": Z}}, "records": records, "text": "abc"}
    scipy.io.savemat(tmp_path / "c.mat", content, do_compression=compressed)
    found = variables(tmp_path / "c.mat")
    same(found["cell"], np.stack(list(cell)))
    same(found["unequal.1"], U[:3])
    same(found["s.u"], U)
    same(found["s.z.v"], np.stack([Z.real, Z.imag], axis=-1))
    same(found["records.a"], U[:, None])
    same(found["records.n.k"], np.arange(9.0)[:, None, None])
    assert not any(name.startswith("text") for name in found)


def test_cells_of_whole_numbers_that_are_stored_in_bytes_are_read(tmp_path):
    cells = np.empty((1, 3), object)
    cells[0, :] = [np.arange(200, dtype=np.uint8)[None] + i for i in range(3)]
    scipy.io.savemat(tmp_path / "a.mat", {"c": cells})
    content = (tmp_path / "a.mat").read_bytes()
    byte, double = (struct.pack("<4I", 6, 8, kind, 0) for kind in (9, 6))  # the class of an array; MATLAB packs its values
    assert content.count(byte) == 3
    (tmp_path / "a.mat").write_bytes(content.replace(byte, double))
    values = variables(tmp_path / "a.mat")["c"].read()
    assert values.dtype == np.float64
    np.testing.assert_array_equal(values[:, 0], np.stack([cell[0] for cell in cells[0]]))


def test_a_list_of_structs_of_matlab_is_a_sample_in_each(tmp_path):
    records = np.zeros((1, 9), [("a", object), ("k", object)])
    for i in range(9):
        records[0, i] = (U[i], float(i))
    scipy.io.savemat(tmp_path / "c.mat", {"runs": records})
    found = variables(tmp_path / "c.mat")
    same(found["runs.a"], U[:, None])
    same(found["runs.k"], np.arange(9.0)[:, None, None])


def test_cells_of_many_arrays_of_different_shapes_are_refused_with_a_remedy(tmp_path):
    cell = np.empty(20, object)
    cell[:] = [np.ones((5 + i, 1)) for i in range(20)]
    scipy.io.savemat(tmp_path / "c.mat", {"cell": cell})
    with pytest.raises(RaffiaError, match=r"c.mat: cell holds 20 arrays of different shapes.*Resample"):
        variables(tmp_path / "c.mat")


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("m.su2", ".vtu"),
        ("m.inp", ".vtu"),
        ("m.odb", ".csv"),
        ("m.foam", "foamToVTK"),
        ("m.xlsx", "CSV"),
        ("m.rda", "pyreadr.*write.csv"),
        ("m.RDS", "pyreadr"),
    ],
)
def test_files_of_other_programs_say_what_to_convert_them_to(name, target, tmp_path):
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(RaffiaError, match=rf"{name} is .*{target}"):
        variables(tmp_path / name)


def test_a_case_of_openfoam_says_what_to_convert_it_to(tmp_path):
    (tmp_path / "system").mkdir()
    (tmp_path / "system" / "controlDict").write_text("")
    with pytest.raises(RaffiaError, match=r"OpenFOAM.*foamToVTK"):
        variables(tmp_path)


def test_pairs_are_read_from_memory_as_from_a_file(tmp_path):
    xarray = pytest.importorskip("xarray")
    x = np.linspace(0, 1, 33)
    a = RNG.standard_normal((24, 4)) @ np.sin(np.pi * np.outer(np.arange(1, 5), x))
    fields = xarray.Dataset({"a": (("sample", "x"), a), "u": (("sample", "x"), np.tanh(a))}, {"x": x})
    fields.to_netcdf(tmp_path / "fields.nc", engine="netcdf4")
    here, there = raffia.read(fields), raffia.read(tmp_path / "fields.nc")
    assert (here.domain, here.output_space) == (there.domain, there.output_space)
    assert torch.equal(here.a, there.a)
    assert torch.equal(here.y, there.y)
    assert len(raffia.fit(fields, "linear").errors) == 24
    with pytest.raises(RaffiaError, match=r"data must be .*a raffia\.Dataset.* got builtins list"):
        raffia.fit([a, a])
