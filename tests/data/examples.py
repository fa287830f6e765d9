"""One small file of every format, written by the format's own library."""

from pathlib import Path

import h5py
import netCDF4
import numcodecs
import numpy as np
import scipy.io
import torch
import zarr

RNG = np.random.default_rng(0)
ARRAYS = {
    "a": RNG.standard_normal((7, 12)),
    "y": RNG.standard_normal((7, 5, 4)).astype(np.float32),
    "k": RNG.integers(-5, 5, (7, 1)),
}


def npz(path, arrays):
    np.savez(path, **arrays)


def npz_compressed(path, arrays):
    np.savez_compressed(path, **arrays)


def npy(path, arrays):
    np.save(path, arrays["a"])


def npy_fortran(path, arrays):
    np.save(path, np.asfortranarray(arrays["a"]))


def mat5(path, arrays):
    scipy.io.savemat(path, arrays)


def mat5_compressed(path, arrays):
    scipy.io.savemat(path, arrays, do_compression=True)


def mat73(path, arrays):
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in arrays.items():
            file[name] = array.T
            file[name].attrs["MATLAB_class"] = np.bytes_("double")
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")


def hdf5(path, arrays):
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array


def hdf5_chunked(path, arrays):
    with h5py.File(path, "w", libver="latest") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array, chunks=True, compression="gzip", shuffle=True, fletcher32=True)


def netcdf(path, arrays, kind="NETCDF4"):
    with netCDF4.Dataset(path, "w", format=kind) as file:
        for name, array in arrays.items():
            dims = tuple(f"d{size}" for size in array.shape)
            for dim, size in zip(dims, array.shape, strict=True):
                if dim not in file.dimensions:
                    file.createDimension(dim, size)
            kept = array.astype(np.int32) if array.dtype == np.int64 and kind != "NETCDF4" else array
            variable = file.createVariable(name, kept.dtype, dims)
            variable[...] = kept
            variable.units = "m"


def netcdf_classic(path, arrays):
    netcdf(path, arrays, "NETCDF3_CLASSIC")


def zarr2(path, arrays, version=2):
    group = zarr.open_group(path, mode="w", zarr_format=version)
    for name, array in arrays.items():
        group.create_array(name, data=array, chunks=(3, *array.shape[1:]))


def zarr3(path, arrays):
    zarr2(path, arrays, 3)


def zarr_gzip(path, arrays):
    group = zarr.open_group(path, mode="w", zarr_format=2)
    for name, array in arrays.items():
        group.create_array(name, data=array, chunks=(3, *array.shape[1:]), compressors=numcodecs.GZip())


def pt(path, arrays):
    torch.save({name: torch.from_numpy(array) for name, array in arrays.items()}, path)


def pt_legacy(path, arrays):
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    torch.save(tensors, path, _use_new_zipfile_serialization=False)


def dictionary(path, arrays):
    np.save(path, arrays, allow_pickle=True)


def objects_of_arrays(path, arrays):
    held = {}
    for name, array in arrays.items():
        held[name] = np.empty(len(array), object)
        held[name][:] = list(array)
    np.savez_compressed(path, **held)


def pt_records(path, arrays):
    rows = zip(*arrays.values(), strict=True)
    torch.save([{name: torch.from_numpy(row) for name, row in zip(arrays, values, strict=True)} for values in rows], path)


WRITERS = {
    "npz": (npz, ".npz"),
    "npz compressed": (npz_compressed, ".npz"),
    "npy": (npy, ".npy"),
    "npy in columns": (npy_fortran, ".npy"),
    "mat 5": (mat5, ".mat"),
    "mat 5 compressed": (mat5_compressed, ".mat"),
    "mat 7.3": (mat73, ".mat"),
    "hdf5": (hdf5, ".h5"),
    "hdf5 chunked": (hdf5_chunked, ".hdf5"),
    "netcdf 4": (netcdf, ".nc"),
    "netcdf classic": (netcdf_classic, ".nc"),
    "zarr 2": (zarr2, ".zarr"),
    "zarr 3": (zarr3, ".zarr"),
    "zarr by gzip": (zarr_gzip, ".zarr"),
    "pt": (pt, ".pt"),
    "pt legacy": (pt_legacy, ".pth"),
    "npz of arrays of arrays": (objects_of_arrays, ".npz"),
    "pt of records": (pt_records, ".pt"),
}


def csv_wide(path, arrays, mark=",", decimal=".", before=""):
    columns = {f"{name}_{i}": v for name, array in arrays.items() for i, v in enumerate(array.reshape(7, -1).T)}
    columns["k [mm]"] = columns.pop("k_0")
    rows = [mark.join(str(v[row]).replace(".", decimal) for v in columns.values()) for row in range(7)]
    path.write_text("\n".join([before + mark.join(columns), *rows]) + "\n", encoding="utf-8")


def csv_excel(path, arrays):
    csv_wide(path, arrays, ";", ",", "\ufeff")


def csv_long(path, arrays):
    rows = ["run,k,t,a,y,remark"]
    for i in range(7):
        t = np.linspace(0, 1, 12 - i % 2)  # on other points, so that they are resampled
        rows += [
            f'{i},{arrays["k"][i, 0]},{x},{arrays["a"][i, j]},{float(arrays["y"][i].flat[j])}%,"a, b"' for j, x in enumerate(t)
        ]
    path.write_text("\n".join(rows) + "\n")


def folder_of_tables(path, arrays):
    path.mkdir()
    for i in range(7):
        rows = [f"{j / 11:.6f} {arrays['a'][i, j]} {arrays['y'][i].flat[j]} {arrays['k'][i, 0] + j}" for j in range(12 - i % 2)]
        (path / f"run_{i}.txt").write_text("# x a y k\n" + "\n".join(rows) + "\n")


def folder_of_parts(path, arrays):
    path.mkdir()
    for i, rows in enumerate((slice(0, 3), slice(3, 7))):
        np.savez(path / f"part{i}.npz", **{name: array[rows] for name, array in arrays.items()})


OTHERS = {
    "npy of a dictionary": (dictionary, ".npy"),
    "csv, wide": (csv_wide, ".csv"),
    "csv by Excel": (csv_excel, ".csv"),
    "csv, long": (csv_long, ".csv"),
    "folder of tables": (folder_of_tables, ".runs"),
    "folder of parts": (folder_of_parts, ".parts"),
}
"""Files that hold these arrays in other shapes, or by other names."""


def write(kind: str, folder: Path, arrays=ARRAYS) -> Path:
    writer, suffix = (WRITERS | OTHERS)[kind]
    path = folder / f"a{suffix}"
    writer(path, arrays)
    return path
