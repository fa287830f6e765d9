"""Small files that unpack to much, claim much or lead elsewhere: what a reader meets that believes whatever it is told."""

import contextlib
import io
import json
import pickle
import resource
import struct
import time
import zipfile
import zlib

import h5py
import numpy as np
import zarr

from raffia import RaffiaError
from raffia.cli import app
from raffia.data import open_source, variables

ROOM = 3 * 2**30  # bytes of address space that a reader may take
LARGE = 2**30  # values, 8 GiB of them


def header(shape, columns=False):
    text = f"{{'descr': '<f8', 'fortran_order': {columns}, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def deflated(size, before=b"", wbits=-15):
    """Many zeros, packed, after a few bytes; fast, as a packed piece can be repeated after a full flush."""
    packer = zlib.compressobj(9, zlib.DEFLATED, wbits)
    start = packer.compress(before) + packer.flush(zlib.Z_FULL_FLUSH)
    piece = packer.compress(bytes(2**24)) + packer.flush(zlib.Z_FULL_FLUSH)
    return start + piece * (size // 2**24) + (b"\x03\x00" if wbits < 0 else packer.flush())


def archive(path, members):
    """A zip archive of one member's packed bytes each, with the length that the member says."""
    body, directory = io.BytesIO(), io.BytesIO()
    for name, (packed, length, crc) in members.items():
        sizes = struct.pack("<QQ", length, len(packed))
        extra = struct.pack("<HH", 1, 16) + sizes
        common = struct.pack("<HHHHHIIIHH", 45, 0, 8, 0, 33, crc, 2**32 - 1, 2**32 - 1, len(name), len(extra))
        at = body.tell()
        body.write(b"PK\x03\x04" + common + name.encode() + extra + packed)
        directory.write(
            b"PK\x01\x02" + struct.pack("<H", 45) + common + struct.pack("<HHHII", 0, 0, 0, 0, at) + name.encode() + extra
        )
    listing = directory.getvalue()
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, len(members), len(members), len(listing), body.tell(), 0)
    path.write_bytes(body.getvalue() + listing + end)


def npz_long_header(path):
    start = b"\x93NUMPY\x02\x00" + (2**31 - 1).to_bytes(4, "little")
    archive(path, {f"{name}.npy": (deflated(2**31, start), 2**31 + len(start), 0) for name in "ay"})


def npz_one_row(path):
    start = header((1, LARGE))
    archive(path, {f"{name}.npy": (deflated(8 * LARGE, start), 8 * LARGE + len(start), 0) for name in "ay"})


def npz_many_rows(path):
    start = header((LARGE // 64, 64))
    archive(path, {f"{name}.npy": (deflated(8 * LARGE // 2, start), 8 * LARGE + len(start), 0) for name in "ay"})


def npz_in_columns(path):
    start = header((LARGE // 64, 64), columns=True)
    archive(path, {f"{name}.npy": (deflated(8 * LARGE // 2, start), 8 * LARGE + len(start), 0) for name in "ay"})


def npz_many_arrays(path):
    packed = deflated(2**24, start := header((2**15, 64)))
    crc = zlib.crc32(start + bytes(2**24))
    archive(path, {f"{name}.npy": (packed, 2**24 + len(start), crc) for name in ("a", "y", *map(str, range(500)))})


def mat(path):
    def element(kind, content):
        return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)

    size, content = 8 * (2**15 - 1) * 2**13, b""
    for name in (b"a", b"y"):
        body = element(6, struct.pack("<II", 6, 0)) + element(5, struct.pack("<ii", 2**15 - 1, 2**13)) + element(1, name)
        body += struct.pack("<II", 9, size)
        content += element(15, deflated(size, struct.pack("<II", 14, len(body) + size) + body, 15))
    path.write_bytes(b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + content)


def mat_many(path):
    path.write_bytes(b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + struct.pack("<II", 1, 0) * 10**6)


def hdf5_large_chunk(path):
    with h5py.File(path, "w") as file:
        for name in "ay":
            array = file.create_dataset(name, (40, 100), "f8", chunks=(40, 10**7), maxshape=(40, None), compression="gzip")
            array.id.write_direct_chunk((0, 0), deflated(8 * 40 * 10**7, wbits=15))


def hdf5_lying_chunk(path):
    with h5py.File(path, "w") as file:
        for name in "ay":
            array = file.create_dataset(name, (40, 100), "f8", chunks=(40, 100), compression="gzip")
            array.id.write_direct_chunk((0, 0), deflated(2**32, wbits=15))


def hdf5_tiny_chunks(path):
    with h5py.File(path, "w") as file:
        for name in "ay":
            file.create_dataset(name, (10**6, 10**3), "f8", chunks=(1, 1))


def hdf5_nested(path):
    with h5py.File(path, "w") as file:
        group = file
        for _ in range(3000):
            group = group.create_group("g")
        group["a"] = np.ones((2, 3))


def hdf5_many_groups(path):
    with h5py.File(path, "w", libver="latest") as file:
        for i in range(1100):
            file.create_group(str(i))


def zarr_nothing_stored(path):
    group = zarr.open_group(path, mode="w")
    for name in "ay":
        group.create_array(name, shape=(10**7, 10**5), chunks=(1, 1), dtype="f8")


def zarr_large_chunk(path, chunks=(40, 10**7), size=8 * 40 * 10**7):
    group = zarr.open_group(path, mode="w")
    for name in "ay":
        group.create_array(name, shape=(40, 100), chunks=chunks, dtype="f8", compressors=zarr.codecs.GzipCodec())
        (path / name / "c" / "0").mkdir(parents=True)
        (path / name / "c" / "0" / "0").write_bytes(deflated(size, wbits=31))


def zarr_lying_chunk(path):
    zarr_large_chunk(path, (40, 100), 2**32)


def zarr_many_arrays(path):
    path.mkdir()
    (path / ".zgroup").write_text('{"zarr_format": 2}')
    told = {"shape": [1], "chunks": [1], "dtype": "<f8", "compressor": None, "filters": None, "fill_value": 0, "order": "C"}
    for i in range(1100):
        (path / str(i)).mkdir()
        (path / str(i) / "0").write_bytes(bytes(8))
        (path / str(i) / ".zarray").write_text(json.dumps(told | {"zarr_format": 2}))


def hdf5_as_many_as_may_be(path):
    with h5py.File(path, "w", libver="latest") as file:
        for i in range(1000):
            file[str(i)] = np.ones((2, 8))


def npz_as_many_as_may_be(path):
    np.savez_compressed(path, **{str(i): np.ones((2, 8)) for i in range(1000)})


def pt_packed(path):
    archive(path, {"a/data.pkl": (deflated(8 * LARGE), 8 * LARGE, 0)})


def pt_packed_by_zip(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name in ("data.pkl", "data/0", "version"):
            file.writestr(f"a/{name}", bytes(10**6))


def pth_laughs(path):
    """A list of twice the same list of twice the same list: a few bytes, 2^60 entries."""
    content = []
    for _ in range(60):
        content = [content, content]
    magic = [0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}, content, []]
    path.write_bytes(b"".join(pickle.dumps(part, 2) for part in magic))


def csv_many_columns(path):
    path.write_text("a,y\n" + ",".join(["1"] * 10**6) + "\n" + "1,2\n" * 5)


def csv_many_named_columns(path):
    names = [*"ay", *(f"column{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}{chr(97 + i // 676)}" for i in range(15_000))]
    path.write_text("\n".join([",".join(names), *[",".join(["1.5"] * len(names))] * 3]))


def csv_one_line(path):
    path.write_bytes(b"1" * 3 * 10**7)


def csv_many_rows(path):
    path.write_text("a,y\n" + "1,2\n3,4\n" * 2 * 10**6)


def csv_many_samples(path):
    path.write_text("run,t,a,y\n" + "".join(f"{i},0,1,2\n{i},1,1,3\n{i},2,2,3\n" for i in range(4 * 10**5)))


def csv_quotes(path):
    path.write_bytes(b'a,y\n1,2\n3,"' + b"x" * 10**7 + b"\n" * 10**7)


def csv_wide_texts(path):
    path.write_bytes(b"a,y,remark\n1,2," + b"x" * 10**6 + b"\n" + b"3,4,x\n" * 10**6)


def csv_resampled(path):
    """Many curves of a few points and some of very many: the points are those of most curves, or few."""
    few = "".join(f"{i},0,{i},2\n{i},1,1,3\n" for i in range(60_000))
    path.write_text("run,t,a,y\n" + few + "".join(f"{10**6},{i / 10**6},1,2\n" for i in range(10**6)))


def npy_of_objects(path):
    """A list of twice the same list of twice the same list, as a pickle."""
    content = b"\x80\x04(]\x94" + b"".join(b"]h%cah%ca\x94" % (k, k) for k in range(60)) + b"l."
    text = b"{'descr': '|O', 'fortran_order': False, 'shape': (61,)}\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + content)


def npz_of_objects(path):
    text = b"{'descr': '|O', 'fortran_order': False, 'shape': ()}\n"
    start = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + b"\x80\x04"
    archive(path, {f"{name}.npy": (deflated(2**31, start), 2**31 + len(start), 0) for name in "ay"})


BOMBS = {
    "npz with a long header": (npz_long_header, ".npz"),
    "npz of one row": (npz_one_row, ".npz"),
    "npz of many rows": (npz_many_rows, ".npz"),
    "npz in columns": (npz_in_columns, ".npz"),
    "npz of many arrays": (npz_many_arrays, ".npz"),
    "mat": (mat, ".mat"),
    "mat of many elements": (mat_many, ".mat"),
    "hdf5 with a large chunk": (hdf5_large_chunk, ".h5"),
    "hdf5 with a lying chunk": (hdf5_lying_chunk, ".h5"),
    "hdf5 in tiny chunks": (hdf5_tiny_chunks, ".h5"),
    "hdf5 of nested groups": (hdf5_nested, ".h5"),
    "hdf5 of many groups": (hdf5_many_groups, ".h5"),
    "zarr with nothing stored": (zarr_nothing_stored, ".zarr"),
    "zarr with a large chunk": (zarr_large_chunk, ".zarr"),
    "zarr with a lying chunk": (zarr_lying_chunk, ".zarr"),
    "zarr of many arrays": (zarr_many_arrays, ".zarr"),
    "npz of 1,000 arrays": (npz_as_many_as_may_be, ".npz"),
    "hdf5 of 1,000 arrays": (hdf5_as_many_as_may_be, ".h5"),
    "pt, packed": (pt_packed, ".pt"),
    "pt, packed by zip": (pt_packed_by_zip, ".pt"),
    "pth, nested": (pth_laughs, ".pth"),
    "csv of many columns": (csv_many_columns, ".csv"),
    "csv of many named columns": (csv_many_named_columns, ".csv"),
    "csv of one line": (csv_one_line, ".csv"),
    "csv of many rows": (csv_many_rows, ".csv"),
    "csv of many samples": (csv_many_samples, ".csv"),
    "csv with a quote": (csv_quotes, ".csv"),
    "csv with a wide text": (csv_wide_texts, ".csv"),
    "csv of many curves": (csv_resampled, ".csv"),
    "npy of nested objects": (npy_of_objects, ".npy"),
    "npz of packed objects": (npz_of_objects, ".npz"),
}


def write_bomb(kind, folder):
    writer, suffix = BOMBS[kind]
    path = folder / f"bomb{suffix}"
    writer(path)
    return path


def measure(path, answer):
    """Open and inspect a file: the most processor seconds of a step, the most MiB, what was said, what went to stderr."""
    resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
    words = ["inspect", str(path), "--input", "a", "--output", "y", "--box"]
    seconds, said, printed = [], "", io.StringIO()
    for step in (
        lambda: variables(path),
        lambda: open_source(path, input="a", output="y", periodic=False),
        lambda: app(words, standalone_mode=False),
    ):
        begun = time.process_time()
        try:
            with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(io.StringIO()):
                step()
            said = "read"
        except RaffiaError as error:
            said = str(error)
        seconds.append(time.process_time() - begun)
    answer.send((max(seconds), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, said, printed.getvalue()))
